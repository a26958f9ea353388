//! One key and many, honest files and others.

use super::*;
use crate::cells::{Bits, Packed};
use crate::parts::static_set::tests::answers_alike;
use crate::{Opener, to_bytes};

fn filter(n: u64, bits: u32) -> Ribbon {
    Ribbon::with_bits(0..n, bits, Hasher::default()).unwrap()
}

#[test]
fn many_at_once_equal_one_by_one() {
    for (n, bits) in [(0, 8), (1, 1), (1000, 8), (1_200_000, 8), (400_000, 32)] {
        let filter = filter(n, bits);
        answers_alike!(filter, n);
    }
}

#[test]
fn files_whose_parts_differ_are_refused() {
    let good = filter(5000, 9);
    assert_eq!(Opener::new().decode_as::<Ribbon>(&to_bytes(&good)).unwrap(), good);
    let refused = |liar: Ribbon| Opener::new().decode(&to_bytes(&liar)).is_err();
    let with = |change: fn(&mut Layer)| {
        let mut liar = good.clone();
        change(&mut liar.layers[0]);
        liar
    };
    assert!(refused(with(|layer| layer.starts += 1)));
    assert!(refused(with(|layer| layer.starts = 0)));
    assert!(refused(with(|layer| layer.slots = Bits::new(layer.slots.len() - 64))));
    assert!(refused(with(|layer| layer.thresholds = Packed::new(1, 2))));
    assert!(refused(with(|layer| layer.thresholds = Packed::new(0, 3))));
    assert!(refused(Ribbon { bits: 8, ..good.clone() }));
    assert!(refused(Ribbon { bits: 0, ..good.clone() }));
    assert!(refused(Ribbon { spanned: f64::NAN, ..good.clone() }));
    assert!(refused(Ribbon { attempts: 0, ..good.clone() }));
    assert!(refused(Ribbon { layers: Vec::new(), ..good.clone() }));
    let head = Head { form: STANDARD, ..good.head.clone() };
    assert!(refused(Ribbon { head, ..good }));
}

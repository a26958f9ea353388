//! One key and many, honest files and others.

use super::shape::{BUCKET, STRETCH};
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
fn the_instruction_and_its_twin_answer_alike() {
    let Some(by) = ones::instructions() else { return };
    let hasher = Hasher::default();
    let digests: Vec<Digest> = (0..20_000u64).map(|key| hasher.digest(&key)).collect();
    for bits in [1, 4, 7, 32] {
        let filter = Ribbon::with_bits(0..10_000u64, bits, hasher.clone()).unwrap();
        let [mut one, mut other] = [vec![false; digests.len()], vec![true; digests.len()]];
        filter.have_by(by, &digests, &mut one);
        filter.have_by(Portable, &digests, &mut other);
        assert!(one == other, "{bits}");
        let each = |digest: &Digest| (filter.has_by(by, *digest), filter.has_by(Portable, *digest));
        assert!(digests.iter().map(each).eq(one.into_iter().zip(other)), "{bits}");
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

/// Of one stretch, of several, and of so few more buckets than stretches have that the last one is a seam and nothing else.
#[test]
fn any_number_of_cores_makes_the_same_filter() {
    let whole = (OVERLOAD * (STRETCH * BUCKET) as f64) as u64;
    for n in [0, 1, 5000, whole, whole + 100, 1_700_000] {
        let build = |cores| {
            let hasher = Hasher::default();
            let digests = (0..n).map(|key| hasher.digest(&key).h1).collect();
            let sizing = Sizing::Bumped { overload: OVERLOAD };
            let shape = Shape { sizing, bits: Fingerprints::of(9, MAX_BITS) };
            Ribbon::assemble(&shape, Head::new(hasher, BUMPED), digests, cores).unwrap()
        };
        let filter = build(Cores::ONE);
        for cores in [2, 3, 8].map(Cores::of) {
            assert_eq!(build(cores), filter, "{n}");
        }
        assert!((0..n).all(|key| filter.contains(&key)), "{n}");
        // What is between stretches costs a slot in four thousand.
        let slots: u64 = filter.slots().sum();
        assert!(n < 100_000 || (slots as f64) < 1.003 * n as f64, "{n} {slots}");
    }
}

//! One core and two, one key and many, honest files and others.

use super::*;
use crate::parts::static_set::tests::answers_alike;
use crate::{Opener, to_bytes};

fn filter(n: u64, bits: u32) -> BinaryFuse {
    BinaryFuse::with_bits(0..n, bits, Hasher::default()).unwrap()
}

#[test]
fn cells_are_looked_at_unchecked_only_where_they_all_are() {
    let mut random = Generator::new(1);
    for n in [1, 2, 10, 1000, 12_350, 1_000_000] {
        let geometry = Geometry::of(3, n);
        for geometry in [geometry, geometry.recut()] {
            let cells = geometry.cells() as usize;
            assert!(geometry.is_within(cells) && geometry.is_within(cells + 1), "{n}");
            assert!(!geometry.is_within(cells - 1), "{n}");
            for hash in [0, u64::MAX].into_iter().chain((0..1000).map(|_| random.next_u64())) {
                assert!(geometry.around::<3>(hash).into_iter().all(|cell| cell < cells), "{n}");
            }
        }
        let uneven = Geometry { starts: geometry.starts + 1, segment: 4, ..geometry };
        assert!(!uneven.is_within(usize::MAX), "{n}");
    }
    assert!(!Geometry::of(3, 0).is_within(usize::MAX));
    assert!(!filter(0, 8).contains(&1u64));
}

#[test]
fn any_number_of_cores_makes_the_same_filter() {
    for (n, bits) in [(0, 8), (1, 8), (100, 9), (12_350, 16), (150_000, 8), (300_000, 11)] {
        let keys: Vec<u64> = (0..n).collect();
        for (arity, form) in [(3, THREE), (4, FOUR)] {
            let build = |cores| {
                let hasher = Hasher::with_id(HashId::Quick64, 0).unwrap();
                let digests = keys.iter().map(|key| hasher.digest(key).h1).collect();
                let shape = Shape { arity, ..Shape::three(bits) };
                BinaryFuse::assemble(&shape, Head::new(hasher, form), digests, cores).unwrap()
            };
            let filter = build(Cores::ONE);
            for cores in [2, 5].map(Cores::of) {
                assert_eq!(build(cores), filter, "{n} {bits} {arity}");
            }
            assert!(keys.iter().all(|key| filter.contains(key)), "{n} {bits} {arity}");
        }
        let one = BinaryFuse::from_keys(&keys, 0.004).unwrap();
        assert_eq!(BinaryFuse::from_keys_parallel(&keys, 0.004).unwrap(), one, "{n}");
    }
}

#[test]
fn many_at_once_equal_one_by_one() {
    for (n, bits) in [(0, 8), (1000, 8), (2_000_000, 8), (1_000_000, 16), (500_000, 32)] {
        let filter = filter(n, bits);
        answers_alike!(filter, n);
    }
}

#[test]
fn files_whose_parts_differ_are_refused() {
    let good = filter(100, 9);
    assert_eq!(Opener::new().decode_as::<BinaryFuse>(&to_bytes(&good)).unwrap(), good);
    let refused = |liar: BinaryFuse| Opener::new().decode(&to_bytes(&liar)).is_err();
    let geometry = |segment, starts| Geometry { segment, starts, ..good.geometry };
    let Geometry { segment, starts, .. } = good.geometry;
    for liar in [geometry(2 * segment, starts), geometry(segment, 2 * starts), geometry(3, 3)] {
        assert!(refused(BinaryFuse { geometry: liar, ..good.clone() }));
    }
    assert!(refused(BinaryFuse { cells: Packed::new(99, 9), ..good.clone() }));
    assert!(refused(BinaryFuse { cells: Packed::new(good.cells.len(), 33), ..good.clone() }));
    assert!(refused(BinaryFuse { attempts: 0, ..good.clone() }));
    let head = Head { items: 0, ..good.head.clone() };
    assert!(refused(BinaryFuse { head, ..good.clone() }));
    let head = Head { form: FOUR, ..good.head.clone() };
    assert!(refused(BinaryFuse { head, ..good }));
}

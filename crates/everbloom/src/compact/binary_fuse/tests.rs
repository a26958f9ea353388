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
    for n in [1, 2, 10, 1000, 12_350, 1_000_000, 1 << 22, 50_000_000] {
        let geometry = Geometry::of(3, n);
        for geometry in [geometry, geometry.recut()] {
            let cells = geometry.cells();
            assert!(geometry.is_within(cells) && geometry.is_within(cells + 1), "{n}");
            assert!(!geometry.is_within(cells - 1), "{n}");
            let cells = cells as usize;
            for hash in [0, u64::MAX].into_iter().chain((0..1000).map(|_| random.next_u64())) {
                assert!(geometry.around::<3>(hash).into_iter().all(|cell| cell < cells), "{n}");
            }
            let last = geometry.around::<3>(u64::MAX).into_iter().max().unwrap();
            assert!(last >= cells - geometry.segment as usize, "{n}");
        }
        let uneven = Geometry { starts: geometry.starts + 1, segment: 4, ..geometry };
        assert!(!uneven.is_within(u64::MAX), "{n}");
    }
    assert!(!Geometry::of(3, 0).is_within(u64::MAX));
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

/// Three parts, of which the last is a short one: by bytes, by pairs of them and by other fields, and with four cells a key.
#[test]
fn parts_are_solved_by_any_number_of_cores() {
    let n = (1 << 22) + 1;
    let digests: Vec<u64> = (0..n).map(|key| Hasher::default().digest(&key).h1).collect();
    for (arity, form, bits) in [(3, THREE, 8), (3, THREE, 16), (3, THREE, 9), (4, FOUR, 7)] {
        let build = |cores| {
            let hasher = Hasher::default().or(HashId::Quick64);
            let shape = Shape { arity, ..Shape::three(bits) };
            let head = Head::new(hasher, form);
            BinaryFuse::assemble(&shape, head, digests.clone(), cores).unwrap()
        };
        let filter = build(Cores::of(3));
        let geometry = filter.geometry();
        assert!(geometry.parts().count() == 3 && geometry.gap > 0, "{arity}");
        let per_key = geometry.cells() as f64 / n as f64;
        assert!(per_key < if arity == 3 { 1.135 } else { 1.09 }, "{per_key}");
        let has = |digest: &u64| filter.has(Digest { h1: *digest, h2: 0 });
        assert!(digests.iter().all(has), "{arity} {bits}");
        assert!(build(Cores::of(8)) == filter && (bits != 8 || build(Cores::ONE) == filter));
        let opened = Opener::new().decode_as::<BinaryFuse>(&to_bytes(&filter)).unwrap();
        assert!(opened == filter && *opened.geometry() == *geometry, "{arity} {bits}");
    }
}

#[test]
fn many_at_once_equal_one_by_one() {
    for (n, bits) in
        [(0, 8), (1000, 8), (2_000_000, 8), (1_000_000, 16), (500_000, 32), (1 << 22, 3)]
    {
        let filter = filter(n, bits);
        answers_alike!(filter, n);
    }
}

#[test]
fn files_whose_parts_differ_are_refused() {
    let good = filter(100, 9);
    assert_eq!(Opener::new().decode_as::<BinaryFuse>(&to_bytes(&good)).unwrap(), good);
    let refused = |liar: BinaryFuse| Opener::new().decode(&to_bytes(&liar)).is_err();
    let table = |geometry, attempts, cells| Table::new(geometry, 0, attempts, cells);
    let with = |table: Table| BinaryFuse { table, ..good.clone() };
    let (geometry, cells) = (*good.geometry(), || good.cells().clone());
    let Geometry { segment, starts, .. } = geometry;
    for (segment, starts) in [(2 * segment, starts), (segment, 2 * starts), (3, 3)] {
        let geometry = Geometry { segment, starts, ..geometry };
        assert!(refused(with(table(geometry, 1, cells()))));
    }
    assert!(refused(with(table(geometry, 1, Packed::new(99, 9)))));
    assert!(refused(with(table(geometry, 1, Packed::new(cells().len(), 33)))));
    assert!(refused(with(table(geometry, 0, cells()))));
    let head = Head { items: 0, ..good.head.clone() };
    assert!(refused(BinaryFuse { head, ..good.clone() }));
    let head = Head { form: FOUR, ..good.head.clone() };
    assert!(refused(BinaryFuse { head, ..good }));
}

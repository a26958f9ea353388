//! F2, the partitioned Bloom filter.

use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::bloom as theory;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::membership::PartitionedBloom;

use super::numbers::hits;

fn filter(m: u64, k: u32, n: u64, seed: u64) -> PartitionedBloom {
    let mut filter = PartitionedBloom::with_shape(m, k, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

/// False positives among `queries` keys that `filter` never saw.
#[test]
fn f2_formula_values() {
    // m, n, k, partitioned, standard: to the last printed digit.
    for (m, n, k, partitioned, standard) in [
        (8000u64, 1000.0, 5u32, 0.0217036, 0.0216841),
        (10_000, 1000.0, 7, 0.0082235, 0.0081957),
        (70, 10.0, 7, 0.0497242, 0.0415228),
    ] {
        let slice = (m / u64::from(k)) as f64;
        let ours = theory::fpr_partitioned(slice, n, f64::from(k));
        let flat = theory::fpr_classic(m as f64, n, f64::from(k));
        assert!((ours - partitioned).abs() < 0.5001e-7, "{ours}");
        assert!((flat - standard).abs() < 0.5001e-7, "{flat}");
        assert!(ours > flat);
    }
    assert_eq!(filter(10_000, 7, 0, 0).slice(), 1428);
    assert_eq!(filter(10_000, 7, 0, 0).m(), 9996);
}

#[test]
fn f2_one_key_sets_one_bit_in_every_slice() {
    for key in 0..1000u64 {
        let mut filter = PartitionedBloom::with_shape(10_000, 7, Hasher::default()).unwrap();
        filter.insert(&key);
        assert_eq!(filter.bits().ones(), 7);
        assert!((0..7).all(|i| filter.bits().ones_in(i * 1428, 1428) == 1));
    }
}

#[test]
fn f2_measured_rates() {
    // Means over many filters. Standard errors: of the queries √(f/Q), and from filter to filter
    // √k·σ/ρ·f, since slices are independent. The last row is far from the best k.
    for (m, n, k, f, filters, queries) in [
        (8000u64, 1000u64, 5u32, 0.0217036, 60u64, 50_000u64),
        (10_000, 1000, 7, 0.0082235, 60, 50_000),
        (70, 10, 7, 0.0497242, 3000, 1000),
        (9999, 1000, 3, 0.01742, 60, 50_000),
    ] {
        let false_positives = |seed| {
            let filter = filter(m, k, n, seed);
            hits(|key| filter.contains(key), queries)
        };
        let total: u64 = (0..filters).map(false_positives).sum();
        let measured = total as f64 / (filters * queries) as f64;
        let slice = (m / u64::from(k)) as f64;
        let spread = theory::fill_sd(slice, n as f64) / theory::fill(slice, n as f64)
            * f64::from(k).sqrt()
            * f;
        let error = (f / (filters * queries) as f64 + spread * spread / filters as f64).sqrt();
        assert!(
            (measured - f).abs() < 4.5 * error,
            "{m} {n} {k}: {measured} against {f} ± {error}"
        );
        // In 70 bits the price of the slices shows: a fifth of the rate.
        assert!(m != 70 || measured > 1.1 * 0.0415228);
    }
}

#[test]
fn f2_fill_of_every_slice() {
    // 1 − (1 − 1/1428)^1000 = 0.5037: about 719 ones, whichever the slice.
    let filter = filter(10_000, 7, 1000, 3);
    let (mean, sd) = (theory::fill(1428.0, 1000.0), theory::fill_sd(1428.0, 1000.0));
    for i in 0..7 {
        let fill = filter.bits().ones_in(i * 1428, 1428) as f64 / 1428.0;
        assert!((fill - mean).abs() < 5.0 * sd, "slice {i}: {fill} against {mean} ± {sd}");
    }
    let product: f64 =
        (0..7).map(|i| filter.bits().ones_in(i * 1428, 1428) as f64 / 1428.0).product();
    let now = filter.now().fpr.unwrap();
    assert!((now / product - 1.0).abs() < 1e-12);
    let (low, high) = binomial_bounds(1_000_000, now, 1e-9);
    assert!((low..=high).contains(&hits(|key| filter.contains(key), 1_000_000)));
}

#[test]
fn f2_slices_are_independent() {
    // Probes that reuse one word would fall at the same place of every slice: with 8 cells each, 1000
    // keys would then reach 8 combinations of two slices and not all 64.
    let mut seen = std::collections::HashSet::new();
    for key in 0..1000u64 {
        let mut filter = PartitionedBloom::with_shape(16, 2, Hasher::default()).unwrap();
        filter.insert(&key);
        seen.insert(filter.bits().words()[0]);
    }
    assert_eq!(seen.len(), 64);
}

#[test]
fn f2_cardinality_is_averaged_over_slices() {
    let (m, n, k) = (10_000u64, 1000u64, 7u32);
    let estimates = (0..40).map(|s| filter(m, k, n, s).cardinality().unwrap());
    let mean = estimates.sum::<f64>() / 40.0;
    // One slice has an error of σ·m'/(zeros share); k slices and 40 filters average it.
    let sd = theory::cardinality_sd(1428.0, 1000.0, 1.0) / (7.0f64 * 40.0).sqrt();
    assert!((mean - 1000.0).abs() < 4.5 * sd, "{mean} ± {sd}");
    // By hand for one filter: n̂ = ln(Z/m')/ln(1 − 1/m').
    let one = filter(m, k, n, 9);
    let by_hand = (0..7)
        .map(|i| 1428 - one.bits().ones_in(i * 1428, 1428))
        .map(|zeros| (zeros as f64 / 1428.0).ln() / (1.0 - 1.0 / 1428.0f64).ln())
        .sum::<f64>()
        / 7.0;
    assert!((one.cardinality().unwrap() - by_hand).abs() < 1e-6);
    assert_eq!(filter(70, 7, 1000, 0).cardinality(), None);
}

#[test]
fn f2_union_intersection_and_halving() {
    let (m, k) = (20_000u64, 5u32);
    let make = |m: u64, keys: std::ops::Range<u64>| {
        let mut filter = PartitionedBloom::with_shape(m, k, Hasher::default()).unwrap();
        keys.for_each(|key| {
            filter.insert(&key);
        });
        filter
    };
    let (a, b, whole) = (make(m, 0..1000), make(m, 700..1800), make(m, 0..1800));
    let mut union = a.clone();
    union.union(&b).unwrap();
    assert_eq!(union.bits(), whole.bits());
    assert!(union.head().items.abs_diff(1800) < 60, "{}", union.head().items);

    let mut both = a.clone();
    both.intersect(&b).unwrap();
    assert!((700..1000u64).all(|key| both.contains(&key)));
    let shared = a.intersection_size(&b).unwrap().unwrap();
    assert!((shared - 300.0).abs() < 60.0, "{shared}");
    assert_eq!(both.head().items, shared.round() as u64);

    // 4000 bits a slice: halves to 2000, 1000, 500, 250, 125 and no further.
    let mut folded = whole.clone();
    for slice in [2000, 1000, 500, 250, 125] {
        folded = folded.fold().unwrap();
        assert_eq!((folded.slice(), folded.k()), (slice, k));
        assert!((0..1800u64).all(|key| folded.contains(&key)));
        assert_eq!(folded.bits(), make(slice * 5, 0..1800).bits());
    }
    assert!(folded.fold().is_err());

    let other = PartitionedBloom::with_shape(m, 4, Hasher::default()).unwrap();
    let before = union.clone();
    assert!(union.union(&other).is_err() && union.intersect(&other).is_err());
    assert_eq!(union, before);
}

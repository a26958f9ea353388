//! I1, the one-hashing Bloom filter.

use std::collections::HashSet;

use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::membership::OneHash;
use everbloom::membership::one_hash::{VARIANT, false_positives};

use super::numbers::hits;

const PARTS: [u64; 5] = [1993, 1997, 1999, 2003, 2011];

fn filter(parts: &[u64], n: u64, seed: u64) -> OneHash {
    let mut filter = OneHash::with_parts(parts, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn start(parts: &[u64], i: usize) -> u64 {
    parts[..i].iter().sum()
}

#[test]
fn i1_formula_values() {
    assert_eq!(PARTS.iter().sum::<u64>(), 10_003);
    assert!((false_positives(&PARTS, 1000) - 0.00942924).abs() < 0.51e-8);
    let even = bloom::fpr_partitioned(10_003.0 / 5.0, 1000.0, 5.0);
    assert!((even - 0.00942911).abs() < 0.51e-8, "{even}");
}

#[test]
fn i1_parts_are_the_primes_nearest_m_over_k() {
    let goal = Goal::default().set("m", 10_000).set("k", 5);
    let built = VARIANT.build_from(&goal, &[]).unwrap();
    assert_eq!(built.memory().cells, 10_003);
    let facts: Vec<String> = built.describe().iter().map(|f| f.value.to_string()).collect();
    assert_eq!(facts, ["10003", "5", "1993", "2011"]);
    // A single part is a filter with one hash; of 9973 and 10,007 the second is nearer.
    let one = VARIANT.build_from(&Goal::default().set("m", 10_000).set("k", 1), &[]).unwrap();
    assert_eq!(one.memory().cells, 10_007);
}

#[test]
fn i1_measured_rate() {
    // 60 filters of 50,000 queries: of the queries √(f/Q) = 0.6 %, from filter to filter √k·σ/ρ.
    let (filters, queries, f) = (60u64, 50_000u64, 0.00942924);
    let passed = |seed| {
        let filter = filter(&PARTS, 1000, seed);
        hits(|key| filter.contains(key), queries)
    };
    let total: u64 = (0..filters).map(passed).sum();
    let measured = total as f64 / (filters * queries) as f64;
    let (rho, sigma) = (bloom::fill(2000.0, 1000.0), bloom::fill_sd(2000.0, 1000.0));
    let spread = 5f64.sqrt() * sigma / rho * f;
    let error = (f / (filters * queries) as f64 + spread * spread / filters as f64).sqrt();
    assert!(error < 0.01 * f);
    assert!((measured - f).abs() < 4.5 * error, "{measured} ± {error}");
}

#[test]
fn i1_one_key_sets_one_bit_in_every_part_and_no_two_alike() {
    let mut pairs = HashSet::new();
    for key in 0..2000u64 {
        let one = filter(&[7, 11, 13], 0, 0);
        let mut one = one;
        one.insert(&key);
        assert_eq!(one.bits().ones(), 3);
        for (i, part) in [7, 11, 13].into_iter().enumerate() {
            assert_eq!(one.bits().ones_in(start(&[7, 11, 13], i), part), 1);
        }
        pairs.insert(one.bits().words()[0]);
    }
    // 1001 combinations, 2000 keys: all but e^{−2} of them turn up. Indices that were copies of each
    // other, scaled to the parts, would reach about 7 + 11 + 13.
    assert!(pairs.len() > 800, "{}", pairs.len());
}

#[test]
fn i1_the_index_is_the_remainder_of_the_whole_hash() {
    let filter = filter(&PARTS, 0, 7);
    for key in 0..1000u64 {
        let h = Hasher::seeded(7).digest(&key).h1;
        let wanted: Vec<u64> = (0..5).map(|i| start(&PARTS, i) + h % PARTS[i]).collect();
        let touched: Vec<u64> = filter.trace(&key.to_le_bytes()).iter().map(|t| t.index).collect();
        assert_eq!(touched, wanted);
    }
}

#[test]
fn i1_fill_of_every_part() {
    let filter = filter(&PARTS, 1000, 3);
    for (i, part) in PARTS.into_iter().enumerate() {
        let fill = filter.bits().ones_in(start(&PARTS, i), part) as f64 / part as f64;
        let (mean, sd) = (bloom::fill(part as f64, 1000.0), bloom::fill_sd(part as f64, 1000.0));
        assert!((fill - mean).abs() < 5.0 * sd, "part {i}: {fill} against {mean} ± {sd}");
    }
    let now = filter.now().fpr.unwrap();
    let (low, high) = binomial_bounds(1_000_000, now, 1e-9);
    assert!((low..=high).contains(&hits(|key| filter.contains(key), 1_000_000)));
}

#[test]
fn i1_many_parts_beyond_64_bits_of_product() {
    // 14 parts of about 1450: their product is 2^147, far more than there are hash values.
    let goal = Goal::default().set("m", 20_300).set("k", 14).seed(4);
    let keys: Vec<[u8; 8]> = (0..1000u64).map(u64::to_le_bytes).collect();
    let records: Vec<_> =
        keys.iter().map(|key| everbloom::internals::filter::Record::key(key)).collect();
    let filter = VARIANT.build_from(&goal, &records).unwrap();
    let now = filter.now().fpr.unwrap();
    let queries = 5_000_000u64;
    let passed = (1 << 40..(1 << 40) + queries)
        .filter(|key: &u64| filter.contains(&key.to_le_bytes()))
        .count() as u64;
    let (low, high) = binomial_bounds(queries, now, 1e-9);
    assert!((low..=high).contains(&passed), "{passed} of {low}..{high}");
}

#[test]
fn i1_common_factors_are_refused_and_unions_exact() {
    assert!(OneHash::with_parts(&[1993, 1993], Hasher::default()).is_err());
    assert!(OneHash::with_parts(&[2000, 2004], Hasher::default()).is_err());
    assert!(OneHash::with_parts(&[2000, 2001], Hasher::default()).is_ok(), "coprime will do");
    let mut left = filter(&PARTS, 600, 1);
    let mut right = OneHash::with_parts(&PARTS, Hasher::seeded(1)).unwrap();
    (300..1000u64).for_each(|key| {
        right.insert(&key);
    });
    left.union(&right).unwrap();
    assert_eq!(left.bits(), filter(&PARTS, 1000, 1).bits());
    assert!(left.head().items.abs_diff(1000) < 60, "{}", left.head().items);
    let other = filter(&[1993, 1997, 1999, 2003, 2017], 10, 1);
    assert!(left.union(&other).is_err());
}

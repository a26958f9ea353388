//! B8, the simplified cuckoo filter.

use everbloom::Kind;
use everbloom::fingerprints::{Cuckoo, SimplifiedCuckoo};
use everbloom::internals::filter::{Face, Filter as _, Merge as _};
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::cuckoo as theory;
use everbloom::internals::theory::tail::binomial_bounds;

fn full(buckets: u64, fingerprint: u32, seed: u64) -> (SimplifiedCuckoo, f64) {
    let mut filter =
        SimplifiedCuckoo::with_shape(buckets, fingerprint, Hasher::seeded(seed)).expect("a shape");
    let taken = (0u64..).find(|key| filter.insert(key).is_err()).expect("it is finite");
    assert_eq!((filter.used(), filter.head().items), (taken, taken));
    (filter, taken as f64 / (4 * buckets) as f64)
}

/// Groups of 2^f buckets fill unevenly, and the fullest refuses first.
#[test]
fn b8_load_of_a_large_table() {
    for (bits, low, high) in [(12, 0.940, 0.957), (8, 0.84, 0.90), (6, 0.73, 0.82)] {
        let load = full(1 << 18, bits, 0).1;
        assert!((low..high).contains(&load), "{bits} bits: {load}");
        let planned = theory::load_in_groups(4, bits);
        assert!(planned < load && planned > load - 0.12, "{bits} bits: planned {planned}");
    }
    // Where the hash of the fingerprint decides, eight bits reach 0.96.
    let mut cuckoo = Cuckoo::with_shape(1 << 18, 8, Hasher::seeded(0)).expect("a shape");
    let taken = (0u64..).find(|key| cuckoo.insert(key).is_err()).expect("it is finite");
    assert!(taken as f64 / (1 << 20) as f64 > 0.95);
}

#[test]
fn b8_load_of_a_small_table() {
    for (bits, printed) in [(12, 0.960), (8, 0.90)] {
        let mean = (0..5).map(|seed| full(1 << 14, bits, seed).1).sum::<f64>() / 5.0;
        assert!((mean - printed).abs() < 0.015, "{bits} bits: {mean}");
    }
}

#[test]
fn b8_rates() {
    for (bits, printed, queries) in
        [(12, 0.00183, 1_000_000u64), (8, 0.0268, 200_000), (6, 0.093, 100_000)]
    {
        let (filter, _) = full(1 << 18, bits, 1);
        let now = filter.now().fpr.expect("a formula");
        assert!((now / printed - 1.0).abs() < 0.05, "{bits} bits: {now}");
        let passed =
            (1 << 40..(1 << 40) + queries).filter(|key| filter.contains(key)).count() as u64;
        let (low, high) = binomial_bounds(queries, now, 1e-9);
        assert!((low..=high).contains(&passed), "{bits} bits: {passed}, {low} to {high}");
    }
}

/// The two buckets differ by the fingerprint, masked to the table where it is longer.
#[test]
fn b8_buckets_differ_by_the_fingerprint() {
    for (buckets, bits) in [(1u64 << 12, 8u32), (64, 12), (1, 10)] {
        let mut alone = 0;
        for key in 0..300u64 {
            let mut filter =
                SimplifiedCuckoo::with_shape(buckets, bits, Hasher::default()).expect("a shape");
            filter.insert(&key).expect("room");
            let trace = filter.trace(&key.to_le_bytes());
            let held: Vec<_> = trace.iter().filter(|t| t.agrees).collect();
            let [first, second] = [trace[0].index / 4, trace[4].index / 4];
            assert_eq!(first ^ second, held[0].value & (buckets - 1));
            assert!(held[0].value > 0 && held[0].value < 1 << bits, "all bits are stored");
            assert_eq!(filter.count(&key), 1);
            alone += u64::from(first == second);
        }
        let expected = if bits > buckets.ilog2() { 300 / buckets } else { 0 };
        assert!(
            alone.abs_diff(expected) <= 12,
            "{alone} keys with one bucket, {expected} expected"
        );
    }
}

#[test]
fn b8_refusal_and_removal() {
    let (mut filter, _) = full(1 << 10, 9, 2);
    let taken = filter.used();
    let before = filter.clone();
    let refused = filter.insert(&taken).expect_err("it was refused before");
    assert_eq!((refused.kind(), &filter), (Kind::CapacityExceeded, &before));
    assert!((0..taken).all(|key| filter.contains(&key)));
    for key in 0..taken {
        filter.remove(&key).expect("a member");
        assert!(key % 64 > 0 || (key + 1..taken).all(|other| filter.contains(&other)));
    }
    assert_eq!(filter.used(), 0);
    assert_eq!(filter.remove(&1u64).expect_err("gone").kind(), Kind::NotDeletable);
}

/// As many absent keys can be removed as pass.
#[test]
fn b8_removals_of_absent_keys_that_cannot_be_seen() {
    let (mut filter, _) = full(1 << 14, 8, 3);
    let rate = filter.now().fpr.expect("a formula");
    let accepted =
        (1 << 40..(1 << 40) + 10_000u64).filter(|key| filter.remove(key).is_ok()).count();
    let (low, high) = binomial_bounds(10_000, rate, 1e-9);
    assert!((low..=high).contains(&(accepted as u64)), "{accepted}, {low} to {high}");
}

/// The plan leaves room for groups that get more than their share: large tables at a low rate and a high one.
#[test]
fn b8_planned_tables_take_what_they_are_planned_for() {
    for (n, p) in [(860_000u64, 0.04), (740_000, 0.2), (920_000, 0.01)] {
        let mut filter = SimplifiedCuckoo::with_rate(n, p).expect("a shape");
        assert!((0..n).all(|key| filter.insert(&key).is_ok()), "{n} keys at {p}");
    }
    let bits = |n: u64| SimplifiedCuckoo::with_rate(n, 0.04).expect("a shape").memory().cells;
    // Eight bits: 0.822 of a million slots and not more.
    assert_eq!((bits(860_000), bits(890_000)), (8 << 20, 16 << 20));
}

/// Sub-filters of one shape: one more whenever the newest refuses, and as few as there were keys left for.
#[test]
fn b8_growing() {
    let builder = SimplifiedCuckoo::builder().set("buckets", 1 << 10).set("fingerprint", 12);
    let mut filter = builder.form("growing").seed(4).build().expect("a shape");
    let keys = 20_000u64;
    filter.insert_many(&(0..keys).collect::<Vec<_>>()).expect("it grows");
    // Groups of all buckets: 0.96 of 4096 slots each.
    assert_eq!((filter.filters(), filter.used()), (6, keys));
    assert!((0..keys).all(|key| filter.contains(&key)), "no false negatives");
    let now = filter.now().fpr.expect("a formula");
    let one = theory::fpr_of_table(12, 4, keys as f64 / (6.0 * 4096.0));
    assert!((now / (1.0 - (1.0 - one).powi(6)) - 1.0).abs() < 0.001, "{now}");
    let passed = (1 << 40..(1 << 40) + 200_000u64).filter(|key| filter.contains(key)).count();
    let (low, high) = binomial_bounds(200_000, now, 1e-9);
    assert!((low..=high).contains(&(passed as u64)), "{passed}, {low} to {high}");
    (0..15_000u64).for_each(|key| filter.remove(&key).expect("a member"));
    filter.compact();
    assert!((2..=3).contains(&filter.filters()), "{} filters for 5000 keys", filter.filters());
    assert!((15_000..keys).all(|key| filter.contains(&key)));
    let mut other = filter.clone();
    (0..100u64).for_each(|key| _ = other.insert(&key).expect("it grows"));
    filter.merge(&other).expect("one shape");
    assert_eq!((filter.used(), filter.head().items), (10_100, 10_100));
    assert!((0..100).chain(15_000..keys).all(|key| filter.contains(&key)));
    let standard = SimplifiedCuckoo::builder().items(1000).set("filters", 2).build();
    assert_eq!(standard.expect_err("one table").kind(), Kind::BadParameter);
}

//! C1, the counting Bloom filter.

use everbloom::Kind;
use everbloom::counting::Counting;
use everbloom::internals::filter::{Face, Merge as _};
use everbloom::internals::hash::Hasher;
use everbloom::internals::probe::{Coincide, Probe};
use everbloom::internals::theory::counting as theory;

fn filled(seed: u64, n: u64) -> Counting {
    let mut filter = Counting::with_shape(10_000, 7, 4, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn c1_cell_distribution() {
    // n = 1000, k = 7, m = 10,000: P(c = 0..5) as tabulated; the mean over 20 filters of 10,000 cells
    // has a standard error below sqrt(p(1-p)/200,000).
    let table: [f64; 6] = [0.496_568, 0.347_632, 0.121_666, 0.028_383, 0.004_965, 0.000_695];
    let mut cells = [0u64; 16];
    for seed in 0..20 {
        filled(seed, 1000).counters().iter().for_each(|c| cells[c as usize] += 1);
    }
    for (j, p) in table.iter().enumerate() {
        let (share, sd) = (cells[j] as f64 / 200_000.0, (p * (1.0 - p) / 200_000.0).sqrt());
        assert!((share - p).abs() < 5.0 * sd, "P(c = {j}): {share} against {p}");
        assert!((theory::cell_pmf(10_000, 1000, 7, j as u64) - p).abs() < 1e-6);
    }
}

#[test]
fn c1_insert_all_then_remove_all_leaves_nothing() {
    let mut filter = filled(0, 1000);
    assert_eq!(filter.counters().saturated(), 0);
    for key in 0..1000u64 {
        filter.remove(&key).expect("a member");
    }
    assert_eq!(filter.counters().nonzero(), 0);
    assert_eq!(filter.head().items, 0);
}

#[test]
fn c1_saturated_counters_stick_and_lose_nobody() {
    // Two-bit counters overflow all the time; members must survive every removal of others.
    let mut filter = Counting::with_shape(400, 4, 2, Hasher::default()).unwrap();
    (0..200u64).for_each(|key| {
        filter.insert(&key);
    });
    assert!(filter.counters().saturated() > 50);
    for key in 0..150u64 {
        filter.remove(&key).expect("a member");
        assert!((key + 1..200).all(|other| filter.contains(&other)), "after removing {key}");
    }
}

#[test]
fn c1_removal_checks_multiplicities_before_it_changes_anything() {
    // In 8 cells with 6 probes a key's hashes coincide all the time. A key whose cells are in use, but
    // hold less than its hashes together would take, must be refused.
    let hasher = Hasher::default();
    let mut refused_by_multiplicity = 0;
    for key in 0..500u64 {
        let mut filter = Counting::with_shape(8, 6, 4, hasher.clone()).unwrap();
        (1000..1002u64).for_each(|other| {
            filter.insert(&other);
        });
        let before = filter.clone();
        if filter.contains(&key) {
            match filter.remove(&key) {
                Err(e) => {
                    assert_eq!(e.kind(), Kind::NotDeletable);
                    assert_eq!(filter, before, "a refused removal changes nothing");
                    refused_by_multiplicity += 1;
                }
                Ok(()) => assert_ne!(filter, before),
            }
        } else {
            assert!(filter.remove(&key).is_err());
        }
    }
    assert!(refused_by_multiplicity > 0, "the case occurs");
}

#[test]
fn c1_counts_divide_by_coinciding_hashes() {
    // One key alone: its count is exact whatever its hashes do, because cells that several of them
    // share are divided by their number.
    for key in 0..200u64 {
        let mut filter = Counting::with_shape(8, 6, 8, Hasher::default()).unwrap();
        (0..5).for_each(|_| {
            filter.insert(&key);
        });
        assert_eq!(filter.count(&key), 5);
    }
}

#[test]
fn c1_insertion_touches_each_cell_once_per_hash() {
    let hasher = Hasher::default();
    let probe = Probe::over(10_000, 7);
    for key in 0..1000u64 {
        let mut filter = Counting::with_shape(10_000, 7, 4, hasher.clone()).unwrap();
        filter.insert(&key);
        assert_eq!(filter.counters().iter().sum::<u64>(), 7);
        let distinct = probe.collect(hasher.digest(&key), Coincide::Distinct).len() as u64;
        assert_eq!(filter.counters().nonzero(), distinct);
        assert_eq!(filter.to_bits().ones(), distinct);
    }
}

#[test]
fn c1_merging_adds_and_saturation_stays() {
    let shape = |keys: std::ops::Range<u64>| {
        let mut filter = Counting::with_shape(200, 3, 2, Hasher::default()).unwrap();
        keys.for_each(|key| {
            filter.insert(&key);
        });
        filter
    };
    let (mut a, b, whole) = (shape(0..80), shape(80..160), shape(0..160));
    a.merge(&b).expect("same shape");
    assert_eq!(a.counters(), whole.counters());
    let wider = Counting::with_shape(200, 3, 3, Hasher::default()).unwrap();
    let refused = a.merge(&wider).expect_err("another width");
    assert_eq!(refused.kind(), Kind::Incompatible { what: "counter width" });
}

#[test]
fn c1_four_bits_overflow_at_sixteen() {
    let mut filter = Counting::with_shape(1000, 1, 4, Hasher::default()).unwrap();
    (0..15).for_each(|_| {
        filter.insert("x");
    });
    assert_eq!((filter.count("x"), filter.counters().saturated()), (15, 1));
    filter.insert("x");
    assert_eq!(filter.count("x"), 15, "the sixteenth is lost");
    (0..16).for_each(|_| filter.remove("x").expect("sticks, so never runs out"));
    assert!(filter.contains("x"));
}

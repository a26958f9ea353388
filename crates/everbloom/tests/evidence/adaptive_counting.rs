//! §4, the adaptive Bloom filter.

use everbloom::Hasher;
use everbloom::internals::filter::Face;
use everbloom::sketches::AdaptiveCounting;

/// A filter whose count array has this share of ones, made by other keys.
fn background(share: f64, seed: u64) -> AdaptiveCounting {
    let bits = 200_000;
    let mut filter =
        AdaptiveCounting::with_shape(4_000_000, 10, bits, 4000, Hasher::seeded(seed)).unwrap();
    (0..(share * bits as f64) as u64).for_each(|key| _ = filter.insert(&key));
    assert_eq!(filter.counts().ones(), (share * bits as f64) as u64, "one bit per insertion");
    filter
}

#[test]
fn s4_runs_against_a_background() {
    for (share, copies, wanted) in [(0.3, 10u32, 14.714), (0.3, 1, 1.857), (0.5, 3, 7.0)] {
        let base = background(share, 5);
        let (mut filter, queries) = (base.clone(), 3000u64);
        let (mut runs, mut corrected) = (0.0, 0.0);
        for key in 1 << 40..(1 << 40) + queries {
            // Keys of the test must not become the background.
            if filter.counts().ones() > base.counts().ones() + 200 {
                filter = base.clone();
            }
            (0..copies).for_each(|_| _ = filter.insert(&key));
            runs += filter.count(&key) as f64;
            corrected += filter.corrected(&key);
        }
        let (f, q) = (f64::from(copies), queries as f64);
        let tolerance = 4.0 * ((f + 1.0) * share).sqrt() / ((1.0 - share) * q.sqrt());
        let mean = runs / q;
        assert!((mean - wanted).abs() < tolerance + 0.01, "{share} {copies}: {mean}");
        assert!((corrected / q - f).abs() < tolerance + 0.01, "{}", corrected / q);
        assert!((f + (f + 1.0) * share / (1.0 - share) - wanted).abs() < 6e-4);
    }
}

#[test]
fn s4_absent_keys_have_no_count_and_runs_by_accident_are_one() {
    let filter = background(0.5, 9);
    let absent = 1u64 << 50..(1 << 50) + 20_000;
    assert!(absent.clone().all(|key| filter.count(&key) == 0), "not a member: no count");
    // The run along the list of a key that never came: ρ/(1−ρ) = 1 on average.
    let mut with = filter.clone();
    let mut sum = 0;
    for key in absent.take(300) {
        with.insert(&key);
        sum += with.count(&key) - 1;
    }
    let mean = sum as f64 / 300.0;
    assert!((mean - 2.0).abs() < 0.6, "{mean}: one before the bit of its own, one behind");
}

#[test]
fn s4_counts_are_never_too_low() {
    let mut filter = AdaptiveCounting::with_rate(3000, 0.01).unwrap();
    for copy in 0..5u64 {
        for key in 0..600u64 {
            filter.insert(&key);
            assert!(filter.count(&key) > copy);
        }
    }
    assert!((0..600u64).all(|key| filter.count(&key) >= 5));
    let mean = (0..600u64).map(|key| filter.corrected(&key)).sum::<f64>() / 600.0;
    assert!((4.0..6.0).contains(&mean), "{mean}");
    assert!(filter.as_remove().is_none());
}

//! R16, the fingerprint counting filter.

use everbloom::Kind;
use everbloom::counting::fingerprint_counting::fpr;
use everbloom::counting::{Counting, FingerprintCounting};
use everbloom::internals::cells::Mark;
use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::bloom;

use super::numbers::{self, near};

fn filled(m: u64, k: u32, a: u32, n: u64, seed: u64) -> FingerprintCounting {
    let mut filter = FingerprintCounting::with_shape(m, k, 4, a, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn measured(m: u64, k: u32, a: u32, n: u64) -> f64 {
    numbers::measured(n, |seed| filled(m, k, a, n, seed), |filter, key| filter.contains(key))
}

#[test]
fn r16_formula() {
    near(fpr(8000, 1000, 5, 0), 0.021_684, 3e-5);
    near(fpr(8000, 1000, 5, 0), bloom::fpr_classic(8000.0, 1000.0, 5.0), 1e-9);
    near(fpr(8000, 1000, 5, 4), 7.877e-5, 1e-4);
    near(fpr(8000, 1000, 5, 8), 3.932e-5, 2e-4);
    near(fpr(3000, 1000, 3, 4), 0.023_699, 3e-5);
    near(fpr(5000, 1000, 5, 4), 0.001_955, 3e-4);
}

#[test]
fn r16_rates_as_measured() {
    for (m, k, a, printed) in [
        (8000, 5, 4, 7.877e-5),
        (8000, 5, 8, 3.932e-5),
        (3000, 3, 4, 0.0237),
        (5000, 5, 4, 1.955e-3),
    ] {
        let rate = measured(m, k, a, 1000);
        let sd = (printed / 1e6f64).sqrt() + 0.01 * printed;
        assert!((rate - printed).abs() < 4.0 * sd, "m={m} a={a}: {rate} against {printed}");
    }
}

/// False positives of both kinds of counters among 50,000 non-members, at equal bits, over 20 filters.
fn against_plain_counters(n: u64, cells: (u64, u32), plain: (u64, u32)) -> (u64, u64) {
    let (mut ours, mut theirs) = (0, 0);
    for seed in 0..20 {
        let filter = filled(cells.0, cells.1, 4, n, seed);
        let mut counting = Counting::with_shape(plain.0, plain.1, 4, Hasher::seeded(seed)).unwrap();
        (0..n).for_each(|key| {
            counting.insert(&key);
        });
        assert!(filter.memory().total() <= counting.memory().total());
        for key in 1 << 40..(1u64 << 40) + 50_000 {
            ours += u64::from(filter.contains(&key));
            theirs += u64::from(counting.contains(&key));
        }
    }
    (ours, theirs)
}

#[test]
fn r16_fewer_false_positives_than_plain_counters_at_equal_bits() {
    // 40 bits a key: 0.001955 against 0.008196. Eighty bits of cells pay for the second array.
    let (ours, plain) = against_plain_counters(1000, (4960, 5), (10_000, 7));
    assert!(ours * 3 < plain, "{ours} against {plain} of a million");
}

#[test]
fn r16_not_for_crowded_filters() {
    // Two bits a key, and k = 1, which is best for both: of half as many cells few count one.
    let (ours, plain) = against_plain_counters(20_000, (4960, 1), (10_000, 1));
    assert!(ours > plain, "{ours} against {plain} of a million");
    assert!(fpr(5000, 20_000, 1, 4) < fpr(5000, 20_000, 2, 4), "k = 1 is best");
}

#[test]
fn r16_empty_cells_have_no_fingerprint() {
    let mut filter = filled(600, 5, 6, 100, 1);
    let clean = |filter: &FingerprintCounting| {
        let marks = filter.cells().iter();
        marks.filter(|m| matches!(m, Mark::Known { count: 0, mark } if *mark != 0)).count()
    };
    for key in 0..100u64 {
        assert_eq!(clean(&filter), 0);
        filter.remove(&key).expect("a member");
    }
    assert_eq!(filter.cells().counts().nonzero(), 0);
    assert_eq!(filter.cells().marks().iter().sum::<u64>(), 0);
    assert_eq!(filter.now().fpr, Some(0.0));
}

#[test]
fn r16_single_cells_hold_the_fingerprint_and_pairs_cancel() {
    let mut seen = [0u64; 16];
    for key in 0..4000u64 {
        let mut filter = FingerprintCounting::with_shape(20, 3, 4, 4, Hasher::default()).unwrap();
        filter.insert(&key);
        let mut hashes = 0;
        let mut own = None;
        for mark in filter.cells().iter() {
            let Mark::Known { count, mark } = mark else { panic!("lost") };
            hashes += count;
            match count {
                1 | 3 => {
                    assert!(own.is_none_or(|f| f == mark), "one fingerprint per key");
                    own = Some(mark);
                }
                2 => assert_eq!(mark, 0, "two of the same cancel"),
                _ => assert_eq!(mark, 0),
            }
        }
        assert_eq!(hashes, 3);
        seen[own.expect("an odd number of hashes somewhere") as usize] += 1;
        assert!(filter.contains(&key) && filter.count(&key) == 1);
        filter.remove(&key).expect("a member");
    }
    // All of 0..16 occur alike: 250 each, standard deviation 15.
    assert!(seen.iter().all(|s| s.abs_diff(250) < 80), "{seen:?}");
}

#[test]
fn r16_saturated_cells_stick_and_verify_nothing() {
    let mut filter = FingerprintCounting::with_shape(300, 4, 2, 4, Hasher::default()).unwrap();
    (0..200u64).for_each(|key| {
        filter.insert(&key);
    });
    assert!(filter.cells().counts().saturated() > 50);
    for key in 0..150u64 {
        filter.remove(&key).expect("a member");
        assert!((key + 1..200).all(|other| filter.contains(&other)), "after removing {key}");
    }
}

#[test]
fn r16_foreign_removals_are_refused_before_anything_changes() {
    let mut filter = filled(60, 4, 4, 10, 2);
    let mut refused = 0;
    for key in 1000..3000u64 {
        let before = filter.clone();
        match filter.remove(&key) {
            Err(e) => {
                assert_eq!(e.kind(), Kind::NotDeletable);
                assert_eq!(filter, before);
                refused += 1;
            }
            Ok(()) => {
                assert!(before.contains(&key), "only what passes is removed");
                filter = before;
            }
        }
    }
    assert!(refused > 1900, "{refused}");
}

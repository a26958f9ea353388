//! I20, protection against soft errors.

use everbloom::hardware::SoftError;
use everbloom::hardware::soft_error::{Asked, fill_after_repairs, retry_rate};
use everbloom::internals::file::{Opener, to_bytes};
use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;

fn filter(m: u64, k: u32, word: u32, n: u64, seed: u64) -> SoftError {
    let mut filter = SoftError::with_shape(m, k, word, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn non_members(queries: u64) -> std::ops::Range<u64> {
    1 << 40..(1 << 40) + queries
}

/// Bits of data and of parity.
fn bits(filter: &SoftError) -> u64 {
    filter.memory().cells
}

#[test]
fn i20_formula_values() {
    let rho = -(-0.7f64).exp_m1();
    assert!((rho - 0.503415).abs() < 0.51e-6);
    let after = fill_after_repairs(rho, 10_000.0, 64.0, 1.0);
    assert!((after - 0.506593).abs() < 0.51e-6, "{after}");
    assert!((rho.powi(7) - 0.0081937).abs() < 0.51e-7);
    assert!((after.powi(7) - 0.0085628).abs() < 0.51e-7);
    assert!((retry_rate(rho, 7) - 0.05658).abs() < 0.51e-5);
}

#[test]
fn i20_no_single_flip_hides_a_member() {
    // Every bit, of data and of parity, in words that do and that do not divide m; 1 is a word too.
    for (m, word) in [(700u64, 64u32), (704, 64), (700, 7), (100, 1), (333, 1000)] {
        let mut filter = filter(m, 5, word, 70, 1);
        let (clean, words) = (filter.clone(), m.div_ceil(u64::from(word)));
        assert_eq!(bits(&filter), m + words);
        for bit in 0..m + words {
            filter.flip(bit).unwrap();
            assert_eq!(filter.faults(), 1);
            assert!((0..70u64).all(|key| filter.contains(&key)), "{m} {word}: bit {bit}");
            // Reading with repair finds them too, and leaves a sound filter behind.
            let mut mended = filter.clone();
            assert!((0..70u64).all(|key| mended.contains_and_repair(&key)));
            mended.scrub();
            assert_eq!(mended.faults(), 0);
            // Of a narrow word nobody can tell whether it was ones before.
            assert!(mended.repaired() == 1 || (word < 64 && mended.repaired() == 0));
            assert!((0..70u64).all(|key| mended.contains(&key)));
            filter.flip(bit).unwrap();
            assert_eq!(filter, clean);
        }
        assert!(filter.flip(m + words).is_err());
    }
}

#[test]
fn i20_one_flip_in_every_word_at_once() {
    let mut filter = filter(10_000, 7, 64, 1000, 2);
    for word in 0..10_000u64.div_ceil(64) {
        filter.flip((word * 64 + word % 16).min(9_999)).unwrap();
    }
    assert_eq!(filter.faults(), 157);
    assert!((0..1000u64).all(|key| filter.contains(&key)));
    // Nothing is known any more, and the filter says so.
    assert_eq!(filter.now().fpr, Some(1.0));
    assert_eq!(filter.scrub(), 157);
    assert_eq!((filter.fill(), filter.cardinality()), (Some(1.0), None));
}

#[test]
fn i20_even_flips_are_not_seen() {
    // Two ones of one word become zeros: parity is right, and members are gone. That is the condition.
    let mut filter = filter(10_000, 7, 64, 1000, 3);
    let ones: Vec<u64> = (0..64).filter(|&bit| filter.bits().get(bit)).take(2).collect();
    filter.flip(ones[0]).unwrap();
    filter.flip(ones[1]).unwrap();
    assert_eq!(filter.faults(), 0);
    assert!((0..1000u64).any(|key| !filter.contains(&key)));
}

#[test]
fn i20_an_insertion_repairs_before_it_writes() {
    // A flip, then insertions that write to the same word: parity computed anew would hide it. They leave
    // no fault behind: 160 probes meet all of 10 words.
    for bit in 0..64 {
        let mut filter = filter(640, 4, 64, 60, 4);
        filter.flip(bit).unwrap();
        (1000..1040u64).for_each(|key| {
            filter.insert(&key);
        });
        assert!((0..60u64).chain(1000..1040).all(|key| filter.contains(&key)), "bit {bit}");
        assert_eq!((filter.repaired(), filter.faults()), (1, 0));
    }
}

#[test]
fn i20_fill_and_rate_after_repairs() {
    let (m, n, k, filters) = (10_000u64, 1000u64, 7u32, 40u64);
    for repairs in [1u64, 20] {
        let (mut fills, mut passed, mut predicted) = (0.0, 0, 0.0);
        for seed in 0..filters {
            let mut filter = filter(m, k, 64, n, seed);
            (0..repairs).for_each(|word| filter.flip(word * 64 + seed).unwrap());
            // Predicted before it is repaired, and the same after.
            let before = (filter.fill(), filter.now());
            assert_eq!(filter.scrub(), repairs);
            assert_eq!((filter.fill(), filter.now()), before);
            fills += filter.fill().unwrap();
            predicted += filter.now().fpr.unwrap();
            passed += non_members(50_000).filter(|key| filter.contains(key)).count() as u64;
            let estimate = filter.cardinality().unwrap();
            assert!((estimate - 1000.0).abs() < 50.0, "{estimate}");
        }
        let rho = fill_after_repairs(bloom::fill(1e4, 7e3), 1e4, 64.0, repairs as f64);
        let error = bloom::fill_sd(1e4, 7e3) / (filters as f64).sqrt();
        let mean = fills / filters as f64;
        assert!((mean - rho).abs() < 4.5 * error, "{repairs}: {mean} against {rho} ± {error}");
        let (low, high) = binomial_bounds(50_000 * filters, predicted / filters as f64, 1e-9);
        assert!((low..=high).contains(&passed), "{repairs}: {passed} of {low}..{high}");
    }
}

#[test]
fn i20_retries() {
    let filter = filter(10_000, 7, 64, 1000, 5);
    let queries = 500_000;
    let asked: Vec<Asked> = non_members(queries).map(|key| filter.ask(&key)).collect();
    let retried = asked.iter().filter(|a| a.retried).count() as u64;
    let rate = retry_rate(filter.fill().unwrap(), 7);
    assert!((rate / 0.05658 - 1.0).abs() < 0.1, "near the entry's value: {rate}");
    let (low, high) = binomial_bounds(queries, rate, 1e-9);
    assert!((low..=high).contains(&retried), "{retried} of {low}..{high}");
    // Without errors asking twice changes nothing.
    assert!(non_members(queries).zip(&asked).all(|(key, a)| a.present == filter.contains(&key)));
    // A read that fails once costs a member nothing; one that fails twice in a row does.
    for (failures, found) in [(1, true), (2, false)] {
        for key in 0..1000u64 {
            let mut left = failures;
            let mut reads = 0;
            let asked = filter.ask_through(&key, |_, bit| {
                reads += 1;
                // The third probe, of the first round and of the second.
                let fails = (reads - 1) % 7 == 2 && left > 0;
                left -= u32::from(fails);
                bit && !fails
            });
            assert_eq!(asked, Asked { present: found, retried: true });
            assert_eq!(reads, 14);
        }
    }
    // Two zeros are a no at once.
    let mut reads = 0;
    let asked = filter.ask_through(&0u64, |_, _| {
        reads += 1;
        false
    });
    assert_eq!((asked, reads), (Asked { present: false, retried: false }, 7));
}

#[test]
fn i20_padding_is_no_part_of_the_filter() {
    // m = 100 in words of 64: the second has 36 bits. A repair sets those and no more.
    let mut filter = filter(100, 3, 64, 5, 6);
    filter.flip(70).unwrap();
    filter.flip(3).unwrap();
    assert_eq!(filter.scrub(), 2);
    assert_eq!(filter.fill(), Some(1.0));
    let again: SoftError = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
    assert_eq!(again, filter);
}

#[test]
fn i20_flips_outlive_a_file() {
    let mut filter = filter(10_000, 7, 64, 1000, 7);
    (0..157).for_each(|word| filter.flip(word * 64).unwrap());
    let again: SoftError = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
    assert_eq!(again.faults(), 157);
    assert!((0..1000u64).all(|key| again.contains(&key)));
}

#[test]
fn i20_unions_check_parity_before_they_compute_it() {
    let (a, b) = (filter(9_999, 7, 64, 500, 8), {
        let mut b = filter(9_999, 7, 64, 0, 8);
        (400..900u64).for_each(|key| {
            b.insert(&key);
        });
        b
    });
    // Flip each bit of the first two words of either side: no member of the union is missed.
    for bit in 0..128 {
        for side in 0..2 {
            let (mut a, mut b) = (a.clone(), b.clone());
            if side == 0 {
                a.flip(bit).unwrap()
            } else {
                b.flip(bit).unwrap()
            }
            let mut union = a.clone();
            union.union(&b).unwrap();
            assert_eq!((union.faults(), union.repaired()), (0, 1));
            assert!((0..900u64).all(|key| union.contains(&key)), "bit {bit} of side {side}");
            a.intersect(&b).unwrap();
            assert!((400..500u64).all(|key| a.contains(&key)), "bit {bit} of side {side}");
        }
    }
    let mut union = a.clone();
    union.union(&b).unwrap();
    assert_eq!(union.fill(), filter(9_999, 7, 64, 900, 8).fill());
    assert!(union.head().items.abs_diff(900) < 40, "{}", union.head().items);
    assert!(union.union(&filter(9_999, 7, 32, 0, 8)).is_err());
}

#[test]
fn i20_a_key_touches_k_bits_and_parity_stays_even() {
    for key in 0..500u64 {
        let mut filter = filter(1 << 20, 7, 64, 0, 0);
        filter.insert(&key);
        let ones = filter.fill().unwrap() * (1 << 20) as f64;
        assert!((ones - 7.0).abs() < 1.5, "{ones}");
        assert_eq!(filter.faults(), 0);
    }
}

#[test]
fn i20_a_place_that_fails_for_ever_is_counted_once() {
    // The same bit flips after every repair. The estimate of the size stays what it was.
    let mut filter = filter(10_000, 7, 64, 1000, 5);
    for _ in 0..500 {
        filter.flip(130).unwrap();
        assert!((0..1000u64).step_by(17).all(|key| filter.contains(&key)));
        assert_eq!(filter.scrub(), 1);
    }
    assert_eq!((filter.repaired(), filter.faults()), (1, 0));
    let estimate = filter.cardinality().unwrap();
    assert!((estimate - 1000.0).abs() < 50.0, "{estimate}");
}

#[test]
fn i20_queries_repair_nothing_and_scrubbing_keeps_the_condition() {
    // Two flips of one word, with queries between them, lose members; with a scrub between them, none.
    for scrubbed in [false, true] {
        let mut filter = filter(10_000, 7, 64, 1000, 3);
        let ones: Vec<u64> = (0..64).filter(|&bit| filter.bits().get(bit)).take(2).collect();
        filter.flip(ones[0]).unwrap();
        let before = filter.clone();
        assert!((0..1000u64).all(|key| filter.contains(&key)));
        assert_eq!(filter, before, "a query never writes");
        if scrubbed {
            assert_eq!(everbloom::hardware::scrub(&mut filter), Some(1));
        }
        filter.flip(ones[1]).unwrap();
        assert_eq!((0..1000u64).all(|key| filter.contains(&key)), scrubbed);
    }
    let mut other = everbloom::Bloom::with_rate(10, 0.1).unwrap();
    assert_eq!(everbloom::hardware::scrub(&mut other), None);
}

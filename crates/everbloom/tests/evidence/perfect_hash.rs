//! F6, the perfect-hashing filter.

use std::collections::HashSet;

use everbloom::compact::perfect_hash::{VARIANT, false_positives, fingerprint_bits_for};
use everbloom::compact::{PerfectHash, times_bound};
use everbloom::internals::filter::{Face, Filter, Record};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::tail::binomial_bounds;

use super::numbers::hits;

fn filter(n: u64, j: u32, seed: u64) -> PerfectHash {
    PerfectHash::with_bits(0..n, j, Hasher::seeded(seed)).unwrap()
}

#[test]
fn f6_a_thousand_keys_with_eight_bits() {
    let filter = filter(1000, 8, 0);
    assert!((0..1000u64).all(|key| filter.contains(&key)), "no false negatives");
    assert_eq!(filter.fingerprints().len() * u64::from(filter.fingerprint_bits()), 8000);
    let rate = hits(|key| filter.contains(key), 1_000_000) as f64 / 1e6;
    assert!((rate - 0.00390625).abs() < 0.00025, "{rate}");
}

#[test]
fn f6_the_rate_is_a_power_of_two_for_every_width() {
    for j in [1, 2, 3, 7, 11, 13] {
        assert_eq!(false_positives(j), 0.5f64.powi(j as i32));
        // 20 filters of small and larger sets: the rate depends on neither.
        let mut passed = 0;
        for seed in 0..20 {
            let filter = filter(10 + 300 * seed, j, seed);
            assert!((0..10 + 300 * seed).all(|key| filter.contains(&key)));
            passed += hits(|key| filter.contains(key), 100_000);
        }
        let (low, high) = binomial_bounds(2_000_000, false_positives(j), 1e-9);
        assert!((low..=high).contains(&passed), "{j}: {passed} of {low}..{high}");
    }
    // Of 64-bit fingerprints nobody ever passes.
    let wide = filter(1000, 64, 1);
    assert!((0..1000u64).all(|key| wide.contains(&key)));
    assert_eq!(hits(|key| wide.contains(key), 100_000), 0);
}

#[test]
fn f6_fingerprint_bits_are_the_logarithm() {
    // Of 1/ε, not 1/ε itself as S0 has it.
    for (p, j) in [(0.9, 1), (0.5, 1), (0.25, 2), (0.01, 7), (1.0 / 256.0, 8), (1e-6, 20)] {
        assert_eq!(fingerprint_bits_for(p), j, "{p}");
    }
    let built = VARIANT.build_from(&Goal::new(1, 0.01), &[Record::key(b"x")]).unwrap();
    assert_eq!(built.now().fpr, Some(1.0 / 128.0));
}

#[test]
fn f6_members_have_slots_of_their_own_and_others_one_of_theirs() {
    let n = 20_000;
    let filter = filter(n, 8, 2);
    let slots: HashSet<u64> = (0..n).filter_map(|key| filter.slot(&key)).collect();
    assert_eq!(slots.len() as u64, n);
    assert!(slots.iter().all(|slot| *slot < n));
    let foreign = 1 << 40..(1u64 << 40) + 100_000;
    assert!(foreign.clone().all(|key| filter.slot(&key).is_some_and(|slot| slot < n)));
}

#[test]
fn f6_fingerprints_are_independent_of_the_slots() {
    // Non-members that meet in one slot have all fingerprints: within a slot a quarter passes at j = 2,
    // whichever the slot. 64 slots, about 6,250 non-members each: 1,562 ± 34.
    let filter = filter(64, 2, 5);
    let (mut asked, mut passed) = ([0u64; 64], [0u64; 64]);
    for key in 1 << 40..(1u64 << 40) + 400_000 {
        let slot = filter.slot(&key).unwrap() as usize;
        asked[slot] += 1;
        passed[slot] += u64::from(filter.contains(&key));
    }
    for (asked, passed) in asked.into_iter().zip(passed) {
        let (low, high) = binomial_bounds(asked, 0.25, 1e-9);
        assert!((low..=high).contains(&passed), "{passed} of {asked}");
    }
}

#[test]
fn f6_duplicates_collapse_and_the_empty_set_works() {
    let once = filter(500, 8, 3);
    let twice = PerfectHash::with_bits((0..500u64).chain(0..500), 8, Hasher::seeded(3)).unwrap();
    assert_eq!(twice, once);
    assert_eq!(twice.head().items, 500);
    let empty = filter(0, 8, 0);
    assert!(!empty.contains(&1u64) && empty.slot(&1u64).is_none());
    assert_eq!(empty.now().fpr, Some(0.0));
    let single = filter(1, 8, 0);
    assert!(single.contains(&0u64));
}

#[test]
fn f6_space_against_the_bound() {
    let filter = filter(100_000, 20, 0);
    let memory = filter.memory();
    let per_key = memory.total() as f64 / 1e5;
    // 20 bits, and for the slots no less than log2 e = 1.4427.
    assert!((22.5..22.7).contains(&per_key), "{per_key}");
    assert!(memory.auxiliary < 2000, "{memory:?}");
    // 1.13 times the bound, where a Bloom filter has 1.44.
    let times = times_bound(&filter).unwrap();
    assert!((times - per_key / 20.0).abs() < 1e-9 && times < 1.14, "{times}");
}

#[test]
fn f6_impossible_goals_are_refused() {
    assert!(PerfectHash::with_bits(0..5u64, 0, Hasher::default()).is_err());
    assert!(PerfectHash::with_bits(0..5u64, 65, Hasher::default()).is_err());
    assert!(VARIANT.build_from(&Goal::new(10, 1e-30), &[]).is_err());
    let tight = Goal { bits: Some(1000), ..Goal::new(1000, 0.01) };
    assert!(VARIANT.build_from(&tight, &[]).is_err());
    // Memory and items alone: as many bits as fit, here (10,000 − 2,576)/1000.
    let keys: Vec<[u8; 8]> = (0..1000u64).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let goal = Goal { bits: Some(10_000), items: Some(1000), ..Goal::default() };
    let built = VARIANT.build_from(&goal, &records).unwrap();
    assert_eq!(built.now().fpr, Some(1.0 / 128.0));
    assert_eq!(built.head().fpr, Some(1.0 / 128.0));
}

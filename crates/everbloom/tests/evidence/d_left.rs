//! I10, the d-left counting filter.

use everbloom::Kind;
use everbloom::counting::d_left::{VARIANT, fpr, remainder_bits};
use everbloom::counting::{Counting, DLeft};
use everbloom::internals::filter::{Face, Filter as _, Record};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::choice::load_tails_to_the_left;

use super::numbers::prints;

/// The catalogue's table: four tables of 8192 buckets of eight cells at a load of six.
const BUCKETS: u64 = 8192;
const N: u64 = 24 * BUCKETS;

fn filled(buckets: u64, remainder: u32, n: u64, seed: u64) -> DLeft {
    let mut filter = DLeft::with_shape(buckets, remainder, Hasher::seeded(seed)).expect("a shape");
    (0..n).for_each(|key| {
        filter.insert(&key).expect("room");
    });
    filter
}

#[test]
fn i10_formulas() {
    assert_eq!(24.0 * (-14f64).exp2(), 0.001_464_843_75);
    // 1 − (1 − 1/N)^n is a thousandth below n/N, its Taylor series' first term.
    prints(fpr(BUCKETS << 14, N), 0.001_464, 1e-6);
    assert_eq!(remainder_bits(4, 6.0, 24.0 / 16384.0), 14.0);
    assert_eq!(remainder_bits(4, 6.0, 0.999 * 24.0 / 16384.0), 15.0);
    // A filter of 36 bits a key: 24·2^−25, where plain counters have 0.01325.
    prints(24.0 * (-25f64).exp2(), 7.15e-7, 1e-9);
    prints(bloom::fpr_best(9.0), 0.01325, 1e-5);
    // Cells of equal rate: 13.58 a key in plain counters, 54.3 bits.
    prints(bloom::bits(1.0, 24.0 / 16384.0), 13.58, 0.01);
}

#[test]
fn i10_space_per_key() {
    let filter = filled(BUCKETS, 14, N, 0);
    assert_eq!(filter.memory().cells, 4 * BUCKETS * 8 * 16);
    prints(filter.memory().total() as f64 / N as f64, 21.33, 0.02);
    let wide = filled(BUCKETS, 25, 24 * 100, 0);
    prints(wide.memory().cells as f64 / N as f64, 36.0, 0.01);
}

#[test]
fn i10_about_half_the_space_of_plain_counters_at_equal_rate() {
    for (n, p) in [(1000, 0.01), (100_000, 0.01), (100_000, 24.0 / 16384.0), (300_000, 1e-6)] {
        let ours = DLeft::with_rate(n, p).expect("a shape");
        let plain = Counting::with_rate(n, p).expect("a shape");
        let expect = VARIANT.expect(&Goal::new(n, p), &Load::items(n)).unwrap().unwrap();
        assert!(expect.fpr <= p && expect.fpr > 0.4 * p, "{}", expect.fpr);
        let ratio = ours.memory().total() as f64 / plain.memory().total() as f64;
        assert!(ratio < 0.52 && ratio > 0.25, "{n} keys at {p}: {ratio} of the bits");
    }
    let (ours, plain) = (DLeft::with_rate(100_000, 1e-3), Counting::with_rate(100_000, 1e-3));
    let (ours, plain) = (ours.unwrap().memory().total(), plain.unwrap().memory().total());
    assert!(2 * ours < plain, "{ours} {plain}");
}

#[test]
fn i10_rates_loads_and_removal() {
    let (mut passed, queries) = (0, 50_000u64);
    for seed in 0..20 {
        let mut filter = filled(BUCKETS, 14, N, seed);
        assert!(filter.loads().max() <= Some(8), "no overflow, or it would have been refused");
        assert!((0..N).all(|key| filter.contains(&key)));
        let non_members = (1 << 40)..(1 << 40) + queries;
        passed += non_members.filter(|key| filter.contains(key)).count();
        let now = filter.now().fpr.unwrap();
        assert!((now / 0.001_464 - 1.0).abs() < 0.002, "{now}");
        if seed < 2 {
            (0..N).for_each(|key| filter.remove(&key).expect("a member"));
            assert_eq!((filter.used(), filter.head().items), (0, 0));
        }
    }
    // 1464 of a million, ± 38.
    let sd = (20.0 * queries as f64 * 0.001_464f64).sqrt();
    assert!((passed as f64 - 1464.0).abs() < 5.0 * sd, "{passed}");
}

#[test]
fn i10_never_two_matches() {
    for (buckets, remainder) in [(50, 5), (64, 5), (8, 3)] {
        let filter = filled(buckets, remainder, 20 * buckets, 3);
        let mut passing = 0;
        for key in 0..50_000u64 {
            let trace = filter.trace(&key.to_le_bytes());
            assert_eq!(trace.len(), 4);
            let tables: Vec<u64> = trace.iter().map(|t| t.index / buckets).collect();
            assert_eq!(tables, [0, 1, 2, 3], "one bucket in each table");
            let matches = trace.iter().filter(|t| t.agrees).count();
            assert!(matches <= 1, "{matches} cells speak for one key");
            assert_eq!(matches == 1, filter.contains(&key));
            passing += matches;
        }
        assert!(passing > 15_000, "rates are high enough to tell: {passing}");
    }
}

#[test]
fn i10_loads_are_those_of_d_left_hashing() {
    // The permutations serve as well as independent hashes, in tables of any size.
    let expected = load_tails_to_the_left(6.0, 4, 9);
    for buckets in [8192u64, 7919] {
        let mut seen = [0u64; 9];
        for seed in 0..4 {
            let filter = filled(buckets, 14, 24 * buckets, seed);
            for load in filter.loads() {
                (0..load).for_each(|i| seen[i as usize] += 1);
            }
        }
        let all = 16.0 * buckets as f64;
        for (i, (seen, share)) in seen.iter().zip(&expected).enumerate() {
            let sd = (all * share * (1.0 - share)).sqrt();
            let off = (*seen as f64 - all * share).abs();
            assert!(off <= 5.0 * sd + 3.0, "at least {}: {seen}, {}", i + 1, all * share);
        }
        // Buckets of eight hardly ever fill up: 7 is the fullest of most tables.
        assert!(expected[7] * all < 40.0 && seen[7] < 60, "{seen:?}");
    }
}

#[test]
fn i10_removal_never_hits_another_fingerprint() {
    // Remainders of 4 bits: two of three non-members pass. Whoever stays is found after every removal.
    let mut filter = filled(16, 4, 300, 5);
    for key in 0..200u64 {
        let before = filter.used();
        let count = filter.count(&key);
        filter.remove(&key).expect("a member");
        assert_eq!(before - filter.used(), u64::from(count == 1), "one cell at most");
        assert!((key + 1..300).all(|other| filter.contains(&other)), "after removing {key}");
    }
}

#[test]
fn i10_repetitions_raise_the_count_in_place() {
    let mut filter = filled(100, 12, 500, 1);
    let used = filter.used();
    filter.insert(&7u64).expect("there");
    assert_eq!((filter.count(&7u64), filter.used()), (2, used), "searched before placed");
    filter.remove(&7u64).expect("there");
    filter.remove(&7u64).expect("there");
    assert!(!filter.contains(&7u64) && filter.used() == used - 1);
    let refused = filter.remove(&7u64).expect_err("gone");
    assert_eq!(refused.kind(), Kind::NotDeletable);
    // Two bits stick at three.
    (0..4).for_each(|_| {
        filter.insert(&7u64).expect("room");
    });
    assert_eq!(filter.count(&7u64), 3);
    (0..9).for_each(|_| filter.remove(&7u64).expect("sticks"));
    assert_eq!(filter.count(&7u64), 3);
    // Wider counts count on.
    let goal = Goal::new(100, 0.01).set("count", 8);
    let mut wide = VARIANT.build_from(&goal, &[Record::key(b"x"); 200]).expect("built");
    assert_eq!(wide.as_count().expect("counts").count(b"x").whole(), 200);
    (0..200).for_each(|_| wide.as_remove().unwrap().remove(Record::key(b"x")).expect("counted"));
    assert!(!wide.contains(b"x"));
}

#[test]
fn i10_full_buckets_refuse_and_change_nothing() {
    let mut filter = DLeft::with_shape(2, 20, Hasher::default()).expect("a shape");
    let mut taken = 0u64;
    let refused = loop {
        let before = filter.clone();
        match filter.insert(&taken) {
            Ok(_) => taken += 1,
            Err(e) => {
                assert_eq!(filter, before);
                break e;
            }
        }
    };
    assert_eq!(refused.kind(), Kind::CapacityExceeded);
    assert!((48..=64).contains(&taken), "{taken} of 64 cells");
    assert!((0..taken).all(|key| filter.contains(&key)));
    assert!(filter.insert(&0u64).is_ok(), "those inside still count");
}

#[test]
fn i10_every_parameter_is_settable() {
    let goal = Goal::new(10_000, 0.01).set("d", 3).set("cells", 6).set("load", 4).set("count", 4);
    let built = VARIANT.build_from(&goal, &[]).expect("built");
    // ⌈10,000/12⌉ buckets, ⌈log₂ 1200⌉ bits.
    assert_eq!(built.memory().cells, 3 * 834 * 6 * (11 + 4));
    let goal = Goal::default().set("buckets", 100).set("remainder", 9);
    let built = VARIANT.build_from(&goal, &[]).expect("built");
    assert_eq!(built.memory().cells, 4 * 100 * 8 * 11);
    let goal = Goal::new(1200, 0.01).set("buckets", 100);
    let built = VARIANT.build_from(&goal, &[]).expect("built");
    assert_eq!(built.memory().cells, 4 * 100 * 8 * (11 + 2), "twelve a row: ⌈log₂ 1200⌉");
    for (name, value) in [("load", "9"), ("d", "9"), ("remainder", "57"), ("count", "1")] {
        let refused = VARIANT.build_from(&Goal::new(100, 0.1).set(name, value), &[]);
        assert_eq!(refused.expect_err(name).kind(), Kind::BadParameter);
    }
}

//! C4, the dynamic count filter.

use everbloom::Kind;
use everbloom::counting::dynamic_count::{VARIANT, base_bits};
use everbloom::counting::{Counting, DynamicCount};
use everbloom::internals::filter::{Face, Filter as _, Merge as _, Record};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};

/// One key in m counters with two bits before they overflow, k = 1 so that it has a cell to itself.
fn one_key(times: u64) -> DynamicCount {
    let mut filter = DynamicCount::with_shape(1000, 1, 2, Hasher::default()).unwrap();
    (0..times).for_each(|_| {
        filter.insert("x");
    });
    filter
}

fn parts(filter: &DynamicCount) -> (u64, u64) {
    let counters = filter.counters();
    let cell = (0..counters.len()).find(|i| counters.parts(*i) != (0, 0));
    cell.map_or((0, 0), |i| counters.parts(i))
}

#[test]
fn c4_one_key_a_hundred_times() {
    let mut filter = one_key(100);
    assert_eq!(parts(&filter), (25, 0));
    assert_eq!((filter.counters().y(), filter.counters().rebuilds()), (5, 5));
    assert_eq!(filter.memory().cells, 7 * 1000);
    assert_eq!(filter.count("x"), 100);
    for left in (0..100).rev() {
        filter.remove("x").expect("a member");
        assert_eq!(filter.count("x"), left);
    }
    assert_eq!((parts(&filter), filter.counters().y()), ((0, 0), 0));
    assert_eq!(filter.memory().cells, 2 * 1000);
    assert!(!filter.contains("x"));
    assert_eq!(filter.remove("x").expect_err("gone").kind(), Kind::NotDeletable);
}

#[test]
fn c4_rebuilds_come_at_powers_of_two_only() {
    let mut filter = one_key(0);
    for count in 1..=100u64 {
        let before = filter.counters().rebuilds();
        filter.insert("x");
        let carry = count / 4;
        let due = count % 4 == 0 && carry.is_power_of_two();
        assert_eq!(filter.counters().rebuilds() - before, u64::from(due), "at {count}");
        let width = u64::BITS - carry.leading_zeros();
        assert_eq!(filter.counters().y(), width, "at {count}");
        assert_eq!(parts(&filter), (carry, count % 4));
    }
}

#[test]
fn c4_no_thrashing_at_a_power_of_two() {
    // OF goes back and forth between 15 and 16: one rebuild, and none after.
    let mut filter = one_key(63);
    let before = filter.counters().rebuilds();
    for _ in 0..50 {
        filter.insert("x");
        filter.remove("x").expect("a member");
    }
    assert_eq!(filter.counters().rebuilds() - before, 1);
    // It becomes narrower at a quarter of the range, OF = 8 of 32, and the next time at 4.
    let narrow = |filter: &mut DynamicCount, down_to: u64| {
        while filter.count("x") > down_to {
            filter.remove("x").expect("a member");
        }
        filter.counters().y()
    };
    assert_eq!(narrow(&mut filter, 36), 5, "OF = 9");
    assert_eq!(narrow(&mut filter, 35), 4, "OF = 8");
    assert_eq!(narrow(&mut filter, 20), 4, "OF = 5");
    assert_eq!(narrow(&mut filter, 19), 3, "OF = 4");
    assert_eq!(narrow(&mut filter, 4), 1, "OF = 1");
    assert_eq!(narrow(&mut filter, 3), 0, "OF = 0");
}

#[test]
fn c4_a_hot_key_widens_all_counters() {
    let mut filter = DynamicCount::with_shape(10_000, 7, 2, Hasher::default()).unwrap();
    (0..1000u64).for_each(|key| {
        filter.insert(&key);
    });
    let before = filter.memory().cells;
    (0..5000).for_each(|_| {
        filter.insert(&0u64);
    });
    assert!(filter.count(&0u64) >= 5001, "never overflows");
    assert_eq!(filter.counters().y(), 11, "⌊5001/4⌋ has eleven bits");
    assert!(before <= 4 * 10_000);
    assert_eq!(filter.memory().cells, 13 * 10_000);
    (0..5000).for_each(|_| filter.remove(&0u64).expect("counted"));
    assert!(filter.memory().cells <= 4 * 10_000);
    assert!((0..1000u64).all(|key| filter.contains(&key)));
}

#[test]
fn c4_counts_like_plain_counters_without_overflow() {
    for (k, ones) in [(7, 5034.0f64), (3, 2592.0)] {
        let mut filter = DynamicCount::with_shape(10_000, k, 1, Hasher::default()).unwrap();
        let mut plain = Counting::with_shape(10_000, k, 16, Hasher::default()).unwrap();
        for key in 0..1000u64 {
            for _ in 0..1 + key % 3 {
                assert_eq!(filter.insert(&key), plain.insert(&key));
            }
        }
        assert!(filter.counters().iter().eq(plain.counters().iter()));
        let used = filter.fill().unwrap() * 10_000.0;
        assert!((used - ones).abs() < 111.0, "{used} of {ones}");
        assert!((0..5000u64).all(|key| filter.count(&key) == plain.count(&key)));
        for key in (0..1000u64).flat_map(|key| vec![key; 1 + key as usize % 3]) {
            filter.remove(&key).expect("a member");
        }
        assert_eq!(filter.counters().iter().sum::<u64>(), 0);
        assert_eq!((filter.counters().y(), filter.head().items), (0, 0));
    }
}

#[test]
fn c4_parameters() {
    for (repeats, x) in [(1.0, 1), (2.0, 1), (3.9, 1), (4.0, 2), (100.0, 6), (1e9, 16)] {
        assert_eq!(base_bits(repeats), x, "{repeats}");
    }
    let x = |goal: Goal| {
        let filter = VARIANT.build_from(&goal, &[]).expect("built");
        let fact = filter.describe().into_iter().find(|f| f.name == "x").expect("x");
        fact.value.to_string()
    };
    assert_eq!(x(Goal::new(100, 0.01)), "2", "nobody knows");
    assert_eq!(x(Goal::new(100, 0.01).set("repeats", 100)), "6");
    assert_eq!(x(Goal::new(100, 0.01).set("repeats", 100).set("x", 3)), "3");
}

#[test]
fn c4_space_beside_plain_counters_at_equal_rate() {
    let total = |n: u64| {
        let records: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
        let records: Vec<Record<'_>> = records.iter().map(|key| Record::key(key)).collect();
        let ours = VARIANT.build_from(&Goal::new(n, 0.01), &records).expect("built");
        let plain = Counting::with_rate(n, 0.01).expect("planned");
        let expect = VARIANT.expect(&Goal::new(n, 0.01), &Load::items(n)).unwrap().unwrap();
        assert!(ours.memory().cells <= expect.bits);
        ours.memory().total() as f64 / plain.memory().total() as f64
    };
    // Three bits a counter while none is above 7, four beyond; and no counter sticks.
    assert!((total(1000) - 0.75).abs() < 0.02, "{}", total(1000));
    assert!(total(100_000) < 1.01);
    // Where keys come 50 times each, 4-bit counters are all stuck; ten bits are not.
    let mut plain = Counting::with_shape(10_000, 7, 4, Hasher::default()).unwrap();
    let mut ours = DynamicCount::with_shape(10_000, 7, 5, Hasher::default()).unwrap();
    for key in (0..1000u64).flat_map(|key| [key; 50]) {
        plain.insert(&key);
        ours.insert(&key);
    }
    let exact = |count: &dyn Fn(&u64) -> u64| (0..1000u64).filter(|key| count(key) == 50).count();
    assert_eq!(exact(&|key| plain.count(key)), 0);
    assert!(exact(&|key| ours.count(key)) > 970);
    assert!(ours.memory().cells <= 10 * 10_000);
}

#[test]
fn c4_merging_adds_and_widens() {
    let filled = |times: u64, from: u64| {
        let mut filter = DynamicCount::with_shape(500, 3, 2, Hasher::default()).unwrap();
        for key in from..from + 50 {
            (0..times).for_each(|_| {
                filter.insert(&key);
            });
        }
        filter
    };
    let (mut a, b) = (filled(9, 0), filled(60, 25));
    let (left, right): (Vec<u64>, Vec<u64>) =
        (a.counters().iter().collect(), b.counters().iter().collect());
    a.merge(&b).expect("same shape");
    assert!(a.counters().iter().eq(left.iter().zip(&right).map(|(a, b)| a + b)));
    assert!(a.counters().y() >= 5);
    let other = DynamicCount::with_shape(500, 3, 3, Hasher::default()).unwrap();
    assert_eq!(a.merge(&other).expect_err("x").kind(), Kind::Incompatible { what: "x" });
}

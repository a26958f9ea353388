//! R17, the multi-partitioned counting filter.

use everbloom::Kind;
use everbloom::counting::multi_partitioned::{Shape, VARIANT, n_max};
use everbloom::counting::{Counting, MultiPartitioned};
use everbloom::internals::cells::Hierarchy;
use everbloom::internals::filter::{Face, Filter as _, Merge as _};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::{bloom, tail};

fn level(word: &Hierarchy, t: u32) -> String {
    word.level(t).iter().map(|b| if *b { '1' } else { '0' }).collect()
}

#[test]
fn r17_levels_of_a_word_as_printed() {
    let mut word = Hierarchy::new(16, 8);
    assert!([0, 3, 5].into_iter().all(|i| word.increment(i)));
    assert_eq!((level(&word, 1), level(&word, 2)), ("10010100".into(), "000".into()));
    assert_eq!(word.used(), 11);
    let first = word;
    assert!([0, 3, 7].into_iter().all(|i| word.increment(i)));
    assert_eq!(level(&word, 1), "10010101");
    assert_eq!((level(&word, 2), level(&word, 3)), ("1100".into(), "00".into()));
    assert_eq!(word.used(), 14);
    assert_eq!([0, 3, 5, 7, 1].map(|i| word.count(i)), [2, 2, 1, 1, 0]);
    // A third key does not fit: 17 > 16.
    let mut third = word;
    assert!(third.increment(1) && third.increment(2));
    let full = third;
    assert!(!third.increment(4));
    assert_eq!(third, full, "a full word is left as it is");
    assert!([0, 3, 5].into_iter().all(|i| word.decrement(i)));
    assert_eq!((level(&word, 1), level(&word, 2)), ("10010001".into(), "000".into()));
    assert_eq!(word.used(), 11);
    // The layout follows from the counts, whatever the order they came in.
    let mut other = first;
    assert!([7, 3, 0].into_iter().all(|i| other.increment(i)));
    assert!([5, 0, 3].into_iter().all(|i| other.decrement(i)));
    assert_eq!(other, word);
    assert!(!word.decrement(1), "nothing there");
}

#[test]
fn r17_parameters_and_rates_by_formula() {
    // 40 bits a key, n = 10⁵, k = 3, with the paper's rule for n_max.
    let n = 100_000;
    assert_eq!((n_max(n, 62_500, 1.0), n_max(n, 7812, 1.0)), (9, 28));
    let words = |l, w| Shape::for_items(l, w, n, 3, 1, 1.0).expect("room");
    let (small, line) = (words(62_500, 64), words(7812, 512));
    assert_eq!((small.b1(), line.b1()), (37, 428));
    let near = |f: f64, printed: f64, relative| {
        assert!((f / printed - 1.0).abs() < relative, "{f} against {printed}");
    };
    near(small.fpr_classic(n), 0.004_784, 2e-4);
    near(small.fpr(n), 0.004_927, 2e-4);
    near(line.fpr_classic(n), 7.647e-4, 2e-4);
    near(line.fpr(n), 7.671e-4, 2e-4);
    near(bloom::fpr_classic(1e6, 1e5, 3.0), 0.017_411, 2e-4);
    let over = tail::binomial_at_least(n, 1.0 / 62_500.0, 10);
    near(over, 7.1e-6, 0.01);
    near(over * 62_500.0, 0.45, 0.02);
    // The least j, and never more than all keys.
    for (n, l, overflow) in [(20, 1, 1e-6), (1000, 7, 1e-6), (100_000, 7812, 1e-6), (5, 1000, 1.0)]
    {
        let j = n_max(n, l, overflow);
        let beyond = |j: u64| tail::binomial_at_least(n, 1.0 / l as f64, j + 1) * l as f64;
        assert!(beyond(j) < overflow && (j == 0 || beyond(j - 1) >= overflow), "{n} {l}: {j}");
    }
}

/// Builds under seeds until 20 succeed; the share of builds that refused a key, and of non-members
/// that pass.
fn measured(shape: Shape, n: u64, non_members: u64) -> (f64, f64) {
    let (mut refused, mut built, mut passed) = (0, 0, 0);
    for seed in 0.. {
        let mut filter = MultiPartitioned::with_shape(shape, Hasher::seeded(seed)).unwrap();
        match (0..n).try_for_each(|key| filter.insert(&key).map(drop)) {
            Err(e) => {
                assert_eq!(e.kind(), Kind::CapacityExceeded);
                refused += 1;
            }
            Ok(()) => {
                assert!((0..n).step_by(7).all(|key| filter.contains(&key)));
                let foreign = 1 << 40..(1u64 << 40) + non_members;
                passed += foreign.filter(|key| filter.contains(key)).count();
                built += 1;
            }
        }
        if built == 20 {
            break;
        }
    }
    let rate = passed as f64 / (20 * non_members) as f64;
    (f64::from(refused) / f64::from(refused + built), rate)
}

#[test]
fn r17_rates_and_refusals_as_measured() {
    let n = 100_000;
    for (l, w, printed) in [(62_500, 64, 0.004_927), (7812, 512, 7.671e-4)] {
        let shape = Shape::for_items(l, w, n, 3, 1, 1.0).expect("room");
        let (refused, rate) = measured(shape, n, 100_000);
        let sd = (printed / 2e6f64).sqrt() + 0.003 * printed;
        assert!((rate - printed).abs() < 4.0 * sd, "w = {w}: {rate} against {printed}");
        // Under the paper's rule one build in three, or two in five, refuses a key.
        assert!((0.05..0.7).contains(&refused), "w = {w}: {refused}");
    }
}

#[test]
fn r17_two_words_per_key() {
    let shape = Shape::for_items(800, 128, 4000, 4, 2, 1e-6).expect("room");
    let (refused, rate) = measured(shape, 4000, 50_000);
    let predicted = shape.fpr(4000);
    assert_eq!(refused, 0.0);
    let sd = (predicted / 1e6).sqrt() + 0.01 * predicted;
    assert!((rate - predicted).abs() < 4.0 * sd, "{rate} against {predicted}");
}

#[test]
fn r17_fewer_false_positives_than_plain_counters_at_equal_bits() {
    // Forty bits a key in all, and k = 3 for both; plain counters with their best k = 7 for comparison.
    let n = 20_000u64;
    let goal = Goal { items: Some(n), ..Goal::default() }.set("l", 1560).set("k", 3);
    let expect = VARIANT.expect(&goal, &Load::items(n)).expect("a plan").expect("a formula");
    let (mut ours, mut same_k, mut best_k) = (0, 0, 0);
    for seed in 0..20 {
        let shape = Shape::for_items(1560, 512, n, 3, 1, 1e-6).expect("room");
        let mut filter = MultiPartitioned::with_shape(shape, Hasher::seeded(seed)).unwrap();
        let plain = |k| Counting::with_shape(200_000, k, 4, Hasher::seeded(seed)).unwrap();
        let (mut three, mut seven) = (plain(3), plain(7));
        for key in 0..n {
            filter.insert(&key).expect("room");
            three.insert(&key);
            seven.insert(&key);
        }
        assert!(filter.memory().total() <= three.memory().total());
        assert_eq!(filter.memory().cells, expect.bits);
        for key in 1 << 40..(1u64 << 40) + 50_000 {
            ours += u64::from(filter.contains(&key));
            same_k += u64::from(three.contains(&key));
            best_k += u64::from(seven.contains(&key));
        }
    }
    assert!(ours * 10 < same_k && ours * 5 < best_k, "{ours}, {same_k}, {best_k} of a million");
    assert!((ours as f64 / 1e6 / expect.fpr - 1.0).abs() < 0.2, "{ours} of {}", expect.fpr);
}

#[test]
fn r17_not_where_more_keys_come_than_planned() {
    let mut filter = MultiPartitioned::with_rate(1000, 0.01).expect("a plan");
    let mut counting = Counting::with_rate(1000, 0.01).expect("a plan");
    let mut refused = 0;
    for key in 0..5000u64 {
        let before = filter.head().items;
        match filter.insert(&key) {
            Ok(_) => assert!(filter.contains(&key)),
            Err(e) => {
                assert_eq!(e.kind(), Kind::CapacityExceeded);
                assert_eq!(filter.head().items, before);
                refused += 1;
            }
        }
        counting.insert(&key);
    }
    assert!(refused > 500, "{refused}");
    assert!((0..5000u64).all(|key| counting.contains(&key)));
}

#[test]
fn r17_each_hash_costs_one_bit_of_one_word() {
    let shape = Shape::new(50, 256, 150, 5, 1).expect("a shape");
    for key in 0..500u64 {
        let mut filter = MultiPartitioned::with_shape(shape, Hasher::default()).unwrap();
        filter.insert(&key).expect("room");
        let used: Vec<u64> = filter.levels().iter().map(|w| w.used() - 150).collect();
        assert_eq!(used.iter().filter(|u| **u != 0).count(), 1);
        assert_eq!(used.iter().sum::<u64>(), 5);
        let before = MultiPartitioned::with_shape(shape, Hasher::default()).unwrap();
        filter.remove(&key).expect("a member");
        assert_eq!(filter.levels(), before.levels());
        let refused = filter.remove(&key).expect_err("gone");
        assert_eq!(refused.kind(), Kind::NotDeletable);
    }
}

#[test]
fn r17_removal_checks_multiplicities_before_it_changes_anything() {
    // Six positions and six probes: hashes of one key coincide all the time.
    let shape = Shape::new(1, 64, 6, 6, 1).expect("a shape");
    let mut filter = MultiPartitioned::with_shape(shape, Hasher::default()).unwrap();
    (1000..1002u64).for_each(|key| {
        filter.insert(&key).expect("room");
    });
    let mut refused = 0;
    for key in 0..500u64 {
        let before = filter.clone();
        match filter.remove(&key) {
            Err(e) => {
                assert_eq!((e.kind(), &filter), (Kind::NotDeletable, &before));
                refused += u64::from(before.contains(&key));
            }
            Ok(()) => filter = before,
        }
    }
    assert!(refused > 0, "keys that pass, but whose removal would take too much");
}

#[test]
fn r17_merging_adds_counts_or_refuses() {
    let shape = Shape::new(20, 128, 60, 4, 1).expect("a shape");
    let filled = |keys: std::ops::Range<u64>| {
        let mut filter = MultiPartitioned::with_shape(shape, Hasher::default()).unwrap();
        keys.for_each(|key| {
            filter.insert(&key).expect("room");
        });
        filter
    };
    let (mut a, b, whole) = (filled(0..60), filled(60..100), filled(0..100));
    a.merge(&b).expect("room for both");
    assert_eq!(a.levels(), whole.levels());
    let before = a.clone();
    let refused = a.merge(&whole).and_then(|()| a.merge(&whole)).and_then(|()| a.merge(&whole));
    assert_eq!(refused.expect_err("full").kind(), Kind::CapacityExceeded);
    assert!(a.head().items >= before.head().items);
}

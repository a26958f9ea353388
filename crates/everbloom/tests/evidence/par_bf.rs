//! §13, Par-BF.

use everbloom::Kind;
use everbloom::growing::ParBf;
use everbloom::growing::par_bf::{VARIANT, filter_fpr, list_fpr};
use everbloom::growing::scalable::{layer_bits, layer_k};
use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;

fn filled(seed: u64, n: u64) -> ParBf {
    let mut filter = ParBf::builder().items(4000).rate(0.01).seed(seed).build().expect("a filter");
    (0..n).for_each(|key| _ = filter.insert(&key).expect("memory"));
    filter
}

#[test]
fn s13_budgets() {
    let printed = [(6.264e-4, 15.35), (3.128e-4, 16.80), (1.563e-4, 18.24)];
    for (j, (rate, bits)) in printed.into_iter().enumerate() {
        let f = filter_fpr(0.01, 8, j);
        assert!((f - rate).abs() < 0.5e-7, "{j}: {f}");
        // The entry's bits a key are those of log2(1/f)/ln 2; k is rounded up, which takes up to 2 % more.
        assert!((-f.log2() / std::f64::consts::LN_2 - bits).abs() < 0.005, "{j}");
        let strict = layer_bits(1e6, f) / 1e6;
        assert!(strict >= bits - 0.005 && strict < 1.02 * bits, "{j}: {strict}");
        assert_eq!(layer_k(f), (-f.log2()).ceil());
    }
    let sums: Vec<f64> = (1..4).map(|n| (0..n).map(|j| list_fpr(0.01, j)).sum()).collect();
    for (sum, printed) in sums.iter().zip([0.0050, 0.0075, 0.00875]) {
        assert!((sum - printed).abs() < 1e-12);
    }
    assert!((0..1000).map(|j| list_fpr(0.01, j)).sum::<f64>() <= 0.01);
}

/// With one, two and three full lists.
#[test]
fn s13_rates_of_full_lists() {
    for (n, lists, printed) in [(4000, 1, 0.0050), (12_000, 2, 0.0075), (28_000, 3, 0.00875)] {
        let goal = Goal::new(4000, 0.01);
        let expect = VARIANT.expect(&goal, &Load::items(n)).expect("a shape").expect("a formula");
        assert!((expect.fpr - printed).abs() < 0.005 * printed, "{n}: {}", expect.fpr);
        let (seeds, queries, mut passed) = (3, 60_000, 0);
        for seed in 0..seeds {
            let filter = filled(seed, n);
            assert!(filter.lists().all(|(filters, _)| filters == 8));
            assert_eq!(filter.lists().count(), lists);
            passed += (n..n + queries).filter(|key| filter.contains(key)).count() as u64;
        }
        let all = seeds * queries;
        let (low, high) = binomial_bounds(all, printed, 1e-9);
        let slack = (0.05 * printed * all as f64) as u64;
        assert!((low - slack..=high + slack).contains(&passed), "{n}: {passed} of {all}");
        assert!((passed as f64) < 0.01 * all as f64);
    }
}

/// Capacities double from list to list; every filter is filled before the next is opened.
#[test]
fn s13_lists() {
    let filter = filled(0, 4000 + 3 * 1000 + 1);
    assert_eq!(filter.lists().collect::<Vec<_>>(), [(8, 500), (4, 1000)]);
    assert_eq!(filter.head().fpr, Some(0.01));
}

#[test]
fn s13_removal_and_garbage_collection() {
    let mut filter = filled(1, 4000);
    let mut refused = 0;
    for key in 0..2600u64 {
        match filter.remove(&key) {
            Ok(()) => {}
            Err(e) => {
                assert_eq!(e.kind(), Kind::Ambiguous);
                refused += 1;
            }
        }
        if key % 100 == 0 {
            assert!((2600..4000u64).all(|key| filter.contains(&key)), "a member was lost");
        }
    }
    assert!(refused < 30, "{refused}");
    // 1400 keys and a few that were refused fit into three filters of 500; half-full pairs have been united.
    let lists: Vec<_> = filter.lists().collect();
    assert!((3..=5).contains(&lists[0].0), "{lists:?}");
    assert!((2600..4000u64).all(|key| filter.contains(&key)));
    // No filter holds more than keeps its rate.
    assert!(filter.now().fpr.expect("a rate") <= 0.0055, "{:?}", filter.now());
    assert_eq!(filter.head().items, 1400 + refused);
    // What was freed is used again.
    (10_000..12_000u64).for_each(|key| _ = filter.insert(&key).expect("memory"));
    assert_eq!(filter.lists().count(), 1);
    assert!((2600..4000u64).chain(10_000..12_000).all(|key| filter.contains(&key)));
}

/// Lists are matched by workers of their own; the answers are the same.
#[test]
fn s13_parallel_matching() {
    let filter = filled(2, 9000);
    let keys: Vec<u64> = (0..60_000).collect();
    let found = filter.contains_many(&keys);
    assert!(found[..9000].iter().all(|found| *found));
    assert!(keys.iter().zip(&found).all(|(key, found)| filter.contains(key) == *found));
}

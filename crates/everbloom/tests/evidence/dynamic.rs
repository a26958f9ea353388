//! §10, the dynamic Bloom filter.

use everbloom::Kind;
use everbloom::growing::Dynamic;
use everbloom::growing::dynamic::VARIANT;
use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;

/// The example of the original paper: 1280 cells, 7 probes, 1 % each.
fn example(seed: u64, n: u64) -> Dynamic {
    let mut filter = Dynamic::with_shape(1280, 7, 0.01, Hasher::seeded(seed)).expect("a filter");
    (0..n).for_each(|key| _ = filter.insert(&key).expect("memory"));
    filter
}

fn example_goal() -> Goal {
    let goal = Goal { fpr: Some(0.01), ..Goal::default() };
    goal.set("m", 1280).set("k", 7).set("filters", 1)
}

#[test]
fn s10_capacity_of_the_papers_example() {
    assert_eq!(example(0, 0).capacity(), 133);
    assert_eq!([133, 134, 266, 267].map(|n| example(0, n).filters()), [1, 2, 2, 3]);
    assert!((bloom::fpr_asymptotic(1280.0, 133.0, 7.0) - 0.009847).abs() < 0.5e-6);
    assert!(bloom::fpr_asymptotic(1280.0, 134.0, 7.0) > 0.01);
}

#[test]
fn s10_rates_grow_by_one_filter_at_a_time() {
    for (n, filters, formula, printed) in [(500, 4, 0.03166, 0.0321), (1000, 8, 0.06721, 0.0691)] {
        let load = Load::items(n);
        let expect = VARIANT.expect(&example_goal(), &load).expect("a shape").expect("a formula");
        assert!((expect.fpr - formula).abs() < 0.005 * formula, "{n}: {}", expect.fpr);
        let (seeds, queries) = (20, 20_000);
        let mut passed = 0;
        for seed in 0..seeds {
            let filter = example(seed, n);
            assert_eq!(filter.filters(), filters);
            let here = (n..n + queries).filter(|key| filter.contains(key)).count() as u64;
            let now = filter.now().fpr.expect("a rate");
            let (low, high) = binomial_bounds(queries, now, 1e-9);
            assert!((low..=high).contains(&here), "{here} of {queries}, {now} predicted");
            passed += here;
        }
        let rate = passed as f64 / (seeds * queries) as f64;
        assert!((rate - printed).abs() < 0.04 * printed, "{n}: {rate}");
    }
    // While one filter of this size lets nearly everything pass.
    assert!((bloom::fpr_asymptotic(1280.0, 1000.0, 7.0) - 0.97).abs() < 0.005);
}

/// Every insertion touches 7 counters of one filter.
#[test]
fn s10_an_insertion_goes_to_one_filter() {
    let mut cells = 0.0;
    for key in 0..1000u64 {
        let mut filter = example(0, 0);
        filter.insert(&key).expect("memory");
        cells += filter.fill().expect("cells") * 1280.0;
    }
    // 7 hashes of one key meet in C(7,2)/1280 of all cases.
    assert!((cells - 7000.0 + 1000.0 * 21.0 / 1280.0).abs() < 20.0, "{cells}");
}

#[test]
fn s10_removal_by_the_only_owner() {
    let mut filter = example(3, 1000);
    let (mut refused, before) = (0, filter.now().fpr.expect("a rate"));
    for key in 0..700u64 {
        match filter.remove(&key) {
            Ok(()) => {}
            Err(e) => {
                assert_eq!(e.kind(), Kind::Ambiguous);
                assert!(filter.contains(&key));
                refused += 1;
            }
        }
        assert!((700..1000u64).all(|key| filter.contains(&key)), "a member was lost");
    }
    // Seven other filters claim a key wrongly, each at 1 %, ever fewer of them.
    assert!((5..60).contains(&refused), "{refused}");
    assert_eq!(filter.head().items, 300 + refused);
    assert!(filter.now().fpr.expect("a rate") < before / 2.0);
    // Room is used again before a filter is appended.
    let filters = filter.filters();
    (2000..2600u64).for_each(|key| _ = filter.insert(&key).expect("memory"));
    assert_eq!(filter.filters(), filters);
    // What nobody claims is refused.
    let absent = (5000..6000u64).find(|key| !filter.contains(key)).expect("most are absent");
    assert_eq!(filter.remove(&absent).expect_err("absent").kind(), Kind::NotDeletable);
}

/// The trap that remains: a key that was never inserted and that one filter claims is removed like any other.
#[test]
fn s10_foreign_removals_cost_members() {
    let mut filter = example(5, 500);
    let removed = (1000..20_000u64).filter(|key| filter.remove(key).is_ok()).count();
    let lost = (0..500u64).filter(|key| !filter.contains(key)).count();
    assert!(removed > 100 && lost > 100, "{removed} removed, {lost} lost");
}

#[test]
fn s10_merging_filters_that_fit_into_one() {
    let mut filter = example(7, 1000);
    (0..600u64).for_each(|key| _ = filter.remove(&key));
    let (items, before) = (filter.head().items, filter.filters());
    let freed = filter.compact();
    assert!(freed >= 4 && filter.filters() == before - freed, "{freed}");
    assert_eq!(filter.head().items, items);
    assert!((600..1000u64).all(|key| filter.contains(&key)));
    // And keys can be removed from where they are now.
    let removed = (600..1000u64).filter(|key| filter.remove(key).is_ok()).count();
    assert!(removed > 380, "{removed}");
}

/// Bits cannot be reset for one key alone, as S3 has it: the form without counters refuses.
#[test]
fn s10_bits_are_not_reset() {
    let goal = Goal::new(1000, 0.01).set("form", "bits");
    let filter = VARIANT.build_from(&goal, &[]).expect("a filter");
    let counting = VARIANT.build_from(&Goal::new(1000, 0.01), &[]).expect("a filter");
    assert_eq!(4 * filter.memory().cells, counting.memory().cells);
    assert!(filter.boxed_clone().as_remove().is_none());
    let mut bits = Dynamic::builder().items(10).form("bits").build().expect("a filter");
    bits.insert("key").expect("memory");
    assert_eq!(bits.remove("key").expect_err("bits").kind(), Kind::Unsupported);
}

/// Planned for n keys in four filters, the rate is the one asked for.
#[test]
fn s10_planned_rate() {
    for n in [1000, 20_000] {
        let goal = Goal::new(n, 0.01);
        let expect = VARIANT.expect(&goal, &Load::items(n)).expect("a shape").expect("a formula");
        assert!(expect.fpr <= 0.01 * 1.01 && expect.fpr > 0.009, "{}", expect.fpr);
        let twice =
            VARIANT.expect(&goal, &Load::items(2 * n)).expect("a shape").expect("a formula");
        assert!((twice.fpr - 0.0199).abs() < 0.001, "{}", twice.fpr);
    }
}

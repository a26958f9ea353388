//! R12, partitioned hashing.

use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::probe::Probe;
use everbloom::internals::theory::bloom as theory;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::membership::{Bloom, PartitionedHashing};

const FILTERS: u64 = 20;

fn goal(n: u64, c: u64, k: u32, size: u64, t: u64) -> Goal {
    let goal = Goal { items: Some(n), ..Goal::default() };
    goal.set("m", c * n).set("k", k).set("size", size).set("t", t)
}

fn filter(goal: &Goal, n: u64, seed: u64) -> PartitionedHashing {
    let keys: Vec<u64> = (0..n).collect();
    PartitionedHashing::of(&keys, &goal.clone().seed(seed)).unwrap()
}

fn fill(filter: &PartitionedHashing) -> f64 {
    filter.bits().ones() as f64 / filter.m() as f64
}

/// Mean fill and mean rate, the rate from the fill.
fn means(goal: &Goal, n: u64) -> (f64, f64) {
    let each = (0..FILTERS).map(|seed| {
        let filter = filter(goal, n, seed);
        (fill(&filter), fill(&filter).powi(filter.k() as i32))
    });
    let (fill, rate) = each.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    (fill / FILTERS as f64, rate / FILTERS as f64)
}

#[test]
fn r12_simulated_fills_and_rates() {
    let n = 10_000;
    for (c, k, size, t, printed, rate) in [
        (10, 7, 10, 1, None, 0.0082),
        (10, 7, 10, 8, Some(0.4673), 0.00486),
        (10, 7, 10, 16, Some(0.4582), 0.00424),
        (10, 7, 5, 64, Some(0.4191), 0.00227),
        (16, 11, 10, 16, None, 2.02e-4),
    ] {
        let (mean, f) = means(&goal(n, c, k, size, t), n);
        assert!((f / rate - 1.0).abs() < 0.02, "c = {c}, s = {size}, t = {t}: {f}");
        // A mean of 20 filters is good to 0.03 %.
        assert!(printed.is_none_or(|p| (mean - p).abs() < 8e-4), "s = {size}, t = {t}: {mean}");
    }
}

#[test]
fn r12_simulated_rates_of_subsets() {
    let n = 10_000;
    for (base, t, rate) in [(8, 8, 0.0069), (9, 16, 0.0063), (14, 16, 0.0053)] {
        let goal = goal(n, 10, 7, 10, t).set("form", "subsets").set("base", base);
        let (_, f) = means(&goal, n);
        assert!((f / rate - 1.0).abs() < 0.02, "H = {base}, t = {t}: {f}");
    }
}

#[test]
fn r12_every_cell_is_chosen_by_the_book() {
    // Small enough for cells of one group to coincide.
    let (n, m, k, t, groups) = (120u64, 700u64, 5u32, 6u64, 12u64);
    let goal = Goal { items: Some(n), ..Goal::default() };
    let goal = goal.set("m", m).set("k", k).set("t", t).set("groups", groups);
    let filter = filter(&goal, n, 3);
    assert_eq!((filter.table().len(), filter.table().width()), (groups, 3));
    let (probe, hasher) = (Probe::over(m, k), Hasher::seeded(3));
    let group = |key: u64| {
        let word = hasher.digest(&key).word(0x67_726f_7570);
        ((u128::from(word) * u128::from(groups)) >> 64) as u64
    };
    let mut ones = std::collections::BTreeSet::<u64>::new();
    for g in 0..groups {
        let candidates = (0..t).map(|candidate| {
            let mut new = std::collections::BTreeSet::new();
            for key in (0..n).filter(|key| group(*key) == g) {
                probe.each(hasher.digest(&key).salted(candidate), |i| {
                    new.insert(i);
                });
            }
            new.retain(|i| !ones.contains(i));
            new
        });
        let candidates: Vec<_> = candidates.collect();
        let (chosen, new) = candidates.iter().enumerate().min_by_key(|(_, c)| c.len()).unwrap();
        assert_eq!(filter.table().get(g), chosen as u64, "group {g}");
        ones.extend(new);
    }
    assert!((0..m).all(|i| filter.bits().get(i) == ones.contains(&i)), "and nothing else is set");
}

#[test]
fn r12_the_order_of_the_keys_does_not_matter() {
    let goal = goal(500, 10, 7, 10, 16);
    let keys: Vec<u64> = (0..500).collect();
    let back: Vec<u64> = (0..500).rev().collect();
    let [one, other] = [keys, back].map(|k| PartitionedHashing::of(&k, &goal).unwrap());
    assert_eq!(one, other);
}

#[test]
fn r12_measured_rates_follow_the_fill() {
    let n = 5000;
    // The second and the last are far from the best k.
    for (goal, k) in [
        (goal(n, 10, 7, 10, 16), 7),
        (goal(n, 10, 3, 10, 16), 3),
        (goal(n, 10, 7, 10, 16).set("form", "subsets").set("base", 14), 7),
        (goal(n, 10, 3, 4, 9).set("form", "subsets").set("base", 5), 3),
    ] {
        let filter = filter(&goal, n, 7);
        assert!((0..n).all(|key| filter.contains(&key)));
        let f = fill(&filter).powi(k);
        assert!((filter.now().fpr.unwrap() / f - 1.0).abs() < 1e-12);
        let queries = 1_000_000;
        let hits =
            (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count() as u64;
        let (low, high) = binomial_bounds(queries, f, 1e-9);
        assert!((low..=high).contains(&hits), "{goal:?}: {hits}, not {low} to {high}");
    }
}

#[test]
fn r12_the_equation_of_large_filters_predicts_the_fill() {
    let variant = everbloom::catalog::by_slug("partitioned-hashing").unwrap();
    // The last has groups beyond the sum over sizes.
    for (n, c, k, size, t) in [
        (10_000u64, 10, 7u32, 10, 16),
        (10_000, 6, 3, 1, 4),
        (10_000, 12, 8, 30, 32),
        (10_000, 10, 7, 100, 16),
    ] {
        let goal = goal(n, c, k, size, t);
        let expect = variant.expect(&goal, &Load::items(n)).unwrap().unwrap();
        let (mean, sd) = expect.fill.unwrap();
        let fills: Vec<f64> = (0..24).map(|seed| fill(&filter(&goal, n, seed))).collect();
        let measured = fills.iter().sum::<f64>() / 24.0;
        // A group finds the fill a little higher than where the step began: 0.02 % of slack.
        let error = sd / 24f64.sqrt() * 4.5 + 2e-4 * mean;
        assert!((measured - mean).abs() < error, "{size} {t}: {measured}, not {mean} ± {error}");
        // χ² with 23 degrees of freedom lies between 6 and 53 but for one in ten thousand.
        let spread = fills.iter().map(|f| ((f - measured) / sd).powi(2)).sum::<f64>();
        assert!((6.0..53.0).contains(&spread), "{size} {t}: {spread}");
        let f = mean.powi(k as i32);
        assert!((expect.fpr / f - 1.0).abs() < 1e-9);
        assert_eq!(expect.bits, filter(&goal, n, 0).memory().cells, "the table is counted");
    }
}

/// False positives on non-members at equal total bits, the table of choices and all scalars included.
fn duel(goal: &Goal, n: u64, build: u64, queries: u64) -> (u64, u64) {
    let (mut ours, mut theirs) = (0, 0);
    for seed in 0..FILTERS {
        let mut chosen = filter(goal, build, seed);
        (build..n).for_each(|key| {
            chosen.insert(&key);
        });
        let overhead = Bloom::with_shape(64, 1, Hasher::default()).unwrap().memory().total() - 64;
        let m = (chosen.memory().total() - overhead) / 64 * 64;
        let mut plain = Bloom::with_shape(m, theory::best_k(m, n), Hasher::seeded(seed)).unwrap();
        (0..n).for_each(|key| {
            plain.insert(&key);
        });
        assert!(chosen.memory().total().abs_diff(plain.memory().total()) < 64);
        let non_members = 1 << 40..(1 << 40) + queries;
        assert!((0..n).all(|key| chosen.contains(&key)));
        ours += non_members.clone().filter(|key: &u64| chosen.contains(key)).count() as u64;
        theirs += non_members.filter(|key: &u64| plain.contains(key)).count() as u64;
    }
    (ours, theirs)
}

#[test]
fn r12_where_to_use_it_and_where_not() {
    let n = 4000;
    // Ten keys a group: 0.0042 against 0.0068.
    let (ours, theirs) = duel(&goal(n, 10, 7, 10, 16), n, n, 100_000);
    assert!((ours as f64) < 0.7 * theirs as f64, "{ours} against {theirs}");
    // One key a group: four bits of table for each, 0.00143 against 0.0012.
    let (ours, theirs) = duel(&goal(n, 10, 7, 1, 16), n, n, 200_000);
    assert!(ours as f64 > 1.1 * theirs as f64, "{ours} against {theirs}");
    // Keys that come after the build are found, but nothing was chosen for them.
    let (ours, theirs) = duel(&goal(n, 10, 7, 10, 16), n, 0, 50_000);
    assert!(ours as f64 > 1.1 * theirs as f64, "{ours} against {theirs}");
}

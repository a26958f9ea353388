//! R13, best of N.

use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::Hasher;
use everbloom::internals::probe::Probe;
use everbloom::internals::theory::bloom as theory;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::membership::{BestOfN, Bloom, best_of_n};

fn best(m: u64, k: u32, n: u64, tries: u64, seed: u64) -> BestOfN {
    let keys: Vec<u64> = (0..n).collect();
    BestOfN::of(&keys, m, k, tries, Hasher::seeded(seed)).unwrap()
}

/// Mean ones and mean rate of many builds.
fn means(m: u64, k: u32, n: u64, tries: u64, builds: u64) -> (f64, f64) {
    let each = (0..builds).map(|seed| {
        let ones = best(m, k, n, tries, seed).bits().ones() as f64;
        (ones, (ones / m as f64).powi(k as i32))
    });
    let (ones, rate) = each.fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    (ones / builds as f64, rate / builds as f64)
}

#[test]
fn r13_simulated_ones_and_rates() {
    // 2,000 builds of a spread of 8.8 ones at most: the mean is good to 0.2, well inside 1 %.
    for (tries, ones, rate) in [(1, 503.9, 0.0083), (10, 490.4, 0.00684), (100, 481.5, 0.00601)] {
        let (mean, f) = means(1000, 7, 100, tries, 2000);
        assert!((mean / ones - 1.0).abs() < 0.002, "N = {tries}: {mean} ones");
        assert!((f / rate - 1.0).abs() < 0.01, "N = {tries}: rate {f}");
        let (fill, _) = best_of_n::best_fill(1000.0, 700.0, tries);
        assert!((1000.0 * fill / mean - 1.0).abs() < 0.002, "N = {tries}: predicted {fill}");
    }
}

#[test]
fn r13_the_first_candidate_with_the_fewest_ones_is_kept() {
    let (m, k, n, tries) = (1000, 7, 100u64, 40);
    for seed in 0..20 {
        let filter = best(m, k, n, tries, seed);
        let (probe, hasher) = (Probe::over(m, k), Hasher::seeded(seed));
        let candidates = (0..tries).map(|candidate| {
            let mut ones = std::collections::BTreeSet::new();
            for key in 0..n {
                probe.each(hasher.digest(&key).salted(candidate), |i| {
                    ones.insert(i);
                });
            }
            ones
        });
        let candidates: Vec<_> = candidates.collect();
        let (winner, ones) = candidates.iter().enumerate().min_by_key(|(_, c)| c.len()).unwrap();
        assert_eq!(filter.seed(), winner as u64);
        assert_eq!(filter.bits().ones(), ones.len() as u64);
        assert!(ones.iter().all(|&i| filter.bits().get(i)));
        assert!((0..n).all(|key| filter.contains(&key)));
    }
    // All seeds have a chance: 200 winners among ten leave none out but for 10·0.9^200 = 7e-9.
    let winners: std::collections::HashSet<u64> =
        (0..200).map(|seed| best(m, k, n, 10, seed).seed()).collect();
    assert_eq!(winners.len(), 10);
}

#[test]
fn r13_the_gain_shrinks_with_the_root_of_the_size() {
    // E[max of 16] = 1.77 spreads of the number of ones; a hundred times the bits, a tenth of the gain.
    let gain = |m: u64, builds| {
        let (one, _) = means(m, 7, m / 10, 1, builds);
        let (many, _) = means(m, 7, m / 10, 16, builds);
        1.0 - many / one
    };
    let (small, large) = (gain(1000, 1000), gain(100_000, 40));
    assert!((0.027..0.035).contains(&small), "{small}");
    assert!((0.0025..0.0038).contains(&large), "{large}");
}

#[test]
fn r13_measured_rates_follow_the_ones() {
    // The last is far from the best k.
    for (m, k, n) in [(1000, 7, 100), (1000, 3, 100), (3000, 2, 300)] {
        let filter = best(m, k, n, 50, 3);
        let f = (filter.bits().ones() as f64 / m as f64).powi(k as i32);
        assert!((filter.now().fpr.unwrap() / f - 1.0).abs() < 1e-12);
        let queries = 1_000_000;
        let hits =
            (1 << 40..(1 << 40) + queries).filter(|key: &u64| filter.contains(key)).count() as u64;
        let (low, high) = binomial_bounds(queries, f, 1e-9);
        assert!((low..=high).contains(&hits), "{m} {k}: {hits}, not {low} to {high}");
    }
}

/// False positives on non-members at equal total bits: best of 100, and the standard filter with the
/// 64 bits in which the seed is stored.
fn duel(n: u64, filters: u64, queries: u64) -> (u64, u64) {
    let (m, k) = (10 * n, 7);
    let (mut ours, mut theirs) = (0, 0);
    for seed in 0..filters {
        let lucky = best(m, k, n, 100, seed);
        let mut plain = Bloom::with_shape(m + 64, k, Hasher::seeded(seed)).unwrap();
        (0..n).for_each(|key| {
            plain.insert(&key);
        });
        assert_eq!(lucky.memory().total(), plain.memory().total());
        let non_members = 1 << 40..(1 << 40) + queries;
        ours += non_members.clone().filter(|key: &u64| lucky.contains(key)).count() as u64;
        theirs += non_members.filter(|key: &u64| plain.contains(key)).count() as u64;
    }
    (ours, theirs)
}

#[test]
fn r13_where_to_use_it_and_where_not() {
    // 6,400 bits: about 0.91 of the standard filter's false positives. 40 filters of a spread of 5 %
    // each, and 100,000 events: good to a percent.
    let (ours, theirs) = duel(640, 40, 400_000);
    assert!((ours as f64) < 0.97 * theirs as f64, "{ours} against {theirs}");
    // 400 bits: the 64 bits of the seed would do more good as cells.
    let (ours, theirs) = duel(40, 300, 50_000);
    assert!(ours as f64 > 1.1 * theirs as f64, "{ours} against {theirs}");
}

#[test]
fn r13_later_keys_are_found_but_void_the_choice() {
    // Twice the keys after a choice for the first half: most of the gain is gone.
    let (mut after, mut whole, mut none) = (0.0, 0.0, 0.0);
    for seed in 0..100 {
        let mut filter = best(1000, 7, 50, 50, seed);
        (50..100u64).for_each(|key| {
            filter.insert(&key);
        });
        assert!((0..100u64).all(|key| filter.contains(&key)));
        assert_eq!(filter.head().items, 100);
        after += filter.bits().ones() as f64 / 100.0;
        whole += best(1000, 7, 100, 50, seed).bits().ones() as f64 / 100.0;
        none += theory::fill(1000.0, 700.0) * 10.0;
    }
    assert!(whole + 4.0 < after && after + 3.0 < none, "{whole} {after} {none}");
}

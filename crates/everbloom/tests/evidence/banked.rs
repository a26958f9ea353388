//! I17, the banked Bloom filter.

use std::collections::HashSet;

use everbloom::hardware::banked::{
    Banked, Cost, Shape, VARIANT, false_positives, random_conflicts,
};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::probe::{Coincide, Probe};
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;

use super::numbers::{hits, spread};

fn shape(banks: u32, stride: u32, m: u64, k: u32) -> Shape {
    Shape { banks, stride, bank: m / u64::from(banks), k }
}

fn filter(shape: Shape, n: u64, seed: u64) -> Banked {
    let mut filter = Banked::with_shape(shape, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn i17_formula_values() {
    // With as many banks as probes it is the partitioned filter, exactly.
    let partitioned = false_positives(&shape(5, 1, 8000, 5), 1000);
    assert!((partitioned - 0.0217036).abs() < 0.51e-7, "{partitioned}");
    assert!((partitioned / bloom::fpr_partitioned(1600.0, 1000.0, 5.0) - 1.0).abs() < 1e-12);
    // With more, the entry has simulations, good for 0.2 %.
    for (banks, simulated) in [(16, 0.02182), (40, 0.02218)] {
        let f = false_positives(&shape(banks, 3, 8000, 5), 1000);
        assert!((f / simulated - 1.0).abs() < 0.004, "{banks}: {f} against {simulated}");
    }
    // The stride only renames banks.
    let f = |stride| false_positives(&shape(16, stride, 8000, 5), 1000);
    assert_eq!(f(1), f(7));
}

#[test]
fn i17_measured_rates() {
    // 400 filters, as in the entry; 10,000 queries each: 0.34 % of the queries, 0.2 % of the filters.
    let (filters, queries) = (400u64, 10_000u64);
    for (banks, stride, simulated) in [(5u32, 1u32, 0.02175), (16, 3, 0.02182), (40, 3, 0.02218)] {
        let rates: Vec<f64> = (0..filters)
            .map(|seed| {
                let filter = filter(shape(banks, stride, 8000, 5), 1000, seed);
                hits(|key| filter.contains(key), queries) as f64 / queries as f64
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / filters as f64;
        let squares: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
        let error = (squares / ((filters - 1) * filters) as f64).sqrt();
        assert!(error < 0.006 * mean, "too noisy to tell, ± {error}");
        let slack = 4.0 * error + 0.002 * simulated;
        assert!((mean - simulated).abs() < slack, "{banks}: {mean} ± {error}, {simulated}");
        let f = false_positives(&shape(banks, stride, 8000, 5), 1000);
        assert!((mean - f).abs() < 4.0 * error + 0.003 * f, "{banks}: {mean} ± {error}, {f}");
    }
}

#[test]
fn i17_the_banks_of_a_key_are_different() {
    for (banks, stride, k) in [(5u32, 1u32, 5u32), (16, 3, 5), (40, 7, 5), (16, 5, 16), (7, 3, 7)] {
        let filter = filter(shape(banks, stride, 8000, k), 0, 0);
        let bank = filter.shape().bank;
        let mut first = vec![0u32; banks as usize];
        for key in 0..4000u64 {
            let touched = filter.trace(&key.to_le_bytes());
            let visited: Vec<u64> = touched.iter().map(|t| t.index / bank).collect();
            assert_eq!(visited.iter().collect::<HashSet<_>>().len(), k as usize);
            for pair in visited.windows(2) {
                assert_eq!((pair[0] + u64::from(stride)) % u64::from(banks), pair[1]);
            }
            let cost = Cost { probes: k, conflicts: 0, cycles: 1 };
            assert_eq!(filter.cost(&key), cost);
            first[visited[0] as usize] += 1;
        }
        // Keys start everywhere alike.
        let even = 4000 / banks;
        let sd = f64::from(even).sqrt();
        assert!(first.iter().all(|n| f64::from(n.abs_diff(even)) < 5.0 * sd), "{first:?}");
    }
}

#[test]
fn i17_one_key_sets_k_bits_and_offsets_are_independent() {
    let mut pairs = HashSet::new();
    for key in 0..4000u64 {
        let filter = {
            let mut filter = filter(shape(4, 1, 32, 2), 0, 0);
            filter.insert(&key);
            filter
        };
        assert_eq!(filter.bits().ones(), 2);
        pairs.insert(filter.bits().words()[0]);
    }
    // 4 places to start from and 8 · 8 offsets.
    assert_eq!(pairs.len(), 256);
}

#[test]
fn i17_conflicts_of_a_filter_that_does_not_map_its_probes() {
    // 5 random banks of 16: 5 − 16(1 − (15/16)⁵) = 0.587 wait for another.
    assert!((random_conflicts(16, 5) - 0.5872).abs() < 1e-4);
    let probe = Probe::over(8000, 5);
    let (mut conflicts, mut cycles) = (0, 0);
    for key in 0..50_000u64 {
        let digest = Hasher::default().digest(&key);
        let indices = probe.collect(digest, Coincide::PerHash);
        let banks: Vec<u64> = indices.iter().map(|i| i / 500).collect();
        let cost = Cost::of(&banks);
        conflicts += cost.conflicts;
        cycles += cost.cycles;
    }
    let mean = f64::from(conflicts) / 50_000.0;
    assert!((mean - 0.5872).abs() < 0.015, "{mean}");
    assert!(cycles > 70_000, "one and a half cycles a query, not one: {cycles}");
    assert_eq!(Cost::of(&[3, 1, 3, 3, 1]), Cost { probes: 5, conflicts: 3, cycles: 3 });
    assert_eq!(Cost::of(&[]), Cost { probes: 0, conflicts: 0, cycles: 0 });
}

#[test]
fn i17_now_follows_the_banks() {
    for (banks, stride, m, k, n) in
        [(5u32, 1u32, 8000u64, 5u32, 1000u64), (16, 3, 8000, 5, 1000), (64, 5, 6400, 7, 700)]
    {
        let filter = filter(shape(banks, stride, m, k), n, 11);
        assert!((0..n).all(|key| filter.contains(&key)));
        let (low, high) = binomial_bounds(1_000_000, filter.now().fpr.unwrap(), 1e-9);
        let seen = hits(|key| filter.contains(key), 1_000_000);
        assert!((low..=high).contains(&seen), "{banks}: {seen} of {low}..{high}");
        let estimate = filter.cardinality().unwrap();
        assert!((estimate / n as f64 - 1.0).abs() < 0.06, "{estimate}");
    }
}

#[test]
fn i17_fill_and_its_spread() {
    const FILTERS: u64 = 800;
    for (banks, k, m, n) in [(5u32, 5u32, 1000u64, 150u64), (16, 5, 1600, 250), (40, 6, 1600, 250)]
    {
        let fills: Vec<f64> =
            (0..FILTERS).map(|s| filter(shape(banks, 1, m, k), n, s).fill().unwrap()).collect();
        let goal = Goal::default().set("m", m).set("k", k).set("banks", banks);
        let (mean, sd) = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap().fill.unwrap();
        let (average, spread) = spread(&fills);
        assert!((average - mean).abs() < 4.5 * sd / (FILTERS as f64).sqrt(), "{average} {mean}");
        assert!((0.88..1.12).contains(&(spread / sd)), "{banks}: {spread} against {sd}");
    }
}

#[test]
fn i17_too_few_banks_and_bad_strides_are_refused() {
    for bad in [shape(4, 1, 8000, 5), shape(6, 3, 8000, 5), shape(16, 2, 8000, 5)] {
        assert!(Banked::with_shape(bad, Hasher::default()).is_err(), "{bad:?}");
    }
}

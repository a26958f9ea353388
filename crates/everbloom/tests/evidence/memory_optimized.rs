//! I11, the memory-optimized filter.

use everbloom::compact::memory_optimized::{MemoryOptimized, VARIANT, bits_for, fpr};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::probe::Probe;
use everbloom::internals::theory::bloom as theory;
use everbloom::internals::theory::tail::binomial_bounds;

const FILTERS: u64 = 24;

fn filter(m: u64, k: u32, n: u64, seed: u64) -> MemoryOptimized {
    let mut filter = MemoryOptimized::with_shape(m, k, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn i11_rate_by_formula() {
    assert!((fpr(8000, 1000) - 0.117510).abs() < 5e-7);
    assert!((theory::fpr_classic(8000.0, 1000.0, 5.0) - 0.021684).abs() < 5e-7);
    for k in [1, 5, 40] {
        let goal = Goal::default().set("m", 8000).set("k", k);
        let expect = VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap();
        assert!((expect.fpr - 0.117510).abs() < 5e-7, "the same for k = {k}");
    }
}

#[test]
fn i11_rate_and_ones_for_every_k() {
    let (m, n, queries) = (8000, 1000, 20_000u64);
    for k in [1, 2, 5, 9, 30] {
        let (mut wrong, mut ones) = (0, 0);
        for seed in 0..FILTERS {
            let filter = filter(m, k, n, seed);
            ones += filter.bits().ones();
            wrong += (n..n + queries).filter(|key| filter.contains(key)).count() as u64;
            assert_eq!(filter.now().fpr, filter.fill());
        }
        // One bit a key, or one fewer where two keys meet.
        let mean = ones as f64 / FILTERS as f64;
        let sd = 8000.0 * theory::fill_sd(8000.0, 1000.0) / (FILTERS as f64).sqrt();
        assert!((mean - 8000.0 * 0.117510).abs() < 5.0 * sd, "k = {k}: {mean} ones, sd {sd}");
        // The queries' own noise and the fill's from filter to filter.
        let rate = wrong as f64 / (queries * FILTERS) as f64;
        assert!((rate - 0.117510).abs() < 0.0025, "k = {k}: {rate}");
    }
}

#[test]
fn i11_every_candidate_is_chosen_equally_often() {
    // The cell is one of the k probes, and the selector tells nothing of which.
    let (m, k, n) = (1 << 20, 7u32, 70_000u64);
    let filter = MemoryOptimized::with_shape(m, k, Hasher::default()).unwrap();
    let probe = Probe::over(m, k);
    let mut chosen = vec![0u64; k as usize];
    for key in 0..n {
        let mut candidates = Vec::new();
        probe.each(Hasher::default().digest(&key), |i| candidates.push(i));
        let which = candidates.iter().position(|i| *i == filter.cell(&key));
        chosen[which.expect("one of the candidates")] += 1;
    }
    let (low, high) = binomial_bounds(n, 1.0 / f64::from(k), 1e-9);
    assert!(chosen.iter().all(|c| (low..=high).contains(c)), "{chosen:?}");
}

#[test]
fn i11_the_selector_is_independent_of_the_candidates() {
    // If the first candidate were chosen by the word it starts from, it would lie in the first quarter:
    // 60.2 % of the bits would be ones in place of 63.2 %.
    let (m, n) = (100_000, 100_000);
    let filter = filter(m, 4, n, 1);
    let (mean, sd) = (theory::fill(1e5, 1e5), theory::fill_sd(1e5, 1e5));
    let fill = filter.fill().unwrap();
    assert!((fill - mean).abs() < 5.0 * sd, "{fill}, expected {mean} ± {sd}");
}

#[test]
fn i11_only_the_chosen_bit_is_asked_for() {
    // Of a lone key's k candidates only one is set: asking all would miss it.
    for key in 0..200u64 {
        let mut filter = MemoryOptimized::with_shape(100_000, 5, Hasher::default()).unwrap();
        filter.insert(&key);
        assert_eq!(filter.bits().ones(), 1);
        assert!(filter.contains(&key));
        assert_eq!(filter.trace(&key.to_le_bytes()).len(), 1);
    }
}

#[test]
fn i11_a_table_of_items_holds_each_once() {
    let (n, m) = (5000u64, 40_000u64);
    let filter = filter(m, 5, n, 3);
    let mut table = vec![Vec::new(); m as usize];
    (0..n).for_each(|key| table[filter.cell(&key) as usize].push(key));
    assert_eq!(table.iter().map(Vec::len).sum::<usize>() as u64, n, "not k times");
    for key in 0..2 * n {
        let cell = &table[filter.cell(&key) as usize];
        assert_eq!(cell.contains(&key), key < n);
        assert_eq!(filter.contains(&key), !cell.is_empty(), "a bit says whether its cell is used");
    }
    // Fewer collisions than k copies of each would have: about n²/2m in place of (kn)²/2m.
    let met = n - filter.bits().ones();
    let expected = n as f64 - m as f64 * theory::fill(m as f64, n as f64);
    assert!((met as f64 / expected - 1.0).abs() < 0.25, "{met}, expected {expected}");
    assert!(25.0 * expected > 5.0 * n as f64 - m as f64 * theory::fill(m as f64, 5.0 * n as f64));
}

#[test]
fn i11_planned_sizes_meet_the_rate() {
    for (n, p) in [(1, 0.5), (10, 0.3), (1000, 0.117510), (1000, 0.01), (1_000_000, 0.001)] {
        let m = bits_for(n, p) as u64;
        assert!(fpr(m, n) <= p * (1.0 + 1e-9), "{n} at {p}: {m}");
        assert!(m == 1 || fpr(m - 1, n) > p * (1.0 - 1e-9), "{n} at {p}: {m} is the least");
    }
}

#[test]
fn i11_shapes_that_could_not_be_reopened_are_refused() {
    for (m, k) in [(0, 1), (1, 0), (1, 4097), (u64::MAX, 1)] {
        assert!(MemoryOptimized::with_shape(m, k, Hasher::default()).is_err(), "{m}, {k}");
    }
    assert!(MemoryOptimized::with_shape(1, 4096, Hasher::default()).is_ok());
}

//! The streams of the schemes, pinned, and their quality as measured rates.

use super::*;
use crate::hash::Hasher;
use crate::theory::bloom;

fn probes(m: u64, k: u32) -> Vec<Probe> {
    let ours = [Scheme::Double, Scheme::Enhanced, Scheme::Ring, Scheme::Mixed];
    let flat = ours.into_iter().chain(Scheme::FOREIGN);
    // One of the foreign schemes has no more than fifteen probes.
    let mut all: Vec<Probe> = flat.filter_map(|s| Probe::flat(s, m, k).ok()).collect();
    let slices = Partitioned::new(m / u64::from(k), k);
    let by = [Words::Mixed, Words::Folded, Words::Multiplied];
    all.extend(by.map(|words| Probe::Partitioned(slices.by(words))));
    all.push(Probe::Blocked(Blocked::new(m / 64, 64, k).unwrap()));
    all
}

#[test]
fn indices_stay_in_range_and_number_k() {
    let hasher = Hasher::default();
    for (m, k) in [(64, 1), (128, 7), (1000, 70), (1 << 40, 9), (u64::MAX >> 8 << 6, 5)] {
        for probe in probes(m, k) {
            for key in 0..200u64 {
                let got = probe.collect(hasher.digest(&key), Coincide::PerHash);
                assert_eq!(got.len(), k as usize, "{probe:?}");
                assert!(got.iter().all(|&i| i < probe.m()), "{probe:?}");
            }
        }
    }
}

#[test]
fn large_ranges_use_all_index_bits() {
    // A scheme that only reaches 2^32 cells would leave the upper halves empty, as some of other software do.
    let hasher = Hasher::default();
    let ours = probes(1 << 40, 4).into_iter().filter(|probe| !matches!(probe, Probe::Foreign(_)));
    for probe in ours {
        let mut high = 0;
        for key in 0..1000u64 {
            probe.each(hasher.digest(&key), |i| high += u32::from(i >= 1 << 39));
        }
        // 4,000 fair coins: sd 32. The partitioned scheme has two of its four slices there, exactly.
        assert!((high as i32 - 2000).abs() < 200, "{probe:?}: {high}");
    }
}

#[test]
fn folding_sends_every_index_to_its_partner() {
    let hasher = Hasher::default();
    for probe in probes(1 << 12, 8) {
        let (folded, pairing) = probe.fold().unwrap();
        let m = probe.m();
        for key in 0..500u64 {
            let d = hasher.digest(&key);
            let image: Vec<u64> = probe
                .collect(d, Coincide::PerHash)
                .iter()
                .map(|&i| match pairing {
                    Pairing::Halves => i % (m / 2),
                    Pairing::Neighbors(run) => i / (2 * run) * run + i % run,
                })
                .collect();
            assert_eq!(folded.collect(d, Coincide::PerHash).to_vec(), image, "{probe:?}");
        }
    }
}

#[test]
fn distinct_indices_keep_probe_order_and_drop_repeats() {
    let probe = Probe::Mixed(Mixed::new(8, 20));
    let d = Hasher::default().digest("x");
    let all = probe.collect(d, Coincide::PerHash);
    let distinct = probe.collect(d, Coincide::Distinct);
    assert_eq!(all[0], distinct[0]);
    let mut seen = all.to_vec();
    seen.sort_unstable();
    seen.dedup();
    let mut sorted = distinct.to_vec();
    sorted.sort_unstable();
    assert_eq!(sorted, seen);
}

/// The mean false-positive rate of a plain bit filter over many small filters.
fn measured_rate(make: impl Fn(u64, u32) -> Probe, m: u64, n: u64, k: u32, filters: u64) -> f64 {
    let queries = 10_000u64;
    let mut hits = 0u64;
    for seed in 0..filters {
        let hasher = Hasher::seeded(seed);
        let probe = make(m, k);
        let mut bits = vec![false; probe.m() as usize];
        (0..n).for_each(|key| probe.each(hasher.digest(&key), |i| bits[i as usize] = true));
        hits += (n..n + queries)
            .filter(|key| probe.all(hasher.digest(key), |i| bits[i as usize]))
            .count() as u64;
    }
    hits as f64 / (filters * queries) as f64
}

#[test]
fn ring_indices_are_as_good_as_independent_ones_from_ring_from_on() {
    let (m, n, k) = (RING_FROM, RING_FROM / 10, 7);
    let rate = measured_rate(|m, k| Probe::Ring(Ring::new(m, k)), m, n, k, 200);
    let exact = bloom::fpr_classic(m as f64, n as f64, f64::from(k));
    // 2,000,000 queries, 16,400 expected: 4 σ = 3.1 %, and a filter-to-filter term of 0.4 %.
    assert!((rate / exact - 1.0).abs() < 0.035, "{rate} against {exact}");
}

#[test]
fn subsets_are_distinct_and_equally_likely() {
    // 10 subsets of 2 of 5 cells, 100,000 draws: each 10,000 times, sd 95.
    let mut seen = std::collections::HashMap::new();
    for key in 0..100_000u64 {
        let mut cells = subset(crate::hash::Hasher::default().digest(&key), 5, 2);
        cells.sort_unstable();
        assert!(cells[0] < cells[1] && cells[1] < 5);
        *seen.entry((cells[0], cells[1])).or_insert(0u32) += 1;
    }
    assert_eq!(seen.len(), 10);
    assert!(seen.values().all(|c| (9_500..10_500).contains(c)), "{seen:?}");
    let all = subset(crate::hash::Hasher::default().digest("x"), 7, 9);
    assert_eq!(all.iter().sum::<u64>(), 21, "no more than there are");
}

//! §8, counter braids.

use everbloom::internals::filter::{Face, Filter, Merge, Record};
use everbloom::internals::hash::{Digest, Generator, mix64};
use everbloom::internals::probe::{Partitioned, Probe};
use everbloom::internals::solve::messages::{Bounds, solve};
use everbloom::sketches::CounterBraids;
use everbloom::{Hasher, Kind};

/// One layer without overflow: n flows of these sizes in about `ratio` counters each.
fn one_layer(sizes: &[u64], ratio: f64, least: u64, seed: u64) -> Bounds {
    let slice = (sizes.len() as f64 * ratio / 3.0).round() as u64;
    let probe = Probe::Partitioned(Partitioned::new(slice, 3));
    let mut sums = vec![0; 3 * slice as usize];
    let mut places = Vec::new();
    for (flow, size) in (0u64..).zip(sizes) {
        let digest = Digest { h1: mix64(flow ^ seed << 40), h2: mix64(!flow ^ seed << 20) };
        probe.each(digest, |cell| {
            sums[cell as usize] += size;
            places.push(cell as usize);
        });
    }
    solve(&sums, &places, 3, least)
}

fn heavy_tailed(n: u64, alpha: f64, seed: u64) -> Vec<u64> {
    let mut random = Generator::new(seed);
    (0..n).map(|_| libm::pow(1.0 - random.unit(), -1.0 / alpha).min(1e9) as u64).collect()
}

#[test]
fn s8_uniform_sizes_decode_above_the_threshold() {
    for (ratio, works) in [(1.25, true), (1.3, true), (1.4, true), (1.2, false), (1.15, false)] {
        let mut exact = 0;
        for seed in 0..12 {
            let mut random = Generator::new(seed);
            let sizes: Vec<u64> = (0..2000).map(|_| 1 + random.below(100)).collect();
            let bounds = one_layer(&sizes, ratio, 0, seed);
            let inside =
                |(i, size): (usize, &u64)| (bounds.lower[i]..=bounds.upper[i]).contains(size);
            assert!(sizes.iter().enumerate().all(inside), "bounds hold, decoded or not");
            if bounds.exact() {
                exact += 1;
                assert_eq!(bounds.upper, sizes);
                assert!(bounds.rounds < 120, "{}", bounds.rounds);
            }
        }
        let wanted = if works { 11..=12 } else { 0..=0 };
        assert!(wanted.contains(&exact), "{ratio}: {exact} of 12");
    }
}

/// Odd rounds are upper bounds that fall, even ones lower bounds that rise.
#[test]
fn s8_bounds_close_in() {
    let sizes = heavy_tailed(500, 1.5, 1);
    let bounds = one_layer(&sizes, 0.6, 1, 1);
    assert!(!bounds.exact(), "far below the threshold");
    for (i, size) in sizes.iter().enumerate() {
        assert!(bounds.lower[i] <= *size && *size <= bounds.upper[i]);
    }
    let tight = (0..500).filter(|i| bounds.lower[*i] == bounds.upper[*i]).count();
    assert!(tight > 0, "some are told nevertheless");
}

#[test]
fn s8_heavy_tails_decode_with_fewer_counters() {
    for (alpha, works, fails) in [(1.5, 0.75, 0.6), (1.2, 0.85, 0.75)] {
        for seed in 0..20 {
            let sizes = heavy_tailed(2000, alpha, seed);
            let at = |ratio| one_layer(&sizes, ratio, 1, seed);
            let (good, bad) = (at(works + 0.05), at(fails - 0.05));
            assert!(good.exact() && good.upper == sizes, "α = {alpha}, seed {seed}");
            assert!(!bad.exact(), "α = {alpha}, seed {seed}");
        }
    }
}

#[test]
fn s8_two_layers_are_exact() {
    for alpha in [1.5, 1.2] {
        let mut exact = 0;
        for seed in 0..20 {
            let sizes = heavy_tailed(2000, alpha, seed);
            let flows: Vec<u64> = (0..2000).collect();
            let count = |m2| {
                let hasher = Hasher::seeded(seed);
                let mut sketch = CounterBraids::with_shape(2000, 5, 3, m2, hasher).unwrap();
                flows.iter().zip(&sizes).for_each(|(f, s)| _ = sketch.insert_times(f, *s).unwrap());
                sketch
            };
            // 1.5 counters for each that overflowed, as the catalogue has it: 40 to 130 of them.
            let overflowed = count(900).overflowed();
            assert!((20..260).contains(&overflowed), "{overflowed}");
            let sketch = count((2 * overflowed).max(60));
            match sketch.decode(&flows) {
                Ok(counts) => {
                    exact += 1;
                    assert_eq!(counts, sizes, "α = {alpha}, seed {seed}");
                }
                Err(e) => assert_eq!(e.kind(), Kind::Undecodable),
            }
            let bits = sketch.memory().cells as f64 / 2000.0;
            // Six bits of layer 1, a status bit among them, and 32 for every carry counter.
            let carries = 2.0 * overflowed as f64 + 3.0;
            assert!(bits <= 6.01 + 32.0 * carries.max(63.0) / 2000.0, "{bits} bits per flow");
            assert!(flows.iter().zip(&sizes).all(|(f, s)| sketch.at_most(f) >= *s), "a bound");
        }
        // With a segment for each hash, two flows share all their counters in one run of 150.
        assert!(exact >= 19, "α = {alpha}: {exact} of 20");
    }
}

/// A flow adds one to k counters; on overflow a counter wraps, is marked, and carries one.
#[test]
fn s8_overflow_by_the_rules() {
    let mut sketch = CounterBraids::with_shape(300, 3, 3, 30, Hasher::default()).unwrap();
    for times in 1..=7 {
        sketch.insert("flow").unwrap();
        let cells = sketch.trace(b"flow");
        assert_eq!(cells.len(), 3);
        assert!(cells.iter().all(|cell| cell.value == times) && sketch.overflowed() == 0);
    }
    sketch.insert("flow").unwrap();
    assert!(sketch.trace(b"flow").iter().all(|cell| cell.value == 0));
    assert_eq!((sketch.overflowed(), sketch.at_most("flow")), (3, 8));
    assert_eq!(sketch.decode(&["flow"]).unwrap(), [8]);
    sketch.insert_times("flow", 1_000_000).unwrap();
    assert_eq!(sketch.decode(&["flow"]).unwrap(), [1_000_008]);
}

#[test]
fn s8_sums_of_sketches_and_what_is_refused() {
    let build = |range: std::ops::Range<u64>| {
        let mut sketch = CounterBraids::with_rate(800, 0.01).unwrap();
        range.for_each(|flow| _ = sketch.insert_times(&flow, 200 + flow).unwrap());
        sketch
    };
    let builder =
        || CounterBraids::builder().items(800).rate(0.01).set("overflow", 1.0).build().unwrap();
    let (mut merged, mut whole) = (builder(), builder());
    let mut other = builder();
    for flow in 0..800u64 {
        whole.insert_times(&flow, 300).unwrap();
        if flow % 3 > 0 {
            merged.insert_times(&flow, if flow % 3 == 1 { 300 } else { 123 }).unwrap();
        }
        if flow % 3 != 1 {
            other.insert_times(&flow, if flow % 3 == 0 { 300 } else { 177 }).unwrap();
        }
    }
    Merge::merge(&mut merged, &other).unwrap();
    assert_eq!(merged, whole, "bit for bit");
    let flows: Vec<u64> = (0..800).collect();
    assert_eq!(merged.decode(&flows).unwrap(), vec![300; 800]);
    // A flow that is missing from the list, and a second layer that is too small, are noticed.
    for listed in [0, 1, 400, 790, 799] {
        let refused = merged.decode(&flows[..listed]).map_err(|e| e.kind());
        assert_eq!(refused, Err(Kind::Undecodable), "{listed} of 800 flows");
    }
    let more: Vec<u64> = (0..810).collect();
    assert_eq!(merged.decode(&more).unwrap(), [vec![300; 800], vec![0; 10]].concat());
    assert_eq!(build(0..800).decode(&flows).map_err(|e| e.kind()), Err(Kind::Undecodable));
    let mut sketch = build(0..1);
    assert!(sketch.as_remove().is_none(), "C=Y, D=N");
    assert_eq!(sketch.insert_times("x", u64::MAX).unwrap_err().kind(), Kind::BadRecord);
    assert_eq!(sketch.query(Record::key(b"x")).unwrap_err().kind(), Kind::Unsupported);
}

//! I6, the blocked Bloom filter.

use everbloom::internals::filter::{Face, Filter, Seen};
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::probe::multiply_shift;
use everbloom::internals::theory::{blocked as theory, bloom, tail};
use everbloom::membership::BlockedBloom;
use everbloom::membership::blocked::VARIANT;

use super::numbers::{hits, spread};

fn filter(blocks: u64, block: u64, k: u32, patterns: Option<u64>, seed: u64) -> BlockedBloom {
    let hasher = Hasher::with_id(HashId::Xxh3_128, seed).unwrap();
    BlockedBloom::with_shape(blocks, block, k, patterns, hasher).unwrap()
}

fn fill(filter: &mut BlockedBloom, n: u64) {
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
}

/// Mean rate of 20 filters, and its standard error from their scatter.
fn measured(
    blocks: u64,
    block: u64,
    n: u64,
    k: u32,
    patterns: Option<u64>,
    queries: u64,
) -> (f64, f64) {
    const FILTERS: u64 = 20;
    let rates: Vec<f64> = (0..FILTERS)
        .map(|seed| {
            let mut filter = filter(blocks, block, k, patterns, seed);
            fill(&mut filter, n);
            hits(|key| filter.contains(key), queries) as f64 / queries as f64
        })
        .collect();
    let mean = rates.iter().sum::<f64>() / FILTERS as f64;
    let squares: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
    (mean, (squares / ((FILTERS - 1) * FILTERS) as f64).sqrt())
}

#[test]
fn i6_measured_rates_of_cache_lines() {
    // c, k, Bose, all computed in the entry; then queries per filter. 20 filters of 640 blocks.
    for (c, k, bose, queries) in [
        (8u64, 5u32, 0.023263, 50_000u64),
        (10, 7, 0.009686, 60_000),
        (16, 11, 8.855e-4, 600_000),
        (20, 11, 1.978e-4, 1_000_000),
        (20, 14, 2.303e-4, 1_000_000),
    ] {
        assert!((theory::fpr(512, c as f64, k) / bose - 1.0).abs() < 5e-4);
        let (rate, error) = measured(640, 512, 640 * 512 / c, k, None, queries);
        assert!(error < 0.025 * bose, "{c} {k}: too noisy to tell, ± {error}");
        assert!((rate - bose).abs() < 4.5 * error, "{c} {k}: {rate} ± {error} against {bose}");
    }
}

#[test]
fn i6_rate_far_from_the_best_k() {
    for k in [1, 2, 3] {
        let f = theory::fpr(512, 10.0, k);
        let (rate, error) = measured(640, 512, 32_768, k, None, 100_000);
        assert!(error < 0.01 * f);
        assert!((rate - f).abs() < 4.5 * error, "{k}: {rate} ± {error} against {f}");
    }
}

#[test]
fn i6_one_key_sets_k_bits_of_one_block() {
    for (block, k) in [(64u64, 4u32), (256, 8), (512, 7), (512, 14), (4096, 20)] {
        for patterns in [None, Some(1900)] {
            let mut ones = 0;
            for key in 0..1000u64 {
                let mut filter = filter(10, block, k, patterns, 0);
                filter.insert(&key);
                let per_block: Vec<u64> =
                    (0..10).map(|b| filter.bits().ones_in(b * block, block)).collect();
                assert_eq!(per_block.iter().filter(|n| **n > 0).count(), 1);
                ones += filter.bits().ones();
            }
            // k throws into the block: fewer ones only where two coincide, k(k − 1)/2B of the time.
            let mean = 1000.0 * block as f64 * bloom::fill(block as f64, f64::from(k));
            let collisions = 1000.0 * f64::from(k * (k - 1)) / (2 * block) as f64;
            // A table has its own chance coincidences, and keys repeat its masks: √1.5 the spread.
            let slack = 5.0 * (1.5 * collisions).sqrt() + 1.0;
            assert!((ones as f64 - mean).abs() < slack, "{block} {k} {patterns:?}: {ones} {mean}");
            assert!((slack as u32) < 500, "would not see k ± 1");
        }
    }
}

#[test]
fn i6_patterns_rate() {
    // The collision term alone is B/(cP): 0.33 % at P = 15,360, and 4.9 % at P = 1024.
    for (block, blocks, c, k, patterns, printed) in [
        (512u64, 640u64, 10u64, 7u32, 15_360u64, 0.0130),
        (512, 640, 10, 7, 1024, 0.0570),
        (64, 5120, 10, 5, 122_880, 0.0179),
    ] {
        let f = theory::Blocks::of(block).with_patterns(patterns).fpr(c as f64, k);
        assert!((f / printed - 1.0).abs() < 0.01, "{f}");
        let (rate, error) = measured(blocks, block, blocks * block / c, k, Some(patterns), 300_000);
        // One table serves all filters: its masks cover 0.2 % (P = 1024: 0.5 %) more or less.
        let slack = 4.5 * error + 0.006 * f;
        assert!((rate - f).abs() < slack, "{block} {patterns}: {rate} ± {error} against {f}");
    }
}

#[test]
fn i6_now_sees_the_crowded_blocks() {
    for (blocks, block, k, patterns, n) in [
        (2000u64, 512u64, 7u32, None, 100_000u64),
        (2000, 512, 3, None, 150_000),
        (20_000, 64, 4, None, 100_000),
        (2000, 512, 7, Some(15_360), 100_000),
        (2000, 512, 7, Some(500), 60_000),
        (20_000, 64, 5, Some(122_880), 100_000),
    ] {
        let mut filter = filter(blocks, block, k, patterns, 5);
        fill(&mut filter, n);
        assert!((0..n).all(|key| filter.contains(&key)));
        let now = filter.now().fpr.unwrap();
        let (low, high) = tail::binomial_bounds(1_000_000, now, 1e-9);
        let seen = hits(|key| filter.contains(key), 1_000_000);
        assert!((low..=high).contains(&seen), "{block} {k} {patterns:?}: {seen} of {low}..{high}");
        // The rate of the mean fill is well below.
        let flat = filter.fill().unwrap().powi(k as i32);
        assert!(k < 4 || flat < 0.93 * now, "{flat} {now}");
        let estimate = filter.cardinality().unwrap();
        assert!((estimate / n as f64 - 1.0).abs() < 0.02, "{patterns:?}: {estimate}");
    }
}

#[test]
fn i6_fill_and_its_spread() {
    // Many small filters: their mean fill, and how far they scatter around it.
    const FILTERS: u64 = 800;
    for (m, n, k, settings) in [
        (8 * 512u64, 400u64, 7u32, vec![("block", "512"), ("form", "mixed")]),
        (128 * 64, 2000, 3, vec![("block", "64"), ("form", "mixed")]),
        (512, 60, 4, vec![("block", "512"), ("form", "mixed")]),
        (8 * 512, 400, 7, vec![("block", "512"), ("form", "patterns"), ("patterns", "300")]),
    ] {
        let mut goal = Goal::new(n, 0.01).set("m", m).set("k", k);
        goal = settings.iter().fold(goal, |goal, (name, value)| goal.set(name, *value));
        let (mean, sd) = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap().fill.unwrap();
        let patterns = settings.iter().find(|s| s.0 == "patterns").map(|s| s.1.parse().unwrap());
        let block: u64 = settings[0].1.parse().unwrap();
        let fills: Vec<f64> = (0..FILTERS)
            .map(|seed| {
                let mut filter = filter(m / block, block, k, patterns, seed);
                fill(&mut filter, n);
                filter.fill().unwrap()
            })
            .collect();
        let (average, spread) = spread(&fills);
        let error = sd / (FILTERS as f64).sqrt();
        assert!((average - mean).abs() < 4.5 * error, "{settings:?}: {average} {mean} ± {error}");
        // 800 filters tell their standard deviation to 2.5 %; with few patterns it is approximate.
        let ratio = spread / sd;
        let least = if patterns.is_some() { 0.8 } else { 0.88 };
        assert!((least..1.12).contains(&ratio), "{settings:?}: {spread} against {sd}");
    }
}

#[test]
fn i6_union_and_halving() {
    for (block, patterns) in [(512u64, None), (512, Some(1000)), (64, None), (128, Some(4096))] {
        let blocks = 8192 / block * 8;
        let make = |blocks: u64, keys: std::ops::Range<u64>| {
            let mut filter = filter(blocks, block, 5, patterns, 1);
            keys.for_each(|key| {
                filter.insert(&key);
            });
            filter
        };
        let (a, b, whole) =
            (make(blocks, 0..3000), make(blocks, 2000..5000), make(blocks, 0..5000));
        let mut again = a.clone();
        assert_eq!(again.insert(&7u64), Seen::Maybe);
        assert_eq!(filter(blocks, block, 5, patterns, 1).insert(&7u64), Seen::New);
        let mut union = a.clone();
        union.union(&b).unwrap();
        assert_eq!(union.bits(), whole.bits());
        assert!(union.head().items.abs_diff(5000) < 150, "{}", union.head().items);
        let mut folded = whole;
        while folded.blocks() > 1 {
            folded = folded.fold().unwrap();
            assert_eq!(folded.block(), block);
            assert_eq!(folded.bits(), make(folded.blocks(), 0..5000).bits());
        }
        assert!(folded.fold().is_err());

        let before = union.clone();
        for other in [
            filter(blocks, block, 4, patterns, 1),
            filter(2 * blocks, block, 5, patterns, 1),
            filter(blocks / 2, 2 * block, 5, patterns, 1),
            filter(blocks, block, 5, Some(999), 1),
            filter(blocks, block, 5, patterns, 2),
        ] {
            assert!(union.union(&other).is_err());
        }
        assert_eq!(union, before);
    }
}

#[test]
fn i6_blocks_are_aligned() {
    for blocks in [1, 7, 100_000] {
        let filter = filter(blocks, 512, 7, None, 0);
        assert!((filter.bits().words().as_ptr() as usize).is_multiple_of(64));
    }
}

#[test]
fn i6_beyond_32_bits() {
    // 2^34 bits, of which few pages are ever touched.
    for patterns in [None, Some(1000)] {
        let mut filter = filter(1 << 25, 512, 8, patterns, 0);
        assert_eq!(filter.m(), 1 << 34);
        fill(&mut filter, 24);
        assert!((0..24u64).all(|key| filter.contains(&key)));
        assert_eq!(hits(|key| filter.contains(key), 1000), 0);
        // Each key is in the block its first word says, three quarters of them beyond 2^32 bits.
        let block = |key: u64| multiply_shift(Hasher::seeded(0).digest(&key).h1, 1 << 25);
        assert!((0..24).all(|key| filter.bits().ones_in(block(key) * 512, 512) > 0));
        assert!((0..24).any(|key| block(key) * 512 > 1 << 32));
    }
}

#[test]
fn i6_lanes_rates() {
    // Bits per key at 1 % and 0.1 %, and means over 20 filters of 100,000 keys at fixed sizes.
    for (p, k, most) in [(0.01, 8, 10.11), (0.001, 8, 15.73), (1e-5, 16, 30.1)] {
        let goal = Goal::new(1_000_000, p);
        let expect = VARIANT.expect(&goal, &Load::items(1_000_000)).unwrap().unwrap();
        assert!(expect.fpr <= p && expect.bits as f64 / 1e6 < most, "{p}: {expect:?}");
        let filter = BlockedBloom::with_rate(1000, p).unwrap();
        assert_eq!(filter.k(), k);
    }
    for (lines, rounds) in [(1562u64, 1u32), (1953, 1), (3125, 2)] {
        let (n, queries) = (100_000u64, 200_000u64);
        let goal = Goal::new(n, 0.01).set("m", lines * 512).set("k", 8 * rounds);
        let rate = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap().fpr;
        let mut hits = 0;
        for seed in 0..20 {
            let mut filter = BlockedBloom::in_lanes(lines, rounds, Hasher::seeded(seed)).unwrap();
            filter.extend(0..n);
            let asked: Vec<u64> = (0..queries).map(|i| (1 << 40) + i).collect();
            hits += filter.contains_many(&asked).into_iter().filter(|found| *found).count();
        }
        let expected = rate * 20.0 * queries as f64;
        let sd = (expected + (0.01 * expected).powi(2) / 20.0).sqrt();
        assert!((hits as f64 - expected).abs() < 5.0 * sd, "{lines} {rounds}: {hits} {expected}");
    }
}

#[test]
fn i6_lanes_have_their_bits_one_by_one_and_many_at_once() {
    for rounds in [1, 2] {
        let keys: Vec<u64> = (0..5000).collect();
        let mut single = BlockedBloom::in_lanes(100, rounds, Hasher::default()).unwrap();
        let mut many = single.clone();
        keys.iter().for_each(|key| {
            single.insert(key);
        });
        many.insert_many(&keys);
        assert_eq!(single, many);
        let asked: Vec<u64> = (2500..20_000).collect();
        let one_by_one: Vec<bool> = asked.iter().map(|key| single.contains(key)).collect();
        assert_eq!(many.contains_many(&asked), one_by_one);
        let mut one = BlockedBloom::in_lanes(100, rounds, Hasher::default()).unwrap();
        one.insert("x");
        let cells = one.trace(b"x");
        assert_eq!(cells.len() as u32, 8 * rounds);
        assert!(cells.iter().all(|cell| cell.agrees));
        assert!(
            (0..8).all(|lane| one.bits().words().iter().skip(lane).step_by(8).any(|w| *w != 0))
        );
        let block = cells[0].index / 512;
        assert!(cells.iter().all(|cell| cell.index / 512 == block));
    }
}

#[test]
fn i6_lanes_fill_and_its_spread() {
    const FILTERS: u64 = 800;
    for (lines, n, rounds) in [(8u64, 400u64, 1u32), (1, 40, 2), (64, 2000, 2)] {
        let goal = Goal::new(n, 0.01).set("m", lines * 512).set("k", 8 * rounds);
        let (mean, sd) = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap().fill.unwrap();
        let fills: Vec<f64> = (0..FILTERS)
            .map(|seed| {
                let mut filter =
                    BlockedBloom::in_lanes(lines, rounds, Hasher::seeded(seed)).unwrap();
                fill(&mut filter, n);
                filter.fill().unwrap()
            })
            .collect();
        let average = fills.iter().sum::<f64>() / FILTERS as f64;
        let squares: f64 = fills.iter().map(|f| (f - average).powi(2)).sum();
        let spread = (squares / (FILTERS - 1) as f64).sqrt();
        let error = sd / (FILTERS as f64).sqrt();
        assert!((average - mean).abs() < 4.5 * error, "{lines}: {average} {mean} ± {error}");
        assert!((0.88..1.12).contains(&(spread / sd)), "{lines}: {spread} against {sd}");
    }
}

#[test]
fn i6_concurrent_inserts_lose_nothing() {
    for rounds in [1, 2] {
        let empty = BlockedBloom::in_lanes(4000, rounds, Hasher::default()).unwrap();
        let mut alone = empty.clone();
        (0..200_000u64).for_each(|key| {
            alone.insert(&key);
        });
        let shared = empty.into_atomic().unwrap();
        let fresh = std::sync::atomic::AtomicU64::new(0);
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                let (shared, fresh) = (&shared, &fresh);
                scope.spawn(move || {
                    // Every key is inserted by two threads.
                    for key in (0..200_000u64).filter(|key| key % 4 == t || key % 4 == (t + 1) % 4)
                    {
                        let new = shared.insert(&key) == everbloom::internals::filter::Seen::New;
                        fresh.fetch_add(new.into(), std::sync::atomic::Ordering::Relaxed);
                        assert!(shared.contains(&key));
                    }
                });
            }
        });
        assert!(fresh.into_inner() <= 400_000);
        let together = shared.into_blocked();
        assert_eq!(together.bits(), alone.bits());
        let items = together.head().items as f64;
        assert!((items / 200_000.0 - 1.0).abs() < 0.02, "{items}");
    }
    let mixed = BlockedBloom::with_shape(8, 512, 7, None, Hasher::default()).unwrap();
    assert!(mixed.into_atomic().is_err());
}

//! B4 (a), the binary fuse filter.

use everbloom::compact::binary_fuse::{Geometry, VARIANT, false_positives};
use everbloom::compact::{BinaryFuse, times_bound};
use everbloom::internals::filter::{Ability, Face, FalseNegatives};
use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;

use super::numbers::{fact, has_each_once, passing, some_twice};

fn hasher(seed: u64) -> Hasher {
    Hasher::with_id(HashId::Quick64, seed).unwrap()
}

fn three(n: u64, bits: u32, seed: u64) -> BinaryFuse {
    BinaryFuse::with_bits(0..n, bits, hasher(seed)).unwrap()
}

/// Builds through the list, which is the only way to four cells.
fn build(form: &str, n: u64, bits: u32, seed: u64) -> Box<dyn Filter> {
    let keys: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let goal = Goal::new(n.max(1), 0.5).seed(seed).set("form", form).set("bits", bits);
    VARIANT.build_from(&goal, &records).unwrap()
}

#[test]
fn b4_fuse_geometry() {
    // Keys, segment length, start segments, cells: as tabulated.
    for (arity, n, length, starts, cells) in [
        (3, 1, 4, 1, 12),
        (3, 10, 16, 1, 48),
        (3, 1000, 128, 9, 1408),
        (3, 10_000, 512, 23, 12_800),
        (3, 1_000_000, 8192, 136, 1_130_496),
        (4, 4, 1, 12, 15),
        (4, 10, 2, 10, 26),
        (4, 1_000_000, 4096, 260, 1_077_248),
        // The exponent is −1 without its clamp.
        (4, 1, 1, 1, 4),
    ] {
        let geometry = Geometry::of(arity, n);
        let found = (geometry.segment_length(), geometry.start_segments(), geometry.cells());
        assert_eq!(found, (length, starts, cells), "{arity}-wise, {n} keys");
    }
    let per_key = |arity, n: u64| Geometry::of(arity, n).cells() as f64 / n as f64;
    for (n, expected) in [(2, 6.0), (8, 3.0), (10, 4.8), (20, 2.4), (100, 1.92), (1000, 1.408)] {
        assert!((per_key(3, n) - expected).abs() < 0.005, "{n}: {}", per_key(3, n));
    }
    for (n, expected) in [(10_000, 1.280), (100_000, 1.188), (1_000_000, 1.1305)] {
        assert!((per_key(3, n) - expected).abs() < 0.0006, "{n}: {}", per_key(3, n));
    }
    for (n, expected) in [(2, 6.5), (4, 3.75), (10, 2.6), (12, 2.5), (100, 1.68), (1000, 1.376)] {
        assert!((per_key(4, n) - expected).abs() < 0.005, "{n}: {}", per_key(4, n));
    }
    for (n, expected) in [(10_000, 1.229), (100_000, 1.126), (1_000_000, 1.0772)] {
        assert!((per_key(4, n) - expected).abs() < 0.0006, "{n}: {}", per_key(4, n));
    }
    // In parts, from 2^22 keys on, there is a bit more only because the last segment is a whole one.
    for (n, most) in [(1 << 22, 0.012), (10_000_000, 0.007), (300_000_000, 0.001)] {
        for (arity, factor) in [(3, 1.125), (4, 1.075)] {
            let more = per_key(arity, n) - factor;
            assert!((0.0..most).contains(&more), "{arity}-wise, {n} keys: {more}");
        }
    }
    // No segment is longer than 2^18, however many keys, and no number of them overflows.
    assert_eq!(Geometry::of(3, 1 << 40).segment_length(), 1 << 18);
    assert_eq!(Geometry::of(4, u64::MAX).segment_length(), 1 << 18);
    assert_eq!(Geometry::of(3, 0).cells(), 0);
}

/// How many of `runs` sets of n keys peel under the first seed.
fn first_seeds(form: &str, n: u64, runs: u64) -> u64 {
    (0..runs).filter(|seed| fact(&*build(form, n, 8, *seed), "attempts") == 1.0).count() as u64
}

/// The tabulated share, itself known to a few thousandths, within the binomial bound of our runs.
fn assert_share(form: &str, n: u64, runs: u64, share: f64, known: f64) {
    let found = first_seeds(form, n, runs);
    let (low, _) = binomial_bounds(runs, (share - known).max(0.0), 1e-7);
    let (_, high) = binomial_bounds(runs, (share + known).min(1.0), 1e-7);
    assert!((low..=high).contains(&found), "{form}, {n} keys: {found} of {runs}, {low}..{high}");
}

#[test]
fn b4_fuse_first_seeds_three() {
    // Shares are given with two digits, from 4000 runs (3000, 200 and 60 for the large sets).
    for (n, share) in [(2, 0.98), (8, 0.94), (10, 0.99), (20, 0.95), (100, 0.98), (1000, 0.97)] {
        assert_share("three", n, 2000, share, 0.015);
    }
    assert_share("three", 10_000, 300, 0.986, 0.01);
    assert_share("three", 100_000, 40, 0.99, 0.02);
}

#[test]
fn b4_fuse_first_seeds_four() {
    // Four keys are the worst case.
    for (n, share) in [(2, 0.91), (4, 0.57), (10, 0.69), (12, 0.63), (100, 0.82), (1000, 0.94)] {
        assert_share("four", n, 2000, share, 0.03);
    }
    assert!(first_seeds("four", 100_000, 20) >= 18);
}

#[test]
fn b4_fuse_a_million_keys() {
    // 1.1305 cells per key are below the 1.222 that cells anywhere would need: only neighboring segments
    // peel at all. 9.04 and 8.62 bits a key, where a Bloom filter takes 11.54.
    for (form, cells, per_key) in [("three", 1_130_496, 9.04), ("four", 1_077_248, 8.62)] {
        let filter = build(form, 1_000_000, 8, 1);
        assert_eq!(filter.memory().cells, 8 * cells, "{form}");
        let total = filter.memory().total() as f64 / 1e6;
        assert!((total - per_key).abs() < 0.005, "{form}: {total}");
        assert!((0..1_000_000u64).all(|key| filter.contains(&key.to_le_bytes())), "{form}");
        assert!(fact(&*filter, "attempts") <= 3.0);
        let (low, high) = binomial_bounds(1_000_000, 1.0 / 256.0, 1e-9);
        assert!((low..=high).contains(&passing(&*filter, 1_000_000)), "{form}");
        let times = times_bound(&*filter).unwrap();
        assert!((times - total / 8.0).abs() < 0.01, "{form}: {times}");
    }
}

#[test]
fn b4_fuse_rates() {
    // 20 filters of every kind of width: bytes, pairs of them, and packed ones.
    for form in ["three", "four"] {
        for bits in [1, 3, 7, 8, 11, 12, 13, 16] {
            let mut passed = 0;
            for seed in 0..20 {
                let n = 10 + 777 * seed;
                let filter = build(form, n, bits, seed);
                assert!((0..n).all(|key| filter.contains(&key.to_le_bytes())), "{form} {bits} {n}");
                assert_eq!(filter.now().fpr, Some(false_positives(bits, n)));
                passed += passing(&*filter, 50_000);
            }
            let (low, high) = binomial_bounds(1_000_000, 0.5f64.powi(bits as i32), 1e-9);
            assert!((low..=high).contains(&passed), "{form} {bits}: {passed}, {low}..{high}");
        }
        let wide = build(form, 1000, 32, 3);
        assert!((0..1000u64).all(|key| wide.contains(&key.to_le_bytes())));
        assert_eq!(passing(&*wide, 1_000_000), 0);
    }
    assert!((false_positives(8, 1_000_000) - 1.0 / 256.0).abs() < 1e-11);
}

#[test]
fn b4_fuse_three_cells_are_looked_at_and_add_up() {
    for (form, arity) in [("three", 3), ("four", 4)] {
        let filter = build(form, 5000, 16, 0);
        let length = fact(&*filter, "segment length") as u64;
        for key in 0..2000u64 {
            let touched = filter.trace(&key.to_le_bytes());
            assert_eq!(touched.len(), arity, "{form}");
            // One in each of neighboring segments, so that no two are the same.
            let segments: Vec<u64> = touched.iter().map(|cell| cell.index / length).collect();
            assert!(segments.is_sorted_by(|a, b| a + 1 == *b), "{form}: {segments:?}");
        }
        // Cells of non-members are spread over the whole of every segment.
        let mut seen = vec![false; filter.memory().cells as usize / 16];
        for key in 0..200_000u64 {
            for cell in filter.trace(&key.to_le_bytes()) {
                seen[cell.index as usize] = true;
            }
        }
        let missed = seen.iter().filter(|seen| !**seen).count();
        // At the two ends a cell is met 30 times on average, else a hundred times.
        assert!(missed <= 1, "{form}: {missed} cells are never looked at");
    }
}

#[test]
fn b4_fuse_every_size_builds() {
    // Sizes of 0 to 20,000, all small ones, and closely between 11,000 and 12,000. A key that comes twice
    // would never peel.
    let sizes = (0..200).chain((200..20_000).step_by(487)).chain((11_000..12_000).step_by(7));
    for n in sizes {
        let filter = BinaryFuse::with_bits(some_twice(n), 8, hasher(0)).unwrap();
        has_each_once(&filter, n);
        // Where few seeds suit the geometry, its shorter segments come to the rescue.
        assert!(filter.attempts() <= 6, "{n}: {} seeds", filter.attempts());
    }
    for n in (0..100).chain((100..20_000).step_by(1531)) {
        let filter = build("four", n, 8, 0);
        assert!((0..n).all(|key| filter.contains(&key.to_le_bytes())), "{n}");
        assert!(fact(&*filter, "attempts") <= 30.0, "{n}");
    }
}

#[test]
fn b4_fuse_no_keys_no_answers() {
    // Zero cells would say yes to 2^−r of all keys.
    for form in ["three", "four"] {
        let empty = build(form, 0, 1, 0);
        assert_eq!(passing(&*empty, 10_000), 0);
        assert_eq!((empty.now().fpr, empty.memory().cells), (Some(0.0), 0));
        assert!(empty.trace(b"x").is_empty());
    }
}

#[test]
fn b4_fuse_repeated_keys_are_there_once() {
    let once = three(500, 8, 3);
    let keys = (0..500u64).chain(0..500).chain([7; 100]);
    assert_eq!(BinaryFuse::with_bits(keys, 8, hasher(3)).unwrap(), once);
    let single = BinaryFuse::with_bits([7u64; 1000], 8, hasher(3)).unwrap();
    assert_eq!((single.head().items, single.attempts()), (1, 1));
}

#[test]
fn b4_fuse_plans() {
    for (p, bits) in [(0.5, 1), (0.25, 2), (0.01, 7), (1.0 / 256.0, 8), (1e-6, 20), (2.4e-10, 32)] {
        let expect = VARIANT.expect(&Goal::new(1000, p), &Load::items(1000)).unwrap().unwrap();
        assert_eq!(expect.bits, 1408 * bits, "{p}");
        assert!((expect.fpr / 0.5f64.powi(bits as i32) - 1.0).abs() < 1e-3);
    }
    assert!(VARIANT.build_from(&Goal::new(10, 1e-12), &[]).is_err(), "beyond 32 bits");
    assert!(VARIANT.build_from(&Goal { bits: Some(9000), ..Goal::new(1000, 0.01) }, &[]).is_err());
    // Memory and items alone: as many bits as fit 1408 cells.
    let goal = Goal { bits: Some(20_000), items: Some(1000), ..Goal::default() };
    let expect = VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap();
    assert_eq!(expect.bits, 14 * 1408);
    assert!(BinaryFuse::with_bits(0..5u64, 0, hasher(0)).is_err());
    assert!(BinaryFuse::with_bits(0..5u64, 33, hasher(0)).is_err());
}

#[test]
fn b4_fuse_flags() {
    // Static: nothing is counted, grouped, deleted or grown, and no member is missed.
    for form in VARIANT.forms {
        assert_eq!(form.abilities, &[] as &[Ability]);
        assert_eq!(form.false_negatives, FalseNegatives::Never);
    }
    let mut filter = build("three", 10, 8, 0);
    assert!(filter.as_insert().is_none() && filter.as_bulk_mut().is_none());
    assert!(filter.as_bulk().is_some());
}

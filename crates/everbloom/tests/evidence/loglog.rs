//! §3, the loglog Bloom filter.

use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::theory::loglog::{alpha, mean_rank, mean_ratio};
use everbloom::sketches::LogLog;
use everbloom::{Hasher, Kind};

#[test]
fn s3_constants() {
    for (d, constant) in [
        (4.0, 0.31202),
        (8.0, 0.35489),
        (16.0, 0.37603),
        (64.0, 0.39178),
        (256.0, 0.39570),
        (1e5, 0.39701),
    ] {
        assert!((alpha(d) - constant).abs() < 1.1e-5, "{d}: {}", alpha(d));
    }
    assert!((mean_rank(1000.0) - 11.2993).abs() < 6e-5);
    assert!((mean_rank(100.0) - 7.9838).abs() < 6e-5);
    for (f, ratio) in [(1000.0, 1.000), (100.0, 1.00), (10.0, 1.05), (2.0, 1.26), (1.0, 1.58)] {
        let mean = mean_ratio(f, 64.0);
        assert!((mean - ratio).abs() < 6e-3, "{f}: {mean}");
    }
}

/// d = 64, an empty background: mean and spread of a thousand estimates.
#[test]
fn s3_estimates_of_a_thousand_copies() {
    let (copies, runs) = (1000, 1000u64);
    let mut filter = LogLog::with_shape(60_000_000, 1, 64, Hasher::seeded(1)).unwrap();
    for key in 0..runs {
        (0..copies).for_each(|_| _ = filter.insert(&key));
    }
    let ratios: Vec<f64> = (0..runs).map(|key| filter.estimate(&key) / f64::from(copies)).collect();
    let mean = ratios.iter().sum::<f64>() / runs as f64;
    let sd = (ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / runs as f64).sqrt();
    assert!((mean - 1.0).abs() < 0.03, "{mean}");
    assert!((0.145..0.185).contains(&sd), "{sd}");
}

#[test]
fn s3_small_counts_are_too_high_by_what_the_formula_says() {
    for copies in [1, 2, 10] {
        let mut filter = LogLog::with_shape(60_000_000, 1, 64, Hasher::seeded(2)).unwrap();
        for key in 0..2000u64 {
            (0..copies).for_each(|_| _ = filter.insert(&key));
        }
        let mean = (0..2000u64).map(|key| filter.estimate(&key)).sum::<f64>() / 2000.0;
        let wanted = mean_ratio(f64::from(copies), 64.0) * f64::from(copies);
        assert!((mean / wanted - 1.0).abs() < 0.02, "{copies}: {mean} {wanted}");
    }
}

/// Copies draw ranks of their own, and one rank goes to all k cells.
#[test]
fn s3_ranks_are_drawn_per_insertion() {
    let mut filter = LogLog::with_shape(100_000, 3, 8, Hasher::seeded(3)).unwrap();
    let cells =
        |filter: &LogLog| filter.trace(b"key").iter().map(|cell| cell.value).collect::<Vec<_>>();
    let mut grew = 0;
    let mut before = vec![0; 24];
    for _ in 0..60 {
        filter.insert("key");
        let now = cells(&filter);
        assert!(now.chunks(3).all(|rank| rank[0] == rank[1] && rank[1] == rank[2]));
        assert!(now.iter().zip(&before).all(|(a, b)| a >= b));
        grew += u64::from(now != before);
        before = now;
    }
    assert!(
        grew > 8,
        "{grew}: an insertion that repeats the last one's ranks would change nothing"
    );
    assert_eq!(filter.fill(), Some(24.0 / 100_000.0));
}

#[test]
fn s3_joining_adds_and_halving_keeps() {
    let build = |place: u64, copies: u64| {
        let builder = LogLog::builder().items(50).rate(0.01).set("d", 256).set("stream", place);
        let mut filter = builder.build().unwrap();
        (0..copies).for_each(|_| _ = filter.insert("key"));
        filter
    };
    // Two places draw ranks of their own; from one stream the larger multiset would hide the other.
    let (left, right) = (build(1, 3000), build(2, 5000));
    let mut joined = left.clone();
    joined.join(&right).unwrap();
    let count = joined.estimate("key");
    // 1.30/√256 is 8 %.
    assert!((count / 8000.0 - 1.0).abs() < 0.3, "{count}: the sum");
    let before = joined.clone();
    for same in [joined.clone(), build(1, 10), build(1, 3000), build(1, 40_000)] {
        let refused = joined.join(&same).unwrap_err();
        assert_eq!(refused.kind(), Kind::Incompatible { what: "stream" }, "{refused}");
        assert_eq!(joined, before);
    }
    // An empty filter takes the stream over, so that its next copies draw ranks of their own.
    let mut empty = build(2, 0);
    empty.join(&right).unwrap();
    (0..5000).for_each(|_| _ = empty.insert("key"));
    let count = empty.estimate("key");
    assert!((count / 10_000.0 - 1.0).abs() < 0.3, "{count}: the sum");
    empty.join(&build(2, 0)).unwrap();
    assert_eq!(empty.estimate("key"), count);
    let half = left.fold().unwrap();
    assert_eq!(half.memory().cells * 2, left.memory().cells);
    let ratio = half.estimate("key") / left.estimate("key");
    assert!((1.0..1.1).contains(&ratio), "{ratio}: an almost empty filter loses nothing");
    assert!(left.clone().as_remove().is_none());
}

//! Sketches beside those of other crates, fed with keys by Zipf's law.

use std::hint::black_box;

use everbloom::internals::hash::{Generator, mix64};

use super::{Line, Measured, Table};
use crate::measure::{Case, Figure, QUERIES, Result, Round, interleaved, per_key, rounds};
use crate::subject::sketches::{COUNT_MIN, EPSILON, HYPERLOGLOG, K, Named, Sketch, TOP_K};

/// Numbers of updates.
pub const SIZES: &[u64] = &[1_000_000, 50_000_000];

/// Different keys of a stream, at most, and the exponent of Zipf's law.
const RANKS: usize = 1 << 20;
const EXPONENT: f64 = 1.1;

/// Keys that come by Zipf's law, and those that came most often.
struct Stream {
    keys: Vec<u64>,
    heaviest: Vec<u64>,
}

impl Stream {
    fn new(updates: u64, round: usize) -> Self {
        let key = |rank: usize| mix64((round as u64) << 41 | rank as u64);
        let mut random = Generator::new(round as u64);
        // The inverse of the distribution, as if ranks were real numbers.
        let tail = 1.0 - (RANKS as f64).powf(1.0 - EXPONENT);
        let mut counts = vec![0u32; RANKS + 1];
        let keys = (0..updates).map(|_| {
            let rank = (1.0 - random.unit() * tail).powf(1.0 / (1.0 - EXPONENT)) as usize;
            let rank = rank.clamp(1, RANKS);
            counts[rank] += 1;
            key(rank)
        });
        let keys = keys.collect();
        let mut ranks: Vec<usize> = (1..=RANKS).collect();
        ranks.sort_by_key(|rank| std::cmp::Reverse(counts[*rank]));
        Self { keys, heaviest: ranks[..K].iter().map(|rank| key(*rank)).collect() }
    }

    /// Keys that are not in the stream.
    fn absent(n: u64) -> Vec<u64> {
        (0..n).map(|i| mix64(1 << 60 | i)).collect()
    }
}

fn measured<P>(
    sizes: &[u64],
    sketches: &[Named],
    prepare: fn(u64, usize) -> P,
    round: fn(Box<dyn Sketch>, &P) -> Round,
    lines: fn(&Table<'_>) -> Vec<Line>,
) -> Measured {
    let names: Vec<&'static str> = sketches.iter().map(|(name, _)| *name).collect();
    let mut all = Measured::default();
    for &items in sizes {
        let case = Case { items, rate: None };
        let rounds = interleaved(
            sketches.len(),
            rounds(items),
            |i| prepare(items, i),
            |j, prepared| Some(round(sketches[j].1()?, prepared)),
        );
        all.results.extend(Result::of(&names, case, rounds));
        all.lines.extend(lines(&Table { results: &all.results, case }));
    }
    all
}

/// Updates and point queries at equal ε and δ. What a sketch says of absent keys is its error.
pub fn count_min(sizes: &[u64], _: bool) -> Measured {
    let round = |mut sketch: Box<dyn Sketch>, stream: &Stream| {
        let keys = &stream.keys[..];
        let (update, ()) = per_key(keys.len() as u64, || sketch.update(black_box(keys)));
        let asked = &keys[..keys.len().min(QUERIES as usize)];
        let (query, sum) = per_key(asked.len() as u64, || sketch.query(black_box(asked)));
        assert!(sum >= asked.len() as f64, "counts are too low: {sum}");
        let absent = Stream::absent(100_000);
        let error = sketch.query(&absent) / absent.len() as f64 / keys.len() as f64;
        Round(vec![(Figure::Update, update), (Figure::Query, query), (Figure::Error, error)])
    };
    measured(sizes, COUNT_MIN, Stream::new, round, |table| {
        let rivals: Vec<&str> = COUNT_MIN[2..].iter().map(|(name, _)| *name).collect();
        let mut lines = Vec::new();
        for name in ["everbloom count-min", "everbloom count-min, batch"] {
            for op in [Figure::Update, Figure::Query] {
                lines.extend(table.line(name, op, &rivals, 0.6));
            }
            lines.extend(table.within(name, Figure::Error, EPSILON));
        }
        lines
    })
}

/// The heaviest keys, at equal rows.
pub fn top_k(sizes: &[u64], _: bool) -> Measured {
    let round = |mut sketch: Box<dyn Sketch>, stream: &Stream| {
        let keys = &stream.keys[..];
        let (update, ()) = per_key(keys.len() as u64, || sketch.update(black_box(keys)));
        let missed = 1.0 - sketch.query(&stream.heaviest) / K as f64;
        Round(vec![(Figure::Update, update), (Figure::Missed, missed)])
    };
    measured(sizes, TOP_K, Stream::new, round, |table| {
        let missed = |name: &str| table.get(name, Figure::Missed).unwrap_or(1.0);
        let (ours, rivals) = (TOP_K[0].0, TOP_K[2..].iter().map(|(name, _)| *name));
        let equal: Vec<&str> = rivals.filter(|name| missed(name) <= missed(ours) + 0.01).collect();
        let lines = TOP_K[..2].iter();
        let lines = lines.filter_map(|(name, _)| table.line(name, Figure::Update, &equal, 0.7));
        lines.chain(table.within(ours, Figure::Missed, 0.05)).collect()
    })
}

/// Estimates of a round.
const ESTIMATES: u64 = 1000;

/// Different keys, and how many they are.
pub fn hyperloglog(sizes: &[u64], _: bool) -> Measured {
    let prepare = |updates: u64, round: usize| -> Vec<u64> {
        (0..updates).map(|i| mix64((round as u64) << 41 | i)).collect()
    };
    let round = |mut sketch: Box<dyn Sketch>, keys: &Vec<u64>| {
        let (update, ()) = per_key(keys.len() as u64, || sketch.update(black_box(keys)));
        let estimates = || (0..ESTIMATES).map(|_| sketch.query(black_box(&[]))).sum::<f64>();
        let (query, sum) = per_key(ESTIMATES, estimates);
        let error = (sum / ESTIMATES as f64 / keys.len() as f64 - 1.0).abs();
        Round(vec![(Figure::Update, update), (Figure::Query, query), (Figure::Error, error)])
    };
    measured(sizes, HYPERLOGLOG, prepare, round, |table| {
        let rivals: Vec<&str> = HYPERLOGLOG[2..].iter().map(|(name, _)| *name).collect();
        let (ours, batch) = (HYPERLOGLOG[0].0, HYPERLOGLOG[1].0);
        let times = [(ours, Figure::Update), (batch, Figure::Update), (ours, Figure::Query)];
        let times = times.into_iter().filter_map(|(name, op)| table.line(name, op, &rivals, 0.8));
        // One standard error of 2^14 registers; half of all estimates are within two thirds of it.
        times.chain(table.within(ours, Figure::Error, 1.04 / 128.0)).collect()
    })
}

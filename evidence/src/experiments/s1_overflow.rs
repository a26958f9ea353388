//! Overflow of counters: the highest counter over m, over a history of sets, and what sticking saves.

use std::f64::consts::LN_2;

use everbloom::Result;
use everbloom::counting::Counting;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::counting as theory;

use crate::apparatus::highest::{self, K, PER_KEY};
use crate::bound::mean_and_sd;
use crate::{Axis, Bound, Chart, Experiment, Lab, Point, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s1-overflow",
    source: "S1 §2.5",
    title: "Overflow of the counters of a counting Bloom filter",
    shows: "The highest counter grows with the logarithm of m and stays far below 16. Over a history of t \
            sets the chance of a given height grows with t at most, as the union bound says.",
    run,
};

/// log2 of the number of counters, and filters at quick effort.
const SIZES: [(u32, u64); 7] =
    [(6, 2000), (8, 2000), (10, 1000), (12, 400), (14, 120), (16, 40), (18, 16)];

fn run(lab: &Lab) -> Result<Report> {
    Ok(Report::default()
        .chart(highest(lab)?)
        .chart(history(lab)?)
        .rows(narrow(lab)?)
        .note(format!(
            "n = m/{PER_KEY} and k = {K}, just below the best k. The expected highest counter is \
             Σ_j P(max ≥ j), from the exact tail of one counter."
        ))
        .note(format!(
            "S1 bounds the chance that 16 is reached in a history of t sets by 1.37e-15·m·t, which cannot be \
             measured; the same union bound is tried at {HEIGHT}."
        ))
        .note(
            "S1 leaves an overflowed counter at its maximum and says that removals may then cause false \
             negatives. Here such a counter is never decremented again, so that there are none, even in \
             counters of one or two bits.",
        ))
}

/// Mean and standard deviation of the highest counter.
fn expected_highest(m: u64) -> (f64, f64) {
    let tail = |j: u64| highest::some_reaches(m, j);
    let mean: f64 = (1..=30).map(tail).sum();
    let square: f64 = (1..=30).map(|j| (2 * j - 1) as f64 * tail(j)).sum();
    (mean, (square - mean * mean).max(0.0).sqrt())
}

fn highest(lab: &Lab) -> Result<Chart> {
    let sizes = || SIZES.iter().map(|(log_m, _)| f64::from(*log_m).exp2());
    let mut mean = Series::new("highest counter", sizes(), |m| expected_highest(m as u64).0);
    for (log_m, quick) in SIZES {
        let (m, runs) = (1 << log_m, lab.scaled(quick));
        let seen = lab.runs(runs, |seed| {
            let filter = highest::filled(m, seed);
            Ok(filter.counters().iter().max().unwrap_or(0) as f64)
        })?;
        let (predicted, sd) = expected_highest(m);
        mean.point(m as f64, predicted, mean_and_sd(&seen).0, bound::mean(predicted, sd, runs));
    }
    // Where the bound of equation 15 falls below one half.
    let bound = |m: f64| {
        let halved = |j: &u64| theory::max_at_least_bound_optimal(m as u64, *j) < 0.5;
        (1..100).find(halved).unwrap_or(0) as f64
    };
    mean.follows(|m| expected_highest(m as u64).0, 0.0);
    let mut bounded = Series::new("j bounded below 1/2", sizes(), bound);
    let mut limit = Series::new("overflow of four bits", sizes(), |_| 16.0);
    for point in [&mean.points[2], &mean.points[6]] {
        // The same by equation 15, written out.
        let reached = |j: &f64| point.x * (std::f64::consts::E * LN_2 / j).powf(*j) < 0.5;
        let first = (1..100).map(f64::from).find(reached).unwrap_or(0.0);
        let what = format!("at m = {}, over the highest measured", point.x);
        bounded.factor(what, first / point.verdict.predicted, bound(point.x), &point.verdict);
    }
    let most = mean.points.iter().map(|point| point.verdict.measured).fold(0.0, f64::max);
    limit.claim("highest mean measured, over 16", 0.5, most / 16.0, Bound::between(0.3, 0.7));
    Ok(Chart::new(
        "a",
        "The highest counter over the number of counters",
        [Axis::log("number of counters m"), Axis::linear("counter value")],
        [mean, bounded, limit],
    ))
}

/// The height whose crossing is watched over a history, in filters of this many counters.
const HEIGHT: u64 = 7;
const COUNTERS: u64 = 1 << 10;
const HISTORY: [u64; 5] = [1, 2, 4, 8, 16];

/// After which of 16 sets, each replacing the one before, some counter first reached [`HEIGHT`].
fn first_crossing(seed: u64) -> Result<Option<u64>> {
    let mut filter = highest::empty(COUNTERS, seed);
    let mut keys = Generator::new(seed);
    let mut set: Vec<u64> = Vec::new();
    for t in 1..=HISTORY[4] {
        for key in set.drain(..) {
            filter.remove(&key)?;
        }
        set.extend((0..COUNTERS / PER_KEY).map(|_| keys.next_u64()));
        set.iter().for_each(|key| {
            filter.insert(key);
        });
        if filter.counters().iter().any(|count| count >= HEIGHT) {
            return Ok(Some(t));
        }
    }
    Ok(None)
}

fn history(lab: &Lab) -> Result<Chart> {
    let runs = lab.scaled(2500);
    let crossings = lab.runs(runs, first_crossing)?;
    let one = highest::some_reaches(COUNTERS, HEIGHT);
    let sets = || (1..=16).map(f64::from);
    let mut exact = Series::new("exact", sets(), |t| 1.0 - (1.0 - one).powf(t));
    for t in HISTORY {
        let crossed = crossings.iter().flatten().filter(|first| **first <= t).count();
        let predicted = 1.0 - (1.0 - one).powi(t as i32);
        let measured = crossed as f64 / runs as f64;
        exact.point(t as f64, predicted, measured, bound::share(predicted, runs));
    }
    let single = highest::counter_reaches(COUNTERS, HEIGHT);
    exact.follows(|t| 1.0 - (1.0 - one).powf(t), 0.0);
    let mut union = Series::new("m·t·P(c ≥ j)", sets(), |t| COUNTERS as f64 * t * single);
    let over = |point: &Point| point.verdict.measured / (COUNTERS as f64 * point.x * single);
    let most = exact.points.iter().map(over).fold(0.0, f64::max);
    // The first point is a tail, where the union bound is all but exact; chance may lift it above.
    let allowed = 1.0 + exact.points[0].verdict.slack().unwrap_or(0.0);
    union.claim("greatest measured/bound", 1.0, most, Bound::between(0.8, allowed));
    Ok(Chart::new(
        "b",
        format!("Some of {COUNTERS} counters reached {HEIGHT} in a history of t sets"),
        [Axis::linear("number of sets t"), Axis::linear("probability")],
        [exact, union],
    ))
}

/// Counters of few bits: how many stick, and how many members are lost when half of them leave.
fn narrow(lab: &Lab) -> Result<Rows> {
    let (m, runs) = (COUNTERS, lab.scaled(100));
    let n = m / PER_KEY;
    let mut rows = Rows::new(
        "c",
        "Counters of one, two and three bits: stuck ones, and members lost",
        Axis::linear("counters, or members"),
    );
    for width in [1, 2, 3] {
        let seen = lab.runs(runs, |seed| {
            let mut filter = Counting::with_shape(m, K, width, Hasher::seeded(seed))
                .expect("a shape that can be");
            let mut keys = Generator::new(seed);
            let members: Vec<u64> = (0..n).map(|_| keys.next_u64()).collect();
            members.iter().for_each(|key| {
                filter.insert(key);
            });
            let stuck = filter.counters().saturated() as f64;
            let (leave, stay) = members.split_at(members.len() / 2);
            for key in leave {
                // Refused where a counter of one bit holds less than two hashes of the key would take.
                let _ = filter.remove(key);
            }
            Ok((stuck, stay.iter().filter(|key| !filter.contains(*key)).count() as f64))
        })?;
        let mean = |f: fn(&(f64, f64)) -> f64| seen.iter().map(f).sum::<f64>() / runs as f64;
        let max = (1 << width) - 1;
        let expected = theory::expected_saturated(m, n, K, max);
        // Counters compete for the throws: no more spread than independent ones have.
        let sd = (expected * (1.0 - expected / m as f64)).sqrt();
        let bound = bound::mean(expected, sd, runs);
        rows.row(format!("counters up to {max}: stuck"), expected, mean(|s| s.0), bound);
        let lost = mean(|s| s.1);
        rows.row(format!("counters up to {max}: lost"), 0.0, lost, Bound::exactly(0.0, 0.0));
    }
    Ok(rows)
}

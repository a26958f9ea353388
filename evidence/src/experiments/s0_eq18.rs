//! The stable filter with the number of decrements that its formula asks for.

use everbloom::Result;
use everbloom::decaying::Stable;
use everbloom::internals::hash::{Generator, Hasher};

use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-eq18",
    source: "S0 equation 18, §III-I",
    title: "Decrements of a stable Bloom filter for a false-positive rate",
    shows: "However long the stream, the rate settles where equation 18 says: P cells decremented with each arrival \
            keep it at f.",
    run,
};

const M: u64 = 10_000;
const BITS: u32 = 3;
/// Hashes of each curve, and the rates asked for.
const HASHES: [u32; 2] = [3, 5];
const ASKED: [f64; 4] = [0.2, 0.1, 0.05, 0.02];
/// Arrivals until the filter is stable: each cell is set many times over.
const ARRIVALS: u64 = 60_000;
const QUERIES: u64 = 20_000;

/// Equation 18.
fn decrements(f: f64, k: u32) -> f64 {
    let max = f64::from((1 << BITS) - 1);
    let zeros = (1.0 - f.powf(1.0 / f64::from(k))).powf(1.0 / max);
    1.0 / ((1.0 / zeros - 1.0) * (1.0 / f64::from(k) - 1.0 / M as f64))
}

/// The rate that a whole number of decrements keeps: (1 − Z)^k with Z = (1 + 1/(P(1/k − 1/m)))^−Max.
fn kept(p: f64, k: u32) -> f64 {
    let max = f64::from((1 << BITS) - 1);
    let zeros = (1.0 + 1.0 / (p * (1.0 / f64::from(k) - 1.0 / M as f64))).powf(-max);
    (1.0 - zeros).powi(k as i32)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let mut series = Vec::new();
    for k in HASHES {
        let asked = (0..=50).map(|i| 0.02 * 10f64.powf(f64::from(i) / 50.0));
        let mut one = Series::new(format!("k = {k}"), asked, |f| f);
        for f in ASKED {
            let whole = decrements(f, k).round();
            let hits = lab.runs(runs, |seed| {
                let mut filter =
                    Stable::with_shape(M, k, BITS, whole as u64, Hasher::seeded(seed))?;
                let mut keys = Generator::new(seed);
                (0..ARRIVALS).for_each(|_| {
                    filter.insert(&keys.next_u64());
                });
                Ok((0..QUERIES).filter(|_| filter.contains(&keys.next_u64())).count())
            })?;
            let measured = hits.iter().sum::<usize>() as f64 / (runs * QUERIES) as f64;
            let predicted = kept(whole, k);
            // Cells come and go together: the fill of one filter strays by a percent, k times in the rate.
            let spread = 0.01 * f64::from(k) * predicted;
            let bound: Bound =
                bound::rate(predicted, spread, runs, QUERIES).widened(predicted, 0.02);
            one.point(f, predicted, measured, bound);
        }
        // A whole number of decrements is up to 3 % off the real one at the highest rate.
        one.follows(|f| f, 0.06);
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "",
            format!("Rate of a stable filter with the P of equation 18, m = {M}, Max = 7"),
            [Axis::log("rate asked for, f"), Axis::log("rate of non-members")],
            series,
        ))
        .note(
            "S0 names no sizes. P is rounded to a whole number, and points are judged by the rate that this one keeps. \
             The formula takes the cells that are decremented for independent of each other; here they are a run of \
             neighbors from a random place on, which leaves the mean as it is.",
        ))
}

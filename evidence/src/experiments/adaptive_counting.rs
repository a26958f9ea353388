//! The adaptive filter: counts as runs of ones, and what other keys add to them.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::sketches::AdaptiveCounting;

use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "adaptive-counting",
    source: "S3 §VI-A, S0 §III-K; catalogue §4",
    title: "The adaptive filter: a count over the fill of its array",
    shows: "A key that comes again sets the next zero of a list of its own; its count is the run of ones there. Bits of other keys make \
            the run longer by (f + 1)·ρ/(1 - ρ). Taken off again, that leaves the true count on average.",
    run,
};

/// Bits that counts are read from, and the shares of them that other keys set before.
const BITS: u64 = 40_000;
const FILLS: [f64; 4] = [0.1, 0.3, 0.5, 0.6];

const COPIES: [u64; 3] = [1, 3, 10];
const KEYS: u64 = 100;

/// The mean run of a key that came f times where a share of the bits is set.
fn expected(f: f64, fill: f64) -> f64 {
    f + (f + 1.0) * fill / (1.0 - fill)
}

/// Means over keys: the run that the fill predicts, the run, the corrected count, and the fill.
fn counted(lab: &Lab, copies: u64, share: f64, seed: u64) -> Result<[f64; 4]> {
    let mut filter = AdaptiveCounting::with_shape(20 * BITS, 10, BITS, 4000, Hasher::seeded(seed))?;
    let mut keys = Generator::new(seed);
    (0..(share * BITS as f64) as u64).for_each(|_| _ = filter.insert(&keys.next_u64()));
    let mut sums = [0.0; 4];
    for _ in 0..KEYS {
        let key = keys.next_u64();
        // Its own bits are behind those that it meets.
        let fill = filter.counts().ones() as f64 / BITS as f64;
        (0..copies).for_each(|_| _ = filter.insert(&key));
        lab.ask_members([key], |key| filter.count(key) >= copies);
        let run = filter.count(&key) as f64;
        let seen = [expected(copies as f64, fill), run, filter.corrected(&key), fill];
        sums.iter_mut().zip(seen).for_each(|(sum, seen)| *sum += seen / KEYS as f64);
    }
    Ok(sums)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(8);
    let (mut lengths, mut corrected) = (Vec::new(), Vec::new());
    for copies in COPIES {
        let f = copies as f64;
        let mut length =
            Series::new(format!("f = {copies}"), steps(0.05, 0.65), |fill| expected(f, fill));
        let mut count = Series { name: format!("f = {copies}"), ..Series::default() };
        for share in FILLS {
            let seen = lab.runs(runs, |seed| counted(lab, copies, share, seed))?;
            let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
            // The ones between f + 1 zeros are as many geometric numbers.
            let sd = ((f + 1.0) * mean(3)).sqrt() / (1.0 - mean(3));
            let around =
                |value: f64, sd: f64| bound::mean(value, sd, runs * KEYS).widened(value, 0.01);
            length.point(mean(3), mean(0), mean(1), around(mean(0), sd));
            // Each one of the run counts for 1 - ρ of a copy.
            count.point(mean(3), f, mean(2), around(f, sd * (1.0 - mean(3))));
        }
        length.follows(|fill| expected(f, fill), 0.01);
        let worst =
            count.points.iter().map(|p| (p.verdict.measured / f - 1.0).abs()).fold(0.0, f64::max);
        count.claim("largest mean error", 0.0, worst, Bound::at_most(0.3));
        lengths.push(length);
        corrected.push(count);
    }
    let chart = |id: &str, title: &str, series| {
        Chart::new(id, title, [Axis::linear("share of ones, ρ"), Axis::log("count")], series)
    };
    Ok(Report::default()
        .chart(chart("a", "Run of ones of a key that came f times", lengths))
        .chart(chart("b", "The same, corrected for other keys", corrected))
        .note("A count is never too low: the members asked for here are keys whose run is at least as long as they came often."))
}

//! The loglog filter: how well it tells how often a key came.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::loglog::mean_ratio;
use everbloom::sketches::LogLog;

use crate::bound::mean_and_sd;
use crate::{Axis, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "loglog",
    source: "S3 §VI-A; catalogue §3",
    title: "The loglog filter: relative error over the multiplicity",
    shows: "Cells of a few bits keep the highest rank that copies of a key drew. Counts are right on average from a few dozen copies on, \
            too high below, and off by 1.3/√d whatever their size.",
    run,
};

/// Groups per key.
const GROUPS: [u32; 2] = [16, 64];

/// Keys of a filter so large that they hardly meet.
const KEYS: u64 = 40;
const M: u64 = 2_000_000;

const COPIES: [u64; 6] = [1, 3, 10, 30, 100, 1000];

fn error(groups: u32) -> f64 {
    1.3 / f64::from(groups).sqrt()
}

/// Estimates over the truth.
fn ratios(lab: &Lab, groups: u32, copies: u64, seed: u64) -> Result<Vec<f64>> {
    let mut filter = LogLog::with_shape(M, 1, groups, Hasher::seeded(seed))?;
    let mut keys = Generator::new(seed);
    let keys: Vec<u64> = (0..KEYS).map(|_| keys.next_u64()).collect();
    for key in &keys {
        (0..copies).for_each(|_| _ = filter.insert(key));
    }
    lab.ask_members(&keys, |key| filter.contains(*key));
    Ok(keys.iter().map(|key| filter.estimate(key) / copies as f64).collect())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(8);
    let (mut means, mut errors) = (Vec::new(), Vec::new());
    for groups in GROUPS {
        let ratio = |copies: f64| mean_ratio(copies, f64::from(groups));
        let xs = || (0..=60).map(|i| 10f64.powf(f64::from(i) / 20.0));
        let name = format!("d = {groups}");
        let mut mean = Series::new(name.clone(), xs(), ratio);
        let mut spread = Series::new(name, [100.0, 1000.0], |_| error(groups));
        for copies in COPIES {
            let seen = lab.runs(runs, |seed| ratios(lab, groups, copies, seed))?.concat();
            let (average, sd) = mean_and_sd(&seen);
            let (x, samples) = (copies as f64, seen.len() as u64);
            let bound = bound::mean(ratio(x), error(groups) * ratio(x), samples);
            mean.point(x, ratio(x), average, bound.widened(ratio(x), 0.02));
            // The error is that of many copies.
            if copies >= 100 {
                let error = error(groups);
                // An estimate is a power of two of a mean: its spread is a little more than that of its logarithm.
                let bound = bound::mean(error, error / 2f64.sqrt(), samples).widened(error, 0.15);
                spread.point(x, error, sd, bound);
            }
        }
        mean.follows(ratio, 0.02);
        spread.follows(|_| error(groups), 0.15);
        means.push(mean);
        errors.push(spread);
    }
    let chart = |id: &str, title: &str, y: &str, series| {
        Chart::new(id, title, [Axis::log("times a key came"), Axis::linear(y)], series)
    };
    Ok(Report::default()
        .chart(chart("a", "Mean count", "estimate over the truth", means))
        .chart(chart("b", "Standard error of a count", "relative error", errors))
        .note(format!(
            "{KEYS} keys in {M} cells, so that keys hardly ever share one. Few copies draw ranks that are too high for their number: by \
             how much is what the line says."
        )))
}

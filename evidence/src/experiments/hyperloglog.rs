//! HyperLogLog: the relative error of its estimates over the number of keys.

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::sketches::HyperLogLog;

use crate::bound::mean_and_sd;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "hyperloglog",
    source: "S3 §IX and P. Flajolet et al., HyperLogLog, AofA 2007; catalogue B17",
    title: "HyperLogLog: the error over the number of keys",
    shows: "The standard error is 1.04/√m whatever the number of keys, once there are more keys than registers; fewer keys are \
            told better. On average the estimates are right.",
    run,
};

const PRECISIONS: [u32; 2] = [8, 10];
const KEYS: [u64; 6] = [100, 300, 1000, 3000, 10_000, 30_000];

fn error(p: u32) -> f64 {
    1.04 / f64::from(1u32 << p).sqrt()
}

/// Estimates as the keys come, over what is true.
fn ratios(p: u32, seed: u64) -> Result<Vec<f64>> {
    let mut sketch = HyperLogLog::with_precision(p)?;
    let (mut keys, mut held) = (Generator::new(seed), 0);
    let ratios = KEYS.into_iter().map(|n| {
        (held..n).for_each(|_| _ = sketch.insert(&keys.next_u64()));
        held = n;
        sketch.estimate() / n as f64
    });
    Ok(ratios.collect())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(200);
    let (mut errors, mut means) = (Vec::new(), Vec::new());
    for p in PRECISIONS {
        let m = 1u64 << p;
        let seen = lab.runs(runs, |seed| ratios(p, seed))?;
        let flat = |_: f64| error(p);
        let mut spread = Series::new(format!("{m} registers"), [100.0, 30_000.0], flat);
        let mut mean = Series::new(format!("{m} registers"), [100.0, 30_000.0], |_| 1.0);
        for (i, n) in KEYS.into_iter().enumerate() {
            let column: Vec<f64> = seen.iter().map(|run| run[i]).collect();
            let (average, sd) = mean_and_sd(&column);
            // The sd of a sample of runs is known to 1/√(2·runs).
            let chance = bound::mean(error(p), error(p) / 2f64.sqrt(), runs);
            // Until each register has met several keys, estimates rest on registers that are still empty.
            let bound = if n < 5 * m { Bound { low: None, ..chance } } else { chance };
            spread.point(n as f64, error(p), sd, bound.widened(error(p), 0.02));
            let bound = bound::mean(1.0, error(p), runs).widened(1.0, 0.002);
            mean.point(n as f64, 1.0, average, bound);
        }
        let settled: Vec<_> =
            spread.points.iter().filter(|p| p.x >= 5.0 * m as f64).cloned().collect();
        spread.follows_points(&settled, flat, 0.02);
        mean.follows(|_| 1.0, 0.002);
        errors.push(spread);
        means.push(mean);
    }
    let chart = |id: &str, title: &str, y: Axis, series| {
        Chart::new(id, title, [Axis::log("keys"), y], series)
    };
    Ok(Report::default()
        .chart(chart("a", "Standard error of the estimate", Axis::linear("relative error"), errors))
        .chart(chart("b", "Mean estimate", Axis::linear("estimate over keys"), means))
        .note(
            "1.04/√m is that of many keys. Below five keys a register only the upper side is judged: there the error is \
             smaller.",
        ))
}

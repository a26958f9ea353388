//! The space-code filter: how well it tells how often a key came.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::sketches::SpaceCode;

use crate::apparatus::generalized::steps;
use crate::bound::mean_and_sd;
use crate::{Axis, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "space-code",
    source: "S3 §VI-A, S0 §III-J and A. Kumar et al., Space-code Bloom filter, INFOCOM 2004; catalogue §1",
    title: "The space-code filter: relative error over the multiplicity",
    shows: "A key picks one of 32 groups each time it comes, and how often it came is told from the groups that are set. The error is a \
            tenth for a few copies and a fifth for sixty: groups run out.",
    run,
};

const GROUPS: u32 = 32;
const K: u32 = 3;

/// Keys of a filter so large that they hardly meet: the error is that of drawing groups.
const KEYS: u64 = 100;
const M: u64 = 400_000;

const COPIES: [u64; 6] = [2, 5, 10, 20, 40, 60];

/// The standard deviation of an estimate as a share of f: that of the groups drawn by f copies, over how many groups a
/// further copy draws.
fn error(f: f64) -> f64 {
    let l = f64::from(GROUPS);
    let (one, two) = ((1.0 - 1.0 / l).powf(f), (1.0 - 2.0 / l).powf(f));
    let variance = l * (l - 1.0) * two + l * one - l * l * one * one;
    variance.sqrt() / (-l * (1.0 - 1.0 / l).ln() * one) / f
}

/// Estimates over the truth.
fn ratios(lab: &Lab, copies: u64, seed: u64) -> Result<Vec<f64>> {
    let mut filter = SpaceCode::with_shape(M, K, GROUPS, Hasher::seeded(seed))?;
    let mut keys = Generator::new(seed);
    let keys: Vec<u64> = (0..KEYS).map(|_| keys.next_u64()).collect();
    for key in &keys {
        (0..copies).for_each(|_| _ = filter.insert(key));
    }
    lab.ask_members(&keys, |key| filter.contains(*key));
    Ok(keys.iter().map(|key| filter.count(key) as f64 / copies as f64).collect())
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(5);
    let mut errors = Series::new("32 groups", steps(2.0, 60.0), error);
    let mut means = Series::new("32 groups", [2.0, 60.0], |_| 1.0);
    for copies in COPIES {
        let seen = lab.runs(runs, |seed| ratios(lab, copies, seed))?.concat();
        let (mean, sd) = mean_and_sd(&seen);
        let (x, samples) = (copies as f64, seen.len() as u64);
        // Estimates are whole numbers, and the likeliest is not quite the mean.
        let bound = bound::mean(error(x), error(x) / 2f64.sqrt(), samples).widened(error(x), 0.15);
        errors.point(x, error(x), sd, bound);
        // The likeliest of a few copies is a little below their mean: by 6 % at five.
        means.point(x, 1.0, mean, bound::mean(1.0, error(x), samples).widened(1.0, 0.06));
    }
    errors.follows(error, 0.15);
    means.follows(|_| 1.0, 0.06);
    let chart = |id: &str, title: &str, y: &str, series| {
        Chart::new(id, title, [Axis::linear("times a key came"), Axis::linear(y)], [series])
    };
    Ok(Report::default()
        .chart(chart("a", "Standard error of a count", "relative error", errors))
        .chart(chart("b", "Mean count", "estimate over the truth", means))
        .note(format!(
            "{KEYS} keys in {M} bits, {K} for a group, so that groups of others are hardly ever met. The line is the spread of the \
             number of groups drawn, divided by its slope."
        )))
}

//! Between which values a measurement agrees with a prediction.
//!
//! Bounds are computed from the prediction and the number of trials, never from the outcome. Each is so
//! wide that a true prediction falls outside with [`ALPHA`] at most; with a thousand points in all
//! experiments together, one wrong alarm is expected in a thousand runs of everything.

use everbloom::internals::theory::tail;
use everbloom_report::Bound;

/// The chance that one true prediction is called wrong.
pub const ALPHA: f64 = 1e-6;

/// How many standard deviations of a normal variable leave [`ALPHA`] outside on both sides together.
const SIGMAS: f64 = 4.892;

/// For a share counted in `trials` independent trials of probability `p`: the exact binomial bound.
pub fn share(p: f64, trials: u64) -> Bound {
    let (low, high) = tail::binomial_bounds(trials, p, ALPHA);
    Bound::between(low as f64 / trials as f64, high as f64 / trials as f64)
}

/// For the mean of `runs` values, each with the standard deviation `sd`.
pub fn mean(predicted: f64, sd: f64, runs: u64) -> Bound {
    let slack = SIGMAS * sd / (runs as f64).sqrt();
    Bound::between(predicted - slack, predicted + slack)
}

/// For a rate measured with `trials` queries of each of `runs` filters whose true rates differ by
/// `sd` from filter to filter (their fills differ): queries' and filters' variance together.
pub fn rate(p: f64, sd: f64, runs: u64, trials: u64) -> Bound {
    let variance = p * (1.0 - p) / trials as f64 + sd * sd;
    mean(p, variance.sqrt(), runs)
}

/// Mean and standard deviation of a sample.
pub fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (mean, (squares / (n - 1.0).max(1.0)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_a_half_in_many_trials() {
        let bound = share(0.5, 1_000_000);
        assert!(bound.admits(0.5) && bound.admits(0.5023) && bound.admits(0.4977));
        assert!(!bound.admits(0.5027) && !bound.admits(0.4973));
    }

    #[test]
    fn rates_of_filters_that_differ_are_less_certain() {
        let alike = rate(0.01, 0.0, 10, 10_000);
        let differing = rate(0.01, 0.001, 10, 10_000);
        assert!(differing.high > alike.high && differing.low < alike.low);
        assert_eq!(mean_and_sd(&[1.0, 2.0, 3.0]), (2.0, 1.0));
    }
}

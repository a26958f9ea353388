//! How far the share of zeros strays from its mean.

use everbloom::Result;
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{Shape, elements};
use crate::bound::mean_and_sd;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s1-concentration",
    source: "S1 §2.1",
    title: "Deviation of the share of zeros from its mean",
    shows: "The share of zeros is so close to its mean that formulas may take it for the mean. The \
            martingale bound holds, with room to spare: it does not know that collisions leave the number \
            of zeros less to chance.",
    run,
};

/// m, with filters at quick effort; n = m/10 and k = 7.
const SIZES: [(u64, u64); 3] = [(1000, 20_000), (10_000, 4000), (100_000, 400)];

fn shape(m: u64) -> Shape {
    Shape { m, n: m / 10, k: 7 }
}

/// The share of zeros of each of `runs` filters.
fn zeros(lab: &Lab, shape: Shape, runs: u64) -> Result<Vec<f64>> {
    const BATCH: u64 = 20;
    let shares = lab.runs(runs / BATCH, |seed| {
        let share = |i| {
            let filter = shape.filled(seed.wrapping_add(i));
            lab.ask_members(elements(shape.n, seed.wrapping_add(i)), |key| filter.contains(key));
            filter.bits().zeros() as f64 / shape.m as f64
        };
        Ok((0..BATCH).map(share).collect::<Vec<f64>>())
    })?;
    Ok(shares.concat())
}

/// How far the bound is from the truth: deviations are normal, so that theirs is 2·exp(−ε²/2σ²) to first order, with
/// the exponent λ/(4(e^−λ − (1 + λ)e^−2λ)) times the bound's, whatever m is.
fn tightness(series: &mut Series, shape: Shape, seen_sd: f64, runs: u64) {
    let (m, n, k) = (shape.m as f64, shape.n as f64, f64::from(shape.k));
    let load = n * k / m;
    let predicted = load / (4.0 * ((-load).exp() - (1.0 + load) * (-2.0 * load).exp()));
    // So far off that the bound is below one.
    let off = 4.0 * bloom::fill_sd(m, n * k);
    let exponent = -(bloom::concentration(m, n, k, off) / 2.0).ln() / (off * off);
    let measured = (2.0 * seen_sd * seen_sd).recip() / exponent;
    // A sample's variance is off by about √(2/runs) of itself.
    let bound = bound::mean(predicted, 2f64.sqrt() * predicted, runs).widened(predicted, 0.02);
    series.claim("exponent of the measured spread over the bound's", predicted, measured, bound);
}

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    let mut spread =
        Rows::new("b", "Mean and standard deviation of the share of zeros", Axis::log("share"));
    for (m, quick) in SIZES {
        let shape = shape(m);
        let shares = zeros(lab, shape, lab.scaled(quick))?;
        let runs = shares.len() as u64;
        let (mf, n, k) = (m as f64, shape.n as f64, f64::from(shape.k));
        let mean = 1.0 - bloom::fill(mf, n * k);
        let sd = bloom::fill_sd(mf, n * k);
        // Up to where the bound says one in ten thousand.
        let far = (n * k * (2e4f64).ln() / 2.0).sqrt() / mf;
        let all = (0..=100).map(|i| far * f64::from(i) / 100.0);
        let mut one = Series::new(format!("m = {m}"), all, |e| bloom::concentration(mf, n, k, e));
        for step in 1..=8 {
            let deviation = far * f64::from(step) / 10.0;
            let bound = bloom::concentration(mf, n, k, deviation);
            let beyond = shares.iter().filter(|s| (**s - mean).abs() >= deviation).count();
            let measured = beyond as f64 / runs as f64;
            one.point(deviation, bound, measured, Bound::at_most(bound));
        }
        let (seen, seen_sd) = mean_and_sd(&shares);
        tightness(&mut one, shape, seen_sd, runs);
        series.push(one);
        spread.row(format!("mean, m = {m}"), mean, seen, bound::mean(mean, sd, runs));
        // A sample's standard deviation is off by about one in √(2·runs) of itself.
        let of_sd = bound::mean(sd, sd / 2f64.sqrt(), runs).widened(sd, 0.01);
        spread.row(format!("sd, m = {m}"), sd, seen_sd, of_sd);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "P(the share of zeros is ε or more off its mean)",
            [Axis::linear("deviation ε"), Axis::log("probability")],
            series,
        ))
        .rows(spread)
        .note(
            "Curves: 2·exp(−2ε²m²/(nk)). Points must lie below; those on the lower edge stand for none that \
             strayed so far. n = m/10 and k = 7, which S1 leaves open.",
        )
        .note(
            "The spread itself is σ² = (e^{−λ} − (1 + λ)e^{−2λ})/m with λ = kn/m; at m = 1000 it is good \
             to a percent.",
        ))
}

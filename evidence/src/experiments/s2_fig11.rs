//! What the initial bits of a generalized filter do to its rate.

use everbloom::Result;
use everbloom::internals::theory::generalized::Hashes;

use crate::apparatus::generalized::{self, Shape, steps};
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig11",
    source: "S2 Fig. 11, equations 16–17 and 23",
    title: "False-positive probability of a generalized filter over its initial bits",
    shows: "However the bits were prepared, the rate stays below F_p. A filter of ones, ruin of the \
            standard filter, is harmless here; the worst start is a share of zeros of k0/(k0 + k1).",
    run,
};

/// m/n = 25.
const M: u64 = 10_000;
const ITEMS: u64 = 400;

fn run(lab: &Lab) -> Result<Report> {
    let a = (1..=3).map(|k0| curve(lab, format!("k0 = {k0}"), Shape::new(M, k0, 2), ITEMS));
    let b = (1..=3).map(|k1| curve(lab, format!("k1 = {k1}"), Shape::new(M, 2, k1), ITEMS));
    Ok(Report::default()
        .chart(chart("a", "After n elements, k1 = 2, m/n = 25", a.collect::<Result<_>>()?))
        .chart(chart("b", "After n elements, k0 = 2, m/n = 25", b.collect::<Result<_>>()?))
        .note(
            "m/n = 25, as in S2, with m = 10,000; its text does not name the other k: 1 to 3 are chosen. \
             Each initial bit is set with that probability.",
        )
        .note(
            "Curves: eq. 16 and 17. Points are judged by eq. 8 for the share of zeros and by the exact \
             rate at that share, with the spread of the fill from filter to filter.",
        )
        .note(
            "S2 adds that all bits set and all bits reset are the best starts. Where k0 and k1 differ \
             only one of the two is.",
        ))
}

/// A panel over the initial share of ones.
pub fn chart(id: &str, title: &str, series: Vec<Series>) -> Chart {
    Chart::new(
        id,
        title,
        [
            Axis::linear("initial fraction of bits set 1 − p0"),
            Axis::linear("false-positive probability f_p"),
        ],
        series,
    )
}

/// The rate after `n` elements over the initial share of ones.
pub fn curve(lab: &Lab, name: String, shape: Shape, n: u64) -> Result<Series> {
    let hashes = Hashes { k0: f64::from(shape.k0), k1: f64::from(shape.k1) };
    let ratio = shape.m as f64 / n as f64;
    let rate = |ones: f64| hashes.fpr(hashes.zeros_after(1.0 - ones, ratio));
    let mut series = Series::new(name, steps(0.0, 1.0), rate);
    let equation = rate;
    for eighth in 0..=8 {
        let ones = f64::from(eighth) / 8.0;
        let rate = generalized::after(lab, shape, 1.0 - ones, n, lab.scaled(80))?;
        series.point(ones, rate.predicted, rate.measured, rate.bound);
    }
    // What skipping adds, where few bits are set.
    series.follows(equation, 0.02);
    Ok(series)
}

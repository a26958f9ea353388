//! The rate of a generalized filter over its fill, with one hash that sets or one that resets.

use everbloom::Result;
use everbloom::internals::theory::generalized::Hashes;

use crate::apparatus::classic::Rate;
use crate::apparatus::generalized::{self, Shape, steps};
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig6",
    source: "S2 Fig. 6, equations 16–17",
    title: "False-positive probability of a generalized filter over the fraction of bits set",
    shows: "One hash that resets is enough to bound the rate: at both ends of the fill nobody passes. \
            With k0 the peak of (a) falls and moves to 1 − p = 1/(k0 + 1); (b) is its mirror image.",
    run,
};

const M: u64 = 10_000;

fn run(lab: &Lab) -> Result<Report> {
    let setting = (0..=3).map(|k0| curve(lab, k0, 1)).collect::<Result<Vec<_>>>()?;
    let resetting = (0..=3).map(|k1| curve(lab, 1, k1)).collect::<Result<Vec<_>>>()?;
    let chart = |id: &str, title: &str, series| {
        Chart::new(
            id,
            title,
            [
                Axis::linear("fraction of bits set 1 − p"),
                Axis::linear("false-positive probability f_p"),
            ],
            series,
        )
    };
    Ok(Report::default()
        .chart(chart("a", "One hash that sets, k1 = 1", setting))
        .chart(chart("b", "One hash that resets, k0 = 1", resetting))
        .note(
            "Arrays of 10,000 bits are prepared with exactly that share of ones at random places, and \
             random keys are asked. S2's text does not name the values of k0 and k1: 0 to 3 are chosen.",
        )
        .note(
            "Curves: eq. 17. Points are judged with what skipping a set bit that the key's own reset \
             overwrites adds to it: k0·k1/m/(1 − p) of it, below 0.4 % but at the very left, where \
             it is all there is.",
        )
        .note(
            "The library's filters have at least one hash that sets. k1 = 0 is measured on its mirror \
             image: the standard filter over the inverted bits.",
        ))
}

fn curve(lab: &Lab, k0: u32, k1: u32) -> Result<Series> {
    let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
    let name = match (k0, k1) {
        (0, _) => "k0 = 0 (standard)".into(),
        (_, 0) => "k1 = 0 (only resets)".into(),
        (k0, k1) => format!("k0 = {k0}, k1 = {k1}"),
    };
    let mut series = Series::new(name, steps(0.0, 1.0), |fill| hashes.fpr(1.0 - fill));
    for tenth in 0..=10 {
        let rate = at_tenth(lab, k0, k1, tenth)?;
        series.point(tenth as f64 / 10.0, rate.predicted, rate.measured, rate.bound);
    }
    // What skipping adds, at a tenth of ones and three hashes of a kind.
    series.follows(|fill| hashes.fpr(1.0 - fill), 0.004);
    Ok(series)
}

fn at_tenth(lab: &Lab, k0: u32, k1: u32, tenth: u64) -> Result<Rate> {
    let ones = tenth * M / 10;
    let (shape, ones) = match k1 {
        0 => (Shape::new(M, 0, k0), M - ones),
        _ => (Shape::new(M, k0, k1), ones),
    };
    generalized::at_fill(lab, shape, ones, lab.scaled(70))
}

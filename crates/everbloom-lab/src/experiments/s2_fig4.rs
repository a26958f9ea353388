//! The rate of a standard filter over its fill: a filter of ones lets everybody pass.

use everbloom::Result;

use crate::apparatus::generalized::{self, Shape, steps};
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig4",
    source: "S2 Fig. 4",
    title: "False-positive probability of a Bloom filter over the fraction of bits set",
    shows: "Whatever k is, the rate climbs to 100 % as the bits fill up. Whoever may send a filter of \
            ones can forge membership of everything: the all-one attack.",
    run,
};

const M: u64 = 10_000;

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for k in 1..=4 {
        let mut one = Series::new(format!("k = {k}"), steps(0.0, 1.0), |fill| fill.powi(k as i32));
        for tenth in 0..=10 {
            let shape = Shape::new(M, 0, k);
            let rate = generalized::at_fill(lab, shape, tenth * M / 10, lab.scaled(150))?;
            one.point(tenth as f64 / 10.0, rate.predicted, rate.measured, rate.bound);
        }
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart {
            id: String::new(),
            title: "False-positive probability over the fill".into(),
            x: Axis::linear("fraction of bits set 1 − p"),
            y: Axis::linear("false-positive probability f"),
            series,
        })
        .note(
            "Arrays of 10,000 bits are prepared with exactly that share of ones at random places, and \
             random keys are asked. S2's text does not name the values of k: 1 to 4 are chosen.",
        ))
}

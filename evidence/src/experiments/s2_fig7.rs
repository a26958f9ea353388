//! The rate of a generalized filter over its fill, with as many hashes that set as reset.

use everbloom::Result;
use everbloom::internals::theory::generalized::Hashes;

use crate::apparatus::generalized::{self, Shape, steps};
use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig7",
    source: "S2 Fig. 7, equations 17–19",
    title: "False-positive probability of a generalized filter with k0 = k1 = k over the fill",
    shows: "The peak is always at half-full bits, and each further pair of hashes divides it by four: \
            F_p = 4^−k.",
    run,
};

const M: u64 = 10_000;

fn run(lab: &Lab) -> Result<Report> {
    let mut peaks =
        Rows::new("b", "Greatest rate F_p", Axis::log("false-positive probability F_p"));
    let mut series = Vec::new();
    for k in 1..=4 {
        let hashes = Hashes { k0: f64::from(k), k1: f64::from(k) };
        let mut one =
            Series::new(format!("k = {k}"), steps(0.0, 1.0), |fill| hashes.fpr(1.0 - fill));
        let shape = Shape::new(M, k, k);
        for tenth in 0..=10 {
            let rate = generalized::at_fill(lab, shape, tenth * M / 10, lab.scaled(80))?;
            one.point(tenth as f64 / 10.0, rate.predicted, rate.measured, rate.bound);
        }
        // What skipping adds: k²/m/(1 − p), most where a tenth of the bits is set.
        one.follows(|fill| hashes.fpr(1.0 - fill), 0.016);
        series.push(one);
        let peak = generalized::at_fill(lab, shape, M / 2, lab.scaled(400))?;
        let label = format!("k = {k}: 4^−{k} = {:.3} %", 100.0 * hashes.max_fpr());
        peaks.row(label, peak.predicted, peak.measured, peak.bound);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "False-positive probability over the fill, k = k0 = k1",
            [
                Axis::linear("fraction of bits set 1 − p"),
                Axis::linear("false-positive probability f_p"),
            ],
            series,
        ))
        .rows(peaks)
        .note(
            "Arrays of 10,000 bits are prepared with exactly that share of ones at random places, and \
             random keys are asked. S2's text does not name the values of k: 1 to 4 are chosen.",
        )
        .note(
            "Curves: eq. 17. Points are judged with what skipping a set bit that the key's own reset \
             overwrites adds to it: k²/m/(1 − p) of it, 0.3 % at the peak of k = 4.",
        ))
}

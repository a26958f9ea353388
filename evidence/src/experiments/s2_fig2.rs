//! The rate of a standard filter over the bits per element, for several numbers of hashes.

use everbloom::Result;
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{self, Shape};
use crate::apparatus::generalized::steps;
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig2",
    source: "S2 Fig. 2, equations 1–2",
    title: "False-positive probability of a Bloom filter over the bits per element",
    shows: "More bits per element always help, whatever k is; which k is best depends on how many there \
            are: the curves cross.",
    run,
};

const ITEMS: u64 = 1000;

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for k in [1, 2, 4, 6] {
        let equation_2 = |ratio: f64| bloom::fpr_asymptotic(ratio, 1.0, f64::from(k));
        let mut one = Series::new(format!("k = {k}"), steps(1.0, 32.0), equation_2);
        // The sixth power of the fill gets too rare to count beyond 20 bits per element.
        let ratios: &[u64] =
            if k < 6 { &[2, 4, 8, 12, 16, 24, 32] } else { &[2, 4, 8, 12, 16, 20] };
        let shapes: Vec<Shape> =
            ratios.iter().map(|ratio| Shape { m: ratio * ITEMS, n: ITEMS, k }).collect();
        let rates = classic::rates(lab, &shapes, lab.scaled(150))?;
        for (ratio, rate) in ratios.iter().zip(rates) {
            one.point(*ratio as f64, rate.predicted, rate.measured, rate.bound);
        }
        one.follows(equation_2, 0.01);
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "",
            "False-positive probability over m/n",
            [Axis::linear("bits per element m/n"), Axis::log("false-positive probability f")],
            series,
        ))
        .note(
            "S2's text does not name the values of k, the range of m/n and the scale of its figure: \
             k = 1, 2, 4, 6, up to 32 bits per element and a logarithmic scale are chosen here. \
             Measured with n = 1000.",
        ))
}

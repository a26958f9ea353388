//! The rate of a standard filter over the number of hashes, and its minimum at half-full bits.

use everbloom::Result;
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{self, Shape};
use crate::apparatus::generalized::steps;
use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig3",
    source: "S2 Fig. 3, equations 2–4",
    title: "False-positive probability of a Bloom filter over the number of hash functions",
    shows: "For each m/n the rate falls to a minimum near k = (m/n) ln 2 and rises again. At the minimum \
            half of the bits are set.",
    run,
};

const ITEMS: u64 = 1000;
const RATIOS: [u64; 4] = [4, 8, 12, 16];
const HASHES: [u32; 9] = [1, 2, 3, 4, 6, 8, 11, 14, 16];

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for ratio in RATIOS {
        let equation_2 = |k: f64| bloom::fpr_asymptotic(ratio as f64, 1.0, k);
        let mut one = Series::new(format!("m/n = {ratio}"), steps(1.0, 16.0), equation_2);
        let shapes = HASHES.map(|k| Shape { m: ratio * ITEMS, n: ITEMS, k });
        for (k, rate) in HASHES.iter().zip(classic::rates(lab, &shapes, lab.scaled(120))?) {
            one.point(f64::from(*k), rate.predicted, rate.measured, rate.bound);
        }
        one.follows(equation_2, 0.01);
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "False-positive probability over k",
            [Axis::linear("number of hash functions k"), Axis::log("false-positive probability f")],
            series,
        ))
        .rows(half_full(lab)?)
        .note(
            "S2's text names neither the ratios m/n nor the scale of its figure: 4, 8, 12, 16 and a \
             logarithmic scale are chosen here. Measured with n = 1000.",
        )
        .note(
            "Eq. 4 gives p = 1/2 for a real k; the rows are judged against the whole k next to it, whose \
             fill is near a half.",
        ))
}

/// The share of ones at the best k.
fn half_full(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("b", "Share of bits set at the best k", Axis::linear("share of ones"));
    for ratio in RATIOS {
        let (m, n) = (ratio * ITEMS, ITEMS);
        let shape = Shape { m, n, k: bloom::best_k(m, n) };
        let runs = lab.scaled(200);
        let fills =
            lab.runs(runs, |seed| Ok(shape.filled(seed).bits().ones() as f64 / m as f64))?;
        let throws = (n * u64::from(shape.k)) as f64;
        let predicted = bloom::fill(m as f64, throws);
        let bound = bound::mean(predicted, bloom::fill_sd(m as f64, throws), runs);
        let measured = fills.iter().sum::<f64>() / runs as f64;
        rows.row(format!("m/n = {ratio}, k = {}", shape.k), predicted, measured, bound);
    }
    Ok(rows)
}

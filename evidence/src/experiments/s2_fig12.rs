//! Two ways into the steady state: by the initial bits, and by many elements.

use everbloom::Result;
use everbloom::membership::generalized::fill_sd;

use super::s2_fig11::{chart, curve};
use crate::apparatus::generalized::Shape;
use crate::{Axis, Experiment, Grade, Lab, Report, Rows, Said, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig12",
    source: "S2 Fig. 12, equations 16–18",
    title: "False-positive probability of a generalized filter on its way to the steady state",
    shows: "With few bits per element every start ends at F_p = 6.25 %, the greatest rate there is; with \
            many the initial bits still show. At 1 − p0 = 1/2 the filter is there from the beginning.",
    run,
};

const M: u64 = 8192;

fn run(lab: &Lab) -> Result<Report> {
    let ratios = [1, 4, 8, 16, 32, 64];
    let series = ratios
        .map(|ratio| curve(lab, format!("m/n = {ratio}"), Shape::new(M, 2, 2), M / ratio))
        .into_iter()
        .collect::<Result<_>>()?;
    let mut rows =
        Rows::new("b", "Share of ones in the steady state", Axis::linear("share of ones"));
    for (k0, k1) in [(1, 3), (2, 3), (2, 2), (3, 1)] {
        let [predicted, measured, sd] = steady(lab, k0, k1)?;
        let bound = bound::mean(predicted, sd, RUNS);
        rows.row(format!("k0 = {k0}, k1 = {k1}"), predicted, measured, bound);
    }
    let [predicted, measured, sd] = steady(lab, 1, 3)?;
    Ok(Report::default()
        .chart(chart("a", "After n elements, k0 = k1 = 2", series))
        .rows(rows)
        .note(
            "m = 8192. S2's text does not name the ratios m/n: 1, 4, 8, 16, 32, 64 are chosen. Steady \
             states (b) are those of filters that began empty and took 4 elements per bit.",
        )
        .graded(
            Grade::Contradiction,
            "S0 §III-R, first sentence",
            [
                "“one (g_1, …, g_k0) for setting bits and another (h_1, …, h_k1) to reset bits”",
                "g resets and h sets, as S0 has it two paragraphs on and S2 throughout: with k0 = 1 and \
                 k1 = 3 the filter drifts to k1/(k0 + k1) = 3/4 of ones, not to 1/4",
            ],
            Said::Follows(0.25),
            [predicted, measured],
            bound::mean(predicted, sd, RUNS),
        ))
}

/// Filters whose fill is averaged; one of them would do to tell 1/4 from 3/4.
const RUNS: u64 = 20;

/// The share of ones after very many elements: predicted, measured, and its spread between filters.
fn steady(lab: &Lab, k0: u32, k1: u32) -> Result<[f64; 3]> {
    let (m, n) = (1024, 4096);
    let shape = Shape::new(m, k0, k1);
    let ones = lab.runs(RUNS, |seed| Ok(shape.filled(1.0, n, seed)?.0.bits().ones()))?;
    let exact = shape.exact();
    let measured = ones.iter().sum::<u64>() as f64 / (RUNS * m) as f64;
    let predicted = 1.0 - exact.zeros_after(1.0, n as f64);
    Ok([predicted, measured, fill_sd(&exact, 1.0, n as f64)])
}

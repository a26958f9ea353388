//! The bound on false negatives over the bits per element.

use everbloom::Result;
use everbloom::internals::theory::generalized::Hashes;

use crate::apparatus::generalized::{self, Shape, steps};
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig10",
    source: "S2 Fig. 10, equations 20–22",
    title: "Maximum false-negative probability of a generalized filter over the bits per element",
    shows: "What an element risks that came before all n others: about 2·k0·k1·n/m, so twice the bits \
            lose half as many.",
    run,
};

/// As in S2's other figures about false negatives.
const ITEMS: u64 = 10;

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for k0 in 1..=3 {
        let hashes = Hashes { k0: f64::from(k0), k1: 1.0 };
        let mut one =
            Series::new(format!("k0 = {k0}"), steps(16.0, 256.0), |ratio| hashes.max_fnr(ratio));
        for ratio in [16, 24, 32, 48, 64, 96, 128, 192, 256] {
            let shape = Shape::new(ratio * ITEMS, k0, 1);
            let rate = generalized::lost(lab, shape, ITEMS, lab.scaled(30))?;
            one.point(ratio as f64, rate.predicted, rate.measured, rate.bound);
        }
        // The bound takes m for far larger than the hashes; here it is 160 at least.
        one.follows(|ratio| hashes.max_fnr(ratio), 0.03);
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "",
            "Maximum false-negative probability over m/n, k1 = 1",
            [
                Axis::linear("bits per element m/n"),
                Axis::linear("maximum false-negative probability F_n"),
            ],
            series,
        ))
        .note(
            "Measured for an element followed by n = 10 others. S2's text does not name the values of k0 \
             and the range of m/n: 1 to 3 and 16 to 256 are chosen.",
        )
        .note("Curves: eq. 22, for m far above k0 and k1. Points are judged by eq. 12 at their own m."))
}

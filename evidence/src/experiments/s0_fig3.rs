//! The rate of a classic filter over n, for several sizes m, with the best number of hashes.

use everbloom::Result;
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{self, Shape};
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-fig3",
    source: "S0 Fig. 3, equations 5–7",
    title: "False-positive rate of a Bloom filter over the number of elements",
    shows: "At the best k the rate depends on m/n alone: the same curve again for each m. Measured \
            points lie on it up to the rounding of k to a whole number.",
    run,
};

/// Bits per element at which each size is measured.
const BITS_PER_ITEM: [f64; 7] = [1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0];

fn run(lab: &Lab) -> Result<Report> {
    let sizes: &[u32] = &[8, 12, 16, 20, 22];
    let mut series = Vec::new();
    for &log_m in sizes {
        let m = 1u64 << log_m;
        let ratios = (0..=100).map(|i| 1.0 + 14.0 * f64::from(i) / 100.0);
        let mut one = Series::new(format!("m = 2^{log_m}"), ratios.map(|r| m as f64 / r), |n| {
            bloom::fpr_best(m as f64 / n)
        });
        let shapes: Vec<Shape> = BITS_PER_ITEM
            .iter()
            .map(|ratio| {
                let n = (m as f64 / ratio).round() as u64;
                Shape { m, n, k: bloom::best_k(m, n) }
            })
            .collect();
        // Small filters differ from each other, large ones take long: about as many insertions each.
        let runs = lab.scaled((1 << 20) >> log_m).clamp(2, 500);
        for (shape, rate) in shapes.iter().zip(classic::rates(lab, &shapes, runs)?) {
            one.point(shape.n as f64, rate.predicted, rate.measured, rate.bound);
        }
        // A whole k is up to 3 % worse than the best real one, and small filters are worse than large ones.
        one.follows(|n| bloom::fpr_best(m as f64 / n), if log_m < 12 { 0.06 } else { 0.03 });
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "",
            "False-positive rate over n at the best k",
            [Axis::log("number of elements n"), Axis::log("false-positive rate p")],
            series,
        ))
        .note(
            "Curves: 0.6185^(m/n), which takes k = (m/n) ln 2 as a real number. Points are judged \
             against their own whole k, for m up to 2^12 by the exact formula of Bose et al. (S3 eq. 3).",
        ))
}

//! Two-stage filters: hash evaluations saved on non-members, over the size of the first stage.

use everbloom::Result;
use everbloom::hardware::pipelined::{saved_by_two_stages, second_stage};

use crate::apparatus::stages::{self, Stages};
use crate::{Axis, Chart, Experiment, Grade, Lab, Report, Said, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-eq6",
    source: "S3 equation 6, §V-D",
    title: "Power saved by a two-stage pipelined filter",
    shows: "Two or three hashes first and the rest only where they all hit save most: fewer leave too \
            many non-members for the second stage, more are spent on all of them.",
    run,
};

/// Hashes of each filter, at half fill as planned for.
const KS: [u32; 4] = [4, 6, 8, 10];

/// The filter whose second stage is counted: hashes in all, and in the first stage.
const COUNTED: (u32, u32) = (8, 4);

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for k in KS {
        let first = || (1..=k).map(f64::from);
        let saved = |k1: f64| saved_by_two_stages(k, k1 as u32, 0.5);
        let mut one = Series::new(format!("k = {k}"), first(), saved);
        for k1 in 1..=k {
            let stages = Stages { k, k1: Some(k1), fill: 0.5 };
            let spent =
                stages.measure(lab, |evaluations| 1.0 - f64::from(evaluations) / f64::from(k))?;
            one.point(f64::from(k1), spent.predicted, spent.measured, spent.bound);
        }
        one.follows(saved, 0.002);
        series.push(one);
    }
    let (k, k1) = COUNTED;
    let counted = Stages { k, k1: Some(k1), fill: 0.5 };
    let second = counted.measure(lab, |evaluations| f64::from(u8::from(evaluations == k)))?;
    let printed = second_stage(1.0 - (-f64::from(k1) / counted.m() as f64).exp(), k1);
    Ok(Report::default()
        .chart(Chart::new(
            "",
            "Hash evaluations saved, half of the bits set",
            [Axis::linear("hashes in the first stage k1"), Axis::linear("power saving ratio")],
            series,
        ))
        .graded(
            Grade::Misprint,
            "S3 §V-D, before eq. 6",
            [
                "the second stage is needed with probability “(1 − e^{−k1/m})^k1”",
                "with (1 - e^(-kn/m))^k1, as in equation 6: a hit is as likely as a set bit",
            ],
            Said::Follows(printed),
            [second.predicted, second.measured],
            second.bound,
        )
        .note(stages::NOTE))
}

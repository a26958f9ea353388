//! Fully pipelined filters: hash evaluations saved on non-members when they stop at the first miss.

use everbloom::Result;
use everbloom::hardware::pipelined::saved_by_all_stages;

use crate::apparatus::stages::{self, Stages};
use crate::{Axis, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-eq7",
    source: "S3 equation 7, §V-D",
    title: "Power saved by a fully pipelined filter",
    shows: "A non-member meets an unset bit after 1/(1 - fill) hashes on average, however many there are: \
            the more there are, the larger the share saved.",
    run,
};

const FILLS: [f64; 3] = [0.3, 0.5, 0.7];
const LAST_K: u32 = 16;

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for fill in FILLS {
        let ks = (1..=LAST_K).map(f64::from);
        let name = format!("fill {fill}");
        let equation_7 = |k: f64| saved_by_all_stages(k as u32, fill);
        let mut one = Series::new(name, ks, equation_7);
        for k in (1..=LAST_K).step_by(3) {
            let stages = Stages { k, k1: None, fill };
            let spent =
                stages.measure(lab, |evaluations| 1.0 - f64::from(evaluations) / f64::from(k))?;
            one.point(f64::from(k), spent.predicted, spent.measured, spent.bound);
        }
        one.follows(equation_7, 0.002);
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "",
            "Hash evaluations saved by stopping at the first miss",
            [Axis::linear("number of hashes k"), Axis::linear("power saving ratio")],
            series,
        ))
        .note(stages::NOTE))
}

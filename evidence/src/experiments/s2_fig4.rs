//! The rate of a standard filter over its fill: a filter of ones lets everybody pass.

use everbloom::Result;

use crate::apparatus::classic;
use crate::apparatus::generalized::{self, Shape, steps};
use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig4",
    source: "S2 Fig. 4",
    title: "False-positive probability of a Bloom filter over the fraction of bits set",
    shows: "Whatever k is, the rate climbs to 100 % as the bits fill up. Whoever may send a filter of \
            ones can forge membership of everything: the all-one attack.",
    run,
};

const M: u64 = 10_000;

/// Hashes of the standard filters, and queries of each.
const K: u32 = 3;
const QUERIES: u64 = 200_000;

/// Standard filters at several fills.
fn standard(lab: &Lab) -> Result<Rows> {
    let title = format!("Standard filters filled by insertions, k = {K}");
    let mut rows = Rows::new("b", title, Axis::log("false-positive probability f"));
    for tenth in [3u32, 5, 7, 9] {
        let throws = -(1.0 - f64::from(tenth) / 10.0).ln() * M as f64;
        let shape = classic::Shape { m: M, n: (throws / f64::from(K)).round() as u64, k: K };
        let runs = lab.scaled(10);
        let seen = lab.runs(runs, |seed| {
            let filter = shape.filled(seed);
            lab.ask_members(classic::elements(shape.n, seed), |key| filter.contains(key));
            let fill = filter.bits().ones() as f64 / M as f64;
            Ok([fill.powi(K as i32), classic::false_positives(&filter, seed, QUERIES)])
        })?;
        let mean = |i: usize| seen.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
        let bound = bound::share(mean(0), runs * QUERIES);
        rows.row(format!("about {tenth}0 % set"), mean(0), mean(1), bound);
    }
    Ok(rows)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut series = Vec::new();
    for k in 1..=4 {
        let mut one = Series::new(format!("k = {k}"), steps(0.0, 1.0), |fill| fill.powi(k as i32));
        for tenth in 0..=10 {
            let shape = Shape::new(M, 0, k);
            let rate = generalized::at_fill(lab, shape, tenth * M / 10, lab.scaled(150))?;
            one.point(tenth as f64 / 10.0, rate.predicted, rate.measured, rate.bound);
        }
        one.follows(|fill| fill.powi(k as i32), 0.0);
        series.push(one);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "False-positive probability over the fill",
            [
                Axis::linear("fraction of bits set 1 − p"),
                Axis::linear("false-positive probability f"),
            ],
            series,
        ))
        .rows(standard(lab)?)
        .note(
            "(a): the standard filter as a generalized one that resets nothing, k0 = 0, because only that one \
             can be laid over prepared bits. (b): filters of the type `Bloom`, filled by insertions to about \
             that share, each judged by its own fill.",
        )
        .note(
            "Arrays of 10,000 bits are prepared with exactly that share of ones at random places, and \
             random keys are asked. S2's text does not name the values of k: 1 to 4 are chosen.",
        ))
}

//! Which elements a generalized filter forgets: by their position, with one hash that sets or resets.

use everbloom::Result;

use crate::apparatus::generalized::{self, Shape};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig8",
    source: "S2 Fig. 8, equations 10–12",
    title: "False-negative probability of each element of a generalized filter",
    shows: "The standard filter forgets nobody. With resets the first elements are lost most often, and \
            the last never: nobody came after it. Sets and resets play equal parts, so (a) and (b) look \
            alike.",
    run,
};

/// S2's n and m/n.
pub const ITEMS: u64 = 10;
pub const M: u64 = 1280;

fn run(lab: &Lab) -> Result<Report> {
    let pairs_a = (0..=4).map(|k0| (k0, 1));
    let pairs_b = (1..=4).map(|k1| (1, k1));
    let named = |k0| if k0 == 0 { "k0 = 0 (standard)".into() } else { format!("k0 = {k0}") };
    let a = pairs_a.map(|(k0, k1)| curve(lab, named(k0), k0, k1));
    let b = pairs_b.map(|(k0, k1)| curve(lab, format!("k1 = {k1}"), k0, k1));
    Ok(Report::default()
        .chart(chart("a", "Element by element, k1 = 1", a.collect::<Result<_>>()?))
        .chart(chart("b", "Element by element, k0 = 1", b.collect::<Result<_>>()?))
        .note(
            "n = 10 and m/n = 128, as in S2. Its text does not name the values of k0 and k1: 0 to 4 and \
             1 to 4 are chosen (a filter that only resets would forget nobody either).",
        ))
}

/// A panel over the positions of elements.
pub fn chart(id: &str, title: &str, series: Vec<Series>) -> Chart {
    Chart::new(
        id,
        title,
        [
            Axis::linear("element, in the order of insertion"),
            Axis::linear("false-negative probability f_n"),
        ],
        series,
    )
}

/// The elements of many filters, all of them with new hashes, as S2's rounds are.
pub fn curve(lab: &Lab, name: String, k0: u32, k1: u32) -> Result<Series> {
    let shape = Shape::new(M, k0, k1);
    let positions = (1..=ITEMS).map(|position| position as f64);
    let later = |position: f64| ITEMS as f64 - position;
    let mut series = Series::new(name, positions, |at| shape.exact().fnr(later(at)));
    let rates = generalized::lost_by_position(lab, shape, ITEMS, lab.scaled(30))?;
    for (position, rate) in (1..).zip(rates) {
        series.point(f64::from(position), rate.predicted, rate.measured, rate.bound);
    }
    if k0 > 0 {
        series.follows(|at| shape.exact().fnr(later(at)), 0.0);
    } else {
        let missed = series.points.iter().map(|p| p.verdict.measured).sum();
        series.claim("missed in all", 0.0, missed, Bound::exactly(0.0, 0.0));
    }
    Ok(series)
}

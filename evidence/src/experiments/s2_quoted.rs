//! The percentages that S2 quotes.

use everbloom::Result;
use everbloom::internals::theory::generalized::Hashes;

use crate::apparatus::generalized::{self, Shape};
use crate::{Axis, Bound, Experiment, Lab, Report, Rows};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-quoted",
    source: "S2 §I, §IV and §VII",
    title: "The percentages in S2's text",
    shows: "Each percentage of the text is its formula, rounded, and what filters do in their worst state. \
            The all-one attack passes everybody through a standard filter and nobody through this one.",
    run,
};

/// Half of the last printed digit, and as much as a binary fraction may be off it.
const ROUNDING: f64 = 0.0005 + 1e-12;

const M: u64 = 12_800;
const ITEMS: u64 = 10;

fn run(lab: &Lab) -> Result<Report> {
    let percent = || Axis::linear("probability");
    let mut printed = Rows::new("a", "As printed, and by the formula", percent());
    let mut measured = Rows::new("b", "By the formula, and measured in the worst state", percent());
    for (k0, k1, quoted) in [(2, 2, 6.3), (3, 3, 1.6), (4, 4, 0.4), (2, 3, 3.5)] {
        let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        let name = format!("F_p ({k0}, {k1}): {quoted:.1} %");
        let quoted = quoted / 100.0;
        printed.row(name.clone(), quoted, hashes.max_fpr(), Bound::exactly(quoted, ROUNDING));
        let shape = Shape::new(M, k0, k1);
        let rate = generalized::after(lab, shape, hashes.worst_zeros(), ITEMS, lab.scaled(150))?;
        measured.row(name, rate.predicted, rate.measured, rate.bound);
    }
    for (k0, k1, ratio, quoted) in [(2, 2, 128, 6.0), (2, 3, 256, 4.6), (2, 3, 512, 2.3)] {
        let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
        let name = format!("F_n ({k0}, {k1}), m/n = {ratio}: {quoted:.1} %");
        let (quoted, bound) = (quoted / 100.0, hashes.max_fnr(ratio as f64));
        printed.row(name.clone(), quoted, bound, Bound::exactly(quoted, ROUNDING));
        let rate =
            generalized::lost(lab, Shape::new(ratio * ITEMS, k0, k1), ITEMS, lab.scaled(60))?;
        measured.row(name, rate.predicted, rate.measured, rate.bound);
    }
    let mut attack = Rows::new("c", "A filter of ones, sent by an attacker", percent());
    for (name, k0) in [("standard, k = 4: 100 %", 0), ("generalized, k0 = 2, k1 = 2", 2)] {
        let shape = Shape::new(M, k0, 4 - k0);
        let rate = generalized::at_fill(lab, shape, M, lab.scaled(20))?;
        attack.row(name, rate.predicted, rate.measured, rate.bound);
    }
    Ok(Report::default().rows(printed).rows(measured).rows(attack).note(
        "F_p is measured with 10 elements in 12,800 bits that began with a share of zeros of k0/(k0 + \
         k1), F_n on an element that 10 others follow. (a) compares the printed percentage with its \
         formula, (b) the formula at the filter's own m with the filter.",
    ))
}

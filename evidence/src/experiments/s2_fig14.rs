//! Both bounds over both numbers of hashes, and the pairs that balance them.

use everbloom::Result;
use everbloom::internals::theory::generalized::{Hashes, balanced_k1};

use crate::apparatus::balance::{self, Errors};
use crate::apparatus::generalized::steps;
use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig14",
    source: "S2 Fig. 14, equations 24–25",
    title: "Maximum false-positive and false-negative probability over k0 and k1 at m/n = 256",
    shows: "S2 draws two surfaces over (k0, k1); here they are cut at k0 = 1, 2, 3 (a). Where they \
            intersect (b) errors of both kinds are equally likely; whole pairs come near (c).",
    run,
};

const RATIO: u64 = 256;
const MOST_K0: u32 = 3;
const MOST_K1: u32 = 8;

fn pair(k0: f64, k1: f64) -> Hashes {
    Hashes { k0, k1 }
}

fn run(lab: &Lab) -> Result<Report> {
    let c = RATIO as f64;
    let mut cuts = Vec::new();
    let mut measured: Vec<Vec<Errors>> = Vec::new();
    for k0 in 1..=MOST_K0 {
        let of = |k1: f64| pair(f64::from(k0), k1);
        let k1s = || steps(1.0, f64::from(MOST_K1));
        let mut positives = Series::new(format!("F_p, k0 = {k0}"), k1s(), |k1| of(k1).max_fpr());
        let mut negatives = Series::new(format!("F_n, k0 = {k0}"), k1s(), |k1| of(k1).max_fnr(c));
        let mut row = Vec::new();
        for k1 in 1..=MOST_K1 {
            let errors = Errors {
                hashes: of(f64::from(k1)),
                bits_per_item: RATIO,
                positives: balance::positives(lab, k0, k1)?,
                negatives: balance::negatives(lab, k0, k1, RATIO)?,
            };
            for (series, rate) in
                [(&mut positives, &errors.positives), (&mut negatives, &errors.negatives)]
            {
                series.point(f64::from(k1), rate.predicted, rate.measured, rate.bound);
            }
            row.push(errors);
        }
        positives.follows(|k1| of(k1).max_fpr(), 0.01);
        negatives.follows(|k1| of(k1).max_fnr(c), 0.02);
        cuts.extend([positives, negatives]);
        measured.push(row);
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "Greatest probabilities of errors, m/n = 256",
            [
                Axis::linear("number of setting hash functions k1"),
                Axis::linear("maximum probability F_p, F_n"),
            ],
            cuts,
        ))
        .chart(sets(&measured))
        .rows(pairs(&measured))
        .note(
            "S2 has analytical results only; F_p is measured in the worst state of 12,800 bits, F_n on \
             an element that 10 others follow.",
        )
        .note(
            "(b): eq. 24 and 25 solved for a real k1. Between whole numbers the measured surfaces are \
             taken to be as far from the analytic ones as at the whole numbers on both sides. Both \
             curves mirror at the diagonal.",
        ))
}

/// The sets K of eq. 24 and 25, as curves.
fn sets(measured: &[Vec<Errors>]) -> Chart {
    let c = RATIO as f64;
    let mut series = Vec::new();
    for (name, share) in [("F_n = F_p (eq. 24)", 1.0), ("F_n = F_p/3 (eq. 25)", 1.0 / 3.0)] {
        let mut one = Series::new(name, steps(0.8, 6.0), |k0| balanced_k1(k0, c, share));
        for (k0, row) in (1..).map(f64::from).zip(measured) {
            let at = balanced_k1(k0, c, share);
            let beside = [&row[at as usize - 1], &row[at as usize]];
            let crossing = balance::crossing(at, beside, |k1| pair(k0, k1).fnr_per_fpr(c));
            one.point(k0, crossing.predicted, crossing.measured, crossing.bound);
        }
        one.follows(|k0| balanced_k1(k0, c, share), 0.01);
        series.push(one);
    }
    Chart::new(
        "b",
        "Balanced pairs of hashes, m/n = 256",
        [
            Axis::linear("number of resetting hash functions k0"),
            Axis::linear("number of setting hash functions k1"),
        ],
        series,
    )
}

/// Whole pairs near both sets.
fn pairs(measured: &[Vec<Errors>]) -> Rows {
    let mut rows = Rows::new("c", "F_n/F_p of whole pairs, m/n = 256", Axis::log("F_n/F_p"));
    for (k0, k1, near) in [(1, 4, "1/3"), (2, 2, "1/3"), (1, 7, "1"), (2, 3, "1"), (3, 2, "1")] {
        let ratio = measured[k0 - 1][k1 - 1].ratio();
        let label = format!("(k0, k1) = ({k0}, {k1}), near {near}");
        rows.row(label, ratio.predicted, ratio.measured, ratio.bound);
    }
    rows
}

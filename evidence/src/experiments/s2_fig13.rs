//! More hashes: fewer false positives, more false negatives, and the number at which they are as many.

use everbloom::Result;
use everbloom::internals::theory::generalized::{Hashes, balanced_k};

use crate::apparatus::balance::{self, Errors};
use crate::apparatus::generalized::steps;
use crate::{Axis, Chart, Experiment, Lab, Report, Rows, Series};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s2-fig13",
    source: "S2 Fig. 13, equations 19 and 22",
    title: "Maximum false-positive and false-negative probability over the number of hashes",
    shows: "F_p falls to a quarter with each further pair of hashes, F_n rises. For each m/n they cross \
            once: there both kinds of errors are equally likely at worst.",
    run,
};

const RATIOS: [u64; 4] = [64, 128, 256, 512];
const MOST: u32 = 5;

fn pair(k: f64) -> Hashes {
    Hashes { k0: k, k1: k }
}

fn run(lab: &Lab) -> Result<Report> {
    let ks = || steps(0.5, f64::from(MOST));
    let mut positives = Series::new("F_p, any m/n", ks(), |k| pair(k).max_fpr());
    let worst = (1..=MOST).map(|k| balance::positives(lab, k, k)).collect::<Result<Vec<_>>>()?;
    for (k, rate) in (1..).zip(&worst) {
        positives.point(f64::from(k), rate.predicted, rate.measured, rate.bound);
    }
    positives.follows(|k| pair(k).max_fpr(), 0.01);
    let mut series = vec![positives];
    let mut rows =
        Rows::new("b", "Real k at which F_n = F_p", Axis::linear("number of hash functions k"));
    for ratio in RATIOS {
        let c = ratio as f64;
        let mut one = Series::new(format!("F_n, m/n = {ratio}"), ks(), |k| pair(k).max_fnr(c));
        let mut measured = Vec::new();
        for (k, positives) in (1..).zip(worst.iter().copied()) {
            let negatives = balance::negatives(lab, k, k, ratio)?;
            one.point(f64::from(k), negatives.predicted, negatives.measured, negatives.bound);
            measured.push(Errors {
                hashes: pair(f64::from(k)),
                bits_per_item: ratio,
                positives,
                negatives,
            });
        }
        one.follows(|k| pair(k).max_fnr(c), 0.03);
        series.push(one);
        let at = balanced_k(c, 1.0);
        let beside = [&measured[at as usize - 1], &measured[at as usize]];
        let crossing = balance::crossing(at, beside, |k| pair(k).fnr_per_fpr(c));
        rows.row(
            format!("m/n = {ratio}: k = {at:.3}"),
            crossing.predicted,
            crossing.measured,
            crossing.bound,
        );
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            "Greatest probabilities of errors over k = k0 = k1",
            [
                Axis::linear("number of hash functions k"),
                Axis::linear("maximum probability F_p, F_n"),
            ],
            series,
        ))
        .rows(rows)
        .note(
            "S2's text does not name the ratios m/n: 64, 128, 256 and 512 are chosen. F_p is measured in \
             the worst state, with half of 12,800 bits set; F_n on an element that 10 others follow.",
        )
        .note(
            "Filters have whole numbers of hashes. Between them (b) the measured curves are taken to be \
             as far from the analytic ones as at the whole numbers on both sides.",
        ))
}

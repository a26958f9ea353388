//! Union and intersection of filters, bit by bit.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom::membership::Bloom;

use crate::apparatus::classic::{Shape, false_positives};
use crate::{Axis, Bound, Chart, Experiment, Grade, Lab, Report, Rows, Said, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-theorems",
    source: "S0 §II-B, Theorems 1 and 2",
    title: "Filters of unions and intersections, made from filters",
    shows: "The OR of two filters is the filter of the union, bit for bit, and errs more often than either. \
            Their AND is the filter of the intersection only if no two elements of one set each share a \
            bit; the more elements are common, the less that matters.",
    run,
};

const M: u64 = 10_000;
const K: u32 = 4;
/// Elements that each set has for itself.
const ALONE: [u64; 6] = [2, 5, 10, 15, 20, 30];
/// Elements that both have.
const COMMON: [u64; 2] = [0, 1000];
/// Queries for the rate of a union.
const QUERIES: u64 = 20_000;

fn filter_of(keys: &[&[u64]], seed: u64) -> Bloom {
    let mut filter = Bloom::with_shape(M, K, Hasher::seeded(seed)).expect("a shape that can be");
    keys.iter().copied().flatten().for_each(|key| {
        filter.insert(key);
    });
    filter
}

/// Three sets without common elements.
fn sets(sizes: [u64; 3], seed: u64) -> [Vec<u64>; 3] {
    let mut keys = Generator::new(seed);
    sizes.map(|size| (0..size).map(|_| keys.next_u64()).collect())
}

/// Whether the AND of the filters of two sets is the filter of what they share.
fn and_is_exact(common: u64, alone: u64, seed: u64) -> Result<bool> {
    let [both, a, b] = sets([common, alone, alone], seed);
    let mut and = filter_of(&[&both, &a], seed);
    and.intersect(&filter_of(&[&both, &b], seed))?;
    Ok(and.bits() == filter_of(&[&both], seed).bits())
}

/// The probability of Theorem 2, corrected for bits that the common elements set anyway.
fn exact(common: u64, alone: f64) -> f64 {
    let (m, k) = (M as f64, f64::from(K));
    let fill = bloom::fill(m, k * common as f64);
    bloom::intersection_equals_corrected(m, k, alone, alone, fill)
}

/// Good to this share: pairs of hashes that meet are rare, but not quite independent of each other.
const APPROXIMATE: f64 = 0.01;

fn run(lab: &Lab) -> Result<Report> {
    let trials = lab.scaled(2000);
    let (m, k) = (M as f64, f64::from(K));
    let all = || (0..=60).map(|i| f64::from(i) / 2.0);
    let mut report = Report::default();
    let mut series = Vec::new();
    for common in COMMON {
        let name = if common == 0 { "disjoint, as printed" } else { "1000 elements in common" };
        let drawn = |alone: f64| match common {
            0 => bloom::intersection_equals(m, k, alone, alone),
            _ => exact(common, alone),
        };
        let mut one = Series::new(name, all(), drawn);
        for alone in ALONE {
            let equal = lab.runs(trials, |seed| and_is_exact(common, alone, seed))?;
            let measured = equal.iter().filter(|e| **e).count() as f64 / trials as f64;
            let predicted = exact(common, alone as f64);
            let bound = bound::share(predicted, trials).widened(predicted, APPROXIMATE);
            one.point(alone as f64, predicted, measured, bound);
            if (common, alone) == (1000, 15) {
                report = report.graded(
                    Grade::Disproved,
                    "S0 Theorem 2",
                    [
                        "“BF(A ∩ B) = BF(A) ∩ BF(B) with probability (1 − 1/m)^{k²|A−A∩B||B−A∩B|}”",
                        "that is so for disjoint sets; a collision on a bit that A ∩ B sets anyway does no harm",
                    ],
                    Said::Follows(bloom::intersection_equals(m, k, alone as f64, alone as f64)),
                    [predicted, measured],
                    bound,
                );
            }
        }
        one.follows(drawn, APPROXIMATE);
        series.push(one);
    }
    Ok(report
        .chart(Chart::new(
            "a",
            "P(the AND of two filters is the filter of the intersection)",
            [Axis::linear("elements that each set has alone, a = b"), Axis::linear("probability")],
            series,
        ))
        .rows(unions(lab)?)
        .note(format!("m = {M} and k = {K}, which S0 leaves open.")))
}

/// Rates of the filters of two sets, of their OR, and how often that differs from the union's filter.
fn unions(lab: &Lab) -> Result<Rows> {
    let runs = lab.scaled(40);
    let sizes = [0, 1500, 2500];
    let seen = lab.runs(runs, |seed| {
        let [_, a, b] = sets(sizes, seed);
        let mut or = filter_of(&[&a], seed);
        let rates = [filter_of(&[&a], seed), filter_of(&[&b], seed)]
            .map(|filter| false_positives(&filter, seed, QUERIES));
        or.union(&filter_of(&[&b], seed))?;
        lab.ask_members(a.iter().chain(&b), |key| or.contains(*key));
        let differs = or.bits() != filter_of(&[&a, &b], seed).bits();
        Ok([rates[0], rates[1], false_positives(&or, seed, QUERIES), f64::from(differs)])
    })?;
    let mean = |i: usize| seen.iter().map(|s| s[i]).sum::<f64>() / runs as f64;
    let mut rows = Rows::new("b", "Rates of two filters and of their OR", Axis::linear("rate"));
    let labels = ["A, 1500 elements", "B, 2500 elements", "A OR B, the union's"];
    for (i, n) in [1500, 2500, 4000].into_iter().enumerate() {
        let shape = Shape { m: M, n, k: K };
        let bound = bound::rate(shape.fpr(), shape.fpr_sd(), runs, QUERIES);
        rows.row(labels[i], shape.fpr(), mean(i), bound);
    }
    rows.row("A OR B differs from the union's", 0.0, mean(3), Bound::exactly(0.0, 0.0));
    Ok(rows)
}

//! Errors of S0 in formulas that a filter can show: how many bits a rate takes, and how many bits a fingerprint
//! has.

use everbloom::Result;
use everbloom::compact::PerfectHash;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{self, Rate, Shape, elements};
use crate::{Axis, Chart, Experiment, Grade, Lab, Report, Said, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-errata",
    source: "S0 equation 8, §II-C1",
    title: "Bits that a rate takes, in a Bloom filter and in fingerprints",
    shows: "Each halving of the rate takes 1.44 more bits per element in a Bloom filter and 1 in a \
            fingerprint. As printed, the rate would cost nothing in the one and everything in the other.",
    run,
};

const ITEMS: u64 = 10_000;
/// log2(1/p): rates that whole numbers of hashes reach.
const HALVINGS: [u32; 7] = [1, 2, 3, 4, 6, 8, 10];
/// Queries of a table of fingerprints.
const QUERIES: u64 = 100_000;

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(10);
    // The filter of (m/n) ln 2 = k hashes, which is what equation 8 has to give.
    let shape = |k: u32| {
        let per_item = bloom::bits(1.0, f64::from(k).exp2().recip());
        Shape { m: (per_item * ITEMS as f64).round() as u64, n: ITEMS, k }
    };
    let shapes = HALVINGS.map(shape);
    let rates = classic::rates(lab, &shapes, runs)?;
    let mut fingerprints = Vec::new();
    for j in HALVINGS {
        fingerprints.push(fingerprint_rate(lab, j, runs)?);
    }
    let report = Report::default()
        .chart(equation_8(&shapes, &rates))
        .chart(fingerprint_bits(&fingerprints, runs));
    Ok(errata(report, &rates, &fingerprints, runs).note(
        "The rate that is asked for is a power of one half, so that whole numbers of hashes and of \
         fingerprint bits reach it. All filters hold 10 000 elements.",
    ))
}

fn equation_8(shapes: &[Shape], rates: &[Rate]) -> Chart {
    let xs = || (0..=50).map(|i| (-0.2 * f64::from(i)).exp2());
    // Over the rate that is asked for: what the filter of that size really has.
    let mut right = Series::new("m/n = log2(1/p)/ln 2", xs(), |p| p);
    for (shape, rate) in shapes.iter().zip(rates) {
        let asked = f64::from(shape.k).exp2().recip();
        right.point(asked, rate.predicted, rate.measured, rate.bound);
    }
    // Sizes are whole numbers of bits.
    right.follows(|p| p, 0.01);
    let half = bloom::fpr_best(1.0 / LN_2);
    let mut printed = Series::new("m/n = 1/ln 2, as printed", xs(), |_| half);
    let last = &right.points[HALVINGS.len() - 1];
    printed.factor("at p = 2^-10, over the rate measured", 512.0, half, &last.verdict);
    Chart::new(
        "a",
        "The rate of a filter of the size that equation 8 gives",
        [Axis::log("rate asked for, p"), Axis::log("rate found")],
        [right, printed],
    )
}

const LN_2: f64 = std::f64::consts::LN_2;

/// The rate of tables with fingerprints of j bits.
fn fingerprint_rate(lab: &Lab, j: u32, runs: u64) -> Result<f64> {
    let hits = lab.runs(runs, |seed| {
        let mut keys = Generator::new(seed);
        let members: Vec<u64> = (0..ITEMS).map(|_| keys.next_u64()).collect();
        let filter = PerfectHash::with_bits(members, j, Hasher::seeded(seed))?;
        lab.ask_members(elements(ITEMS, seed), |key| filter.contains(key));
        Ok((0..QUERIES).filter(|_| filter.contains(&keys.next_u64())).count())
    })?;
    Ok(hits.iter().sum::<usize>() as f64 / (runs * QUERIES) as f64)
}

fn fingerprint_bits(rates: &[f64], runs: u64) -> Chart {
    let bits = || (10..=100).map(|i| f64::from(i) / 10.0);
    let mut right = Series::new("log2(1/ε) bits", bits(), |j| (-j).exp2());
    for (j, rate) in HALVINGS.into_iter().zip(rates) {
        let predicted = (-f64::from(j)).exp2();
        right.point(f64::from(j), predicted, *rate, bound::share(predicted, runs * QUERIES));
    }
    right.follows(|j| (-j).exp2(), 0.0);
    let mut printed = Series::new("1/ε bits, as printed", bits(), f64::recip);
    printed.factor("at 8 bits, over the rate measured", 32.0, 1.0 / 8.0, &right.points[5].verdict);
    Chart::new(
        "b",
        "The rate of a table of fingerprints at perfect-hash slots",
        [Axis::linear("fingerprint bits"), Axis::log("false-positive rate ε")],
        [right, printed],
    )
}

fn errata(report: Report, rates: &[Rate], fingerprints: &[f64], runs: u64) -> Report {
    let one_bit = &rates[0];
    let eighth = (-8f64).exp2();
    report
        .graded(
            Grade::Misprint,
            "S0 eq. 8",
            [
                "“m/n ≥ 1/ln 2”: enough for any rate p, here 1 %",
                "m/n ≥ log2(1/p)/ln 2: 1/ln 2 bits per element keep the rate at one half and no lower",
            ],
            Said::Follows(0.01),
            [one_bit.predicted, one_bit.measured],
            one_bit.bound,
        )
        .graded(
            Grade::Misprint,
            "S0 §II-C1",
            [
                "“storing at each location an f = 1/ε bit fingerprint”: 8 bits for a rate of 1/8",
                "log2(1/ε) bits: 8 bits have the rate 1/256",
            ],
            Said::Follows(1.0 / 8.0),
            [eighth, fingerprints[5]],
            bound::share(eighth, runs * QUERIES),
        )
}

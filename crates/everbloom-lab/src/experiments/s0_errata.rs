//! Errors of S0 in formulas that a filter can show: how many bits a rate takes, how many bits a
//! fingerprint has, and a removal that does not look.

use everbloom::Result;
use everbloom::compact::PerfectHash;
use everbloom::counting::Counting;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{self, Rate, Shape};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-errata",
    source: "S0 equation 8, §II-C1, Algorithm 4",
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
    let report = errata(report, &rates, &fingerprints, runs);
    Ok(removal(report)?.note(
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
    let printed = Series::new("m/n = 1/ln 2, as printed", xs(), |_| bloom::fpr_best(1.0 / LN_2));
    Chart {
        id: "a".into(),
        title: "The rate of a filter of the size that equation 8 gives".into(),
        x: Axis::log("rate asked for, p"),
        y: Axis::log("rate found"),
        series: vec![right, printed],
    }
}

const LN_2: f64 = std::f64::consts::LN_2;

/// The rate of tables with fingerprints of j bits.
fn fingerprint_rate(lab: &Lab, j: u32, runs: u64) -> Result<f64> {
    let hits = lab.runs(runs, |seed| {
        let mut keys = Generator::new(seed);
        let members: Vec<u64> = (0..ITEMS).map(|_| keys.next_u64()).collect();
        let filter = PerfectHash::with_bits(members, j, Hasher::seeded(seed))?;
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
    let printed = Series::new("1/ε bits, as printed", bits(), f64::recip);
    Chart {
        id: "b".into(),
        title: "The rate of a table of fingerprints at perfect-hash slots".into(),
        x: Axis::linear("fingerprint bits"),
        y: Axis::log("false-positive rate ε"),
        series: vec![right, printed],
    }
}

fn errata(report: Report, rates: &[Rate], fingerprints: &[f64], runs: u64) -> Report {
    let one_bit = &rates[0];
    let eighth = (-8f64).exp2();
    report
        .erratum(
            "S0 eq. 8",
            [
                "m/n ≥ 1/ln 2 keeps the rate at p, here 1 %",
                "m/n ≥ log2(1/p)/ln 2: 1/ln 2 bits per element keep it at one half and no lower",
            ],
            0.01,
            [one_bit.predicted, one_bit.measured],
            one_bit.bound,
        )
        .erratum(
            "S0 §II-C1",
            [
                "a fingerprint of 1/ε bits has the rate ε, so 8 bits have 1/8",
                "it has log2(1/ε) bits: 8 bits have the rate 1/256",
            ],
            1.0 / 8.0,
            [eighth, fingerprints[5]],
            bound::share(eighth, runs * QUERIES),
        )
}

/// Algorithm 4 decrements the counters of whatever it is given.
fn removal(report: Report) -> Result<Report> {
    const NON_MEMBERS: u64 = 1000;
    const K: u32 = 7;
    // So much room that no non-member passes: a removal of one that does would be no error of anybody's.
    let mut filter =
        Counting::with_shape(1 << 20, K, 4, Hasher::default()).expect("a shape that can be");
    (0..100u64).for_each(|key| {
        filter.insert(&key);
    });
    let before: Vec<u64> = filter.counters().iter().collect();
    let passing = (0..NON_MEMBERS).filter(|i| filter.contains(&!i)).count() as f64;
    let removed = (0..NON_MEMBERS).filter(|i| filter.remove(&!i).is_ok()).count() as f64;
    let changed = before.iter().zip(filter.counters().iter()).filter(|(a, b)| **a != *b).count();
    Ok(report.erratum(
        "S0 Algorithm 4",
        [
            "each of the k counters is decremented, whatever it holds: 1000 non-members leave 7000 below zero",
            "a removal looks at all k counters first, and is refused if one holds too little",
        ],
        (NON_MEMBERS * u64::from(K)) as f64,
        [passing, removed + changed as f64],
        Bound::exactly(0.0, 0.0),
    ))
}

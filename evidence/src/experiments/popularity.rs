//! The popularity-conscious filter: a number of hashes for every popularity.

use everbloom::Result;
use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::bloom;
use everbloom::weighted::Popularity;

use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "popularity",
    source: "S3 §VI-C, S0 §III-T and M. Zhong et al., Optimizing data popularity conscious Bloom filters, PODC 2008; \
             catalogue §15",
    title: "The popularity-conscious filter: rate over the skew of a Zipf law",
    shows: "Queries by Zipf's law, members all alike: the least possible rate is 2 to the minus B + D(p‖q), B = (m/n) ln 2, so that \
            what is gained is the divergence between the two laws. Whole numbers of hashes, chosen greedily, stay well \
            below twice of it.",
    run,
};

/// Keys fall into so many popularities.
const RANKS: u64 = 64;
const MEMBERS: u64 = 1024;
const OTHERS: u64 = 8192;
const BITS: u64 = 10_240;
const QUERIES: u64 = 200_000;
const EXPONENTS: [f64; 5] = [0.0, 0.5, 1.0, 1.5, 2.0];

/// How often keys of a rank are asked for.
fn weight(rank: u64, exponent: f64) -> f64 {
    (rank as f64 + 1.0).powf(-exponent)
}

/// 2^−(B + D(p‖q)): what hashes log2(q/p) apart would give, were they not whole numbers.
fn least(exponent: f64) -> f64 {
    let sum: f64 = (0..RANKS).map(|rank| weight(rank, exponent)).sum();
    let p = 1.0 / RANKS as f64;
    let bits = |rank: u64| p * (p * sum / weight(rank, exponent)).log2();
    let divergence: f64 = (0..RANKS).map(bits).sum();
    let budget = BITS as f64 / MEMBERS as f64 * std::f64::consts::LN_2;
    (-(budget + divergence)).exp2()
}

/// The rate that the filter predicts of itself, and that of queries never seen.
fn measured(lab: &Lab, exponent: f64, seed: u64) -> Result<[f64; 2]> {
    let keys = |from: u64, count: u64| {
        (from..from + count).map(move |i| (mix64(seed ^ mix64(i)), weight(i % RANKS, exponent)))
    };
    let filter = Popularity::from_weights(keys(0, MEMBERS), keys(MEMBERS, OTHERS), BITS)?;
    lab.ask_members(keys(0, MEMBERS), |(key, weight)| {
        filter.contains(key, Some(*weight)).unwrap_or(false)
    });
    let sums: Vec<f64> = (0..RANKS)
        .scan(0.0, |sum, rank| {
            *sum += weight(rank, exponent);
            Some(*sum)
        })
        .collect();
    let mut random = Generator::new(!seed);
    let mut hits = 0u64;
    for _ in 0..QUERIES {
        let drawn = random.unit() * sums[sums.len() - 1];
        let rank = sums.partition_point(|sum| *sum < drawn) as u64;
        hits += u64::from(filter.contains(&random.next_u64(), Some(weight(rank, exponent)))?);
    }
    Ok([filter.weighted_fpr(), hits as f64 / QUERIES as f64])
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let mut conscious =
        Series::new("popularity-conscious, fractions of a hash", steps(0.0, 2.0), least);
    let one_k = bloom::fpr_best((BITS / MEMBERS) as f64);
    let mut standard = Series::new("one k for all", steps(0.0, 2.0), |_| one_k);
    for exponent in EXPONENTS {
        let seen = lab.runs(runs, |seed| measured(lab, exponent, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        conscious.point(exponent, mean(0), mean(1), bound::share(mean(0), runs * QUERIES));
        conscious.claim(
            format!("over the least possible, exponent {exponent}"),
            1.0,
            mean(1) / least(exponent),
            Bound::between(0.95, 1.35),
        );
        let expected = least(exponent) / one_k;
        standard.claim(
            format!("popularity-conscious over it, exponent {exponent}"),
            expected,
            mean(1) / one_k,
            Bound::between(0.9 * expected, 1.35 * expected),
        );
    }
    Ok(Report::default()
        .chart(Chart::new("", format!("Rate by query, {} bits per member, {RANKS} popularities", BITS / MEMBERS), [Axis::linear("exponent of the queries' Zipf law"), Axis::log("false positives per query")], [conscious, standard]))
        .note(
            "Points are judged by what the filter's own fill predicts, and their ratio to the line by what whole numbers of \
             hashes may cost (the proof says a factor of two).",
        ))
}

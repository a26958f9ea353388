//! The weighted filter: more hashes for keys that are often asked for.

use everbloom::Result;
use everbloom::internals::hash::{Generator, mix64};
use everbloom::internals::theory::bloom;
use everbloom::weighted::WeightedBloom;

use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "weighted",
    source: "S3 §VI-C, S0 §III-T and J. Bruck et al., Weighted Bloom filter, ISIT 2006; catalogue §14",
    title: "The weighted filter: rate over the skew of the queries",
    shows: "Where a tenth of the keys get most of the queries, giving those more hashes and the others fewer lowers the rate of \
            what is really asked, in the same bits: to a sixth at 90 %. Even queries gain nothing.",
    run,
};

/// Members and other keys, of which one in ten is hot; bits in all.
const MEMBERS: u64 = 1000;
const OTHERS: u64 = 9000;
const BITS: u64 = 10_000;
const QUERIES: u64 = 200_000;

/// Shares of the queries that go to hot keys.
const SKEWS: [f64; 5] = [0.1, 0.3, 0.6, 0.9, 0.97];

/// How often a hot key is asked for, for each time of a cold one.
fn weight(skew: f64) -> f64 {
    9.0 * skew / (1.0 - skew)
}

/// The best hashes per class are log2 of the weight apart and use up m·ln 2 in all; each class passes with 2^−k.
fn rate(skew: f64) -> f64 {
    let average = BITS as f64 / MEMBERS as f64 * std::f64::consts::LN_2;
    let apart = weight(skew).log2();
    let cold = average - 0.1 * apart;
    skew * (-(cold + apart)).exp2() + (1.0 - skew) * (-cold).exp2()
}

/// The rate that the filter predicts of itself, and that of queries never seen.
fn measured(lab: &Lab, skew: f64, seed: u64) -> Result<[f64; 2]> {
    let hot = weight(skew);
    let keys = |from: u64, count: u64| {
        (from..from + count)
            .map(move |i| (mix64(seed ^ mix64(i)), if i.is_multiple_of(10) { hot } else { 1.0 }))
    };
    let filter = WeightedBloom::from_weights(keys(0, MEMBERS), keys(MEMBERS, OTHERS), BITS)?;
    lab.ask_members(keys(0, MEMBERS), |(key, weight)| {
        filter.contains(key, Some(*weight)).unwrap_or(false)
            && filter.contains(key, None).unwrap_or(false)
    });
    let mut random = Generator::new(!seed);
    let mut hits = 0u64;
    for _ in 0..QUERIES {
        let weight = if random.unit() < skew { hot } else { 1.0 };
        hits += u64::from(filter.contains(&random.next_u64(), Some(weight))?);
    }
    Ok([filter.weighted_fpr(), hits as f64 / QUERIES as f64])
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let mut weighted = Series::new("weighted", steps(0.1, 0.97), rate);
    let one_k = bloom::fpr_best((BITS / MEMBERS) as f64);
    let mut standard = Series::new("one k for all", steps(0.1, 0.97), |_| one_k);
    for skew in SKEWS {
        let seen = lab.runs(runs, |seed| measured(lab, skew, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        weighted.point(skew, mean(0), mean(1), bound::share(mean(0), runs * QUERIES));
        let expected = rate(skew) / one_k;
        // Whole numbers of hashes, and fills that differ from filter to filter.
        let bound = Bound::between(0.85 * expected, 1.3 * expected);
        standard.claim(
            format!("weighted over it, {skew} of queries hot"),
            expected,
            mean(1) / one_k,
            bound,
        );
    }
    weighted.follows(rate, 0.25);
    Ok(Report::default()
        .chart(Chart::new(
            "",
            format!("Rate by query, {} bits per member", BITS / MEMBERS),
            [
                Axis::linear("share of the queries for the hot tenth of all keys"),
                Axis::log("false positives per query"),
            ],
            [weighted, standard],
        ))
        .note(
            "Members are as frequent among hot keys as among cold ones. The line allows fractions of a hash; points are judged by \
             what the filter's own fill predicts, and their ratio to one k for all by the formula.",
        ))
}

//! The quotient filter: how keys crowd as the table fills, and the rate on the way.

use everbloom::Result;
use everbloom::fingerprints::Quotient;
use everbloom::fingerprints::quotient::{cluster, stretch};
use everbloom::internals::hash::{Generator, Hasher};

use crate::apparatus::classic::elements;
use crate::apparatus::generalized::steps;
use crate::{Axis, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "quotient-load",
    source: "S3 §VIII and M. A. Bender et al., Don't thrash: how to cache your hash on flash, VLDB 2012; catalogue B12",
    title: "The quotient filter: clusters and the rate by load",
    shows: "Up to a load of three quarters a lookup reads a few slots; clusters are six slots long at 90 % and twelve at \
            95 %. The false-positive rate grows in proportion to the load and stays low.",
    run,
};

const SLOTS: u64 = 1 << 16;
const REMAINDER: u32 = 8;
const LOADS: [f64; 6] = [0.25, 0.5, 0.625, 0.75, 0.9, 0.95];
const QUERIES: u64 = 100_000;

/// One filter at one load: mean lengths of clusters and of stretches between empty slots, and the rate.
fn measured(lab: &Lab, load: f64, seed: u64) -> Result<[f64; 3]> {
    let keys = (load * SLOTS as f64) as u64;
    let mut filter = Quotient::with_shape("rank-select", SLOTS, REMAINDER, Hasher::seeded(seed))?;
    for key in elements(keys, seed) {
        filter.insert(&key)?;
    }
    lab.ask_members(elements(keys, seed), |key| filter.contains(key));
    // A run where it belongs begins a cluster; one that does not touch the run before begins a stretch.
    let (mut clusters, mut stretches, mut end) = (0u64, 0u64, u64::MAX);
    for (quotient, start, len) in filter.runs() {
        clusters += u64::from(start == quotient);
        stretches += u64::from(start == quotient && start != end);
        end = start + len;
    }
    let mut others = Generator::new(!seed);
    let hits = (0..QUERIES).filter(|_| filter.contains(&others.next_u64())).count();
    let mean = |groups: u64| keys as f64 / groups as f64;
    Ok([mean(clusters), mean(stretches), hits as f64 / QUERIES as f64])
}

/// P(one of αm fingerprints of the same quotient has the same remainder), 1 − e^(−α/2^r).
fn rate(load: f64) -> f64 {
    -(-load / f64::from(1u32 << REMAINDER)).exp_m1()
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(6);
    let xs = || steps(0.2, 0.95);
    let mut clusters = Series::new("cluster", xs(), cluster);
    let mut stretches = Series::new("between empty slots", xs(), stretch);
    let mut rates = Series::new(format!("r = {REMAINDER}"), xs(), rate);
    for load in LOADS {
        let seen = lab.runs(runs, |seed| measured(lab, load, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        // The lengths of such groups spread as those of queues do, by α/(1 − α)³ around their mean.
        let sd = (load / (1.0 - load).powi(3)).sqrt();
        for (series, expected, seen) in
            [(&mut clusters, cluster(load), mean(0)), (&mut stretches, stretch(load), mean(1))]
        {
            let groups = load * SLOTS as f64 / expected;
            let bound = bound::mean(expected, sd, runs * groups as u64);
            series.point(load, expected, seen, bound);
        }
        let sd = rate(load) / (load * SLOTS as f64).sqrt();
        rates.point(load, rate(load), mean(2), bound::rate(rate(load), sd, runs, QUERIES));
    }
    clusters.follows(cluster, 0.0);
    stretches.follows(stretch, 0.0);
    rates.follows(rate, 0.0);
    let chart = |id: &str, title: String, y: Axis, series| {
        Chart::new(id, title, [Axis::linear("load"), y], series)
    };
    Ok(Report::default()
        .chart(chart(
            "a",
            format!("Lengths of groups, {SLOTS} slots"),
            Axis::log("slots"),
            vec![clusters, stretches],
        ))
        .chart(chart(
            "b",
            format!("Rate by load, remainders of {REMAINDER} bits"),
            Axis::linear("false-positive rate"),
            vec![rates],
        ))
        .note(
            "A cluster is what a lookup has to read through at most: runs that were pushed away from where they belong \
             by those before them. It begins anew at every run that is where it belongs.",
        ))
}

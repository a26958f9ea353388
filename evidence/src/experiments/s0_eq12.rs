//! A partitioned filter against a standard one of the same size.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom::membership::{Bloom, PartitionedBloom};

use crate::apparatus::classic::elements;
use crate::{Axis, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s0-eq12",
    source: "S0 equations 11–12, §II-C3; S1 §2.1",
    title: "Partitioned against standard filters: share of zeros and rate",
    shows: "With a slice of its own for each hash a filter has a few ones more and errs a little more often. \
            In the small filters drawn here it can be seen; in large ones it cannot.",
    run,
};

/// Ten bits for each of seven hashes.
const M: u64 = 70;
const K: u32 = 7;
const ITEMS: [u64; 7] = [4, 6, 8, 10, 12, 14, 16];
const BATCH: u64 = 1000;

/// Zeros and false positives of the filters of one batch, standard and partitioned. Filters so small differ
/// much, so each is asked once: then the trials are independent.
fn look(lab: &Lab, n: u64, seed: u64) -> Result<[(u64, u64); 2]> {
    let mut sums = [(0, 0); 2];
    for i in 0..BATCH {
        let seed = seed.wrapping_add(i);
        let mut keys = Generator::new(seed);
        let mut standard =
            Bloom::with_shape(M, K, Hasher::seeded(seed)).expect("a shape that can be");
        let mut partitioned = PartitionedBloom::with_shape(M, K, Hasher::seeded(seed))?;
        for _ in 0..n {
            let key = keys.next_u64();
            standard.insert(&key);
            partitioned.insert(&key);
        }
        lab.ask_members(elements(n, seed), |key| {
            standard.contains(key) && partitioned.contains(key)
        });
        sums[0].0 += standard.bits().zeros();
        sums[1].0 += partitioned.bits().zeros();
        let key = keys.next_u64();
        sums[0].1 += u64::from(standard.contains(&key));
        sums[1].1 += u64::from(partitioned.contains(&key));
    }
    Ok(sums)
}

fn run(lab: &Lab) -> Result<Report> {
    let batches = lab.scaled(80);
    let filters = batches * BATCH;
    let all = || (3..=17).map(f64::from);
    let names = ["standard", "partitioned"];
    let zeros_of = [
        |n: f64| 1.0 - bloom::fill(M as f64, f64::from(K) * n),
        |n: f64| 1.0 - bloom::fill(M as f64 / f64::from(K), n),
    ];
    let rate_of = [
        |n: f64| bloom::fpr_exact(M, n as u64, K),
        |n: f64| bloom::fpr_partitioned(M as f64 / f64::from(K), n, f64::from(K)),
    ];
    let mut zeros = [0, 1].map(|i| Series::new(names[i], all(), zeros_of[i]));
    let mut rates = [0, 1].map(|i| Series::new(names[i], all(), rate_of[i]));
    for n in ITEMS {
        let seen = lab.runs(batches, |seed| look(lab, n, seed))?;
        let x = n as f64;
        for i in 0..2 {
            let (empty, hits) = seen.iter().fold((0, 0), |(a, b), s| (a + s[i].0, b + s[i].1));
            // Bits of a filter compete for its hashes: no more spread than independent ones have.
            let share = empty as f64 / (filters * M) as f64;
            let predicted = zeros_of[i](x);
            zeros[i].point(x, predicted, share, bound::share(predicted, filters * M));
            let (predicted, rate) = (rate_of[i](x), hits as f64 / filters as f64);
            rates[i].point(x, predicted, rate, bound::share(predicted, filters));
        }
    }
    for (series, formula) in zeros.iter_mut().zip(zeros_of).chain(rates.iter_mut().zip(rate_of)) {
        series.follows(formula, 0.0);
    }
    let chart = |id: &str, title: &str, y: Axis, series: [Series; 2]| {
        Chart::new(id, title, [Axis::linear("number of elements n"), y], series)
    };
    Ok(Report::default()
        .chart(chart("a", "Share of zeros", Axis::linear("share of zeros"), zeros))
        .chart(chart("b", "False-positive rate", Axis::linear("false-positive rate p"), rates))
        .note(format!(
            "m = {M} and k = {K}: slices of ten bits. Rates are judged by exact formulas, for the standard \
             filter that of Bose et al. (S3 eq. 3)."
        )))
}

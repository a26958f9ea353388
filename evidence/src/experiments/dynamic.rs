//! Dynamic and scalable filters as more and more keys come.

use everbloom::Result;
use everbloom::growing::{Dynamic, Scalable};
use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;

use crate::apparatus::classic::{Shape, elements};
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "dynamic",
    source: "S3 §VI-B, S0 §III-E and D. Guo et al., The dynamic Bloom filters, TKDE 2010; catalogue §10",
    title: "Dynamic beside scalable as keys come",
    shows: "A dynamic filter appends one of the same size whenever the last is full, and the rate grows with their number: \
            1 - (1 - f)^r. A scalable one appends larger and stricter filters and stays below its target. One filter of \
            the first size lets nearly everything pass.",
    run,
};

/// The example of the paper: 133 keys keep a rate of 1 %.
const SHAPE: Shape = Shape { m: 1280, n: 133, k: 7 };
const TARGET: f64 = 0.01;
const KEYS: [u64; 6] = [100, 250, 500, 750, 1000, 1500];
const QUERIES: u64 = 20_000;

/// The rate of full filters and the one that is being filled.
fn rate(n: u64) -> f64 {
    let (full, rest) = ((n.max(1) - 1) / SHAPE.n, (n.max(1) - 1) % SHAPE.n + 1);
    let last = Shape { n: rest, ..SHAPE };
    1.0 - (1.0 - SHAPE.fpr()).powi(full as i32) * (1.0 - last.fpr())
}

/// How much that differs from filter to filter: their fills are independent.
fn rate_sd(n: u64) -> f64 {
    ((n as f64 / SHAPE.n as f64).ceil()).sqrt() * SHAPE.fpr_sd()
}

/// Rates of both as keys come; that of the scalable one is also predicted from its fills.
fn grown(lab: &Lab, seed: u64) -> Result<Vec<[f64; 4]>> {
    let mut dynamic = Dynamic::with_shape(SHAPE.m, SHAPE.k, TARGET, Hasher::seeded(seed))?;
    let mut scalable: Scalable =
        Scalable::builder().items(SHAPE.n).rate(TARGET).seed(seed).build()?;
    let (mut keys, mut held, mut seen) = (Generator::new(seed), 0, Vec::new());
    for n in KEYS {
        for _ in held..n {
            let key = keys.next_u64();
            dynamic.insert(&key)?;
            scalable.insert(&key)?;
        }
        held = n;
        let mut others = Generator::new(!seed);
        let mut hits = [0u64; 2];
        for _ in 0..QUERIES {
            let key = others.next_u64();
            hits[0] += u64::from(dynamic.contains(&key));
            hits[1] += u64::from(scalable.contains(&key));
        }
        let [first, second] = hits.map(|hits| hits as f64 / QUERIES as f64);
        let filters = dynamic.filters() as f64;
        seen.push([first, second, scalable.now().fpr.unwrap_or(f64::NAN), filters]);
    }
    lab.ask_members(elements(held, seed), |key| dynamic.contains(key) && scalable.contains(key));
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let seen = lab.runs(runs, |seed| grown(lab, seed))?;
    let xs = || (0..=145).map(|i| 50.0 + f64::from(i) * 10.0);
    let mut dynamic = Series::new("dynamic", xs(), |n| rate(n as u64));
    let mut scalable = Series { name: "scalable".into(), ..Series::default() };
    let one_filter = |n: f64| bloom::fpr_classic(SHAPE.m as f64, n, f64::from(SHAPE.k));
    let mut single = Series::new("one filter", xs(), one_filter);
    let mut filters =
        Rows::new("b", "Filters appended by the dynamic one", Axis::linear("filters"));
    let shapes = KEYS.map(|n| Shape { n, ..SHAPE });
    let alone = crate::apparatus::classic::rates(lab, &shapes, runs)?;
    for (i, n) in KEYS.into_iter().enumerate() {
        let mean = |j: usize| seen.iter().map(|run| run[i][j]).sum::<f64>() / runs as f64;
        let x = n as f64;
        dynamic.point(x, rate(n), mean(0), bound::rate(rate(n), rate_sd(n), runs, QUERIES));
        scalable.point(x, mean(2), mean(1), bound::share(mean(2), runs * QUERIES));
        single.point(x, alone[i].predicted, alone[i].measured, alone[i].bound);
        let expected = n.div_ceil(SHAPE.n) as f64;
        filters.row(format!("{n} keys"), expected, mean(3), Bound::exactly(expected, 0.0));
    }
    dynamic.follows(|n| rate(n as u64), 0.0);
    // The classic formula is too low for a filter this small.
    single.follows(one_filter, 0.05);
    let most = scalable.points.iter().map(|point| point.verdict.measured).fold(0.0, f64::max);
    scalable.claim("its greatest rate over the target", 1.0, most / TARGET, Bound::at_most(1.1));
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            format!("Rate as keys come, planned for {} at 1 %", SHAPE.n),
            [Axis::linear("keys"), Axis::log("false-positive rate")],
            [dynamic, scalable, single],
        ))
        .rows(filters)
        .note(
            "The dynamic filter has 1280 cells and 7 hashes, as in the paper; so has the single one. The scalable one is planned \
             for the same keys and rate, and judged by what its own fill predicts.",
        ))
}

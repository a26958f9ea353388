//! The elastic filter: the rate as it grows by a factor of 64, beside others that grow, and on the way back.

use everbloom::Result;
use everbloom::fingerprints::Elastic;
use everbloom::fingerprints::elastic::{fixed_rate, widening_rate};
use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;

use crate::apparatus::classic::elements;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Rows, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "elastic",
    source: "S3 §IX, open questions; catalogue B15",
    title: "The elastic filter: the rate after growing and shrinking",
    shows: "Grown without its keys, a table of fixed fingerprints gets worse with every doubling; one whose new fingerprints \
            are longer stays within about twice its first rate for ever, as a scalable filter does. Dynamic cuckoo adds a \
            rate with every table. Shrunk again, the elastic filter is as it was.",
    run,
};

/// Keys at first, four to a bucket, and bits of a fingerprint.
const FIRST: u64 = 1024;
const LOAD: u64 = 4;
const LENGTH: u32 = 10;
const DOUBLINGS: [u32; 4] = [0, 2, 4, 6];
const QUERIES: u64 = 20_000;

/// Others that grow: planned for the first keys at the elastic filter's first rate.
const RIVALS: [&str; 3] = ["scalable", "forest", "dynamic-cuckoo"];

fn rate_of(contains: impl Fn(&u64) -> bool, seed: u64) -> f64 {
    let mut others = Generator::new(!seed);
    (0..QUERIES).filter(|_| contains(&others.next_u64())).count() as f64 / QUERIES as f64
}

/// Rates after each growth, then after taking all but the first keys out again and shrinking.
fn elastic(lab: &Lab, widening: bool, seed: u64) -> Result<(Vec<f64>, [f64; 2])> {
    let mut filter = Elastic::with_shape(FIRST / LOAD, LENGTH, widening, Hasher::seeded(seed))?;
    let (mut keys, mut rates, mut held) = (Generator::new(seed), Vec::new(), 0);
    for g in DOUBLINGS {
        for _ in held..FIRST << g {
            filter.insert(&keys.next_u64())?;
        }
        held = FIRST << g;
        rates.push(rate_of(|key| filter.contains(key), seed));
    }
    lab.ask_members(elements(held, seed), |key| filter.contains(key));
    for key in elements(held, seed).skip(FIRST as usize) {
        filter.remove(&key)?;
    }
    filter.shrink_to(FIRST / LOAD);
    lab.ask_members(elements(FIRST, seed), |key| filter.contains(key));
    let predicted = filter.now().fpr.unwrap_or(f64::NAN);
    Ok((rates, [predicted, rate_of(|key| filter.contains(key), seed)]))
}

/// The same growth of another filter: predicted rate, measured rate and bits per key, each time.
fn rival(lab: &Lab, slug: &str, seed: u64) -> Result<Vec<[f64; 3]>> {
    let variant = everbloom::catalog::by_slug(slug).expect("in the list");
    let goal = Goal::new(FIRST, fixed_rate(LOAD, LENGTH, 0.0)).seed(seed);
    let mut filter: Box<dyn Filter> = variant.build_from(&goal, &[])?;
    let (mut keys, mut seen, mut held) = (Generator::new(seed), Vec::new(), 0);
    for g in DOUBLINGS {
        let insert = filter.as_insert().expect("it grows");
        for _ in held..FIRST << g {
            insert.insert(Record::key(&keys.next_u64().to_le_bytes()))?;
        }
        held = FIRST << g;
        let rate = rate_of(|key| filter.contains(&key.to_le_bytes()), seed);
        let bits = filter.memory().cells as f64 / held as f64;
        seen.push([filter.now().fpr.unwrap_or(f64::NAN), rate, bits]);
    }
    lab.ask_members(elements(held, seed), |key| filter.contains(&key.to_le_bytes()));
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(3);
    let mut series = Vec::new();
    let mut back =
        Rows::new("b", "Shrunk to its first size again", Axis::linear("false-positive rate"));
    let times = |g: u32| f64::from(1u32 << g);
    for widening in [false, true] {
        let name = if widening { "elastic, widening" } else { "elastic, fixed" };
        let formula = |g: u32| match widening {
            true => widening_rate(LOAD, LENGTH, g),
            false => fixed_rate(LOAD, LENGTH, g.into()),
        };
        let seen = lab.runs(runs, |seed| elastic(lab, widening, seed))?;
        let curve = (0..=6).map(|g| (times(g), formula(g))).collect();
        let mut one = Series { name: name.into(), curve, ..Series::default() };
        for (i, g) in DOUBLINGS.into_iter().enumerate() {
            let measured = seen.iter().map(|run| run.0[i]).sum::<f64>() / runs as f64;
            // Fingerprints of a filter are a sample themselves: of the first keys, whose are the shortest.
            let sd = formula(g) / (FIRST as f64).sqrt();
            let bound = bound::rate(formula(g), sd, runs, QUERIES).widened(formula(g), 0.01);
            one.point(times(g), formula(g), measured, bound);
        }
        let points = one.points.clone();
        one.follows_points(&points, |x| formula(x.log2().round() as u32), 0.01);
        let growth = points[3].verdict.measured / points[0].verdict.measured;
        let expected = formula(6) / formula(0);
        one.claim(
            "after 64 times as many keys, over the first rate",
            expected,
            growth,
            Bound::exactly(expected, 0.2 * expected),
        );
        series.push(one);
        let mean = |i: usize| seen.iter().map(|run| run.1[i]).sum::<f64>() / runs as f64;
        back.row(name, mean(0), mean(1), bound::share(mean(0), runs * QUERIES));
        let label = format!("{name}: over the first rate");
        back.row(label, formula(0), mean(1), Bound::at_most(1.4 * formula(0)));
    }
    let mut bits = Rows::new(
        "c",
        "Bits per key after growing, over log2(1/rate)",
        Axis::linear("times the least"),
    );
    for slug in RIVALS {
        let seen = lab.runs(runs, |seed| rival(lab, slug, seed))?;
        let mut one = Series { name: slug.into(), ..Series::default() };
        let mean = |i: usize, j: usize| seen.iter().map(|run| run[i][j]).sum::<f64>() / runs as f64;
        for (i, g) in DOUBLINGS.into_iter().enumerate() {
            one.point(times(g), mean(i, 0), mean(i, 1), bound::share(mean(i, 0), runs * QUERIES));
        }
        series.push(one);
        let times = mean(3, 2) / -mean(3, 1).log2();
        bits.row(slug, 1.0, times, Bound::at_least(1.0));
    }
    Ok(Report::default()
        .chart(Chart::new(
            "a",
            format!("Rate while growing from {FIRST} keys"),
            [Axis::log("keys, as a multiple of the first"), Axis::log("false-positive rate")],
            series,
        ))
        .rows(back)
        .rows(bits)
        .note(
            "Elastic: four keys a bucket and fingerprints of ten bits at first; the others are planned for the same keys at \
             the same rate, and judged by the rate that their own fill predicts. Scalable plans its first filter below \
             the rate that the whole is to keep.",
        ))
}

//! Locality-sensitive filters: how near a vector must be to be found.

use everbloom::Result;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::lsh::{and_or, collision};
use everbloom::internals::theory::tail;
use everbloom::structured::{LocalitySensitive, MultiGranularity};

use crate::apparatus::generalized::steps;
use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "locality",
    source: "S3 §VII-C [142], [144]; catalogue §35 and §36",
    title: "Locality-sensitive filters: found by distance",
    shows: "Six lines that must all agree find a vector at distance 1 in a quarter of the cases; with two buckets to the side \
            allowed it is nine in ten. Groups of lines at several widths let the query choose how near is near: a level \
            coarser, and the curve moves to twice the distance. Both deny members' neighbors by design, which \
            S3's Table IV leaves out.",
    run,
};

/// Width of a bucket; lines of the first filter; lines of a group and groups of the second.
const WIDTH: f64 = 4.0;
const LINES: u32 = 6;
const GROUP: u32 = 4;
const GROUPS: u32 = 8;
/// Coordinates of a vector.
const DIMENSIONS: usize = 10;
const PAIRS: u64 = 150;
const DISTANCES: [f64; 4] = [0.5, 1.0, 2.0, 4.0];
const LEVELS: [u32; 3] = [0, 1, 2];

/// A vector of ten coordinates far from all others, and one at this distance from it.
fn pair(random: &mut Generator, distance: f64) -> [Vec<f64>; 2] {
    let v: Vec<f64> = (0..DIMENSIONS).map(|_| 1e6 * random.normal()).collect();
    let away: Vec<f64> = (0..DIMENSIONS).map(|_| random.normal()).collect();
    let length = away.iter().map(|x| x * x).sum::<f64>().sqrt();
    let w = v.iter().zip(&away).map(|(x, a)| x + a * distance / length).collect();
    [v, w]
}

/// A filter of vectors, as far as it is used here.
trait Near {
    fn add(&mut self, vector: &[f64]) -> Result<()>;
    fn finds(&self, vector: &[f64]) -> bool;
}

impl Near for LocalitySensitive {
    fn add(&mut self, vector: &[f64]) -> Result<()> {
        self.insert(vector).map(drop)
    }

    fn finds(&self, vector: &[f64]) -> bool {
        self.contains(vector).unwrap_or(false)
    }
}

impl Near for (MultiGranularity, u32) {
    fn add(&mut self, vector: &[f64]) -> Result<()> {
        self.0.insert(vector).map(drop)
    }

    fn finds(&self, vector: &[f64]) -> bool {
        self.0.contains(vector, self.1).unwrap_or(false)
    }
}

/// The share of vectors found at this distance from members, over filters with lines of their own.
fn found<F: Near>(
    lab: &Lab,
    distance: f64,
    runs: u64,
    filter: impl Fn(u64) -> Result<F> + Sync,
) -> Result<f64> {
    let shares = lab.runs(runs, |seed| {
        let mut random = Generator::new(seed);
        let pairs: Vec<_> = (0..PAIRS).map(|_| pair(&mut random, distance)).collect();
        let mut filter = filter(seed)?;
        for [member, _] in &pairs {
            filter.add(member)?;
        }
        lab.ask_members(pairs.iter(), |[member, _]| filter.finds(member));
        let found = pairs.iter().filter(|[_, other]| filter.finds(other)).count();
        Ok(found as f64 / PAIRS as f64)
    })?;
    Ok(shares.iter().sum::<f64>() / runs as f64)
}

/// How much filters differ in P(all of `lines` agree): the length of a line's vector has a relative standard deviation
/// of 1/√(2·dimensions), and 1 − p grows with it.
fn spread(p: f64, lines: u32) -> f64 {
    let of_one = (1.0 - p) / p / (2.0 * DIMENSIONS as f64).sqrt();
    p.powi(lines as i32) * of_one * f64::from(lines).sqrt()
}

fn all_agree(distance: f64) -> f64 {
    collision(WIDTH, distance).powi(LINES as i32)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(20);
    let mut plain = Series::new("six lines, p(c)⁶", steps(0.2, 4.0), all_agree);
    let mut overflow =
        Series::new("two may be a bucket off", steps(0.2, 1.0), |c| 1.0 - off_by_two(c));
    for distance in DISTANCES {
        let of = |form: &'static str| {
            found(lab, distance, runs, move |seed| {
                LocalitySensitive::builder().items(2000).rate(1e-5).form(form).seed(seed).build()
            })
        };
        let p = collision(WIDTH, distance);
        let bound = bound::rate(p.powi(LINES as i32), spread(p, LINES), runs, PAIRS);
        plain.point(distance, all_agree(distance), of("plain")?, bound);
        // Beyond a quarter of the width, shifts of more than one bucket are not rare.
        if distance <= WIDTH / 4.0 {
            let expected = 1.0 - off_by_two(distance);
            // Lengths of lines differ within a filter, which makes three that are off rarer than by the formula.
            let bound = bound::rate(expected, spread(p, 2), runs, PAIRS);
            let high = bound.high.map(|high| (high + 0.02).min(1.0));
            overflow.point(distance, expected, of("overflow")?, Bound { high, ..bound });
        }
    }
    plain.follows(all_agree, 0.0);
    overflow.follows(|c| 1.0 - off_by_two(c), 0.02);
    let mut levels = Vec::new();
    for level in LEVELS {
        let scale = f64::from(1u32 << level);
        let curve = move |c: f64| and_or(collision(WIDTH * scale, c), GROUP, GROUPS);
        let mut one = Series::new(format!("level {level}"), steps(0.5, 16.0), curve);
        for distance in [1.0, 2.0, 4.0].map(|c| c * scale) {
            let measured = found(lab, distance, runs, |seed| {
                let built = MultiGranularity::builder().items(400).rate(1e-4).seed(seed);
                Ok((built.build()?, level))
            })?;
            let expected = curve(distance);
            let low = bound::rate(expected, 0.05, runs, PAIRS).low;
            // From below: buckets that differ may still find bits that others have set.
            one.point(distance, expected, measured, Bound { low, high: Some(expected + 0.05) });
        }
        one.follows(curve, 0.1);
        levels.push(one);
    }
    let chart = |id: &str, title: &str, series| {
        Chart::new(
            id,
            title,
            [Axis::log("distance, buckets are 4 wide"), Axis::linear("share found")],
            series,
        )
    };
    Ok(Report::default()
        .chart(chart("a", "One granularity", vec![plain, overflow]))
        .chart(chart("b", "Several: four lines in each of eight groups", levels))
        .note("Members themselves are always found; what is near them is found by chance, at any distance."))
}

/// P(more than two of six lines disagree).
fn off_by_two(distance: f64) -> f64 {
    tail::binomial_at_least(LINES.into(), 1.0 - collision(WIDTH, distance), 3)
}

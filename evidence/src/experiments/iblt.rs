//! The invertible Bloom lookup table: from how many cells per pair on all pairs can be listed.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::peeling::THRESHOLDS;
use everbloom::keyvalue::{Got, Iblt};

use crate::{Axis, Bound, Chart, Experiment, Lab, Report, Series, bound};

pub static EXPERIMENT: Experiment = Experiment {
    name: "iblt",
    source: "S3 §VI-C and M. T. Goodrich, M. Mitzenmacher, Invertible Bloom lookup tables, Allerton 2011; catalogue §18",
    title: "The invertible Bloom lookup table: listing and lookup over the load",
    shows: "Listing all pairs works from 1.22 cells per pair on with three hashes, from 1.30 with four, and not below. A single \
            lookup is undecided for (1 - p0)^k of the pairs, far more.",
    run,
};

const PAIRS: u64 = 1500;

/// Hashes, and cells per pair: those below the threshold and those above it.
const SHAPES: [(u32, [f64; 3], [f64; 3]); 2] =
    [(3, [1.0, 1.1, 1.16], [1.29, 1.4, 1.6]), (4, [1.0, 1.15, 1.23], [1.37, 1.5, 1.7])];

/// Cells per pair at which single pairs are looked up.
const LOOKED_UP: [f64; 4] = [1.5, 2.0, 3.0, 4.0];

fn filled(cells: u64, k: u32, seed: u64) -> Result<(Iblt, Vec<u64>)> {
    let mut table = Iblt::with_shape(cells, k, Hasher::seeded(seed))?;
    let mut keys = Generator::new(seed);
    let keys: Vec<u64> = (0..PAIRS).map(|_| keys.next_u64()).collect();
    for key in &keys {
        table.insert(key, &key.to_be_bytes()[..4])?;
    }
    Ok((table, keys))
}

fn cells(ratio: f64, k: u32) -> u64 {
    (PAIRS as f64 * ratio / f64::from(k)).round() as u64 * u64::from(k)
}

/// Whether all pairs are listed, and are those inserted.
fn lists(ratio: f64, k: u32, seed: u64) -> Result<f64> {
    let (table, mut keys) = filled(cells(ratio, k), k, seed)?;
    let Ok(all) = table.list() else { return Ok(0.0) };
    let mut listed: Vec<u64> = all
        .inserted
        .iter()
        .filter(|(key, value)| value[..] == number(key).to_be_bytes()[..4])
        .map(|(key, _)| number(key))
        .collect();
    listed.sort_unstable();
    keys.sort_unstable();
    Ok(f64::from(u8::from(listed == keys && all.deleted.is_empty())))
}

/// The key that these eight bytes are.
fn number(key: &[u8]) -> u64 {
    <[u8; 8]>::try_from(key).map_or(0, u64::from_le_bytes)
}

/// The shares of pairs and of other keys that a lookup leaves undecided.
fn undecided(lab: &Lab, ratio: f64, k: u32, seed: u64) -> Result<[f64; 2]> {
    let (table, keys) = filled(cells(ratio, k), k, seed)?;
    let hidden = |key: &u64| matches!(table.get(key), Ok(Got::Undecided));
    lab.ask_members(&keys, |key| match table.get(*key) {
        Ok(Got::Value(value)) => value[..] == key.to_be_bytes()[..4],
        Ok(Got::Undecided) => true,
        _ => false,
    });
    let members = keys.iter().filter(|key| hidden(key)).count();
    let mut others = Generator::new(!seed);
    let unknown = (0..PAIRS).filter(|_| hidden(&others.next_u64())).count();
    Ok([members, unknown].map(|count| count as f64 / PAIRS as f64))
}

/// P(all k cells of a pair are shared with others): a cell has k/ratio others on average.
fn hidden(ratio: f64, k: u32) -> f64 {
    (1.0 - (-f64::from(k) / ratio).exp()).powi(k as i32)
}

/// P(no cell of another key is empty or holds a single pair).
fn unknown(ratio: f64, k: u32) -> f64 {
    let mean = f64::from(k) / ratio;
    (1.0 - (1.0 + mean) * (-mean).exp()).powi(k as i32)
}

fn listing(lab: &Lab) -> Result<Chart> {
    let runs = lab.scaled(20);
    let mut series = Vec::new();
    for (k, fails, works) in SHAPES {
        let threshold = THRESHOLDS[k as usize - 3];
        // Two pairs with the same cells hide each other for good.
        let slice = |ratio: f64| PAIRS as f64 * ratio / f64::from(k);
        let apart =
            |ratio: f64| (-((PAIRS * PAIRS) as f64) / 2.0 / slice(ratio).powi(k as i32)).exp();
        let formula = |ratio: f64| if ratio < threshold { 0.0 } else { apart(ratio) };
        let xs = (0..=160).map(|i| 0.95 + f64::from(i) / 200.0);
        let mut one = Series::new(format!("k = {k}"), xs, formula);
        for ratio in fails.into_iter().chain(works) {
            let seen = lab.runs(runs, |seed| lists(ratio, k, seed))?;
            let listed = seen.iter().sum::<f64>() / runs as f64;
            let bound = match formula(ratio) {
                0.0 => Bound::between(0.0, 0.0),
                // The rest of the finite size: half a percent.
                p => bound::share(p * 0.995, runs),
            };
            one.point(ratio, formula(ratio), listed, bound);
        }
        let rise = one.points[3].verdict.measured - one.points[2].verdict.measured;
        one.claim("rise across the threshold", 1.0, rise, Bound::between(0.7, 1.0));
        series.push(one);
    }
    Ok(Chart::new(
        "a",
        format!("Tables that list all of {PAIRS} pairs"),
        [Axis::linear("cells per pair"), Axis::linear("share of tables")],
        series,
    ))
}

fn lookups(lab: &Lab) -> Result<Chart> {
    let (k, runs) = (3, lab.scaled(10));
    let xs = || (0..=60).map(|i| 1.4 + f64::from(i) / 20.0);
    let mut members = Series::new("pairs", xs(), |ratio| hidden(ratio, k));
    let mut others = Series::new("other keys", xs(), |ratio| unknown(ratio, k));
    for ratio in LOOKED_UP {
        let seen = lab.runs(runs, |seed| undecided(lab, ratio, k, seed))?;
        let mean = |i: usize| seen.iter().map(|run| run[i]).sum::<f64>() / runs as f64;
        // Pairs share cells, so that they are undecided in groups: as many chances as a third of them.
        let bound = |p: f64| bound::share(p, runs * PAIRS / 3).widened(p, 0.01);
        members.point(ratio, hidden(ratio, k), mean(0), bound(hidden(ratio, k)));
        others.point(ratio, unknown(ratio, k), mean(1), bound(unknown(ratio, k)));
    }
    members.follows(|ratio| hidden(ratio, k), 0.01);
    others.follows(|ratio| unknown(ratio, k), 0.01);
    Ok(Chart::new(
        "b",
        format!("Lookups without an answer, k = {k}"),
        [Axis::linear("cells per pair"), Axis::log("share undecided")],
        [members, others],
    ))
}

fn run(lab: &Lab) -> Result<Report> {
    Ok(Report::default().chart(listing(lab)?).chart(lookups(lab)?).note(
        "Thresholds are those of the 2-core of random hypergraphs. Points keep a distance of 0.06 from them: in tables of this \
         size the rise is not quite vertical.",
    ))
}

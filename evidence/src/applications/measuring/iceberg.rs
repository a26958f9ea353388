//! Keys with a share of everything (catalogue A17; S0 §IV-D2 \[100\]): the tool [`everbloom_tools::top::iceberg`], tried.

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::sketches::CountMin;
use everbloom::{Error, Hasher, Kind, Result};
use everbloom_tools::top::iceberg::{Counted, DELTA, Top};

use crate::sim::Zipf;
use crate::{Application, Axis, Bound, Experiment, Form, Lab, Oracle, Report, Rows};

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A17",
    form: Form::Tool("top"),
    uses: &["count-min"],
    oracle: "a hash map of the counts of all sites together",
    data: "streams of Zipf's keys at four sites, and a key that is below the threshold at each",
    experiment: Experiment {
        name: "iceberg",
        source: "S0 §IV-D2 [100]",
        title: "Keys with a share of everything, at one site or at many",
        shows: "Every key with a share of φ is found, also one that no site sees; none below φ − ε is reported but \
                with probability δ; w = 27183 for ε = 10⁻⁴. After a second pass all counts are exact.",
        run,
    },
};

const SITES: u64 = 4;
const SHARE: f64 = 0.005;
const ERROR: f64 = 0.001;
/// The key that has little at each site, and much at all together.
const SPREAD: u64 = u64::MAX;

/// The keys of a site.
fn stream(seed: u64, site: u64, keys: u64) -> Vec<u64> {
    let (mut random, zipf) = (Generator::new(seed ^ site << 32), Zipf::new(20_000, 0.9));
    // Its own popular keys: a key's rank differs from site to site.
    let key = |rank: usize| (rank as u64 * (2 * site + 1)) % 20_011;
    let spread = (1.2 * SHARE * keys as f64) as u64;
    let others = (spread..keys).map(|_| key(zipf.draw(&mut random)));
    let mut all: Vec<u64> = others.collect();
    all.extend((0..spread).map(|_| SPREAD));
    all
}

struct Seen {
    missed: u64,
    /// Keys reported before the second pass though they are below (φ − ε)·N, and all that were looked at.
    far_off: u64,
    keys: u64,
    exact: Vec<(u64, u64)>,
    /// Whether the spread key was found: by the merged sketch, and by sites that reach φ·N of their own.
    spread: [bool; 2],
}

fn try_one(seed: u64, keys: u64) -> Result<Seen> {
    let mut truth: HashMap<u64, u64> = HashMap::new();
    let mut all: Option<Top> = None;
    let (mut local, total) = (false, keys * SITES);
    let threshold = (SHARE * total as f64).ceil() as u64;
    for site in 0..SITES {
        let mut top = Top::seeded(SHARE, ERROR, seed)?;
        for key in stream(seed, site, keys) {
            top.add(&key.to_le_bytes(), 1)?;
            *truth.entry(key).or_default() += 1;
        }
        let reaches =
            |(key, count): &Counted| *count >= threshold && key[..] == SPREAD.to_le_bytes();
        local |= top.candidates()?.iter().any(reaches);
        match &mut all {
            Some(all) => all.merge(&top)?,
            None => all = Some(top),
        }
    }
    let Some(top) = all else { return Err(Error::new(Kind::BadParameter, "no sites")) };
    let reported: HashMap<Vec<u8>, u64> =
        top.candidates()?.into_iter().filter(|(_, count)| *count >= threshold).collect();
    let mut recount = top.recount()?;
    (0..SITES).for_each(|site| {
        stream(seed, site, keys).iter().for_each(|key| recount.add(&key.to_le_bytes(), 1));
    });
    let exact: HashMap<Vec<u8>, u64> = recount.counts().into_iter().collect();
    let far = ((SHARE - ERROR) * total as f64) as u64;
    let mut seen =
        Seen { missed: 0, far_off: 0, keys: 0, exact: Vec::new(), spread: [false, local] };
    for (key, count) in truth {
        let found = reported.contains_key(&key.to_le_bytes()[..]);
        seen.missed += u64::from(count >= threshold && !found);
        seen.far_off += u64::from(count < far && found);
        seen.keys += u64::from(count < far);
        if found {
            seen.exact.push((exact.get(&key.to_le_bytes()[..]).copied().unwrap_or(0), count));
        }
    }
    seen.spread[0] = reported.contains_key(&SPREAD.to_le_bytes()[..]);
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let runs = lab.scaled(3);
    let seen = lab.runs(runs, |seed| try_one(seed, 40_000))?;
    oracle.none("keys with a share of φ that were missed", seen.iter().map(|s| s.missed).sum());
    oracle.equal("counts after the second pass", seen.iter().flat_map(|s| s.exact.clone()));

    let mut rows =
        Rows::new("icebergs", "Keys of four sites", Axis::linear("share of runs or keys"));
    let share = |i: usize| seen.iter().filter(|s| s.spread[i]).count() as f64 / runs as f64;
    rows.row("a key that no site sees is found", 1.0, share(0), Bound::exactly(1.0, 0.0));
    let label = "trap: sites report only what reaches φ·N of their own";
    rows.row(label, 0.0, share(1), Bound::exactly(0.0, 0.0));
    let (far, keys) = seen.iter().fold((0, 0), |(f, k), s| (f + s.far_off, k + s.keys));
    let label = "keys below (φ − ε)·N that are reported";
    rows.row(label, DELTA, far as f64 / keys as f64, Bound::at_most(DELTA));
    let mut shapes = Rows::new("shape", "Counters a row for ε = 10⁻⁴", Axis::linear("counters"));
    let w = CountMin::with_error(1e-4, 1e-3)?.w() as f64;
    shapes.row("w = ⌈e/ε⌉", 27183.0, w, Bound::exactly(27183.0, 0.0));
    Ok(oracle.report().rows(rows).rows(shapes).rows(excess(lab)?))
}

/// A sketch so small that it errs often: counts are too high, by more than ε·N rarely enough.
fn excess(lab: &Lab) -> Result<Rows> {
    let mut sketch = CountMin::with_shape(272, 3, Hasher::seeded(lab.seed()))?;
    let mut truth: HashMap<u64, u64> = HashMap::new();
    for key in stream(lab.seed(), 0, 100_000) {
        sketch.insert(&key)?;
        *truth.entry(key).or_default() += 1;
    }
    let limit = std::f64::consts::E / 272.0 * 100_000.0;
    let over = |by: f64| {
        let far = truth.iter().filter(|(key, count)| (sketch.count(*key) - **count) as f64 > by);
        far.count() as f64 / truth.len() as f64
    };
    let mut rows = Rows::new("excess", "Counts of a small sketch", Axis::linear("share of keys"));
    let delta = libm::exp(-3.0);
    rows.row("too high by more than ε·N, d = 3", delta, over(limit), Bound::at_most(delta));
    rows.row("too high at all", 1.0, over(0.0), Bound::at_least(0.5));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a17_width() {
        let sketch = CountMin::with_error(1e-4, 1e-3).unwrap();
        assert_eq!((sketch.w(), sketch.d()), (27183, 7));
    }
}

//! Iceberg queries: the keys with a share of everything, at one site or at many (catalogue A17; S0 §IV-D2 \[100\]).
//!
//! ```text
//!   site 1 ──▶ count-min sketch + its largest keys ─┐
//!   site 2 ──▶ count-min sketch + its largest keys ─┼──▶ sketches added, candidates united ──▶ second pass:
//!   site 3 ──▶ count-min sketch + its largest keys ─┘                                          exact counts
//! ```
//!
//! With w = ⌈e/ε⌉ counters a row a count is never too low, and too high by more than ε·N with probability δ at most.
//! A key with a share φ of the whole has a share of φ at some site, so some site holds it as a candidate: none is
//! missed when candidates are united. Sites that report only what reaches φ·N among themselves miss a key that is
//! spread over all of them. Plain sketches add up; those of the conservative update would not.

use std::collections::HashMap;
use std::path::Path;

use everbloom::internals::hash::Generator;
use everbloom::prelude::Merge as _;
use everbloom::sketches::CountMin;
use everbloom::{Error, Hasher, Kind, Opener, Result};
use everbloom_lab::{Axis, Bound, Experiment, Lab, Report, Rows};

use crate::sim::Zipf;
use crate::{Application, Form, Oracle};

/// A key and its count.
pub type Counted = (Vec<u8>, u64);

/// The probability with which a count is further off than the error says.
pub const DELTA: f64 = 0.001;

/// The heaviest keys of a stream, in fixed memory.
///
/// ```
/// use everbloom_apps::measuring::iceberg::Top;
///
/// let mut monday = Top::new(0.01, 0.001)?;
/// let mut tuesday = Top::new(0.01, 0.001)?;
/// for i in 0..1000u32 {
///     monday.add(format!("page {}", i % 300).as_bytes(), 1)?;
///     tuesday.add(if i % 50 == 0 { b"page 7" } else { b"page 1" }, 1)?;
/// }
/// monday.merge(&tuesday)?;
/// let heaviest = monday.candidates()?;
/// assert_eq!(heaviest[0].0, b"page 1");
/// assert!(heaviest[0].1 >= 984 && heaviest[0].1 as f64 <= 984.0 + monday.error());
///
/// // Whoever can read the stream again gets exact counts.
/// let mut recount = monday.recount()?;
/// recount.add(b"page 7", 20);
/// assert!(recount.counts().contains(&(b"page 7".to_vec(), 20)));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Top {
    sketch: CountMin,
}

impl Top {
    /// Keys with at least `share` of the total are never missed; a count is too high by at most `error` of the
    /// total, but for one key in a thousand. The error is at most half the share.
    pub fn new(share: f64, error: f64) -> Result<Self> {
        Self::seeded(share, error, 0)
    }

    fn seeded(share: f64, error: f64, seed: u64) -> Result<Self> {
        if !(1e-5..=1.0).contains(&share) {
            let message = format!("a share of {share}: it lies between 0.00001 and 1");
            return Err(Error::new(Kind::BadParameter, message));
        }
        if error.is_nan() || error > share / 2.0 {
            let message = format!(
                "an error of {error} hides keys with a share of {share}: it is at most half of that"
            );
            return Err(Error::new(Kind::BadParameter, message));
        }
        let goal = CountMin::builder().form("heavy").set("phi", share).set("epsilon", error);
        Ok(Self { sketch: goal.set("delta", DELTA).seed(seed).build()? })
    }

    /// Counts a key `weight` more times.
    pub fn add(&mut self, key: &[u8], weight: u64) -> Result<()> {
        self.sketch.insert_times(key, weight).map(drop)
    }

    /// Adds the stream of another site: both sketches have the same share, error and seed.
    pub fn merge(&mut self, other: &Top) -> Result<()> {
        self.sketch.merge(&other.sketch)
    }

    /// The keys that may be heavy with their counts, which may be too high: the heaviest first.
    pub fn candidates(&self) -> Result<Vec<Counted>> {
        self.sketch.heavy_hitters(f64::MIN_POSITIVE)
    }

    /// The total of all weights.
    pub fn total(&self) -> u64 {
        u64::try_from(self.sketch.total()).unwrap_or(u64::MAX)
    }

    /// By how much a count is too high at most, but for one key in a thousand: e·N/w.
    pub fn error(&self) -> f64 {
        std::f64::consts::E * self.total() as f64 / self.sketch.w() as f64
    }

    /// Bytes of the counters.
    pub fn bytes(&self) -> u64 {
        8 * self.sketch.w() * u64::from(self.sketch.d())
    }

    /// Counts the candidates exactly, in a second pass.
    pub fn recount(&self) -> Result<Recount> {
        let keys = self.candidates()?.into_iter().map(|(key, _)| (key, 0));
        Ok(Recount { counts: keys.collect() })
    }

    /// Writes the sketch, to be merged elsewhere.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        everbloom::save(&self.sketch, path)
    }

    /// The sketch that [`Top::save`] wrote.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let sketch: CountMin = Opener::new().open_as(path)?;
        if sketch.heavy_hitters(1.0).is_err() {
            let message = "a sketch that keeps no heavy keys: write it with `top -o`";
            return Err(Error::new(Kind::Unsupported, message).context(path.display()));
        }
        Ok(Self { sketch })
    }
}

/// The exact counts of candidates, while the stream is read again.
pub struct Recount {
    counts: HashMap<Vec<u8>, u64>,
}

impl Recount {
    /// Counts a key, if it is a candidate.
    pub fn add(&mut self, key: &[u8], weight: u64) {
        if let Some(count) = self.counts.get_mut(key) {
            *count = count.saturating_add(weight);
        }
    }

    /// The candidates, the heaviest first.
    pub fn counts(self) -> Vec<Counted> {
        let mut counts: Vec<Counted> = self.counts.into_iter().collect();
        counts.sort_by(|a, b| (b.1, &a.0).cmp(&(a.1, &b.0)));
        counts
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A17",
    form: Form::Tool,
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

    #[test]
    fn what_cannot_be_merged_or_found_says_so() {
        assert!(Top::new(0.01, 0.02).is_err(), "the error hides the share");
        assert!(Top::new(0.0, 0.0).is_err() && Top::new(f64::NAN, 0.0).is_err());
        let mut top = Top::new(0.01, 0.001).unwrap();
        assert!(top.merge(&Top::new(0.01, 0.002).unwrap()).is_err());
        top.add(b"key", 3).unwrap();
        assert_eq!((top.total(), top.candidates().unwrap()), (3, vec![(b"key".to_vec(), 3)]));
        assert!(top.bytes() > 8 * 2718 && top.error() < 0.01);
    }
}

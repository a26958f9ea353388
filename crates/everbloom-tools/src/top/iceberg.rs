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

use everbloom::prelude::Merge as _;
use everbloom::sketches::CountMin;
use everbloom::{Error, Kind, Opener, Result};

/// A key and its count.
pub type Counted = (Vec<u8>, u64);

/// The probability with which a count is further off than the error says.
pub const DELTA: f64 = 0.001;

/// The heaviest keys of a stream, in fixed memory.
///
/// ```
/// use everbloom_tools::top::iceberg::Top;
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

    /// The same under another seed than 0; sketches are merged under one.
    pub fn seeded(share: f64, error: f64, seed: u64) -> Result<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

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

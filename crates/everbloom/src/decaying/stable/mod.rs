//! The stable Bloom filter (Deng, Rafiei 2006; catalogue §27; S3 ref. 135 §VII-B, S0 ref. 40 §III-I eq. 18).
//!
//! Has this click, packet or URL been seen lately? A stream never ends, so a filter for it must forget
//! as fast as it learns. The cells are small counters, but they count down: a key sets its k cells to
//! the maximum, and before that every arrival takes one off P cells in a row, from a random start.
//!
//! ```text
//!   3 0 1 2 0 0 1 3 0 2 0 1     query: are all k cells above zero?
//!               ───────
//!   3 0 1 2 0 0 0 2 0 1 0 1     P = 4 cells in a row lose one, from a random start
//!               ↓       ↓
//!   3 0 1 2 0 0 3 2 0 1 3 1     the k = 2 cells are set to Max = 3
//! ```
//!
//! What is set per arrival and what is taken off balance each other: whatever it starts from, the share
//! of zeros settles at Z = (1/(1 + 1/(P(1/k − 1/m))))^Max, so the rate of false positives settles at
//! (1 − Z)^k and stays there for ever. The price are false negatives: a key is forgotten some time
//! after its last arrival, when one of its cells has been decremented to zero.
//!
//! **Use it** to flag recent repetitions in an endless stream. **Don't** when keys must be forgotten at a sharp
//! limit (two alternating filters do that), or when nothing may be forgotten (`scalable`).
//!
//! # When a key is forgotten
//!
//! Look at one cell. An arrival hits it with at most one decrement, of probability δ = P/m, and then
//! sets it with probability q = 1 − (1−1/m)^k. So an arrival either sets it (q), only decrements it
//! (δ(1−q)), or leaves it alone. Of the arrivals that touch it, a share a = δ(1−q)/(q + δ(1−q)) only
//! decrement. The cell is zero exactly when it was touched at least Max times since it was set and the
//! last Max touches were all decrements, whatever was before. Touches come independently, so g arrivals
//! after being set a cell is zero with probability
//!
//! ```text
//!   z(g) = a^Max · P(Bin(g, q + δ(1−q)) ≥ Max)
//! ```
//!
//! which tends to a^Max; with q = k/m that is the paper's Z, without detour. The key is missed if one of
//! its k cells is zero: 1 − (1 − z(g))^k. The plan takes the least m for which this, averaged over the
//! window g = 0 … n−1, is at most `fnr`.

mod shape;
#[cfg(test)]
mod tests;
mod theory;

pub use theory::{Shape, decrements_for, stable_zeros};

use crate::cells::Packed;
use crate::hash::Generator;
use crate::parts::tally::Tallies;
use crate::probe::Probe;
use crate::variant::prelude::*;

/// The recent part of a stream, in m cells that count down.
///
/// ```
/// use everbloom::{Seen, Stable};
///
/// let mut clicks = Stable::with_rate(10_000, 0.01)?;
/// assert_eq!(clicks.insert("a click"), Seen::New);
/// assert_eq!(clicks.insert("a click"), Seen::Maybe);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stable {
    head: Head,
    levels: Tallies<Packed>,
    /// P, the cells decremented per arrival.
    decrements: u64,
    /// Draws where each run of decrements starts.
    generator: Generator,
}

state!(Stable { head, ..levels; decrements, generator });

impl Stable {
    /// A filter of `m` cells of `max_bits` bits (1 to 8), `k` probes (below m) and `decrements` cells
    /// decremented per arrival (1 to m).
    pub fn with_shape(
        m: u64,
        k: u32,
        max_bits: u32,
        decrements: u64,
        hasher: Hasher,
    ) -> Result<Self> {
        Flat::new(m, k)?;
        let shape = Shape { m, k, max_bits, decrements, fnr: None };
        shape.check()?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Processes an arrival, in the order that matters: queries, decrements, sets. `Maybe` flags a
    /// repetition; a repetition that comes too late is `New`.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let seen = self.levels.contains(digest);
        self.decrement();
        let Tallies { probe, cells } = &mut self.levels;
        let max = cells.max();
        probe.each(digest, |i| cells.set(i, max));
        self.head.count(1);
        Seen::new_if(!seen)
    }

    /// Takes one off P cells in a row from a random start, around the end; returns how many became zero.
    #[inline]
    fn decrement(&mut self) -> u64 {
        let cells = &mut self.levels.cells;
        let (m, start) = (cells.len(), self.generator.below(cells.len()));
        let end = start + self.decrements;
        cells.fade(start..end.min(m), 1) + cells.fade(0..end.saturating_sub(m), 1)
    }

    /// Whether the key seems to have arrived lately.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.levels.contains(self.head.hasher.digest(key))
    }

    /// Lets `ticks` arrivals' worth of decrements happen without an arrival.
    pub fn age(&mut self, ticks: u64) {
        // Stops once nothing is left to forget, so that no number of ticks takes for ever.
        let mut left = self.levels.cells.iter().filter(|level| *level > 0).count() as u64;
        for _ in 0..ticks {
            if left == 0 {
                break;
            }
            left -= self.decrement();
        }
    }

    /// The cells.
    pub fn cells(&self) -> &Packed {
        &self.levels.cells
    }

    fn shape(&self) -> Shape {
        let (m, k, max_bits) = (self.levels.m(), self.levels.k(), self.cells().width());
        Shape { m, k, max_bits, decrements: self.decrements, fnr: None }
    }

    fn check(&self) -> Result<()> {
        self.levels.check_flat()?;
        self.shape().check().map_err(|e| Error::corrupt(0, format!("corrupt filter: {e}")))
    }
}

impl Plan for Stable {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        shape::plan(request)
    }

    /// False negatives are averaged over all `load.items` keys, so they tend to 1 for loads far beyond
    /// the window: the filter is made to forget.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let fill = 1.0 - shape.zeros_after(load.items);
        let fpr = libm::pow(fill, f64::from(shape.k));
        let bits = shape.m * u64::from(shape.max_bits);
        let fill = Some((fill, shape.fill_sd(fill)));
        let fnr = shape.mean_fnr(load.items);
        Some(Expect { fnr, ..Expect::one_sided(fpr, bits, fill).probing(shape.k) })
    }
}

impl Stream for Stable {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { m, k, max_bits, decrements, fnr } = *shape;
        // Another seed is another filter in every respect; two builds of one seed are equal.
        let generator = Generator::new(head.hasher.seed() ^ 0x5354_4142_4C45_0001);
        // Decrements set by hand may leave a higher rate than the goal's; then that is the target.
        let fpr = head.fpr.map(|target| target.max(shape.stable_fpr()));
        let head = Head { fpr, fnr, ..head };
        let levels = Tallies { probe: Probe::over(m, k), cells: Packed::try_new(m, max_bits)? };
        Ok(Self { head, levels, decrements, generator })
    }
}

face!(Stable: Insert, Age);
planned!(
    Stable:
    "A filter that recognizes the last `items` keys, except for 10 % of them on average, and takes at most a \
     share of `fpr` of the others for repetitions, for ever."
);
keyed!(Stable: Insert);

impl Filter for Stable {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.levels)
    }

    /// False positives from the real fill. Of how long ago its keys came the filter knows nothing.
    fn now(&self) -> Rates {
        Rates { fnr: None, ..self.levels.rates() }
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.levels.describe();
        facts.push(fact("max", self.cells().max()));
        facts.push(fact("decrements", self.decrements));
        facts.push(real("stable fpr", self.shape().stable_fpr()));
        facts
    }
}

impl Age for Stable {
    fn age(&mut self, ticks: u64) {
        Stable::age(self, ticks);
    }
}

/// Levels up to 255; wider cells only make P, and so every arrival, more expensive.
const MAX_BITS: u32 = 8;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Stable>(Facts {
    id: 8,
    slug: "stable",
    entry: "§27",
    question: "Was it seen recently in an endless stream, in constant memory?",
    name: "Stable Bloom filter",
    paper: "F. Deng, D. Rafiei, Approximately detecting duplicates for streaming data using stable \
            Bloom filters, SIGMOD 2006",
    family: "decaying",
    needs: &["decay"],
    meaning: "items are the recent keys to recognize, the rate is the false-positive rate for ever",
    forms: &[Form::lossy(
        FORM,
        &[Ability::Insert, Ability::Age],
        "keys are forgotten some time after their insertion",
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        // Two bits are within a sixth of the least space at 1 % and 10 %, where one bit takes three
        // times as much; three bits are a little smaller but decrement twice as many cells.
        Param::integer(
            "max-bits",
            1,
            MAX_BITS as u64,
            "bits per cell; a key sets its cells to the largest value they hold",
        )
        .or(Preset::Integer(2)),
        Param::integer("decrements", 1, 1 << 48, "cells decremented per arrival"),
        Param::real("fnr", 1e-6, 0.999, "rate of false negatives averaged over the window")
            .or(Preset::Real(0.1)),
    ],
    ..Facts::FILTER
});

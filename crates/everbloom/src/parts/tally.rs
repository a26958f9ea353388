//! Counters of any make, with k probes per key: the counting filter without a head.
//!
//! Hashes of one key that meet in one cell count once each, in insertion, removal and counting alike
//! (catalogue C1 and part D). A removal looks at all of the key's cells before it changes one.

use smallvec::SmallVec;

use crate::cells::{Counters, Fading, Packed};
use crate::error::{Error, Kind, Result, agree};
use crate::filter::{Answer, Counted, Detail, Fact, Part, Rates, Touched, fact, touched};
use crate::hash::Digest;
use crate::parts::SumPart;
use crate::plan::Flat;
use crate::probe::{Coincide, Indices, Probe};
use crate::state::{Decoder, Encoder, Inline, MAX_ITEMS, State};

/// Cells that hold small numbers.
pub(crate) trait Cells: State {
    /// The name of the cells in files.
    const NAME: &'static str;

    /// Whether a query tells the count, too. Not where that takes more than looking whether it is above zero.
    const TOLD: bool = true;

    /// The number at which a cell sticks, since it cannot count further.
    fn most(&self) -> u64 {
        MAX_ITEMS
    }

    /// What is to be told of the cells beside how many there are.
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    /// Number of cells.
    fn len(&self) -> u64;

    /// The number at `i`.
    fn get(&self, i: u64) -> u64;

    /// Whether the number at `i` is above zero, which may be cheaper to tell.
    #[inline]
    fn any(&self, i: u64) -> bool {
        self.get(i) != 0
    }

    /// Every number, in order.
    fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// How many numbers are above zero.
    fn nonzero(&self) -> u64 {
        self.iter().filter(|number| *number != 0).count() as u64
    }
}

/// Cells that count.
pub(crate) trait Tally: Cells {
    /// Adds `by` to the counter at `i`; returns whether it was zero.
    fn raise(&mut self, i: u64, by: u64) -> bool;

    /// Takes `by` from the counter at `i`, which holds as much or sticks.
    fn lower(&mut self, i: u64, by: u64);

    /// Refuses counters of another make; their number is the same.
    fn agree(&self, other: &Self) -> Result<()>;

    /// Adds the counters of as many others.
    fn add(&mut self, other: &Self) {
        for (i, count) in (0..).zip(other.iter()).filter(|(_, count)| *count > 0) {
            self.raise(i, count);
        }
    }
}

/// Cells with numbers beside them.
type Hits = SmallVec<[(u64, u64); 16]>;

/// m cells with k probes per digest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tallies<C> {
    pub(crate) probe: Probe,
    pub(crate) cells: C,
}

impl<C: Cells> Inline for Tallies<C> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.probe.save("probe", out);
        self.cells.save(C::NAME, out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let this = Self { probe: Probe::load("probe", src)?, cells: C::load(C::NAME, src)? };
        this.probe.check(this.cells.len())?;
        Ok(this)
    }
}

/// Inside another filter they are a group of their own; what probes they may have, their owner checks.
impl<C: Cells> State for Tallies<C> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| self.save_fields(out));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, Self::load_fields)
    }
}

impl<C: Cells> Tallies<C> {
    /// Cells that all of a key's probes range over.
    pub(crate) fn over(Flat { m, k }: Flat, cells: C) -> Self {
        Self { probe: Probe::over(m, k), cells }
    }

    /// Refuses, in a file, probes that do not range over all cells.
    pub(crate) fn check_flat(&self) -> Result<()> {
        self.probe.check_flat(self.cells.len())
    }

    /// Number of cells.
    pub(crate) fn m(&self) -> u64 {
        self.cells.len()
    }

    /// Number of probes per key.
    pub(crate) fn k(&self) -> u32 {
        self.probe.k()
    }

    /// Whether all of a key's cells are above zero.
    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        self.probe.all(digest, |i| self.cells.any(i))
    }

    /// The least number in a key's cells.
    pub(crate) fn least(&self, digest: Digest) -> u64 {
        let mut least = u64::MAX;
        self.probe.each(digest, |i| least = least.min(self.cells.get(i)));
        least
    }

    /// Fraction of cells above zero.
    pub(crate) fn used(&self) -> f64 {
        self.cells.nonzero() as f64 / self.m() as f64
    }

    /// P(a non-member passes), from the real fill: that of all cells, or of each slice where every probe has
    /// a slice of its own.
    pub(crate) fn fpr(&self) -> f64 {
        let Probe::Partitioned(slices) = self.probe else {
            return libm::pow(self.used(), f64::from(self.k()));
        };
        let slice = slices.slice();
        let used = |s: u64| (s * slice..(s + 1) * slice).filter(|i| self.cells.any(*i)).count();
        (0..u64::from(self.k())).map(|s| used(s) as f64 / slice as f64).product()
    }

    /// A key's distinct cells, each with the number of its hashes that point there.
    pub(crate) fn hits(&self, digest: Digest) -> Hits {
        let mut out = Hits::new();
        self.probe.each(digest, |i| match out.iter_mut().find(|(cell, _)| *cell == i) {
            Some((_, times)) => *times += 1,
            None => out.push((i, 1)),
        });
        out
    }

    /// How often a key was inserted, as its least counter tells; one that several of the key's hashes share
    /// is divided by their number. Stops at the first that says never. Marked if only stuck counters say so.
    pub(crate) fn count(&self, digest: Digest) -> Counted {
        let (most, mut least, mut stuck) = (self.cells.most(), u64::MAX, false);
        for (cell, hashes) in self.hits(digest) {
            let count = self.cells.get(cell);
            let (share, sticks) = (count / hashes, count >= most);
            if share <= least {
                stuck = sticks && (stuck || share < least);
                least = share;
            }
            if least == 0 {
                break;
            }
        }
        Counted::stuck_if(stuck, least)
    }
}

impl<C: Tally> Tallies<C> {
    /// Counts a key once more; true if it was certainly not there.
    #[inline]
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        self.insert_times(digest, 1)
    }

    /// Counts a key `times` more times; true if it was certainly not there.
    #[inline]
    pub(crate) fn insert_times(&mut self, digest: Digest, times: u64) -> bool {
        let mut new = false;
        for (cell, hashes) in self.hits(digest) {
            new |= self.cells.raise(cell, hashes.saturating_mul(times));
        }
        new
    }

    /// Counts a key `times` more times by conservative update, also called minimum increase: each of its
    /// distinct cells is raised to what the key's count now is at most, and none above that. Its counters
    /// are then no sums, so nothing can be taken away again, and a key's count is its [`Tallies::least`].
    pub(crate) fn lift(&mut self, digest: Digest, times: u64) -> bool {
        let cells = self.probe.collect(digest, Coincide::Distinct);
        let counts: Indices = cells.iter().map(|&i| self.cells.get(i)).collect();
        let least = counts.iter().copied().min().unwrap_or(0);
        let lifted = least.saturating_add(times);
        for (&cell, &count) in cells.iter().zip(&counts).filter(|(_, count)| **count < lifted) {
            self.cells.raise(cell, lifted - count);
        }
        least == 0
    }

    /// Counts a key once less. Refused, with nothing changed, if a counter holds less than the key would take.
    pub(crate) fn remove(&mut self, digest: Digest) -> Result<()> {
        let hits = self.hits(digest);
        if hits.iter().any(|(cell, hashes)| self.cells.get(*cell) < *hashes) {
            return Err(Error::new(
                Kind::NotDeletable,
                "the key is not in the filter: a counter is smaller than the amount to remove",
            ));
        }
        hits.iter().for_each(|(cell, hashes)| self.cells.lower(*cell, *hashes));
        Ok(())
    }

    /// The [`Tallies::least`] of a key's counters as its count.
    pub(crate) fn least_count(&self, digest: Digest) -> Counted {
        let least = self.least(digest);
        Counted::stuck_if(least >= self.cells.most(), least)
    }
}

impl<C: Tally> SumPart for Tallies<C> {
    /// Refuses counters that cannot be added to these, and names the difference.
    fn agree(&self, other: &Self) -> Result<()> {
        self.probe.agree(&other.probe)?;
        self.cells.agree(&other.cells)
    }

    /// Adds the counts of both.
    fn add(&mut self, other: &Self) {
        self.cells.add(&other.cells);
    }
}

impl<C: Cells> Part for Tallies<C> {
    fn answer(&self, digest: Digest) -> Answer {
        let answer = Answer::of(self.contains(digest));
        if C::TOLD { answer.with(Detail::Count(self.count(digest))) } else { answer }
    }

    fn fill(&self) -> f64 {
        self.used()
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(self.fpr())
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("m", self.m()), fact("k", self.k())];
        facts.extend(self.cells.facts());
        facts
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        touched(&self.probe.collect(digest, Coincide::PerHash), |i| self.cells.get(i))
    }
}

/// What cells of fixed width tell by methods of the same names.
macro_rules! fixed_width {
    () => {
        fn len(&self) -> u64 {
            Self::len(self)
        }

        #[inline]
        fn get(&self, i: u64) -> u64 {
            Self::get(self, i)
        }

        fn iter(&self) -> impl Iterator<Item = u64> {
            Self::iter(self)
        }
    };
}

impl Cells for Counters {
    const NAME: &'static str = "counters";

    fixed_width!();

    fn most(&self) -> u64 {
        self.max()
    }

    fn facts(&self) -> Vec<Fact> {
        vec![fact("width", self.width()), fact("saturated", self.saturated())]
    }
}

impl Tally for Counters {
    #[inline]
    fn raise(&mut self, i: u64, by: u64) -> bool {
        let new = Counters::get(self, i) == 0;
        Counters::raise(self, i, by);
        new
    }

    fn lower(&mut self, i: u64, by: u64) {
        Counters::lower(self, i, by);
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("counter width", self.width(), other.width())
    }

    fn add(&mut self, other: &Self) {
        Counters::add(self, other);
    }
}

/// Plain numbers, whose owner says what they mean.
impl Cells for Packed {
    const NAME: &'static str = "cells";
    const TOLD: bool = false;

    fixed_width!();
}

/// A number is the life that the cell has left.
impl Cells for Fading {
    const NAME: &'static str = "lives";
    const TOLD: bool = false;

    fn facts(&self) -> Vec<Fact> {
        vec![fact("width", self.width())]
    }

    fn len(&self) -> u64 {
        Fading::len(self)
    }

    #[inline]
    fn get(&self, i: u64) -> u64 {
        self.left(i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Bound;

    /// Two counters of two bits and one hash per key; the counter of the first key is stuck.
    fn stuck() -> (Tallies<Counters>, Digest, Digest) {
        let mut tallies = Tallies { probe: Probe::over(2, 1), cells: Counters::new(2, 2) };
        let digest = |word| Digest { h1: word, h2: word };
        let at = |word: u64| tallies.probe.nth(0, digest(word));
        let other = (1..99).find(|word| at(*word) != at(0)).unwrap();
        let (key, other) = (digest(0), digest(other));
        tallies.insert_times(key, 5);
        (tallies, key, other)
    }

    #[test]
    fn counts_of_stuck_counters_are_marked() {
        let (mut tallies, key, other) = stuck();
        tallies.insert_times(other, 2);
        assert_eq!(tallies.count(key), Counted::stuck_if(true, 3));
        assert_eq!(tallies.least_count(key).bound, Bound::Saturated);
        assert_eq!(tallies.count(other), Counted::about(2));
        assert_eq!(tallies.least_count(other), Counted::about(2));
    }

    /// A counter that is stuck tells nothing where another one that is not tells as little.
    #[test]
    fn one_counter_that_is_not_stuck_is_enough() {
        let mut cells = Counters::new(40, 2);
        let probe = Probe::over(40, 4);
        let digest = (1..).map(|h| Digest { h1: h, h2: !h });
        let of = |digest| probe.collect(digest, Coincide::Distinct);
        let digest = digest.into_iter().find(|digest| of(*digest).len() == 4).unwrap();
        let indices = of(digest);
        (0..40).for_each(|i| cells.set(i, 3));
        let count = |cells: &Counters| Tallies { probe, cells: cells.clone() }.count(digest);
        assert_eq!(count(&cells), Counted::stuck_if(true, 3));
        for &i in &indices {
            let mut cells = cells.clone();
            cells.set(i, 2);
            assert_eq!(count(&cells), Counted::about(2));
        }
    }
}

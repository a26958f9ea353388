//! The segments of one attribute: their bounds, and a filter of ids for each.

use crate::cells::Counters;
use crate::error::{Error, Result};
use crate::filter::{Part, Touched};
use crate::hash::Digest;
use crate::parts::KeyPart;
use crate::parts::flat_bits::FlatBits;
use crate::parts::tally::Tallies;
use crate::plan::Flat;
use crate::probe::Probe;
use crate::state::state;

/// Segments per attribute at most.
pub(super) const MOST: u64 = 65_536;
/// Bits per counter, which stick at their maximum.
pub(super) const WIDTH: u32 = 4;

/// Numbers of segments: 0 lies below the first bound, and the last one from the last bound on.
pub(super) type Span = std::ops::Range<usize>;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segments {
    /// In order; equal ones have an empty segment between them.
    bounds: Vec<f64>,
    /// Ids in each segment.
    held: Vec<u64>,
    /// The filters of all segments, of one kind or the other.
    bits: Vec<FlatBits>,
    counters: Vec<Tallies<Counters>>,
}

state!(Segments { bounds, held, bits, counters });

impl Segments {
    /// Empty segments with room for the ids of these values: `flat` tells the filter of so many, at an end or not.
    pub(super) fn new(
        bounds: Vec<f64>,
        values: &[f64],
        counting: bool,
        flat: impl Fn(u64, bool) -> Flat,
    ) -> Result<Self> {
        let (mut this, count) = (
            Self { held: Vec::new(), bits: Vec::new(), counters: Vec::new(), bounds },
            values.len(),
        );
        let mut ids = vec![0u64; this.bounds.len() + 1];
        values.iter().for_each(|value| ids[this.of(*value)] += 1);
        debug_assert_eq!(ids.iter().sum::<u64>(), count as u64);
        this.held = vec![0; ids.len()];
        for (at, ids) in ids.iter().enumerate() {
            let flat = flat(*ids, at == 0 || at == this.bounds.len()).checked()?;
            if counting {
                let cells = Counters::try_new(flat.m, WIDTH)?;
                this.counters.push(Tallies { probe: Probe::over(flat.m, flat.k), cells });
            } else {
                this.bits.push(FlatBits::new(flat)?);
            }
        }
        Ok(this)
    }

    pub(super) fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// Whether the segments are counters.
    pub(super) fn is(&self, counting: bool) -> bool {
        self.bits.is_empty() == counting
    }

    /// The segment of a value.
    pub(super) fn of(&self, value: f64) -> usize {
        self.bounds.partition_point(|bound| *bound <= value)
    }

    /// The segments that a range meets: all of them for none, none for an empty one.
    pub(super) fn meeting(&self, range: Option<&std::ops::Range<f64>>) -> Span {
        match range {
            None => 0..self.bounds.len() + 1,
            Some(range) if range.start < range.end => {
                self.of(range.start)..self.bounds.partition_point(|bound| *bound < range.end) + 1
            }
            // A NaN is in no range, either.
            Some(_) => 0..0,
        }
    }

    pub(super) fn insert(&mut self, digest: Digest, at: usize) -> bool {
        let digest = digest.salted(at as u64);
        self.held[at] += 1;
        match self.bits.get_mut(at) {
            Some(bits) => bits.insert(digest),
            None => self.counters[at].insert(digest),
        }
    }

    pub(super) fn contains(&self, digest: Digest, at: usize) -> bool {
        let digest = digest.salted(at as u64);
        match self.bits.get(at) {
            Some(bits) => bits.contains(digest),
            None => self.counters[at].contains(digest),
        }
    }

    /// Whether the counters hold as much as an id takes.
    pub(super) fn holds(&self, digest: Digest, at: usize) -> bool {
        let digest = digest.salted(at as u64);
        self.counters.get(at).is_some_and(|tallies| tallies.count(digest).whole() > 0)
    }

    pub(super) fn remove(&mut self, digest: Digest, at: usize) -> Result<()> {
        self.counters[at].remove(digest.salted(at as u64))?;
        self.held[at] = self.held[at].saturating_sub(1);
        Ok(())
    }

    /// Cells in use, and cells.
    pub(super) fn used(&self) -> (u64, u64) {
        let bits = self.bits.iter().map(|bits| (bits.bits.ones(), bits.m()));
        let counters = self.counters.iter().map(|t| (t.cells.nonzero(), t.m()));
        bits.chain(counters).fold((0, 0), |(used, all), (more, m)| (used + more, all + m))
    }

    /// P(an id that is not there passes) in a segment, each as likely as ids are in it.
    pub(super) fn rate(&self) -> f64 {
        let rates =
            self.bits.iter().map(FlatBits::fpr).chain(self.counters.iter().map(Tallies::fpr));
        let all: f64 = self.held.iter().map(|held| *held as f64).sum();
        let passed: f64 = rates.zip(&self.held).map(|(rate, held)| rate * *held as f64).sum();
        passed / all.max(1.0)
    }

    pub(super) fn trace(&self, digest: Digest, at: usize) -> Vec<Touched> {
        let digest = digest.salted(at as u64);
        match self.bits.get(at) {
            Some(bits) => bits.trace(digest),
            None => self.counters[at].trace(digest),
        }
    }

    fn check(&self) -> Result<()> {
        let segments = self.bounds.len() + 1;
        let ordered = self.bounds.iter().all(|bound| bound.is_finite())
            && self.bounds.is_sorted()
            && (2..=MOST as usize + 1).contains(&self.bounds.len());
        let filters = [self.bits.len(), self.counters.len()];
        let whole = filters == [segments, 0] || filters == [0, segments];
        let counted = self.held.len() == segments
            && self.held.iter().all(|held| *held <= crate::state::MAX_ITEMS);
        if ordered && whole && counted {
            return self.counters.iter().try_for_each(Tallies::check_flat);
        }
        Err(Error::corrupt(0, "corrupt filter: segments and bounds do not fit"))
    }
}

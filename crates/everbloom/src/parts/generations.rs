//! Standard filters that grow old together: a tick clears the oldest and makes it the newest.
//!
//! ```text
//!   newest                         oldest                      newest
//!   ┌────────┬────────┬────────┐  shift   ┌────────┬────────┬────────┐
//!   │ turn 7 │ turn 6 │ turn 5 │ ───────▶ │ turn 8 │ turn 7 │ turn 6 │   what was in turn 5 is forgotten
//!   └────────┴────────┴────────┘          └────────┴────────┴────────┘
//! ```
//!
//! Every filter has hash functions of its own, by its turn, and keeps them while it grows old: filters that shared
//! theirs would share their mistakes, and one that holds all keys of another would have all its bits.

use super::flat_bits::FlatBits;
use super::{KeyPart, SetPart};
use crate::error::{Error, Result, agree};
use crate::filter::{Fact, Part, Touched, fact};
use crate::hash::Digest;
use crate::memory::check_room;
use crate::plan::Flat;
use crate::state::state;

/// One filter and the number of its insertions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Generation {
    flat: FlatBits,
    items: u64,
}

state!(plain Generation { ..flat; items });

/// Filters of one shape, newest first.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Generations {
    /// The turn of the newest.
    turn: u64,
    layers: Vec<Generation>,
}

state!(Generations { turn, layers });

/// Nobody counts that far, and further insertions do not overflow.
const MOST_ITEMS: u64 = 1 << 62;

/// Filters in one window.
pub(crate) const MAX_GENERATIONS: usize = 1 << 12;

impl Generations {
    /// `count` empty filters.
    pub(crate) fn new(flat: Flat, count: usize) -> Result<Self> {
        check_room(flat.m.saturating_mul(count as u64))?;
        let layer = || Ok(Generation { flat: FlatBits::new(flat)?, items: 0 });
        Ok(Self { turn: 0, layers: (0..count).map(|_| layer()).collect::<Result<_>>()? })
    }

    /// Number of filters.
    pub(crate) fn len(&self) -> usize {
        self.layers.len()
    }

    /// The shape of each filter.
    pub(crate) fn flat(&self) -> Flat {
        self.layers
            .first()
            .map_or(Flat { m: 0, k: 0 }, |layer| Flat { m: layer.flat.m(), k: layer.flat.k() })
    }

    fn salted(&self, i: usize, digest: Digest) -> Digest {
        digest.salted(self.turn.wrapping_sub(i as u64))
    }

    /// Whether the filter at `i` may hold the key; 0 is the newest.
    #[inline]
    pub(crate) fn contains(&self, i: usize, digest: Digest) -> bool {
        self.layers[i].flat.contains(self.salted(i, digest))
    }

    /// Inserts a key into the filter at `i`, which counts it unless it seems to be there.
    #[inline]
    pub(crate) fn insert(&mut self, i: usize, digest: Digest) {
        let digest = self.salted(i, digest);
        let layer = &mut self.layers[i];
        let new = layer.flat.insert(digest);
        layer.items = (layer.items + u64::from(new)).min(MOST_ITEMS);
    }

    /// The insertions that the filter at `i` has counted.
    pub(crate) fn items(&self, i: usize) -> u64 {
        self.layers[i].items
    }

    /// Forgets the oldest filter, which begins again as the newest.
    pub(crate) fn shift(&mut self) {
        self.layers.rotate_right(1);
        self.turn = self.turn.wrapping_add(1);
        if let Some(newest) = self.layers.first_mut() {
            newest.flat.clear();
            newest.items = 0;
        }
    }

    /// As many shifts as there are ticks. More than there are filters leave nothing but turns behind.
    pub(crate) fn age(&mut self, ticks: u64) {
        let shifts = ticks.min(self.len() as u64);
        (0..shifts).for_each(|_| self.shift());
        self.turn = self.turn.wrapping_add(ticks - shifts);
    }

    /// The turn of the newest filter.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Refuses filters of another number or shape, and names the difference.
    pub(crate) fn agree(&self, other: &Self) -> Result<()> {
        agree("number of filters", self.len(), other.len())?;
        let pairs = self.layers.iter().zip(&other.layers);
        pairs.take(1).try_for_each(|(a, b)| SetPart::agree(&a.flat, &b.flat))
    }

    /// Takes in as many filters of the same turns.
    pub(crate) fn union(&mut self, other: &Self) {
        for (own, theirs) in self.layers.iter_mut().zip(&other.layers) {
            own.flat.union(&theirs.flat);
            own.items = (own.items + theirs.items).min(MOST_ITEMS);
        }
    }

    /// Keeps the `count` newest filters, or adds empty ones as the oldest.
    pub(crate) fn resize(&mut self, count: usize) -> Result<()> {
        let flat = self.flat();
        while self.len() < count {
            self.layers.push(Generation { flat: FlatBits::new(flat)?, items: 0 });
        }
        self.layers.truncate(count);
        Ok(())
    }

    /// P(a non-member passes the filter at `i`), from its real fill.
    pub(crate) fn fpr(&self, i: usize) -> f64 {
        self.layers[i].flat.fpr()
    }

    /// Share of ones over all filters.
    pub(crate) fn fill(&self) -> f64 {
        let fills = self.layers.iter().map(|layer| layer.flat.fill());
        fills.sum::<f64>() / self.len() as f64
    }

    /// m and k of each filter, and their number.
    pub(crate) fn describe(&self) -> Vec<Fact> {
        let Flat { m, k } = self.flat();
        vec![fact("m", m), fact("k", k), fact("filters", self.len() as u64)]
    }

    /// The cells that a query looks at in the filters at `which`, numbered through all filters.
    pub(crate) fn trace(
        &self,
        which: impl IntoIterator<Item = usize>,
        digest: Digest,
    ) -> Vec<Touched> {
        let cells = |i: usize| {
            let cells = self.layers[i].flat.trace(self.salted(i, digest));
            let start = i as u64 * self.flat().m;
            cells.into_iter().map(move |cell| Touched { index: start + cell.index, ..cell })
        };
        which.into_iter().flat_map(cells).collect()
    }

    /// Refuses, in a file, other than `count` filters.
    pub(crate) fn check_len(&self, count: impl FnOnce(usize) -> bool) -> Result<()> {
        if count(self.len()) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not as many filters as there must be"))
    }

    fn check(&self) -> Result<()> {
        let same = self.layers.windows(2).all(|w| w[0].flat.probe == w[1].flat.probe);
        let planned = self.layers.first().is_some_and(|layer| layer.flat.probe.is_planned());
        let counted = self.layers.iter().all(|layer| layer.items <= MOST_ITEMS);
        if same && planned && counted && self.len() <= MAX_GENERATIONS {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: filters of different shapes in one window"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_keep_their_hashes_while_they_grow_old() {
        let mut all = Generations::new(Flat { m: 1000, k: 7 }, 3).unwrap();
        let digest = Digest { h1: 1, h2: 2 };
        all.insert(0, digest);
        all.insert(0, digest);
        assert_eq!(all.items(0), 1, "what is there is not counted again");
        for age in 0..3 {
            let found: Vec<bool> = (0..3).map(|i| all.contains(i, digest)).collect();
            assert_eq!(found, [age == 0, age == 1, age == 2]);
            assert_eq!(all.trace([age], digest).iter().filter(|cell| cell.agrees).count(), 7);
            all.shift();
        }
        assert!((0..3).all(|i| !all.contains(i, digest)), "forgotten");
        all.insert(0, digest);
        all.insert(1, digest);
        let bits =
            |i: usize| all.trace([i], digest).iter().map(|c| c.index % 1000).collect::<Vec<_>>();
        assert_ne!(bits(0), bits(1), "hash functions of their own");
    }

    #[test]
    fn a_leap_of_ticks_forgets_everything() {
        let mut all = Generations::new(Flat { m: 100, k: 3 }, 2).unwrap();
        all.insert(1, Digest { h1: 1, h2: 2 });
        all.age(u64::MAX);
        assert_eq!(all.fill(), 0.0);
        all.resize(4).unwrap();
        assert_eq!(all.len(), 4);
        assert!(all.check().is_ok());
        all.layers[2].flat = FlatBits::new(Flat { m: 100, k: 4 }).unwrap();
        assert!(all.check().is_err());
    }
}

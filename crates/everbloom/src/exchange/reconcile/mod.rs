//! Set reconciliation (Eppstein, Goodrich, Uyeda, Varghese 2011): both sides learn what they do not
//! share, for about as many bytes as that takes.
//!
//! ```text
//!   Seeker                                        Holder
//!      │ ── OPEN: a seed ─────────────────────────▶ │
//!      │ ◀──────────── STRATA: its set, roughly ─── │   how large is the difference?
//!      │ ── ASK: so many cells ───────────────────▶ │   ╮
//!      │ ◀─────────────── CELLS: its set, in them ─ │   ╯ again with more, until they decode
//!      │ ── OURS: the keys only the seeker has ───▶ │
//!      │ ── WANT: a digest of what is shared, ids ▶ │
//!      │ ◀────────── THEIRS: the keys behind them ─ │
//!      │ ◀─────────────────────────────────── END ─ │
//!      │ ◀───────────── or AGAIN, at any time ───── │   ids collide: OPEN with the next seed
//! ```
//!
//! Filters hold 64-bit ids. Two keys with one id would make the result wrong without a word, so a side
//! that has two such keys of its own says AGAIN, and the digest finds two on different sides.
//!
//! A peer that lies can make the exchange fail, or hide keys it has. It can't make up differences: a key
//! that is reported as the other side's hashes to an id in that side's cells, and is not held here.

mod holder;
mod seeker;

use std::collections::{HashMap, HashSet};

pub use holder::Holder;
pub use seeker::Seeker;

use crate::hash::Hasher;
use crate::reconciling::Invertible;

/// A number, the seed.
const OPEN: u8 = 0x10;
/// A filter of form `strata`.
const STRATA: u8 = 0x11;
/// Nothing: the seed does not do.
const AGAIN: u8 = 0x12;
/// A number, of cells.
const ASK: u8 = 0x13;
/// A filter of form `cells`.
const CELLS: u8 = 0x14;
/// A list of keys.
const OURS: u8 = 0x15;
/// The digest of the shared keys in 16 bytes, then ids of 8.
const WANT: u8 = 0x16;
/// A list of keys.
const THEIRS: u8 = 0x17;
/// Nothing.
const END: u8 = 0x18;

/// Cells per id.
const K: u32 = 4;
/// Bytes of a cell in a file.
const CELL_BYTES: u64 = 24;
/// Seeds that are tried, from 0. Honest keys need a second one about never.
const SEEDS: u64 = 8;
/// How often cells are asked for under one seed. Their number doubles.
const ROUNDS: u32 = 64;

/// What two sets do not share, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Keys that only this side has.
    pub ours: Vec<Vec<u8>>,
    /// Keys that only the other side has.
    pub theirs: Vec<Vec<u8>>,
}

impl Found {
    pub(super) fn new(mut ours: Vec<Vec<u8>>, mut theirs: Vec<Vec<u8>>) -> Self {
        ours.sort_unstable();
        theirs.sort_unstable();
        Self { ours, theirs }
    }
}

/// One side's keys.
#[derive(Clone, Debug)]
pub struct Set {
    by_id: HashMap<u64, Vec<u8>>,
    /// Keys whose id another key has under this seed.
    collided: Vec<Vec<u8>>,
    /// Names the keys.
    hasher: Hasher,
}

impl Default for Set {
    fn default() -> Self {
        Self { by_id: HashMap::new(), collided: Vec::new(), hasher: Hasher::seeded(0) }
    }
}

/// An empty filter of about so many cells.
fn cells(seed: u64, count: u64) -> crate::error::Result<Invertible> {
    Invertible::with_shape(count, K, Hasher::seeded(seed))
}

impl Set {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The set with one more key.
    #[must_use]
    pub fn with(mut self, key: &[u8]) -> Self {
        self.insert(key);
        self
    }

    /// Adds a key, unless it is there.
    pub fn insert(&mut self, key: &[u8]) {
        let held = self
            .by_id
            .entry(Invertible::id_under(&self.hasher, key))
            .or_insert_with(|| key.to_vec());
        if held != key {
            self.collided.push(key.to_vec());
        }
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.by_id.len() + self.collided.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys, in any order.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.by_id.values().chain(&self.collided).map(Vec::as_slice)
    }

    /// The bytes that sending all keys takes, a line each.
    pub fn bytes(&self) -> u64 {
        self.keys().map(|key| key.len() as u64 + 1).sum()
    }

    /// The ids of all keys, in any order.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.by_id.keys().copied()
    }

    /// The key with this id.
    pub(super) fn key(&self, id: u64) -> Option<&[u8]> {
        self.by_id.get(&id).map(Vec::as_slice)
    }

    /// The least `count` ids, in order: as good as random keys of the set, and the same ones in every set that has
    /// them.
    pub(super) fn least_ids(&self, count: usize) -> Vec<u64> {
        let mut ids: Vec<u64> = self.ids().collect();
        if ids.len() > count {
            ids.select_nth_unstable(count);
            ids.truncate(count);
        }
        ids.sort_unstable();
        ids
    }

    pub(super) fn id(&self, key: &[u8]) -> u64 {
        Invertible::id_under(&self.hasher, key)
    }

    /// Names all keys anew; whether no two have one id.
    pub(super) fn reseed(&mut self, seed: u64) -> bool {
        let hasher = Hasher::seeded(seed);
        if hasher != self.hasher {
            let keys = self.by_id.drain().map(|(_, key)| key).chain(self.collided.drain(..));
            let keys: Vec<Vec<u8>> = keys.collect();
            self.hasher = hasher;
            keys.iter().for_each(|key| self.insert(key));
        }
        self.collided.is_empty()
    }

    /// All ids in a filter.
    fn fill(&self, mut filter: Invertible) -> Invertible {
        for id in self.by_id.keys() {
            filter.insert_id(*id);
        }
        filter
    }

    /// A digest of all keys but those of the ids `own`. A sum, so that order does not matter.
    fn shared(&self, own: &HashSet<u64>) -> [u8; 16] {
        let hasher = Hasher::seeded(0x5348_4152_4544);
        let shared = self.by_id.iter().filter(|(id, _)| !own.contains(id));
        let digests = shared.map(|(_, key)| hasher.digest(key));
        let (x, y) = digests.fold((0u64, 0u64), |(x, y), digest| {
            (x.wrapping_add(digest.h1), y.wrapping_add(digest.h2))
        });
        (u128::from(x) << 64 | u128::from(y)).to_le_bytes()
    }
}

#[cfg(test)]
mod tests;

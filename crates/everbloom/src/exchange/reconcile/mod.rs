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

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

pub use holder::Holder;
pub use seeker::Seeker;

use super::list::{append, items_of as keys_of, split};
use super::mixed::Mixed;
use super::{Frame, items};
use crate::error::Result;
use crate::hash::Hasher;
use crate::reconciling::Invertible;
use crate::threads::{available, beside};

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
/// Bytes of a cell in a file, and most of what is beside the cells.
const CELL_BYTES: u64 = 24;
const BESIDE: u64 = 64 << 10;
/// Most bytes of a filter of form `strata`: it is as long for every set.
const STRATA_BYTES: u64 = 1 << 20;
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

/// `finds!(Seeker);`: what a side tells of its keys and of the other's.
macro_rules! finds {
    ($side:ident) => {
        impl $side {
            /// This side's keys.
            pub fn set(&self) -> &Set {
                &self.set
            }

            /// What was found, when the exchange is over.
            pub fn found(&self) -> Option<&Found> {
                match &self.state {
                    State::Done(found) => Some(found),
                    _ => None,
                }
            }
        }
    };
}
pub(super) use finds;

impl Found {
    pub(super) fn new(mut ours: Vec<Vec<u8>>, mut theirs: Vec<Vec<u8>>) -> Self {
        ours.sort_unstable();
        theirs.sort_unstable();
        Self { ours, theirs }
    }
}

/// One side's keys: their bytes one after the other, and where each begins by its id.
#[derive(Clone, Debug)]
pub struct Set {
    /// Each preceded by its length.
    text: Vec<u8>,
    count: usize,
    /// Bytes of all, a line each.
    bytes: u64,
    /// Where keys begin that are about [`PART`] bytes apart, for threads to start at.
    parts: Vec<usize>,
    by_id: HashMap<u64, u64, Mixed>,
    /// Where keys begin whose id another key has under this seed.
    collided: Vec<u64>,
    /// Names the keys.
    hasher: Hasher,
    /// The sum of all keys under the seed that was last asked for, until another key comes.
    sum: Option<(u64, Sum)>,
}

/// Bytes of keys that are worth a turn of a thread.
const PART: usize = 1 << 20;

/// Keys and their ids, worked out on any thread, to be put into a set.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// Each preceded by its length.
    text: Vec<u8>,
    ids: Vec<u64>,
}

impl Named {
    /// Adds a key to those that are put into a set of ids by this hash.
    pub fn push(&mut self, hasher: &Hasher, key: &[u8]) {
        self.ids.push(Invertible::id_under(hasher, key));
        append(&mut self.text, key);
    }

    /// Forgets the keys.
    pub fn clear(&mut self) {
        self.text.clear();
        self.ids.clear();
    }
}

impl Default for Set {
    fn default() -> Self {
        Self::seeded(0)
    }
}

/// A sum over the digests of keys, in any order: equal for equal sets, and about never for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(pub u64, pub u64);

impl Sum {
    fn hasher(seed: u64) -> Hasher {
        Hasher::seeded(seed ^ 0x5348_4152_4544)
    }

    /// That of these keys.
    pub fn of<'a>(seed: u64, keys: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let hasher = Self::hasher(seed);
        keys.into_iter().fold(Self::default(), |sum, key| {
            let digest = hasher.digest(key);
            Self(sum.0.wrapping_add(digest.h1), sum.1.wrapping_add(digest.h2))
        })
    }

    /// What is left without those of a part.
    fn minus(self, other: Self) -> Self {
        Self(self.0.wrapping_sub(other.0), self.1.wrapping_sub(other.1))
    }

    /// That of both.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.wrapping_add(other.0), self.1.wrapping_add(other.1))
    }
}

/// An empty filter of about so many cells.
fn cells(seed: u64, count: u64) -> crate::error::Result<Invertible> {
    Invertible::with_shape(count, K, Hasher::seeded(seed))
}

impl Set {
    /// Reads keys whose ids are wanted.
    pub(super) fn take_wanted(
        &self,
        frame: &Frame,
        wanted: &mut HashSet<u64>,
        keys: &mut Vec<Vec<u8>>,
    ) -> Result<()> {
        items(frame, |key| {
            if !wanted.remove(&self.id(key)) {
                return Err(frame.wrong("a key that was not asked for"));
            }
            keys.push(key.to_vec());
            Ok(())
        })
    }

    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty set whose ids are under this seed from the beginning: an exchange with the same salt need not
    /// compute the ids again.
    pub fn seeded(seed: u64) -> Self {
        let hasher = Hasher::seeded(seed);
        Self {
            text: Vec::new(),
            count: 0,
            bytes: 0,
            parts: Vec::new(),
            by_id: HashMap::default(),
            collided: Vec::new(),
            hasher,
            sum: None,
        }
    }

    /// What names the keys, for [`Named::push`].
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// The seed of its ids.
    pub fn seed(&self) -> u64 {
        self.hasher.seed()
    }

    /// The set with one more key.
    #[must_use]
    pub fn with(mut self, key: &[u8]) -> Self {
        self.insert(key);
        self
    }

    /// Adds a key, unless already present.
    pub fn insert(&mut self, key: &[u8]) {
        self.enter(self.id(key), key);
    }

    /// Adds keys with ids by this set's hash, in order, unless already present.
    pub fn insert_named(&mut self, keys: &Named) {
        for (id, key) in keys.ids.iter().zip(keys_of(&keys.text)) {
            self.enter(*id, key);
        }
    }

    fn enter(&mut self, id: u64, key: &[u8]) {
        let start = self.text.len();
        match self.by_id.entry(id) {
            Entry::Vacant(free) => _ = free.insert(start as u64),
            Entry::Occupied(held) => {
                let held = *held.get();
                let mut same = std::iter::once(&held).chain(&self.collided);
                if same.any(|held| self.at(*held) == key) {
                    return;
                }
                self.collided.push(start as u64);
            }
        }
        if self.parts.last().is_none_or(|last| start - last >= PART) {
            self.parts.push(start);
        }
        append(&mut self.text, key);
        (self.count, self.bytes) = (self.count + 1, self.bytes + key.len() as u64 + 1);
        self.sum = None;
    }

    /// The key that begins there.
    fn at(&self, start: u64) -> &[u8] {
        split(&self.text[start as usize..]).map_or(&[], |(key, _)| key)
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys with their beginnings, in the order in which they came.
    fn starts(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = self.text.as_slice();
        std::iter::from_fn(move || {
            let start = (self.text.len() - rest.len()) as u64;
            let (key, behind) = split(rest)?;
            rest = behind;
            Some((start, key))
        })
    }

    /// The keys, in the order in which they came.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        keys_of(&self.text)
    }

    /// The sum of all keys, on all cores.
    pub(super) fn sum(&mut self, seed: u64) -> Sum {
        if let Some((_, sum)) = self.sum.filter(|(of, _)| *of == seed) {
            return sum;
        }
        let ends = self.parts.iter().skip(1).copied().chain([self.text.len()]);
        let parts: Vec<&[u8]> =
            self.parts.iter().zip(ends).map(|(start, end)| &self.text[*start..end]).collect();
        let each = parts.len().div_ceil(available()).max(1);
        let of = |parts: &[&[u8]]| Sum::of(seed, parts.iter().flat_map(|part| keys_of(part)));
        let sum =
            beside(parts.chunks(each), of, || ()).1.into_iter().fold(Sum::default(), Sum::plus);
        self.sum = Some((seed, sum));
        sum
    }

    /// Whether the key is in the set.
    pub fn contains(&self, key: &[u8]) -> bool {
        let held = self.by_id.get(&self.id(key)).into_iter().chain(&self.collided);
        held.into_iter().any(|start| self.at(*start) == key)
    }

    /// The bytes that sending all keys takes, a line each.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The ids of all keys, in any order.
    pub(super) fn ids(&self) -> impl Iterator<Item = u64> {
        self.by_id.keys().copied()
    }

    /// The key that has this id, under the latest salt.
    pub fn key(&self, id: u64) -> Option<&[u8]> {
        self.by_id.get(&id).map(|start| self.at(*start))
    }

    /// How many keys there are beside those of these ids, and their sum.
    pub(super) fn sum_without(&mut self, own: &HashSet<u64>, seed: u64) -> (u64, Sum) {
        let all = self.sum(seed);
        let own: Vec<&[u8]> = own.iter().filter_map(|id| self.key(*id)).collect();
        ((self.count - own.len()) as u64, all.minus(Sum::of(seed, own)))
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
            self.hasher = hasher;
            let mut by_id = std::mem::take(&mut self.by_id);
            by_id.clear();
            let mut collided = Vec::new();
            for (start, key) in self.starts() {
                if *by_id.entry(self.id(key)).or_insert(start) != start {
                    collided.push(start);
                }
            }
            (self.by_id, self.collided) = (by_id, collided);
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

    /// A digest of all keys but those of the ids `own`.
    fn shared(&self, own: &HashSet<u64>) -> [u8; 16] {
        let shared = self.by_id.iter().filter(|(id, _)| !own.contains(id));
        let Sum(x, y) = Sum::of(0, shared.map(|(_, start)| self.at(*start)));
        (u128::from(x) << 64 | u128::from(y)).to_le_bytes()
    }
}

#[cfg(test)]
mod tests;

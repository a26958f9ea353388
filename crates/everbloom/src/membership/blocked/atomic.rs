//! The blocked filter for many threads at once.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{BlockedBloom, LANES_PER_BLOCK};
use crate::cells::{AtomicBits, lanes, prefetch_to_write};
use crate::filter::{Head, Seen};
use crate::hash::{Digest, HashId, Key};
use crate::probe::{Blocked, FIELD, FIRST_FIELD, round_word};

/// The twin of [`BlockedBloom`] in lanes whose inserts take `&self`: same bits, same file.
///
/// ```
/// use everbloom::membership::BlockedBloom;
///
/// let shared = BlockedBloom::with_rate(1000, 0.01)?.into_atomic()?;
/// std::thread::scope(|s| {
///     s.spawn(|| shared.insert("left"));
///     s.spawn(|| shared.insert("right"));
/// });
/// let filter = shared.into_blocked();
/// assert!(filter.contains("left") && filter.contains("right"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicBlocked {
    pub(super) head: Head,
    pub(super) probe: Blocked,
    pub(super) bits: AtomicBits,
}

impl AtomicBlocked {
    /// Inserts a key. Lanes that have their bit already are only read, so that a line that is full of it
    /// stays shared between cores; one branch a key asks which are left.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(HashId::Quick64, key);
        let new = self.set(self.probe.block_of(digest) as usize, digest.h2);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Inserts many keys. Their lines are asked for beforehand as the only owner, which hides most of the
    /// time it takes to get a line that another core has just written.
    pub fn insert_many<I>(&self, keys: I)
    where
        I: IntoIterator<Item: Key>,
    {
        let lines = self.bits.blocks();
        let hasher = &self.head.hasher;
        let digests = keys.into_iter().map(|key| hasher.digest_usually(HashId::Quick64, &key));
        let split = |digest: Digest| (self.probe.block_of(digest) as usize, digest.h2);
        lanes::ahead(
            (lines.as_ptr(), lines.len()),
            prefetch_to_write,
            digests,
            split,
            |at, word| {
                self.set(at, word);
            },
        );
    }

    /// Sets the bits that `word` names in a line; true if one was zero.
    #[inline]
    fn set(&self, line: usize, word: u64) -> bool {
        let line = &self.bits.blocks()[line];
        let rounds = 0..self.probe.k() / LANES_PER_BLOCK as u32;
        rounds.fold(false, |new, round| new | set_lanes(line, round_word(word, round)))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest_usually(HashId::Quick64, key);
        let line = &self.bits.blocks()[self.probe.block_of(digest) as usize];
        let rounds = 0..self.probe.k() / LANES_PER_BLOCK as u32;
        rounds.into_iter().all(|round| missing_lanes(line, round_word(digest.h2, round)) == 0)
    }

    /// The filter for one owner again. Items come from the fill: counting them would make every insert
    /// write to one shared cache line.
    pub fn into_blocked(self) -> BlockedBloom {
        let bits = self.bits.into_plain();
        let mut filter = BlockedBloom { head: self.head, probe: self.probe, patterns: None, bits };
        if let Some(n) = filter.cardinality() {
            filter.head.items = n.round() as u64;
        }
        filter
    }
}

/// The bit of a lane that a word names.
#[inline]
fn lane_bit(word: u64, lane: usize) -> u64 {
    1 << (word >> (FIRST_FIELD + FIELD * lane as u32) & 63)
}

/// A bit for every lane that lacks its own.
#[inline]
fn missing_lanes(line: &[AtomicU64; 8], word: u64) -> u32 {
    let lacks = |lane: usize| line[lane].load(Ordering::Relaxed) & lane_bit(word, lane) == 0;
    (0..8).fold(0, |missing, lane| missing | u32::from(lacks(lane)) << lane)
}

#[inline]
fn set_lanes(line: &[AtomicU64; 8], word: u64) -> bool {
    let mut missing = missing_lanes(line, word);
    let mut new = false;
    while missing != 0 {
        let lane = missing.trailing_zeros() as usize & 7;
        let bit = lane_bit(word, lane);
        new |= line[lane].fetch_or(bit, Ordering::Relaxed) & bit == 0;
        missing &= missing - 1;
    }
    new
}

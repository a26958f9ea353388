//! The blocked filter for many threads at once.
//!
//! Whoever inserts looks first, without writing: lines that hold the key already stay shared between cores.
//! To write it takes one of [`STRIPES`] locks, picked by the line, and then sets all lanes by plain stores. An
//! atomic OR for each lane, without locks, was here before: five to six locked instructions for a new key in
//! place of one, and three times as long. Queries never wait: readers look at words that are always whole, and
//! bits never go back to zero.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::blocks::Blocks;
use super::{BlockedBloom, HASH};
use crate::cells::{AtomicBits, Bits};
use crate::filter::{Head, Seen};
use crate::hash::{Batch, Digests, Key};
use crate::parts::line_bits::{is_for_lanes, rounds};
use crate::parts::probed_bits::ProbedBits;
use crate::parts::recount;
use crate::probe::{Blocked, bit_of_lane, lanes, round_word};

/// The twin of [`BlockedBloom`] in lanes whose inserts take `&self`: same bits, same file.
///
/// ```
/// use everbloom::BlockedBloom;
///
/// let shared = BlockedBloom::with_rate(1000, 0.01)?.into_atomic()?;
/// std::thread::scope(|s| {
///     s.spawn(|| shared.insert("left"));
///     s.spawn(|| shared.insert("right"));
/// });
/// let filter = shared.into_blocked();
/// assert!(filter.contains("left") && filter.contains("right"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Debug)]
pub struct AtomicBlocked {
    head: Head,
    probe: Blocked,
    bits: AtomicBits,
    locks: Box<[AtomicBool]>,
}

/// Locks, a byte each: many more than there are threads, so that two hardly ever want the same one.
const STRIPES: usize = 4096;
/// Neighboring lines that share a lock, so that whoever adds many takes it once for all of them.
const STRIPE: usize = 16;

type Line = [AtomicU64; 8];

impl AtomicBlocked {
    pub(super) fn new(head: Head, probe: Blocked, bits: Bits) -> Self {
        let locks = (0..STRIPES).map(|_| AtomicBool::new(false)).collect();
        Self { head, probe, bits: bits.into_atomic(), locks }
    }

    /// Inserts a key.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(HASH, key);
        let new = self.set(self.probe.block_of(digest) as usize, digest.h2);
        Seen::new_if(new)
    }

    /// Inserts a slice of keys. If there are more of them than lines, they go into lines of the thread's own,
    /// which are then added to the shared ones: threads meet once per line instead of once per key. That
    /// takes the memory of another filter meanwhile.
    pub fn insert_many<K: Key>(&self, keys: &[K]) {
        let digests = Batch::<_, { HASH as u16 }>::new(&self.head.hasher, keys);
        if keys.len() < self.bits.blocks().len() || !is_for_lanes(self.probe) {
            digests.for_each(|_, digest| {
                self.set(self.probe.block_of(digest) as usize, digest.h2);
            });
            return;
        }
        let mut own = Bits::new(self.probe.m());
        lanes::lines_set(own.blocks_mut(), rounds(self.probe), digests);
        self.add(&own);
    }

    /// Sets the bits that `word` names in a line; true if one was zero.
    #[inline]
    fn set(&self, at: usize, word: u64) -> bool {
        let line = &self.bits.blocks()[at];
        if has(line, word, self.probe) {
            return false;
        }
        let bits = |lane| {
            let words = (0..rounds(self.probe)).map(|round| round_word(word, round));
            words.fold(0, |bits, word| bits | 1 << bit_of_lane(word, lane))
        };
        self.alone(at, || add_bits(line, bits))
    }

    /// Runs `write` while no other thread writes to the line at `at` or its neighbors of one stripe.
    #[inline]
    fn alone<R>(&self, at: usize, write: impl FnOnce() -> R) -> R {
        let lock = &self.locks[at / STRIPE % STRIPES];
        while lock.swap(true, Ordering::Acquire) {
            // Its owner is a few instructions away from giving it back, unless it was put to sleep.
            std::thread::yield_now();
        }
        let result = write();
        lock.store(false, Ordering::Release);
        result
    }

    /// Adds lines of the thread's own.
    fn add(&self, own: &Bits) {
        let (lines, shared) = (own.blocks::<8>(), self.bits.blocks());
        let stripes = lines.len().div_ceil(STRIPE);
        // Threads that come at the same time start at different lines.
        let first = lines.as_ptr().addr() / 4096 % stripes;
        for stripe in (first..stripes).chain(0..first) {
            let range = stripe * STRIPE..lines.len().min((stripe + 1) * STRIPE);
            self.alone(range.start, || {
                for (own, shared) in lines[range.clone()].iter().zip(&shared[range]) {
                    add_bits(shared, |lane| own[lane]);
                }
            });
        }
    }

    /// Whether the key may be a member.
    #[inline(always)]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest_usually(HASH, key);
        let line = &self.bits.blocks()[self.probe.block_of(digest) as usize];
        has(line, digest.h2, self.probe)
    }

    /// The filter for one owner again. Items come from the fill: counting them would make every insert
    /// write to one shared cache line.
    pub fn into_blocked(self) -> BlockedBloom {
        let probe = Blocks { probe: self.probe, patterns: None };
        let (mut head, bits) = (self.head, self.bits.into_plain());
        let blocks = ProbedBits { probe, bits };
        recount(&mut head, &blocks);
        BlockedBloom { head, blocks }
    }
}

/// Whether the line has all bits that `word` names.
#[inline]
fn has(line: &Line, word: u64, probe: Blocked) -> bool {
    lanes::shared_line_has(line, word)
        && (1..rounds(probe)).all(|round| lanes::shared_line_has(line, round_word(word, round)))
}

/// Sets the bits of `mask` in each lane of a line that nobody else writes to; true if one was zero.
#[inline]
fn add_bits(line: &Line, mask: impl Fn(usize) -> u64) -> bool {
    let mut fresh = 0;
    for (lane, word) in line.iter().enumerate() {
        let (old, mask) = (word.load(Ordering::Relaxed), mask(lane));
        fresh |= mask & !old;
        word.store(old | mask, Ordering::Relaxed);
    }
    fresh != 0
}

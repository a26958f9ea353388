//! Cells lent to several threads that insert at the same time.
//!
//! Bits are only ever set, and in which order makes no difference: the filter is the same as if one thread had
//! inserted all, byte for byte. Keys whose bits lie all over the array set them one by one, atomically. Keys whose
//! bits lie in one block are sorted by region first; a thread then has a region to itself for a few hundred keys,
//! and sets whole blocks by vector instructions:
//!
//! ```text
//!   digests ──▶ by region │ 0 0 0 │ 1 1 │ 2 2 2 2 │ …     each under its lock, from different ends
//! ```
//!
//! A filter for each thread, united in the end, was rejected: it takes the memory of as many filters.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError, TryLockError};

use crate::cells::set_shared_bit;
use crate::filter::LentCells;
use crate::hash::Digest;
use crate::memory::prefetch_to_write;
use crate::parts::probed_bits::Probes;
use crate::probe::bulk::SET_AHEAD;

/// Bits all over the array.
pub(crate) struct Scattered<'a, P> {
    pub(crate) words: &'a [AtomicU64],
    pub(crate) probe: P,
}

impl<P: Probes + Sync> LentCells for Scattered<'_, P> {
    fn insert(&self, digests: &[Digest]) {
        let start = self.words.as_ptr();
        let fetch = |i: u64| prefetch_to_write(start.wrapping_add((i / 64) as usize).cast());
        for (at, &digest) in digests.iter().enumerate() {
            // The first few are not prefetched: there are thousands.
            if let Some(&later) = digests.get(at + SET_AHEAD) {
                self.probe.each(later, fetch);
            }
            self.probe.each(digest, |i| {
                set_shared_bit(self.words, i);
            });
        }
    }
}

/// Regions at most: many more than threads that want one, and so few that each gets hundreds of keys at once.
const REGIONS: u64 = 64;

/// Which of so many blocks is a digest's, and the word that names its bits there.
pub(crate) type Place = fn(Digest, u64) -> (usize, u64);

/// Blocks of `W` words, cut into regions.
pub(crate) struct Regions<'a, const W: usize, S> {
    regions: Vec<Mutex<&'a mut [[u64; W]]>>,
    blocks: u64,
    /// A region has 2^shift blocks.
    shift: u32,
    place: Place,
    set: S,
    sorted: Mutex<Vec<Sorted>>,
}

/// Digests by region: where each region's begin, and the digests with their block's place in the region as first
/// word.
struct Sorted {
    ends: [usize; REGIONS as usize],
    digests: Vec<Digest>,
}

impl Default for Sorted {
    fn default() -> Self {
        Self { ends: [0; REGIONS as usize], digests: Vec::new() }
    }
}

impl<'a, const W: usize, S> Regions<'a, W, S>
where
    S: Fn(&mut [[u64; W]], &[Digest]) + Sync,
{
    /// `set` sets the bits of digests whose first word is the place of their block.
    pub(crate) fn new(blocks: &'a mut [[u64; W]], place: Place, set: S) -> Self {
        let count = blocks.len() as u64;
        let shift = count.div_ceil(REGIONS).next_power_of_two().trailing_zeros();
        let regions = blocks.chunks_mut(1 << shift).map(Mutex::new).collect();
        Self { regions, blocks: count, shift, place, set, sorted: Mutex::default() }
    }

    /// A counting sort: no comparison, two passes.
    fn sort(&self, digests: &[Digest], sorted: &mut Sorted) {
        let region = |place: usize| place >> self.shift;
        let ends = &mut sorted.ends;
        ends.fill(0);
        for digest in digests {
            ends[region((self.place)(*digest, self.blocks).0)] += 1;
        }
        // Where each region begins, and from there on where its next digest goes: in the end, where it ends.
        let mut begin = 0;
        for end in ends.iter_mut() {
            begin += std::mem::replace(end, begin);
        }
        sorted.digests.resize(digests.len(), Digest { h1: 0, h2: 0 });
        for digest in digests {
            let (place, h2) = (self.place)(*digest, self.blocks);
            let end = &mut ends[region(place)];
            let h1 = (place & ((1 << self.shift) - 1)) as u64;
            sorted.digests[*end] = Digest { h1, h2 };
            *end += 1;
        }
    }
}

impl<const W: usize, S> LentCells for Regions<'_, W, S>
where
    S: Fn(&mut [[u64; W]], &[Digest]) + Sync,
{
    fn insert(&self, digests: &[Digest]) {
        let pool = || self.sorted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sorted = pool().pop().unwrap_or_default();
        self.sort(digests, &mut sorted);
        let of = |region: usize| {
            let begin = region.checked_sub(1).map_or(0, |before| sorted.ends[before]);
            &sorted.digests[begin..sorted.ends[region]]
        };
        // Threads that come at the same time start at different regions, and leave for later what is taken.
        let count = self.regions.len();
        let first = sorted.digests.as_ptr().addr() / 4096 % count;
        let mut later = Vec::new();
        for region in (first..count).chain(0..first) {
            match self.regions[region].try_lock() {
                Ok(mut blocks) => (self.set)(&mut blocks, of(region)),
                Err(TryLockError::WouldBlock) => later.push(region),
                // A thread that panicked has told why, and nobody reads these bits any more.
                Err(TryLockError::Poisoned(_)) => return,
            }
        }
        for region in later {
            let Ok(mut blocks) = self.regions[region].lock() else { return };
            (self.set)(&mut blocks, of(region));
        }
        pool().push(sorted);
    }
}

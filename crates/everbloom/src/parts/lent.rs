//! Cells lent to several threads that insert at the same time.
//!
//! Bits are only ever set, and in which order makes no difference: the filter is the same as if one thread had
//! inserted all, byte for byte. The cells are cut into regions. A thread notes for each region what it is to set
//! there, and once that is much, it has the region to itself and sets it all by plain or vector instructions:
//!
//! ```text
//!   digests ──▶ notes │ region 0 │ 1 │ 2 │ …     a region is written to by one thread at a time, under its lock
//! ```
//!
//! Setting scattered bits atomically in place takes as long, and blocks would need another way beside it. A filter for
//! each thread, united in the end, takes the memory of as many filters.

use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use crate::cells::set_bit;
use crate::filter::LentCells;
use crate::hash::Digest;
use crate::memory::prefetch_to_write;
use crate::parts::probed_bits::Probes;

/// Where keys set bits, in cells that are cut into regions.
pub(crate) trait Places<C>: Sync {
    /// What is noted until a region is at hand.
    type Note: Copy + Send;

    /// Calls `f` with every cell where a key sets bits, and a word that tells which.
    fn each(&self, digest: Digest, f: impl FnMut(usize, u64));

    /// A note of the cell number `at` of a region.
    fn note(at: usize, bits: u64) -> Self::Note;

    /// Sets what is noted.
    fn set(&self, region: &mut [C], notes: &[Self::Note]);
}

/// Bits all over the array.
pub(crate) struct Scattered<P>(pub(crate) P);

impl<P: Probes + Sync> Places<u64> for Scattered<P> {
    /// The bit's number in the region.
    type Note = u32;

    #[inline]
    fn each(&self, digest: Digest, mut f: impl FnMut(usize, u64)) {
        self.0.each(digest, |i| f((i / 64) as usize, i % 64));
    }

    #[inline]
    fn note(at: usize, bit: u64) -> u32 {
        (at as u32) << 6 | bit as u32
    }

    fn set(&self, region: &mut [u64], notes: &[u32]) {
        /// Bits that are on their way while one is set.
        const AHEAD: usize = 32;
        let start = region.as_ptr();
        let fetch = |note: u32| prefetch_to_write(start.wrapping_add((note >> 6) as usize).cast());
        notes.iter().take(AHEAD).for_each(|note| fetch(*note));
        for (i, note) in notes.iter().enumerate() {
            if let Some(later) = notes.get(i + AHEAD) {
                fetch(*later);
            }
            set_bit(region, u64::from(*note));
        }
    }
}

/// All bits of a key in one block of `W` words.
pub(crate) struct Whole<F, S> {
    /// Which block is a digest's, and the word that names its bits there.
    pub(crate) place: F,
    /// Sets the bits of digests whose first word is the place of their block.
    pub(crate) set: S,
}

impl<const W: usize, F, S> Places<[u64; W]> for Whole<F, S>
where
    F: Fn(Digest) -> (usize, u64) + Sync,
    S: Fn(&mut [[u64; W]], &[Digest]) + Sync,
{
    type Note = Digest;

    #[inline]
    fn each(&self, digest: Digest, mut f: impl FnMut(usize, u64)) {
        let (block, bits) = (self.place)(digest);
        f(block, bits);
    }

    #[inline]
    fn note(at: usize, bits: u64) -> Digest {
        Digest { h1: at as u64, h2: bits }
    }

    fn set(&self, region: &mut [[u64; W]], notes: &[Digest]) {
        (self.set)(region, notes);
    }
}

/// Regions at most, of arrays up to a size: many more than threads that want one, and so few that each soon has much to
/// set.
const REGIONS: usize = 64;

/// Cells of a region at most: 2^26 words have 2^32 bits.
const LARGEST: usize = 1 << 26;

/// Notes after which a thread asks for a region, and asks again if another one has it.
const ENOUGH: usize = 256;

/// Notes after which it waits.
const ROOM: usize = 4 * ENOUGH;

/// Cells, cut into regions.
pub(crate) struct Regions<'a, C, P: Places<C>> {
    places: P,
    regions: Vec<Mutex<&'a mut [C]>>,
    /// A region has 2^shift cells.
    shift: u32,
    /// Of threads that are not inserting just now.
    notes: Mutex<Vec<Notes<P::Note>>>,
}

/// What a thread is to set, by region.
struct Notes<T> {
    /// How much of its room each region uses.
    used: Vec<usize>,
    room: Vec<T>,
}

impl<T: Copy> Notes<T> {
    fn new(regions: usize, none: T) -> Self {
        Self { used: vec![0; regions], room: vec![none; regions * ROOM] }
    }

    /// What is noted of a region.
    fn of(&self, region: usize) -> &[T] {
        &self.room[region * ROOM..region * ROOM + self.used[region]]
    }
}

impl<'a, C: Send, P: Places<C>> Regions<'a, C, P> {
    pub(crate) fn new(cells: &'a mut [C], places: P) -> Self {
        let length = cells.len().div_ceil(REGIONS).next_power_of_two().min(LARGEST);
        let regions = cells.chunks_mut(length).map(Mutex::new).collect();
        Self { places, regions, shift: length.trailing_zeros(), notes: Mutex::default() }
    }

    /// Sets what is noted of a region, unless another thread has it and there is room for more.
    #[cold]
    fn settle(&self, region: usize, notes: &mut Notes<P::Note>) {
        let lock = &self.regions[region];
        let mut cells = match lock.try_lock() {
            Err(TryLockError::WouldBlock) if notes.used[region] < ROOM => return,
            // Where a thread has panicked, nobody reads these bits any more.
            Err(_) => lock.lock().unwrap_or_else(PoisonError::into_inner),
            Ok(cells) => cells,
        };
        self.places.set(&mut cells, notes.of(region));
        notes.used[region] = 0;
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Notes<P::Note>>> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Send, P: Places<C>> LentCells for Regions<'_, C, P> {
    fn insert(&self, digests: &[Digest]) {
        let before = self.kept().pop();
        let mut notes = before.unwrap_or_else(|| Notes::new(self.regions.len(), P::note(0, 0)));
        for digest in digests {
            self.places.each(*digest, |cell, bits| {
                let (region, at) = (cell >> self.shift, cell & ((1 << self.shift) - 1));
                let used = &mut notes.used[region];
                notes.room[region * ROOM + *used] = P::note(at, bits);
                *used += 1;
                if used.is_multiple_of(ENOUGH) {
                    self.settle(region, &mut notes);
                }
            });
        }
        self.kept().push(notes);
    }
}

/// What is noted and not set yet is set when the cells are given back.
impl<C, P: Places<C>> Drop for Regions<'_, C, P> {
    fn drop(&mut self) {
        let kept = std::mem::take(self.notes.get_mut().unwrap_or_else(PoisonError::into_inner));
        for (region, cells) in self.regions.iter_mut().enumerate() {
            let cells = cells.get_mut().unwrap_or_else(PoisonError::into_inner);
            kept.iter().for_each(|notes| self.places.set(cells, notes.of(region)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::Probe;

    #[test]
    fn every_bit_of_the_largest_region_has_a_note_of_its_own() {
        let note = |at, bit| <Scattered<Probe> as Places<u64>>::note(at, bit);
        assert_eq!([note(0, 0), note(0, 63), note(1, 0)], [0, 63, 64]);
        assert_eq!(note(LARGEST - 1, 63), u32::MAX);
    }
}

//! Cells lent to several threads that insert at the same time.
//!
//! Bits are only ever set, and in which order makes no difference: the filter is the same as if one thread had
//! inserted all, byte for byte. The cells are cut into regions that fit a cache. A thread notes for each region what is
//! to be set there, and hands its notes over once they are some; whoever makes them many has the region to itself and
//! sets them all, by plain or vector instructions:
//!
//! ```text
//!   digests ──▶ a thread's notes │ region 0 │ 1 │ 2 │ …  ──▶  waiting notes of all threads  ──▶  region, under its lock
//! ```
//!
//! By then each line of the region has several bits to be set, and comes from memory once for all of them. Setting
//! scattered bits in place, atomically or by each thread on its own, fetches a line and writes it back for every bit,
//! and eight cores ask for more lines than memory has to give. Waiting notes take at most a quarter of the cells' memory.
//!
//! Cells so few that copies of them are small are not cut: each thread has a copy, and these are united in the end. That is as fast as
//! threads can be, and takes the memory of as many filters.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::cells::{Bits, set_bit};
use crate::filter::LentCells;
use crate::hash::Digest;
use crate::memory::prefetch_to_write;
use crate::parts::probed_bits::Probes;
use crate::threads;

/// Bytes that copies of the cells may take, all threads together. Tests have both ways at sizes that take no time.
const COPIES: usize = if cfg!(test) { 1 << 12 } else { 64 << 20 };

/// Whether copies of such bits, one for each thread, are small.
pub(crate) fn copies_are_small(bits: &Bits) -> bool {
    size_of_val(bits.words()).saturating_mul(threads::available()) <= COPIES
}

/// Bits of which each thread has a copy to insert into.
pub(crate) struct Copies<'a, F> {
    bits: &'a mut Bits,
    /// Sets the bits of keys.
    set: F,
    /// Of threads that are not inserting just now.
    copies: Mutex<Vec<Bits>>,
}

impl<'a, F: Fn(&mut Bits, &[Digest]) + Sync> Copies<'a, F> {
    pub(crate) fn new(bits: &'a mut Bits, set: F) -> Self {
        Self { bits, set, copies: Mutex::default() }
    }
}

impl<F: Fn(&mut Bits, &[Digest]) + Sync> LentCells for Copies<'_, F> {
    fn insert(&self, digests: &[Digest]) {
        let before = held(&self.copies).pop();
        let mut own = before.unwrap_or_else(|| Bits::new(self.bits.len()));
        (self.set)(&mut own, digests);
        held(&self.copies).push(own);
    }
}

/// Copies are united when the bits are given back.
impl<F> Drop for Copies<'_, F> {
    fn drop(&mut self) {
        let copies = self.copies.get_mut().unwrap_or_else(PoisonError::into_inner);
        unite(self.bits, copies);
    }
}

/// Words that a thread unites at a time.
const SPAN: usize = 1 << 14;

/// Sets the bits that are set in one of the copies, on all cores.
pub(crate) fn unite(bits: &mut Bits, copies: &[Bits]) {
    let mut spans: Vec<&mut [u64]> = bits.words_mut().chunks_mut(SPAN).collect();
    threads::each(&mut spans, |i, span| {
        for copy in copies {
            span.iter_mut().zip(&copy.words()[i * SPAN..]).for_each(|(word, own)| *word |= own);
        }
    });
}

/// Where keys set bits, in cells that are cut into regions.
pub(crate) trait Places<C>: Sync {
    /// Which bits of a cell are a key's.
    type Bits;

    /// What is noted until a region is at hand.
    type Note: Copy + Default + Send + Sync;

    /// Notes that wait for each line of a region before it is written to: together a quarter of the line's size.
    const WAITING: usize = LINE / 4 / size_of::<Self::Note>();

    /// Calls `f` with every cell where a key sets bits, and which these are.
    fn each(&self, digest: Digest, f: impl FnMut(usize, Self::Bits));

    /// A note of the cell number `at` of a region.
    fn note(at: usize, bits: Self::Bits) -> Self::Note;

    /// Sets what is noted.
    fn set(&self, region: &mut [C], notes: &[Self::Note]);
}

/// Bits all over the array.
pub(crate) struct Scattered<P>(pub(crate) P);

impl<P: Probes + Sync> Places<u64> for Scattered<P> {
    /// The bit's number in the word.
    type Bits = u32;

    /// The bit's number in the region.
    type Note = u32;

    #[inline]
    fn each(&self, digest: Digest, mut f: impl FnMut(usize, u32)) {
        self.0.each(digest, |i| f((i / 64) as usize, (i % 64) as u32));
    }

    #[inline]
    fn note(at: usize, bit: u32) -> u32 {
        (at as u32) << 6 | bit
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

/// All bits of a key in one block of `W` words, named by one of 32 or 64 bits.
pub(crate) struct Whole<F, S> {
    /// Which block is a digest's, and the word that names its bits there.
    pub(crate) place: F,
    /// Sets bits by the place of their block in a region and the word that names them.
    pub(crate) set: S,
}

impl<const W: usize, N, F, S> Places<[u64; W]> for Whole<F, S>
where
    N: Copy + Default + Send + Sync,
    F: Fn(Digest) -> (usize, N) + Sync,
    S: Fn(&mut [[u64; W]], &[(u32, N)]) + Sync,
{
    type Bits = N;

    type Note = (u32, N);

    #[inline]
    fn each(&self, digest: Digest, mut f: impl FnMut(usize, N)) {
        let (block, name) = (self.place)(digest);
        f(block, name);
    }

    #[inline]
    fn note(at: usize, name: N) -> (u32, N) {
        (at as u32, name)
    }

    fn set(&self, region: &mut [[u64; W]], notes: &[(u32, N)]) {
        (self.set)(region, notes);
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Bytes of a region that stays in the L2 cache while it is written to.
const REGION: usize = 1 << 20;

/// Regions: many more than threads that want one, and so few that a line of notes for each is in the L1 cache.
const REGIONS: std::ops::RangeInclusive<usize> = 64..=512;

/// Cells of a region at most: 2^26 words have 2^32 bits.
const LARGEST: usize = 1 << 26;

/// Bytes of a thread's own notes of a region.
const ROOM: usize = 1 << 10;

/// Cells, cut into regions.
pub(crate) struct Regions<'a, C: Send, P: Places<C>> {
    places: P,
    regions: Vec<Region<'a, C, P::Note>>,
    /// A region has 2^shift cells.
    shift: u32,
    /// Notes after which a region is written to.
    many: usize,
    /// Of threads that are not inserting just now.
    notes: Mutex<Vec<Notes<P::Note>>>,
    /// Lists of waiting notes that were set, to be used again.
    spare: Mutex<Vec<Vec<P::Note>>>,
}

struct Region<'a, C, T> {
    cells: Mutex<&'a mut [C]>,
    waiting: Mutex<Vec<T>>,
}

/// What a thread is to set, by region.
struct Notes<T> {
    /// How much of its room each region uses.
    used: Vec<usize>,
    room: Vec<T>,
}

impl<T: Copy + Default> Notes<T> {
    /// Notes of a region.
    const ROOM: usize = ROOM / size_of::<T>();

    fn new(regions: usize) -> Self {
        Self { used: vec![0; regions], room: vec![T::default(); regions * Self::ROOM] }
    }

    /// What is noted of a region.
    fn of(&self, region: usize) -> &[T] {
        &self.room[region * Self::ROOM..][..self.used[region]]
    }
}

/// What a lock holds. Where a thread has panicked, nobody reads these bits any more.
fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a, C: Send, P: Places<C>> Regions<'a, C, P> {
    pub(crate) fn new(cells: &'a mut [C], places: P) -> Self {
        let count = (size_of_val(cells) / REGION).clamp(*REGIONS.start(), *REGIONS.end());
        let length = cells.len().div_ceil(count).next_power_of_two().min(LARGEST);
        let region = |cells| Region { cells: Mutex::new(cells), waiting: Mutex::default() };
        let regions = cells.chunks_mut(length).map(region).collect();
        let many = P::WAITING * (length * size_of::<C>()).div_ceil(LINE);
        let shift = length.trailing_zeros();
        Self { places, regions, shift, many, notes: Mutex::default(), spare: Mutex::default() }
    }

    /// Hands a thread's notes of a region over, and sets all that wait if they are many.
    #[cold]
    fn hand_over(&self, region: usize, notes: &mut Notes<P::Note>) {
        let Region { cells, waiting } = &self.regions[region];
        let full = {
            let mut waiting = held(waiting);
            if waiting.capacity() == 0 {
                *waiting = Vec::with_capacity(self.many + notes.used[region]);
            }
            waiting.extend_from_slice(notes.of(region));
            notes.used[region] = 0;
            if waiting.len() < self.many {
                return;
            }
            std::mem::replace(&mut *waiting, held(&self.spare).pop().unwrap_or_default())
        };
        self.places.set(&mut held(cells), &full);
        let mut empty = full;
        empty.clear();
        held(&self.spare).push(empty);
    }
}

impl<C: Send, P: Places<C>> LentCells for Regions<'_, C, P> {
    fn insert(&self, digests: &[Digest]) {
        let before = held(&self.notes).pop();
        let mut notes = before.unwrap_or_else(|| Notes::new(self.regions.len()));
        for digest in digests {
            self.places.each(*digest, |cell, bits| {
                let (region, at) = (cell >> self.shift, cell & ((1 << self.shift) - 1));
                let used = &mut notes.used[region];
                notes.room[region * Notes::<P::Note>::ROOM + *used] = P::note(at, bits);
                *used += 1;
                if *used == Notes::<P::Note>::ROOM {
                    self.hand_over(region, &mut notes);
                }
            });
        }
        held(&self.notes).push(notes);
    }
}

/// What is noted and not set yet is set when the cells are given back.
impl<C: Send, P: Places<C>> Drop for Regions<'_, C, P> {
    fn drop(&mut self) {
        let kept = std::mem::take(self.notes.get_mut().unwrap_or_else(PoisonError::into_inner));
        let places = &self.places;
        threads::each(&mut self.regions, |number, Region { cells, waiting }| {
            let cells = cells.get_mut().unwrap_or_else(PoisonError::into_inner);
            let waiting = waiting.get_mut().unwrap_or_else(PoisonError::into_inner);
            places.set(cells, waiting);
            kept.iter().for_each(|notes| places.set(cells, notes.of(number)));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;
    use crate::probe::Probe;

    #[test]
    fn bits_of_all_copies_are_in_their_union() {
        // Less than a span, spans and a rest, and no copy at all.
        for (words, copies) in [(1, 2), (2 * SPAN + 7, 3), (SPAN, 1), (SPAN, 0)] {
            let m = 64 * words as u64 - 5;
            let some = |seed: u64| {
                let mut bits = Bits::new(m);
                (0..m / 50 + 1).for_each(|i| _ = bits.set(mix64(i ^ seed << 40) % m));
                bits
            };
            let (mut bits, copies) = (some(0), (1..=copies).map(some).collect::<Vec<_>>());
            let mut one_by_one = bits.clone();
            copies.iter().for_each(|copy| one_by_one.union(copy));
            unite(&mut bits, &copies);
            assert!(bits == one_by_one, "{words}");
        }
    }

    #[test]
    fn every_bit_of_the_largest_region_has_a_note_of_its_own() {
        let note = |at, bit| <Scattered<Probe> as Places<u64>>::note(at, bit);
        assert_eq!([note(0, 0), note(0, 63), note(1, 0)], [0, 63, 64]);
        assert_eq!(note(LARGEST - 1, 63), u32::MAX);
    }
}

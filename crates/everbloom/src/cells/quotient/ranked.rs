//! Runs by rank and select (Pandey, Bender, Johnson, Patro 2017): a quotient's run is as many run ends away as
//! there are occupied quotients before it.
//!
//! ```text
//!   block of 64 slots    occupied  0 1 0 1 1 0 …        the run of quotient 4 is the third of the block:
//!                        run end   1 0 1 0 0 1 1 …      its end is the third one from place `offset` on
//!                        offset    1                    the run of an earlier block's quotient reaches in
//! ```
//!
//! Offsets are kept in a byte. One that is larger is stored as 255 and computed from the blocks before it, which
//! only long runs or very full tables need. Most runs are found by [`near`](super::near); what follows here finds
//! all of them.

use super::near::Near;
use super::table::{BLOCK, FAR, Place, RankSelect};
use super::{Run, wrapped};
use crate::cells::rank::rank_in_word;
use crate::cells::{Bits, Packed, ones, packed};
use crate::memory::prefetch;

impl RankSelect {
    /// The place after the run end number `rank` from `place` on.
    #[inline(always)]
    fn after_end(&self, place: Place, rank: u32) -> Place {
        let (words, block) = (self.ends.words(), place / BLOCK);
        let word = words[wrapped(block, words.len() as u64) as usize];
        let word = word >> (place % BLOCK) << (place % BLOCK);
        if rank < ones::count(word) {
            return block * BLOCK + u64::from(ones::select(word, rank)) + 1;
        }
        self.after_far_end(place, word, rank)
    }

    /// [`Self::after_end`] where it is beyond the block whose ends from there on are `word`.
    #[inline(never)]
    fn after_far_end(&self, place: Place, mut word: u64, mut rank: u32) -> Place {
        let (words, blocks) = (self.ends.words(), self.ends.words().len() as u64);
        let mut block = place / BLOCK;
        loop {
            let ones = ones::count(word);
            if rank < ones {
                return block * BLOCK + u64::from(ones::select(word, rank)) + 1;
            }
            // A sound table has the end that is looked for; no walk is longer than two rounds.
            if block >= 2 * blocks {
                return place;
            }
            rank -= ones;
            block += 1;
            word = words[(block % blocks) as usize];
        }
    }

    /// The offset of a block.
    #[inline(always)]
    fn offset(&self, block: u64) -> u64 {
        let offset = match self.offsets.bytes() {
            Some(bytes) => u64::from(bytes[block as usize]),
            None => self.offsets.get(block),
        };
        if offset < FAR { offset } else { self.far_offset(block) }
    }

    /// An offset that a byte does not hold, from the blocks before. One of them has a small one, since a slot
    /// is empty somewhere.
    #[cold]
    fn far_offset(&self, block: u64) -> u64 {
        let blocks = self.offsets.len();
        let before = |by: u64| wrapped(block + blocks - by, blocks);
        let near = (1..blocks).find(|by| self.offsets.get(before(*by)) < FAR).unwrap_or(0);
        let start = self.offsets.get(before(near));
        (1..=near).rev().fold(start, |offset, by| self.next_offset(before(by), offset))
    }

    /// The offset of the block after one with this offset.
    fn next_offset(&self, block: u64, offset: u64) -> u64 {
        let runs = ones::count(self.occupied.words()[block as usize]);
        self.limit(block, offset, runs).saturating_sub((block + 1) * BLOCK)
    }

    /// The place after the first `runs` runs of a block, and all runs before them.
    #[inline(always)]
    fn limit(&self, block: u64, offset: u64, runs: u32) -> Place {
        let start = block * BLOCK + offset;
        if runs == 0 { start } else { self.after_end(start, runs - 1) }
    }

    /// The place after the runs of all quotients up to this one, which may be numbered on.
    #[inline(always)]
    fn limit_at(&self, place: Place) -> Place {
        self.near(place).map_or_else(|| self.limit_far(place), |near| near.limit)
    }

    #[inline(never)]
    fn limit_far(&self, place: Place) -> Place {
        let slots = self.len();
        // Few places are numbered on, and a division takes as long as all the rest.
        let round = if place < slots { 0 } else { place / slots * slots };
        let quotient = place - round;
        let block = quotient / BLOCK;
        let word = self.occupied.words()[block as usize];
        let runs = rank_in_word(word, (quotient % BLOCK) as u32 + 1);
        round + self.limit(block, self.offset(block), runs)
    }

    /// Where the quotient's run begins and ends, not wrapped.
    #[inline(never)]
    fn places(&self, quotient: u64) -> (Place, Place) {
        let block = quotient / BLOCK;
        let word = self.occupied.words()[block as usize];
        let before = rank_in_word(word, (quotient % BLOCK) as u32);
        let limit = self.limit(block, self.offset(block), before);
        let start = limit.max(quotient);
        (start, if self.occupied(quotient) { self.after_end(limit, 0) } else { start })
    }

    /// Prefetches what a look at a quotient's run reads, if the run is where most are.
    #[inline]
    pub(super) fn prefetch(&self, quotient: u64) {
        let word = (quotient / BLOCK) as usize;
        prefetch(self.occupied.words().as_ptr().wrapping_add(word).cast());
        prefetch(self.ends.words().as_ptr().wrapping_add(word).cast());
        prefetch(self.offsets.words().as_ptr().wrapping_add(word / 8).cast());
        let at = (quotient * u64::from(self.width()) / 64) as usize;
        prefetch(self.values.words().as_ptr().wrapping_add(at).cast());
    }

    /// Whether a quotient's run, whose values rise, holds a value.
    #[inline]
    pub(super) fn holds(&self, quotient: u64, value: u64) -> bool {
        let block = quotient / BLOCK;
        let (word, at) = (self.occupied.words()[block as usize], quotient % BLOCK);
        if word >> at & 1 == 0 {
            return false;
        }
        // From its end backwards: where it begins need not be known.
        let runs = ones::count(word << (BLOCK - 1 - at));
        let mut place = self.limit(block, self.offset(block), runs) - 1;
        loop {
            let slot = wrapped(place, self.len());
            let held = self.value(slot);
            if held <= value || place == quotient {
                return held == value;
            }
            place -= 1;
            if self.ends.get(wrapped(place, self.len())) {
                return false;
            }
        }
    }

    #[inline]
    pub(super) fn run(&self, quotient: u64) -> Run {
        // Whatever is near is not wrapped.
        if let Some(Near { start, len, .. }) = self.near(quotient) {
            return Run { start, len };
        }
        let (start, end) = self.places(quotient);
        Run { start: wrapped(start, self.len()), len: end - start }
    }

    /// Where a quotient's run begins and ends, not wrapped.
    #[inline]
    fn unwrapped(&self, quotient: u64, run: Run) -> (Place, Place) {
        // No run begins before its quotient.
        let start = if run.start < quotient { run.start + self.len() } else { run.start };
        (start, start + run.len)
    }

    /// Adds a slot at place `at` of a quotient's run: what stands there moves on, up to the next empty slot.
    pub(super) fn open(&mut self, quotient: u64, run: Run, at: u64) {
        let slots = self.len();
        let (start, end) = self.unwrapped(quotient, run);
        let mut empty = end;
        loop {
            let limit = self.limit_at(empty);
            if limit <= empty {
                break;
            }
            empty = limit;
        }
        shift_up(&mut self.values, slots, start + at, empty);
        shift_up(&mut self.ends, slots, end, empty);
        if !self.occupied.set(quotient) {
            self.ends.reset(wrapped(end - 1, slots));
        }
        self.ends.set(wrapped(end, slots));
        for block in quotient / BLOCK + 1..=empty / BLOCK {
            let block = wrapped(block, self.offsets.len());
            self.offsets.set(block, (self.offsets.get(block) + 1).min(FAR));
        }
    }

    /// Drops the slot at place `at` of a quotient's run: what was shifted comes back, up to the first that was not.
    pub(super) fn close(&mut self, quotient: u64, run: Run, at: u64) {
        let slots = self.len();
        let (start, end) = self.unwrapped(quotient, run);
        let mut stop = end;
        loop {
            let limit = self.limit_at(stop - 1);
            if limit <= stop {
                break;
            }
            stop = limit;
        }
        shift_down(&mut self.values, slots, start + at + 1, stop);
        shift_down(&mut self.ends, slots, end, stop);
        let emptied = wrapped(stop - 1, slots);
        self.ends.reset(emptied);
        self.put(emptied, 0);
        if run.len == 1 {
            self.occupied.reset(quotient);
        } else {
            self.ends.set(wrapped(end - 2, slots));
        }
        let (first, last, blocks) = (quotient / BLOCK, (stop - 1) / BLOCK, self.offsets.len());
        if first == last {
            return;
        }
        // What moved may have reached around to where it began.
        let mut offset = self.offset(first) - u64::from(last == first + blocks);
        for block in first..last {
            let (block, next) = (wrapped(block, blocks), wrapped(block + 1, blocks));
            offset = self.next_offset(block, offset);
            self.offsets.set(next, offset.min(FAR));
        }
    }

    /// Slots in use; `None` unless every run stands where it must, one slot is empty, empty slots are zero, and
    /// offsets are right.
    pub(super) fn used(&self) -> Option<u64> {
        let (slots, blocks) = (self.len(), self.offsets.len());
        if self.occupied.ones() != self.ends.ones() {
            return None;
        }
        let first = (0..blocks).find(|&block| self.offsets.get(block) < BLOCK)?;
        let begin = self.offsets.get(first);
        // The place after all runs so far, and the slots they take.
        let (mut limit, mut used) = (first * BLOCK + begin, begin);
        for block in first..first + blocks {
            let offset = limit.saturating_sub(block * BLOCK);
            if self.offsets.get(wrapped(block, blocks)) != offset.min(FAR) {
                return None;
            }
            let mut word = self.occupied.words()[wrapped(block, blocks) as usize];
            while word != 0 {
                let quotient = block * BLOCK + u64::from(word.trailing_zeros());
                word &= word - 1;
                let start = limit.max(quotient);
                if (limit..start).any(|place| self.value(wrapped(place, slots)) != 0) {
                    return None;
                }
                limit = self.after_end(start, 0);
                used = used + limit - start;
                // Runs that go on beyond where the round began would stand on themselves.
                if limit <= start || limit > first * BLOCK + begin + slots {
                    return None;
                }
            }
        }
        let end = first * BLOCK + slots;
        let rest = limit.max(first * BLOCK)..end;
        let zero = rest.into_iter().all(|place| self.value(wrapped(place, slots)) == 0);
        // What reached into the first block was counted at both ends.
        let whole = limit.saturating_sub(end) == begin && used - begin < slots;
        (zero && whole).then(|| used - begin)
    }
}

/// Something of every slot.
trait Row {
    /// Copies what stands at `start..end` one slot up.
    fn move_up(&mut self, start: u64, end: u64);

    /// Copies what stands at `start..end` one slot down.
    fn move_down(&mut self, start: u64, end: u64);

    /// Copies what one slot has to another.
    fn carry(&mut self, from: u64, to: u64);
}

impl Row for Packed {
    #[inline]
    fn move_up(&mut self, start: u64, end: u64) {
        Packed::move_up(self, start, end);
    }

    #[inline]
    fn move_down(&mut self, start: u64, end: u64) {
        Packed::move_down(self, start, end);
    }

    fn carry(&mut self, from: u64, to: u64) {
        self.set(to, self.get(from));
    }
}

impl Row for Bits {
    #[inline]
    fn move_up(&mut self, start: u64, end: u64) {
        packed::move_up(self.words_mut(), start, end, 1);
    }

    #[inline]
    fn move_down(&mut self, start: u64, end: u64) {
        packed::move_down(self.words_mut(), start, end, 1);
    }

    fn carry(&mut self, from: u64, to: u64) {
        if self.get(from) {
            self.set(to);
        } else {
            self.reset(to);
        }
    }
}

/// Moves what stands at `start..end` one slot up; both may be numbered on.
#[inline]
fn shift_up(row: &mut impl Row, slots: u64, start: Place, end: Place) {
    if end < slots {
        row.move_up(start, end);
    } else if start >= slots {
        row.move_up(start - slots, end - slots);
    } else {
        row.move_up(0, end - slots);
        row.carry(slots - 1, 0);
        row.move_up(start, slots - 1);
    }
}

/// Moves what stands at `start..end` one slot down; both may be numbered on.
#[inline]
fn shift_down(row: &mut impl Row, slots: u64, start: Place, end: Place) {
    if end <= slots {
        row.move_down(start, end);
    } else if start > slots {
        row.move_down(start - slots, end - slots);
    } else {
        row.move_down(start, slots);
        row.carry(0, slots - 1);
        row.move_down(1, end - slots);
    }
}

//! Three status bits in every slot (Bender et al. 2012): runs are found by walking from where a cluster begins.

use super::{Run, wrapped};
use crate::cells::Packed;
use crate::error::{Error, Result};
use crate::memory::prefetch;
use crate::state::state;

/// The number of the slot is the quotient of a run.
const OCCUPIED: u64 = 1;
/// The value belongs to the run of the slot before.
const CONTINUATION: u64 = 2;
/// The value's quotient is not the slot's number.
const SHIFTED: u64 = 4;
const STATUS: u64 = OCCUPIED | CONTINUATION | SHIFTED;
/// Bits of all three.
const BITS: u32 = 3;

pub(super) const MAX_WIDTH: u32 = 64 - BITS;

/// Values with three status bits each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StatusBits {
    slots: Packed,
}

state!(StatusBits { slots });

impl StatusBits {
    pub(super) fn try_new(slots: u64, width: u32) -> Result<Self> {
        Ok(Self { slots: Packed::try_new(slots, width + BITS)? })
    }

    /// More is checked where the slots in use are counted.
    fn check(&self) -> Result<()> {
        if self.slots.len() > 1 && self.slots.width() > BITS {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: slots without room for values"))
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.slots.len()
    }

    #[inline]
    pub(super) fn width(&self) -> u32 {
        self.slots.width() - BITS
    }

    #[inline]
    fn has(&self, slot: u64, status: u64) -> bool {
        self.slots.get(slot) & status != 0
    }

    /// Whether a quotient's run, whose values rise, holds a value.
    pub(super) fn holds(&self, quotient: u64, value: u64) -> bool {
        let run = self.run(quotient);
        (0..run.len).any(|i| self.value(wrapped(run.start + i, self.len())) == value)
    }

    /// Prefetches where a quotient's run is if nothing shifts it.
    #[inline]
    pub(super) fn prefetch(&self, quotient: u64) {
        let at = (quotient * u64::from(self.slots.width()) / 64) as usize;
        prefetch(self.slots.words().as_ptr().wrapping_add(at).cast());
    }

    #[inline]
    pub(super) fn occupied(&self, quotient: u64) -> bool {
        self.has(quotient, OCCUPIED)
    }

    #[inline]
    pub(super) fn value(&self, slot: u64) -> u64 {
        self.slots.get(slot) >> BITS
    }

    pub(super) fn put(&mut self, slot: u64, value: u64) {
        let status = self.slots.get(slot) & STATUS;
        self.slots.set(slot, value << BITS | status);
    }

    #[inline]
    fn after(&self, slot: u64) -> u64 {
        wrapped(slot + 1, self.len())
    }

    /// The next quotient that has a run.
    fn next_quotient(&self, quotient: u64) -> u64 {
        let mut next = self.after(quotient);
        while !self.occupied(next) && next != quotient {
            next = self.after(next);
        }
        next
    }

    /// The first slot after the run that begins at `start`.
    fn end(&self, start: u64) -> u64 {
        let mut end = self.after(start);
        while self.has(end, CONTINUATION) {
            end = self.after(end);
        }
        end
    }

    /// Walks to where the cluster begins, whose first run is at its own slot; from there run by run.
    #[inline]
    pub(super) fn run(&self, quotient: u64) -> Run {
        if self.slots.get(quotient) & STATUS == 0 {
            return Run { start: quotient, len: 0 };
        }
        let mut first = quotient;
        while self.has(first, SHIFTED) {
            first = if first == 0 { self.len() - 1 } else { first - 1 };
        }
        let (mut start, mut owner) = (first, first);
        while owner != quotient {
            start = self.end(start);
            owner = self.after(owner);
            while owner != quotient && !self.occupied(owner) {
                owner = self.after(owner);
            }
        }
        if !self.occupied(quotient) {
            return Run { start, len: 0 };
        }
        let end = self.end(start);
        let len = if end > start { end - start } else { end + self.len() - start };
        Run { start, len }
    }

    /// Adds a slot at place `at` of a quotient's run: what stands behind the run moves on, up to the next empty slot,
    /// and its own values one slot each.
    pub(super) fn open(&mut self, quotient: u64, run: Run, at: u64) {
        let place = wrapped(run.start + run.len, self.len());
        let shifted = if place == quotient { 0 } else { SHIFTED };
        let continuation = if run.len > 0 { CONTINUATION } else { 0 };
        let mut moving = shifted | continuation;
        let mut slot = place;
        loop {
            let held = self.slots.get(slot);
            // The slot's number stays what it is.
            self.slots.set(slot, moving | held & OCCUPIED);
            if held & STATUS == 0 {
                break;
            }
            moving = held & !OCCUPIED | SHIFTED;
            slot = self.after(slot);
        }
        self.slots.set(quotient, self.slots.get(quotient) | OCCUPIED);
        let slots = self.len();
        let slot_of = |i: u64| wrapped(run.start + i, slots);
        for i in (at..run.len).rev() {
            self.put(slot_of(i + 1), self.value(slot_of(i)));
        }
    }

    /// Drops the slot at place `at` of a quotient's run: its own values come back one slot each, and what was
    /// shifted behind the run, up to the first that was not.
    pub(super) fn close(&mut self, quotient: u64, run: Run, at: u64) {
        let slots = self.len();
        let slot_of = |i: u64| wrapped(run.start + i, slots);
        for i in at + 1..run.len {
            self.put(slot_of(i - 1), self.value(slot_of(i)));
        }
        let mut owner = quotient;
        let mut slot = wrapped(run.start + run.len - 1, self.len());
        loop {
            let next = self.after(slot);
            let held = self.slots.get(next);
            let occupied = self.slots.get(slot) & OCCUPIED;
            if held & SHIFTED == 0 {
                self.slots.set(slot, occupied);
                break;
            }
            if held & CONTINUATION == 0 {
                owner = self.next_quotient(owner);
            }
            let home = owner == slot && held & CONTINUATION == 0;
            let moved = if home { held & !SHIFTED } else { held };
            self.slots.set(slot, moved & !OCCUPIED | occupied);
            slot = next;
        }
        if run.len == 1 {
            self.slots.set(quotient, self.slots.get(quotient) & !OCCUPIED);
        }
    }

    /// Slots in use; `None` unless every run stands where it must, one slot is empty, and empty slots are zero.
    pub(super) fn used(&self) -> Option<u64> {
        let empty = (0..self.len()).find(|&slot| !self.has(slot, STATUS))?;
        let (mut owner, mut slot) = (empty, empty);
        // Quotients that were passed and whose runs have not begun.
        let (mut waiting, mut inside, mut used) = (0u64, false, 0);
        for _ in 0..self.len() {
            let held = self.slots.get(slot);
            waiting += held & OCCUPIED;
            let fits = match held & (CONTINUATION | SHIFTED) {
                _ if held & STATUS == 0 => held == 0 && waiting == 0,
                0 | SHIFTED if waiting > 0 => {
                    waiting -= 1;
                    owner = self.next_quotient(owner);
                    (owner != slot) == (held & SHIFTED != 0)
                }
                begins_no_run => begins_no_run == CONTINUATION | SHIFTED && inside,
            };
            if !fits {
                return None;
            }
            inside = held & STATUS != 0;
            used += u64::from(inside);
            slot = self.after(slot);
        }
        (waiting == 0).then_some(used)
    }
}

#[cfg(test)]
impl StatusBits {
    pub(super) fn flip(&mut self, slot: u64, bit: u32) {
        self.slots.set(slot, self.slots.get(slot) ^ 1 << bit);
    }

    /// Occupied, continuation, shifted, and the value.
    pub(super) fn shown(&self, slot: u64) -> String {
        let bit = |status| u8::from(self.has(slot, status));
        let (occupied, continuation, shifted) = (bit(OCCUPIED), bit(CONTINUATION), bit(SHIFTED));
        format!("{occupied}{continuation}{shifted}.{:x}", self.value(slot))
    }
}

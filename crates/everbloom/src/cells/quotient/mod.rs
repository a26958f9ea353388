//! Runs by quotient: a hash table with linear probing that stores no keys, and needs none to find them.
//!
//! A value belongs to a quotient, which is the slot it would like to have. Values of one quotient stand in one
//! run; runs stand in order of their quotients, each at its own slot or as near behind it as the runs before it
//! leave room. The last slot is followed by the first. Beside the values, a few bits a slot say where runs begin:
//!
//! ```text
//!   slot           0 1 2 3 4 5 6 7        status bits, 3 a slot          rank and select, 2.125 a slot
//!   value            a b c d e f 1        occupied      0 1 0 1 1 0 1 0  occupied  0 1 0 1 1 0 1 0
//!   its quotient     1 1 3 3 3 4 6        continuation  0 0 1 0 1 1 0 0  run end   0 0 1 0 0 1 1 1
//!                                         shifted       0 0 1 0 1 1 1 1  offset of every 64 slots
//! ```
//!
//! *Occupied* speaks of the slot's number as a quotient, everything else of the value in the slot. One slot
//! always stays empty, where every walk ends.

mod near;
mod ranked;
mod status;
mod table;

use status::StatusBits;
use table::RankSelect;

use crate::error::Result;
use crate::state::{Decoder, Encoder, State};

/// How runs are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Marks {
    /// Bits of occupied quotients and of ends of runs, by rank and select.
    RankSelect = 1,
    /// Three status bits in every slot, by walking.
    StatusBits = 2,
}

/// Slots, in any number of runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Runs {
    slots: Slots,
    /// Slots in use.
    used: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Slots {
    Ranked(RankSelect),
    Status(StatusBits),
}

/// Calls a method of whichever slots there are.
macro_rules! either {
    ($slots:expr, $name:ident => $call:expr) => {
        match $slots {
            Slots::Ranked($name) => $call,
            Slots::Status($name) => $call,
        }
    };
}

/// Where a run is: its first slot and its number of slots, which go on at slot 0 after the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// The first slot; of an empty run, where it would begin.
    pub start: u64,
    /// Number of slots.
    pub len: u64,
}

impl Runs {
    /// Slots in a block of [`Marks::RankSelect`], of which their number is a multiple.
    pub const BLOCK: u64 = table::BLOCK;

    /// The widest value.
    pub const MAX_WIDTH: u32 = status::MAX_WIDTH;

    /// `slots` empty slots for values of `width` bits; an error where there is no room for them.
    pub fn try_new(marks: Marks, slots: u64, width: u32) -> Result<Self> {
        let slots = match marks {
            Marks::RankSelect => Slots::Ranked(RankSelect::try_new(slots, width)?),
            Marks::StatusBits => Slots::Status(StatusBits::try_new(slots, width)?),
        };
        Ok(Self { slots, used: 0 })
    }

    /// Bits that `slots` slots for values of `width` bits take.
    pub fn bits_for(marks: Marks, slots: u64, width: u32) -> u64 {
        let width = u64::from(width);
        match marks {
            Marks::RankSelect => {
                slots.saturating_mul(width + 2).saturating_add(slots / table::BLOCK * 8)
            }
            Marks::StatusBits => slots.saturating_mul(width + 3),
        }
    }

    /// How runs are found.
    pub fn marks(&self) -> Marks {
        match self.slots {
            Slots::Ranked(_) => Marks::RankSelect,
            Slots::Status(_) => Marks::StatusBits,
        }
    }

    /// Number of slots.
    #[inline]
    pub fn slots(&self) -> u64 {
        either!(&self.slots, slots => slots.len())
    }

    /// Bits of a value.
    #[inline]
    pub fn width(&self) -> u32 {
        either!(&self.slots, slots => slots.width())
    }

    /// Slots in use.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Slots that can still be filled.
    pub fn free(&self) -> u64 {
        self.slots() - 1 - self.used
    }

    /// Bits of all slots.
    pub fn bits(&self) -> u64 {
        Self::bits_for(self.marks(), self.slots(), self.width())
    }

    /// Prefetches the run of a quotient.
    #[inline]
    pub(crate) fn prefetch(&self, quotient: u64) {
        either!(&self.slots, slots => slots.prefetch(quotient));
    }

    /// Whether a quotient's run holds a value, if its values rise.
    #[inline]
    pub(crate) fn holds(&self, quotient: u64, value: u64) -> bool {
        either!(&self.slots, slots => slots.holds(quotient, value))
    }

    /// Whether a slot of a quotient's run has this value, and the run's slots; `None` where that takes a walk.
    #[inline]
    pub(crate) fn seems(&self, quotient: u64, value: u64) -> Option<(bool, u64)> {
        match &self.slots {
            Slots::Ranked(slots) => slots.seems(quotient, value),
            Slots::Status(_) => None,
        }
    }

    /// The run of a quotient.
    #[inline]
    pub fn run(&self, quotient: u64) -> Run {
        either!(&self.slots, slots => slots.run(quotient))
    }

    /// Value number `i` of a run, which it has.
    #[inline]
    pub fn value(&self, run: Run, i: u64) -> u64 {
        let slot = wrapped(run.start + i, self.slots());
        either!(&self.slots, slots => slots.value(slot))
    }

    /// The values of a run.
    pub fn values(&self, run: Run) -> impl DoubleEndedIterator<Item = u64> + '_ {
        (0..run.len).map(move |i| self.value(run, i))
    }

    /// Every run that is not empty, in order of the quotients.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Run)> + '_ {
        let occupied = |quotient: &u64| either!(&self.slots, slots => slots.occupied(*quotient));
        (0..self.slots()).filter(occupied).map(|quotient| (quotient, self.run(quotient)))
    }

    /// Puts a value at place `at` of a quotient's run. There must be a free slot.
    pub fn insert(&mut self, quotient: u64, run: Run, at: u64, value: u64) {
        debug_assert!(self.free() > 0);
        either!(&mut self.slots, slots => slots.open(quotient, run, at));
        self.used += 1;
        self.put(run, at, value);
    }

    /// Takes the value at place `at` out of a quotient's run.
    pub fn remove(&mut self, quotient: u64, run: Run, at: u64) {
        either!(&mut self.slots, slots => slots.close(quotient, run, at));
        self.used -= 1;
    }

    /// Puts other values in the place of a quotient's run. There must be free slots for those it has more.
    pub fn replace(&mut self, quotient: u64, values: &[u64]) {
        let wanted = values.len() as u64;
        let mut run = self.run(quotient);
        debug_assert!(self.free() + run.len >= wanted);
        self.used = self.used - run.len + wanted;
        while run.len > wanted {
            either!(&mut self.slots, slots => slots.close(quotient, run, run.len - 1));
            run.len -= 1;
        }
        while run.len < wanted {
            either!(&mut self.slots, slots => slots.open(quotient, run, run.len));
            run.len += 1;
        }
        (0..).zip(values).for_each(|(i, value)| self.put(run, i, *value));
    }

    fn put(&mut self, run: Run, i: u64, value: u64) {
        let slot = wrapped(run.start + i, self.slots());
        either!(&mut self.slots, slots => slots.put(slot, value));
    }
}

/// A slot's number where the first slot follows the last.
#[inline]
fn wrapped(slot: u64, slots: u64) -> u64 {
    if slot < slots { slot } else { slot - slots }
}

impl State for Runs {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("marks", self.marks() as u64);
            either!(&self.slots, slots => slots.save("slots", out));
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let marks = src.u64("marks")?;
            let (slots, used) = if marks == Marks::RankSelect as u64 {
                let slots = RankSelect::load("slots", src)?;
                let used = slots.used();
                (Slots::Ranked(slots), used)
            } else if marks == Marks::StatusBits as u64 {
                let slots = StatusBits::load("slots", src)?;
                let used = slots.used();
                (Slots::Status(slots), used)
            } else {
                return Err(src.unsupported(format!("{name}: marks {marks}")));
            };
            let used = used.ok_or_else(|| src.corrupt(format!("{name}: runs out of order")))?;
            Ok(Self { slots, used })
        })
    }
}

#[cfg(test)]
mod tests;

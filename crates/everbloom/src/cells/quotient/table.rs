//! What runs by rank and select are kept in.

use crate::cells::{Bits, Packed};
use crate::error::{Error, Result};
use crate::state::state;

/// Slots with one offset.
pub(super) const BLOCK: u64 = 64;
/// What stands for an offset that a byte does not hold.
pub(super) const FAR: u64 = 255;

/// Values, and two bits each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RankSelect {
    /// Quotients that have a run.
    pub(super) occupied: Bits,
    /// Slots in which a run ends.
    pub(super) ends: Bits,
    /// Slots of each block that runs of earlier blocks' quotients take.
    pub(super) offsets: Packed,
    pub(super) values: Packed,
}

state!(RankSelect { occupied, ends, offsets, values });

/// Places are numbered on beyond the last slot, so that what wraps around is still in order.
pub(super) type Place = u64;

impl RankSelect {
    pub(super) fn try_new(slots: u64, width: u32) -> Result<Self> {
        let slots = slots.next_multiple_of(BLOCK);
        Ok(Self {
            occupied: Bits::try_new(slots)?,
            ends: Bits::try_new(slots)?,
            offsets: Packed::try_new(slots / BLOCK, 8)?,
            values: Packed::try_new(slots, width)?,
        })
    }

    /// More is checked where the slots in use are counted.
    fn check(&self) -> Result<()> {
        let slots = self.values.len();
        let whole = slots > 0 && slots.is_multiple_of(BLOCK) && self.offsets.width() == 8;
        let arrays = [self.occupied.len(), self.ends.len(), self.offsets.len() * BLOCK];
        if whole && arrays == [slots; 3] {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not as many marks as slots"))
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.values.len()
    }

    #[inline]
    pub(super) fn width(&self) -> u32 {
        self.values.width()
    }

    #[inline]
    pub(super) fn occupied(&self, quotient: u64) -> bool {
        self.occupied.get(quotient)
    }

    #[inline]
    pub(super) fn value(&self, slot: u64) -> u64 {
        self.values.get_of_width(self.values.width(), slot)
    }

    pub(super) fn put(&mut self, slot: u64, value: u64) {
        self.values.set_near(slot, value);
    }
}

#[cfg(test)]
impl RankSelect {
    pub(super) fn flip_end(&mut self, slot: u64) {
        self.ends.words_mut()[(slot / 64) as usize] ^= 1 << (slot % 64);
    }

    pub(super) fn flip_occupied(&mut self, slot: u64) {
        self.occupied.words_mut()[(slot / 64) as usize] ^= 1 << (slot % 64);
    }
}

//! The run of a quotient, found with hardly a branch.
//!
//! Most runs end within two words of where the runs of their block begin. There, whether the quotient has a run and
//! where the run before it ends are arithmetic: a look-up has little to guess, and look-ups of several keys overlap.
//! Values of a run that fit a word are compared all at once. Whoever gets no answer here walks.

use super::table::{BLOCK, FAR, Place, RankSelect};
use crate::cells::ones::{self, Ones, Portable};
use crate::cells::packed::NEAR;

/// Where a quotient's run is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// Where it begins, or would begin.
    pub(super) start: Place,
    /// Its slots.
    pub(super) len: u64,
    /// The place after the runs of all quotients up to this one.
    pub(super) limit: Place,
}

impl RankSelect {
    /// The run of a quotient; `None` where it is further away, around the last slot, or there is no such quotient.
    #[inline(always)]
    pub(super) fn near(&self, quotient: u64) -> Option<Near> {
        match ones::instructions() {
            Some(ones) => self.near_by(ones, quotient),
            None => self.near_by(Portable, quotient),
        }
    }

    #[inline(always)]
    fn near_by(&self, by: impl Ones, quotient: u64) -> Option<Near> {
        let (block, at) = (quotient / BLOCK, quotient % BLOCK);
        let offset = u64::from(*self.offsets.bytes()?.get(block as usize)?);
        let word = *self.occupied.words().get(block as usize)?;
        let begin = block * BLOCK + offset;
        let [a, b, c] = *self.ends.words().get((begin / 64) as usize..)?.first_chunk()?;
        if offset == FAR {
            return None;
        }
        // Ends from there on; bit i says that a run ends before place begin + i, as those of earlier blocks do.
        let shifted = |low: u64, high: u64| low >> (begin % 64) | high << 1 << (63 - begin % 64);
        let (low, high) = (shifted(a, b), shifted(b, c));
        let (low, high) = (low << 1 | 1, high << 1 | low >> 63);
        // The end after as many runs as there are up to this quotient.
        let here = word >> at & 1;
        let runs = by.count(word & ((1 << at) - 1)) + here as u32;
        let ones = by.count(low);
        // Rare enough for a branch: where all ways are computed, insertions wait a fifth longer.
        let further = runs >= ones;
        let (ends, rank) = if further { (high, runs - ones) } else { (low, runs) };
        let base = begin + if further { 64 } else { 0 };
        let place = by.select(ends, rank);
        if place == u64::BITS {
            return None;
        }
        let limit = base + u64::from(place);
        // The end before that one, which may be in the word before.
        let below = ends & !(u64::MAX << place);
        let (below, base) = if further && below == 0 { (low, begin) } else { (below, base) };
        let before = base + u64::from((below | 1).ilog2());
        let start = if here == 0 { limit } else { before }.max(quotient);
        Some(Near { start, len: if here == 0 { 0 } else { limit - start }, limit })
    }

    /// Whether a slot of a quotient's run has this value, and the run's slots; `None` where one of them is too far.
    #[inline(always)]
    pub(super) fn seems(&self, quotient: u64, value: u64) -> Option<(bool, u64)> {
        let Near { start, len, .. } = self.near(quotient)?;
        let width = self.width();
        let (bit, bits) = (start * u64::from(width), len * u64::from(width));
        if bits > NEAR.into() {
            return None;
        }
        let bytes = self.values.bytes()?.get((bit / 8) as usize..)?.first_chunk()?;
        let word = u64::from_le_bytes(*bytes) >> (bit % 8);
        // Fields that are zero where the run has the value; those behind the run have ones.
        let lows = LOWS[width as usize];
        let differ = word ^ value.wrapping_mul(lows) | u64::MAX << bits;
        // The highest bit of a field that borrows and is zero itself. A field may borrow from the one above it,
        // but only if it is zero.
        let zeros = differ.wrapping_sub(lows) & !differ & lows << (width - 1);
        Some((zeros != 0, len))
    }
}

/// The lowest bit of every whole field, by their width, in the bits that a word has from any bit of its first byte on.
const LOWS: [u64; 65] = {
    let mut lows = [0; 65];
    let mut width = 1;
    while width <= NEAR {
        let mut field = 0;
        while (field + 1) * width <= NEAR {
            lows[width as usize] |= 1 << (field * width);
            field += 1;
        }
        width += 1;
    }
    lows
};

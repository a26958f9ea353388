//! Keys that have a bit or two in every lane of one cache line.

use std::ops::RangeInclusive;

use crate::theory::blocked::Blocks;

/// Bits of a line.
pub(crate) const LINE: u64 = 512;
/// Lanes of a line.
const LANES: u32 = 8;
/// Bits per lane that a key may have: three pay below a rate of 10⁻⁷ only.
pub(crate) const ROUNDS: RangeInclusive<u32> = 1..=2;

/// Whether keys may have k bits, as many in each lane.
pub(crate) fn is_k(k: u32) -> bool {
    k.is_multiple_of(LANES) && ROUNDS.contains(&(k / LANES))
}

/// The lines, for formulas.
pub(crate) fn blocks() -> Blocks {
    Blocks::of(LINE).in_lanes(LANES)
}

/// Bits that a key may have.
pub(crate) fn ks() -> impl Iterator<Item = u32> {
    ROUNDS.map(|rounds| LANES * rounds)
}

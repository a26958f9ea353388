//! Keys that have a bit or two in every lane of one cache line.

use std::ops::RangeInclusive;

use crate::theory::blocked as theory;

/// Bits of a line.
pub(crate) const LINE: u64 = 512;
/// Lanes of a line, and bits of a lane.
const LANES: u32 = 8;
const LANE: u64 = LINE / LANES as u64;
/// Bits per lane that a key may have: three pay below a rate of 10⁻⁷ only.
pub(crate) const ROUNDS: RangeInclusive<u32> = 1..=2;

/// Whether keys may have k bits, as many in each lane.
pub(crate) fn is_k(k: u32) -> bool {
    k.is_multiple_of(LANES) && ROUNDS.contains(&(k / LANES))
}

/// The bits of a key by which fewest non-members pass.
pub(crate) fn best_k(bits_per_item: f64) -> u32 {
    let rate = |rounds: &u32| theory::fpr_lanes(LANE, bits_per_item, *rounds);
    LANES * ROUNDS.min_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap_or(1)
}

/// Least bits per key, and their k, the given one if there is one, that reach `p`; `None` if no number does.
pub(crate) fn bits_per_item(p: f64, k: Option<u32>) -> Option<(f64, u32)> {
    let rounds = ROUNDS.filter(|rounds| k.is_none_or(|k| k == LANES * rounds));
    let size = |r| Some((theory::bits_per_item_for_lanes(LANE, r, p)?, LANES * r));
    rounds.filter_map(size).min_by(|a, b| a.0.total_cmp(&b.0))
}

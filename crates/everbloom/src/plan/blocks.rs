//! Planning of filters whose keys each lie in one block of bits.

use super::{MAX_CELLS, PARAM_M, Request, check_cells};
use crate::error::Result;

/// The blocks of `block` bits that the goal gives, by a number of cells, or by the memory with the items: then even,
/// so that the filter folds.
pub(crate) fn given_blocks(request: &Request<'_>, block: u64) -> Option<u64> {
    if let Some(m) = request.integer(PARAM_M.name) {
        return Some(m / block);
    }
    let (room, _) = request.goal_bits().zip(request.goal_items())?;
    let blocks = room / block;
    request.goal_fpr().is_none().then_some(if blocks > 1 { blocks & !1 } else { blocks })
}

/// The least number of blocks of `block` bits that give every item `bits_per_item`; even, so that the filter
/// folds, unless the memory has room for one fewer.
pub(crate) fn even_blocks(request: &Request<'_>, block: u64, bits_per_item: f64) -> Result<u64> {
    let blocks = |n: u64| (n as f64 * bits_per_item / block as f64).ceil().max(1.0);
    let (n, p) = request.items_and_rate(|n, _| blocks(n) * block as f64)?;
    let cells = blocks(n) * block as f64;
    check_cells(n, p, cells)?;
    let room = request.goal_bits().map_or(MAX_CELLS, |room| room) / block;
    Ok((blocks(n) as u64).next_multiple_of(2).min(room.max(1)))
}

//! Planning of cells that add, in k segments, from which what they hold is read back.

use super::{MAX_CELLS, PARAM_M, Request};
use crate::error::{Error, Result};
use crate::theory::peeling::cells_for;

/// Cells per segment for `k` segments of cells of `cell_bits` bits, and the rate of failed readings that they were
/// planned for: by hand, or by items and rate.
pub(crate) fn segments(
    request: &Request<'_>,
    k: u32,
    cell_bits: u64,
) -> Result<(u64, Option<f64>)> {
    if let Some(m) = request.integer(PARAM_M.name) {
        return Ok(((m / u64::from(k)).max(1), None));
    }
    let slice = |n, p| (cells_for(n, p, k) / f64::from(k)).ceil();
    let bits = |n, p| slice(n, p) * f64::from(k) * cell_bits as f64;
    let (n, p) = request.items_and_rate(bits)?;
    if bits(n, p) > MAX_CELLS as f64 {
        return Err(Error::parameter(format!(
            "reading back {n} items, with a failure rate of {p}, needs {:e} bits, more than \
             {MAX_CELLS}: plan for the difference to be read back, not for the sets",
            bits(n, p)
        )));
    }
    Ok((slice(n, p) as u64, Some(p)))
}

/// Refuses more bits of cells than there is room for: those planned from items and rate fit already, sizes set by
/// hand may not.
pub(crate) fn check_fit(request: &Request<'_>, bits: u64) -> Result<()> {
    let room = request.goal_bits().unwrap_or(MAX_CELLS).min(MAX_CELLS);
    if bits <= room {
        return Ok(());
    }
    let (needed, room) = (bits.div_ceil(8), room / 8);
    Err(Error::parameter(format!(
        "the requested cells need {needed} bytes, more than {room}: set fewer cells"
    )))
}

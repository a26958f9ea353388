//! Several standard filters inside one: a main filter and those that check it, or one for each stage.
//!
//! They are planned together, before anything is allocated, and filled independently of each other.

use super::flat_bits::FlatBits;
use super::probed_bits::{ProbedBits, Probes};
use crate::error::{Error, Result};
use crate::filter::{Fact, Part, Touched, fact};
use crate::hash::Digest;
use crate::memory::check_room;
use crate::plan::{Flat, MAX_CELLS, Request};
use crate::probe::MAX_K;
use crate::theory::bloom as theory;

/// The least standard filter for `n` keys at rate `p`, with its best k.
pub(crate) fn flat_for(n: u64, p: f64) -> Flat {
    let m = theory::bits_for(n, p);
    Flat { m, k: theory::best_k(m, n) }
}

/// The parameters `m` and `k` of a filter for `n` keys, as far as they were set: `planned` bits, and the best k
/// for the bits there are.
pub(crate) fn flat_set(request: &Request<'_>, [m, k]: [&str; 2], n: u64, planned: u64) -> Flat {
    let m = request.integer(m).unwrap_or(planned);
    Flat { m, k: request.integer(k).map_or_else(|| theory::best_k(m, n), |k| k as u32) }
}

/// The bits of all parts; refuses shapes that cannot be, and more bits than there is room for, before
/// anything is allocated.
pub(crate) fn check_parts(parts: impl IntoIterator<Item = Flat>) -> Result<u64> {
    let mut total = 0u128;
    for Flat { m, k } in parts {
        if m == 0 || !(1..=MAX_K).contains(&k) {
            return Err(Error::parameter(format!(
                "{k} probes into {m} bits: at least one of each, and at most {MAX_K} probes"
            )));
        }
        total += u128::from(m);
    }
    match u64::try_from(total) {
        Ok(total) if total <= MAX_CELLS => check_room(total).map(|()| total),
        _ => Err(Error::parameter(format!(
            "the parts of the filter need {total} bits, more than {MAX_CELLS}: \
             use fewer {{items}} or a higher {{rate}}"
        ))),
    }
}

/// Share of ones over all parts; `None` where there is no bit.
pub(crate) fn fill<'a>(parts: impl IntoIterator<Item = &'a FlatBits>) -> Option<f64> {
    let add = |(ones, all), part: &FlatBits| (ones + part.bits.ones(), all + part.m());
    let (ones, all) = parts.into_iter().fold((0, 0), add);
    (all > 0).then(|| ones as f64 / all as f64)
}

/// The cells of parts that stand one behind the other, each queried with a digest of its own.
pub(crate) fn trace<'a, P: Probes + 'a>(
    parts: impl IntoIterator<Item = (&'a ProbedBits<P>, Digest)>,
) -> Vec<Touched> {
    let (mut cells, mut start) = (Vec::new(), 0);
    for (part, digest) in parts {
        let moved = |cell: Touched| Touched { index: start + cell.index, ..cell };
        cells.extend(part.trace(digest).into_iter().map(moved));
        start += part.bits.len();
    }
    cells
}

/// The expected share of ones over all parts and its spread, from each part's bits, share and spread: parts fill
/// independently.
pub(crate) fn expected_fill(
    parts: impl IntoIterator<Item = (u64, (f64, f64))>,
) -> Option<(f64, f64)> {
    let (mut all, mut ones, mut variance) = (0.0, 0.0, 0.0);
    for (m, (fill, sd)) in parts {
        let m = m as f64;
        all += m;
        ones += fill * m;
        variance += (sd * m) * (sd * m);
    }
    Some((ones / all, variance.sqrt() / all))
}

/// m and k of a part, under these names.
pub(crate) fn shape(part: &FlatBits, [m, k]: [&'static str; 2]) -> [Fact; 2] {
    [fact(m, part.m()), fact(k, part.k())]
}

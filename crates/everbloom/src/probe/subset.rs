//! k distinct cells, where a variant's formulas count subsets instead of throws.

use super::{Indices, multiply_shift};
use crate::hash::Digest;

/// `k` distinct cells of `0..m`, every subset of that size equally likely (Floyd's algorithm). At most m.
///
/// A cell drawn a second time is replaced by the largest of the range so far, which is new for certain:
/// k draws are always enough. The search for repetitions takes k² steps, so k should be small.
pub fn subset(digest: Digest, m: u64, k: u32) -> Indices {
    let k = u64::from(k).min(m);
    let mut out = Indices::new();
    for (i, last) in (m - k..m).enumerate() {
        let drawn = multiply_shift(digest.word(i as u64), last + 1);
        out.push(if out.contains(&drawn) { last } else { drawn });
    }
    out
}

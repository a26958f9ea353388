//! Segments and cells for the pairs that are listed, and how often others hide a key.

use super::{Iblt, words};
use crate::plan::{check_fit, segments};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// Cells per segment, segments, the longest key and value, and the rate of failed listings planned for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) slice: u64,
    pub(super) k: u32,
    pub(super) key_bytes: u64,
    pub(super) value_bytes: u64,
    pub(super) rate: Option<f64>,
}

impl Shape {
    /// Count, check and content.
    fn cell_bits(&self) -> u64 {
        128 + 64 * words(self.key_bytes, self.value_bytes)
    }

    fn bits(&self) -> u64 {
        self.slice.saturating_mul(u64::from(self.k)).saturating_mul(self.cell_bits())
    }
}

/// P(a cell of a segment holds two pairs or more), after `n` pairs.
fn hiding(slice: f64, n: f64) -> f64 {
    let miss = libm::log1p(-1.0 / slice);
    let empty = if n > 0.0 { libm::exp(n * miss) } else { 1.0 };
    let single = if n > 0.0 { n / slice * libm::exp((n - 1.0) * miss) } else { 0.0 };
    // One cell takes everything: log1p(−1) is −∞, and 0·∞ no number.
    if slice <= 1.0 { f64::from(n >= 2.0) } else { (1.0 - empty - single).max(0.0) }
}

impl Plan for Iblt {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k = request.whole("k") as u32;
        let [key_bytes, value_bytes] = request.wholes(["key-bytes", "value-bytes"]);
        let shape = Shape { slice: 1, k, key_bytes, value_bytes, rate: None };
        let (slice, rate) = segments(request, k, shape.cell_bits())?;
        let shape = Shape { slice, rate, ..shape };
        check_fit(request, shape.bits())?;
        Ok(shape)
    }

    /// No non-member ever has a value. It is undecided if every cell of its k holds two pairs or more.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (slice, k, n) = (shape.slice as f64, f64::from(shape.k), load.distinct as f64);
        let fill = (theory::fill(slice, n), theory::fill_sd(slice, n) / k.sqrt());
        let undecided = libm::pow(hiding(slice, n), k);
        Some(Expect {
            undecided,
            ..Expect::one_sided(0.0, shape.bits(), Some(fill)).probing(shape.k)
        })
    }
}

//! Enhanced double hashing on the ring of 64-bit integers, reduced by multiply-shift.
//!
//! The same recurrence as [`Enhanced`](super::Enhanced), but x and y live in 2⁶⁴ and only the index
//! is reduced: two additions and one multiplication per index, no division. The increment of y has
//! to be large on the ring (a plain +1 would move the index by m/2⁶⁴ cells, which is nothing), hence
//! the golden-ratio constant.

use super::multiply_shift;
use crate::hash::Digest;

/// 2⁶⁴/φ, odd.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scheme 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    m: u64,
    k: u32,
}

impl Ring {
    /// `k` indices into `0..m`, m > 0.
    pub fn new(m: u64, k: u32) -> Self {
        Self { m, k }
    }

    /// Number of cells.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// Number of indices per key.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The key's indices.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let m = self.m;
        let (mut x, mut y, mut step) = (digest.h1, digest.h2, STEP);
        (0..self.k).map(move |_| {
            let index = multiply_shift(x, m);
            x = x.wrapping_add(y);
            y = y.wrapping_add(step);
            step = step.wrapping_add(STEP);
            index
        })
    }
}

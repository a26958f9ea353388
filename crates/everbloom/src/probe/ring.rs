//! Enhanced double hashing on the ring of 64-bit integers, reduced by multiply-shift.
//!
//! The same recurrence as [`Enhanced`](super::Enhanced), but x and y live in 2⁶⁴ and only the index
//! is reduced: two additions and one multiplication per index, no division. The increment of y has
//! to be large on the ring (a plain +1 would move the index by m/2⁶⁴ cells, which is nothing), hence
//! the golden-ratio constant.

use super::multiply_shift;
use crate::hash::Digest;

/// 2⁶⁴/φ, odd.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scheme 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    m: u64,
    k: u32,
    /// Whether all indices of a key fit two registers of eight: m < 2³², k from 1 to 16. Computed once.
    short: bool,
}

impl Ring {
    /// `k` indices into `0..m`, m > 0.
    pub fn new(m: u64, k: u32) -> Self {
        Self { m, k, short: m < 1 << 32 && (1..=16).contains(&k) }
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
        let (ring, mut walk) = (self.clone(), self.walk(digest));
        (0..self.k).map(move |_| ring.step(&mut walk))
    }

    /// Whether m < 2³² and 1 ≤ k ≤ 16.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.short
    }

    /// Where a key's indices begin.
    #[inline]
    pub(crate) fn walk(&self, digest: Digest) -> Walk {
        Walk { x: digest.h1, y: digest.h2, step: STEP }
    }

    /// The next index of a walk.
    #[inline]
    pub(crate) fn step(&self, walk: &mut Walk) -> u64 {
        let index = multiply_shift(walk.x, self.m);
        walk.x = walk.x.wrapping_add(walk.y);
        walk.y = walk.y.wrapping_add(walk.step);
        walk.step = walk.step.wrapping_add(STEP);
        index
    }
}

/// A key's way through its indices, one at a time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Walk {
    x: u64,
    y: u64,
    step: u64,
}

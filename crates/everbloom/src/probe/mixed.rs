//! Independent indices: each is a fresh mix of the whole digest, so that even ranges of a few cells
//! behave as the formulas assume (catalogue part 1, §0 has the measured reason).

use super::multiply_shift;
use crate::hash::Digest;

/// Scheme 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed {
    m: u64,
    k: u32,
}

impl Mixed {
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

    /// The key's indices: index_i = reduce(mix64(H1 ⊕ mix64(H2 + i))).
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let m = self.m;
        (0..u64::from(self.k)).map(move |i| multiply_shift(digest.word(i), m))
    }
}

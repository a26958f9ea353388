//! One slice of cells per hash (catalogue F2): index i lies in slice i.

use super::{half, multiply_shift};
use crate::error::Result;
use crate::hash::Digest;

/// Scheme 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitioned {
    slice: u64,
    k: u32,
}

impl Partitioned {
    /// `k` slices of `slice` > 0 cells each; their product must fit 64 bits.
    pub fn new(slice: u64, k: u32) -> Self {
        Self { slice, k }
    }

    /// Number of cells in all slices.
    pub fn m(&self) -> u64 {
        self.slice * u64::from(self.k)
    }

    /// Number of slices, and of indices per key.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Cells per slice.
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// The key's indices, slice by slice; re-mixed, since slices that reuse one word are correlated.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let slice = self.slice;
        (0..u64::from(self.k)).map(move |i| i * slice + multiply_shift(digest.word(i), slice))
    }

    /// Half of every slice. A slice that folds has an even length, so that no pair of neighbors straddles two.
    pub(crate) fn fold(&self) -> Result<Self> {
        Ok(Self { slice: half(self.slice, "the slice")?, k: self.k })
    }

    /// The first cell of every slice, and its length.
    pub fn spans(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let slice = self.slice;
        (0..u64::from(self.k)).map(move |i| (i * slice, slice))
    }
}

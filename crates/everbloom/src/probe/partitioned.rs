//! One slice of cells per hash (catalogue F2): index i lies in slice i.

use super::{half, multiply_shift};
use crate::error::Result;
use crate::hash::{Columns, Digest, MANY};

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

    /// The indices of many keys, slice by slice: calls `f` with those of all keys in a slice, for every slice.
    #[inline]
    pub(crate) fn each_slice(&self, digests: &Columns, mut f: impl FnMut(&[u64; MANY])) {
        for i in 0..u64::from(self.k) {
            f(&digests.places(i, self.slice));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn many_keys_have_the_indices_of_each() {
        let digest = |i: usize| Digest { h1: mix64(i as u64), h2: mix64(!(i as u64)) };
        let digests: Vec<Digest> = (0..MANY).map(digest).collect();
        for (slice, k) in [1, 7, 27_183, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 50]
            .into_iter()
            .zip([5, 8, 3, 2, 9, 4, 1])
        {
            let probe = Partitioned::new(slice, k);
            let mut all = Vec::new();
            probe.each_slice(&Columns::from(&digests[..]), |indices| all.push(*indices));
            for (i, digest) in digests.iter().enumerate() {
                let own: Vec<u64> = all.iter().map(|indices| indices[i]).collect();
                assert_eq!(own, probe.indices(*digest).collect::<Vec<_>>(), "{slice}");
            }
        }
    }
}

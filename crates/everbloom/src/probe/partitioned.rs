//! One slice of cells per hash (catalogue F2): index i lies in slice i.

#![allow(unsafe_code)]

use super::{half, multiply_shift};
use crate::error::Result;
use crate::hash::Digest;

/// Keys of which the indices are computed together.
pub(crate) const MANY: usize = 32;

/// The places of keys in their slices number `i`.
#[inline]
fn places_in(digests: &[Digest; MANY], i: u64, slice: u64, places: &mut [u64; MANY]) {
    #[cfg(target_arch = "x86_64")]
    if let Ok(slice) = u32::try_from(slice)
        && crate::simd::has_avx512()
    {
        // SAFETY: the instruction set is there.
        return unsafe { places_by_avx512(digests, i, slice, places) };
    }
    for (place, digest) in places.iter_mut().zip(digests) {
        *place = multiply_shift(digest.word(i), slice);
    }
}

/// For slices of fewer than 2^32 cells. Plain code: products of 64 bits, eight at a time, are what the compiler makes
/// of it with this instruction set.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn places_by_avx512(digests: &[Digest; MANY], i: u64, slice: u32, places: &mut [u64; MANY]) {
    let slice = u64::from(slice);
    for (place, digest) in places.iter_mut().zip(digests) {
        let word = digest.word(i);
        // The high word of the product, by halves that do not overflow.
        *place = ((word >> 32) * slice + (((word & 0xFFFF_FFFF) * slice) >> 32)) >> 32;
    }
}

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
    pub(crate) fn each_slice(&self, digests: &[Digest; MANY], mut f: impl FnMut(&[u64; MANY])) {
        let mut indices = [0; MANY];
        for i in 0..u64::from(self.k) {
            places_in(digests, i, self.slice, &mut indices);
            indices.iter_mut().for_each(|index| *index += i * self.slice);
            f(&indices);
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
        let digests: [Digest; MANY] = std::array::from_fn(digest);
        for slice in [1, 7, 27_183, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 50] {
            let probe = Partitioned::new(slice, 5);
            let mut all = Vec::new();
            probe.each_slice(&digests, |indices| all.push(*indices));
            for (i, digest) in digests.iter().enumerate() {
                let own: Vec<u64> = all.iter().map(|indices| indices[i]).collect();
                assert_eq!(own, probe.indices(*digest).collect::<Vec<_>>(), "{slice}");
            }
        }
    }
}

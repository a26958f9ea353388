//! One slice of cells per hash (catalogue F2): index i lies in slice i.

use super::{Scheme, half, multiply_shift};
use crate::error::Result;
use crate::hash::{Digest, fold};

/// Schemes 5 and 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitioned {
    slice: u64,
    k: u32,
    words: Words,
}

/// How the word that picks a cell of a slice comes from a digest. Slices that reuse one word are correlated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// [`Digest::word`]: four multiplications.
    Mixed,
    /// (H1 + c) folded with (H2 xor c), c = (i + 1)·⌊2⁶⁴/φ⌋: one multiplication. Its upper bits are good, which are
    /// those that multiply-shift takes.
    Folded,
}

impl Words {
    #[inline(always)]
    fn word(self, digest: Digest, i: u64) -> u64 {
        match self {
            Words::Mixed => digest.word(i),
            Words::Folded => {
                let c = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                fold(digest.h1.wrapping_add(c), digest.h2 ^ c)
            }
        }
    }
}

impl Partitioned {
    /// `k` slices of `slice` > 0 cells each; their product must fit 64 bits.
    pub fn new(slice: u64, k: u32) -> Self {
        Self { slice, k, words: Words::Mixed }
    }

    /// The same slices, with words folded.
    pub fn folded(self) -> Self {
        Self { words: Words::Folded, ..self }
    }

    /// The permanent number of the scheme.
    pub fn scheme(&self) -> Scheme {
        match self.words {
            Words::Mixed => Scheme::Partitioned,
            Words::Folded => Scheme::Folded,
        }
    }

    /// Number of cells in all slices.
    pub fn m(&self) -> u64 {
        self.slice * u64::from(self.k)
    }

    /// Number of slices, and of indices per key.
    #[inline]
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Cells per slice.
    #[inline]
    pub fn slice(&self) -> u64 {
        self.slice
    }

    /// The key's index in slice i.
    #[inline(always)]
    pub(crate) fn index(&self, digest: Digest, i: u64) -> u64 {
        i * self.slice + multiply_shift(self.words.word(digest, i), self.slice)
    }

    /// The key's indices, slice by slice.
    #[inline(always)]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let this = *self;
        (0..u64::from(self.k)).map(move |i| this.index(digest, i))
    }

    /// Calls `f` with the key's indices, slice by slice: without a loop where there are 5 or 7, which are for one answer
    /// in 100 and in 1000 that may be wrong.
    #[inline(always)]
    pub(crate) fn each(&self, digest: Digest, f: impl FnMut(u64)) {
        match self.k {
            5 => self.first(5, digest, f),
            7 => self.first(7, digest, f),
            k => self.first(u64::from(k), digest, f),
        }
    }

    #[inline(always)]
    fn first(&self, k: u64, digest: Digest, mut f: impl FnMut(u64)) {
        for i in 0..k {
            f(self.index(digest, i));
        }
    }

    /// Half of every slice. A slice that folds has an even length, so that no pair of neighbors straddles two.
    pub(crate) fn fold(&self) -> Result<Self> {
        Ok(Self { slice: half(self.slice, "the slice")?, ..*self })
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
    use crate::hash::{HashId, Hasher};

    /// Of keys that meet in one slice, as many meet in another one as chance has it: under every hash that gives
    /// the digests, for keys that are alike.
    #[test]
    fn slices_are_independent() {
        let (n, slice, k) = (8_000u64, 500, 5);
        let key_sets: [fn(u64) -> u64; 3] = [|i| i, |i| i << 40, |i| i.swap_bytes()];
        for id in [HashId::Fold64, HashId::Xxh3_128, HashId::Quick64] {
            for (set, key) in key_sets.iter().enumerate() {
                let hasher = Hasher::with_id(id, 7).unwrap();
                let probe = Partitioned::new(slice, k).folded();
                let rows: Vec<Vec<u64>> =
                    (0..n).map(|i| probe.indices(hasher.digest(&key(i))).collect()).collect();
                for (a, b) in [(0, 1), (1, 2), (0, 4), (2, 3)] {
                    let mut met = std::collections::HashMap::<(u64, u64), u64>::new();
                    rows.iter().for_each(|row| *met.entry((row[a], row[b])).or_default() += 1);
                    let pairs: u64 = met.values().map(|n| n * (n - 1) / 2).sum();
                    // 128 pairs are expected; five standard deviations are 57.
                    let expected = n * (n - 1) / 2 / (slice * slice);
                    assert!(
                        pairs.abs_diff(expected) < 57,
                        "{id}, keys {set}, {a} and {b}: {pairs}"
                    );
                }
            }
        }
    }
}

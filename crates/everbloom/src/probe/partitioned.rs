//! One slice of cells per hash (catalogue F2): index i lies in slice i.

use super::{Scheme, half, multiply_shift};
use crate::error::Result;
use crate::hash::{Digest, fold, mix64};

/// Schemes 5, 20 and 21.
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
    /// H1 times the odd number mix64(i) | 1: one multiplication of half the width. Two keys meet in a slice if its number
    /// times the difference of their digests is near zero, which for numbers without a pattern is as good as independent
    /// from slice to slice (multiply-shift: Dietzfelbinger, Hagerup, Katajainen and Penttonen, 1997). It sees 64 bits of
    /// a digest, so it is for hashes that have no more.
    Multiplied,
}

/// The odd number that [`Words::Multiplied`] takes for slice i: the first ones from a table.
#[inline(always)]
pub(crate) const fn factor(i: u64) -> u64 {
    const FIRST: [u64; 16] = {
        let (mut first, mut i) = ([0; 16], 0);
        while i < 16 {
            first[i] = mix64(i as u64) | 1;
            i += 1;
        }
        first
    };
    if i < 16 { FIRST[i as usize] } else { mix64(i) | 1 }
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
            Words::Multiplied => digest.h1.wrapping_mul(factor(i)),
        }
    }
}

impl Partitioned {
    /// `k` slices of `slice` > 0 cells each; their product must fit 64 bits.
    pub fn new(slice: u64, k: u32) -> Self {
        Self { slice, k, words: Words::Mixed }
    }

    /// The same slices, with words made in another way.
    pub fn by(self, words: Words) -> Self {
        Self { words, ..self }
    }

    /// How words are made.
    #[inline]
    pub fn words(&self) -> Words {
        self.words
    }

    /// The permanent number of the scheme.
    pub fn scheme(&self) -> Scheme {
        match self.words {
            Words::Mixed => Scheme::Partitioned,
            Words::Folded => Scheme::Folded,
            Words::Multiplied => Scheme::Multiplied,
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
    /// in 100 and in 1000 that may be wrong, and without a place in the caller's code where there are others.
    #[inline(always)]
    pub(crate) fn each(&self, digest: Digest, mut f: impl FnMut(u64)) {
        match (self.words, self.k) {
            (Words::Multiplied, 5) => self.by(Words::Multiplied).first(5, digest, f),
            (Words::Multiplied, 7) => self.by(Words::Multiplied).first(7, digest, f),
            _ => self.each_of_others(digest, &mut f),
        }
    }

    #[inline(never)]
    fn each_of_others<F: FnMut(u64)>(&self, digest: Digest, f: &mut F) {
        match self.words {
            Words::Multiplied => self.by(Words::Multiplied).first(self.k.into(), digest, f),
            _ => self.first(self.k.into(), digest, f),
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
        for (id, words) in [
            (HashId::Fold64, Words::Folded),
            (HashId::Xxh3_128, Words::Folded),
            (HashId::Quick64, Words::Folded),
            (HashId::Fold64, Words::Multiplied),
            (HashId::Xxh64, Words::Multiplied),
        ] {
            for (set, key) in key_sets.iter().enumerate() {
                let hasher = Hasher::with_id(id, 7).unwrap();
                let probe = Partitioned::new(slice, k).by(words);
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
                        "{id}, {words:?}, keys {set}, {a} and {b}: {pairs}"
                    );
                }
            }
        }
    }

    /// Keys that meet in two slices meet in a third one as seldom as all others: slices of one value times a row of
    /// numbers without pattern, and not two values for all of them.
    #[test]
    fn keys_that_meet_in_two_slices_are_not_bound_to_meet_in_a_third() {
        let (n, slice) = (60_000u64, 100);
        let hasher = Hasher::with_id(HashId::Fold64, 3).unwrap();
        let probe = Partitioned::new(slice, 3).by(Words::Multiplied);
        let mut met = std::collections::HashMap::<Vec<u64>, u64>::new();
        for i in 0..n {
            *met.entry(probe.indices(hasher.digest(&i)).collect()).or_default() += 1;
        }
        let pairs: u64 = met.values().map(|n| n * (n - 1) / 2).sum();
        // 1800 pairs are expected; five standard deviations are 212.
        let expected = n * (n - 1) / 2 / slice.pow(3);
        assert!(pairs.abs_diff(expected) < 212, "{pairs} instead of {expected}");
    }

    /// No multiple of one factor is near a multiple of another one, both small: the shortest (x·a, x·b) mod 2⁶⁴, by
    /// Gauss's reduction, is about 2³² long for numbers without pattern. A slice of 2²⁴ cells needs 2⁴⁰ at most.
    #[test]
    fn factors_have_nothing_in_common() {
        let inverse =
            |a: u64| (0..6).fold(1u64, |x, _| x.wrapping_mul(2u64.wrapping_sub(a.wrapping_mul(x))));
        for i in 0..40 {
            for j in 0..i {
                let ratio = factor(j).wrapping_mul(inverse(factor(i)));
                // Multiples of (1, ratio) and (0, 2^64): Euclid's steps until the second coordinate is the shorter.
                let (mut a, mut b) = ((0i128, 1i128 << 64), (1i128, i128::from(ratio)));
                let mut longest = i128::MAX;
                while b.1 != 0 {
                    longest = longest.min(b.0.abs().max(b.1));
                    let q = a.1 / b.1;
                    (a, b) = (b, (a.0 - q * b.0, a.1 - q * b.1));
                }
                assert!(longest > 1 << 24, "{i} and {j}: {longest}");
            }
        }
    }
}

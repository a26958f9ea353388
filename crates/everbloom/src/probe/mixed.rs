//! Independent indices: each is a fresh mix of the whole digest, so that even ranges of a few cells
//! behave as the formulas assume (catalogue part 1, §0 has the measured reason).

use super::flat::flat;
use super::multiply_shift;
use crate::hash::Digest;

flat!(
    /// Scheme 4.
    Mixed
);

impl Mixed {
    /// The key's indices: index_i = reduce(mix64(H1 ⊕ mix64(H2 + i))).
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let m = self.m;
        (0..u64::from(self.k)).map(move |i| multiply_shift(digest.word(i), m))
    }
}

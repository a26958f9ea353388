//! Ready-made masks for the blocks of a blocked filter (Putze, Sanders, Singler 2007, §3; catalogue I6).

use crate::hash::{Digest, Generator};
use crate::probe::multiply_shift;

/// A table of masks, each of k random bits of a block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Patterns {
    masks: Vec<u64>,
    /// Words per mask.
    words: usize,
}

impl Patterns {
    /// The seed of every table, for ever: files store only how many masks there are.
    const SEED: u64 = 0x7061_7474_6572_6E73;

    pub(super) fn new(count: u64, block: u64, k: u32) -> Self {
        let words = (block / 64) as usize;
        let mut masks = vec![0; count as usize * words];
        let mut random = Generator::new(Self::SEED);
        for mask in masks.chunks_exact_mut(words) {
            // Bits may coincide, as in the other form, so that one formula holds for both.
            for _ in 0..k {
                let bit = random.below(block);
                mask[(bit / 64) as usize] |= 1 << (bit % 64);
            }
        }
        Self { masks, words }
    }

    pub(super) fn count(&self) -> u64 {
        (self.masks.len() / self.words) as u64
    }

    /// The mask of a key, from the digest's second word: the first picks the block.
    #[inline]
    pub(super) fn of(&self, digest: Digest) -> &[u64] {
        let start = multiply_shift(digest.h2, self.count()) as usize * self.words;
        &self.masks[start..start + self.words]
    }

    /// For each bit of a block, the share of masks that set it.
    pub(super) fn coverage(&self) -> Vec<f64> {
        let mut covered = vec![0u64; 64 * self.words];
        for mask in self.masks.chunks_exact(self.words) {
            for (word, bits) in mask.iter().zip(covered.chunks_exact_mut(64)) {
                bits.iter_mut().enumerate().for_each(|(i, n)| *n += word >> i & 1);
            }
        }
        covered.into_iter().map(|n| n as f64 / self.count() as f64).collect()
    }
}

/// A table of patterns takes at most 960 KiB: beyond that it lives in no cache, and one miss more is what
/// the form wants to avoid; and a decoder may take a mebibyte beyond the bytes present, not more.
pub(super) const TABLE_BITS: u64 = 15 << 19;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theory::bloom;

    #[test]
    fn the_table_is_pinned() {
        let table = Patterns::new(4096, 512, 7);
        assert_eq!(table.masks.len(), 4096 * 8);
        let sum = table.masks.iter().fold(0u64, |sum, &w| crate::hash::mix64(sum ^ w));
        assert_eq!(sum, 16_590_759_777_681_784_823);
        // Seven throws into 512 leave 6.959 ones; a mean over 4096 masks is off by 0.003.
        let ones: u32 = table.masks.iter().map(|w| w.count_ones()).sum();
        let mean = f64::from(ones) / 4096.0;
        assert!((mean - 512.0 * bloom::fill(512.0, 7.0)).abs() < 0.015, "{mean}");
        assert!((table.coverage().iter().sum::<f64>() - mean).abs() < 1e-9);
    }
}

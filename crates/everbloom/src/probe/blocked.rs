//! All indices of a key inside one block (catalogue I6): one cache line, one miss.
//!
//! The block comes from H1. Inside it double hashing would cost 17 % of the rate (catalogue part 1,
//! §0: B = 512, c = 10, k = 7), so indices are disjoint bit fields of H2, then of H2 re-mixed: a
//! 512-cell block takes nine bits each, seven indices a word.

use super::{half, multiply_shift};
use crate::error::{Error, Result};
use crate::hash::{Digest, mix64};

/// Scheme 6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    blocks: u64,
    block: u64,
    k: u32,
}

impl Blocked {
    /// `k` indices inside one of `blocks` > 0 blocks of `block` cells, a power of two in 8..=65536.
    pub fn new(blocks: u64, block: u64, k: u32) -> Result<Self> {
        let fits = block.is_power_of_two() && (8..=65536).contains(&block);
        if !fits || blocks.checked_mul(block).is_none() {
            return Err(Error::parameter(format!(
                "{blocks} blocks of {block} cells: a block is a power of two from 8 to 65536, \
                 and all cells together stay below 2^64"
            )));
        }
        Ok(Self { blocks, block, k })
    }

    /// Number of cells in all blocks.
    pub fn m(&self) -> u64 {
        self.blocks * self.block
    }

    /// Number of indices per key.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Cells per block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// The block of a key.
    #[inline]
    pub fn block_of(&self, digest: Digest) -> u64 {
        multiply_shift(digest.h1, self.blocks)
    }

    /// The key's indices, counted from the first cell of the first block.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let start = self.block_of(digest) * self.block;
        let width = self.block.trailing_zeros();
        let per_word = 64 / width;
        let mask = self.block - 1;
        let (mut word, mut left, mut round) = (digest.h2, per_word, 0u64);
        (0..self.k).map(move |_| {
            if left == 0 {
                round += 1;
                word = mix64(digest.h2 ^ round.rotate_left(32));
                left = per_word;
            }
            let index = start + (word & mask);
            word >>= width;
            left -= 1;
            index
        })
    }

    /// Half the blocks: blocks 2j and 2j + 1 become one.
    pub(crate) fn fold(&self) -> Result<Self> {
        Self::new(half(self.blocks, "the number of blocks")?, self.block, self.k)
    }
}

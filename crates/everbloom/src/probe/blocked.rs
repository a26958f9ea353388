//! All indices of a key inside one block (catalogue I6): one cache line, one miss.
//!
//! The block comes from H1. Inside it double hashing would cost 17 % of the rate (catalogue part 1,
//! §0: B = 512, c = 10, k = 7), so indices are drawn from the bits of H2, in one of two ways:
//!
//! - anywhere in the block: disjoint fields of H2, then of H2 re-mixed; a 512-cell block takes nine
//!   bits each, seven indices a word;
//! - one in each of its eight lanes: six bits name a bit of a 64-bit lane, so that one word names all
//!   eight; vector instructions do that at once (`cells/lanes`).

use super::{Scheme, half, multiply_shift};
use crate::error::{Error, Result};
use crate::hash::{Digest, mix64};

/// How a block's indices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Anywhere in the block: scheme 6.
    Anywhere,
    /// One in each of eight lanes, k/8 times: scheme 7.
    Lanes,
}

/// Lanes of a block.
pub(crate) const LANES: u64 = 8;
/// The lowest bit of the word that names bits of lanes: the low bits of a product are its weakest.
pub(crate) const FIRST_FIELD: u32 = 16;
/// Bits that name a bit of a 64-bit lane.
pub(crate) const FIELD: u32 = 6;

/// The word whose fields name the bits of `round`: H2 for the first.
#[inline]
pub(crate) fn round_word(h2: u64, round: u32) -> u64 {
    if round == 0 { h2 } else { mix64(h2 ^ u64::from(round)) }
}

/// Schemes 6 and 7.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocked {
    blocks: u64,
    block: u64,
    k: u32,
    inside: Inside,
    /// Whether one word names all bits: one round in lanes. Computed once, asked with every key.
    one_word: bool,
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
        Ok(Self { blocks, block, k, inside: Inside::Anywhere, one_word: false })
    }

    /// `rounds` indices in each of the eight 64-cell lanes of one of `blocks` > 0 lines.
    pub fn in_lanes(blocks: u64, rounds: u32) -> Result<Self> {
        let line = LANES * 64;
        let k = rounds.saturating_mul(LANES as u32);
        let one_word = rounds == 1;
        Ok(Self { inside: Inside::Lanes, one_word, ..Self::new(blocks, line, k)? })
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

    /// How indices are drawn inside a block.
    pub fn inside(&self) -> Inside {
        self.inside
    }

    /// Whether one word names all bits of a key: one round in lanes.
    #[inline]
    pub(crate) fn is_one_word(&self) -> bool {
        self.one_word
    }

    /// The permanent number of the scheme.
    pub fn scheme(&self) -> Scheme {
        match self.inside {
            Inside::Anywhere => Scheme::Blocked,
            Inside::Lanes => Scheme::Lanes,
        }
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
        let (inside, mask) = (self.inside, self.block - 1);
        let width = self.block.trailing_zeros();
        let per_word = 64 / width;
        let (mut word, mut left, mut round) = (digest.h2, per_word, 0u64);
        (0..self.k).map(move |i| {
            if inside == Inside::Lanes {
                let (lane, round) = (i % LANES as u32, i / LANES as u32);
                let bit = round_word(digest.h2, round) >> (FIRST_FIELD + FIELD * lane) & 63;
                return start + 64 * u64::from(lane) + bit;
            }
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
        Ok(Self { blocks: half(self.blocks, "the number of blocks")?, ..self.clone() })
    }
}

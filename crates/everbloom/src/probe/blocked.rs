//! All indices of a key inside one block (catalogue I6): one cache line, one miss.
//!
//! The block comes from H1. Inside it double hashing would cost 17 % of the rate (catalogue part 1,
//! §0: B = 512, c = 10, k = 7), so indices are drawn from the bits of H2, in one of two ways:
//!
//! - anywhere in the block: disjoint fields of H2, then of H2 re-mixed; a 512-cell block takes nine
//!   bits each, seven indices a word;
//! - one in each of its eight lanes of 64 cells: the top six bits of the low half of H2 times a constant of
//!   the lane, as the Parquet specification does it for lanes of 32; vector instructions do all eight at
//!   once (`probe/lanes`). Older files have lanes by fields of H2 instead, which takes a good second word
//!   and with it another multiplication of the key.

use super::{Scheme, half, multiply_shift};
use crate::error::{Error, Result};
use crate::hash::{Digest, mix64};

/// How a block's indices are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// Anywhere in the block: scheme 6.
    Anywhere,
    /// One in each of eight lanes by fields of H2, k/8 times: scheme 7, of older files.
    Fields,
    /// One in each of eight lanes by products of H2, k/8 times: scheme 8.
    Lanes,
    /// Anywhere in a block of 512, by the top bits of H2 times powers of a number: scheme 19, of RocksDB.
    Products,
}

impl Inside {
    /// Whether each of eight lanes has as many of a key's indices as the next.
    pub fn is_even(self) -> bool {
        matches!(self, Inside::Fields | Inside::Lanes)
    }
}

/// Lanes of a block.
pub(crate) const LANES: u64 = 8;
/// The odd constants of the lanes: the top 26 bits of those of the Parquet specification. 26 and not 32, since
/// the top bits of a product can then be had by the multiplication of 52 bits that newer processors have.
pub(crate) const SALTS: [u32; LANES as usize] = [
    0x47b6_137b >> 6 | 1,
    0x4497_4d91 >> 6 | 1,
    0x8824_ad5b >> 6 | 1,
    0xa2b7_289d >> 6 | 1,
    0x7054_95c7 >> 6 | 1,
    0x2df1_424b >> 6 | 1,
    0x9efc_4947 >> 6 | 1,
    0x5c6b_fb31 >> 6 | 1,
];

/// Which bit of a lane the low half of a word names.
#[inline]
pub(crate) fn bit_of_lane(word: u64, lane: usize) -> u32 {
    (word as u32).wrapping_mul(SALTS[lane]) >> 26
}

/// The word that names the bits of `round`: H2 for the first, of which lanes take the low half.
#[inline]
pub(crate) fn round_word(h2: u64, round: u32) -> u64 {
    if round == 0 { h2 } else { mix64(h2 ^ u64::from(round)) }
}

/// Schemes 6 to 8, and 19.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocked {
    blocks: u64,
    block: u64,
    k: u32,
    inside: Inside,
    /// Whether one word names all bits: one round in lanes. Computed once, read with every key.
    one_word: bool,
}

/// The number whose powers RocksDB takes, modulo 2³².
const FACTOR: u32 = 0x9e37_79b9;

impl Blocked {
    /// Cells of a line, which is a block of the cache's size.
    pub const LINE: u64 = 512;

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
        let k = rounds.saturating_mul(LANES as u32);
        let one_word = rounds == 1;
        Ok(Self { inside: Inside::Lanes, one_word, ..Self::new(blocks, Self::LINE, k)? })
    }

    /// The same lanes by fields of H2, as older files have them.
    pub(crate) fn by_fields(self) -> Self {
        Self { inside: Inside::Fields, one_word: false, ..self }
    }

    /// `k` indices anywhere in one of `blocks` > 0 lines, as RocksDB draws them.
    pub fn by_products(blocks: u64, k: u32) -> Result<Self> {
        Ok(Self { inside: Inside::Products, ..Self::new(blocks, Self::LINE, k)? })
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
            Inside::Fields => Scheme::Fields,
            Inside::Lanes => Scheme::Lanes,
            Inside::Products => Scheme::Products,
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
        let mut product = digest.h2 as u32;
        (0..self.k).map(move |i| {
            if inside == Inside::Products {
                let index = start + u64::from(product >> (32 - width));
                product = product.wrapping_mul(FACTOR);
                return index;
            }
            if inside.is_even() {
                let (lane, round) = (i % LANES as u32, i / LANES as u32);
                let word = round_word(digest.h2, round);
                let bit = match inside {
                    Inside::Lanes => u64::from(bit_of_lane(word, lane as usize)),
                    // Six bits each, from bit 16 upwards.
                    _ => word >> (16 + 6 * lane) & 63,
                };
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
        Ok(Self { blocks: half(self.blocks, "the number of blocks")?, ..*self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_the_top_bits_in_the_line() {
        let probe = Blocked::by_products(4, 3).unwrap();
        // The third quarter of all words picks the third of four lines.
        let digest = Digest { h1: 0x8000_0000 << 32, h2: 3 };
        let powers = [3, 3 * 0x9e37_79b9_u64, 3 * 0x9e37_79b9_u64 % (1 << 32) * 0x9e37_79b9];
        let expected = powers.map(|p| 2 * 512 + p % (1 << 32) / (1 << 23));
        assert_eq!(probe.indices(digest).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn no_two_lanes_move_together() {
        // Pairs (u·a, u·b) mod 2³² of all u fill their 64 × 64 boxes evenly unless x·a + y·b ≡ 0 has a
        // solution with small x and y (the spectral test).
        const SMALL: u32 = 4096;
        for (i, a) in SALTS.into_iter().enumerate() {
            assert!(a % 2 == 1 && a < 1 << 26);
            for b in &SALTS[..i] {
                // The inverse of an odd number by Newton's iteration, which doubles its right bits.
                let inverse =
                    (0..5).fold(*b, |x, _| x.wrapping_mul(2u32.wrapping_sub(b.wrapping_mul(x))));
                assert_eq!(b.wrapping_mul(inverse), 1);
                for x in 1..SMALL {
                    let y = x.wrapping_mul(a).wrapping_mul(inverse) as i32;
                    assert!(y.unsigned_abs() >= SMALL, "{a:x} {b:x}: {x} {y}");
                }
            }
        }
    }
}

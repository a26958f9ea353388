//! XXH3-64 of 17 to 32 bytes and XXH3-128 of eight (Collet, the xxHash specification): names, addresses,
//! identifiers and integers. The crate's function for any length is a call and a few branches away, and knows
//! neither length nor seed; inlined into a loop over keys of one length it is two multiplications and a mix.

use std::ops::RangeInclusive;

use super::{Digest, fold};
use crate::simd::in_register;

pub(super) const P1: u64 = 0x9E37_79B1_85EB_CA87;
pub(super) const MIX: u64 = 0x1656_6791_9E37_79F9;
/// What a word of eight bytes is multiplied by, and what the low half of that product is.
pub(super) const FACTOR: u64 = P1 + (8 << 2);
pub(super) const LAST: u64 = 0x9FB2_1C65_1E98_DF25;

/// The words of the specification's secret that these lengths take.
const SECRET: [u64; 4] =
    [0xBE4B_A423_396C_FEB8, 0x1CAD_21F7_2C81_017C, 0xDB97_9083_E96D_D4DE, 0x1F67_B3B7_A4A4_4072];

/// The lengths that are hashed here.
pub(crate) const TEXT: RangeInclusive<usize> = 17..=32;

/// The sixteen bytes that keys of these lengths begin and end with.
#[inline(always)]
pub(super) fn ends(bytes: &[u8]) -> Option<[&[u8; 16]; 2]> {
    let ends = [bytes.first_chunk()?, bytes.last_chunk()?];
    TEXT.contains(&bytes.len()).then_some(ends)
}

/// XXH3-64 of `bytes` under `seed`.
#[inline(always)]
pub(super) fn of(bytes: &[u8], seed: u64) -> u64 {
    let Some(ends) = ends(bytes) else {
        return of_any_length(bytes, seed);
    };
    let (words, secret) = (ends.map(|end| u128::from_le_bytes(*end)), secret(seed));
    let folded = |i: usize| {
        let (low, high) = (words[i] as u64, (words[i] >> 64) as u64);
        let [low, high] = [low ^ secret[2 * i], high ^ secret[2 * i + 1]];
        // Both in one vector register would have to be taken out of it again to be multiplied.
        fold(in_register(low), in_register(high))
    };
    let h = (bytes.len() as u64).wrapping_mul(P1);
    avalanche(h.wrapping_add(folded(0)).wrapping_add(folded(1)))
}

/// XXH3-64 of bytes that have no shorter way.
#[inline(never)]
fn of_any_length(bytes: &[u8], seed: u64) -> u64 {
    xxhash_rust::xxh3::xxh3_64_with_seed(bytes, seed)
}

/// XXH3-128 of `bytes` under `seed`.
#[inline(never)]
pub(super) fn of_128(bytes: &[u8], seed: u64) -> Digest {
    let h = xxhash_rust::xxh3::xxh3_128_with_seed(bytes, seed);
    Digest { h1: h as u64, h2: (h >> 64) as u64 }
}

/// What the four words of a key meet under a seed.
#[inline(always)]
pub(super) fn secret(seed: u64) -> [u64; 4] {
    let [a, b, c, d] = SECRET;
    [a.wrapping_add(seed), b.wrapping_sub(seed), c.wrapping_add(seed), d.wrapping_sub(seed)]
}

#[inline(always)]
fn avalanche(h: u64) -> u64 {
    let h = (h ^ h >> 37).wrapping_mul(MIX);
    h ^ h >> 32
}

/// What of the seed enters the XXH3-128 of a word.
pub(super) fn start(seed: u64) -> u64 {
    let seed = seed ^ u64::from((seed as u32).swap_bytes()) << 32;
    (SECRET[2] ^ SECRET[3]).wrapping_add(seed)
}

/// XXH3-128 of a word's eight bytes, from the seed as [`start`] has it.
#[inline(always)]
pub(super) fn of_word(word: u64, start: u64) -> Digest {
    let product = u128::from(word ^ start) * u128::from(FACTOR);
    let (low, high) = (product as u64, (product >> 64) as u64);
    let high = high.wrapping_add(low << 1);
    let low = low ^ high >> 3;
    let low = (low ^ low >> 35).wrapping_mul(LAST);
    Digest { h1: low ^ low >> 28, h2: avalanche(high) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn words_are_hashed_as_the_crate_does() {
        for i in 0..1000 {
            let (word, seed) = (mix64(i), [0, 1, mix64(!i)][i as usize % 3]);
            let theirs = xxhash_rust::xxh3::xxh3_128_with_seed(&word.to_le_bytes(), seed);
            let Digest { h1, h2 } = of_word(word, start(seed));
            assert_eq!(u128::from(h2) << 64 | u128::from(h1), theirs, "{word} {seed}");
        }
    }

    #[test]
    fn every_length_is_hashed_as_the_crate_does() {
        for length in 0..300 {
            let bytes: Vec<u8> = (0..length).map(|i| mix64(i ^ length) as u8).collect();
            for seed in [0, 1, mix64(length)] {
                let theirs = xxhash_rust::xxh3::xxh3_64_with_seed(&bytes, seed);
                assert_eq!(of(&bytes, seed), theirs, "{length} {seed}");
            }
        }
    }
}

//! XXH64 of eight bytes (Collet, the xxHash specification): the crate's function for any length is a call
//! and a few branches away, which is most of the time that a split block takes.

pub(super) const P1: u64 = 0x9E37_79B1_85EB_CA87;
pub(super) const P2: u64 = 0xC2B2_AE3D_27D4_EB4F;
pub(super) const P3: u64 = 0x1656_67B1_9E37_79F9;
pub(super) const P4: u64 = 0x85EB_CA77_C2B2_AE63;
pub(super) const P5: u64 = 0x27D4_EB2F_1656_67C5;

/// XXH64 of the eight little-endian bytes of `word`.
#[inline(always)]
pub(super) fn of_word(word: u64, seed: u64) -> u64 {
    let round = word.wrapping_mul(P2).rotate_left(31).wrapping_mul(P1);
    let mut h = seed.wrapping_add(P5).wrapping_add(8) ^ round;
    h = h.rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    h = (h ^ h >> 33).wrapping_mul(P2);
    h = (h ^ h >> 29).wrapping_mul(P3);
    h ^ h >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn eight_bytes_are_hashed_as_the_crate_does() {
        for i in 0..1000 {
            let (word, seed) = (mix64(i), if i < 100 { 0 } else { mix64(!i) });
            let theirs = xxhash_rust::xxh64::xxh64(&word.to_le_bytes(), seed);
            assert_eq!(of_word(word, seed), theirs);
        }
    }
}

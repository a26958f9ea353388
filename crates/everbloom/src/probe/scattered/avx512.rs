//! AVX-512: eight indices a register, eight words a gathering.

use std::arch::x86_64::*;

use crate::hash::Digest;
use crate::probe::{Ring, grown};

const GROWN: [u64; 8] =
    [grown(0), grown(1), grown(2), grown(3), grown(4), grown(5), grown(6), grown(7)];

/// The first eight indices among m < 2³² cells.
#[inline]
#[target_feature(enable = "avx512f")]
fn places(digest: Digest, m: u64) -> __m512i {
    let times = |n: u32| _mm512_set1_epi64((digest.h2 << n) as i64);
    // i·H2 from the bits of i: AVX-512 has no fast multiplication of 64 bits.
    let mut walked = _mm512_maskz_mov_epi64(0b1010_1010, times(0));
    walked = _mm512_mask_add_epi64(walked, 0b1100_1100, walked, times(1));
    walked = _mm512_mask_add_epi64(walked, 0b1111_0000, walked, times(2));
    // SAFETY: eight constants are 64 readable bytes.
    let grown = unsafe { _mm512_loadu_si512(GROWN.as_ptr().cast()) };
    let start = _mm512_set1_epi64(digest.h1 as i64);
    let x = _mm512_add_epi64(_mm512_add_epi64(start, grown), walked);
    // ⌊x·m/2⁶⁴⌋ by two products of 32 bits each, exactly, since m < 2³². m stands in both halves of its
    // lanes: were the upper ones known to be zero, the compiler would take the multiplication of 64 bits
    // after all, which is three times as slow.
    let m = _mm512_set1_epi32(m as i32);
    let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, m));
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(x), m);
    _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low))
}

/// Whether all cells of a digest are set.
///
/// # Safety
/// m < 2³², and `words` has a word for every index below m.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn all_set(words: &[u64], ring: &Ring, digest: Digest) -> bool {
    let places = places(digest, ring.m());
    let asked: __mmask8 = 0xFF >> (8 - ring.k().clamp(1, 8));
    let (none, start) = (_mm512_setzero_si512(), words.as_ptr().cast());
    let at = _mm512_srli_epi64::<6>(places);
    // SAFETY: places lie below m, for which there are words.
    let found = unsafe { _mm512_mask_i64gather_epi64::<8>(none, asked, at, start) };
    // A rotation takes its count modulo 64.
    let found = _mm512_rorv_epi64(found, places);
    let zeros = _mm512_mask_testn_epi64_mask(asked, found, _mm512_set1_epi64(1));
    if ring.k() <= 8 || zeros != 0 {
        return zeros == 0;
    }
    let mut walk = ring.walk_after(digest, 8);
    (8..ring.k()).all(|_| {
        let cell = ring.step(&mut walk);
        // SAFETY: as above.
        let word = unsafe { words.get_unchecked((cell / 64) as usize) };
        word >> (cell % 64) & 1 != 0
    })
}

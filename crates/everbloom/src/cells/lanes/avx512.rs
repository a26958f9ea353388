//! AVX-512: a whole line in one register.
//!
//! A rotation takes its count modulo 64, so that the fields need no masking, and a lane without the bit
//! shows in a mask register: six instructions from the word to the answer.

use std::arch::x86_64::*;

use super::*;

#[inline]
#[target_feature(enable = "avx512f")]
fn line_mask(word: u64) -> __m512i {
    let fields = _mm512_setr_epi64(16, 22, 28, 34, 40, 46, 52, 58);
    let counts = _mm512_srlv_epi64(_mm512_set1_epi64(word as i64), fields);
    _mm512_rolv_epi64(_mm512_set1_epi64(1), counts)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    // SAFETY: the line is 64 readable bytes; the load needs no alignment.
    let bits = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    _mm512_testn_epi64_mask(bits, line_mask(word)) == 0
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    let (start, mask) = (line.as_mut_ptr().cast::<__m512i>(), line_mask(word));
    // SAFETY: the line is 64 writable bytes; load and store need no alignment.
    let bits = unsafe { _mm512_loadu_si512(start) };
    // SAFETY: as above.
    unsafe { _mm512_storeu_si512(start, _mm512_or_si512(bits, mask)) };
    _mm512_testn_epi64_mask(bits, mask) != 0
}

// A half line fits the registers of AVX2, which every processor with AVX-512 has.

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    avx2::half_has(half, key)
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    avx2::half_set(half, key)
}

many!(#[target_feature(enable = "avx512f")]);

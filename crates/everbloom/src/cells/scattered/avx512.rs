//! AVX-512: eight indices a register, eight words a gathering.

use std::arch::x86_64::*;

use crate::hash::Digest;
use crate::probe::RING_STEP;

/// (i+1 choose 3)·STEP: what the growing step has added to x after i steps.
const GROWN: [u64; 16] = {
    let mut grown = [0; 16];
    let mut i = 0u64;
    while i < 16 {
        grown[i as usize] = ((i + 1) * i * i.saturating_sub(1) / 6).wrapping_mul(RING_STEP);
        i += 1;
    }
    grown
};

/// The indices of probes `FIRST..FIRST + 8` among m < 2³² cells.
#[inline]
#[target_feature(enable = "avx512f")]
fn places<const FIRST: usize>(digest: Digest, m: u64) -> __m512i {
    let (one, two) =
        (_mm512_set1_epi64(digest.h2 as i64), _mm512_set1_epi64((digest.h2 << 1) as i64));
    let four = _mm512_set1_epi64((digest.h2 << 2) as i64);
    // i·H2 from the bits of i: AVX-512 has no fast multiplication of 64 bits.
    let mut walked = _mm512_maskz_mov_epi64(0b1010_1010, one);
    walked = _mm512_mask_add_epi64(walked, 0b1100_1100, walked, two);
    walked = _mm512_mask_add_epi64(walked, 0b1111_0000, walked, four);
    // SAFETY: eight constants from FIRST on are 64 readable bytes.
    let grown = unsafe { _mm512_loadu_si512(GROWN.as_ptr().add(FIRST).cast()) };
    let start = digest.h1.wrapping_add(digest.h2.wrapping_mul(FIRST as u64));
    let x = _mm512_add_epi64(_mm512_add_epi64(_mm512_set1_epi64(start as i64), grown), walked);
    // ⌊x·m/2⁶⁴⌋ by two products of 32 bits each, exactly, since m < 2³².
    // (m stands in both halves of its lanes: were the upper ones known to be zero, the compiler would take
    // the multiplication of 64 bits after all, which is three times as slow.)
    let m = _mm512_set1_epi32(m as i32);
    let low = _mm512_srli_epi64::<32>(_mm512_mul_epu32(x, m));
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(x), m);
    _mm512_srli_epi64::<32>(_mm512_add_epi64(high, low))
}

/// Which of the cells at `places` are zero, for the lanes asked.
///
/// # Safety
/// Every place of a lane that is asked lies inside `words`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn zeros(words: &[u64], places: __m512i, asked: __mmask8) -> __mmask8 {
    let at = _mm512_srli_epi64::<6>(places);
    let none = _mm512_setzero_si512();
    // SAFETY: the caller's promise.
    let found = unsafe { _mm512_mask_i64gather_epi64::<8>(none, asked, at, words.as_ptr().cast()) };
    // A rotation takes its count modulo 64.
    let found = _mm512_rorv_epi64(found, places);
    _mm512_mask_testn_epi64_mask(asked, found, _mm512_set1_epi64(1))
}

/// The lanes of the first `k` of eight probes.
#[inline]
fn first(k: u32) -> __mmask8 {
    0xFF >> (8 - k.clamp(1, 8))
}

/// # Safety
/// The instruction set is there, 0 < m < 2³², `words` has a word for every index below m, 1 ≤ k ≤ 16.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn all_set(words: &[u64], m: u64, k: u32, digest: Digest) -> bool {
    // SAFETY: places lie below m.
    let missing = unsafe { zeros(words, places::<0>(digest, m), first(k)) };
    if k <= 8 || missing != 0 {
        return missing == 0;
    }
    // SAFETY: as above.
    unsafe { zeros(words, places::<8>(digest, m), first(k - 8)) == 0 }
}

/// # Safety
/// As [`all_set`].
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn set_all(words: &mut [u64], m: u64, k: u32, digest: Digest) -> bool {
    // SAFETY: the caller's promise.
    let mut new = unsafe { set_some(words, places::<0>(digest, m), k.min(8)) };
    if k > 8 {
        // SAFETY: as above.
        new |= unsafe { set_some(words, places::<8>(digest, m), k - 8) };
    }
    new
}

/// Sets the cells of the first `count` lanes, one after the other, since two may share a word.
///
/// What was there is read as it is written, not gathered before: gathering waits for the words that the
/// keys before have just written.
///
/// # Safety
/// Every place of those lanes lies inside `words`.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn set_some(words: &mut [u64], places: __m512i, count: u32) -> bool {
    let mut cells = [0u64; 8];
    // SAFETY: eight words are 64 writable bytes.
    unsafe { _mm512_storeu_si512(cells.as_mut_ptr().cast(), places) };
    let mut missing = 0;
    for cell in cells.iter().take(count as usize) {
        // SAFETY: the caller's promise.
        let word = unsafe { words.get_unchecked_mut((cell / 64) as usize) };
        let bit = 1 << (cell % 64);
        missing |= bit & !*word;
        *word |= bit;
    }
    missing != 0
}

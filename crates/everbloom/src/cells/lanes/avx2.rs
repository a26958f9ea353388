//! AVX2: a line in two registers, a half line in one.

use std::arch::x86_64::*;

use super::*;

/// The masks of a line's lower and upper four lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn line_masks(word: u64) -> [__m256i; 2] {
    let (word, one, six) =
        (_mm256_set1_epi64x(word as i64), _mm256_set1_epi64x(1), _mm256_set1_epi64x(63));
    let fields = [_mm256_setr_epi64x(16, 22, 28, 34), _mm256_setr_epi64x(40, 46, 52, 58)];
    fields.map(|at| _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srlv_epi64(word, at), six)))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    let [low, high] = line_masks(word);
    // SAFETY: the line is 64 readable bytes; the loads need no alignment.
    let bits = unsafe {
        let start = line.as_ptr().cast::<__m256i>();
        [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))]
    };
    (_mm256_testc_si256(bits[0], low) & _mm256_testc_si256(bits[1], high)) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    let mut missing = 0;
    for (part, mask) in line.chunks_exact_mut(4).zip(line_masks(word)) {
        let start = part.as_mut_ptr().cast::<__m256i>();
        // SAFETY: the part is 32 writable bytes; load and store need no alignment.
        let bits = unsafe { _mm256_loadu_si256(start) };
        missing |= 1 - _mm256_testc_si256(bits, mask);
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(start, _mm256_or_si256(bits, mask)) };
    }
    missing != 0
}

#[inline]
#[target_feature(enable = "avx2")]
fn half_mask(key: u32) -> __m256i {
    let salts = SALTS.map(|salt| salt as i32);
    // SAFETY: the array is 32 readable bytes.
    let salts = unsafe { _mm256_loadu_si256(salts.as_ptr().cast()) };
    let product = _mm256_mullo_epi32(_mm256_set1_epi32(key as i32), salts);
    _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32::<27>(product))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    // SAFETY: the half line is 32 readable bytes; the load needs no alignment.
    let bits = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
    _mm256_testc_si256(bits, half_mask(key)) != 0
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    let (start, mask) = (half.as_mut_ptr().cast::<__m256i>(), half_mask(key));
    // SAFETY: the half line is 32 writable bytes; load and store need no alignment.
    let bits = unsafe { _mm256_loadu_si256(start) };
    // SAFETY: as above.
    unsafe { _mm256_storeu_si256(start, _mm256_or_si256(bits, mask)) };
    _mm256_testc_si256(bits, mask) == 0
}

many!(#[target_feature(enable = "avx2")]);

//! AVX-512: eight keys are placed, and both buckets of each compared, at once.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use crate::cells::Slots;
use crate::hash::Digest;
use crate::hash::vector::{all, mix64, multiply_shift};
use crate::simd::has_avx512;

/// Eight fingerprints and their buckets.
struct Eight {
    first: __m512i,
    second: __m512i,
    fingerprint: __m512i,
}

/// Whether the processor can, buckets are as the gathering relies on, and fingerprints have at most 32 bits.
#[inline]
pub(super) fn can(slots: &Slots) -> bool {
    let bits = slots.buckets().saturating_mul(slots.near_bits().into());
    has_avx512()
        && slots.near_bits() > 0
        && slots.width() <= 32
        && slots.buckets().is_power_of_two()
        && slots.buckets() <= 1 << 31
        && bits <= 64 * slots.words().len() as u64
}

/// Writes for each digest whether one of its two buckets, which differ by a mix of its fingerprint, holds that; of
/// digests that are no eight any more nothing. Returns how many were asked.
#[inline]
pub(super) fn contains(slots: &Slots, digests: &[Digest], found: &mut [bool]) -> usize {
    assert!(can(slots), "the processor has AVX-512, and buckets fit");
    // SAFETY: the instruction set is there.
    unsafe { contains_all(slots, digests, found) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn contains_all(slots: &Slots, digests: &[Digest], found: &mut [bool]) -> usize {
    let digests = digests.as_chunks::<8>().0;
    let found = found.as_chunks_mut::<8>().0;
    for (digests, found) in digests.iter().zip(&mut *found) {
        let Eight { first, second, fingerprint } = places(slots, digests);
        // SAFETY: buckets are below their number.
        let held =
            unsafe { holding(slots, first, fingerprint) | holding(slots, second, fingerprint) };
        *found = std::array::from_fn(|i| held >> i & 1 != 0);
    }
    8 * digests.len().min(found.len())
}

/// As [`CuckooTable::places`](super::CuckooTable::places) has them under [`Mixed`](super::Mixed).
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn places(slots: &Slots, digests: &[Digest; 8]) -> Eight {
    let at = digests.as_ptr().cast::<u64>();
    // SAFETY: eight digests are sixteen words, the two of a digest side by side.
    let [low, high] = [0, 8].map(|i| unsafe { _mm512_loadu_si512(at.add(i).cast()) });
    let h1 = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), high);
    let h2 = _mm512_permutex2var_epi64(low, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), high);
    // ⌊h·2ᵇ/2⁶⁴⌋ is a shift, by up to 64.
    let bits = i64::from(slots.buckets().trailing_zeros());
    let first = _mm512_srlv_epi64(h1, _mm512_set1_epi64(64 - bits));
    let fingerprint = _mm512_add_epi64(multiply_shift(h2, slots.max()), all(1));
    let distance = _mm512_and_si512(mix64(fingerprint), all(slots.buckets() - 1));
    Eight { first, second: _mm512_xor_si512(first, distance), fingerprint }
}

/// Which of eight buckets hold the fingerprints, as [`Slots::either`] finds them.
///
/// # Safety
/// [`can`], and there are these buckets.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
unsafe fn holding(slots: &Slots, buckets: __m512i, fingerprints: __m512i) -> __mmask8 {
    let words = slots.words();
    let bit = _mm512_mul_epu32(buckets, all(slots.near_bits().into()));
    // The last buckets are at the end of the last eight bytes.
    let byte = _mm512_min_epu64(_mm512_srli_epi64::<3>(bit), all(8 * words.len() as u64 - 8));
    // SAFETY: eight bytes from there on are inside of the array.
    let found = unsafe { _mm512_i64gather_epi64::<1>(byte, words.as_ptr().cast()) };
    let lanes = _mm512_srlv_epi64(found, _mm512_sub_epi64(bit, _mm512_slli_epi64::<3>(byte)));
    let ones = slots.lowest_bits();
    let tops = ones << (slots.width() - 1);
    let below = all(tops - ones);
    let x = _mm512_xor_si512(lanes, _mm512_mullo_epi64(fingerprints, all(ones)));
    let carried = _mm512_add_epi64(_mm512_and_si512(x, below), below);
    let zeros = _mm512_andnot_si512(_mm512_or_si512(carried, x), all(tops));
    _mm512_test_epi64_mask(zeros, zeros)
}

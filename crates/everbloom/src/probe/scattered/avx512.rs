//! AVX-512: eight indices a register, eight words a gathering.

use std::arch::x86_64::*;

use crate::hash::Digest;
use crate::hash::vector::{all, apart, mix64, multiply_shift};
use crate::probe::{Mixed, Ring, STEP, grown};

const GROWN: [u64; 8] =
    [grown(0), grown(1), grown(2), grown(3), grown(4), grown(5), grown(6), grown(7)];

/// The first eight words of a way on the ring.
#[inline]
#[target_feature(enable = "avx512f")]
fn on_ring(digest: Digest) -> __m512i {
    let times = |n: u32| _mm512_set1_epi64((digest.h2 << n) as i64);
    // i·H2 from the bits of i: AVX-512 has no fast multiplication of 64 bits.
    let mut walked = _mm512_maskz_mov_epi64(0b1010_1010, times(0));
    walked = _mm512_mask_add_epi64(walked, 0b1100_1100, walked, times(1));
    walked = _mm512_mask_add_epi64(walked, 0b1111_0000, walked, times(2));
    // SAFETY: eight constants are 64 readable bytes.
    let grown = unsafe { _mm512_loadu_si512(GROWN.as_ptr().cast()) };
    let start = all(digest.h1);
    _mm512_add_epi64(_mm512_add_epi64(start, grown), walked)
}

/// Eight independent words from number `first` on, as [`Digest::word`] has them.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn remixed(digest: Digest, first: u32) -> __m512i {
    let numbers = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    let start = all(digest.h2.wrapping_add(first.into()));
    let inner = mix64(_mm512_add_epi64(start, numbers));
    mix64(_mm512_xor_si512(all(digest.h1), inner))
}

/// Which of the first `k` of eight cells are zero, one bit each.
///
/// # Safety
/// `words` has a word for every place.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn zeros(words: &[u64], places: __m512i, k: u32) -> __mmask8 {
    let asked: __mmask8 = 0xFF >> (8 - k.clamp(1, 8));
    let (none, start) = (_mm512_setzero_si512(), words.as_ptr().cast());
    let at = _mm512_srli_epi64::<6>(places);
    // SAFETY: as the caller says.
    let found = unsafe { _mm512_mask_i64gather_epi64::<8>(none, asked, at, start) };
    // A rotation takes its count modulo 64.
    let found = _mm512_rorv_epi64(found, places);
    _mm512_mask_testn_epi64_mask(asked, found, _mm512_set1_epi64(1))
}

/// Whether all cells of a digest are set.
///
/// # Safety
/// m < 2³², and `words` has a word for every index below m.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn all_set(words: &[u64], ring: &Ring, digest: Digest) -> bool {
    // SAFETY: places lie below m, for which there are words.
    let zeros = unsafe { zeros(words, multiply_shift(on_ring(digest), ring.m()), ring.k()) };
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

/// [`all_set`] for independent indices.
///
/// # Safety
/// As there.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn all_mixed(words: &[u64], mixed: &Mixed, digest: Digest) -> bool {
    (0..mixed.k()).step_by(8).all(|first| {
        let places = multiply_shift(remixed(digest, first), mixed.m());
        // SAFETY: places lie below m, for which there are words.
        unsafe { zeros(words, places, mixed.k() - first) == 0 }
    })
}

/// [`all_set`] of each of many digests.
///
/// # Safety
/// As there.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn each_all_set(
    words: &[u64],
    ring: &Ring,
    digests: &[Digest],
    found: &mut [bool],
) {
    for (digest, found) in digests.iter().zip(found) {
        // SAFETY: as the caller says.
        *found = unsafe { all_set(words, ring, *digest) };
    }
}

/// [`all_mixed`] of each of many digests.
///
/// # Safety
/// As there.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
pub(super) unsafe fn each_all_mixed(
    words: &[u64],
    mixed: &Mixed,
    digests: &[Digest],
    found: &mut [bool],
) {
    for (digest, found) in digests.iter().zip(found) {
        // SAFETY: as the caller says.
        *found = unsafe { all_mixed(words, mixed, *digest) };
    }
}

/// Sets all cells of eight digests each. Word by word after all: but where they are and which bits they get is computed for eight
/// keys at once.
///
/// # Safety
/// As of [`all_set`].
#[target_feature(enable = "avx512f,avx512ifma")]
pub(super) unsafe fn each_set_all(words: &mut [u64], ring: &Ring, digests: &[[Digest; 8]]) {
    let (start, one) = (words.as_mut_ptr(), _mm512_set1_epi64(1));
    // Byte offsets of words, and bits, of the next eight probes of eight keys.
    let (mut places, mut bits) = ([[0; 8]; 8], [[0; 8]; 8]);
    for digests in digests {
        let ((mut x, mut y), mut step) = (apart(digests), STEP);
        for first in (0..ring.k()).step_by(8) {
            let next = (ring.k() - first).min(8) as usize;
            for (place, bit) in places.iter_mut().zip(&mut bits).take(next) {
                let cell = multiply_shift(x, ring.m());
                let word = _mm512_slli_epi64::<3>(_mm512_srli_epi64::<6>(cell));
                // SAFETY: eight words are 64 writable bytes. A rotation takes its count modulo 64.
                unsafe {
                    _mm512_storeu_si512(place.as_mut_ptr().cast(), word);
                    _mm512_storeu_si512(bit.as_mut_ptr().cast(), _mm512_rolv_epi64(one, cell));
                }
                (x, y) = (_mm512_add_epi64(x, y), _mm512_add_epi64(y, all(step)));
                step = step.wrapping_add(STEP);
            }
            for (place, bit) in places[..next].as_flattened().iter().zip(bits.as_flattened()) {
                // SAFETY: cells lie below m, for which there are words.
                unsafe { *start.byte_add(*place) |= *bit };
            }
        }
    }
}

//! AVX2: a line in two registers, a half line in one.

use std::arch::{asm, x86_64::*};

use super::scalar::{load_halves, load_lines};
use super::*;

/// The constants of a line's lanes where their counts are wanted: of four 32-bit lanes side by side, unpacking makes words of
/// the first two and of the last two.
pub(super) const UNPACKED: [u32; LINE] = {
    let [a, b, c, d, e, f, g, h] = LINE_SALTS;
    [a, b, e, f, c, d, g, h]
};

/// `flipped`, or 0, and the top bits of `word` times the constant of each lane: for a line's lower and upper four words.
#[inline]
#[target_feature(enable = "avx2")]
fn line_counts(word: u64, flipped: __m256i) -> [__m256i; 2] {
    // SAFETY: the array is 32 readable bytes.
    let salts = unsafe { _mm256_loadu_si256(UNPACKED.as_ptr().cast()) };
    let product = _mm256_mullo_epi32(_mm256_set1_epi32(word as i32), salts);
    let counts = _mm256_srli_epi32::<26>(_mm256_xor_si256(product, flipped));
    let zero = _mm256_setzero_si256();
    [_mm256_unpacklo_epi32(counts, zero), _mm256_unpackhi_epi32(counts, zero)]
}

/// The masks of a line's lower and upper four lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn line_masks(word: u64) -> [__m256i; 2] {
    let one = _mm256_set1_epi64x(1);
    line_counts(word, _mm256_setzero_si256()).map(|counts| _mm256_sllv_epi64(one, counts))
}

/// Moves the key's bit to the top of every lane, by 63 less its number: the sign of four lanes is one instruction.
#[inline]
#[target_feature(enable = "avx2")]
fn seen([low, high]: [__m256i; 2], word: u64) -> Seen {
    let [first, last] = line_counts(word, _mm256_set1_epi32(-1));
    let both = _mm256_and_si256(_mm256_sllv_epi64(low, first), _mm256_sllv_epi64(high, last));
    _mm256_movemask_pd(_mm256_castsi256_pd(both)) as Seen
}

/// What a line shows of a key: a bit for a lane of each half.
pub(super) type Seen = u8;
pub(super) const ALL: Seen = 0b1111;

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn line_seen(line: &[u64; LINE], word: u64) -> Seen {
    let start = line.as_ptr().cast::<__m256i>();
    // SAFETY: the line is 64 readable bytes; the loads need no alignment.
    let bits = unsafe { [_mm256_loadu_si256(start), _mm256_loadu_si256(start.add(1))] };
    seen(bits, word)
}

// A program for any x86-64 has it where it is called (see `inlined`).
#[cfg_attr(not(any(test, target_feature = "avx")), allow(dead_code))]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    line_seen(line, word) == ALL
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn shared_line_has(line: &[AtomicU64; LINE], word: u64) -> bool {
    let (low, high): (__m256i, __m256i);
    // SAFETY: the line is 64 readable bytes. That others write to them meanwhile is why this is not an
    // intrinsic: the compiler makes nothing of it, and the processor reads aligned words whole, as eight
    // relaxed loads would.
    unsafe {
        asm!(
            "vmovdqu {low}, [{line}]",
            "vmovdqu {high}, [{line} + 32]",
            low = out(ymm_reg) low,
            high = out(ymm_reg) high,
            line = in(reg) line.as_ptr(),
            options(readonly, nostack, preserves_flags),
        );
    }
    seen([low, high], word) == ALL
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

/// Keys of lines are hashed one by one.
const ONE_BY_ONE: bool = true;

many!(#[target_feature(enable = "avx2")]);

//! NEON: a line in four registers, a half line in two.

use std::arch::aarch64::*;

use super::scalar::{load_halves, load_lines};
use super::*;

/// The top bits of `key` times the constant of each lane, those above `SHIFT`: four lanes a register.
#[inline]
#[target_feature(enable = "neon")]
fn counts<const SHIFT: i32>(key: u32, salts: &[u32; 8]) -> [uint32x4_t; 2] {
    [0, 4].map(|i| {
        // SAFETY: four constants are 16 readable bytes.
        let salts = unsafe { vld1q_u32(salts[i..i + 4].as_ptr()) };
        vshrq_n_u32::<SHIFT>(vmulq_u32(vdupq_n_u32(key), salts))
    })
}

/// The masks of a line's lanes, two a register.
#[inline]
#[target_feature(enable = "neon")]
fn line_masks(word: u64) -> [uint64x2_t; 4] {
    let [low, high] = counts::<26>(word as u32, &LINE_SALTS);
    let bits = |counts| vshlq_u64(vdupq_n_u64(1), vreinterpretq_s64_u64(vmovl_u32(counts)));
    let pairs = [vget_low_u32(low), vget_high_u32(low), vget_low_u32(high), vget_high_u32(high)];
    pairs.map(bits)
}

/// What a line shows of a key: one if it has all bits.
pub(super) type Seen = u8;
pub(super) const ALL: Seen = 1;

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn line_seen(line: &[u64; LINE], word: u64) -> Seen {
    let mut missing = vdupq_n_u64(0);
    for (pair, mask) in line.chunks_exact(2).zip(line_masks(word)) {
        // SAFETY: two words are 16 readable bytes.
        missing = vorrq_u64(missing, vbicq_u64(mask, unsafe { vld1q_u64(pair.as_ptr()) }));
    }
    Seen::from(vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    line_seen(line, word) == ALL
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn shared_line_has(line: &[AtomicU64; LINE], word: u64) -> bool {
    scalar::shared_line_has(line, word)
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    let mut missing = vdupq_n_u64(0);
    for (pair, mask) in line.chunks_exact_mut(2).zip(line_masks(word)) {
        // SAFETY: two words are 16 readable bytes.
        let bits = unsafe { vld1q_u64(pair.as_ptr()) };
        missing = vorrq_u64(missing, vbicq_u64(mask, bits));
        // SAFETY: two words are 16 writable bytes.
        unsafe { vst1q_u64(pair.as_mut_ptr(), vorrq_u64(bits, mask)) };
    }
    vmaxvq_u32(vreinterpretq_u32_u64(missing)) != 0
}

/// The masks of a half line's lanes, four a register.
#[inline]
#[target_feature(enable = "neon")]
fn half_masks(key: u32) -> [uint64x2_t; 2] {
    let bits = |counts| vshlq_u32(vdupq_n_u32(1), vreinterpretq_s32_u32(counts));
    counts::<27>(key, &SALTS).map(|counts| vreinterpretq_u64_u32(bits(counts)))
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    let mut missing = vdupq_n_u64(0);
    for (pair, mask) in half.chunks_exact(2).zip(half_masks(key)) {
        // SAFETY: two words are 16 readable bytes.
        missing = vorrq_u64(missing, vbicq_u64(mask, unsafe { vld1q_u64(pair.as_ptr()) }));
    }
    vmaxvq_u32(vreinterpretq_u32_u64(missing)) == 0
}

#[inline]
#[target_feature(enable = "neon")]
pub(super) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    let mut missing = vdupq_n_u64(0);
    for (pair, mask) in half.chunks_exact_mut(2).zip(half_masks(key)) {
        // SAFETY: two words are 16 readable bytes.
        let bits = unsafe { vld1q_u64(pair.as_ptr()) };
        missing = vorrq_u64(missing, vbicq_u64(mask, bits));
        // SAFETY: two words are 16 writable bytes.
        unsafe { vst1q_u64(pair.as_mut_ptr(), vorrq_u64(bits, mask)) };
    }
    vmaxvq_u32(vreinterpretq_u32_u64(missing)) != 0
}

/// Keys of lines are hashed one by one.
const ONE_BY_ONE: bool = true;

many!(#[target_feature(enable = "neon")]);

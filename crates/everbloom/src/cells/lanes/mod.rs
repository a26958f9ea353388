//! Blocks of eight lanes with one bit of a key in each: the layout that vector instructions were made
//! for. A whole block is tested or set in a handful of instructions, whatever the number of bits.
//!
//! | block | lanes | bit of a lane | used by |
//! |---|---|---|---|
//! | line, 512 bits | 8 × 64 | six bits of the word, taken from bit 16 upwards | `blocked` |
//! | half line, 256 bits | 8 × 32 | top five bits of the word's low half times a constant | `split-block` |
//!
//! One module per instruction set holds the same four functions, two of them for many keys at once;
//! [`scalar`] is their twin that says what they mean, and tests hold the others against it bit for bit.
//! The choice is made once per call, so the calls for many keys make it once for all.
#![allow(unsafe_code)]

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "aarch64")]
mod neon;

use super::prefetch::prefetch;
use crate::hash::Digest;
use crate::probe::{FIELD, FIRST_FIELD, multiply_shift, round_word};

/// Words of a line.
pub(crate) const LINE: usize = 8;
/// Words of a half line.
pub(crate) const HALF: usize = 4;
/// The odd constants of the Parquet specification's split-block filter, one a lane.
pub(crate) const SALTS: [u32; 8] = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// Runs the function of that name from the best instruction set there is.
macro_rules! fastest {
    ($name:ident($($arg:expr),*)) => {{
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                // SAFETY: the instruction set is there.
                return unsafe { avx512::$name($($arg),*) };
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the instruction set is there.
                return unsafe { avx2::$name($($arg),*) };
            }
            scalar::$name($($arg),*)
        }
        #[cfg(target_arch = "aarch64")]
        {
            // SAFETY: every 64-bit ARM has it.
            unsafe { neon::$name($($arg),*) }
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        scalar::$name($($arg),*)
    }};
}

/// The name of the instruction set in use.
pub fn instruction_set() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return "avx512";
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return "avx2";
        }
    }
    if cfg!(target_arch = "aarch64") { "neon" } else { "scalar" }
}

/// Whether the line has the eight bits that `word` names.
#[inline]
pub(crate) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    fastest!(line_has(line, word))
}

/// Sets the eight bits that `word` names; true if one was zero.
#[inline]
pub(crate) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    fastest!(line_set(line, word))
}

/// Whether the half line has the eight bits of the Parquet specification for `key`.
#[inline]
pub(crate) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    fastest!(half_has(half, key))
}

/// Sets the eight bits of the Parquet specification for `key`; true if one was zero.
#[inline]
pub(crate) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    fastest!(half_set(half, key))
}

/// For each digest whether its line has all bits, in `rounds` rounds of eight.
pub(crate) fn lines_have(
    lines: &[[u64; LINE]],
    rounds: u32,
    digests: &[Digest],
    found: &mut [bool],
) {
    fastest!(lines_have(lines, rounds, digests, found));
}

/// Sets the bits of every digest.
pub(crate) fn lines_set(lines: &mut [[u64; LINE]], rounds: u32, digests: &[Digest]) {
    fastest!(lines_set(lines, rounds, digests));
}

/// [`lines_have`] for half lines.
pub(crate) fn halves_have(halves: &[[u64; HALF]], digests: &[Digest], found: &mut [bool]) {
    fastest!(halves_have(halves, digests, found));
}

/// [`lines_set`] for half lines.
pub(crate) fn halves_set(halves: &mut [[u64; HALF]], digests: &[Digest]) {
    fastest!(halves_set(halves, digests));
}

/// The line of a digest among `lines`.
#[inline]
pub(crate) fn line_of(digest: Digest, lines: u64) -> usize {
    multiply_shift(digest.h1, lines) as usize
}

/// The half line of a digest among `halves`: the high half of the hash, spread by multiply-shift in 64
/// bits, as the Parquet specification has it.
#[inline]
pub(crate) fn half_of(digest: Digest, halves: u64) -> usize {
    (((digest.h1 >> 32) * halves) >> 32) as usize
}

/// Keys in flight. A core has 10 to 16 buffers for missing lines, and the next level some more; beyond
/// 32 nothing is gained, and the first lines might be gone before they are used.
const AHEAD: usize = 24;

/// Arrays up to this size live in the first two caches, where asking ahead costs more than it saves.
const FETCH_FROM: usize = 512 << 10;

/// Calls `act` with every digest and the place of its block, the block having been asked for
/// [`AHEAD`] keys before.
///
/// Inlined into the callers of each instruction set, so that `act` is compiled for it.
#[inline(always)]
fn ahead<const WORDS: usize>(
    blocks: *const [u64; WORDS],
    bytes: usize,
    digests: &[Digest],
    place: impl Fn(Digest) -> usize,
    mut act: impl FnMut(usize, Digest),
) {
    if bytes < FETCH_FROM {
        digests.iter().for_each(|&digest| act(place(digest), digest));
        return;
    }
    let fetch = |digest: &Digest| prefetch(blocks.wrapping_add(place(*digest)).cast());
    digests.iter().take(AHEAD).for_each(fetch);
    let (first, last) = digests.split_at(digests.len().saturating_sub(AHEAD));
    for (digest, later) in first.iter().zip(&digests[AHEAD.min(digests.len())..]) {
        fetch(later);
        act(place(*digest), *digest);
    }
    last.iter().for_each(|&digest| act(place(digest), digest));
}

/// The four functions for many keys, from the two for one, compiled for an instruction set.
macro_rules! many {
    ($(#[$feature:meta])*) => {
        $(#[$feature])*
        pub(super) fn lines_have(
            lines: &[[u64; LINE]],
            rounds: u32,
            digests: &[Digest],
            found: &mut [bool],
        ) {
            let mut found = found.iter_mut();
            let (start, bytes, n) = (lines.as_ptr(), size_of_val(lines), lines.len() as u64);
            ahead(start, bytes, digests, |d| line_of(d, n), |at, digest| {
                let line = &lines[at];
                let mut all = line_has(line, digest.h2);
                for round in 1..rounds {
                    all &= line_has(line, round_word(digest.h2, round));
                }
                if let Some(found) = found.next() {
                    *found = all;
                }
            });
        }

        $(#[$feature])*
        pub(super) fn lines_set(lines: &mut [[u64; LINE]], rounds: u32, digests: &[Digest]) {
            let (start, bytes, n) = (lines.as_ptr(), size_of_val(lines), lines.len() as u64);
            ahead(start, bytes, digests, |d| line_of(d, n), |at, digest| {
                for round in 0..rounds {
                    line_set(&mut lines[at], round_word(digest.h2, round));
                }
            });
        }

        $(#[$feature])*
        pub(super) fn halves_have(
            halves: &[[u64; HALF]],
            digests: &[Digest],
            found: &mut [bool],
        ) {
            let mut found = found.iter_mut();
            let (start, bytes, n) = (halves.as_ptr(), size_of_val(halves), halves.len() as u64);
            ahead(start, bytes, digests, |d| half_of(d, n), |at, digest| {
                if let Some(found) = found.next() {
                    *found = half_has(&halves[at], digest.h1 as u32);
                }
            });
        }

        $(#[$feature])*
        pub(super) fn halves_set(halves: &mut [[u64; HALF]], digests: &[Digest]) {
            let (start, bytes, n) = (halves.as_ptr(), size_of_val(halves), halves.len() as u64);
            ahead(start, bytes, digests, |d| half_of(d, n), |at, digest| {
                half_set(&mut halves[at], digest.h1 as u32);
            });
        }
    };
}
use many;

#[cfg(test)]
mod tests;

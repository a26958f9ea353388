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

use super::prefetch::{prefetch, prefetch_to_write};
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
#[inline]
pub(crate) fn lines_have(
    lines: &[[u64; LINE]],
    rounds: u32,
    digests: impl Iterator<Item = Digest>,
    found: &mut [bool],
) {
    fastest!(lines_have(lines, rounds, digests, found));
}

/// Sets the bits of every digest.
#[inline]
pub(crate) fn lines_set(
    lines: &mut [[u64; LINE]],
    rounds: u32,
    digests: impl Iterator<Item = Digest>,
) {
    fastest!(lines_set(lines, rounds, digests));
}

/// [`lines_have`] for half lines.
#[inline]
pub(crate) fn halves_have(
    halves: &[[u64; HALF]],
    digests: impl Iterator<Item = Digest>,
    found: &mut [bool],
) {
    fastest!(halves_have(halves, digests, found));
}

/// [`lines_set`] for half lines.
#[inline]
pub(crate) fn halves_set(halves: &mut [[u64; HALF]], digests: impl Iterator<Item = Digest>) {
    fastest!(halves_set(halves, digests));
}

/// The place of a digest's line among `lines`.
#[inline(always)]
pub(crate) fn line_of(digest: Digest, lines: u64) -> usize {
    multiply_shift(digest.h1, lines) as usize
}

/// The place of a digest's half line among `halves`: the high half of the hash, spread by multiply-shift
/// in 64 bits, as the Parquet specification has it.
#[inline(always)]
pub(crate) fn half_of(digest: Digest, halves: u64) -> usize {
    (((digest.h1 >> 32) * halves) >> 32) as usize
}

/// The line of a digest.
#[inline(always)]
pub(crate) fn line(lines: &[[u64; LINE]], digest: Digest) -> &[u64; LINE] {
    // Asked once per loop over keys, where a check of the place would be once per key.
    assert!(!lines.is_empty(), "{NO_LINE}");
    // SAFETY: ⌊h·n/2⁶⁴⌋ < n for n > 0.
    unsafe { lines.get_unchecked(line_of(digest, lines.len() as u64)) }
}

/// [`line`], writable.
#[inline(always)]
pub(crate) fn line_mut(lines: &mut [[u64; LINE]], digest: Digest) -> &mut [u64; LINE] {
    assert!(!lines.is_empty(), "{NO_LINE}");
    let at = line_of(digest, lines.len() as u64);
    // SAFETY: as above.
    unsafe { lines.get_unchecked_mut(at) }
}

/// The half line of a digest.
#[inline(always)]
pub(crate) fn half(halves: &[[u64; HALF]], digest: Digest) -> &[u64; HALF] {
    let n = halves.len() as u64;
    assert!(n > 0 && n <= MOST_HALVES, "{NO_HALF}");
    // SAFETY: ⌊h·n/2³²⌋ < n for h < 2³² and 0 < n ≤ 2³²; the product stays below 2⁶⁴.
    unsafe { halves.get_unchecked(half_of(digest, n)) }
}

/// [`half`], writable.
#[inline(always)]
pub(crate) fn half_mut(halves: &mut [[u64; HALF]], digest: Digest) -> &mut [u64; HALF] {
    let n = halves.len() as u64;
    assert!(n > 0 && n <= MOST_HALVES, "{NO_HALF}");
    // SAFETY: as above.
    unsafe { halves.get_unchecked_mut(half_of(digest, n)) }
}

/// The specification picks a half line by 32 bits.
const MOST_HALVES: u64 = 1 << 32;
const NO_LINE: &str = "a filter has a line at least";
const NO_HALF: &str = "a filter has 1 to 2^32 half lines";

/// Keys in flight, a power of two. A core has 10 to 16 buffers for missing lines, and the next level some
/// more; beyond 32 nothing is gained, and the first lines might be gone before they are used.
const AHEAD: usize = 32;

/// Whether blocks of an array of so many words are worth asking for ahead.
#[inline]
pub(crate) fn worth_it(words: usize) -> bool {
    words * 8 >= FETCH_FROM
}

/// Arrays of fewer bytes live in the first two caches, where asking ahead costs more than it saves.
const FETCH_FROM: usize = 2 << 20;

/// Calls `act` with the place of every digest's block and the word that names its bits, the block having
/// been asked for [`AHEAD`] keys before.
///
/// Inlined into the callers of each instruction set, so that `act` and the hashing behind `digests` are
/// compiled for it.
#[inline(always)]
pub(crate) fn ahead<Block>(
    (start, count): (*const Block, usize),
    fetch: impl Fn(*const u8),
    digests: impl Iterator<Item = Digest>,
    split: impl Fn(Digest) -> (usize, u64),
    mut act: impl FnMut(usize, u64),
) {
    let mut digests = digests.map(split);
    if !worth_it(count * size_of::<Block>() / 8) {
        digests.for_each(|(at, word)| act(at, word));
        return;
    }
    let fetch = |at| fetch(start.wrapping_add(at).cast());
    let mut waiting = [(0, 0); AHEAD];
    let mut held = 0;
    for (slot, next) in waiting.iter_mut().zip(digests.by_ref()) {
        fetch(next.0);
        *slot = next;
        held += 1;
    }
    let mut oldest = 0;
    for next in digests {
        fetch(next.0);
        let (at, word) = std::mem::replace(&mut waiting[oldest % AHEAD], next);
        act(at, word);
        oldest += 1;
    }
    (oldest..oldest + held).map(|i| waiting[i % AHEAD]).for_each(|(at, word)| act(at, word));
}

/// The four functions for many keys, from the two for one, compiled for an instruction set.
macro_rules! many {
    ($(#[$feature:meta])*) => {
        $(#[$feature])*
        pub(super) fn lines_have(
            lines: &[[u64; LINE]],
            rounds: u32,
            digests: impl Iterator<Item = Digest>,
            found: &mut [bool],
        ) {
            let n = lines.len() as u64;
            assert!(n > 0, "{NO_LINE}");
            let mut found = found.iter_mut();
            let split = |digest: Digest| (line_of(digest, n), digest.h2);
            ahead((lines.as_ptr(), lines.len()), prefetch, digests, split, |at, word| {
                // SAFETY: ⌊h·n/2⁶⁴⌋ < n for n > 0.
                let line = unsafe { lines.get_unchecked(at) };
                let mut all = line_has(line, word);
                for round in 1..rounds {
                    all &= line_has(line, round_word(word, round));
                }
                if let Some(found) = found.next() {
                    *found = all;
                }
            });
        }

        $(#[$feature])*
        pub(super) fn lines_set(
            lines: &mut [[u64; LINE]],
            rounds: u32,
            digests: impl Iterator<Item = Digest>,
        ) {
            let n = lines.len() as u64;
            assert!(n > 0, "{NO_LINE}");
            let split = |digest: Digest| (line_of(digest, n), digest.h2);
            ahead((lines.as_ptr(), lines.len()), prefetch_to_write, digests, split, |at, word| {
                // SAFETY: as above.
                let line = unsafe { lines.get_unchecked_mut(at) };
                line_set(line, word);
                for round in 1..rounds {
                    line_set(line, round_word(word, round));
                }
            });
        }

        $(#[$feature])*
        pub(super) fn halves_have(
            halves: &[[u64; HALF]],
            digests: impl Iterator<Item = Digest>,
            found: &mut [bool],
        ) {
            let n = halves.len() as u64;
            assert!(n > 0 && n <= MOST_HALVES, "{NO_HALF}");
            let mut found = found.iter_mut();
            let split = |digest: Digest| (half_of(digest, n), digest.h1);
            ahead((halves.as_ptr(), halves.len()), prefetch, digests, split, |at, word| {
                if let Some(found) = found.next() {
                    // SAFETY: ⌊h·n/2³²⌋ < n for h < 2³² and 0 < n ≤ 2³².
                    *found = half_has(unsafe { halves.get_unchecked(at) }, word as u32);
                }
            });
        }

        $(#[$feature])*
        pub(super) fn halves_set(
            halves: &mut [[u64; HALF]],
            digests: impl Iterator<Item = Digest>,
        ) {
            let n = halves.len() as u64;
            assert!(n > 0 && n <= MOST_HALVES, "{NO_HALF}");
            let split = |digest: Digest| (half_of(digest, n), digest.h1);
            ahead((halves.as_ptr(), halves.len()), prefetch_to_write, digests, split, |at, word| {
                // SAFETY: as above.
                half_set(unsafe { halves.get_unchecked_mut(at) }, word as u32);
            });
        }
    };
}
use many;

#[cfg(test)]
mod tests;

//! Blocks of eight lanes with one bit of a key in each: the layout that vector instructions were made
//! for. A whole block is tested or set in a handful of instructions, whatever the number of bits.
//!
//! | block | lanes | bit of a lane | used by |
//! |---|---|---|---|
//! | line, 512 bits | 8 × 64 | top six bits of the word's low half times a constant | `blocked` |
//! | half line, 256 bits | 8 × 32 | top five bits of the word's low half times a constant | `split-block` |
//!
//! One module per instruction set holds the same functions for one key and for many; [`scalar`] is their
//! twin that says what they mean, and tests hold the others against it bit for bit. The choice is made
//! once per call, so the calls for many keys make it once for all.
//!
//! Calls for many keys go in chunks: a chunk is hashed, several keys at once where the hash allows it, while
//! the lines of the one before are looked at; and with every line that is looked at, one of the next chunk
//! is prefetched. Where keys are hashed one by one and lines are near, each line is looked at as soon as it is known.
#![allow(unsafe_code)]

mod scalar;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
mod inlined;
#[cfg(target_arch = "aarch64")]
mod neon;

use std::ops::BitAnd;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::hash::multiply_shift;
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
use crate::hash::rarely;
use crate::hash::{CHUNK, Digest, Digests};
use crate::memory::{prefetch, prefetch_to_write};
use crate::probe::{SALTS as LINE_SALTS, bit_of_lane, round_word};
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
use crate::simd;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::simd::has_avx2;
#[cfg(target_arch = "x86_64")]
use crate::simd::has_avx512;

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
            if has_avx512() {
                // SAFETY: the instruction set is there.
                return unsafe { avx512::$name($($arg),*) };
            }
            if has_avx2() {
                // SAFETY: the instruction set is there.
                return unsafe { avx2::$name($($arg),*) };
            }
            scalar::$name($($arg),*)
        }
        #[cfg(target_arch = "aarch64")]
        {
            if has_avx2() {
                // SAFETY: every 64-bit ARM has it.
                return unsafe { neon::$name($($arg),*) };
            }
            scalar::$name($($arg),*)
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        scalar::$name($($arg),*)
    }};
}

/// [`fastest!`] for one key: where the program is compiled for any x86-64, without a call.
macro_rules! fastest_one {
    ($name:ident($($arg:expr),*)) => {{
        #[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
        match simd::known() {
            // SAFETY: the instruction set is there.
            level if level > simd::AVX2 => unsafe { inlined::avx512::$name($($arg),*) },
            level => {
                // Not for what it costs here: the way of the best set is laid out straight.
                rarely();
                match level {
                    // SAFETY: as above.
                    simd::AVX2 => unsafe { inlined::avx2::$name($($arg),*) },
                    _ => apart(move || fastest!($name($($arg),*))),
                }
            }
        }
        #[cfg(not(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri))))]
        fastest!($name($($arg),*))
    }};
}

/// A single call of a process that does not know its level yet, or of a processor without AVX2. Not inlined: all that such
/// calls would take with them would keep constants out of the registers of loops.
#[cfg(all(target_arch = "x86_64", not(target_feature = "avx"), not(miri)))]
#[cold]
#[inline(never)]
fn apart<T>(call: impl FnOnce() -> T) -> T {
    call()
}

/// Whether the line has the eight bits that `word` names.
#[inline(always)]
pub(crate) fn line_has(line: &[u64; LINE], word: u64) -> bool {
    fastest_one!(line_has(line, word))
}

/// [`line_has`] of a line that other threads write to.
#[inline]
pub(crate) fn shared_line_has(line: &[AtomicU64; LINE], word: u64) -> bool {
    fastest!(shared_line_has(line, word))
}

/// Sets the eight bits that `word` names; true if one was zero.
#[inline(always)]
pub(crate) fn line_set(line: &mut [u64; LINE], word: u64) -> bool {
    fastest_one!(line_set(line, word))
}

/// Whether the half line has the eight bits of the Parquet specification for `key`.
#[inline(always)]
pub(crate) fn half_has(half: &[u64; HALF], key: u32) -> bool {
    fastest_one!(half_has(half, key))
}

/// Sets the eight bits of the Parquet specification for `key`; true if one was zero.
#[inline(always)]
pub(crate) fn half_set(half: &mut [u64; HALF], key: u32) -> bool {
    fastest_one!(half_set(half, key))
}

/// For each digest whether its line has all bits, in `rounds` rounds of eight; says how many digests there were.
#[inline]
pub(crate) fn lines_have(
    lines: &[[u64; LINE]],
    rounds: u32,
    digests: impl Digests,
    found: &mut [bool],
) -> u64 {
    fastest!(lines_have(lines, rounds, digests, found))
}

/// Sets the bits of every digest; says how many there were.
#[inline]
pub(crate) fn lines_set(lines: &mut [[u64; LINE]], rounds: u32, digests: impl Digests) -> u64 {
    fastest!(lines_set(lines, rounds, digests))
}

/// [`lines_have`] for half lines.
#[inline]
pub(crate) fn halves_have(
    halves: &[[u64; HALF]],
    digests: impl Digests,
    found: &mut [bool],
) -> u64 {
    fastest!(halves_have(halves, digests, found))
}

/// [`lines_set`] for half lines.
#[inline]
pub(crate) fn halves_set(halves: &mut [[u64; HALF]], digests: impl Digests) -> u64 {
    fastest!(halves_set(halves, digests))
}

/// [`lines_set`] for places of lines with the words that name their bits. One round needs no more of them than 32 bits.
#[inline]
pub(crate) fn lines_set_at<N: Copy + Into<u64>>(
    lines: &mut [[u64; LINE]],
    rounds: u32,
    placed: &[(u32, N)],
) {
    fastest!(lines_set_at(lines, rounds, placed))
}

/// [`halves_set`] for places of half lines with what names their bits.
#[inline]
pub(crate) fn halves_set_at(halves: &mut [[u64; HALF]], placed: &[(u32, u32)]) {
    fastest!(halves_set_at(halves, placed))
}

/// The place of a digest's line among `lines`.
#[inline(always)]
pub(crate) fn line_of(digest: Digest, lines: u64) -> usize {
    multiply_shift(digest.h1, lines) as usize
}

/// Where the line of a hash begins, in bytes: ⌊h·n/2⁶⁴⌋·64, with the product taken of 64·n < 2³⁸, so that the bits below
/// 64 are only cut off. Of a shift the compiler would make one of both halves of the product, which some processors have no
/// instruction of their own for.
#[inline(always)]
fn place_of_line(h: u64, n: u64) -> usize {
    const BYTES: u64 = size_of::<[u64; LINE]>() as u64;
    (multiply_shift(h, BYTES * n) & !(BYTES - 1)) as usize
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
    assert!(!lines.is_empty(), "a filter has at least one line");
    // SAFETY: ⌊h·n/2⁶⁴⌋ < n for n > 0.
    unsafe { lines.get_unchecked(line_of(digest, lines.len() as u64)) }
}

/// [`line`], writable.
#[inline(always)]
pub(crate) fn line_mut(lines: &mut [[u64; LINE]], digest: Digest) -> &mut [u64; LINE] {
    assert!(!lines.is_empty(), "a filter has at least one line");
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

/// Lines that the calls for many keys can tell apart, 256 GiB of them.
pub(crate) const MOST_LINES: u64 = u32::MAX as u64;
/// The specification picks a half line by 32 bits.
const MOST_HALVES: u64 = 1 << 32;
const NO_LINE: &str = "a filter has 1 to 2^32 - 1 lines";
const NO_HALF: &str = "a filter has 1 to 2^32 half lines";

/// Placed digests whose blocks are prefetched: as many misses as a core has under way at once.
const AHEAD: usize = 24;

/// Arrays of fewer bytes live in the L1 cache, where prefetching costs more than it saves.
const FETCH_FROM: usize = 32 << 10;

/// Arrays of fewer bytes lie in the L2 cache, from where lines come while the keys before are still worked on: those that are
/// hashed one by one then need no chunks.
const NEAR: usize = 256 << 10;

/// The keys of a chunk: the offset of each one's block in bytes, and the word that names its bits.
struct Chunk {
    at: [usize; CHUNK],
    word: [u64; CHUNK],
    len: usize,
}

impl Chunk {
    const EMPTY: Self = Self { at: [0; CHUNK], word: [0; CHUNK], len: 0 };

    /// Takes the next digests, with places among `n` lines. One round, if there are no `MORE`, takes half a word, which is the
    /// hash itself: the compiler leaves out a multiplication.
    #[inline(always)]
    fn load_lines<const MORE: bool>(&mut self, digests: &mut impl Digests, n: u64) {
        let (at, word) = (&mut self.at, &mut self.word);
        self.len = digests.next(
            #[inline(always)]
            |i, digest| {
                (at[i], word[i]) = line_place::<MORE>(digest, n);
            },
        );
    }

    /// Takes the next digests, with places among `n` half lines.
    #[inline(always)]
    fn load_halves(&mut self, digests: &mut impl Digests, n: u64) {
        let (at, word) = (&mut self.at, &mut self.word);
        self.len = digests.next(
            #[inline(always)]
            |i, digest| {
                (at[i], word[i]) = (half_of(digest, n) * size_of::<[u64; HALF]>(), digest.h1)
            },
        );
    }
}

/// The offset of a digest's line among `n`, and the word that names its bits. One round takes half a word, which is the
/// hash itself: the compiler leaves out a multiplication.
#[inline(always)]
fn line_place<const MORE: bool>(digest: Digest, n: u64) -> (usize, u64) {
    let word = if MORE { digest.h2 } else { u64::from(digest.h2 as u32) };
    (place_of_line(digest.h1, n), word)
}

/// Calls `act` with a number below [`CHUNK`], the offset of the block and the word of every digest that `load`
/// puts into chunks, and `end` after each chunk with its length. Blocks are prefetched by `fetch` a chunk
/// ahead, if there are so many `bytes` that they might be far.
///
/// Inlined into the callers of each instruction set, so that `act` and the hashing behind `load` are compiled
/// for it.
#[inline(always)]
fn each<State>(
    (start, bytes): (*const u8, usize),
    fetch: impl Fn(*const u8),
    mut load: impl FnMut(&mut Chunk),
    mut state: State,
    act: impl Fn(&mut State, usize, usize, u64),
    end: impl Fn(&mut State, usize),
) -> u64 {
    let (mut done, mut chunks) = (0, [Chunk::EMPTY, Chunk::EMPTY]);
    let [mut now, mut next] = chunks.each_mut();
    load(now);
    while now.len > 0 {
        load(next);
        // A bound that the compiler sees.
        let len = now.len.min(CHUNK);
        if bytes >= FETCH_FROM {
            by_eight(len, |i| {
                // Beyond the end of the next chunk there are places, too, if only of keys long done.
                fetch(start.wrapping_add(next.at[i]));
                act(&mut state, i, now.at[i], now.word[i]);
            });
        } else {
            by_eight(len, |i| act(&mut state, i, now.at[i], now.word[i]));
        }
        end(&mut state, len);
        done += len as u64;
        std::mem::swap(&mut now, &mut next);
    }
    done
}

/// [`each`] where blocks are near and digests are computed one by one: each is looked at as soon as its key is hashed.
#[inline(always)]
fn each_at_once<State>(
    mut digests: impl Digests,
    place: impl Fn(Digest) -> (usize, u64),
    mut state: State,
    act: impl Fn(&mut State, usize, usize, u64),
    end: impl Fn(&mut State, usize),
) -> u64 {
    let mut done = 0;
    loop {
        let len = digests.next(
            #[inline(always)]
            |i, digest| {
                let (at, word) = place(digest);
                act(&mut state, i, at, word);
            },
        );
        if len == 0 {
            return done;
        }
        end(&mut state, len);
        done += len as u64;
    }
}

/// Calls `f` with the numbers below `len`, eight after another without a question whether there are more.
#[inline(always)]
fn by_eight(len: usize, mut f: impl FnMut(usize)) {
    for first in (0..len / 8 * 8).step_by(8) {
        (first..first + 8).for_each(&mut f);
    }
    (len / 8 * 8..len).for_each(f);
}

/// Answers of a chunk on their way to the caller: what each key's block shows, and what it has to show.
struct Answers<'a, Seen> {
    seen: [Seen; CHUNK],
    all: Seen,
    found: &'a mut [bool],
}

impl<'a, Seen> Answers<'a, Seen>
where
    Seen: Copy + PartialEq + BitAnd<Output = Seen>,
{
    fn new(found: &'a mut [bool], all: Seen) -> Self {
        Self { seen: [all; CHUNK], all, found }
    }

    /// Writes the answers of a chunk of `len` keys.
    #[inline(always)]
    fn end(&mut self, len: usize) {
        let now = len.min(self.found.len());
        let (now, later) = std::mem::take(&mut self.found).split_at_mut(now);
        let all = self.all;
        now.iter_mut().zip(&self.seen).for_each(|(found, seen)| *found = *seen & all == all);
        self.found = later;
    }
}

/// The functions for many keys, from those for one, compiled for an instruction set.
macro_rules! many {
    ($(#[$feature:meta])*) => {
        /// [`line_seen`] for all rounds but the first; not inlined, to keep loops over one round short.
        #[inline(never)]
        $(#[$feature])*
        fn more_seen(line: &[u64; LINE], rounds: u32, word: u64) -> Seen {
            (1..rounds).fold(ALL, |seen, round| seen & line_seen(line, round_word(word, round)))
        }

        /// [`line_set`] for all rounds but the first.
        #[inline(never)]
        $(#[$feature])*
        fn more_set(line: &mut [u64; LINE], rounds: u32, word: u64) {
            (1..rounds).for_each(|round| {
                line_set(line, round_word(word, round));
            });
        }

        $(#[$feature])*
        pub(super) fn lines_have(
            lines: &[[u64; LINE]],
            rounds: u32,
            digests: impl Digests,
            found: &mut [bool],
        ) -> u64 {
            if rounds > 1 {
                lines_have_in::<true, _>(lines, rounds, digests, found)
            } else {
                lines_have_in::<false, _>(lines, rounds, digests, found)
            }
        }

        /// [`lines_have`] compiled for one round, or for `MORE`.
        $(#[$feature])*
        fn lines_have_in<const MORE: bool, D: Digests>(
            lines: &[[u64; LINE]],
            rounds: u32,
            mut digests: D,
            found: &mut [bool],
        ) -> u64 {
            let (n, start) = (lines.len() as u64, lines.as_ptr());
            assert!(n > 0 && n <= MOST_LINES, "{NO_LINE}");
            let act = |answers: &mut Answers<'_, Seen>, i: usize, at: usize, word: u64| {
                    // SAFETY: ⌊h·n/2⁶⁴⌋ < n for n > 0, and offsets are those of such places.
                    let line = unsafe { &*start.byte_add(at) };
                    answers.seen[i] = line_seen(line, word);
                    if MORE {
                        answers.seen[i] &= more_seen(line, rounds, word);
                    }
                };
            if ONE_BY_ONE && size_of_val(lines) < NEAR {
                return each_at_once(digests, |digest| line_place::<MORE>(digest, n), Answers::new(found, ALL), act, Answers::end);
            }
            each(
                (start.cast(), size_of_val(lines)),
                prefetch,
                |chunk| load_lines::<MORE>(chunk, &mut digests, n),
                Answers::new(found, ALL),
                act,
                Answers::end,
            )
        }

        $(#[$feature])*
        pub(super) fn lines_set(
            lines: &mut [[u64; LINE]],
            rounds: u32,
            digests: impl Digests,
        ) -> u64 {
            if rounds > 1 {
                lines_set_in::<true, _>(lines, rounds, digests)
            } else {
                lines_set_in::<false, _>(lines, rounds, digests)
            }
        }

        /// [`lines_set`] compiled for one round, or for `MORE`.
        $(#[$feature])*
        fn lines_set_in<const MORE: bool, D: Digests>(
            lines: &mut [[u64; LINE]],
            rounds: u32,
            mut digests: D,
        ) -> u64 {
            let (n, bytes, start) = (lines.len() as u64, size_of_val(lines), lines.as_mut_ptr());
            assert!(n > 0 && n <= MOST_LINES, "{NO_LINE}");
            let act = |(): &mut (), _: usize, at: usize, word: u64| {
                    // SAFETY: as above, and only one is borrowed at a time.
                    let line = unsafe { &mut *start.byte_add(at) };
                    line_set(line, word);
                    if MORE {
                        more_set(line, rounds, word);
                    }
                };
            if ONE_BY_ONE && bytes < NEAR {
                return each_at_once(digests, |digest| line_place::<MORE>(digest, n), (), act, |(), _| ());
            }
            each(
                (start.cast(), bytes),
                prefetch_to_write,
                |chunk| load_lines::<MORE>(chunk, &mut digests, n),
                (),
                act,
                |(), _| (),
            )
        }

        $(#[$feature])*
        pub(super) fn lines_set_at<N: Copy + Into<u64>>(
            lines: &mut [[u64; LINE]],
            rounds: u32,
            placed: &[(u32, N)],
        ) {
            let start = lines.as_ptr();
            let fetch = |(at, _): &(u32, N)| {
                prefetch_to_write(start.wrapping_add(*at as usize).cast());
            };
            placed.iter().take(AHEAD).for_each(fetch);
            for (i, (at, word)) in placed.iter().enumerate() {
                if let Some(later) = placed.get(i + AHEAD) {
                    fetch(later);
                }
                let (line, word) = (&mut lines[*at as usize], (*word).into());
                line_set(line, word);
                if rounds > 1 {
                    more_set(line, rounds, word);
                }
            }
        }

        $(#[$feature])*
        pub(super) fn halves_set_at(halves: &mut [[u64; HALF]], placed: &[(u32, u32)]) {
            let start = halves.as_ptr();
            let fetch = |(at, _): &(u32, u32)| {
                prefetch_to_write(start.wrapping_add(*at as usize).cast());
            };
            placed.iter().take(AHEAD).for_each(fetch);
            for (i, (at, key)) in placed.iter().enumerate() {
                if let Some(later) = placed.get(i + AHEAD) {
                    fetch(later);
                }
                half_set(&mut halves[*at as usize], *key);
            }
        }

        $(#[$feature])*
        pub(super) fn halves_have(
            halves: &[[u64; HALF]],
            mut digests: impl Digests,
            found: &mut [bool],
        ) -> u64 {
            let (n, start) = (halves.len() as u64, halves.as_ptr());
            assert!(n > 0 && n <= MOST_HALVES, "{NO_HALF}");
            each(
                (start.cast(), size_of_val(halves)),
                prefetch,
                |chunk| load_halves(chunk, &mut digests, n),
                Answers::new(found, true),
                |answers, i, at, word| {
                    // SAFETY: ⌊h·n/2³²⌋ < n for h < 2³² and 0 < n ≤ 2³², and offsets are of such places.
                    let half = unsafe { &*start.byte_add(at) };
                    answers.seen[i] = half_has(half, word as u32);
                },
                Answers::end,
            )
        }

        $(#[$feature])*
        pub(super) fn halves_set(halves: &mut [[u64; HALF]], mut digests: impl Digests) -> u64 {
            let (n, bytes, start) = (halves.len() as u64, size_of_val(halves), halves.as_mut_ptr());
            assert!(n > 0 && n <= MOST_HALVES, "{NO_HALF}");
            each(
                (start.cast(), bytes),
                prefetch_to_write,
                |chunk| load_halves(chunk, &mut digests, n),
                (),
                |(), _, at, word| {
                    // SAFETY: as above, and only one is borrowed at a time.
                    half_set(unsafe { &mut *start.byte_add(at) }, word as u32);
                },
                |(), _| (),
            )
        }
    };
}
use many;

#[cfg(test)]
mod tests;

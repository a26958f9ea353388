//! Ones of words: how many there are, and where one of them is.
//!
//! Processors have an instruction for either, which a program compiled for any x86-64 does not use: it counts by
//! a dozen others. Here such a program asks at run time, and the instruction stands where the call is; a loop over
//! many words is called once instead.

#![allow(unsafe_code)]

/// How ones are counted and found: chosen once, where several look-ups follow each other.
pub(crate) trait Ones: Copy {
    /// Ones of a word.
    fn count(self, word: u64) -> u32;

    /// 1 if the number of ones is odd, 0 otherwise.
    #[inline(always)]
    fn parity(self, word: u64) -> u32 {
        self.count(word) & 1
    }

    /// The place of the one number `rank`, counted from 0 and below 64; 64 where the word has fewer.
    fn select(self, word: u64, rank: u32) -> u32;
}

/// By instructions that this processor has: only [`instructions`] makes one.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
pub(crate) struct Instructions(());

/// The instructions, if they are there.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn instructions() -> Option<Instructions> {
    crate::simd::has_avx2().then_some(Instructions(()))
}

/// As in [`Portable`], which other processors compile well.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(crate) fn instructions() -> Option<Portable> {
    None
}

#[cfg(target_arch = "x86_64")]
impl Ones for Instructions {
    #[inline(always)]
    fn count(self, word: u64) -> u32 {
        if cfg!(target_feature = "popcnt") {
            return word.count_ones();
        }
        let ones: u64;
        // SAFETY: the instruction is there, and touches registers alone.
        unsafe {
            std::arch::asm!(
                "popcnt {ones}, {word}",
                word = in(reg) word,
                ones = lateout(reg) ones,
                options(pure, nomem, nostack)
            );
        }
        ones as u32
    }

    #[inline(always)]
    fn select(self, word: u64, rank: u32) -> u32 {
        let place: u64;
        // SAFETY: the instructions are there, and touch registers alone.
        unsafe {
            std::arch::asm!(
                "pdep {place}, {one}, {word}",
                "tzcnt {place}, {place}",
                one = in(reg) 1u64 << (rank % 64),
                word = in(reg) word,
                place = out(reg) place,
                options(pure, nomem, nostack)
            );
        }
        place as u32
    }
}

/// By what every processor has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl Ones for Portable {
    #[inline(always)]
    fn count(self, word: u64) -> u32 {
        word.count_ones()
    }

    #[inline]
    fn select(self, word: u64, rank: u32) -> u32 {
        if rank < word.count_ones() { select_portably(word, rank) } else { u64::BITS }
    }
}

/// Ones of a word.
#[inline(always)]
pub(crate) fn count(word: u64) -> u32 {
    match instructions() {
        Some(ones) => ones.count(word),
        None => Portable.count(word),
    }
}

/// The place of the one number `rank`, counted from 0, which the word must have.
#[inline(always)]
pub(crate) fn select(word: u64, rank: u32) -> u32 {
    debug_assert!(rank < word.count_ones());
    match instructions() {
        Some(ones) => ones.select(word, rank),
        None => Portable.select(word, rank),
    }
}

fn select_portably(word: u64, mut rank: u32) -> u32 {
    let mut at = 0;
    for half in [32, 16, 8] {
        let ones = (word >> at & ((1 << half) - 1)).count_ones();
        if rank >= ones {
            (rank, at) = (rank - ones, at + half);
        }
    }
    let mut rest = word >> at;
    (0..rank).for_each(|_| rest &= rest.wrapping_sub(1));
    at + rest.trailing_zeros()
}

/// Ones that two arrays of words have in common, as far as both go.
#[inline]
pub(crate) fn in_both(a: &[u64], b: &[u64]) -> u64 {
    let mut shared = 0;
    in_each(std::iter::once((0, a)), b, |_, ones| shared = ones);
    shared
}

/// Calls `f` with the number of each of some arrays and the ones that it has in common with `other`, as far as both go:
/// asked once for all of them what the processor has.
#[inline]
pub(crate) fn in_each<'a>(
    arrays: impl Iterator<Item = (usize, &'a [u64])>,
    other: &[u64],
    f: impl FnMut(usize, u64),
) {
    #[cfg(target_arch = "x86_64")]
    if crate::simd::has_popcount_of_eight() {
        // SAFETY: the instructions are there.
        return unsafe { eight::in_each(arrays, other, f) };
    }
    #[cfg(all(target_arch = "x86_64", not(target_feature = "popcnt")))]
    if crate::simd::has_avx2() {
        // SAFETY: the instruction is there.
        return unsafe { in_each_by_popcnt(arrays, other, f) };
    }
    each(arrays, other, f);
}

#[cfg(all(target_arch = "x86_64", not(target_feature = "popcnt")))]
#[target_feature(enable = "popcnt")]
fn in_each_by_popcnt<'a>(
    arrays: impl Iterator<Item = (usize, &'a [u64])>,
    other: &[u64],
    f: impl FnMut(usize, u64),
) {
    each(arrays, other, f);
}

#[inline(always)]
fn each<'a>(
    arrays: impl Iterator<Item = (usize, &'a [u64])>,
    other: &[u64],
    mut f: impl FnMut(usize, u64),
) {
    for (number, words) in arrays {
        f(number, sum(words, other));
    }
}

#[inline(always)]
fn sum(a: &[u64], b: &[u64]) -> u64 {
    a.iter().zip(b).map(|(a, b)| u64::from((a & b).count_ones())).sum()
}

/// AVX-512: the ones of eight words by one instruction.
#[cfg(target_arch = "x86_64")]
mod eight {
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    pub(super) fn in_each<'a>(
        arrays: impl Iterator<Item = (usize, &'a [u64])>,
        other: &[u64],
        mut f: impl FnMut(usize, u64),
    ) {
        for (number, words) in arrays {
            f(number, sum(words, other));
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512vpopcntdq")]
    fn sum(a: &[u64], b: &[u64]) -> u64 {
        let length = a.len().min(b.len());
        let ((a, rest), (b, other)) = (a[..length].as_chunks::<8>(), b[..length].as_chunks::<8>());
        let load = |eight: &[u64; 8]| {
            // SAFETY: eight words are 64 readable bytes.
            unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) }
        };
        let mut all = _mm512_setzero_si512();
        for (a, b) in a.iter().zip(b) {
            let both = _mm512_and_si512(load(a), load(b));
            all = _mm512_add_epi64(all, _mm512_popcnt_epi64(both));
        }
        _mm512_reduce_add_epi64(all) as u64 + super::sum(rest, other)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::hash::mix64;

    /// Words from few ones to nearly all, and the places of their ones.
    pub(in crate::cells) fn words() -> impl Iterator<Item = (u64, Vec<u32>)> {
        (0..2000).map(|i| {
            let word = match i % 3 {
                0 => mix64(i) & mix64(!i) & mix64(i << 20),
                1 => mix64(i),
                _ => mix64(i) | mix64(!i) | mix64(i << 20),
            };
            (word, (0..64).filter(|at| word >> at & 1 != 0).collect())
        })
    }

    #[test]
    fn ones_are_counted_and_found_as_by_looking() {
        for (word, places) in words() {
            let ones = places.len() as u32;
            assert_eq!([count(word), Portable.count(word)], [ones; 2], "{word:x}");
            assert_eq!(Portable.parity(word), ones % 2, "{word:x}");
            assert!(instructions().is_none_or(|by| by.parity(word) == ones % 2), "{word:x}");
            for (rank, at) in (0..).zip(&places) {
                assert_eq!([select(word, rank), select_portably(word, rank)], [*at; 2], "{word:x}");
            }
        }
        assert_eq!((select(u64::MAX, 63), select(1 << 63, 0), count(0)), (63, 63, 0));
        // One that is not there.
        for (word, rank) in [(0, 0), (1, 1), (0b1011, 3), (u64::MAX >> 1, 63)] {
            assert_eq!(Portable.select(word, rank), 64, "{word:x}");
            assert!(instructions().is_none_or(|ones| ones.select(word, rank) == 64), "{word:x}");
        }
    }

    #[test]
    fn common_ones_are_those_of_every_pair_of_words() {
        let [a, b] = [0, 100].map(|from| (from..from + 40).map(mix64).collect::<Vec<u64>>());
        for n in 0..40 {
            let looked: u32 = (0..n).map(|i| count(a[i] & b[i])).sum();
            assert_eq!(in_both(&a[..n], &b), u64::from(looked));
            assert_eq!(sum(&a[..n], &b), u64::from(looked));
            let mut seen = Vec::new();
            in_each([(3, &a[..n]), (7, &b[..])].into_iter(), &b[..n], |i, ones| {
                seen.push((i, ones))
            });
            let all = b[..n].iter().map(|word| u64::from(word.count_ones())).sum();
            assert_eq!(seen, [(3, u64::from(looked)), (7, all)]);
        }
    }
}

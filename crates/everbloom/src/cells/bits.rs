//! A bit array on 64-bit words. Padding bits of the last word are always zero.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Pairing, ones};
use crate::error::{Error, Result};
use crate::memory::{AtomicWords, Words};
use crate::state::{Decoder, Encoder, Role, State};

/// `len` bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Bits {
    len: u64,
    words: Words,
}

impl Bits {
    /// `len` zero bits.
    pub fn new(len: u64) -> Self {
        Self { len, words: Words::zeroed(len.div_ceil(64) as usize) }
    }

    /// `len` zero bits, or an error where there is no room for them.
    pub fn try_new(len: u64) -> Result<Self> {
        let words = usize::try_from(len.div_ceil(64)).unwrap_or(usize::MAX);
        Ok(Self { len, words: Words::try_zeroed(words)? })
    }

    /// `len` bits, of which these are ones.
    pub fn with_ones(len: u64, ones: impl IntoIterator<Item = u64>) -> Self {
        let mut bits = Self::new(len);
        ones.into_iter().for_each(|i| {
            bits.set(i);
        });
        bits
    }

    /// The first `len` bits of `words`, which hold as many words as it takes; the rest must be zero.
    pub(crate) fn from_words(len: u64, words: Words) -> Self {
        debug_assert_eq!(len.div_ceil(64), words.len() as u64);
        Self { len, words }
    }

    /// The first `len` bits of some bytes, the lowest of a byte first; behind them there is no one.
    pub fn from_bytes(bytes: &[u8], len: u64) -> Result<Self> {
        let mut bits = Self::try_new(len)?;
        for (i, chunk) in (0..).zip(bytes.chunks(8)) {
            let word = chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            let room = len.saturating_sub(64 * i).min(64);
            if word.checked_shr(room as u32).unwrap_or(0) != 0 {
                return Err(Error::parameter(format!("a one behind the {len} bits")));
            }
            if let Some(to) = bits.words_mut().get_mut(i as usize) {
                *to = word;
            }
        }
        Ok(bits)
    }

    /// Number of bits.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bits at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> bool {
        self.words[(i / 64) as usize] >> (i % 64) & 1 != 0
    }

    /// Sets the bit at `i`; true if it was zero.
    #[inline]
    pub fn set(&mut self, i: u64) -> bool {
        debug_assert!(i < self.len);
        set_bit(self.words.make_mut(), i)
    }

    /// ORs `mask` in from word `at` on; true if one of its bits was zero. The mask must not reach
    /// beyond the last bit.
    #[inline]
    pub fn set_mask(&mut self, at: u64, mask: &[u64]) -> bool {
        set_mask(self.words.make_mut(), at, mask)
    }

    /// Resets the bit at `i`.
    #[inline]
    pub fn reset(&mut self, i: u64) {
        self.words.make_mut()[(i / 64) as usize] &= !(1 << (i % 64));
    }

    /// Resets every bit.
    pub fn clear(&mut self) {
        self.words.make_mut().fill(0);
    }

    /// Number of ones.
    pub fn ones(&self) -> u64 {
        ones::in_both(&self.words, &self.words)
    }

    /// Share of ones.
    pub fn fill(&self) -> f64 {
        self.ones() as f64 / self.len as f64
    }

    /// Number of zeros, padding not counted.
    pub fn zeros(&self) -> u64 {
        self.len - self.ones()
    }

    /// Number of ones in `start..start + len`.
    pub fn ones_in(&self, start: u64, len: u64) -> u64 {
        let (mut at, end) = (start, start + len);
        let mut ones = 0;
        while at < end {
            let take = (64 - at % 64).min(end - at);
            let word = self.words[(at / 64) as usize] >> (at % 64);
            let mask = u64::MAX >> (64 - take);
            ones += u64::from((word & mask).count_ones());
            at += take;
        }
        ones
    }

    /// Number of positions that are one in both.
    pub fn ones_in_both(&self, other: &Bits) -> u64 {
        ones::in_both(&self.words, &other.words)
    }

    /// Bitwise OR with an array of the same length.
    pub fn union(&mut self, other: &Bits) {
        self.words.make_mut().iter_mut().zip(other.words.iter()).for_each(|(a, b)| *a |= b);
    }

    /// Bitwise AND with an array of the same length.
    pub fn intersect(&mut self, other: &Bits) {
        self.words.make_mut().iter_mut().zip(other.words.iter()).for_each(|(a, b)| *a &= b);
    }

    /// Half as many bits, each the OR of the two that `pairing` joins.
    #[must_use]
    pub fn fold(&self, pairing: Pairing) -> Bits {
        let mut half = Bits::new(self.len / 2);
        for (w, &word) in self.words.iter().enumerate() {
            let mut rest = word;
            while rest != 0 {
                let i = w as u64 * 64 + u64::from(rest.trailing_zeros());
                half.set(pairing.joined(i, half.len));
                rest &= rest - 1;
            }
        }
        half
    }

    /// The words that hold the bits, lowest bit first.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The words, writable. Bits beyond the last must stay zero.
    #[inline]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.make_mut()
    }

    /// The bits as whole blocks of `W` words; what does not fill one is left out.
    #[inline]
    pub(crate) fn blocks<const W: usize>(&self) -> &[[u64; W]] {
        self.words.as_chunks().0
    }

    /// [`Bits::blocks`], writable. Padding bits must stay zero.
    #[inline]
    pub(crate) fn blocks_mut<const W: usize>(&mut self) -> &mut [[u64; W]] {
        self.words.make_mut().as_chunks_mut().0
    }

    /// Whether huge pages back the array.
    pub fn huge(&self) -> bool {
        self.words.huge()
    }

    /// The same bits, for many threads at once.
    pub fn into_atomic(self) -> AtomicBits {
        AtomicBits { len: self.len, words: AtomicWords::new(self.words) }
    }
}

/// [`Bits::set`] for whoever has the words alone.
#[inline]
pub(crate) fn set_bit(words: &mut [u64], i: u64) -> bool {
    let word = &mut words[(i / 64) as usize];
    let bit = 1 << (i % 64);
    let fresh = *word & bit == 0;
    *word |= bit;
    fresh
}

/// [`Bits::set_mask`] for whoever has the words alone.
#[inline]
pub(crate) fn set_mask(words: &mut [u64], at: u64, mask: &[u64]) -> bool {
    let at = at as usize;
    let mut fresh = 0;
    for (word, mask) in words[at..at + mask.len()].iter_mut().zip(mask) {
        fresh |= mask & !*word;
        *word |= mask;
    }
    fresh != 0
}

/// Whether every bit of `mask` is set, from word `at` on.
#[inline]
pub(crate) fn has_mask(words: &[u64], at: u64, mask: &[u64]) -> bool {
    let at = at as usize;
    // No early exit: a few words of one cache line are faster without branches.
    let pairs = words[at..at + mask.len()].iter().zip(mask);
    pairs.fold(0, |missing, (word, mask)| missing | (mask & !word)) == 0
}

/// A bit array set by many threads at once.
#[derive(Debug)]
pub struct AtomicBits {
    len: u64,
    words: AtomicWords,
}

impl AtomicBits {
    /// The bit at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> bool {
        self.words.get()[(i / 64) as usize].load(Ordering::Relaxed) >> (i % 64) & 1 != 0
    }

    /// The bits as whole blocks of eight words; what does not fill one is left out.
    #[inline]
    pub(crate) fn blocks(&self) -> &[[AtomicU64; 8]] {
        self.words.get().as_chunks().0
    }

    /// Sets the bit at `i`; true if it was zero. Tests first: a set bit costs no exclusive access to
    /// its cache line. Relaxed order is enough, since a bit publishes nothing but itself.
    #[inline]
    pub fn set(&self, i: u64) -> bool {
        let word = &self.words.get()[(i / 64) as usize];
        let bit = 1 << (i % 64);
        word.load(Ordering::Relaxed) & bit == 0 && word.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// The bits, for one owner again.
    pub fn into_plain(self) -> Bits {
        Bits { len: self.len, words: self.words.into_inner() }
    }
}

impl State for Bits {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.array(name, Role::Cells { bits: self.len }, self.len, &self.words);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let (len, words) = super::array(name, 1, src)?;
        Ok(Self { len, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_bits_and_nothing_stands_behind_them() {
        let bits = Bits::from_bytes(&[0b1000_0001, 0, 0, 0, 0, 0, 0, 0, 2], 66).unwrap();
        assert_eq!((0..66).filter(|i| bits.get(*i)).collect::<Vec<_>>(), [0, 7, 65]);
        for (bytes, len) in [(&[4u8][..], 2), (&[0, 0, 0, 0, 0, 0, 0, 0, 1], 64), (&[1; 17], 64)] {
            assert!(Bits::from_bytes(bytes, len).is_err(), "{len}");
        }
    }

    #[test]
    fn counting_ones_in_a_range_agrees_with_looking() {
        let bits = Bits::with_ones(300, (0..300).filter(|i| i * i % 7 < 3));
        for start in 0..300 {
            for len in [0, 1, 5, 63, 64, 65, 130].into_iter().filter(|l| start + l <= 300) {
                let looked = (start..start + len).filter(|&i| bits.get(i)).count() as u64;
                assert_eq!(bits.ones_in(start, len), looked, "{start}+{len}");
            }
        }
    }

    #[test]
    fn folding_joins_the_named_pairs() {
        let bits = Bits::with_ones(130, [0, 64, 65, 129]);
        let ones = |b: Bits| (0..b.len()).filter(|&i| b.get(i)).collect::<Vec<_>>();
        assert_eq!(ones(bits.fold(Pairing::Halves)), [0, 64]);
        assert_eq!(ones(bits.fold(Pairing::Neighbors(1))), [0, 32, 64]);
    }

    #[test]
    fn atomic_sets_are_the_plain_ones() {
        let atomic = Bits::new(10_000).into_atomic();
        let fresh = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for t in 0..4u64 {
                let (atomic, fresh) = (&atomic, &fresh);
                scope.spawn(move || {
                    for i in (0..10_000).filter(|i| i % (t + 2) == 0) {
                        fresh.fetch_add(u64::from(atomic.set(i)), Ordering::Relaxed);
                    }
                });
            }
        });
        let bits = atomic.into_plain();
        let expect = (0..10_000u64).filter(|i| (2..6).any(|t| i % t == 0)).count() as u64;
        assert_eq!(bits.ones(), expect);
        assert_eq!(fresh.into_inner(), expect, "each bit is new to exactly one thread");
    }
}

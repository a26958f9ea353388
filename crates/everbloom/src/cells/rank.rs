//! Rank and select: how many ones come before a place, and where the j-th one is, or the j-th zero.
//!
//! ```text
//!   place  0 1 2 3 4 5 6 7
//!   bit    0 1 1 0 0 1 0 1      rank(5) = 2: ones before place 5       select(2) = 5: the one number 2
//! ```
//!
//! Within a word both take a few instructions. Over an array that does not change, [`Ranked`] keeps the ones
//! before each line of 512 bits, so that a rank costs one look-up and at most eight words. A zero is found by
//! halving: its line is the last one with no more zeros before it.

use super::{Bits, Packed, ones};
use crate::error::Result;
use crate::state::{Decoder, Encoder, Role, State};

/// Ones of a word below place `at`, 0 to 64.
#[inline]
pub(crate) fn rank_in_word(word: u64, at: u32) -> u32 {
    // In two steps, since a shift by 64 is none.
    ones::count(word & !((u64::MAX << (at / 2)) << (at - at / 2)))
}

/// Bits between two counts: a cache line.
const LINE: u64 = 512;

/// Bits that no longer change, with the ones before each line of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ranked {
    bits: Bits,
    before: Packed,
}

impl Ranked {
    /// The bits, counted; an error where there is no room for the counts.
    pub(crate) fn try_new(bits: Bits) -> Result<Self> {
        let mut before = Packed::try_new(bits.len().div_ceil(LINE), width_for(bits.len()))?;
        let mut ones = 0;
        for (line, words) in (0..).zip(bits.words().chunks((LINE / 64) as usize)) {
            before.set(line, ones);
            ones += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
        }
        Ok(Self { bits, before })
    }

    /// The bits.
    pub(crate) fn bits(&self) -> &Bits {
        &self.bits
    }

    /// The bit at `i`.
    #[inline]
    pub(crate) fn get(&self, i: u64) -> bool {
        self.bits.get(i)
    }

    /// Ones before place `i`, which is there.
    #[inline]
    pub(crate) fn rank(&self, i: u64) -> u64 {
        let start = i / LINE * LINE;
        self.before.get(i / LINE) + self.bits.ones_in(start, i - start)
    }

    /// The place of the zero number `j`, counted from 0, which must be there.
    pub(crate) fn select_zero(&self, j: u64) -> u64 {
        let zeros_before = |line: u64| line * LINE - self.before.get(line);
        let (mut line, mut end) = (0, self.before.len());
        while end - line > 1 {
            let middle = line + (end - line) / 2;
            if zeros_before(middle) <= j { line = middle } else { end = middle }
        }
        let (mut at, mut rest) = (line * LINE, j - zeros_before(line));
        for word in &self.bits.words()[(at / 64) as usize..] {
            let zeros = u64::from(ones::count(!word));
            if rest < zeros {
                return at + u64::from(ones::select(!word, rest as u32));
            }
            (at, rest) = (at + 64, rest - zeros);
        }
        at
    }
}

/// Bits of a count up to `n`.
fn width_for(n: u64) -> u32 {
    (u64::BITS - n.leading_zeros()).max(1)
}

impl State for Ranked {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.bits.save("bits", out);
            self.before.save_as("before", Role::Auxiliary, out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let loaded =
                Self { bits: Bits::load("bits", src)?, before: Packed::load("before", src)? };
            if loaded.is_counted() {
                Ok(loaded)
            } else {
                Err(src.corrupt(format!("{name}: ones are counted wrongly")))
            }
        })
    }
}

impl Ranked {
    /// Whether the counts are those of the bits.
    fn is_counted(&self) -> bool {
        let (lines, width) = (self.bits.len().div_ceil(LINE), width_for(self.bits.len()));
        let mut ones = 0;
        (self.before.len(), self.before.width()) == (lines, width)
            && self.bits.words().chunks((LINE / 64) as usize).zip(0..).all(|(words, line)| {
                let before = ones;
                ones += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
                self.before.get(line) == before
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn rank_in_a_word_is_the_inverse_of_select() {
        for (word, places) in ones::tests::words() {
            for (rank, at) in (0..).zip(&places) {
                assert_eq!(rank_in_word(word, *at), rank, "{word:x}");
            }
            assert_eq!(rank_in_word(word, 64), word.count_ones());
        }
    }

    #[test]
    fn ranks_are_those_of_counting() {
        for len in [0u64, 1, 63, 64, 511, 512, 513, 5000] {
            let bits = Bits::with_ones(len, (0..len).filter(|i| mix64(*i).is_multiple_of(3)));
            let ranked = Ranked::try_new(bits.clone()).unwrap();
            let mut ones = 0;
            for i in 0..len {
                assert_eq!((ranked.rank(i), ranked.get(i)), (ones, bits.get(i)), "{len}: {i}");
                if !bits.get(i) {
                    assert_eq!(ranked.select_zero(i - ones), i, "{len}");
                }
                ones += u64::from(bits.get(i));
            }
            assert!(ranked.is_counted() && *ranked.bits() == bits);
            if len > 512 {
                let mut wrong = ranked.clone();
                wrong.before.set(1, wrong.before.get(1) + 1);
                assert!(!wrong.is_counted());
            }
        }
    }
}

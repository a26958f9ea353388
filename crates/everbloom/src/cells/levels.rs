//! Words of popcount-linked levels: counters that take a bit per increment (MPCBF, catalogue R17).
//!
//! ```text
//!   level 1   1 0 0 1 0 1 0 1     b1 bits, one per position
//!   level 2   1 1 0 0             as many bits as level 1 has ones, in their order
//!   level 3   0 0                 as many bits as level 2 has ones
//!             └ positions 0 and 3 count two, positions 5 and 7 count one: b1 + 6 bits in all
//! ```
//!
//! The levels of a word follow each other without gaps, so that every increment costs one bit whatever
//! it falls on, until the word is full. They are a function of the counts alone: bit j of level t + 1
//! says whether the position of the j-th one of level t counts more than t.

use crate::error::Result;
use crate::memory::Words;
use crate::state::{Decoder, Encoder, Role, State};

/// Bits a word may have.
pub const LEVEL_WIDTHS: [u64; 6] = [16, 32, 64, 128, 256, 512];

const MOST_WORDS: usize = 8;

/// One word, taken out of its array to work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    bits: [u64; MOST_WORDS],
    width: u64,
    first: u64,
}

impl Hierarchy {
    /// An empty word of `width` bits, one of [`LEVEL_WIDTHS`], with `first` ≤ width bits in level 1.
    pub fn new(width: u64, first: u64) -> Self {
        Self { bits: [0; MOST_WORDS], width, first }
    }

    /// The bit at `i`.
    #[inline]
    pub fn bit(&self, i: u64) -> bool {
        self.bits[(i / 64) as usize] >> (i % 64) & 1 != 0
    }

    /// Ones in `start..end`.
    fn ones(&self, start: u64, end: u64) -> u64 {
        let below = |i: u64| {
            let whole = (i / 64) as usize;
            let ones: u32 = self.bits[..whole].iter().map(|w| w.count_ones()).sum();
            let rest = self.bits.get(whole).map_or(0, |w| (w & ((1 << (i % 64)) - 1)).count_ones());
            u64::from(ones + rest)
        };
        below(end) - below(start)
    }

    /// Where the counter of position `i` ends: (start of the level, end of it, place in it) of its last
    /// one, or of its zero in level 1, and its count. `None` in a word whose levels do not fit it,
    /// which only a forged file can hold.
    fn chain(&self, i: u64) -> Option<(u64, u64, u64, u64)> {
        let (mut start, mut end, mut at) = (0, self.first, i);
        if !self.bit(at) {
            return Some((start, end, at, 0));
        }
        let mut count = 1;
        loop {
            let next_end = end + self.ones(start, end);
            if next_end > self.width {
                return None;
            }
            let above = end + self.ones(start, at);
            if !self.bit(above) {
                return Some((start, end, at, count));
            }
            (start, end, at) = (end, next_end, above);
            count += 1;
        }
    }

    /// Bits in use: level 1 and one per increment. All of them, where the levels do not fit.
    pub fn used(&self) -> u64 {
        let (mut start, mut end) = (0, self.first);
        while start < end {
            let next = end + self.ones(start, end);
            if next > self.width {
                return self.width;
            }
            (start, end) = (end, next);
        }
        end
    }

    /// How often position `i` < b1 was incremented.
    pub fn count(&self, i: u64) -> u64 {
        self.chain(i).map_or(0, |(_, _, _, count)| count)
    }

    /// Ones in level 1.
    pub fn in_use(&self) -> u64 {
        self.ones(0, self.first)
    }

    /// Counts position `i` < b1 once more; false, and nothing changed, if the word is full.
    pub fn increment(&mut self, i: u64) -> bool {
        if self.used() >= self.width {
            return false;
        }
        let Some((start, end, last, count)) = self.chain(i) else { return false };
        // The zero to set: level 1's own, or the one that the last one of the chain points at.
        let (start, end, at) = if count == 0 {
            (start, end, last)
        } else {
            (end, end + self.ones(start, end), end + self.ones(start, last))
        };
        self.bits[(at / 64) as usize] |= 1 << (at % 64);
        self.insert_zero(end + self.ones(start, at));
        true
    }

    /// Counts position `i` < b1 once less; false, and nothing changed, if it counts nothing.
    pub fn decrement(&mut self, i: u64) -> bool {
        let Some((start, end, at, count)) = self.chain(i) else { return false };
        if count == 0 {
            return false;
        }
        self.remove_bit(end + self.ones(start, at));
        self.bits[(at / 64) as usize] &= !(1 << (at % 64));
        true
    }

    /// Moves the bits from `at` on up by one. The topmost bit is free.
    fn insert_zero(&mut self, at: u64) {
        let word = (at / 64) as usize;
        let last = ((self.width - 1) / 64) as usize;
        for w in (word + 1..=last).rev() {
            self.bits[w] = self.bits[w] << 1 | self.bits[w - 1] >> 63;
        }
        if word <= last {
            let low = (1 << (at % 64)) - 1;
            self.bits[word] = self.bits[word] & low | (self.bits[word] & !low) << 1;
        }
        self.trim();
    }

    /// Drops the bit at `at` and moves those above down by one.
    fn remove_bit(&mut self, at: u64) {
        let word = (at / 64) as usize;
        let last = ((self.width - 1) / 64) as usize;
        let low = (1u64 << (at % 64)) - 1;
        self.bits[word] = self.bits[word] & low | self.bits[word] >> 1 & !low;
        for w in word + 1..=last {
            self.bits[w - 1] |= self.bits[w] << 63;
            self.bits[w] >>= 1;
        }
    }

    fn trim(&mut self) {
        if self.width < 64 {
            self.bits[0] &= (1 << self.width) - 1;
        }
    }

    /// Level `t` (from 1), lowest bit first, for looking at.
    pub fn level(&self, t: u32) -> Vec<bool> {
        let (mut start, mut end) = (0, self.first);
        for _ in 1..t {
            (start, end) = (end, (end + self.ones(start, end)).min(self.width));
        }
        (start..end).map(|i| self.bit(i)).collect()
    }
}

/// An array of words of popcount-linked levels.
#[derive(Clone, Debug, PartialEq)]
pub struct Levels {
    len: u64,
    width: u64,
    first: u64,
    words: Words,
}

impl Levels {
    /// `len` empty words of `width` bits, one of [`LEVEL_WIDTHS`], with `first` in 1..=width bits in
    /// level 1; an error where there is no room for them.
    pub fn try_new(len: u64, width: u64, first: u64) -> Result<Self> {
        debug_assert!(LEVEL_WIDTHS.contains(&width) && (1..=width).contains(&first));
        let bits = u128::from(len) * u128::from(width);
        let words = usize::try_from(bits.div_ceil(64)).unwrap_or(usize::MAX);
        Ok(Self { len, width, first, words: Words::try_zeroed(words)? })
    }

    /// Number of words.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no words at all.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits per word.
    pub fn width(&self) -> u64 {
        self.width
    }

    /// Bits in level 1.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Whether position `i` of a word counts anything: one bit of level 1.
    #[inline]
    pub fn get(&self, word: u64, i: u64) -> bool {
        let bit = word * self.width + i;
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 != 0
    }

    /// A copy of a word, to look at or to work on.
    pub fn load(&self, word: u64) -> Hierarchy {
        let mut out = Hierarchy::new(self.width, self.first);
        let bit = word * self.width;
        let at = (bit / 64) as usize;
        if self.width < 64 {
            out.bits[0] = self.words[at] >> (bit % 64) & ((1 << self.width) - 1);
        } else {
            let n = (self.width / 64) as usize;
            out.bits[..n].copy_from_slice(&self.words[at..at + n]);
        }
        out
    }

    /// Puts a word back.
    pub fn store(&mut self, word: u64, value: &Hierarchy) {
        let bit = word * self.width;
        let at = (bit / 64) as usize;
        let words = self.words.make_mut();
        if self.width < 64 {
            let mask = ((1 << self.width) - 1) << (bit % 64);
            words[at] = words[at] & !mask | value.bits[0] << (bit % 64);
        } else {
            let n = (self.width / 64) as usize;
            words[at..at + n].copy_from_slice(&value.bits[..n]);
        }
    }

    /// Every word, in order.
    pub fn iter(&self) -> impl Iterator<Item = Hierarchy> + '_ {
        (0..self.len).map(|word| self.load(word))
    }
}

impl State for Levels {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("width", self.width);
            out.u64("first", self.first);
            let role = Role::Cells { bits: self.len * self.width };
            out.array("words", role, self.len, &self.words);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (width, first) = (src.u64("width")?, src.u64("first")?);
            if !LEVEL_WIDTHS.contains(&width) || !(1..=width).contains(&first) {
                return Err(src.corrupt(format!("{name}: {first} bits of words of {width}")));
            }
            let (len, words) = super::array("words", width, src)?;
            Ok(Self { len, width, first, words })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn words_of_every_width_count_like_plain_counters() {
        for width in LEVEL_WIDTHS {
            let first = width / 3;
            let mut random = Generator::new(width);
            let mut levels = Levels::try_new(5, width, first).unwrap();
            let mut plain = vec![vec![0u64; first as usize]; 5];
            let mut full = 0;
            for _ in 0..20_000 {
                let (w, i) = (random.below(5), random.below(first));
                let mut word = levels.load(w);
                let counts = &mut plain[w as usize];
                let total: u64 = counts.iter().sum();
                let cell = &mut counts[i as usize];
                if random.below(3) > 0 {
                    let room = first + total < width;
                    assert_eq!(word.increment(i), room);
                    *cell += u64::from(room);
                    full += u64::from(!room);
                } else {
                    assert_eq!(word.decrement(i), *cell > 0);
                    *cell = cell.saturating_sub(1);
                }
                levels.store(w, &word);
                let total: u64 = counts.iter().sum();
                assert_eq!(word.used(), first + total);
                assert!((0..first).all(|i| word.count(i) == counts[i as usize]));
            }
            assert!(full > 100, "the refusals were seen");
        }
    }
}

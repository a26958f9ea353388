//! Saturating counters of 1 to 64 bits.
//!
//! A counter that reaches its maximum has lost its count, so it sticks there: it is never decremented
//! again. Decrementing it could bring it to zero while keys still use it, a false negative (S1 §2.5);
//! sticking costs at most a false positive.

use super::Packed;
use crate::error::Result;
use crate::state::{Decoder, Encoder, State};

/// `len` saturating counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    cells: Packed,
}

impl Counters {
    /// The widths a counter may have.
    pub const WIDTHS: std::ops::RangeInclusive<u32> = 1..=64;

    /// `len` zero counters of `width` bits.
    pub fn new(len: u64, width: u32) -> Self {
        debug_assert!(Self::WIDTHS.contains(&width));
        Self { cells: Packed::new(len, width) }
    }

    /// [`Counters::new`], or an error where there is no room for the counters.
    pub fn try_new(len: u64, width: u32) -> Result<Self> {
        debug_assert!(Self::WIDTHS.contains(&width));
        Ok(Self { cells: Packed::try_new(len, width)? })
    }

    /// Number of counters.
    pub fn len(&self) -> u64 {
        self.cells.len()
    }

    /// Whether there are no counters at all.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Bits per counter.
    pub fn width(&self) -> u32 {
        self.cells.width()
    }

    /// The value at which counters stick.
    #[inline]
    pub fn max(&self) -> u64 {
        self.cells.max()
    }

    /// The counter at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> u64 {
        self.cells.get(i)
    }

    /// Writes the counter at `i`, at most its maximum.
    #[inline]
    pub fn set(&mut self, i: u64, value: u64) {
        self.cells.set(i, value.min(self.max()));
    }

    /// Adds one, up to the maximum.
    #[inline]
    pub fn increment(&mut self, i: u64) {
        self.raise(i, 1);
    }

    /// Takes one away, unless the counter is stuck or zero.
    #[inline]
    pub fn decrement(&mut self, i: u64) {
        self.lower(i, 1);
    }

    /// Adds `by`, up to the maximum.
    #[inline]
    pub fn raise(&mut self, i: u64, by: u64) {
        self.set(i, self.get(i).saturating_add(by));
    }

    /// Takes `by` away, unless the counter is stuck or holds less.
    #[inline]
    pub fn lower(&mut self, i: u64, by: u64) {
        let value = self.get(i);
        if value >= by && value != self.max() {
            self.cells.set(i, value - by);
        }
    }

    /// Whether the counter at `i` sticks at the maximum.
    #[inline]
    pub fn stuck(&self, i: u64) -> bool {
        self.get(i) == self.max()
    }

    /// Adds the counters of an array of the same length; a cell stuck in either stays stuck.
    pub fn add(&mut self, other: &Counters) {
        for i in 0..self.len() {
            let (a, b) = (self.get(i), other.get(i));
            if b != 0 {
                self.set(i, a.saturating_add(b));
            }
        }
    }

    /// Which of the `len` ≤ 64 counters from `at` on are above zero: one bit each, the first one lowest. Of
    /// counters of one bit, one or two words are read.
    #[inline]
    pub fn window(&self, at: u64, len: u64) -> u64 {
        if self.width() != 1 {
            return (0..len).fold(0, |mask, j| mask | u64::from(self.get(at + j) != 0) << j);
        }
        let (words, word, shift) = (self.cells.words(), (at / 64) as usize, at % 64);
        let high =
            if shift == 0 { 0 } else { words.get(word + 1).map_or(0, |w| w << (64 - shift)) };
        (words[word] >> shift | high) & (u64::MAX >> (64 - len))
    }

    /// Every counter, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.cells.iter()
    }

    /// Number of counters that are not zero.
    pub fn nonzero(&self) -> u64 {
        self.iter().filter(|&c| c != 0).count() as u64
    }

    /// Number of counters that stick at the maximum.
    pub fn saturated(&self) -> u64 {
        let max = self.max();
        self.iter().filter(|&c| c == max).count() as u64
    }

    /// Zeroes every counter.
    pub fn clear(&mut self) {
        self.cells.clear();
    }

    /// Whether huge pages back the array.
    pub fn huge(&self) -> bool {
        self.cells.huge()
    }
}

impl State for Counters {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        self.cells.save(name, out);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let cells = Packed::load(name, src)?;
        if !Self::WIDTHS.contains(&cells.width()) {
            return Err(src.corrupt(format!("{name}: counters of {} bits", cells.width())));
        }
        Ok(Self { cells })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_saturate_and_stick_at_every_width() {
        for width in Counters::WIDTHS {
            let mut c = Counters::new(3, width);
            let max = u64::MAX >> (64 - width);
            c.raise(1, max - 1);
            assert_eq!((c.get(0), c.get(1), c.get(2)), (0, max - 1, 0));
            c.decrement(0);
            assert_eq!(c.get(0), 0, "a zero counter stays zero");
            if width > 1 {
                c.decrement(1);
                assert_eq!(c.get(1), max - 2);
                c.increment(1);
            }
            c.increment(1);
            c.increment(1);
            assert_eq!((c.get(1), c.saturated()), (max, 1));
            c.decrement(1);
            assert_eq!(c.get(1), max, "a saturated counter sticks");
        }
    }

    #[test]
    fn windows_show_which_counters_are_in_use() {
        for width in [1, 3] {
            let mut c = Counters::new(150, width);
            let used = [0, 5, 63, 64, 70, 127, 128, 149];
            used.iter().for_each(|i| c.increment(*i));
            for (at, len) in [(0, 64), (1, 57), (60, 64), (64, 6), (93, 57), (86, 64)] {
                let mask = c.window(at, len);
                for j in 0..64 {
                    let wanted = j < len && used.contains(&(at + j));
                    assert_eq!(mask >> j & 1 == 1, wanted, "{width} {at} {j}");
                }
            }
        }
    }

    #[test]
    fn sums_saturate_and_stay_stuck() {
        let (mut a, mut b) = (Counters::new(4, 2), Counters::new(4, 2));
        [(0, 1), (1, 2), (2, 3)].into_iter().for_each(|(i, v)| a.set(i, v));
        [(0, 1), (1, 2), (3, 3)].into_iter().for_each(|(i, v)| b.set(i, v));
        a.add(&b);
        assert_eq!(a.iter().collect::<Vec<_>>(), [2, 3, 3, 3]);
    }
}

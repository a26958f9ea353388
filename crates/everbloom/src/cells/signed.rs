//! Counters that may go below zero: 64 bits each, with a sign.
//!
//! A counter that reaches either end of its range has lost its count, so it sticks there: it never wraps.

use crate::error::Result;
use crate::memory::{Words, prefetch_to_write};
use crate::state::{Decoder, Encoder, Role, State};

/// `len` signed counters.
#[derive(Clone, Debug, PartialEq)]
pub struct Signed {
    words: Words,
}

impl Signed {
    /// `len` zero counters, or an error where there is no room for them.
    pub fn try_new(len: u64) -> Result<Self> {
        Ok(Self { words: Words::try_zeroed(usize::try_from(len).unwrap_or(usize::MAX))? })
    }

    /// Number of counters.
    pub fn len(&self) -> u64 {
        self.words.len() as u64
    }

    /// Whether there are no counters at all.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The counter at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> i64 {
        self.words[i as usize].cast_signed()
    }

    /// Adds `by` to the counter at `i`, unless it is stuck; returns what it was.
    #[inline]
    pub fn add(&mut self, i: u64, by: i64) -> i64 {
        let word = &mut self.words.make_mut()[i as usize];
        let was = word.cast_signed();
        if !Self::stuck(was) {
            *word = was.saturating_add(by).cast_unsigned();
        }
        was
    }

    /// Whether a counter of this value sticks there.
    #[inline]
    pub fn stuck(value: i64) -> bool {
        value == i64::MAX || value == i64::MIN
    }

    /// Adds the counters of an array of the same length; one that is stuck in either stays stuck.
    pub fn combine(&mut self, other: &Signed) {
        for (i, value) in (0..).zip(other.iter()).filter(|(_, value)| *value != 0) {
            if Self::stuck(value) && !Self::stuck(self.get(i)) {
                self.words.make_mut()[i as usize] = value.cast_unsigned();
            } else {
                self.add(i, value);
            }
        }
    }

    /// The counters, as two's complements.
    #[inline]
    pub(crate) fn as_slice(&self) -> &[u64] {
        &self.words
    }

    /// The counters, to be changed by [`Signed::step`].
    #[inline]
    pub(crate) fn as_mut_slice(&mut self) -> &mut [u64] {
        self.words.make_mut()
    }

    /// Adds one to a counter, unless it is stuck; returns what it was.
    #[inline(always)]
    pub(crate) fn step(counter: &mut u64) -> i64 {
        let (was, more) = (counter.cast_signed(), counter.wrapping_add(1));
        // One more than either end of the range is one of the two least numbers, and nothing else is.
        if more.cast_signed() > i64::MIN + 1 {
            *counter = more;
        }
        was
    }

    /// Every counter, in order.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        self.words.iter().map(|word| word.cast_signed())
    }

    /// Prefetches the counter at `i`, to be changed.
    #[inline]
    pub fn fetch(&self, i: u64) {
        prefetch_to_write(self.words.as_ptr().wrapping_add(i as usize).cast());
    }
}

impl State for Signed {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.array(name, Role::Cells { bits: 64 * self.len() }, self.len(), &self.words);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let (_, words) = super::array(name, 64, src)?;
        Ok(Self { words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_stick_at_both_ends_and_never_wrap() {
        let mut cells = Signed::try_new(3).unwrap();
        assert_eq!((cells.add(0, i64::MAX - 1), cells.add(0, 5)), (0, i64::MAX - 1));
        cells.add(1, i64::MIN);
        cells.add(2, -7);
        for i in 0..2 {
            cells.add(i, 100);
            cells.add(i, -100);
        }
        assert_eq!(cells.iter().collect::<Vec<_>>(), [i64::MAX, i64::MIN, -7]);
        for start in [i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX] {
            let mut pair = Signed::try_new(2).unwrap();
            (0..2).for_each(|i| _ = pair.add(i, start));
            pair.add(0, 1);
            assert_eq!(Signed::step(&mut pair.as_mut_slice()[1]), start);
            assert_eq!(pair.get(0), pair.get(1), "{start}");
        }
        let mut sum = Signed::try_new(3).unwrap();
        sum.add(0, -5);
        sum.add(2, 3);
        sum.combine(&cells);
        assert_eq!(sum.iter().collect::<Vec<_>>(), [i64::MAX, i64::MIN, -4]);
        cells.combine(&sum);
        assert_eq!(cells.iter().collect::<Vec<_>>(), [i64::MAX, i64::MIN, -11]);
    }
}

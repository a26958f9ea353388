//! Counters with a mark beside them: how many were put in, and what their marks come to.
//!
//! ```text
//!   put 5, put 3        Sum: count 2, mark 8         Xor: count 2, mark 6
//! ```
//!
//! A cell whose count reaches its maximum, or whose sum outgrows its field, has lost track: it sticks,
//! says nothing but that it is in use, and is never taken from again, as [`Counters`] do. Its mark is
//! cleared, so that cells do not depend on the order of what was put in.

use std::marker::PhantomData;

use super::{Counters, Packed};
use crate::error::Result;
use crate::state::{Decoder, Encoder, State};

/// How marks come together.
pub trait Join: Clone + std::fmt::Debug + PartialEq + Send + Sync + 'static {
    /// Both marks together.
    fn join(a: u64, b: u64) -> u64;
    /// What is left of `a` without `b`.
    fn part(a: u64, b: u64) -> u64;
}

/// Marks add up.
#[derive(Clone, Debug, PartialEq)]
pub struct Sum;

/// Marks cancel out in pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct Xor;

impl Join for Sum {
    fn join(a: u64, b: u64) -> u64 {
        a.saturating_add(b)
    }

    fn part(a: u64, b: u64) -> u64 {
        a.wrapping_sub(b)
    }
}

impl Join for Xor {
    fn join(a: u64, b: u64) -> u64 {
        a ^ b
    }

    fn part(a: u64, b: u64) -> u64 {
        a ^ b
    }
}

/// The state of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// So many marks, which come to this.
    Known {
        /// How many.
        count: u64,
        /// What they come to.
        mark: u64,
    },
    /// Some, and nobody knows which.
    Lost,
}

/// `len` counters, each with a mark.
#[derive(Clone, Debug, PartialEq)]
pub struct Marked<J> {
    counts: Counters,
    marks: Packed,
    join: PhantomData<J>,
}

impl<J: Join> Marked<J> {
    /// `len` empty cells with counters of `count_width` bits and marks of `mark_width`, or an error where
    /// there is no room for them.
    pub fn try_new(len: u64, count_width: u32, mark_width: u32) -> Result<Self> {
        let counts = Counters::try_new(len, count_width)?;
        Ok(Self { counts, marks: Packed::try_new(len, mark_width)?, join: PhantomData })
    }

    /// Number of cells.
    pub fn len(&self) -> u64 {
        self.counts.len()
    }

    /// Whether there are no cells at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The counters.
    pub fn counts(&self) -> &Counters {
        &self.counts
    }

    /// The marks.
    pub fn marks(&self) -> &Packed {
        &self.marks
    }

    /// The state of the cell at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> Mark {
        match self.counts.get(i) {
            count if count == self.counts.max() => Mark::Lost,
            count => Mark::Known { count, mark: self.marks.get(i) },
        }
    }

    fn set(&mut self, i: u64, count: u64, mark: u64) {
        let lost = count >= self.counts.max() || mark > self.marks.max();
        self.counts.set(i, if lost { self.counts.max() } else { count });
        self.marks.set(i, if lost { 0 } else { mark });
    }

    /// Puts one mark into the cell at `i`.
    #[inline]
    pub fn put(&mut self, i: u64, mark: u64) {
        if let Mark::Known { count, mark: there } = self.get(i) {
            self.set(i, count + 1, J::join(there, mark));
        }
    }

    /// Takes one mark out of the cell at `i`; false, and nothing changed, if the cell does not hold it
    /// for certain: it is empty, or what would be left of its mark belongs to nobody.
    #[inline]
    pub fn take(&mut self, i: u64, mark: u64) -> bool {
        let Mark::Known { count, mark: there } = self.get(i) else { return true };
        let left = J::part(there, mark);
        if count == 0 || left > self.marks.max() || (count == 1 && left != 0) {
            return false;
        }
        self.set(i, count - 1, left);
        true
    }

    /// Adds the cells of an array of the same shape; a cell lost in either stays lost.
    pub fn add(&mut self, other: &Self) {
        for i in 0..self.len() {
            match (self.get(i), other.get(i)) {
                (Mark::Known { count, mark }, Mark::Known { count: more, mark: with }) => {
                    self.set(i, count + more, J::join(mark, with));
                }
                (_, Mark::Lost) => self.set(i, self.counts.max(), 0),
                (Mark::Lost, _) => {}
            }
        }
    }

    /// Every cell, in order.
    pub fn iter(&self) -> impl Iterator<Item = Mark> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Refuses arrays of different cells.
    pub(crate) fn agree(&self, other: &Self) -> Result<()> {
        crate::error::agree("counter width", self.counts.width(), other.counts.width())?;
        crate::error::agree("mark width", self.marks.width(), other.marks.width())
    }
}

impl<J: Join> State for Marked<J> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.counts.save("counts", out);
            self.marks.save("marks", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let counts = Counters::load("counts", src)?;
            let marks = Packed::load("marks", src)?;
            if counts.len() != marks.len() {
                return Err(src.corrupt(format!("{name}: counts and marks of different lengths")));
            }
            Ok(Self { counts, marks, join: PhantomData })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_and_go_and_empty_cells_are_clean() {
        let mut sums = Marked::<Sum>::try_new(3, 3, 5).unwrap();
        [5, 3, 5].into_iter().for_each(|v| sums.put(1, v));
        assert_eq!(sums.get(1), Mark::Known { count: 3, mark: 13 });
        assert!(sums.take(1, 5) && sums.take(1, 3));
        assert!(!sums.take(1, 3), "the last one left is another");
        assert!(!sums.take(0, 1), "an empty cell");
        assert!(sums.take(1, 5));
        assert_eq!(sums, Marked::try_new(3, 3, 5).unwrap());
        let mut xors = Marked::<Xor>::try_new(1, 2, 64).unwrap();
        xors.put(0, u64::MAX);
        xors.put(0, u64::MAX);
        assert_eq!(xors.get(0), Mark::Known { count: 2, mark: 0 });
    }

    #[test]
    fn lost_cells_stay_lost_in_whatever_order() {
        // Counts to 7, sums to 31: seven small marks and two large ones both overflow.
        let mut cells = Marked::<Sum>::try_new(4, 3, 5).unwrap();
        (0..7).for_each(|_| cells.put(0, 1));
        [20, 12].into_iter().for_each(|v| cells.put(1, v));
        [20, 11].into_iter().for_each(|v| cells.put(2, v));
        assert_eq!(cells.get(0), Mark::Lost);
        assert_eq!(cells.get(1), Mark::Lost);
        assert_eq!(cells.get(2), Mark::Known { count: 2, mark: 31 });
        assert!(cells.take(0, 1) && cells.take(1, 9), "what is lost is never taken from");
        assert_eq!(cells.counts().saturated(), 2);
        let mut both = Marked::<Sum>::try_new(4, 3, 5).unwrap();
        both.put(2, 1);
        both.add(&cells);
        assert!([0, 1, 2].into_iter().all(|i| both.get(i) == Mark::Lost));
        assert_eq!(both.get(3), Mark::Known { count: 0, mark: 0 });
        assert_eq!(both.marks().iter().sum::<u64>(), 0);
    }
}

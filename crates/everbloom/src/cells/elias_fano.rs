//! Numbers in order, in the code of Elias (1974) and Fano (1971): near the fewest bits there are, and any of them is
//! found without reading those before it.
//!
//! ```text
//!   h = q·2^r + x      numbers   1·16+3  1·16+a  2·16+1  4·16+7          lists q = 0 … 4, r = 4
//!                      loads     0 1 1 0 1 0 0 1 0                       a one for each number, a zero ends a list
//!                      remainders  3 a   1     7                         r bits each
//! ```
//!
//! Number i of list q is the one at place q + i of the loads. So a list begins behind the zero that ends the one before
//! it, and as many remainders come before its first as ones before that zero. n numbers in N lists take
//! n·r + n + N bits, and the counts of ones by which zeros are found 4 % of the n + N.

use super::{BitReader, BitWriter, Bits, Ranked};
use crate::error::{Error, Result};
use crate::state::state;

/// A sorted multiset of numbers, by `lists` lists of remainders of `width` bits.
#[derive(Clone, Debug, PartialEq)]
pub struct EliasFano {
    width: u32,
    loads: Ranked,
    remainders: Bits,
}

state!(EliasFano { width, loads, remainders });

impl EliasFano {
    /// The code of `len` numbers in order, all below `lists`·2^`width`, which is at most 2^64. There is at least one
    /// list.
    pub fn try_new(
        lists: u64,
        width: u32,
        len: u64,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<Self> {
        let mut loads = Bits::try_new(lists.saturating_add(len))?;
        let mut remainders = BitWriter::new();
        for (i, h) in (0..).zip(numbers) {
            loads.set((h >> width) + i);
            remainders.write(h, width);
        }
        Ok(Self { width, loads: Ranked::try_new(loads)?, remainders: remainders.finish() })
    }

    /// Number of lists.
    pub fn lists(&self) -> u64 {
        self.loads.bits().len() - self.len()
    }

    /// Bits of a remainder.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// How many numbers there are.
    pub fn len(&self) -> u64 {
        // The last bit is the zero that ends the last list.
        self.loads.rank(self.loads.bits().len() - 1)
    }

    /// Whether there are no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn remainder(&self, i: u64) -> u64 {
        let width = u64::from(self.width);
        BitReader::new(&self.remainders, i * width).read(self.width).unwrap_or(0)
    }

    /// The remainders of a list.
    #[inline]
    pub fn list(&self, list: u64) -> impl Iterator<Item = u64> + '_ {
        let start = if list == 0 { 0 } else { self.loads.select_zero(list - 1) + 1 };
        let ones = (start..).take_while(|at| self.loads.get(*at));
        ones.map(move |at| self.remainder(at - list))
    }

    /// Every number, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        let places = (0..self.loads.bits().len()).filter(|at| self.loads.get(*at));
        places.zip(0..).map(|(at, i)| (at - i) << self.width | self.remainder(i))
    }

    /// A list ends the loads, every one has its remainder, and no number is lower than the one before it.
    fn check(&self) -> Result<()> {
        let loads = self.loads.bits();
        let ended = !loads.is_empty() && !loads.get(loads.len() - 1);
        let fits = |lists: u64| lists.ilog2() + self.width <= 63;
        let whole = || self.len().checked_mul(self.width.into()) == Some(self.remainders.len());
        if ended && self.width < 64 && fits(self.lists()) && whole() && self.numbers().is_sorted() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a code of numbers that are not in order"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn numbers_are_those_coded_and_lists_their_remainders() {
        let mut random = Generator::new(4);
        for (lists, width, n) in
            [(1, 0, 0), (1, 63, 5), (5, 4, 40), (700, 0, 300), (3000, 13, 2900), (9, 60, 2000)]
        {
            let mut numbers: Vec<u64> =
                (0..n).map(|_| random.below(lists) << width | random.below(1 << width)).collect();
            numbers.sort_unstable();
            let code = EliasFano::try_new(lists, width, n, numbers.iter().copied()).unwrap();
            code.check().expect("in order");
            assert_eq!((code.lists(), code.len(), code.width()), (lists, n, width));
            assert!(code.numbers().eq(numbers.iter().copied()), "{lists} {width}");
            for list in 0..lists {
                let own = numbers.iter().filter(|h| **h >> width == list);
                assert!(code.list(list).eq(own.map(|h| h & ((1 << width) - 1))), "{list}");
            }
        }
    }

    #[test]
    fn codes_of_nothing_in_order_are_refused() {
        let good = EliasFano::try_new(5, 4, 4, [0x13, 0x1a, 0x21, 0x47].into_iter()).unwrap();
        good.check().expect("in order");
        assert_eq!(good.loads.bits().words(), [0b0_1001_0110]);
        let refused = |lie: fn(&mut EliasFano)| {
            let mut liar = good.clone();
            lie(&mut liar);
            assert!(liar.check().is_err());
        };
        refused(|code| code.remainders = Bits::with_ones(16, [1, 3, 4, 8, 12]));
        refused(|code| code.remainders = Bits::new(15));
        refused(|code| code.width = 3);
        refused(|code| code.width = 64);
        refused(|code| code.width = 62);
        refused(|code| code.loads = Ranked::try_new(Bits::new(0)).unwrap());
        refused(|code| code.loads = Ranked::try_new(Bits::with_ones(9, [1, 2, 4, 8])).unwrap());
    }
}

//! Where the cells of a key lie: one in each of three or four neighboring segments.

use std::array;

use crate::error::{Error, Result};
use crate::hash::mix64;
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::state::state;

/// Where the cells of a key may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Cells per key, 3 or 4.
    pub(super) arity: u32,
    /// Cells of a segment, L: a power of two.
    pub(super) segment: u64,
    /// Cells that may be a key's first: s·L.
    pub(super) starts: u64,
}

state!(Geometry { arity, segment, starts });

/// The largest segment, 2^18.
const MAX_SEGMENT_BITS: u32 = 18;

impl Geometry {
    /// The geometry for `n` keys with `arity` cells each, as the authors' code has it; no cells for no
    /// keys.
    ///
    /// L = 2^⌊ln n/ln 3.33 + 2.25⌋ and n·max(1.125, 0.875 + 0.25·ln 10⁶/ln n) cells for three;
    /// 2^⌊ln n/ln 2.91 − 0.5⌋ and n·max(1.075, 0.77 + 0.305·ln(6·10⁵)/ln n) for four; whole segments, and
    /// at least as many as a key has cells.
    pub fn of(arity: u32, n: u64) -> Self {
        if n == 0 {
            return Self { arity, segment: 1, starts: 0 };
        }
        let ln = libm::log(n as f64);
        let (bits, factor) = if arity == 3 {
            let factor = 0.875 + 0.25 * libm::log(1e6) / ln;
            (ln / libm::log(3.33) + 2.25, factor.max(1.125))
        } else {
            let factor = 0.77 + 0.305 * libm::log(6e5) / ln;
            (ln / libm::log(2.91) - 0.5, factor.max(1.075))
        };
        // The exponent of four cells and one key would be −1.
        let segment = 1u64 << (bits.floor().max(0.0) as u32).min(MAX_SEGMENT_BITS);
        // A single key fits the least geometry there is; 1/ln 1 has nothing to say.
        let capacity = if n == 1 { 0.0 } else { (n as f64 * factor).round() };
        let segments = (capacity / segment as f64).ceil() as u64;
        let starts = segments.saturating_sub(u64::from(arity) - 1).max(1);
        Self { arity, segment, starts: starts.saturating_mul(segment) }
    }

    /// The same cells in segments of half the length.
    ///
    /// Just above the sizes where L doubles there are too few segments for peeling to gain from its two
    /// ends: with 11,455 keys 1 of 15 seeds works, with 12,350 1 of 30, and then with L/2 nearly all.
    pub(super) fn recut(self) -> Self {
        let segment = self.segment.div_ceil(2);
        let starts = self.cells() - (u64::from(self.arity) - 1) * segment;
        Self { segment, starts, ..self }
    }

    /// Cells per key, 3 or 4.
    pub fn arity(&self) -> u32 {
        self.arity
    }

    /// Cells of a segment.
    pub fn segment_length(&self) -> u64 {
        self.segment
    }

    /// Segments that may be the first of a key's.
    pub fn start_segments(&self) -> u64 {
        self.starts / self.segment
    }

    /// Cells in all.
    pub fn cells(&self) -> u64 {
        match self.starts {
            0 => 0,
            starts => starts.saturating_add((u64::from(self.arity) - 1) * self.segment),
        }
    }

    /// Where the upper half of the cells begins: with a segment, and with a word whatever the width of cells.
    pub(super) fn middle(&self) -> usize {
        if self.segment < 64 {
            return 0;
        }
        (self.cells() / self.segment / 2 * self.segment) as usize
    }

    /// The first cell of a hash: the further the larger the hash.
    #[inline]
    pub(super) fn first(&self, hash: u64) -> usize {
        multiply_shift(hash, self.starts) as usize
    }

    /// The cells of a hash, in neighboring segments, so that no two are the same.
    ///
    /// The first comes from the leading bits. Its place in the segment, changed in up to 18 bits, gives
    /// the next ones: by other bits of the hash for three cells, for four by those of another.
    #[inline]
    pub(super) fn around<const A: usize>(&self, hash: u64) -> [usize; A] {
        self.around_from(0, hash)
    }

    /// [`Geometry::around`], counted from the cell `start`, which begins a segment. Those before it come out
    /// as numbers of no cell.
    #[inline]
    pub(super) fn around_from<const A: usize>(&self, start: usize, hash: u64) -> [usize; A] {
        let first = self.first(hash).wrapping_sub(start);
        let (segment, mask) = (self.segment as usize, self.segment - 1);
        let (bits, shifts) = match A {
            3 => (hash, [0, COUNT_BITS + MAX_SEGMENT_BITS, COUNT_BITS, 0]),
            _ => (mix64(hash), [0, 0, 20, 40]),
        };
        array::from_fn(|j| match j {
            0 => first,
            _ => first.wrapping_add(j * segment) ^ (bits >> shifts[j] & mask) as usize,
        })
    }

    /// Whether every hash has its cells among the first `cells`, and there are any.
    ///
    /// The first lies below the starts, which are whole segments. The others are one and two segments
    /// further, and to change bits below the length of a segment, a power of two, does not lead out of it.
    #[inline]
    pub(super) fn is_within(&self, cells: usize) -> bool {
        let whole = self.segment.is_power_of_two() && self.starts & (self.segment - 1) == 0;
        whole && self.starts > 0 && self.cells() <= cells as u64
    }

    pub(super) fn check(&self) -> Result<()> {
        let Self { arity, segment, starts } = *self;
        let good = (3..=4).contains(&arity)
            && segment.is_power_of_two()
            && segment <= 1 << MAX_SEGMENT_BITS
            && starts.is_multiple_of(segment)
            && starts <= MAX_CELLS;
        let bad =
            || format!("corrupt filter: {arity} cells in segments of {segment}, {starts} first");
        if good { Ok(()) } else { Err(Error::corrupt(0, bad())) }
    }
}

/// The last bits of a hash are left free: while a filter is built, a cell is one word, the exclusive or of
/// its keys' hashes, and in these bits their number. No cell ever has 32 keys among random ones.
pub(super) const COUNT_BITS: u32 = 5;
pub(super) const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// Bits of a hash that tell keys apart.
pub(super) const HASH_BITS: u32 = 64 - COUNT_BITS;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_a_hash_lie_one_in_each_of_neighboring_segments() {
        for n in [1, 2, 10, 1000, 1_000_000] {
            let three = Geometry::of(3, n);
            let four = Geometry::of(4, n);
            for i in 0..10_000 {
                let hash = mix64(i) & !COUNT;
                let (a, b) = (three.around::<3>(hash), four.around::<4>(hash));
                let segments = a.map(|cell| cell as u64 / three.segment);
                assert!(segments == [segments[0], segments[0] + 1, segments[0] + 2]);
                assert!(a.iter().all(|cell| (*cell as u64) < three.cells()));
                let segments = b.map(|cell| cell as u64 / four.segment);
                assert!(segments.is_sorted_by(|a, b| a + 1 == *b));
                assert!(b.iter().all(|cell| (*cell as u64) < four.cells()));
            }
        }
    }
}

//! Where the cells of a key lie: one in each of three or four neighboring segments.
//!
//! Many keys are in parts, which share no cells: each has so many segments that may be first, and behind them the two or
//! three that only later cells of a key are in. So every core can solve for a part of its own.
//!
//! ```text
//!   starts   │ 0 ‥‥‥‥‥‥ 127 │     │ 128 ‥‥‥‥ 255 │     │ 256 ‥ │     │      segments that may be first
//!   cells    │ ▣      ▣        ▣  │         ▣     ▣  ▣ │  ▣ ▣  ▣     │      three parts, the last one shorter
//! ```

use std::array;

use crate::error::{Error, Result};
use crate::hash::mix64;
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::state::{Decoder, Encoder, State};

/// Where the cells of a key may lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Cells per key, 3 or 4.
    pub(super) arity: u32,
    /// Cells of a segment, L: a power of two.
    pub(super) segment: u64,
    /// Cells that may be a key's first: s·L.
    pub(super) starts: u64,
    /// Cells at the end of a part that are nobody's first; 0 where all is one part. Not in files: see
    /// [`Geometry::fit`].
    pub(super) gap: u64,
    /// The binary logarithm of the starts of a part, where there are parts.
    pub(super) part_bits: u32,
}

impl State for Geometry {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.arity.save("arity", out);
            self.segment.save("segment", out);
            self.starts.save("starts", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let arity = State::load("arity", src)?;
            let (segment, starts) = (State::load("segment", src)?, State::load("starts", src)?);
            let geometry = Self::whole(arity, segment, starts);
            geometry.check()?;
            Ok(geometry)
        })
    }
}

/// The largest segment, 2^18.
const MAX_SEGMENT_BITS: u32 = 18;

/// Segments of a part that may be the first of a key's, 2^7: the two behind them are then one in 65 cells, and all but a few in a
/// thousand parts of 2^14 cells a segment peel at 1.125 cells per key. With 2^6 of them none does.
const PART_BITS: u32 = 7;

/// Keys from which on there are parts, 2^22.
const PARTS_FROM: u64 = 1 << 22;

impl Geometry {
    /// The geometry for `n` keys with `arity` cells each, as the authors' code has it; no cells for no
    /// keys.
    ///
    /// L = 2^⌊ln n/ln 3.33 + 2.25⌋ and n·max(1.125, 0.875 + 0.25·ln 10⁶/ln n) cells for three;
    /// 2^⌊ln n/ln 2.91 − 0.5⌋ and n·max(1.075, 0.77 + 0.305·ln(6·10⁵)/ln n) for four; whole segments, and
    /// at least as many as a key has cells.
    ///
    /// From 2^22 keys on they are in parts, which the authors' are not, and L follows from how rarely two keys have all
    /// cells in common, which never peel: 0.45·n/L² such pairs are expected of three cells, and 16·n ≤ L² keeps them below
    /// 0.03.
    pub fn of(arity: u32, n: u64) -> Self {
        if n == 0 {
            return Self::whole(arity, 1, 0);
        }
        if n >= PARTS_FROM {
            return Self::in_parts(arity, n);
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
        Self::whole(arity, segment, starts.saturating_mul(segment))
    }

    /// The geometry of so many keys that they are in parts: 1.125 or 1.075 cells per key of a part.
    fn in_parts(arity: u32, n: u64) -> Self {
        let bits = (n.ilog2() + 1 + 4).div_ceil(2).min(MAX_SEGMENT_BITS);
        let (segment, later) = (1u64 << bits, u64::from(arity) - 1);
        let factor = if arity == 3 { 1.125 } else { 1.075 };
        let (first, all) = ((1u64 << PART_BITS) as f64, ((1u64 << PART_BITS) + later) as f64);
        let segments = libm::ceil(n as f64 * factor * first / all / segment as f64) as u64;
        Self::whole(arity, segment, segments.saturating_mul(segment)).parted()
    }

    /// All starts in one part.
    fn whole(arity: u32, segment: u64, starts: u64) -> Self {
        Self { arity, segment, starts, gap: 0, part_bits: 0 }
    }

    /// The same starts in parts.
    fn parted(self) -> Self {
        let gap = (u64::from(self.arity) - 1) * self.segment;
        Self { gap, part_bits: self.segment.trailing_zeros() + PART_BITS, ..self }
    }

    /// The geometry of a filter of so many cells: in parts, if it has more than one part would.
    ///
    /// Files say nothing else of it, so that those from before there were parts are what they always were.
    pub(super) fn fit(&mut self, cells: u64) {
        if self.cells() != cells && self.parted().cells() == cells {
            *self = self.parted();
        }
    }

    /// Cells of a part that may be a key's first, but for those that the last part lacks.
    fn part_starts(&self) -> u64 {
        if self.gap == 0 { self.starts } else { 1 << self.part_bits }
    }

    /// Cells of a part, but for those that the last part lacks.
    pub(super) fn part_cells(&self) -> u64 {
        self.part_starts().saturating_add((u64::from(self.arity) - 1) * self.segment)
    }

    /// The first start of every part.
    pub(super) fn parts(&self) -> impl Iterator<Item = usize> {
        (0..self.starts as usize).step_by(self.part_starts().max(1) as usize)
    }

    /// The same cells in segments of half the length.
    ///
    /// Just above the sizes where L doubles there are too few segments for peeling to gain from its two
    /// ends: with 11,455 keys 1 of 15 seeds works, with 12,350 1 of 30, and then with L/2 nearly all.
    ///
    /// Parts stay as they are: they have enough.
    pub(super) fn recut(self) -> Self {
        if self.gap > 0 {
            return self;
        }
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
        let parts = self.starts.div_ceil(self.part_starts().max(1));
        let later = (u64::from(self.arity) - 1).saturating_mul(self.segment);
        self.starts.saturating_add(parts.saturating_mul(later))
    }

    /// Where the upper half of the `cells` of a part begins: with a segment, and with a word whatever the width of cells.
    pub(super) fn middle(&self, cells: usize) -> usize {
        if self.segment < 64 {
            return 0;
        }
        let segment = self.segment as usize;
        cells / segment / 2 * segment
    }

    /// The number of a hash's first cell among those that may be first: the higher the larger the hash.
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
        if self.gap == 0 { self.around_from(0, hash) } else { self.around_parted(hash) }
    }

    /// [`Geometry::around`] where there are parts.
    #[inline(always)]
    pub(super) fn around_parted<const A: usize>(&self, hash: u64) -> [usize; A] {
        let first = self.first(hash);
        self.around_first(first + (first >> self.part_bits) * self.gap as usize, hash)
    }

    /// [`Geometry::around`] of a hash in a part, counted from the first of its cells. Or, if `start` is a later segment of that
    /// part, counted from there: those before it come out as numbers of no cell.
    #[inline]
    pub(super) fn around_from<const A: usize>(&self, start: usize, hash: u64) -> [usize; A] {
        self.around_first(self.first(hash).wrapping_sub(start), hash)
    }

    /// The cells of a hash, of which this is the first.
    #[inline(always)]
    fn around_first<const A: usize>(&self, first: usize, hash: u64) -> [usize; A] {
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
    /// The first lies below the starts, which are whole segments, with a gap for every part before. The others are one and two
    /// segments further, and to change bits below the length of a segment, a power of two, does not lead out of it.
    pub(super) fn is_within(&self, cells: u64) -> bool {
        let whole = self.segment.is_power_of_two() && self.starts & (self.segment - 1) == 0;
        whole && self.starts > 0 && self.cells() <= cells
    }

    pub(super) fn check(&self) -> Result<()> {
        let Self { arity, segment, starts, .. } = *self;
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

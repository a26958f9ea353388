//! Cells that add: a signed count, an xor sum of what they hold and one of its check hashes, as reconciling and
//! key-value filters use them.

use crate::error::Result;
use crate::memory::Words;
use crate::state::{Decoder, Encoder, Role, State};

/// One cell's sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Insertions minus removals.
    pub count: i64,
    /// Xor of the contents: an id, or a key with its value.
    pub content: &'a [u64],
    /// Xor of the contents' check hashes.
    pub check: u64,
}

impl Cell<'_> {
    /// Whether nothing is left in the cell.
    pub fn is_empty(&self) -> bool {
        self.count == 0 && self.check == 0 && self.content.iter().all(|word| *word == 0)
    }
}

/// An array of [`Cell`]s, stored field by field.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    counts: Words,
    /// `width` words per cell.
    contents: Words,
    checks: Words,
    width: usize,
}

impl Sums {
    /// `len` empty cells for contents of `width` words, or an error where there is no room for them.
    pub fn try_new(len: u64, width: u64) -> Result<Self> {
        let zeroed = |len: u64| Words::try_zeroed(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(Self {
            counts: zeroed(len)?,
            contents: zeroed(len.saturating_mul(width))?,
            checks: zeroed(len)?,
            width: width as usize,
        })
    }

    /// Number of cells.
    pub fn len(&self) -> u64 {
        self.counts.len() as u64
    }

    /// Whether there are no cells at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Words per content.
    pub fn width(&self) -> u64 {
        self.width as u64
    }

    /// The cell at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> Cell<'_> {
        let i = i as usize;
        let content = &self.contents[i * self.width..(i + 1) * self.width];
        Cell { count: self.counts[i].cast_signed(), content, check: self.checks[i] }
    }

    /// Adds `count` to the cell at `i` and xors both sums. Counts wrap, so that adding and taking
    /// away are inverse to each other whatever a hostile file holds.
    #[inline]
    pub fn add(&mut self, i: u64, count: i64, content: &[u64], check: u64) {
        let i = i as usize;
        let counts = self.counts.make_mut();
        counts[i] = counts[i].wrapping_add(count.cast_unsigned());
        let sums = &mut self.contents.make_mut()[i * self.width..(i + 1) * self.width];
        sums.iter_mut().zip(content).for_each(|(sum, word)| *sum ^= word);
        self.checks.make_mut()[i] ^= check;
    }

    /// Cell by cell, these sums minus those of an array of the same length and width (or plus, with `sign` 1).
    pub fn combine(&mut self, other: &Sums, sign: i64) {
        for i in 0..self.len() {
            let cell = other.get(i);
            self.add(i, cell.count.wrapping_mul(sign), cell.content, cell.check);
        }
    }

    /// Every cell, in order.
    pub fn iter(&self) -> impl Iterator<Item = Cell<'_>> {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Whether huge pages back the arrays.
    pub fn huge(&self) -> bool {
        self.counts.huge()
    }
}

impl State for Sums {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        let (one, all) = (self.len(), self.contents.len() as u64);
        let role = |words: u64| Role::Cells { bits: words * 64 };
        out.group(name, |out| {
            out.array("counts", role(one), one, &self.counts);
            out.array("ids", role(all), all, &self.contents);
            out.array("checks", role(one), one, &self.checks);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (len, counts) = src.array("counts")?;
            let (all, contents) = src.array("ids")?;
            let (len_checks, checks) = src.array("checks")?;
            let width = contents.len() / counts.len().max(1);
            let whole = len == counts.len() as u64
                && [len_checks, checks.len() as u64] == [len; 2]
                && all == contents.len() as u64
                && contents.len() == counts.len() * width;
            if whole {
                Ok(Self { counts, contents, checks, width })
            } else {
                Err(src.corrupt(format!("{name}: sums of different lengths")))
            }
        })
    }
}

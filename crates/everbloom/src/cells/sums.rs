//! Cells that add: a signed count and two xor sums, as reconciling and key-value filters use them.

use crate::error::Result;
use crate::memory::Words;
use crate::state::{Decoder, Encoder, Role, State};

/// One cell's sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// Insertions minus removals.
    pub count: i64,
    /// Xor of the ids.
    pub id: u64,
    /// Xor of the ids' check hashes.
    pub check: u64,
}

impl Cell {
    /// Whether nothing is left in the cell.
    pub fn is_empty(&self) -> bool {
        *self == Cell::default()
    }
}

/// An array of [`Cell`]s, stored field by field.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    counts: Words,
    ids: Words,
    checks: Words,
}

impl Sums {
    /// `len` empty cells, or an error where there is no room for them.
    pub fn try_new(len: u64) -> Result<Self> {
        let zeroed = || Words::try_zeroed(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(Self { counts: zeroed()?, ids: zeroed()?, checks: zeroed()? })
    }

    /// Number of cells.
    pub fn len(&self) -> u64 {
        self.counts.len() as u64
    }

    /// Whether there are no cells at all.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The cell at `i`.
    #[inline]
    pub fn get(&self, i: u64) -> Cell {
        let i = i as usize;
        Cell { count: self.counts[i].cast_signed(), id: self.ids[i], check: self.checks[i] }
    }

    /// Adds `count` to the cell at `i` and xors both sums. Counts wrap, so that adding and taking
    /// away are inverse to each other whatever a hostile file holds.
    #[inline]
    pub fn add(&mut self, i: u64, count: i64, id: u64, check: u64) {
        let i = i as usize;
        let counts = self.counts.make_mut();
        counts[i] = counts[i].wrapping_add(count.cast_unsigned());
        self.ids.make_mut()[i] ^= id;
        self.checks.make_mut()[i] ^= check;
    }

    /// Cell by cell, these sums minus those of an array of the same length (or plus, with `sign` 1).
    pub fn combine(&mut self, other: &Sums, sign: i64) {
        for i in 0..self.len() {
            let cell = other.get(i);
            self.add(i, cell.count.wrapping_mul(sign), cell.id, cell.check);
        }
    }

    /// Every cell, in order.
    pub fn iter(&self) -> impl Iterator<Item = Cell> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    /// Whether huge pages back the arrays.
    pub fn huge(&self) -> bool {
        self.counts.huge()
    }
}

impl State for Sums {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        let role = Role::Cells { bits: self.len() * 64 };
        out.group(name, |out| {
            out.array("counts", role, self.len(), &self.counts);
            out.array("ids", role, self.len(), &self.ids);
            out.array("checks", role, self.len(), &self.checks);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (len, counts) = src.array("counts")?;
            let (len_ids, ids) = src.array("ids")?;
            let (len_checks, checks) = src.array("checks")?;
            let ok = [len, len_ids, len_checks, ids.len() as u64, checks.len() as u64]
                .iter()
                .all(|&l| l == counts.len() as u64);
            if ok {
                Ok(Self { counts, ids, checks })
            } else {
                Err(src.corrupt(format!("{name}: sums of different lengths")))
            }
        })
    }
}

//! Cells with a set of hash functions for every bit of a code: one array that all sets share, or one for each.

use crate::cells::Counters;
use crate::error::{Error, Result};
use crate::filter::Touched;
use crate::grouping::code::Code;
use crate::grouping::sets::Shape;
use crate::hash::Digest;
use crate::probe::{Probe, Scheme};
use crate::state::state;

/// Codes, and the cells in which they are written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CodeCells {
    pub(super) code: Code,
    /// Of one array.
    pub(super) probe: Probe,
    /// One array, or one for each bit of the code. A bit is a counter that sticks at 1.
    pub(super) cells: Counters,
}

state!(inline CodeCells { code, probe, cells });

impl CodeCells {
    pub(super) fn new(shape: &Shape) -> Result<Self> {
        let cells = Counters::try_new(shape.flat.m * shape.arrays(), shape.width)?;
        Ok(Self { code: shape.code, probe: shape.probe(), cells })
    }

    /// Number of arrays.
    pub(super) fn arrays(&self) -> u64 {
        self.cells.len() / self.probe.m()
    }

    /// Where the cells of code bit `b` begin.
    #[inline]
    fn base(&self, b: u64) -> u64 {
        if self.cells.len() > self.probe.m() { b * self.probe.m() } else { 0 }
    }

    /// Whether all cells of code bit `b` are set.
    #[inline]
    pub(super) fn passes(&self, digest: Digest, b: u64) -> bool {
        let base = self.base(b);
        self.probe.all(digest.salted(b), |i| self.cells.get(base + i) != 0)
    }

    /// Whether all cells of the code of group `g` are set.
    pub(super) fn covers(&self, digest: Digest, g: u64) -> bool {
        let mut all = true;
        self.code.each(g, |b| all = all && self.passes(digest, b));
        all
    }

    /// The cells of every bit of the code.
    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        let mut cells = Vec::new();
        for b in 0..u64::from(self.code.bits) {
            let base = self.base(b);
            self.probe.each(digest.salted(b), |i| {
                let (index, value) = (base + i, self.cells.get(base + i));
                cells.push(Touched { index, value, agrees: value != 0 });
            });
        }
        cells
    }

    /// The code bits whose cells are all set.
    pub(super) fn word(&self, digest: Digest) -> u64 {
        let bits = 0..u64::from(self.code.bits);
        bits.filter(|&b| self.passes(digest, b)).fold(0, |word, b| word | 1 << b)
    }

    /// Writes the code of group `g`; true if one of its cells was zero.
    pub(super) fn insert(&mut self, digest: Digest, g: u64) -> bool {
        let mut new = false;
        for cell in self.cells_of(digest, g) {
            new |= self.cells.get(cell) == 0;
            self.cells.increment(cell);
        }
        new
    }

    /// Takes the code of group `g` away; false, with nothing changed, if a cell holds less than that takes.
    pub(super) fn remove(&mut self, digest: Digest, g: u64) -> bool {
        let mut cells = self.cells_of(digest, g);
        cells.sort_unstable();
        let enough = |run: &[u64]| self.cells.get(run[0]) >= run.len() as u64;
        let there = cells.chunk_by(|a, b| a == b).all(enough);
        if there {
            cells.iter().for_each(|&cell| self.cells.decrement(cell));
        }
        there
    }

    /// How often the key was written with group `g`, as its least cell tells.
    pub(super) fn count(&self, digest: Digest, g: u64) -> u64 {
        let mut cells = self.cells_of(digest, g);
        cells.sort_unstable();
        let share = |run: &[u64]| self.cells.get(run[0]) / run.len() as u64;
        cells.chunk_by(|a, b| a == b).map(share).min().unwrap_or(0)
    }

    /// The cells of a key of group `g`, once per hash.
    fn cells_of(&self, digest: Digest, g: u64) -> Vec<u64> {
        let mut cells = Vec::new();
        self.code.each(g, |b| {
            let base = self.base(b);
            self.probe.each(digest.salted(b), |i| cells.push(base + i));
        });
        cells
    }

    /// P(all cells of a code bit are set by chance), from the real fill: for the one array, or for each.
    pub(super) fn chances(&self) -> Vec<f64> {
        let slices = if self.chunked() { u64::from(self.probe.k()) } else { 1 };
        let len = self.probe.m() / slices;
        let power = if slices > 1 { 1.0 } else { f64::from(self.probe.k()) };
        let share = |start: u64| {
            let used = (start..start + len).filter(|&i| self.cells.get(i) != 0).count();
            libm::pow(used as f64 / len as f64, power)
        };
        let array = |a: u64| (0..slices).map(|s| share((a * slices + s) * len)).product();
        (0..self.arrays()).map(array).collect()
    }

    fn chunked(&self) -> bool {
        self.probe.scheme() == Scheme::Partitioned
    }

    fn check(&self) -> Result<()> {
        if !self.cells.len().is_multiple_of(self.probe.m()) || self.cells.is_empty() {
            return Err(Error::corrupt(0, "corrupt filter: the probes leave their array"));
        }
        if !self.chunked() && !self.probe.is_planned() {
            return Err(Error::corrupt(0, "corrupt filter: a probe scheme that is not its own"));
        }
        Ok(())
    }
}

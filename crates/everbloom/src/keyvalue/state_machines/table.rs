//! Fingerprints with states, in d tables of buckets: each goes to the emptiest of its d buckets, ties to the left.

use crate::cells::{Bits, Packed};
use crate::error::{Error, Kind, Result};
use crate::filter::Touched;
use crate::hash::{Digest, multiply_shift};
use crate::state::state;

/// Tables.
pub(super) const TABLES: u64 = 3;
/// Cells per bucket.
pub(super) const CELLS: u64 = 8;
/// Cells of a bucket that are planned to be in use.
pub(super) const LOAD: u64 = 6;
pub(super) const MAX_PRINT: u32 = 56;

/// Fingerprints, their states (0 for an empty cell), and whether each was touched in this epoch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    prints: Packed,
    states: Packed,
    touched: Bits,
}

state!(Table { prints, states, touched });

impl Table {
    pub(super) fn new(buckets: u64, print: u32, state_bits: u32) -> Result<Self> {
        let cells = buckets.saturating_mul(TABLES * CELLS);
        Ok(Self {
            prints: Packed::try_new(cells, print)?,
            states: Packed::try_new(cells, state_bits)?,
            touched: Bits::try_new(cells)?,
        })
    }

    /// Buckets per table.
    pub(super) fn buckets(&self) -> u64 {
        self.prints.len() / (TABLES * CELLS)
    }

    pub(super) fn print(&self) -> u32 {
        self.prints.width()
    }

    fn print_of(&self, digest: Digest) -> u64 {
        digest.word(0x4143_534D_0000_0000) >> (64 - self.print())
    }

    /// The key's buckets, as the number of the first cell of each.
    fn places(&self, digest: Digest) -> [u64; TABLES as usize] {
        std::array::from_fn(|t| {
            let word = digest.word(0x4143_534D_0000_0001 + t as u64);
            (t as u64 * self.buckets() + multiply_shift(word, self.buckets())) * CELLS
        })
    }

    fn used(&self, first: u64) -> u64 {
        (first..first + CELLS).filter(|&i| self.states.get(i) > 0).count() as u64
    }

    /// The cells that hold the key's fingerprint, with their states.
    pub(super) fn matches(&self, digest: Digest) -> Vec<(u64, u64)> {
        let print = self.print_of(digest);
        let cells = self.places(digest).into_iter().flat_map(|first| first..first + CELLS);
        let held = cells.map(|i| (i, self.states.get(i)));
        held.filter(|(i, state)| *state > 0 && self.prints.get(*i) == print).collect()
    }

    /// The one cell that may be the key's. Refused if there are several: each could be another flow's.
    pub(super) fn only(&self, digest: Digest) -> Result<u64> {
        match self.matches(digest)[..] {
            [(cell, _)] => Ok(cell),
            [] => Err(Error::new(Kind::NotDeletable, "the flow is not in the filter")),
            _ => Err(Error::new(
                Kind::Ambiguous,
                "several entries may belong to this flow: changing one could change another flow",
            )),
        }
    }

    /// Takes a further entry. Refused where all d buckets are full.
    pub(super) fn insert(&mut self, digest: Digest, state: u64) -> Result<()> {
        let places = self.places(digest);
        let emptiest = places.into_iter().min_by_key(|first| self.used(*first)).unwrap_or(0);
        let free = (emptiest..emptiest + CELLS).find(|&i| self.states.get(i) == 0);
        let free = free.ok_or_else(|| {
            let message = "all buckets of the flow are full: build it for more {items}";
            Error::new(Kind::CapacityExceeded, message)
        })?;
        self.prints.set(free, self.print_of(digest));
        self.set(free, state);
        Ok(())
    }

    /// Changes the state of a cell, which touches it; 0 empties it.
    pub(super) fn set(&mut self, cell: u64, state: u64) {
        self.states.set(cell, state);
        if state > 0 {
            self.touched.set(cell);
        } else {
            self.prints.set(cell, 0);
            self.touched.reset(cell);
        }
    }

    pub(super) fn touch(&mut self, digest: Digest) {
        for (cell, _) in self.matches(digest) {
            self.touched.set(cell);
        }
    }

    /// Empties what was not touched in this epoch, and begins the next.
    pub(super) fn sweep(&mut self) {
        for cell in (0..self.states.len()).filter(|&i| !self.touched.get(i)).collect::<Vec<_>>() {
            self.set(cell, 0);
        }
        self.touched.clear();
    }

    pub(super) fn entries(&self) -> u64 {
        self.states.iter().filter(|state| *state > 0).count() as u64
    }

    pub(super) fn fill(&self) -> f64 {
        self.entries() as f64 / self.states.len() as f64
    }

    pub(super) fn trace(&self, digest: Digest) -> Vec<Touched> {
        let matches = self.matches(digest);
        let bucket = |first: u64| Touched {
            index: first / CELLS,
            value: self.used(first),
            agrees: matches.iter().any(|(cell, _)| (first..first + CELLS).contains(cell)),
        };
        self.places(digest).into_iter().map(bucket).collect()
    }

    /// States of a file are those that its labels name.
    pub(super) fn check_states(&self, bits: u32, states: u64) -> Result<()> {
        if self.states.width() == bits && self.states.iter().all(|state| state <= states) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: states without names"))
    }

    fn check(&self) -> Result<()> {
        let cells = self.prints.len();
        let same = [self.states.len(), self.touched.len()] == [cells; 2];
        let whole = cells > 0 && cells.is_multiple_of(TABLES * CELLS);
        if same && whole && self.print() <= MAX_PRINT {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: fingerprints and states do not fit"))
    }
}

/// P(one match) and P(several) for a key that is not there, if it is compared with `compared` fingerprints of
/// `print` bits.
pub(super) fn rates(compared: f64, print: u32) -> (f64, f64) {
    let q = libm::exp2(-f64::from(print));
    let none = libm::exp(compared * libm::log1p(-q));
    let one = (compared * q / (1.0 - q) * none).min(1.0 - none);
    (one, (1.0 - none - one).max(0.0))
}

//! Counters with the states of their flows beside them, for the forms `stateful` and `direct`.

use crate::cells::{Bits, Counters, Packed};
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::parts::tally::Tallies;
use crate::probe::{Coincide, Indices};
use crate::state::state;

/// Counters, the state of each in the form `stateful`, and whether it was touched in this epoch.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    pub(super) tallies: Tallies<Counters>,
    pub(super) codes: Option<Packed>,
    pub(super) touched: Bits,
}

state!(Cells { ..tallies; codes, touched });

impl Cells {
    pub(super) fn indices(&self, digest: Digest) -> Indices {
        self.tallies.probe.collect(digest, Coincide::Distinct)
    }

    /// Adds one to each cell, or takes one off; a cell that becomes empty forgets its state.
    pub(super) fn count(&mut self, cells: &[u64], up: bool) {
        for &i in cells {
            let counters = &mut self.tallies.cells;
            if up {
                counters.increment(i);
                self.touched.set(i);
            } else {
                counters.decrement(i);
            }
            if counters.get(i) == 0 {
                self.forget(i);
            }
        }
    }

    fn forget(&mut self, i: u64) {
        self.tallies.cells.set(i, 0);
        self.touched.reset(i);
        if let Some(codes) = &mut self.codes {
            codes.set(i, 0);
        }
    }

    /// Writes a state into cells that hold it alone, at most `others` counted; elsewhere states that differ become
    /// `unknown`.
    pub(super) fn write(&mut self, cells: &[u64], code: u64, unknown: u64, others: u64) {
        let Some(codes) = &mut self.codes else { return };
        for &i in cells {
            if self.tallies.cells.get(i) <= others {
                codes.set(i, code);
            } else if codes.get(i) != code {
                codes.set(i, unknown);
            }
            self.touched.set(i);
        }
    }

    pub(super) fn sweep(&mut self) {
        for i in (0..self.tallies.m()).filter(|&i| !self.touched.get(i)).collect::<Vec<_>>() {
            self.forget(i);
        }
        self.touched.clear();
    }

    fn check(&self) -> Result<()> {
        let m = self.tallies.m();
        let codes = self.codes.as_ref().is_none_or(|codes| codes.len() == m);
        self.tallies.check_flat()?;
        if codes && self.touched.len() == m {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: counters and states do not fit"))
    }
}

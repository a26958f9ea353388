//! The Bloomjoin (Mackert, Lohman 1986): two tables are joined where one of them is, and only rows that
//! probably have a partner travel.
//!
//! ```text
//!   Left: rows in memory                    Right: rows in a stream
//!        │ ── FILTER: the keys, as .evb ────────▶ │
//!        │ ◀──── ROWS: those that pass ────────── │   as often as it takes
//!        │ ◀──── END ──────────────────────────── │
//!   joins exactly: false positives cost bytes and no rows
//! ```
//!
//! The right side's application hands rows to [`Right::row`] once the filter has come, the left side's
//! takes pairs from [`Left::pairs`] at any time, so neither side holds what it has dealt with. What takes long can be
//! done on other threads: rows are hashed into a [`Keyed`], and [`Right::filter`] is asked anywhere.

mod table;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::{Frame, List, Outbox, Role, items};
use crate::error::{Error, Result};
use crate::filter::{Filter, Record, Verdict};
use crate::membership::BlockedBloom;
pub use table::Keyed;
use table::{Again, Table};

/// Left to right: a filter of the keys.
const FILTER: u8 = 0x20;
/// Right to left: a list of rows.
const ROWS: u8 = 0x21;
/// Right to left: there are no more rows.
const END: u8 = 0x22;

/// The side that holds its rows and gets the result.
#[derive(Clone)]
pub struct Left {
    rows: Table,
    fpr: f64,
    /// Rows that came and are not joined yet, as they came.
    waiting: Vec<Frame>,
    state: State,
    joined: u64,
    in_vain: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Start,
    Rows,
    Done,
}

impl Left {
    /// A table without rows. `fpr` is the share of the other side's rows that may be sent in vain.
    pub fn new(fpr: f64) -> Self {
        Self {
            rows: Table::default(),
            fpr,
            waiting: Vec::new(),
            state: State::Start,
            joined: 0,
            in_vain: 0,
        }
    }

    /// Adds a row, before the exchange begins.
    pub fn insert(&mut self, key: &[u8], row: &[u8]) {
        self.rows.insert(key, row);
    }

    /// Adds rows in their order, before the exchange begins.
    pub fn insert_all(&mut self, rows: &Keyed) {
        self.rows.insert_all(rows, Again::Taken);
    }

    /// Adds those rows whose keys no row has, in their order, before the exchange begins.
    pub fn insert_new(&mut self, rows: &Keyed) {
        self.rows.insert_all(rows, Again::Left);
    }

    /// The keys, each once, in the order in which they came first.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.rows.keys()
    }

    /// The same table with another share of rows that may be sent in vain, before the exchange begins.
    #[must_use]
    pub fn with_rate(mut self, fpr: f64) -> Self {
        self.fpr = fpr;
        self
    }

    /// Calls `f` with every pair of rows, left and right, that have the same key, among the rows that
    /// have come since the last call; `key_of` finds the key in such a row.
    pub fn pairs(
        &mut self,
        key_of: impl Fn(&[u8]) -> Result<Cow<'_, [u8]>>,
        mut f: impl FnMut(&[u8], &[u8]) -> Result<()>,
    ) -> Result<()> {
        for frame in std::mem::take(&mut self.waiting) {
            let mut rows = Vec::new();
            // Rows before one that cannot be read are joined all the same.
            let read = items(&frame, |right| {
                rows.push((right, key_of(right)?));
                Ok(())
            });
            let (joined, in_vain) = (&mut self.joined, &mut self.in_vain);
            self.rows.each_with_rows(&rows, |right, partners| {
                let before = *joined;
                for left in partners {
                    *joined += 1;
                    f(left, right)?;
                }
                *in_vain += u64::from(*joined == before);
                Ok(())
            })?;
            read?;
        }
        Ok(())
    }

    /// Pairs so far.
    pub fn joined(&self) -> u64 {
        self.joined
    }

    /// Rows without a partner that came all the same: false positives of the filter.
    pub fn in_vain(&self) -> u64 {
        self.in_vain
    }
}

impl fmt::Debug for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Left")
            .field("keys", &self.keys().len())
            .field("state", &self.state)
            .finish()
    }
}

impl Role for Left {
    const FRAMES: &'static [u8] = &[ROWS, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != State::Start {
            return Ok(());
        }
        let mut filter = BlockedBloom::with_rate((self.keys().len() as u64).max(1), self.fpr)?;
        let keys: Vec<&[u8]> = self.keys().collect();
        filter.insert_many_parallel(&keys);
        self.state = State::Rows;
        out.filter(FILTER, &filter)
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        if self.state != State::Rows {
            return Err(frame.wrong("nothing was asked for"));
        }
        if frame.kind == ROWS {
            items(&frame, |_| Ok(()))?;
            self.waiting.push(frame);
        } else {
            frame.bare()?;
            self.state = State::Done;
        }
        Ok(())
    }

    fn done(&self) -> bool {
        self.state == State::Done
    }
}

/// The side that sends rows.
#[derive(Debug, Default)]
pub struct Right {
    filter: Option<Arc<dyn Filter>>,
    rows: List,
    ended: bool,
    done: bool,
}

impl Right {
    /// The right side, before the filter has come.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the filter has come, and rows are taken.
    pub fn ready(&self) -> bool {
        self.filter.is_some() && !self.ended
    }

    /// Queues the row if its key passes the filter; whether it is time to send what is queued. An error
    /// before the filter has come.
    pub fn row(&mut self, key: &[u8], row: &[u8]) -> Result<bool> {
        let wanted = self.asked()?.query(Record::key(key))?.verdict != Verdict::Absent;
        Ok(wanted && self.rows.push(row))
    }

    /// The other side's filter, for whoever asks it on other threads and hands the rows that pass to
    /// [`Right::passed`]. An error before it has come.
    pub fn filter(&self) -> Result<Arc<dyn Filter>> {
        self.asked().cloned()
    }

    fn asked(&self) -> Result<&Arc<dyn Filter>> {
        let filter = self.filter.as_ref().filter(|_| !self.ended);
        filter.ok_or_else(|| {
            Error::record("rows are taken after the other side's filter and before the end")
        })
    }

    /// Queues a row whose key passes the filter; whether it is time to send what is queued.
    pub fn passed(&mut self, row: &[u8]) -> bool {
        self.rows.push(row)
    }

    /// Says that there are no more rows.
    pub fn end(&mut self) {
        self.ended = true;
    }
}

impl Role for Right {
    const FRAMES: &'static [u8] = &[FILTER];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        out.list(ROWS, &mut self.rows)?;
        if self.ended && self.filter.take().is_some() {
            self.done = true;
            out.frame(END, &[])?;
        }
        Ok(())
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        if self.filter.is_some() {
            return Err(frame.wrong("a second filter"));
        }
        self.filter = Some(out.opener().decode(&frame.body)?.into());
        Ok(())
    }

    fn done(&self) -> bool {
        self.done
    }
}

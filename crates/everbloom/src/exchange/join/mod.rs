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
//! takes pairs from [`Left::pairs`] at any time, so neither side holds what it has dealt with. What takes long is
//! done on all cores, or can be: rows are hashed into a [`Keyed`] and [`Right::filter`] is asked anywhere,
//! [`Left::insert_all`] fills tables and [`Left::write_pairs`] forms pairs.

mod slots;
mod table;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use super::list::append;
use super::{Due, Frame, List, Outbox, Role, items};
use crate::error::{Error, Result};
use crate::filter::{Filter, Record, Verdict};
use crate::membership::BlockedBloom;
use crate::threads::Cores;
pub use table::Keyed;
use table::{Again, Chain, TOGETHER, Tables};

/// Left to right: a filter of the keys.
const FILTER: u8 = 0x20;
/// Right to left: a list of rows.
const ROWS: u8 = 0x21;
/// Right to left: there are no more rows.
const END: u8 = 0x22;

/// The side that holds its rows and gets the result.
#[derive(Clone)]
pub struct Left {
    rows: Tables,
    fpr: f64,
    /// Rows that came and are not joined yet, as they came; what else may come.
    waiting: Vec<Frame>,
    due: Due,
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
    /// A table without rows. `fpr` is the share of the other side's non-matching rows that may be sent.
    pub fn new(fpr: f64) -> Self {
        Self {
            rows: Tables::default(),
            fpr,
            waiting: Vec::new(),
            due: Due::new(u64::MAX, u64::MAX),
            state: State::Start,
            joined: 0,
            in_vain: 0,
        }
    }

    /// Adds a row, before the exchange begins.
    pub fn insert(&mut self, key: &[u8], row: &[u8]) {
        self.rows.insert(key, row);
    }

    /// Adds the rows of all blocks in their order, before the exchange begins.
    pub fn insert_all(&mut self, blocks: &[Keyed]) {
        self.rows.insert_all(blocks, Again::Taken);
    }

    /// Adds those rows of all blocks whose keys no row has, in their order, before the exchange begins.
    pub fn insert_new(&mut self, blocks: &[Keyed]) {
        self.rows.insert_all(blocks, Again::Left);
    }

    /// The keys, each once.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.rows.keys()
    }

    /// The number of keys.
    pub fn distinct(&self) -> u64 {
        self.rows.len() as u64
    }

    /// The same table with another share of non-matching rows that may be sent; call it before the exchange begins.
    #[must_use]
    pub fn with_rate(mut self, fpr: f64) -> Self {
        self.fpr = fpr;
        self
    }

    /// The same table, where no more may be sent than the other side has announced: so many rows, and so many bytes of
    /// all of them, a line each.
    #[must_use]
    pub fn announced(mut self, rows: u64, bytes: u64) -> Self {
        self.due = Due::new(rows, bytes);
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
            let mut pairs = Pairs::of(&frame, &self.rows, &key_of);
            let done = pairs.try_for_each(|(left, right)| f(left, right));
            pairs.end(&mut self.joined, &mut self.in_vain, done)?;
        }
        Ok(())
    }

    /// The same on all cores: `form` appends what a pair becomes to a text, on any of them, and `write` gets the texts,
    /// in order, on this one.
    pub fn write_pairs(
        &mut self,
        key_of: impl Fn(&[u8]) -> Result<Cow<'_, [u8]>> + Sync,
        form: impl Fn(&mut Vec<u8>, &[u8], &[u8]) + Sync,
        mut write: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let (frames, rows) = (std::mem::take(&mut self.waiting), &self.rows);
        let mut texts: Vec<_> = frames.iter().map(|frame| (frame, None, Vec::new())).collect();
        let bytes = frames.iter().map(|frame| frame.body.len()).sum();
        Cores::for_items(bytes, WORTH_A_THREAD).each(&mut texts, |_, (frame, pairs, text)| {
            pairs.insert(Pairs::of(frame, rows, &key_of)).form(text, &form);
        });
        for (_, pairs, mut text) in texts {
            let Some(mut pairs) = pairs else { continue };
            let mut done = write(&text);
            // Pairs beyond a text's length.
            while done.is_ok() && pairs.form(&mut text, &form) {
                done = write(&text);
            }
            pairs.end(&mut self.joined, &mut self.in_vain, done)?;
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
        f.debug_struct("Left").field("keys", &self.distinct()).field("state", &self.state).finish()
    }
}

impl Role for Left {
    const FRAMES: &'static [u8] = &[ROWS, END];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if self.state != State::Start {
            return Ok(());
        }
        let mut filter = BlockedBloom::with_rate(self.distinct().max(1), self.fpr)?;
        self.rows.fill(&mut filter);
        self.state = State::Rows;
        out.filter(FILTER, &filter)
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        match (self.state, head.kind) {
            (State::Rows, ROWS) => Ok(self.due.room()),
            (State::Rows, _) => Ok(0),
            _ => Err(head.wrong("nothing was requested")),
        }
    }

    fn hear(&mut self, frame: Frame, _: &mut Outbox) -> Result<()> {
        if frame.kind == ROWS {
            items(&frame, |row| self.due.take(&frame, row))?;
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

/// Bytes of rows that are worth a thread.
const WORTH_A_THREAD: usize = 64 << 10;

/// A text is full from here on: a key that many rows have on both sides makes pairs without end.
const FULL: usize = 1 << 20;

/// The pairs of rows that have the same key, right ones of a frame, that are still to come.
struct Pairs<'a> {
    tables: &'a Tables,
    /// Rows of the frame, and how many of them have been looked for.
    rows: Vec<(&'a [u8], Cow<'a, [u8]>)>,
    found: usize,
    /// Those whose partners come next, the first one last.
    next: Vec<(&'a [u8], Chain<'a>)>,
    joined: u64,
    in_vain: u64,
    /// Whether all rows of the frame could be read. Those before one that cannot are joined all the same.
    read: Result<()>,
}

impl<'a> Pairs<'a> {
    fn of(
        frame: &'a Frame,
        tables: &'a Tables,
        key_of: &impl Fn(&[u8]) -> Result<Cow<'_, [u8]>>,
    ) -> Self {
        let mut rows = Vec::new();
        let read = items(frame, |right| {
            rows.push((right, key_of(right)?));
            Ok(())
        });
        Self { tables, rows, found: 0, next: Vec::new(), joined: 0, in_vain: 0, read }
    }

    /// Fills a text with what pairs become; whether it has any.
    fn form(&mut self, text: &mut Vec<u8>, form: impl Fn(&mut Vec<u8>, &[u8], &[u8])) -> bool {
        let before = self.joined;
        text.clear();
        while text.len() < FULL
            && let Some((left, right)) = self.next()
        {
            form(text, left, right);
        }
        self.joined > before
    }

    /// Counts the pairs that came, and says how they ended.
    fn end(self, joined: &mut u64, in_vain: &mut u64, done: Result<()>) -> Result<()> {
        *joined += self.joined;
        *in_vain += self.in_vain;
        done.and(self.read)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((right, partners)) = self.next.last_mut() {
                if let Some(left) = partners.next() {
                    self.joined += 1;
                    return Some((left, right));
                }
                self.next.pop();
                continue;
            }
            let rows = &self.rows[self.found..];
            let rows = &rows[..rows.len().min(TOGETHER)];
            if rows.is_empty() {
                return None;
            }
            self.found += rows.len();
            self.next = self.tables.rows_of(rows);
            self.next.reverse();
            self.in_vain += self.next.iter().filter(|(_, rows)| rows.is_empty()).count() as u64;
        }
    }
}

/// Rows that have passed the filter, gathered on any thread.
#[derive(Clone, Debug, Default)]
pub struct Rows(Vec<u8>);

impl Rows {
    /// Adds a row.
    pub fn push(&mut self, row: &[u8]) {
        append(&mut self.0, row);
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.0.clear();
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

    /// Queues the row if its key passes the filter; whether it is time to send what is queued, of which what fills no frame
    /// waits for further rows or [`Right::end`]. An error before the filter has come.
    pub fn row(&mut self, key: &[u8], row: &[u8]) -> Result<bool> {
        let wanted = self.asked()?.query(Record::key(key))?.verdict != Verdict::Absent;
        Ok(wanted && self.rows.push(row))
    }

    /// The other side's filter, to query it on other threads and hand the rows that pass to [`Right::passed`]. An
    /// error before it has arrived.
    pub fn filter(&self) -> Result<Arc<dyn Filter>> {
        self.asked().cloned()
    }

    fn asked(&self) -> Result<&Arc<dyn Filter>> {
        let filter = self.filter.as_ref().filter(|_| !self.ended);
        filter.ok_or_else(|| {
            Error::record("rows are taken after the other side's filter and before the end")
        })
    }

    /// Queues rows whose keys pass the filter; whether it is time to send what is queued.
    pub fn passed<'r>(&mut self, rows: impl IntoIterator<Item = &'r Rows>) -> bool {
        rows.into_iter().map(|rows| self.rows.push_list(&rows.0)).last() == Some(true)
    }

    /// Says that there are no more rows.
    pub fn end(&mut self) {
        self.ended = true;
    }
}

impl Role for Right {
    const FRAMES: &'static [u8] = &[FILTER];

    fn speak(&mut self, out: &mut Outbox) -> Result<()> {
        if !self.ended {
            return out.list_so_far(ROWS, &mut self.rows);
        }
        out.list(ROWS, &mut self.rows)?;
        if self.filter.take().is_some() {
            self.done = true;
            out.frame(END, &[])?;
        }
        Ok(())
    }

    fn room(&self, head: &Frame) -> Result<u64> {
        match self.filter {
            Some(_) => Err(head.wrong("a second filter")),
            None => Ok(u64::MAX),
        }
    }

    fn hear(&mut self, frame: Frame, out: &mut Outbox) -> Result<()> {
        self.filter = Some(out.opener().decode(&frame.body)?.into());
        Ok(())
    }

    fn done(&self) -> bool {
        self.done
    }
}

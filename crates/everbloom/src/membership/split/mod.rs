//! The split Bloom filter, SPBF (Xiao, Dai, Li 2004; catalogue I19; S0 §III-P).
//!
//! For a set of unknown size up to an estimated maximum: s rows of m bits, all there from the start.
//!
//! ```text
//!   hashed: row = h(x)            sequential: rows fill one after the other
//!     row 1  0 1 0 0 1 0 …          row 1  1 1 0 1 1 0 …   full
//!     row 2  1 0 0 1 0 1 …  ◀ x     row 2  0 1 0 0 1 0 …   ◀ inserted here
//!     row 3  0 0 1 0 0 1 …          row 3  0 0 0 0 0 0 …
//! ```
//!
//! S0 does not say how a row is chosen, so both ways are here. `hashed` (the default) touches one row:
//! f = Σ Bin(n, i; 1/s)·f_row(i), slightly above a single filter of s·m bits, since rows fill unevenly.
//! `sequential` looks into every row: f = 1 − Π(1 − f_row), s times that of one row; in return a filter that is
//! far from its maximum has only touched its first rows.
//!
//! s is constant: adding rows is the dynamic Bloom filter (and would, in `hashed`, send keys to other rows
//! than those they are in). When the rate exceeds its bound the matrix is rebuilt, larger, from the keys:
//! [`Split::exceeded`] says when, [`Split::rebuilt`] does it.
//!
//! **Use it** for independent rows: one lock, one memory bank or one machine each. **Don't** for accuracy, where
//! one filter with all the bits is better (`bloom`), or if the keys are gone by the time the set has outgrown its
//! estimate (`scalable`).

mod shape;

use shape::{HASHED, MAX_ROWS, SEQUENTIAL};
pub use shape::{Shape, hashed_rate, sequential_rate};

use crate::error::agree;
use crate::parts::layers::any_shared;
use crate::parts::row::Row;
use crate::plan::MAX_CELLS;
use crate::probe::{Probe, multiply_shift};
use crate::variant::prelude::*;

/// The salt of the row: beyond the probes, which use the words 0..k.
const ROW: u64 = 1 << 32;

/// A set in s rows of m bits.
///
/// ```
/// let mut seen = everbloom::membership::Split::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple") && !seen.contains("pear"));
/// assert!(!seen.exceeded());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    head: Head,
    /// Keys that a sequential row takes before the next one begins.
    capacity: u64,
    /// Of one row.
    probe: Probe,
    rows: Vec<Row>,
}

state!(Split { head, capacity, probe, rows });

impl Split {
    /// `rows` rows of `m` bits and `k` probes, chosen by hash.
    pub fn hashed(rows: u64, m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape::new(HASHED, rows, Flat { m, k }, 1)?;
        Self::empty(&shape, Head::new(hasher, HASHED))
    }

    /// `rows` rows of `m` bits and `k` probes, filled one after the other with `capacity` keys each.
    pub fn sequential(rows: u64, m: u64, k: u32, capacity: u64, hasher: Hasher) -> Result<Self> {
        let shape = Shape::new(SEQUENTIAL, rows, Flat { m, k }, capacity)?;
        Self::empty(&shape, Head::new(hasher, SEQUENTIAL))
    }

    /// The row of a key, if its hash decides.
    #[inline]
    fn row_of(&self, digest: Digest) -> Option<usize> {
        let row = || multiply_shift(digest.word(ROW), self.rows.len() as u64) as usize;
        (self.head.form == HASHED).then(row)
    }

    /// The first row that is not full; the last one takes whatever comes.
    fn next_row(&self) -> usize {
        let room = |row: &Row| row.items < self.capacity;
        self.rows.iter().position(room).unwrap_or(self.rows.len() - 1)
    }

    /// Inserts a key. Beyond the estimated maximum rows take more than planned, and the rate rises: see
    /// [`Split::exceeded`].
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let at = self.row_of(digest).unwrap_or_else(|| self.next_row());
        let (row, mut new) = (&mut self.rows[at], false);
        self.probe.each(digest, |i| new |= row.bits.set(i));
        row.items = row.items.saturating_add(1);
        self.head.count(1);
        Seen::new_if(new)
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.head.hasher.digest(key);
        let has = |row: &Row| self.probe.all(digest, |i| row.bits.get(i));
        match self.row_of(digest) {
            Some(row) => has(&self.rows[row]),
            None => self.rows.iter().any(has),
        }
    }

    /// Insertions into every row.
    pub fn row_items(&self) -> impl Iterator<Item = u64> {
        self.rows.iter().map(|row| row.items)
    }

    /// Share of ones in every row.
    pub fn row_fills(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().map(|row| row.bits.fill())
    }

    fn rate(&self) -> f64 {
        let rates = self.row_fills().map(|fill| libm::pow(fill, self.probe.k().into()));
        match self.head.form {
            HASHED => rates.sum::<f64>() / self.rows.len() as f64,
            _ => {
                let bit = |(j, row): (u32, &Row), i: u64| u64::from(row.bits.get(i)) << j;
                let set = |i: u64| (0..).zip(&self.rows).fold(0, |mask, row| mask | bit(row, i));
                let shared = any_shared(self.probe.m(), self.probe.k(), self.rows.len(), set);
                shared.unwrap_or_else(|| sequential_rate(rates))
            }
        }
    }

    /// Whether the rate, as estimated from the fill, is above the bound the filter was planned for: time
    /// to rebuild. Chance alone moves the rate of a full filter by a few percent, so that counts as above.
    pub fn exceeded(&self) -> bool {
        self.head.fpr.is_some_and(|bound| self.rate() > 1.05 * bound)
    }

    /// The filter for twice as many keys, with as many rows of twice the bits, built from the keys: rows
    /// cannot be enlarged without them.
    pub fn rebuilt<K: Key>(&self, keys: impl IntoIterator<Item = K>) -> Result<Split> {
        let m = self.probe.m().saturating_mul(2);
        let capacity = self.capacity.saturating_mul(2);
        let flat = Flat { m, k: self.probe.k() };
        let shape = Shape::new(self.head.form, self.rows.len() as u64, flat, capacity)?;
        let mut larger = Self::empty(&shape, Head { items: 0, ..self.head.clone() })?;
        larger.extend(keys);
        Ok(larger)
    }

    fn check(&self) -> Result<()> {
        let fits = (1..=MAX_ROWS).contains(&(self.rows.len() as u64))
            && self.capacity > 0
            && self.probe.is_planned()
            && self.rows.iter().all(|row| row.bits.len() == self.probe.m());
        if fits { Ok(()) } else { Err(Error::corrupt(0, "corrupt filter: rows do not fit")) }
    }
}

shaped!(Split);

impl Stream for Split {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let rows = (0..shape.rows).map(|_| Row::blank(m)).collect::<Result<_>>()?;
        Ok(Self { head, capacity: shape.capacity, probe: Probe::over(m, k), rows })
    }
}

face!(Split: Insert, Merge);
planned!(Split);

impl Filter for Split {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.row_fills().sum::<f64>() / self.rows.len() as f64)
    }

    fn now(&self) -> Rates {
        Rates::one_sided(self.rate())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("rows", self.rows.len() as u64),
            fact("m", self.probe.m()),
            fact("k", self.probe.k()),
            fact("most keys in a row", self.row_items().max().unwrap_or(0)),
            text("rebuild", if self.exceeded() { "due" } else { "not needed" }),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        let rows = match self.row_of(digest) {
            Some(row) => row..row + 1,
            None => 0..self.rows.len(),
        };
        let mut cells = Vec::new();
        for row in rows {
            let bits = &self.rows[row].bits;
            self.probe.each(digest, |i| {
                let value = u64::from(bits.get(i));
                let index = row as u64 * bits.len() + i;
                cells.push(Touched { index, value, agrees: value != 0 });
            });
        }
        cells
    }
}

keyed!(Split: Insert);

impl Merge for Split {
    fn law(&self) -> MergeLaw {
        MergeLaw::Set
    }

    /// Row by row: a key is in the same row of both. Rows that fill in sequence hold what came when.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Split = other.as_same()?;
        self.head.agree(&other.head)?;
        agree("rows", self.rows.len(), other.rows.len())?;
        self.probe.agree(&other.probe)?;
        if self.head.form != HASHED {
            return Err(Error::unsupported("rows that fill in sequence cannot be merged"));
        }
        self.head.items = 0;
        for (row, theirs) in self.rows.iter_mut().zip(&other.rows) {
            row.union(theirs, self.probe.k());
            self.head.count(row.items);
        }
        Ok(())
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Split>(Facts {
    id: 42,
    slug: "split",
    entry: "I19",
    question: "Is it in the set, on several machines or under several locks?",
    name: "Split Bloom filter",
    paper: "M. Xiao, Y. Dai, X. Li, Split Bloom filter, Acta Electronica Sinica 32(2), 2004",
    family: "membership",
    needs: &["membership", "merge", "parallel"],
    meaning: "items are the maximum number of keys; the rate is the false-positive rate with all of them",
    forms: &[
        Form::exact(HASHED, &[Ability::Insert, Ability::Merge]),
        Form::exact(SEQUENTIAL, &[Ability::Insert]),
    ],
    params: &[
        Param::integer("rows", 1, MAX_ROWS, "rows of the matrix; fixed").or(Preset::Integer(4)),
        Param::integer("m", 1, MAX_CELLS, "bits per row"),
        PARAM_K,
    ],
    ..Facts::FILTER
});

//! The invertible counting Bloom filter (catalogue §2; S3 §VI-A).
//!
//! Two parties hold large *multisets* that differ in little: elements that only one side has, and common ones of which
//! they have different numbers. Each puts its multiset into m cells; one subtracts the other's from its own, and
//! what is left is read back.
//!
//! ```text
//!   sums:   cell = Σμ · Σμ·id · Σμ·check(id)        A − B  │ 3   3x   3·check(x) │     3 | 3x, and x's check fits:
//!                                                                                      A has x three times more
//!   xor:    cell = Σμ · ⊕id, each id once           A − B  │ 5  x │ −2  0 │            x from A's table; who is −2?
//! ```
//!
//! Form `sums`: a cell whose sum of ids is a multiple of its count, and whose checks agree, holds one id. Both kinds of
//! difference peel off in one pass, without knowing the elements. A cell has 320 bits.
//!
//! Form `xor`, as published: an id enters the xor once, however often it comes (per copy, every even number would
//! cancel). Both sides keep an exact table of ids and multiplicities, which tells side and number of an id that is
//! read; the cell's count cannot, since a common element may have shifted it. Then, in a second step, cells with
//! only a count are matched with the common elements that they can be of. That is best effort: opposite
//! differences cancel, and what was not found is reported as residue. A cell has 128 bits, the table as many per element.
//!
//! Decoding is governed by the number of *distinct* elements that differ, not by copies: 1.22 cells each for k = 3, 1.29
//! for k = 4, and some more for small differences.
//!
//! **Slow:** the form `xor` looks every id up in an exact table beside its cells.
//!
//! **Use it** to reconcile multisets: stocks, logs, counters. **Don't** for sets (`invertible` has smaller cells), nor for
//! membership alone.

mod cells;

use cells::{Cells, cell_bits};

pub use crate::filter::Differences;

use crate::filter::Difference;
use crate::parts::exact::Exact;
use crate::parts::sum_cells::{form, param_k};
use crate::parts::times_of;
use crate::plan::MAX_CELLS;
use crate::theory::bloom as theory;
use crate::theory::peeling::cells_for;
use crate::variant::prelude::*;

/// Salts of what derives from a key's digest (the id) and from the id's (its check): beyond the probes.
const ID: u64 = 1;
const CHECK: u64 = 1 << 32;

/// A multiset in cells that can be subtracted from another's and read back. It is planned for the distinct elements in
/// which two multisets differ, and for the share of all cases in which they fail to decode.
///
/// ```
/// use everbloom::reconciling::InvertibleCounting;
///
/// let mut ours = InvertibleCounting::with_rate(10, 0.01)?;
/// let mut theirs = ours.clone();
/// for (key, here, there) in [("apple", 3, 3), ("fig", 5, 2), ("pear", 0, 1)] {
///     ours.insert_times(key, here)?;
///     theirs.insert_times(key, there)?;
/// }
/// ours.subtract(&theirs)?;
/// let differences = ours.decode()?;
/// assert_eq!(differences.ids.len(), 2);
/// assert!(differences.ids.contains(&(ours.id("fig"), 3)));
/// assert!(differences.ids.contains(&(ours.id("pear"), -1)));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InvertibleCounting {
    head: Head,
    cells: Cells,
    /// How often each id is there, of the xor form.
    table: Exact,
    /// The same of the other side, once it is subtracted.
    theirs: Exact,
}

state!(InvertibleCounting { head, cells, table, theirs });

/// An id as a key of a table.
fn entry(id: u64) -> Digest {
    Digest { h1: id, h2: 0 }
}

impl InvertibleCounting {
    /// A filter of `cells` cells in `k` segments (3 to 7) of ⌊cells/k⌋.
    pub fn with_shape(cells: u64, k: u32, form: &str, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("form", form).set("m", cells).set("k", k))
    }

    fn check(&self) -> Result<()> {
        let tables = [&self.table, &self.theirs];
        let held = |table: &&Exact| table.iter().all(|(key, _)| key.h1 != 0 && key.h2 == 0);
        let ok = self.cells.sums() == self.sums()
            && (!self.sums() || tables.iter().all(|table| table.is_empty()))
            && tables.iter().all(held);
        if ok {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: not the cells of its form"))
        }
    }

    fn sums(&self) -> bool {
        self.head.form == SUMS
    }

    /// The id under which a key is held; never 0, which no xor would show.
    pub fn id<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.head.hasher.digest(key).word(ID).max(1)
    }

    /// The digest of an id, from which its cells and its check derive: all that a decoder has of a key is the id.
    fn locate(&self, id: u64) -> Digest {
        self.head.hasher.digest(&id)
    }

    /// Inserts a key, again if already present.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        self.insert_times(key, 1)
    }

    /// Inserts `times` copies of a key. Refused if that is more than a count can hold.
    pub fn insert_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<Seen> {
        self.insert_id(self.id(key), times)
    }

    fn insert_id(&mut self, id: u64, times: u64) -> Result<Seen> {
        let held = self.table.get(entry(id));
        let sum = held.checked_add(times).filter(|sum| *sum <= MOST_TIMES);
        let (Some(sum), Ok(by)) = (sum, i64::try_from(times)) else {
            return Err(Error::record("too many copies for the count of a cell"));
        };
        if times == 0 {
            return Ok(Seen::Maybe);
        }
        let new = self.cells.add(self.locate(id), id, by, held == 0);
        if !self.sums() {
            self.table.set(entry(id), sum);
        }
        self.head.count(times);
        Ok(Seen::new_if(new))
    }

    /// Removes a copy of a key; see [`InvertibleCounting::remove_times`].
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.remove_times(key, 1)
    }

    /// Removes `times` copies of a key. The xor form refuses what its table does not hold; the form of sums goes below zero,
    /// which is what a difference is made of.
    pub fn remove_times<K: Key + ?Sized>(&mut self, key: &K, times: u64) -> Result<()> {
        let id = self.id(key);
        let held = self.table.get(entry(id));
        let Ok(by) = i64::try_from(times) else {
            return Err(Error::record("too many copies for the count of a cell"));
        };
        if !self.sums() && held < times {
            let message = "the key is not in the filter that often, according to its table";
            return Err(Error::new(Kind::NotDeletable, message));
        }
        self.cells.add(self.locate(id), id, -by, held == times);
        if !self.sums() {
            self.table.set(entry(id), held - times);
        }
        self.head.items = self.head.items.saturating_sub(times);
        Ok(())
    }

    /// Whether the key may be a member: whether none of its cells is empty.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        let digest = self.locate(self.id(key));
        self.cells.probe.all(digest, |i| !self.cells.is_empty(i))
    }

    /// How often the key was inserted, at most: the least count in its cells.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let mut least = i64::MAX;
        self.cells
            .probe
            .each(self.locate(self.id(key)), |i| least = least.min(self.cells.count(i)));
        least.max(0).cast_unsigned()
    }

    /// Subtracts the other side's cells; the xor form keeps its table, too, to ask it for ids that only it has. Elements
    /// that both have equally often leave both tables: nothing of them is in the cells.
    pub fn subtract(&mut self, other: &InvertibleCounting) -> Result<()> {
        self.agree(other)?;
        self.cells.combine(&other.cells, -1);
        self.theirs = other.table.clone();
        let alike: Vec<Digest> = self
            .table
            .iter()
            .filter(|(id, times)| self.theirs.get(*id) == *times)
            .map(|(id, _)| id)
            .collect();
        for id in alike {
            self.table.set(id, 0);
            self.theirs.set(id, 0);
        }
        self.head.items = self.head.items.saturating_sub(other.head.items);
        Ok(())
    }

    fn agree(&self, other: &InvertibleCounting) -> Result<()> {
        self.head.agree(&other.head)?;
        self.cells.probe.agree(&other.cells.probe)
    }

    /// Lists what is left after subtraction, everything or an error; of the xor form, all that only one side has.
    pub fn decode(&self) -> Result<Differences> {
        self.decode_with(|id| self.theirs.get(entry(id)))
    }

    /// [`InvertibleCounting::decode`] where the other side is asked how often it holds an id, instead of sending its table;
    /// 0 if it does not.
    pub fn decode_with(&self, theirs: impl Fn(u64) -> u64) -> Result<Differences> {
        let mut cells = self.cells.clone();
        let sides = |id: u64| match (self.table.get(entry(id)), theirs(id)) {
            (ours, 0) => ours.cast_signed(),
            (0, theirs) => theirs.cast_signed().wrapping_neg(),
            // On both sides: what looks like this id is a mixture of others.
            _ => 0,
        };
        let hasher = &self.head.hasher;
        let mut ids = cells.peel(hasher, &sides).ok_or_else(|| self.undecodable())?;
        if !self.sums() {
            let common = self.table.iter().map(|(key, _)| key.h1).filter(|id| theirs(*id) > 0);
            ids.extend(cells.settle(hasher, common));
        }
        let left = cells.used(0..cells.len());
        let counts = (0..cells.len()).filter(|i| cells.count(*i) != 0).count() as u64;
        // A cell whose xor is left holds ids that nobody told; one with only a count is residue.
        ids.sort_unstable();
        let twice = ids.windows(2).any(|pair| pair[0].0 == pair[1].0);
        if twice || left > 0 && self.sums() || cells.xors() {
            return Err(self.undecodable());
        }
        Ok(Differences { ids, residue: counts })
    }

    fn undecodable(&self) -> Error {
        let message = format!(
            "{} cells are too few for the difference: retry with twice the cells, on both sides",
            self.cells.len()
        );
        Error::new(Kind::Undecodable, message)
    }
}

/// Cells per segment, segments, form, and the rate of failed decodes planned for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    slice: u64,
    k: u32,
    sums: bool,
    rate: Option<f64>,
}

impl Shape {
    fn bits(&self) -> u64 {
        self.slice.saturating_mul(u64::from(self.k)).saturating_mul(cell_bits(self.sums))
    }
}

impl Plan for InvertibleCounting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k = request.whole("k") as u32;
        let sums = request.form() == SUMS;
        let shape = if let Some(m) = request.integer(PARAM_M.name) {
            Shape { slice: (m / u64::from(k)).max(1), k, sums, rate: None }
        } else {
            let slice = |d, p| (cells_for(d, p, k) / f64::from(k)).ceil();
            let cells = |d, p| slice(d, p) * f64::from(k) * cell_bits(sums) as f64;
            let bits = |d, p| cells(d, p) + table_bits(sums, d) as f64;
            let (d, p) = request.items_and_rate(bits)?;
            Shape { slice: slice(d, p).min(MAX_CELLS as f64) as u64, k, sums, rate: Some(p) }
        };
        if shape.bits() > request.goal_bits().unwrap_or(MAX_CELLS).min(MAX_CELLS) {
            return Err(Error::parameter(
                "so many cells do not fit: plan for the difference, not for the multisets",
            ));
        }
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (slice, k, n) = (shape.slice as f64, f64::from(shape.k), load.distinct as f64);
        let fill = (theory::fill(slice, n), theory::fill_sd(slice, n) / k.sqrt());
        let fpr = theory::fpr_partitioned(slice, n, k);
        Some(Expect::one_sided(fpr, shape.bits(), Some(fill)).probing(shape.k))
    }

    fn beside(_request: &Request<'_>, shape: &Shape, load: &Load) -> u64 {
        table_bits(shape.sums, load.distinct)
    }
}

/// Bits of the exact table of `n` distinct elements, of the form `xor`.
fn table_bits(sums: bool, n: u64) -> u64 {
    if sums { 0 } else { Exact::bits_of(n) }
}

impl Stream for InvertibleCounting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        // The target is a rate of failed decodes, which only the plan knows.
        let head = Head { fpr: shape.rate, ..head };
        let cells = Cells::new(shape.slice, shape.k, shape.sums)?;
        Ok(Self { head, cells, table: Exact::default(), theirs: Exact::default() })
    }
}

face!(InvertibleCounting: Insert, Remove, Count, Merge, Reconcile);
planned!(
    InvertibleCounting:
    "A filter that decodes a difference of `items` distinct elements, and fails to in a share of `fpr` of all cases."
);
keyed!(InvertibleCounting: Count);

impl Insert for InvertibleCounting {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        self.insert_times(record.key, times_of(&record)?)
    }
}

impl Remove for InvertibleCounting {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        self.remove_times(record.key, times_of(&record)?)
    }
}

impl Merge for InvertibleCounting {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Self = other.as_same()?;
        self.agree(other)?;
        if self.sums() {
            self.cells.combine(&other.cells, 1);
            self.head.count(other.head.items);
            return Ok(());
        }
        // The xor of an id that both hold would cancel: the table tells.
        let mut merged = self.clone();
        for (id, times) in other.table.iter() {
            merged.insert_id(id.h1, times)?;
        }
        *self = merged;
        Ok(())
    }
}

impl Reconcile for InvertibleCounting {
    fn minus(&self, other: &dyn Filter) -> Result<Box<dyn Filter>> {
        let mut difference = self.clone();
        difference.subtract(other.as_same()?)?;
        Ok(Box::new(difference))
    }

    /// Ids of which this side has more, and the other side; all of them, or an error.
    fn decode(&self) -> Result<Difference> {
        let Differences { ids, residue } = InvertibleCounting::decode(self)?;
        if residue > 0 {
            return Err(self.undecodable());
        }
        let (ours, theirs): (Vec<_>, Vec<_>) = ids.into_iter().partition(|(_, more)| *more > 0);
        let ids = |side: Vec<(u64, i64)>| side.into_iter().map(|(id, _)| id).collect();
        Ok(Difference { ours: ids(ours), theirs: ids(theirs) })
    }

    fn differences(&self) -> Result<Differences> {
        InvertibleCounting::decode(self)
    }

    fn estimate(&self) -> Result<u64> {
        Ok(InvertibleCounting::decode(self)?.ids.len() as u64)
    }

    fn id_of(&self, key: &[u8]) -> u64 {
        self.id(key)
    }
}

impl Filter for InvertibleCounting {
    /// The value beside the key is its count, as in a build, and does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::in_difference(self.contains(record.key), self.count(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.cells.used(0..self.cells.len()) as f64 / self.cells.len() as f64)
    }

    fn now(&self) -> Rates {
        let k = u64::from(self.cells.probe.k());
        let slice = self.cells.len() / k;
        let used = |j: u64| self.cells.used(j * slice..(j + 1) * slice) as f64 / slice as f64;
        Rates::one_sided((0..k).map(used).product())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.cells.len()), fact("k", self.cells.probe.k())]
    }

    /// A cell's value is its count.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let mut touched = Vec::new();
        self.cells.probe.each(self.locate(self.id(key)), |index| {
            let value = self.cells.count(index).unsigned_abs();
            touched.push(Touched { index, value, agrees: !self.cells.is_empty(index) });
        });
        touched
    }
}

const XOR: &str = "xor";
const SUMS: &str = "sums";
/// No multiplicity is larger: counts have a sign.
const MOST_TIMES: u64 = i64::MAX.unsigned_abs();

const CONDITION: &str = "only copies that were inserted are removed or subtracted";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<InvertibleCounting>(Facts {
    id: 60,
    slug: "invertible-counting",
    entry: "§2",
    question: "How do two multisets of ids differ?",
    name: "Invertible counting Bloom filter",
    paper: "S3 §VI-A and its reference 20; sums with checks after D. Eppstein, M. T. Goodrich, F. Uyeda, G. Varghese, \
            What's the difference?, SIGCOMM 2011",
    family: "reconciling",
    needs: &["membership", "delete", "count", "merge", "reconcile"],
    input: Input::valued(ValueKind::Count),
    meaning: "items are the distinct elements in which two multisets differ to plan for, and copies when counted; \
              the rate is that of failed decodes",
    forms: &[form(SUMS, CONDITION), form(XOR, CONDITION)],
    params: &[PARAM_M, param_k("number of segments, one cell per key in each", 4)],
    reach: 1_000_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn cells_of_another_form_are_refused() {
        for form in [SUMS, XOR] {
            let mut filter =
                InvertibleCounting::with_shape(40, 4, form, Hasher::default()).unwrap();
            filter.insert_times("key", 7).unwrap();
            let back: InvertibleCounting = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            let other = if form == SUMS { XOR } else { SUMS };
            let head = Head { form: other, ..filter.head.clone() };
            assert!(
                Opener::new().decode(&to_bytes(&InvertibleCounting { head, ..filter })).is_err()
            );
        }
    }

    /// An id in only one of its cells: taking it out puts it into the others, and so on for ever.
    #[test]
    fn cells_that_no_difference_leaves_end_in_an_error() {
        let honest = InvertibleCounting::with_shape(40, 4, SUMS, Hasher::default()).unwrap();
        let digest = honest.locate(7);
        let mut lone = Cells::new(10, 4, true).unwrap();
        lone.add(digest, 7, 1, true);
        let mut forged = honest.clone();
        // The same id twice over in all cells but one.
        forged.cells = lone;
        let twin = honest.locate(9);
        forged.cells.add(twin, 7, 1, true);
        assert_eq!(forged.decode().map_err(|e| e.kind()), Err(Kind::Undecodable));
    }
}

//! One small trait per ability beyond answering queries.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Answer, Counted, Filter, Head, Record, Seen};
use crate::error::{Error, Result};
use crate::hash::Digest;

/// Takes further keys.
pub trait Insert {
    /// Inserts a record; a refused one leaves the filter as it was.
    fn insert(&mut self, record: Record<'_>) -> Result<Seen>;

    /// Inserts every record it can, and writes what each insertion found, or why it was refused; `seen` is
    /// as long as `records`.
    fn insert_many(&mut self, records: &[Record<'_>], seen: &mut [Result<Seen>]) {
        for (record, seen) in records.iter().zip(seen) {
            *seen = self.insert(*record);
        }
    }

    /// Inserts records up to the first that is refused; says which one that was.
    fn insert_all(&mut self, records: &[Record<'_>]) -> std::result::Result<(), (usize, Error)> {
        for (i, record) in records.iter().enumerate() {
            self.insert(*record).map_err(|e| (i, e))?;
        }
        Ok(())
    }
}

/// Answers digests, many at a time: filters that use only the digest of a key. Many keys may then be hashed
/// elsewhere, for instance on several cores.
pub trait Bulk: Sync {
    /// Writes for each digest whether its key may be a member; `found` is as long as `digests`.
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]);
}

/// Takes digests, many at a time, in any order.
pub trait BulkInsert {
    /// Inserts keys by their digests.
    fn insert_digests(&mut self, digests: &[Digest]);

    /// Lends the cells to several threads that insert at the same time; the filter becomes the same as if one
    /// had inserted all. `None` where only one may.
    fn lend(&mut self) -> Option<Lent<'_>> {
        None
    }
}

/// Cells that several threads insert into.
pub trait LentCells: Sync {
    /// Inserts keys by their digests: thousands at a time, since threads may wait for each other.
    fn insert(&self, digests: &[Digest]);
}

/// A filter lent to several threads; its items are counted when it is given back.
pub struct Lent<'a> {
    cells: Box<dyn LentCells + 'a>,
    inserted: AtomicU64,
    head: &'a mut Head,
}

impl<'a> Lent<'a> {
    pub(crate) fn new(cells: Box<dyn LentCells + 'a>, head: &'a mut Head) -> Self {
        Self { cells, inserted: AtomicU64::new(0), head }
    }

    /// Inserts keys by their digests.
    pub fn insert_digests(&self, digests: &[Digest]) {
        self.cells.insert(digests);
        self.inserted.fetch_add(digests.len() as u64, Ordering::Relaxed);
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        self.head.count(*self.inserted.get_mut());
    }
}

/// Removes keys.
pub trait Remove {
    /// Removes a record that was inserted; a refused removal leaves the filter as it was.
    fn remove(&mut self, record: Record<'_>) -> Result<()>;
}

/// Estimates multiplicities.
pub trait Count {
    /// How often the key was inserted, as far as the filter can tell.
    fn count(&self, key: &[u8]) -> Counted;

    /// The true counts of distinct keys that are all there are, for filters that decode them together. `None` where nothing
    /// is decoded, or a key is missing.
    fn count_all(&self, _keys: &[&[u8]]) -> Option<Vec<u64>> {
        None
    }
}

/// Holds a value per key.
pub trait Lookup {
    /// The key's value; `None` for a key that is certainly not a member.
    fn get(&self, key: &[u8]) -> Option<Vec<u8>>;
}

/// Holds a value per key that can be changed.
pub trait Assign {
    /// Changes a member's value.
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()>;
}

/// Forgets with time. Time passes only by explicit ticks.
pub trait Age {
    /// Lets `ticks` units of time pass.
    fn age(&mut self, ticks: u64);
}

/// What combining two filters means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeLaw {
    /// The filter of the union; merging twice changes nothing.
    Set,
    /// The filter of the multiset sum.
    Multiset,
    /// The filter of the union of two sets that share no key.
    Disjoint,
}

/// Combines with a filter of the same variant, shape, hash and seed.
pub trait Merge {
    /// What the result holds.
    fn law(&self) -> MergeLaw;

    /// Takes the other filter in; a filter that does not fit is refused and the difference named.
    fn merge(&mut self, other: &dyn Filter) -> Result<()>;
}

/// Keeps what another filter of the same shape holds, too.
pub trait Intersect {
    /// Keeps what both filters hold: every common key passes, and a few others.
    fn intersect(&mut self, other: &dyn Filter) -> Result<()>;

    /// The number of distinct keys in both filters; `None` if one is too full to estimate.
    fn intersection_size(&self, other: &dyn Filter) -> Result<Option<f64>>;
}

/// Is made smaller without its keys.
pub trait Fold {
    /// The filter at half the size: same keys, a higher rate.
    fn fold(&self) -> Result<Box<dyn Filter>>;
}

/// Tells how many different keys are inside.
pub trait Estimate {
    /// The number of distinct keys, estimated from the cells; `None` for a filter too full to estimate.
    fn cardinality(&self) -> Option<f64>;
}

/// Lists what is inside.
pub trait List {
    /// Calls `f` with what can be read back, as answers about keys: pairs of a table, the top of a stream.
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()>;
}

/// The two sides of a set difference, as 64-bit ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Ids only this side has.
    pub ours: Vec<u64>,
    /// Ids only the other side has.
    pub theirs: Vec<u64>,
}

/// What two multisets do not share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Ids with how many more of them this side has; below zero, the other side.
    pub ids: Vec<(u64, i64)>,
    /// Cells in which differences are left that nobody can tell: some in multiplicity are missing.
    pub residue: u64,
}

/// Tells what two sets do not share.
pub trait Reconcile {
    /// The filter of what this one holds and the other side's does not, and the other way around.
    fn minus(&self, other: &dyn Filter) -> Result<Box<dyn Filter>>;

    /// Lists what is left after subtraction; an error if it is more than the cells can carry.
    fn decode(&self) -> Result<Difference>;

    /// [`Reconcile::decode`] with how often each id is there; once in a set.
    fn differences(&self) -> Result<Differences> {
        let Difference { ours, theirs } = self.decode()?;
        let times = |ids: Vec<u64>, times: i64| ids.into_iter().map(move |id| (id, times));
        let ids = times(ours, 1).chain(times(theirs, -1)).collect();
        Ok(Differences { ids, residue: 0 })
    }

    /// Estimates how many ids are left after subtraction.
    fn estimate(&self) -> Result<u64>;

    /// The id under which a key is held.
    fn id_of(&self, key: &[u8]) -> u64;
}

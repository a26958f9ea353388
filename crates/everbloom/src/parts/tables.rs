//! Tables of fingerprints, one behind another (catalogue B10): when the newest refuses a key, another is appended.
//!
//! Every table finds a fingerprint in the same way, and an entry can be moved without its key. So entries are
//! interchangeable wherever they are: a removal takes any that matches, a list in which much was removed is
//! compacted, and two lists are merged by putting them one behind the other.

use std::cmp::Reverse;

use crate::cells::Slots;
use crate::error::{Error, Kind, Result};
use crate::filter::{Answer, Counted, Fact, Head, Headed, Part, Rates, Touched, fact, real};
use crate::hash::Digest;
use crate::parts::SumPart;
use crate::parts::fingerprints::{Outcome, TablePart};
use crate::state::{Decoder, Encoder, Inline, State};

/// A table of fingerprints that refuses what it has no room for.
pub(crate) trait FingerprintTable: Part + Clone + State + Inline {
    /// What several of them are called.
    const LIST: &'static str;
    /// The form of a filter that may have several, beside one that has a single table.
    const GROWING: &'static str;
    /// A fingerprint, and what is known of its buckets in every table of a list.
    type Place: Copy;

    /// Where a key belongs.
    fn find(&self, digest: Digest) -> Self::Place;
    /// Where an entry of a bucket belongs.
    fn find_entry(&self, bucket: u64, fingerprint: u64) -> Self::Place;
    /// Whether the fingerprint is there.
    fn holds(&self, place: Self::Place) -> bool;
    /// How often it is there.
    fn copies(&self, place: Self::Place) -> u64;
    /// Puts it into a free slot of its buckets, if there is one.
    fn settle(&mut self, place: Self::Place) -> bool;
    /// Puts it into one of its buckets, moving others if it must; false, with nothing changed, if no room was
    /// found.
    fn place(&mut self, place: Self::Place) -> bool;
    /// Takes it out of its buckets once; false if it is in none.
    fn take(&mut self, place: Self::Place) -> bool;
    /// Why it found no room.
    fn full(&self, place: Self::Place) -> Error;
    /// The slots.
    fn slots(&self) -> &Slots;
    /// The slots, to empty some.
    fn slots_mut(&mut self) -> &mut Slots;
    /// An empty table of the same shape.
    fn empty(&self) -> Result<Self>;
    /// Refuses a table that cannot be in one list with this one.
    fn agree(&self, other: &Self) -> Result<()>;
    /// P(a non-member passes) one of several tables.
    fn fpr(tables: &[Self]) -> f64;
    /// Writes for each digest whether its key may be a member.
    fn contains_all(&self, digests: &[Digest], found: &mut [bool]);
    /// Prefetches the buckets of keys that are inserted next, where the table is large.
    fn prefetch(&self, _digests: &[Digest]) {}
}

/// The refusal of a removal that can be seen to be wrong.
pub(crate) fn missing() -> Error {
    Error::new(
        Kind::NotDeletable,
        "the key is not in the filter: none of its buckets holds its fingerprint",
    )
}

/// One table, or as many as the keys take.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables<T> {
    /// The newest is last, and there is one.
    pub(crate) tables: Vec<T>,
    /// Whether another is appended when the newest refuses a key.
    grows: bool,
}

/// More tables than anybody would look through.
const MAX_TABLES: usize = 1 << 16;
/// Keys whose buckets are prefetched before the first is inserted.
const AHEAD: usize = 64;

impl<T: FingerprintTable> Tables<T> {
    pub(crate) fn new(first: T, grows: bool) -> Self {
        Self { tables: vec![first], grows }
    }

    fn first(&self) -> &T {
        &self.tables[0]
    }

    /// Number of fingerprints, which is that of insertions less removals.
    pub(crate) fn used(&self) -> u64 {
        self.tables.iter().map(|table| table.slots().used()).sum()
    }

    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        let place = self.first().find(digest);
        self.tables.iter().any(|table| table.holds(place))
    }

    /// How often the key was inserted; too high by the keys that share its fingerprint.
    pub(crate) fn count(&self, digest: Digest) -> Counted {
        let place = self.first().find(digest);
        Counted::about(self.tables.iter().map(|table| table.copies(place)).sum())
    }

    /// Removes a key; refused if its fingerprint is in none of its buckets.
    pub(crate) fn remove(&mut self, digest: Digest) -> Result<()> {
        let place = self.first().find(digest);
        // The newest first: it is the one that takes insertions.
        let taken = self.tables.iter_mut().rev().any(|table| table.take(place));
        if taken { Ok(()) } else { Err(missing()) }
    }

    pub(crate) fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        let Some((first, others)) = self.tables.split_first() else { return };
        first.contains_all(digests, found);
        let mut more = vec![false; if others.is_empty() { 0 } else { found.len() }];
        for table in others {
            table.contains_all(digests, &mut more);
            found.iter_mut().zip(&more).for_each(|(found, more)| *found |= more);
        }
    }

    /// Fullest first; the sparsest, emptied as far as entries fit elsewhere without a kick, is dropped if
    /// nothing is left in it. Then the next sparsest.
    pub(crate) fn compact(&mut self) {
        let used = |table: &T| Reverse(table.slots().used());
        self.tables.sort_by_cached_key(used);
        for from in (1..self.tables.len()).rev() {
            let (fuller, sparse) = self.tables.split_at_mut(from);
            let sparse = &mut sparse[0];
            let entries: Vec<(u64, u64)> = sparse.slots().entries().collect();
            for (bucket, fingerprint) in entries {
                let place = sparse.find_entry(bucket, fingerprint);
                if fuller.iter_mut().any(|table| table.settle(place))
                    && let Some(slot) = sparse.slots().find(bucket, fingerprint)
                {
                    sparse.slots_mut().set(bucket, slot, 0);
                }
            }
        }
        // The first is the fullest: if it is empty, it is all that stays.
        let mut first = true;
        self.tables.retain(|table| std::mem::take(&mut first) || table.slots().used() > 0);
        self.tables.sort_by_cached_key(used);
    }

    /// Puts the entries of the sparsest table into the next, moving others if it must; nothing changes if they
    /// do not all fit.
    fn join_last(&mut self) {
        let [.., next, sparsest] = &self.tables[..] else { return };
        if next.slots().used() + sparsest.slots().used() > next.slots().len() {
            return;
        }
        let mut joined = next.clone();
        let place = |(bucket, fingerprint)| joined.place(sparsest.find_entry(bucket, fingerprint));
        if sparsest.slots().entries().all(place) {
            self.tables.pop();
            self.tables.pop();
            self.tables.push(joined);
        }
    }
}

impl<T: FingerprintTable> TablePart for Tables<T> {
    fn insert(&mut self, digest: Digest) -> Result<bool> {
        let place = self.first().find(digest);
        let new = !self.tables.iter().any(|table| table.holds(place));
        if self.tables.last_mut().is_some_and(|newest| newest.place(place)) {
            return Ok(new);
        }
        if !self.grows {
            return Err(self.first().full(place));
        }
        let most = format!(
            "the list has {MAX_TABLES} filters: build it for more {{items}}, so that each is larger"
        );
        room_for(self.tables.len() + 1, most)?;
        let mut next = self.first().empty()?;
        next.place(place);
        self.tables.push(next);
        Ok(new)
    }

    fn insert_all(&mut self, digests: &[Digest]) -> Outcome {
        for (start, digests) in digests.chunks(AHEAD).enumerate() {
            self.tables.iter().for_each(|table| table.prefetch(digests));
            for (i, digest) in digests.iter().enumerate() {
                self.insert(*digest).map_err(|e| (start * AHEAD + i, e))?;
            }
        }
        Ok(())
    }
}

impl<T: FingerprintTable> SumPart for Tables<T> {
    /// Refuses a list of other tables, and names the difference; and one that is too long together with this.
    fn agree(&self, other: &Self) -> Result<()> {
        self.first().agree(other.first())?;
        let together = self.tables.len() + other.tables.len();
        room_for(together, format!("together the lists have more than {MAX_TABLES} filters"))
    }

    /// Both lists one behind the other, compacted, and the last two tables joined if their entries fit one.
    fn add(&mut self, other: &Self) {
        self.tables.extend(other.tables.iter().cloned());
        self.compact();
        self.join_last();
    }
}

fn room_for(tables: usize, message: String) -> Result<()> {
    let many = || Error::new(Kind::CapacityExceeded, message);
    (tables <= MAX_TABLES).then_some(()).ok_or_else(many)
}

/// A single one is written as if it were in no list.
impl<T: FingerprintTable> Headed for Tables<T> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        if self.grows {
            Inline::save_fields(self, out);
        } else {
            self.first().save_fields(out);
        }
    }

    fn load_fields(head: &Head, src: &mut Decoder<'_>) -> Result<Self> {
        if head.form == T::GROWING {
            Inline::load_fields(src)
        } else {
            Ok(Self::new(T::load_fields(src)?, false))
        }
    }
}

impl<T: FingerprintTable> Inline for Tables<T> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.tables.save(T::LIST, out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let tables: Vec<T> = Vec::load(T::LIST, src)?;
        let Some(first) = tables.first() else {
            return Err(src.corrupt("a list without a filter"));
        };
        let alike = tables.iter().all(|table| first.agree(table).is_ok());
        if alike && tables.len() <= MAX_TABLES {
            Ok(Self { tables, grows: true })
        } else {
            Err(src.corrupt("filters that differ in their shape"))
        }
    }
}

impl<T: FingerprintTable> Part for Tables<T> {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    fn fill(&self) -> f64 {
        let slots: u64 = self.tables.iter().map(|table| table.slots().len()).sum();
        self.used() as f64 / slots as f64
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(T::fpr(&self.tables))
    }

    /// What the first says, and how many there are if there may be several.
    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.first().describe();
        if self.grows {
            facts.retain(|fact| fact.name != "load");
            facts.push(fact(T::LIST, self.tables.len() as u64));
            facts.push(real("load", self.fill()));
        }
        facts
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        self.tables.iter().flat_map(|table| table.trace(digest)).collect()
    }
}

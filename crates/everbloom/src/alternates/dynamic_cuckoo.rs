//! The dynamic cuckoo filter (Chen, Liao, Jin, Wu 2017; catalogue B10; S3 §IX).
//!
//! A list of equal cuckoo filters. A key is inserted into the newest; when that one refuses, another is
//! appended. Queries go through all of them:
//!
//! ```text
//!   ┌──────────┐  ┌──────────┐  ┌──────────┐
//!   │ ████████ │  │ ████████ │  │ ██       │ ◀── insertions
//!   └──────────┘  └──────────┘  └──────────┘
//!     any of them holds φ in bucket i or i ⊕ hash(φ): a member
//! ```
//!
//! All filters have the same buckets and fingerprints, so that entries are interchangeable: a removal takes any
//! one that matches. Bucket and fingerprint are enough to move an entry, so a list in which much was removed is
//! compacted without its keys: the entries of the sparsest filter move to free slots of the fuller ones, and a
//! filter that is empty is dropped. Two lists are merged by putting them one behind the other.
//!
//! **Use it** for sets that grow and shrink, when memory has to follow. **Don't** plan for many filters: s of them
//! let s times as many non-members pass, 1 − (1 − f)^s. An absent key that passes takes a member with it when it
//! is removed, with that probability.

use crate::cells::Layout;
use crate::error::agree;
use crate::parts::cuckoo_table::{CuckooTable, Mixed, missing};
use crate::parts::fingerprints;
use crate::plan::cuckoo::{Buckets, PARAM_BUCKETS, PARAM_FINGERPRINT, PARAM_KICKS, PARAM_SLOTS};
use crate::state::{Decoder, Encoder, Inline, State};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A multiset of fingerprints in as many equal tables as it takes.
///
/// ```
/// let mut sessions = everbloom::alternates::DynamicCuckoo::with_rate(100, 0.01)?;
/// for session in 0..1000u64 {
///     sessions.insert(&session)?;
/// }
/// assert!(sessions.filters() > 5);
/// for session in 50..1000u64 {
///     sessions.remove(&session)?;
/// }
/// sessions.compact();
/// assert!(sessions.filters() <= 2);
/// assert!(sessions.contains(&7u64));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicCuckoo {
    head: Head,
    list: List,
}

state!(plain DynamicCuckoo { head, ..list });

impl DynamicCuckoo {
    /// Filters of `buckets` buckets each, a power of two, with four slots of `fingerprint` bits (2 to 56).
    pub fn with_shape(buckets: u64, fingerprint: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("buckets", buckets).set("fingerprint", fingerprint))
    }

    /// Number of filters in the list.
    pub fn filters(&self) -> usize {
        self.list.tables.len()
    }

    /// Entries in each filter, the newest last.
    pub fn entries(&self) -> Vec<u64> {
        self.list.tables.iter().map(|table| table.slots.used()).collect()
    }

    /// Moves entries of sparse filters to free slots of fuller ones, and drops filters that are empty then. One
    /// stays, and the sparsest takes the next insertions.
    pub fn compact(&mut self) {
        self.list.compact();
    }
}

/// Tables of one shape.
#[derive(Clone, Debug, PartialEq)]
struct List {
    tables: Vec<CuckooTable<Mixed>>,
}

/// More tables than anybody would look through.
const MAX_FILTERS: usize = 1 << 16;

impl List {
    fn first(&self) -> &CuckooTable<Mixed> {
        &self.tables[0]
    }

    fn contains(&self, digest: Digest) -> bool {
        let places = self.first().places(digest);
        self.tables.iter().any(|t| t.slots.either(places.first, places.second, places.fingerprint))
    }

    fn count(&self, digest: Digest) -> Counted {
        let places = self.first().places(digest);
        Counted::about(self.tables.iter().map(|table| table.copies(places)).sum())
    }

    fn insert(&mut self, digest: Digest) -> Result<bool> {
        let (new, places) = (!self.contains(digest), self.first().places(digest));
        if self.tables.last_mut().is_some_and(|newest| newest.place(places)) {
            return Ok(new);
        }
        if self.tables.len() >= MAX_FILTERS {
            let message = format!(
                "the list has {MAX_FILTERS} filters: build it for more {{items}}, so that each is larger"
            );
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        let mut next = self.first().empty()?;
        next.place(places);
        self.tables.push(next);
        Ok(new)
    }

    fn remove(&mut self, digest: Digest) -> Result<()> {
        let places = self.first().places(digest);
        // The newest first: it is the one that takes insertions.
        let taken = self.tables.iter_mut().rev().any(|table| table.take(places));
        if taken { Ok(()) } else { Err(missing()) }
    }

    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        let Some((first, others)) = self.tables.split_first() else { return };
        first.contains_all(digests, found);
        let mut more = vec![false; if others.is_empty() { 0 } else { found.len() }];
        for table in others {
            table.contains_all(digests, &mut more);
            found.iter_mut().zip(&more).for_each(|(found, more)| *found |= more);
        }
    }

    fn insert_all(&mut self, digests: &[Digest]) -> std::result::Result<(), (usize, Error)> {
        let mut insert =
            |(i, digest): (usize, &Digest)| self.insert(*digest).map(drop).map_err(|e| (i, e));
        digests.iter().enumerate().try_for_each(&mut insert)
    }

    /// Fullest first; the sparsest, emptied as far as entries fit elsewhere without a kick, is dropped if
    /// nothing is left in it. Then the next sparsest.
    fn compact(&mut self) {
        let used = |table: &CuckooTable<Mixed>| std::cmp::Reverse(table.slots.used());
        self.tables.sort_by_cached_key(used);
        for from in (1..self.tables.len()).rev() {
            let (fuller, sparse) = self.tables.split_at_mut(from);
            let sparse = &mut sparse[0];
            let entries: Vec<(u64, u64)> = sparse.slots.entries().collect();
            for (bucket, fingerprint) in entries {
                let places = sparse.places_of(bucket, fingerprint);
                if fuller.iter_mut().any(|table| table.settle(places))
                    && let Some(slot) = sparse.slots.find(bucket, fingerprint)
                {
                    sparse.slots.set(bucket, slot, 0);
                }
            }
        }
        // The first is the fullest: if it is empty, it is all that stays.
        let mut first = true;
        self.tables.retain(|table| std::mem::take(&mut first) || table.slots.used() > 0);
        self.tables.sort_by_cached_key(used);
    }

    /// Puts the entries of the sparsest filter into the next, moving others if it must; nothing changes if they
    /// do not all fit.
    fn join_last(&mut self) {
        let [.., next, sparsest] = &self.tables[..] else { return };
        if next.slots.used() + sparsest.slots.used() > next.slots.len() {
            return;
        }
        let mut joined = next.clone();
        let place = |(bucket, fingerprint)| joined.place(joined.places_of(bucket, fingerprint));
        if sparsest.slots.entries().all(place) {
            self.tables.pop();
            self.tables.pop();
            self.tables.push(joined);
        }
    }

    fn fpr(&self) -> f64 {
        1.0 - self.tables.iter().map(|table| 1.0 - table.fpr()).product::<f64>()
    }
}

impl Inline for List {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.tables.save("filters", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let tables: Vec<CuckooTable<Mixed>> = Vec::load("filters", src)?;
        let shape = |t: &CuckooTable<Mixed>| {
            (t.slots.buckets(), t.slots.room(), t.slots.width(), t.slots.layout(), t.kicks())
        };
        let Some(first) = tables.first().map(shape) else {
            return Err(src.corrupt("a list without a filter"));
        };
        let alike = tables.iter().all(|table| shape(table) == first);
        if alike && first.3 == Layout::Plain && tables.len() <= MAX_FILTERS {
            Ok(Self { tables })
        } else {
            Err(src.corrupt("filters that differ in their shape"))
        }
    }
}

impl Part for List {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    fn fill(&self) -> f64 {
        let fills: f64 = self.tables.iter().map(Part::fill).sum();
        fills / self.tables.len() as f64
    }

    /// 1 − Π(1 − f) over all filters.
    fn rates(&self) -> Rates {
        Rates::one_sided(self.fpr())
    }

    fn describe(&self) -> Vec<Fact> {
        let first = self.first();
        vec![
            fact("buckets", first.slots.buckets()),
            fact("slots", first.slots.room()),
            fact("fingerprint", first.slots.width()),
            fact("kicks", first.kicks()),
            fact("filters", self.tables.len() as u64),
            real("load", self.fill()),
        ]
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        self.tables.iter().flat_map(|table| table.trace(digest)).collect()
    }
}

/// The shape of every filter.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    each: Buckets,
}

impl Plan for DynamicCuckoo {
    type Shape = Shape;

    const HASH: HashId = HashId::Quick64;

    fn hash(shape: &Shape) -> HashId {
        if shape.each.narrow() { Self::HASH } else { HashId::Xxh3_128 }
    }

    /// Each of the filters asked for takes its share of the items, at its share of the rate.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let filters = request.whole("filters");
        let each =
            Buckets::plan_shared(request, filters, Layout::Plain, |slots, _| theory::load(slots))?;
        Ok(Shape { each })
    }

    /// With as many filters as the items fill to the load they are planned for.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (each, n) = (shape.each, load.items as f64);
        let most = theory::load(each.slots) * each.len();
        let filters = (n / most).ceil().max(1.0);
        let fill = n / (filters * each.len());
        let one = theory::fpr_of_table(each.fingerprint, each.slots, fill);
        let fpr = -libm::expm1(filters * libm::log1p(-one));
        // Filters fill a little further than that, so that there may be one fewer.
        let sd = if filters > 1.0 { fill / filters } else { 0.0 };
        let bits = (filters * each.bits() as f64) as u64;
        Some(Expect::one_sided(fpr, bits, Some((fill, sd))))
    }
}

impl Stream for DynamicCuckoo {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, list: List { tables: vec![CuckooTable::new(&shape.each)?] } })
    }
}

face!(DynamicCuckoo: Insert, Remove, Count, Merge, Bulk);
planned!(DynamicCuckoo);
fingerprints!(DynamicCuckoo: list);

impl Merge for DynamicCuckoo {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    /// The lists one behind the other, compacted, and the last two filters joined if their entries fit one.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Self = other.as_same()?;
        self.head.agree(&other.head)?;
        let (ours, theirs) = (self.list.first(), other.list.first());
        agree("buckets", ours.slots.buckets(), theirs.slots.buckets())?;
        agree("slots", ours.slots.room(), theirs.slots.room())?;
        agree("fingerprint", ours.slots.width(), theirs.slots.width())?;
        agree("kicks", ours.kicks(), theirs.kicks())?;
        if self.filters() + other.filters() > MAX_FILTERS {
            let message = format!("together the lists have more than {MAX_FILTERS} filters");
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        self.list.tables.extend(other.list.tables.iter().cloned());
        self.list.compact();
        self.list.join_last();
        self.head.count(other.head.items);
        Ok(())
    }
}

by_part!(DynamicCuckoo: list);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DynamicCuckoo>(Facts {
    id: 106,
    slug: "dynamic-cuckoo",
    entry: "B10",
    name: "Dynamic cuckoo filter",
    paper: "H. Chen, L. Liao, H. Jin, J. Wu, The dynamic cuckoo filter, ICNP 2017",
    family: "alternates",
    needs: &["membership", "delete", "count", "grow", "merge", "compact"],
    forms: &[Form::removing(
        "standard",
        &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
    )],
    params: &[
        PARAM_BUCKETS,
        PARAM_SLOTS,
        PARAM_FINGERPRINT,
        PARAM_KICKS,
        Param::integer(
            "filters",
            1,
            1024,
            "filters over which the items asked for are spread: the list can shrink to one of them",
        )
        .or(Preset::Integer(1)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn lists_of_unequal_filters_are_refused() {
        let mut filter = DynamicCuckoo::with_shape(16, 8, Hasher::default()).unwrap();
        (0..200u64).for_each(|key| _ = filter.insert(&key).unwrap());
        let back: DynamicCuckoo = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let other = DynamicCuckoo::with_shape(32, 8, Hasher::default()).unwrap();
        let mut unequal = filter.clone();
        unequal.list.tables.push(other.list.tables[0].clone());
        assert!(Opener::new().decode(&to_bytes(&unequal)).is_err());
        unequal.list.tables.clear();
        assert!(Opener::new().decode(&to_bytes(&unequal)).is_err());
    }
}

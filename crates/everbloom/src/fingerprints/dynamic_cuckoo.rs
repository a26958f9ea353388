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
//! have s times the false-positive rate, 1 − (1 − f)^s. Removing an absent key that passes also removes a member,
//! with that probability.

use crate::cells::Layout;
use crate::filter::{Bulk, altered};
use crate::parts::cuckoo_table::{CuckooTable, Mixed, check_plain};
use crate::parts::tables::Tables;
use crate::parts::{fingerprints, methods, owns};
use crate::plan::cuckoo::{
    Buckets, PARAM_BUCKETS, PARAM_FILTERS, PARAM_FINGERPRINT, PARAM_KICKS, PARAM_SLOTS,
};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A multiset of fingerprints in as many equal tables as it takes.
///
/// ```
/// let mut sessions = everbloom::fingerprints::DynamicCuckoo::with_rate(100, 0.01)?;
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
    list: Tables<CuckooTable<Mixed>>,
}

state!(DynamicCuckoo { head, ..list });

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

    /// Inserts a key, again if already present. Refused, with nothing changed, if the list has as many filters as it
    /// may have.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        fingerprints::insert(self, key)
    }

    /// Inserts a slice of keys, in order, up to the first that is refused: faster than one by one if the filter is larger
    /// than the cache.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        fingerprints::insert_many(self, keys)
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.list.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: one copy of its fingerprint, from the newest filter that has it. Refused, with
    /// nothing changed, if none of its buckets holds it. A non-member that passes cannot be told from a member:
    /// removing it removes a member with the same fingerprint.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.list.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while only
    /// members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.list.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        check_plain(&self.list)
    }
}

impl Plan for DynamicCuckoo {
    /// The shape of every filter.
    type Shape = Buckets;

    const HASH: HashId = HashId::Quick64;

    fn hash(each: &Buckets) -> HashId {
        if each.narrow() { Self::HASH } else { HashId::Xxh3_128 }
    }

    /// Each of the filters asked for takes its share of the items, at its share of the rate.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let filters = request.whole("filters");
        Buckets::plan_shared(request, filters, Layout::Plain, |slots, _| theory::load(slots))
    }

    /// With as many filters as the items fill to the load they are planned for.
    fn expect(each: &Buckets, load: &Load) -> Option<Expect> {
        Some(each.expect_list(load, theory::load(each.slots)))
    }
}

impl Stream for DynamicCuckoo {
    fn empty(each: &Buckets, head: Head) -> Result<Self> {
        Ok(Self { head, list: Tables::new(CuckooTable::new(each)?, true) })
    }
}

face!(DynamicCuckoo: Insert, Remove, Count, Merge, Bulk);
planned!(DynamicCuckoo);
owns!(DynamicCuckoo { list: Tables<CuckooTable<Mixed>> });
methods!(DynamicCuckoo: insert_if_absent, contains_many, contains_many_into, contains_iter);
keyed!(DynamicCuckoo: Remove);

impl Count for DynamicCuckoo {
    fn count(&self, key: &[u8]) -> Counted {
        self.list.count(self.head.hasher.digest(key))
    }
}

impl Bulk for DynamicCuckoo {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.list.contains_all(digests, found);
    }
}

by_part!(DynamicCuckoo: list);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DynamicCuckoo>(Facts {
    id: 106,
    slug: "dynamic-cuckoo",
    entry: "B10",
    question: "Is it in a set of unknown size, when keys are removed again and space is scarce?",
    name: "Dynamic cuckoo filter",
    paper: "H. Chen, L. Liao, H. Jin, J. Wu, The dynamic cuckoo filter, ICNP 2017",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "grow", "merge", "compact"],
    forms: &[Form::removing(
        "standard",
        &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
    )],
    operations: &[change!(
        DynamicCuckoo,
        "compact",
        "Move fingerprints out of sparse tables, and drop those that become empty.",
        [],
        [],
        |filter, _| altered(filter, DynamicCuckoo::compact)
    )],
    params: &[
        PARAM_BUCKETS,
        PARAM_SLOTS,
        PARAM_FINGERPRINT,
        PARAM_KICKS,
        PARAM_FILTERS.or(Preset::Integer(1)),
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

//! The simplified cuckoo filter (Eppstein 2016; catalogue B8; S3 §IX).
//!
//! As `cuckoo`, but the two buckets of a key differ by its fingerprint itself, i₂ = i₁ ⊕ φ. That saves a hash of φ
//! with every kick and query, and cuts the table into independent groups: φ has f bits, so that an entry stays
//! among the 2^f buckets whose numbers agree above the lowest f bits.
//!
//! ```text
//!   buckets  0 … 2^f − 1   │   2^f … 2·2^f − 1   │   …          x: i₁ = 01·2c, φ = 35
//!            ───────────   │   ───────────────   │                 i₂ = 01·19 in the same group
//!              group 0     │       group 1       │
//! ```
//!
//! Each group is a small cuckoo filter of its own, for which guarantees can be proved. But groups get
//! more keys than others by chance, and the fullest refuses first: with 2^18 buckets of four slots at a load of
//! 0.95 for 12 bits, 0.87 for 8 and 0.78 for 6, where `cuckoo` reaches 0.96 with any. The plan leaves that much
//! room.
//!
//! The form `growing` appends another table of the same shape when the newest refuses a key, as `dynamic-cuckoo`
//! does, and every table is searched: s of them let 1 − (1 − f)^s of the non-members pass.
//!
//! **Use it** if hashing φ is too expensive (hardware), with fingerprints of 12 bits or more. **Don't** with short
//! ones: `cuckoo` fills the table further.

use crate::cells::Layout;
use crate::filter::{Bulk, altered};
use crate::parts::cuckoo_table::{Addressing, CuckooTable, check_plain};
use crate::parts::tables::{FingerprintTable, Tables};
use crate::parts::{fingerprints, methods, owns};
use crate::plan::cuckoo::{
    Buckets, KICKS, PARAM_BUCKETS, PARAM_FILTERS, PARAM_FINGERPRINT, PARAM_KICKS, PARAM_SLOTS,
};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A multiset of fingerprints, each in one of two buckets that differ by it.
///
/// ```
/// let mut routes = everbloom::fingerprints::SimplifiedCuckoo::with_rate(1000, 0.001)?;
/// routes.insert("10.0.0.0/8")?;
/// assert!(routes.contains("10.0.0.0/8"));
/// routes.remove("10.0.0.0/8")?;
/// assert!(!routes.contains("10.0.0.0/8"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimplifiedCuckoo {
    head: Head,
    list: Tables<CuckooTable<Bare>>,
}

headed!(SimplifiedCuckoo { list });

/// The distance is the fingerprint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bare;

impl Addressing for Bare {
    #[inline]
    fn distance(fingerprint: u64) -> u64 {
        fingerprint
    }
}

impl SimplifiedCuckoo {
    /// A filter of `buckets` buckets, a power of two, with four slots of `fingerprint` bits (2 to 56).
    pub fn with_shape(buckets: u64, fingerprint: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("buckets", buckets).set("fingerprint", fingerprint))
    }

    /// Number of fingerprints in the table, which is that of insertions less removals.
    pub fn used(&self) -> u64 {
        self.list.used()
    }

    /// Number of tables: one, unless the filter is of the form `growing` and has grown.
    pub fn filters(&self) -> usize {
        self.list.tables.len()
    }

    /// Moves entries of sparse tables to free slots of fuller ones, and drops tables that are empty then. One
    /// stays, and the sparsest takes the next insertions.
    pub fn compact(&mut self) {
        self.list.compact();
    }

    /// Inserts a key, again if already present. Refused, with nothing changed, if its fingerprint finds no room.
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

    /// Removes a key that was inserted: one copy of its fingerprint, from the newest table that has it. Refused, with
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

impl Plan for SimplifiedCuckoo {
    /// The shape of every table, and whether there may be several.
    type Shape = (Buckets, bool);

    const HASH: HashId = HashId::Quick64;

    fn hash((each, _): &Self::Shape) -> HashId {
        if each.narrow() { Self::HASH } else { HashId::Xxh3_128 }
    }

    /// Each of the tables asked for takes its share of the items, at its share of the rate.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let (grows, filters) = (request.form() == GROWING, request.integer("filters"));
        if let Some(filters) = filters.filter(|filters| *filters > 1 && !grows) {
            let message = "a filter of form standard is one table; use form growing";
            return Err(Error::setting("filters", filters, message));
        }
        let (layout, filters) = (Layout::Plain, filters.unwrap_or(1));
        let each = Buckets::plan_shared(request, filters, layout, theory::load_in_groups)?;
        Ok((each, grows))
    }

    fn expect((each, grows): &Self::Shape, load: &Load) -> Option<Expect> {
        let planned = theory::load_in_groups(each.slots, each.fingerprint);
        Some(if *grows { each.expect_list(load, planned) } else { each.expect(load) })
    }
}

impl Stream for SimplifiedCuckoo {
    fn empty((each, grows): &Self::Shape, head: Head) -> Result<Self> {
        Ok(Self { head, list: Tables::new(CuckooTable::new(each)?, *grows) })
    }
}

face!(SimplifiedCuckoo: Insert, Remove, Count, Merge, Bulk);
planned!(SimplifiedCuckoo);
owns!(SimplifiedCuckoo { list: Tables<CuckooTable<Bare>> });
methods!(SimplifiedCuckoo: insert_if_absent, contains_many, contains_many_into, contains_iter);
keyed!(SimplifiedCuckoo: Remove);

impl Count for SimplifiedCuckoo {
    fn count(&self, key: &[u8]) -> Counted {
        self.list.count(self.head.hasher.digest(key))
    }
}

impl Bulk for SimplifiedCuckoo {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.list.contains_all(digests, found);
    }
}

by_part!(SimplifiedCuckoo: list);

const STANDARD: &str = "standard";
const GROWING: &str = CuckooTable::<Bare>::GROWING;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<SimplifiedCuckoo>(Facts {
    id: 104,
    slug: "simplified-cuckoo",
    entry: "B8",
    question: "Is it in the set, when keys are removed again, without hashing fingerprints?",
    name: "Simplified cuckoo filter",
    paper: "D. Eppstein, Cuckoo filter: simplification and analysis, SWAT 2016",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "compact"],
    forms: &[
        Form::removing(STANDARD, &[Ability::Insert, Ability::Remove, Ability::Count]),
        Form::removing(
            GROWING,
            &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
        ),
    ],
    operations: &[change!(
        SimplifiedCuckoo,
        "compact",
        "Move fingerprints out of sparse tables, and drop those that become empty.",
        [],
        [],
        |filter, _| altered(filter, SimplifiedCuckoo::compact)
    )],
    params: &[
        PARAM_BUCKETS,
        PARAM_SLOTS,
        PARAM_FINGERPRINT,
        PARAM_KICKS.or(Preset::Integer(KICKS)),
        PARAM_FILTERS.or(Preset::Integer(1)),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn tables_of_another_kind_are_refused() {
        let mut lists = Vec::new();
        for form in [STANDARD, GROWING] {
            let goal = SimplifiedCuckoo::builder().set("buckets", 16).set("fingerprint", 8);
            let mut filter = goal.form(form).build().unwrap();
            (0..50u64).for_each(|key| _ = filter.insert(&key).unwrap());
            let back: SimplifiedCuckoo = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            let shape = Buckets {
                buckets: 16,
                slots: 4,
                fingerprint: 8,
                kicks: 500,
                layout: Layout::Sorted,
            };
            let mut sorted = filter.clone();
            sorted.list.tables[0] = CuckooTable::new(&shape).unwrap();
            assert!(Opener::new().decode(&to_bytes(&sorted)).is_err(), "{form}");
            lists.push(filter);
        }
        // A list under the form that has one table, and the other way around.
        let [standard, growing] = &mut lists[..] else { unreachable!() };
        std::mem::swap(&mut standard.list, &mut growing.list);
        assert!(lists.iter().all(|filter| Opener::new().decode(&to_bytes(filter)).is_err()));
    }
}

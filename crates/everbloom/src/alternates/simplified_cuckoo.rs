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
//! **Use it** where hashing φ costs too much (hardware), with fingerprints of 12 bits or more. **Don't** with short
//! ones: `cuckoo` fills the table further.

use crate::cells::Layout;
use crate::parts::cuckoo_table::{Addressing, CuckooTable};
use crate::parts::fingerprints;
use crate::plan::cuckoo::{Buckets, PARAMS};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A multiset of fingerprints, each in one of two buckets that differ by it.
///
/// ```
/// let mut routes = everbloom::alternates::SimplifiedCuckoo::with_rate(1000, 0.001)?;
/// routes.insert("10.0.0.0/8")?;
/// assert!(routes.contains("10.0.0.0/8"));
/// routes.remove("10.0.0.0/8")?;
/// assert!(!routes.contains("10.0.0.0/8"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SimplifiedCuckoo {
    head: Head,
    table: CuckooTable<Bare>,
}

state!(SimplifiedCuckoo { head, ..table });

/// The distance is the fingerprint.
#[derive(Clone, Debug, PartialEq)]
struct Bare;

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
        self.table.slots.used()
    }

    fn check(&self) -> Result<()> {
        if self.table.slots.layout() == Layout::Plain {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: sorted buckets in a filter that has none"))
    }
}

impl Plan for SimplifiedCuckoo {
    type Shape = Buckets;

    const HASH: HashId = HashId::Quick64;

    fn hash(shape: &Buckets) -> HashId {
        if shape.narrow() { Self::HASH } else { HashId::Xxh3_128 }
    }

    fn plan(request: &Request<'_>) -> Result<Buckets> {
        Buckets::plan(request, Layout::Plain, theory::load_in_groups)
    }

    fn expect(shape: &Buckets, load: &Load) -> Option<Expect> {
        Some(shape.expect(load))
    }
}

impl Stream for SimplifiedCuckoo {
    fn empty(shape: &Buckets, head: Head) -> Result<Self> {
        Ok(Self { head, table: CuckooTable::new(shape)? })
    }
}

face!(SimplifiedCuckoo: Insert, Remove, Count, Bulk);
planned!(SimplifiedCuckoo);
fingerprints!(SimplifiedCuckoo: table);

by_part!(SimplifiedCuckoo: table);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<SimplifiedCuckoo>(Facts {
    id: 104,
    slug: "simplified-cuckoo",
    entry: "B8",
    name: "Simplified cuckoo filter",
    paper: "D. Eppstein, Cuckoo filter: simplification and analysis, SWAT 2016",
    family: "alternates",
    needs: &["membership", "delete", "count", "compact"],
    forms: &[Form::removing("standard", &[Ability::Insert, Ability::Remove, Ability::Count])],
    params: PARAMS,
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn sorted_buckets_are_refused() {
        let filter = SimplifiedCuckoo::with_shape(16, 8, Hasher::default()).unwrap();
        let back: SimplifiedCuckoo = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let shape =
            Buckets { buckets: 16, slots: 4, fingerprint: 8, kicks: 500, layout: Layout::Sorted };
        let sorted = SimplifiedCuckoo { table: CuckooTable::new(&shape).unwrap(), ..filter };
        assert!(Opener::new().decode(&to_bytes(&sorted)).is_err());
    }
}

//! The consistent cuckoo filter (Luo, Guo, Rottenstreich, Ma, Luo, Ren 2019; catalogue B11; S3 §IX).
//!
//! A cuckoo filter that gets larger and smaller one bucket at a time. Buckets are on a ring, v points each, and
//! k points of a fingerprint φ say in which buckets it may be: those of the next ring points.
//!
//! ```text
//!   ring     ──●────────●───●──────────●────●───────●──   ● points of buckets A, B, C
//!              A        C   B          A    C       B
//!                   ×1 ──▶│     ×2 ────────▶│             × points of φ: it is in C, or in C again
//! ```
//!
//! φ alone decides that, so that entries can be moved without their keys. A new bucket takes parts of some arcs:
//! entries of those buckets that have no point there any more are inserted again, as are all entries of a
//! bucket that is taken off the ring. Nothing else moves. If there is no room for one of them, nothing happens.
//!
//! The form `rings` appends another ring when the newest refuses a key, and looks into all of them.
//!
//! The survey names the filter without its construction; this one is the catalogue's. Its price is that two keys with
//! one fingerprint have the same buckets, too: every entry is a chance for a false positive, not only those of two
//! buckets. So f = n·2^−F, and F = log2(n/f) bits, log2(n) − 3 more than `cuckoo` takes.
//!
//! **Use it** when capacity has to follow the number of keys closely. **Don't** when doubling (`cuckoo`) or whole
//! filters (`dynamic-cuckoo`) are good enough: both take fewer bits. Removing an absent key that passes also
//! removes a member; this happens with the probability of a false positive.

mod ring;
mod shape;
mod table;

use ring::{MAX_CHOICES, MAX_POINTS, Ring};
pub use shape::{Shape, fingerprint_bits, refusal};
use table::Table;

use crate::cells::{Layout, Slots};
use crate::filter::{Bulk, altered};
use crate::parts::tables::Tables;
use crate::parts::{fingerprints, methods, owns};
use crate::plan::cuckoo::{KICKS, PARAM_FINGERPRINT, PARAM_KICKS, PARAM_SLOTS};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A multiset of fingerprints in buckets that come and go.
///
/// ```
/// let mut nodes = everbloom::fingerprints::ConsistentCuckoo::with_rate(1000, 0.01)?;
/// for key in 0..1000u64 {
///     nodes.insert(&key)?;
/// }
/// let before = nodes.buckets();
/// nodes.add_bucket()?;
/// nodes.remove_bucket(7)?;
/// assert_eq!(nodes.buckets(), before);
/// assert!((0..1000u64).all(|key| nodes.contains(&key)));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConsistentCuckoo {
    head: Head,
    rings: Tables<Table>,
}

headed!(plain ConsistentCuckoo { rings });

impl ConsistentCuckoo {
    /// A filter of `buckets` buckets of four slots of `fingerprint` bits (2 to 56), each bucket with four points on
    /// the ring, and each fingerprint with three.
    pub fn with_shape(buckets: u64, fingerprint: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("buckets", buckets).set("fingerprint", fingerprint))
    }

    /// Number of buckets, of all rings.
    pub fn buckets(&self) -> u64 {
        self.rings.tables.iter().map(|table| table.ring.len()).sum()
    }

    /// Number of rings: one, unless the filter is of the form `rings` and has grown.
    pub fn rings(&self) -> usize {
        self.rings.tables.len()
    }

    /// Number of fingerprints in the buckets, which is that of insertions less removals.
    pub fn used(&self) -> u64 {
        self.rings.used()
    }

    /// Adds a bucket, to the newest ring. Refused, with nothing changed, if an entry that has to move for it finds no
    /// room.
    pub fn add_bucket(&mut self) -> Result<()> {
        if let Some(newest) = self.rings.tables.last_mut() {
            *newest = newest.with_another()?;
        }
        Ok(())
    }

    /// Takes a bucket away, whose number goes to the last of its ring; the numbers of a ring follow those of the
    /// ring before. Refused, with nothing changed, if the others of its ring have no room for its entries.
    pub fn remove_bucket(&mut self, bucket: u64) -> Result<()> {
        let mut number = bucket;
        for table in &mut self.rings.tables {
            let Some(beyond) = number.checked_sub(table.ring.len()) else {
                if table.ring.len() == 1 {
                    let message = "it is the only bucket of its ring, which must keep one";
                    return Err(Error::setting("bucket", bucket, message));
                }
                *table = table.without(number)?;
                return Ok(());
            };
            number = beyond;
        }
        let message = format!("there are buckets 0 to {}", self.buckets() - 1);
        Err(Error::setting("bucket", bucket, message))
    }

    /// Moves entries of sparse rings to free slots of fuller ones, and drops rings that are empty then. One
    /// stays, and the sparsest takes the next insertions.
    pub fn compact(&mut self) {
        self.rings.compact();
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
        self.rings.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: one copy of its fingerprint, from the newest ring that has it. Refused, with
    /// nothing changed, if none of its buckets holds it. A non-member that passes cannot be told from a member:
    /// removing it removes a member with the same fingerprint.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.rings.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while only
    /// members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.rings.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }
}

impl Plan for ConsistentCuckoo {
    type Shape = Shape;

    const HASH: HashId = HashId::Quick64;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    /// Every fingerprint inside is one that a non-member may have.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let one = shape.buckets.saturating_mul(shape.slots.into());
        // A ring that is full is followed by another.
        let most = refusal(shape.points, shape.choices) * one as f64;
        let grown = (load.items as f64 / most).ceil().max(1.0);
        let rings = if shape.grows { grown } else { 1.0 };
        let slots = (one as f64 * rings) as u64;
        let share = (load.items as f64 / slots as f64).min(1.0);
        let sd = if rings > 1.0 { share / rings } else { 0.0 };
        let values = libm::exp2(f64::from(shape.fingerprint)) - 1.0;
        let bits = slots.saturating_mul(shape.fingerprint.into());
        Some(Expect::one_sided(theory::fpr(values, load.distinct as f64), bits, Some((share, sd))))
    }
}

impl Stream for ConsistentCuckoo {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let &Shape { grows, buckets, slots, fingerprint, points, choices, kicks } = shape;
        let slots = Slots::try_new(buckets, slots, fingerprint, Layout::Plain)?;
        let first = Table { kicks, ring: Ring::new(buckets, points, choices), slots };
        Ok(Self { head, rings: Tables::new(first, grows) })
    }
}

face!(ConsistentCuckoo: Insert, Remove, Count, Merge, Bulk);
planned!(ConsistentCuckoo);
owns!(ConsistentCuckoo { rings: Tables<Table> });
methods!(ConsistentCuckoo: insert_if_absent, contains_many, contains_many_into, contains_iter);
keyed!(ConsistentCuckoo: Remove);

impl Count for ConsistentCuckoo {
    fn count(&self, key: &[u8]) -> Counted {
        self.rings.count(self.head.hasher.digest(key))
    }
}

impl Bulk for ConsistentCuckoo {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.rings.contains_all(digests, found);
    }
}

by_part!(ConsistentCuckoo: rings);

const STANDARD: &str = "standard";
const RINGS: &str = "rings";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<ConsistentCuckoo>(Facts {
    id: 107,
    slug: "consistent-cuckoo",
    entry: "B11",
    question: "Is it in a set on a ring of buckets that grows and shrinks?",
    name: "Consistent cuckoo filter",
    paper: "L. Luo, D. Guo, O. Rottenstreich, R. T. B. Ma, X. Luo, B. Ren, The consistent cuckoo filter, \
            INFOCOM 2019",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "grow"],
    forms: &[
        Form::removing(STANDARD, &[Ability::Insert, Ability::Remove, Ability::Count]),
        Form::removing(RINGS, &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge]),
    ],
    operations: &[
        change!(
            ConsistentCuckoo,
            "compact",
            "Move fingerprints out of sparse rings, and drop those that become empty.",
            [],
            [],
            |filter, _| altered(filter, ConsistentCuckoo::compact)
        ),
        change!(
            ConsistentCuckoo,
            "add-bucket",
            "Add one bucket; only fingerprints of its neighbors move.",
            [],
            [],
            |filter, _| filter.add_bucket().map(|()| true)
        ),
        change!(
            ConsistentCuckoo,
            "remove-bucket",
            "Remove one bucket; only its fingerprints move.",
            [Param::integer("bucket", 0, u64::MAX, "its number, counted from 0")],
            [],
            |filter, given| filter.remove_bucket(given.whole(0)).map(|()| true)
        ),
    ],
    params: &[
        Param::integer("buckets", 1, (1 << 32) - 1, "initial number of buckets"),
        PARAM_SLOTS,
        PARAM_FINGERPRINT,
        Param::integer("points", 1, MAX_POINTS as u64, "points of a bucket on the ring")
            .or(Preset::Integer(4)),
        Param::integer("choices", 1, MAX_CHOICES as u64, "points of a fingerprint on the ring")
            .or(Preset::Integer(3)),
        PARAM_KICKS.or(Preset::Integer(KICKS)),
        Param::integer(
            "rings",
            1,
            1024,
            "rings over which the planned items are spread; the list can shrink to one of them",
        )
        .or(Preset::Integer(1)),
    ],
    // Every query searches the ring, which is kept in memory beside the slots.
    reach: 200_000,
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_misplaced_fingerprints_are_refused() {
        let mut filter = ConsistentCuckoo::with_shape(20, 16, Hasher::default()).unwrap();
        (0..50u64).for_each(|key| _ = filter.insert(&key).unwrap());
        let back: ConsistentCuckoo = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        // Any fingerprint but the bucket's own is somewhere else.
        let mut other = filter.clone();
        let wrong =
            (1..).find(|f| !other.rings.tables[0].ring.candidates(*f).contains(&3)).unwrap();
        other.rings.tables[0].slots.set(3, 0, wrong);
        assert!(Opener::new().decode(&to_bytes(&other)).is_err());
        let mut other = filter.clone();
        other.rings.tables[0].ring = Ring::new(21, 4, 3);
        assert!(Opener::new().decode(&to_bytes(&other)).is_err());
        let mut other = filter.clone();
        other.rings.tables[0].kicks = 0;
        assert!(Opener::new().decode(&to_bytes(&other)).is_err());
    }
}

//! The cuckoo filter (Fan, Andersen, Kaminsky, Mitzenmacher 2014; catalogue B7; S3 §IX).
//!
//! A table of fingerprints of f bits, in buckets of four slots. A key has two buckets, i₁ from its hash and
//! i₂ = i₁ ⊕ hash(φ) from its fingerprint φ. It is a member if φ is in one of them:
//!
//! ```text
//!   x ─▶ φ = 2c1 ─▶ i₁     │ 07e │ 55d │ b10 │ 9f4 │   full: 9f4 is kicked out …
//!                ─▶ i₂     │ c02 │ 3a1 │ 77f │ 0d5 │   full, too
//!
//!                          │ 07e │ 55d │ b10 │ 2c1 │ ◀── x
//!          9f4 ─▶ i ⊕ h    │ 418 │ 9f4 │  ·  │  ·  │   … and moves to its other bucket
//! ```
//!
//! i₁ = i₂ ⊕ hash(φ), too: an entry is moved without its key, knowing where it is. So a table of four slots a
//! bucket fills to 95 %, and a key takes log2(8·0.95/ε)/0.95 bits, fewer than a Bloom filter's below a rate of
//! 3 %. (Buckets are a power of two, though: up to half of a planned table may stay empty.) Keys are removed again:
//! any entry with φ in those buckets says the same as the key's own.
//!
//! The form `semi-sorted` keeps the four entries of a bucket in order, which saves a bit each. `redisbloom` is the
//! filter of the RedisBloom module, bit for bit, with its dumps: fingerprints of one byte, and a further
//! sub-filter whenever the newest is full.
//!
//! **Use it** instead of a counting filter for sets that change: it takes a quarter to half of the space. A key is
//! counted up to twice the slots of a bucket. **Don't** when the number of keys is unknown (`dynamic-cuckoo`): a
//! full filter refuses keys and stays as it was. Don't remove keys that were not inserted: removing an absent key
//! that passes also removes a member, and it passes with the probability of a false positive.

mod redis;

pub use redis::Shape as RedisShape;
use redis::{MAX_EXPANSION, Scaling};

use crate::cells::Layout;
use crate::filter::{Bulk, altered};
use crate::parts::cuckoo_table::{CuckooTable, Mixed};
use crate::parts::fingerprints::{Outcome, TablePart};
use crate::parts::{fingerprints, methods, owns};
pub use crate::plan::cuckoo::Buckets;
use crate::plan::cuckoo::{PARAM_BUCKETS, PARAM_FINGERPRINT, PARAM_KICKS, PARAM_SLOTS};
use crate::state::{Decoder, Encoder, Inline};
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A multiset of fingerprints, each in one of two buckets.
///
/// ```
/// let mut online = everbloom::fingerprints::Cuckoo::with_rate(1000, 0.001)?;
/// online.insert("alice")?;
/// online.insert("bob")?;
/// online.remove("alice")?;
/// assert!(online.contains("bob") && !online.contains("alice"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cuckoo {
    head: Head,
    table: Table,
}

state!(Cuckoo { head, ..table });

impl Cuckoo {
    /// A filter of `buckets` buckets, a power of two, with four slots of `fingerprint` bits (2 to 56).
    pub fn with_shape(buckets: u64, fingerprint: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("buckets", buckets).set("fingerprint", fingerprint))
    }

    /// Number of fingerprints in the table, which is that of insertions less removals.
    pub fn used(&self) -> u64 {
        match &self.table {
            Table::Fixed(table) => table.slots.used(),
            Table::Scaling(scaling) => scaling.items(),
        }
    }

    /// Number of sub-filters: one, unless the filter is of the form `redisbloom` and has grown.
    pub fn sub_filters(&self) -> usize {
        match &self.table {
            Table::Fixed(_) => 1,
            Table::Scaling(scaling) => scaling.len(),
        }
    }

    /// Moves fingerprints to free slots of older sub-filters, and drops sub-filters at the end that are empty
    /// then (`CF.COMPACT`). Filters of other forms have only one.
    pub fn compact(&mut self) {
        if let Table::Scaling(scaling) = &mut self.table {
            scaling.compact(true);
        }
    }

    /// The filter of a dump by RedisBloom (`CF.SCANDUMP`): the header of 38 bytes and all that follows it.
    pub fn from_redis(dump: &[u8]) -> Result<Self> {
        let scaling = Scaling::from_dump(dump)?;
        let head = Head::new(Hasher::with_id(HashId::Murmur64A, 0)?, REDISBLOOM);
        let head = Head { items: scaling.items(), ..head };
        Ok(Self { head, table: Table::Scaling(scaling) })
    }

    /// The dump that RedisBloom loads (`CF.LOADCHUNK`): the header of 38 bytes and all that follows it. Refused
    /// for filters of other forms, hashes or seeds than RedisBloom's.
    pub fn to_redis(&self) -> Result<Vec<u8>> {
        match &self.table {
            Table::Scaling(scaling)
                if self.head.hasher == Hasher::with_id(HashId::Murmur64A, 0)? =>
            {
                Ok(scaling.dump())
            }
            _ => Err(Error::unsupported(
                "RedisBloom reads filters of the form redisbloom, hashed by murmur-64a under the seed 0",
            )),
        }
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
        self.table.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted: one copy of its fingerprint, from one of its buckets. Refused, with nothing
    /// changed, if none of its buckets holds it. A non-member that passes cannot be told from a member: removing it
    /// removes a member with the same fingerprint.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.table.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted, or more if other members have the same fingerprint: never too low while only
    /// members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.table.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        let of_form = match &self.table {
            Table::Fixed(table) => self.head.form == form_of(table.slots.layout()),
            Table::Scaling(_) => self.head.form == REDISBLOOM,
        };
        let wrong = || Error::corrupt(0, "corrupt filter: a table of another form");
        of_form.then_some(()).ok_or_else(wrong)
    }
}

fn form_of(layout: Layout) -> &'static str {
    if layout == Layout::Sorted { SEMI_SORTED } else { STANDARD }
}

/// The table of a form.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Table {
    Fixed(CuckooTable<Mixed>),
    Scaling(Scaling),
}

impl Table {
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        match self {
            Table::Fixed(table) => table.contains(digest),
            Table::Scaling(scaling) => scaling.contains(digest),
        }
    }

    #[inline]
    fn remove(&mut self, digest: Digest) -> Result<()> {
        match self {
            Table::Fixed(table) => table.remove(digest),
            Table::Scaling(scaling) => scaling.remove(digest),
        }
    }

    fn count(&self, digest: Digest) -> Counted {
        match self {
            Table::Fixed(table) => table.count(digest),
            Table::Scaling(scaling) => scaling.count(digest),
        }
    }

    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        match self {
            Table::Fixed(table) => table.contains_all(digests, found),
            Table::Scaling(scaling) => {
                let pairs = digests.iter().zip(found);
                pairs.for_each(|(digest, found)| *found = scaling.contains(*digest));
            }
        }
    }

    fn part(&self) -> &dyn Part {
        match self {
            Table::Fixed(table) => table,
            Table::Scaling(scaling) => scaling,
        }
    }
}

impl TablePart for Table {
    #[inline]
    fn insert(&mut self, digest: Digest) -> Result<bool> {
        match self {
            Table::Fixed(table) => table.insert(digest),
            Table::Scaling(scaling) => scaling.insert(digest),
        }
    }

    fn insert_all(&mut self, digests: &[Digest]) -> Outcome {
        match self {
            Table::Fixed(table) => table.insert_all(digests),
            Table::Scaling(scaling) => {
                let insert = |(i, digest): (usize, &Digest)| {
                    scaling.insert(*digest).map(drop).map_err(|e| (i, e))
                };
                digests.iter().enumerate().try_for_each(insert)
            }
        }
    }
}

impl Inline for Table {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        out.u64("scaling", u64::from(matches!(self, Table::Scaling(_))));
        match self {
            Table::Fixed(table) => table.save_fields(out),
            Table::Scaling(scaling) => scaling.save_fields(out),
        }
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        match src.u64("scaling")? {
            0 => CuckooTable::load_fields(src).map(Table::Fixed),
            1 => Scaling::load_fields(src).map(Table::Scaling),
            other => Err(src.corrupt(format!("a table of kind {other}"))),
        }
    }
}

/// The shape of a form's table.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Buckets, slots and fingerprints of one table.
    Fixed(Buckets),
    /// Those of the first sub-filter.
    Scaling(RedisShape),
}

impl Plan for Cuckoo {
    type Shape = Shape;

    const HASH: HashId = HashId::Quick64;

    fn hash(shape: &Shape) -> HashId {
        match shape {
            Shape::Fixed(buckets) if buckets.narrow() => Self::HASH,
            Shape::Fixed(_) => HashId::Xxh3_128,
            Shape::Scaling(_) => HashId::Murmur64A,
        }
    }

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let layout = match request.form() {
            REDISBLOOM => {
                refuse(request, &["buckets", "fingerprint"])?;
                return redis::Shape::plan(request).map(Shape::Scaling);
            }
            SEMI_SORTED => Layout::Sorted,
            _ => Layout::Plain,
        };
        refuse(request, &["capacity", "expansion"])?;
        Buckets::plan(request, layout, |slots, _| theory::load(slots)).map(Shape::Fixed)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        match shape {
            Shape::Fixed(buckets) => Some(buckets.expect(load)),
            Shape::Scaling(shape) => shape.expect(load),
        }
    }
}

/// Refuses settings of another form.
fn refuse(request: &Request<'_>, names: &[&'static str]) -> Result<()> {
    let form = request.form();
    match names.iter().find_map(|name| Some((name, request.integer(name)?))) {
        Some((name, value)) => {
            Err(Error::setting(*name, value, format!("the form {form} has no such parameter")))
        }
        None => Ok(()),
    }
}

impl Stream for Cuckoo {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let table = match shape {
            Shape::Fixed(buckets) => Table::Fixed(CuckooTable::new(buckets)?),
            Shape::Scaling(shape) => Table::Scaling(Scaling::new(shape)?),
        };
        Ok(Self { head, table })
    }
}

face!(Cuckoo: Insert, Remove, Count, Bulk);
planned!(Cuckoo);
owns!(Cuckoo { table: Table });
methods!(Cuckoo: insert_if_absent, contains_many, contains_many_into, contains_iter);
keyed!(Cuckoo: Remove);

impl Count for Cuckoo {
    fn count(&self, key: &[u8]) -> Counted {
        self.table.count(self.head.hasher.digest(key))
    }
}

impl Bulk for Cuckoo {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        self.table.contains_all(digests, found);
    }
}

impl Filter for Cuckoo {
    fn part(&self) -> Option<&dyn Part> {
        Some(self.table.part())
    }
}

const STANDARD: &str = "standard";
const SEMI_SORTED: &str = "semi-sorted";
const REDISBLOOM: &str = "redisbloom";

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Count];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Cuckoo>(Facts {
    id: 103,
    slug: "cuckoo",
    entry: "B7",
    question: "Is it in the set, when keys are removed again, in a quarter of the space of counters?",
    name: "Cuckoo filter",
    paper: "B. Fan, D. G. Andersen, M. Kaminsky, M. D. Mitzenmacher, Cuckoo filter: practically better than \
            Bloom, CoNEXT 2014",
    family: "fingerprints",
    needs: &["membership", "delete", "count", "compact", "fast"],
    forms: &[
        Form::removing(STANDARD, ABILITIES),
        Form::removing(SEMI_SORTED, ABILITIES),
        Form::removing(REDISBLOOM, ABILITIES),
    ],
    operations: &[change!(
        Cuckoo,
        "compact",
        "Move fingerprints out of the youngest tables, and drop those that become empty.",
        [],
        [],
        |filter, _| altered(filter, Cuckoo::compact)
    )],
    params: &[
        PARAM_BUCKETS,
        PARAM_SLOTS,
        PARAM_FINGERPRINT,
        PARAM_KICKS,
        Param::integer("capacity", 2, 1 << 40, "slots of the first sub-filter of redisbloom"),
        Param::integer(
            "expansion",
            0,
            MAX_EXPANSION,
            "growth factor of the next sub-filter of redisbloom; 0 for none",
        ),
    ],
    ..Facts::MULTISET
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::fingerprints::many_keys_are_as_one;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_a_table_of_another_form_are_refused() {
        for form in [STANDARD, SEMI_SORTED, REDISBLOOM] {
            let mut filter = Cuckoo::builder().items(50).form(form).build().unwrap();
            (0..50u64).for_each(|key| _ = filter.insert(&key).unwrap());
            let back: Cuckoo = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            for other in [STANDARD, SEMI_SORTED, REDISBLOOM].into_iter().filter(|f| *f != form) {
                let head = Head { form: other, ..filter.head.clone() };
                let bytes = to_bytes(&Cuckoo { head, ..filter.clone() });
                assert!(Opener::new().decode(&bytes).is_err(), "{form} as {other}");
            }
        }
    }

    /// Prefetching calls find and store what calls for single keys do.
    #[test]
    fn many_keys_at_once_equal_one_by_one() {
        for buckets in [1 << 10, 1 << 20] {
            let keys: Vec<u64> = (0..3000).collect();
            let make = || Cuckoo::with_shape(buckets, 12, Hasher::default()).unwrap();
            many_keys_are_as_one!(make(), keys);
        }
    }
}

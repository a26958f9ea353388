//! The fast hash table, or extended Bloom filter (Song, Dharmapurikar, Turner, Lockwood 2005; catalogue B6; S0 §IV-C).
//!
//! An exact table of keys and values in slow memory, and a counting filter in fast memory that says which of its
//! buckets to read. A key has k buckets, whose counters tell how many keys share each. Its home is the bucket with
//! the smallest counter, the first of equals, and that is where it is kept and looked for:
//!
//! ```text
//!   counters   0   2   1   0   3   1   …    x has buckets 1, 2 and 4: home is 2
//!   buckets    ·   a   x   ·   b   c   …    look up x: one access, a list of one
//!                                           look up y with buckets 0, 1, 5: a zero, no access at all
//! ```
//!
//! A look-up reads one bucket, and for absent keys only as often as a Bloom filter lets them pass. The form `basic`
//! keeps a copy of every key in all its buckets, as the idea is first explained. `pruned` keeps it at home alone:
//! an insertion takes all items out of the key's k buckets, raises their counters, and brings each item to its home,
//! which may be another one now. No other item changes its home, since counters rose only where those were.
//!
//! Where items still share a bucket, its counter can be raised without a key, so that they part
//! ([`balance`](FastHashTable::balance)); at two counters a key that brings the share from 18 % to none. A removal
//! leaves the counters alone, since lowering them would change homes elsewhere: the table is built
//! anew when a quarter of its keys was removed.
//!
//! **Slow:** an insertion moves the items of all its k buckets, which are lists of whole keys.
//!
//! **Use it** for exact lookups of many more queries than fast memory has room for keys. **Don't** to save memory:
//! it stores all keys.

use std::collections::BTreeSet;

use crate::cells::Counters;
use crate::filter::altered;
use crate::parts::ledger::{self, Item, Ledger};
use crate::plan::{PARAM_RECORD, PARAM_WIDTH, Wide};
use crate::probe::{Coincide, Indices, Probe};
use crate::variant::prelude::*;

/// An exact table of values behind a counting filter.
///
/// ```
/// let mut flows = everbloom::keyvalue::FastHashTable::with_rate(1000, 0.01)?;
/// flows.put("10.0.0.1", b"port 7");
/// assert_eq!(flows.get("10.0.0.1"), Some(&b"port 7"[..]));
/// assert_eq!(flows.get("10.0.0.2"), None);
/// assert!(!flows.accesses("10.0.0.2"), "a counter of zero says so without reading a bucket");
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FastHashTable {
    head: Head,
    probe: Probe,
    counters: Counters,
    /// Removals that the counters do not know of.
    removed: u64,
    buckets: Ledger,
}

state!(FastHashTable { head, probe, counters, removed, buckets });

impl FastHashTable {
    /// A table of `m` buckets with counters of four bits, `k` buckets per key.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k))
    }

    /// The buckets of a key, each once.
    fn buckets_of(&self, digest: Digest) -> Indices {
        self.probe.collect(digest, Coincide::Distinct)
    }

    /// The bucket with the smallest counter, of equals the one with the smallest number.
    fn home(&self, digest: Digest) -> u64 {
        let buckets = self.buckets_of(digest);
        buckets.into_iter().min_by_key(|b| (self.counters.get(*b), *b)).unwrap_or(0)
    }

    /// Whether looking the key up takes an access to a bucket: every member does.
    pub fn accesses<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.digest(key), |bucket| self.counters.get(bucket) > 0)
    }

    /// Items in the bucket that is read for a key; zero if none is read.
    pub fn list_of<K: Key + ?Sized>(&self, key: &K) -> usize {
        if self.accesses(key) { self.buckets.at(self.home(self.head.digest(key))).len() } else { 0 }
    }

    /// The numbers of items in all buckets that have some.
    pub fn lists(&self) -> impl Iterator<Item = usize> + '_ {
        self.buckets.lists().map(|(_, items)| items)
    }

    /// The value of a key, if it is in the table.
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Option<&[u8]> {
        if !self.accesses(key) {
            return None;
        }
        let home = self.home(self.head.digest(key));
        key.with_bytes(|key| self.buckets.find(home, key)).map(|item| &*item.value)
    }

    /// Whether the key is in the table.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    /// Inserts a key with its value; an existing key gets the new value.
    pub fn put<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Seen {
        if self.assign(key, value) {
            return Seen::Maybe;
        }
        let digest = self.head.digest(key);
        let buckets = self.buckets_of(digest);
        let item = key.with_bytes(|key| Item { key: key.into(), value: value.into() });
        self.head.count(1);
        if self.head.form == BASIC {
            for bucket in buckets {
                self.counters.increment(bucket);
                self.buckets.push(bucket, item.clone());
            }
            return Seen::New;
        }
        // All are taken out before a counter changes: their homes depend on it.
        let mut moving: Vec<Item> =
            buckets.iter().flat_map(|bucket| self.buckets.take_all(*bucket)).collect();
        moving.push(item);
        buckets.iter().for_each(|bucket| self.counters.increment(*bucket));
        self.bring_home(moving);
        Seen::New
    }

    fn bring_home(&mut self, items: Vec<Item>) {
        for item in items {
            let home = self.home(self.head.digest(&*item.key));
            self.buckets.push(home, item);
        }
    }

    /// Gives a key that is there another value; false if it is not.
    fn assign<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> bool {
        if !self.contains(key) {
            return false;
        }
        let places = self.places_of(self.head.digest(key));
        key.with_bytes(|key| places.iter().for_each(|place| self.buckets.set(*place, key, value)));
        true
    }

    /// Where copies of a key that is in the table are kept.
    fn places_of(&self, digest: Digest) -> Indices {
        match self.head.form {
            BASIC => self.buckets_of(digest),
            _ => Indices::from_slice(&[self.home(digest)]),
        }
    }

    /// Removes a key; refused if it is not in the table.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if !self.contains(key) {
            return Err(Error::new(Kind::NotDeletable, "the key is not in the table"));
        }
        let places = self.places_of(self.head.digest(key));
        key.with_bytes(|key| places.iter().for_each(|place| _ = self.buckets.take(*place, key)));
        self.head.count_off();
        if self.head.form == BASIC {
            places.iter().for_each(|place| self.counters.decrement(*place));
            return Ok(());
        }
        self.removed += 1;
        if self.removed > self.head.items / 4 {
            self.rebuild();
        }
        Ok(())
    }

    /// Counts the keys that are there, and brings each home.
    fn rebuild(&mut self) {
        let places: Vec<u64> = self.buckets.lists().map(|(place, _)| place).collect();
        let mut items = Vec::new();
        places.into_iter().for_each(|place| items.extend(self.buckets.take_all(place)));
        (0..self.counters.len()).for_each(|bucket| self.counters.set(bucket, 0));
        for item in &items {
            let buckets = self.buckets_of(self.head.digest(&*item.key));
            buckets.into_iter().for_each(|bucket| self.counters.increment(bucket));
        }
        self.bring_home(items);
        self.removed = 0;
    }

    /// Parts items that share a bucket: its counter rises, and they go to their homes. That may bring others
    /// together, so it takes several `sweeps`, which end when every bucket has one item at most. The form `basic` has
    /// nothing to part.
    pub fn balance(&mut self, sweeps: u32) {
        if self.head.form == BASIC {
            return;
        }
        for _ in 0..sweeps {
            let mut next = 0;
            // Also those that others of this sweep have moved to.
            while let Some(bucket) = self.buckets.next_shared(next) {
                let items = self.buckets.take_all(bucket);
                self.counters.increment(bucket);
                self.bring_home(items);
                next = bucket + 1;
            }
        }
    }

    /// Share of keys that have a bucket in common with another one.
    pub fn shared(&self) -> f64 {
        let shared: usize = self.lists().filter(|items| *items > 1).sum();
        shared as f64 / (self.head.items as f64).max(1.0)
    }

    /// P(looking up an absent key takes an access).
    pub fn access_rate(&self) -> f64 {
        let fill = self.counters.nonzero() as f64 / self.counters.len() as f64;
        libm::pow(fill, f64::from(self.probe.k()))
    }

    /// Every key is where it is looked for, and counted.
    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.counters.len())?;
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        let width = self.counters.width();
        if !(2..=16).contains(&width) || self.removed > self.head.items {
            return wrong("impossible counters");
        }
        let keys: BTreeSet<&[u8]> = self.buckets.iter().map(|(_, item)| &*item.key).collect();
        let copies = self.head.form == BASIC || self.buckets.len() == self.head.items;
        let inside = self.buckets.lists().all(|(bucket, _)| bucket < self.counters.len());
        if keys.len() as u64 != self.head.items || !copies || !inside {
            return wrong("items that are not those of the table");
        }
        // Without the key of the hash nobody can tell where keys belong.
        if self.head.hasher.is_keyed() {
            return Ok(());
        }
        let mut counted = Counters::try_new(self.counters.len(), width)?;
        let mut expected = 0;
        for key in keys {
            let digest = self.head.digest(key);
            self.buckets_of(digest).into_iter().for_each(|bucket| counted.increment(bucket));
            let places = self.places_of(digest);
            expected += places.len() as u64;
            if !places.iter().all(|place| self.buckets.find(*place, key).is_some()) {
                return wrong("a key that is not at home");
            }
        }
        let enough = counted.iter().zip(self.counters.iter()).all(|(least, held)| least <= held);
        if !enough || expected != self.buckets.len() {
            return wrong("counters below what they count");
        }
        Ok(())
    }
}

impl Plan for FastHashTable {
    type Shape = Wide;

    fn plan(request: &Request<'_>) -> Result<Wide> {
        let width = request.whole(PARAM_WIDTH.name);
        let all = |m: f64, n: u64, k: u32| m * width as f64 + lists(request, n, k) as f64;
        Ok(Wide { flat: Flat::plan_sized(request, all)?, width: width as u32 })
    }

    /// Answers are exact.
    fn expect(shape: &Wide, load: &Load) -> Option<Expect> {
        Some(Expect { fpr: 0.0, ..shape.expect(load, 0) })
    }

    fn beside(request: &Request<'_>, shape: &Wide, load: &Load) -> u64 {
        lists(request, load.distinct, shape.flat.k)
    }
}

/// Bits of the buckets of `n` items; in the form `basic`, each item is in k of them.
fn lists(request: &Request<'_>, n: u64, k: u32) -> u64 {
    let copies = if request.form() == BASIC { n.saturating_mul(k.into()) } else { n };
    ledger::bits_of(copies, request.whole(PARAM_RECORD.name))
}

impl Stream for FastHashTable {
    fn empty(shape: &Wide, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let counters = Counters::try_new(m, shape.width)?;
        let (probe, buckets) = (Probe::over(m, k), Ledger::default());
        Ok(Self { head, probe, counters, removed: 0, buckets })
    }
}

face!(FastHashTable: Insert, Remove, Lookup, Assign);
planned!(FastHashTable: "A table for `items` keys, in which a look-up of absent keys reads a bucket at a rate of `fpr`.");
keyed!(FastHashTable: Remove);

impl Insert for FastHashTable {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        match record.value {
            None => Ok(self.put(record.key, b"")),
            Some(Value::Bytes(value)) => Ok(self.put(record.key, value)),
            Some(_) => Err(Error::record("the value of the key must be bytes")),
        }
    }
}

impl Lookup for FastHashTable {
    fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        FastHashTable::get(self, key).map(<[u8]>::to_vec)
    }
}

impl Assign for FastHashTable {
    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        let missing = || Error::record("the key is not in the table: insert it with its value");
        self.assign(key, value).then_some(()).ok_or_else(missing)
    }
}

impl Filter for FastHashTable {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let value = Lookup::get(self, record.key);
        Ok(value.map_or(Answer::of(false), |v| Answer::of(true).with(Detail::Value(v))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.counters.nonzero() as f64 / self.counters.len() as f64)
    }

    fn now(&self) -> Rates {
        Rates::one_sided(0.0)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.counters.len()),
            fact("k", self.probe.k()),
            fact("width", self.counters.width()),
            real("access rate", self.access_rate()),
            real("shared", self.shared()),
            fact("longest list", self.lists().max().unwrap_or(0) as u64),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        touched(&self.buckets_of(self.head.digest(key)), |bucket| self.counters.get(bucket))
    }
}

const PRUNED: &str = "pruned";
const BASIC: &str = "basic";

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove, Ability::Lookup];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<FastHashTable>(Facts {
    id: 102,
    slug: "fast-hash-table",
    entry: "B6",
    question: "What value does this key have, exactly, with one look at the table?",
    name: "Fast hash table (extended Bloom filter)",
    paper: "H. Song, S. Dharmapurikar, J. Turner, J. Lockwood, Fast hash table lookup using extended Bloom \
            filter: an aid to network processing, SIGCOMM 2005",
    family: "keyvalue",
    needs: &["values", "delete"],
    input: Input::valued(ValueKind::Bytes),
    meaning: "items are keys; the rate is that of absent keys whose lookup reads a bucket; answers are exact; sizes \
              include keys and values, of record-bytes bytes each",
    forms: &[Form::exact(PRUNED, ABILITIES), Form::exact(BASIC, ABILITIES)],
    operations: &[change!(
        FastHashTable,
        "balance",
        "Part keys that share a bucket.",
        [Param::integer("sweeps", 1, 1000, "passes over the buckets").or(Preset::Integer(10))],
        [],
        |table, given| altered(table, |table| table.balance(given.whole(0) as u32))
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("width", 2, 16, "bits per counter; counters stick at the maximum")
            .or(Preset::Integer(4)),
        PARAM_RECORD,
    ],
    // Whole keys and values are kept in memory.
    reach: 200_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_keys_away_from_home_are_refused() {
        for form in [PRUNED, BASIC] {
            let builder = FastHashTable::builder().form(form).set("m", 200).set("k", 3);
            let mut table = builder.build().unwrap();
            (0..60u64).for_each(|key| _ = table.put(&key, &key.to_be_bytes()[6..]));
            (0..5u64).for_each(|key| table.remove(&key).unwrap());
            table.balance(2);
            let back: FastHashTable = Opener::new().decode_as(&to_bytes(&table)).unwrap();
            assert_eq!(back, table);
            let place = table.buckets.lists().next().unwrap().0;
            let refused = |change: fn(&mut FastHashTable, u64)| {
                let mut other = table.clone();
                change(&mut other, place);
                assert!(Opener::new().decode(&to_bytes(&other)).is_err(), "{form}");
            };
            refused(|other, place| other.counters.set(place, 0));
            refused(|other, place| _ = other.buckets.take_all(place));
            refused(|other, place| other.buckets.push(place, other.buckets.at(place)[0].clone()));
            refused(|other, place| {
                let items = other.buckets.take_all(place);
                items.into_iter().for_each(|item| other.buckets.push(1 << 40, item));
            });
            refused(|other, _| other.head.items += 1);
            refused(|other, _| other.removed = 1 << 20);
        }
    }
}

//! The adaptive cuckoo filter (Mitzenmacher, Pontarelli, Reviriego 2018; catalogue B9; S3 §IX).
//!
//! A filter in front of an exact table of the same keys. A key that passes is looked up in the table; if it is not
//! there, the filter was wrong, and it is told so. It then holds another fingerprint of the member that was mistaken
//! for that key, which it computes from the member's own bytes in the table:
//!
//! ```text
//!   filter   │ a=0 φ₀(x)=5e │   y passes: φ₀(y) = 5e          │ a=1 φ₁(x)=93 │   y: φ₁(y) ≠ 93
//!   table    │       x      │   y ≠ x: a false positive  ─▶   │       x      │   absent from now on
//! ```
//!
//! A slot has a selector a of s bits and the a-th fingerprint of its key. Keys are in one of d = 4 tables of single
//! slots. In the form `buckets` a key has two buckets of four, the fingerprint depends on the slot within the
//! bucket, and repairing swaps the entry with another one of its bucket; slots have no selector then.
//!
//! **Slow:** a copy of every key is kept, and is moved whenever its slot is.
//!
//! **Use it** if the same non-members are queried repeatedly and each false positive costs an access: a cache, a
//! flow table. **Don't** if every query is new: the rate of new queries does not improve, and the table of whole
//! keys is wasted. A slot that was repaired 2^s times is back at its first fingerprint. Removals are exact: an
//! absent key is always refused.

mod shape;

use smallvec::SmallVec;

pub use shape::Shape;
use shape::{FINGERPRINT, MAX_FINGERPRINT};

use crate::cells::Packed;
use crate::hash::{Generator, mix64};
use crate::parts::kicks::{self, Nests};
use crate::parts::layers::any_passes;
use crate::parts::ledger::{Item, Ledger};
use crate::plan::PARAM_RECORD;
use crate::plan::cuckoo::PARAM_KICKS;
use crate::theory::cuckoo as theory;
use crate::variant::prelude::*;

/// A set of keys behind a filter that learns from its mistakes.
///
/// ```
/// let mut cache = everbloom::fingerprints::AdaptiveCuckoo::with_rate(1000, 0.01)?;
/// for page in 0..1000u64 {
///     cache.insert(&page)?;
/// }
/// let wrong = (1000..100_000u64).find(|page| cache.contains(page)).expect("a false positive");
/// assert!(!cache.look_up(&wrong), "the table behind the filter knows better");
/// assert!(!cache.contains(&wrong), "and now the filter does, too");
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveCuckoo {
    head: Head,
    shape: Shape,
    /// False positives that were repaired.
    repairs: u64,
    cells: Packed,
    /// The key of every slot in use, and how often it was inserted.
    keys: Ledger,
}

state!(AdaptiveCuckoo { head, shape, repairs, cells, keys });

impl AdaptiveCuckoo {
    /// Four tables of `slots` slots, with selectors of `selector` bits (up to 8) and fingerprints of `fingerprint`
    /// bits (1 to 48).
    pub fn with_shape(slots: u64, selector: u32, fingerprint: u32, hasher: Hasher) -> Result<Self> {
        let goal = Goal::of(hasher).set("buckets", slots).set("selector", selector);
        empty(&goal.set("fingerprint", fingerprint))
    }

    /// The slots that speak for a key.
    fn matching(&self, digest: Digest) -> SmallVec<[u64; 8]> {
        let shape = self.shape;
        let speaks = |slot: &u64| {
            let held = self.cells.get(*slot);
            held != 0 && held == shape.cell(digest, *slot, held >> shape.fingerprint)
        };
        shape.places(digest).into_iter().filter(speaks).collect()
    }

    /// The slot that holds a key.
    fn slot_of(&self, digest: Digest, key: &[u8]) -> Option<u64> {
        let held = |slot: &u64| self.keys.find(*slot, key).is_some();
        self.shape.places(digest).into_iter().find(held)
    }

    /// Whether the filter lets the key pass.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        !self.matching(self.head.digest(key)).is_empty()
    }

    /// Whether the key is a member: asks the table where the filter lets the key pass, and repairs the filter if that
    /// was a mistake.
    pub fn look_up<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let digest = self.head.digest(key);
        let matching = self.matching(digest);
        if matching.is_empty() {
            return false;
        }
        let member =
            key.with_bytes(|key| matching.iter().any(|slot| self.keys.find(*slot, key).is_some()));
        if !member {
            self.repairs += 1;
            matching.into_iter().for_each(|slot| self.adapt(digest, slot));
        }
        member
    }

    /// Lets a slot speak for its key by another fingerprint, unless an earlier repair has moved who was mistaken.
    fn adapt(&mut self, mistaken: Digest, slot: u64) {
        let shape = self.shape;
        let held = self.cells.get(slot);
        if held == 0 || held != shape.cell(mistaken, slot, held >> shape.fingerprint) {
            return;
        }
        if shape.room == 1 {
            let next = ((held >> shape.fingerprint) + 1) & ((1 << shape.selector) - 1);
            return self.write(slot, next);
        }
        let room = u64::from(shape.room);
        // Any of the three others, empty or not.
        let by = 1 + mix64(self.repairs ^ mix64(slot)) % (room - 1);
        let other = slot - slot % room + (slot + by) % room;
        let [ours, theirs] = [slot, other].map(|slot| self.keys.take_all(slot));
        ours.into_iter().for_each(|item| self.keys.push(other, item));
        theirs.into_iter().for_each(|item| self.keys.push(slot, item));
        [slot, other].into_iter().for_each(|slot| self.write(slot, 0));
    }

    /// Writes a slot from the key that is there.
    fn write(&mut self, slot: u64, selector: u64) {
        let key = self.keys.at(slot).first();
        let cell =
            key.map_or(0, |item| self.shape.cell(self.head.digest(&*item.key), slot, selector));
        self.cells.set(slot, cell);
    }

    /// Inserts a key, which is counted if already present. Refused, with nothing changed, if there is no room for it.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.digest(key);
        key.with_bytes(|key| self.insert_bytes(digest, key))
    }

    fn insert_bytes(&mut self, digest: Digest, key: &[u8]) -> Result<Seen> {
        if let Some(slot) = self.slot_of(digest, key) {
            let times = self.times(slot).saturating_add(1);
            self.keys.set(slot, key, &times.to_le_bytes());
            self.head.count(1);
            return Ok(Seen::Maybe);
        }
        let item = Item { key: key.into(), value: 1u64.to_le_bytes().into() };
        let (most, seed) = (self.shape.kicks, digest.word(FINGERPRINT - 1));
        let random = Generator::new(seed);
        let mut walk = Walk { filter: self, random, overwritten: SmallVec::new() };
        if kicks::insert(&mut walk, Entry { digest, item }, most).is_some() {
            // Keys are back in their slots, but not the selectors.
            let overwritten = std::mem::take(&mut walk.overwritten);
            overwritten.iter().rev().for_each(|(slot, cell)| self.cells.set(*slot, *cell));
            let message = format!(
                "no room for the key after {most} kicks: build the filter for more {{items}}"
            );
            return Err(Error::new(Kind::CapacityExceeded, message));
        }
        self.head.count(1);
        Ok(Seen::New)
    }

    /// How often the key of a slot was inserted.
    fn times(&self, slot: u64) -> u64 {
        let value = self.keys.at(slot).first().and_then(|item| (*item.value).try_into().ok());
        value.map_or(1, u64::from_le_bytes)
    }

    /// Removes a key; refused if it is not in the table. One that was inserted several times is removed as often.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.digest(key);
        key.with_bytes(|key| {
            let slot = self.slot_of(digest, key).ok_or_else(|| {
                Error::new(Kind::NotDeletable, "the key is not in the table behind the filter")
            })?;
            match self.times(slot) {
                0 | 1 => {
                    self.keys.take(slot, key);
                    self.cells.set(slot, 0);
                }
                times => self.keys.set(slot, key, &(times - 1).to_le_bytes()),
            }
            self.head.count_off();
            Ok(())
        })
    }

    /// P(an absent key passes), value by value of its fingerprint: small tables hold some values more often than others.
    /// `None` where the tables are large, or slots have several functions.
    fn passing_by_value(&self) -> Option<f64> {
        let Shape { tables, buckets, room, fingerprint, .. } = self.shape;
        if room > 1 || self.repairs > 0 || self.cells.len() > 1 << 16 || fingerprint > 12 {
            return None;
        }
        let mut absent = vec![1.0; 1 << fingerprint];
        for table in 0..u64::from(tables) {
            let mut with = vec![0u32; absent.len()];
            for slot in table * buckets..(table + 1) * buckets {
                // Slots that another function speaks for are those of a repaired filter.
                *with.get_mut(self.cells.get(slot) as usize)? += 1;
            }
            let silent = with.iter().map(|with| 1.0 - f64::from(*with) / buckets as f64);
            absent.iter_mut().zip(silent).for_each(|(absent, silent)| *absent *= silent);
        }
        // Zero is no fingerprint.
        Some(absent[1..].iter().map(|absent| 1.0 - absent).sum::<f64>() / self.shape.values())
    }

    /// P(some slot of an absent key's bucket in a table speaks for it), over all the buckets: the first table is fuller than
    /// the last, and small ones are unevenly full.
    fn passing(&self, table: u32) -> f64 {
        let (room, buckets) = (u64::from(self.shape.room), self.shape.buckets);
        let start = u64::from(table) * buckets;
        let used = |bucket: u64| {
            let slots = (start + bucket) * room..(start + bucket + 1) * room;
            slots.filter(|slot| self.cells.get(*slot) != 0).count()
        };
        let mut with = vec![0u64; room as usize + 1];
        (0..buckets).for_each(|bucket| with[used(bucket)] += 1);
        let values = self.shape.values();
        let rates = with.iter().zip(0u32..).skip(1);
        let passing = rates.map(|(with, used)| *with as f64 * theory::fpr(values, used.into()));
        passing.sum::<f64>() / buckets as f64
    }

    /// Number of keys in the table.
    pub fn used(&self) -> u64 {
        self.keys.len()
    }

    /// False positives that were found out and repaired.
    pub fn repairs(&self) -> u64 {
        self.repairs
    }

    /// Every slot in use has a key, one of its own, and speaks for it.
    fn check(&self) -> Result<()> {
        let shape = self.shape;
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if (shape.room > 1) != (self.head.form == BUCKETS) || shape.room > 1 && shape.selector > 0 {
            return wrong("slots of another form");
        }
        if shape.slots() != self.cells.len() || shape.width() != self.cells.width() {
            return wrong("slots that are not those of the tables");
        }
        let used = self.cells.iter().filter(|cell| *cell != 0).count() as u64;
        let single = self.keys.lists().all(|(slot, items)| {
            slot < self.cells.len() && items == 1 && self.cells.get(slot) != 0
        });
        let counted = self.keys.iter().all(|(_, item)| item.value.len() == 8);
        if !single || !counted || self.keys.len() != used {
            return wrong("keys that are not those of the slots in use");
        }
        // Without the key of the hash nobody can tell where keys belong.
        let speaks = |(slot, item): (u64, &Item)| {
            self.matching(self.head.digest(&*item.key)).contains(&slot)
        };
        if !self.head.hasher.is_keyed() && !self.keys.iter().all(speaks) {
            return wrong("a slot that does not speak for its key");
        }
        Ok(())
    }
}

/// A key on its way.
struct Entry {
    digest: Digest,
    item: Item,
}

/// One insertion.
struct Walk<'a> {
    filter: &'a mut AdaptiveCuckoo,
    random: Generator,
    /// Slots that got another key, and what they held before.
    overwritten: SmallVec<[(u64, u64); 16]>,
}

impl Walk<'_> {
    /// The slots of an entry, but for those of the bucket it comes from.
    fn open(&self, digest: Digest, from: Option<u64>) -> SmallVec<[u64; 8]> {
        let shape = self.filter.shape;
        let room = u64::from(shape.room);
        let mut places = shape.places(digest);
        places.retain(|slot| from.is_none_or(|from| *slot / room != from / room));
        places
    }

    /// Puts a key into a slot, under the first of its fingerprints.
    fn put(&mut self, slot: u64, entry: Entry) {
        let cell = self.filter.shape.cell(entry.digest, slot, 0);
        self.filter.keys.push(slot, entry.item);
        self.filter.cells.set(slot, cell);
    }
}

impl Nests for Walk<'_> {
    type Entry = Entry;
    type Slot = u64;

    fn settle(&mut self, entry: Entry, from: Option<u64>) -> Option<Entry> {
        let places = self.open(entry.digest, from);
        match places.into_iter().find(|slot| self.filter.cells.get(*slot) == 0) {
            Some(free) => self.put(free, entry),
            None => return Some(entry),
        }
        None
    }

    fn victim(&mut self, entry: &Entry, from: Option<u64>, _kick: u32) -> u64 {
        let mut places = self.open(entry.digest, from);
        // One table has no other bucket to go to.
        if places.is_empty() {
            places = self.open(entry.digest, None);
        }
        places[self.random.below(places.len() as u64) as usize]
    }

    fn swap(&mut self, slot: u64, entry: Entry) -> (u64, Entry) {
        self.overwritten.push((slot, self.filter.cells.get(slot)));
        let item = self.filter.keys.take_all(slot).pop();
        let item = item.unwrap_or_else(|| Item { key: Box::default(), value: Box::default() });
        let out = Entry { digest: self.filter.head.digest(&*item.key), item };
        self.put(slot, entry);
        (slot, out)
    }
}

impl Stream for AdaptiveCuckoo {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let cells = Packed::try_new(shape.slots(), shape.width())?;
        Ok(Self { head, shape: *shape, repairs: 0, cells, keys: Ledger::default() })
    }
}

face!(AdaptiveCuckoo: Insert, Remove);
planned!(AdaptiveCuckoo);
keyed!(AdaptiveCuckoo: Remove);

impl Insert for AdaptiveCuckoo {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        AdaptiveCuckoo::insert(self, record.key)
    }
}

impl Filter for AdaptiveCuckoo {
    /// What the filter says; the table is not asked.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used() as f64 / self.cells.len() as f64)
    }

    /// Of keys that were not asked for before: repairs do not change it.
    fn now(&self) -> Rates {
        let each = || any_passes((0..self.shape.tables).map(|table| self.passing(table)));
        let fpr = self.passing_by_value().unwrap_or_else(each);
        Rates::one_sided((fpr + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { tables, buckets, room, selector, fingerprint, kicks } = self.shape;
        vec![
            fact("d", tables),
            fact("buckets", buckets),
            fact("slots", room),
            fact("selector", selector),
            fact("fingerprint", fingerprint),
            fact("kicks", kicks),
            fact("repairs", self.repairs),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.digest(key);
        let matching = self.matching(digest);
        let touched = |index: u64| Touched {
            index,
            value: self.cells.get(index),
            agrees: matching.contains(&index),
        };
        self.shape.places(digest).into_iter().map(touched).collect()
    }
}

const SELECTOR: &str = "selector";
const BUCKETS: &str = "buckets";

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Remove];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<AdaptiveCuckoo>(Facts {
    id: 105,
    slug: "adaptive-cuckoo",
    entry: "B9",
    question: "Is it in the set, when the same absent keys are asked for again and again?",
    name: "Adaptive cuckoo filter",
    paper: "M. Mitzenmacher, S. Pontarelli, P. Reviriego, Adaptive cuckoo filters, ALENEX 2018",
    family: "fingerprints",
    needs: &["membership", "delete", "known-queries"],
    meaning: "items are insertions minus removals; the rate is the false-positive rate of first queries; sizes \
              include whole keys, of record-bytes bytes each",
    forms: &[Form::exact(SELECTOR, ABILITIES), Form::exact(BUCKETS, ABILITIES)],
    operations: &[change!(
        AdaptiveCuckoo,
        "adapt",
        "Look keys up in the table of whole keys, and change the fingerprints that let a non-member pass.",
        [],
        [Keys],
        |filter, given| {
            let before = filter.repairs();
            filter.look_up(given.record.key);
            Ok(filter.repairs() > before)
        }
    )],
    params: &[
        Param::integer("d", 1, 8, "number of tables, one bucket of a key in each"),
        Param::integer("buckets", 1, 1 << 40, "buckets per table"),
        Param::integer("selector", 0, 8, "bits that say which fingerprint a slot has"),
        Param::integer("fingerprint", 1, MAX_FINGERPRINT as u64, "bits per fingerprint"),
        PARAM_KICKS.or(Preset::Integer(500)),
        PARAM_RECORD,
    ],
    // Whole keys are kept in memory.
    reach: 500_000,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_table_and_slots_differ_are_refused() {
        for form in [SELECTOR, BUCKETS] {
            let mut filter =
                AdaptiveCuckoo::builder().items(60).rate(0.1).form(form).build().unwrap();
            (0..60u64).for_each(|key| _ = filter.insert(&key).unwrap());
            filter.insert(&3u64).unwrap();
            (100..2000u64).for_each(|key| assert!(!filter.look_up(&key)));
            assert!(filter.repairs() > 20);
            let back: AdaptiveCuckoo = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
            assert_eq!(back, filter);
            let slot = (0..).find(|slot| filter.cells.get(*slot) != 0).unwrap();
            let refused = |change: fn(&mut AdaptiveCuckoo, u64)| {
                let mut other = filter.clone();
                change(&mut other, slot);
                assert!(Opener::new().decode(&to_bytes(&other)).is_err());
            };
            refused(|other, slot| other.cells.set(slot, 0));
            refused(|other, slot| other.cells.set(slot, other.cells.get(slot) ^ 1));
            refused(|other, slot| _ = other.keys.take_all(slot));
            refused(|other, slot| other.keys.push(slot, other.keys.at(slot)[0].clone()));
            refused(|other, slot| other.keys.push(1 << 40, other.keys.at(slot)[0].clone()));
            refused(|other, _| other.shape.buckets += 1);
            refused(|other, _| other.shape.room = 5 - other.shape.room);
        }
    }
}

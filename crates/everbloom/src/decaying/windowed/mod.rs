//! Windowed filters: a time to live with every key (catalogue B18; Fan et al. 2014 for the table, Shtul, Baquero,
//! Almeida 2020 for the slices).
//!
//! The forms `cuckoo` and `multiset` are a cuckoo table whose slots carry the epoch in which they expire. An epoch
//! is a `grain` of time; what has expired is a free slot:
//!
//! ```text
//!   bucket i₁        │ 3a·E17 │ 9c·E12 │ ______ │ 07·E44 │       fingerprint · epoch of its end
//!   bucket i₂        │ 51·E19 │ …          t = 13: 9c is gone
//! ```
//!
//! A query reads two buckets. E = ⌈(now + ttl)/δ⌉, so a key is found for all of its time to live, and for less than
//! a grain longer. Tags are E modulo 2^e − 1; every tick clears the dead ones of a part of the table, before they
//! would look alive again, and a leap in time is taken tick by tick or in one pass over all. In `cuckoo` a key
//! whose fingerprint is there takes no second slot: the life of the slot becomes the longer one. Then nothing can
//! be deleted or shortened, since two keys may share a slot. In `multiset` every insertion takes a slot, and a
//! deletion takes the match that *expires first*: whoever is left outlives both. A table without room gets another
//! of the same size.
//!
//! The form `ring` has a standard filter for each epoch of expiry: a key goes into the filter of its E, all living
//! ones are queried, and a tick drops one. Rings merge. The form `slices` counts insertions instead of time (an
//! age-partitioned filter): every key sets a bit in each of the k youngest of k + l slices, a fresh slice comes
//! after every g keys, and a key is found where k slices in a row have it:
//!
//! ```text
//!   youngest  ▒▒▒▒▒▒▒▒▒ │ ░ ░ ░ ░      k = 3, l = 4: keys move to the right until their slices are dropped,
//!             k slices    l slices     no sooner than l·g insertions later
//! ```
//!
//! **Slow:** in `slices` a key sets k bits in as many slices, and a query may look at all k + l of them.
//!
//! **Use it** if every key has a time to live: sessions, nonces, revocations, rate limits. **Don't** if all
//! lifetimes are the same number of keys (`active-active` takes fewer bits, with a blurred limit), or if
//! frequencies fade (`time-decaying`).

mod shape;
mod table;

pub use shape::{Shape, slices_rate};

use shape::{Kind as Of, run_rate};
use table::{MAX_PRINT, SLOTS, Table};

use crate::error::agree;
use crate::filter::Time;
use crate::hash::Generator;
use crate::parts::generations::Generations;
use crate::variant::prelude::*;

/// Keys that are found for a time of their own.
///
/// ```
/// use everbloom::decaying::Windowed;
///
/// let mut sessions = Windowed::with_rate(1000, 0.01)?;
/// sessions.insert_for("token", 30, 1000)?;
/// assert!(sessions.contains_at("token", 1029));
/// assert!(!sessions.contains_at("token", 1031));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Windowed {
    head: Head,
    /// The latest time that was given.
    now: u64,
    /// δ, the length of an epoch.
    grain: u64,
    /// The longest time to live, and the default one.
    ttl: u64,
    /// g, the insertions between two slices.
    turn: u64,
    /// Insertions since the last slice.
    inserted: u64,
    /// k of the slices.
    run: u64,
    tables: Vec<Table>,
    layers: Option<Generations>,
    generator: Generator,
}

state!(Windowed { head, now, grain, ttl, turn, inserted, run, tables, layers, generator });

/// Tables of one filter.
const MAX_TABLES: usize = 1 << 10;

impl Windowed {
    /// A table of `buckets` buckets of four slots, with fingerprints of `print` bits and tags of `tag` bits; an
    /// epoch is one unit of time.
    pub fn with_table(
        form: &'static str,
        buckets: u64,
        print: u32,
        tag: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        if ![CUCKOO, MULTISET].contains(&form) || !(1..=MAX_PRINT).contains(&print) || buckets == 0
        {
            let message = format!("a {form} table of {buckets} buckets and {print} bits");
            return Err(Error::parameter(message));
        }
        if !(3..=32).contains(&tag) {
            return Err(Error::setting("tag", tag, "a tag has 3 to 32 bits"));
        }
        let ttl = table::longest(tag) - 1;
        let shape = Shape { form, grain: 1, ttl, of: Of::Table { buckets, print, tag } };
        Self::empty(&shape, Head::new(hasher, form))
    }

    /// Slices for `k` bits per key and `more` further slices; a fresh one comes after every `turn` keys.
    pub fn with_slices(k: u32, more: u32, turn: u64, hasher: Hasher) -> Result<Self> {
        let shape = Shape { form: SLICES, grain: 1, ttl: 1, of: Of::slices(k, more, turn)? };
        Self::empty(&shape, Head::new(hasher, SLICES))
    }

    /// Inserts a key for the default time to live, now.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        self.insert_for(key, self.ttl, self.now)
    }

    /// Inserts a key at `time` for `ttl` units of time, 1 to the longest. A time before the last one is taken for
    /// the last one.
    pub fn insert_for<K: Key + ?Sized>(&mut self, key: &K, ttl: u64, time: u64) -> Result<Seen> {
        if !(1..=self.ttl).contains(&ttl) && self.head.form != SLICES {
            let message = format!("a time to live of {ttl}: it must be from 1 to {}", self.ttl);
            return Err(Error::record(message));
        }
        let time = time.max(self.now);
        let digest = self.head.hasher.digest(key);
        if self.head.form == MULTISET {
            self.check_copies(digest, time)?;
        }
        self.advance(time);
        let seen = match (self.head.form, &mut self.layers) {
            (SLICES, Some(layers)) => {
                let seen = run_of(layers, digest, self.run);
                (0..self.run as usize).for_each(|i| layers.insert(i, digest));
                self.inserted += 1;
                if self.inserted >= self.turn {
                    layers.shift();
                    self.inserted = 0;
                }
                seen
            }
            (_, Some(layers)) => {
                let seen = (0..layers.len()).any(|i| layers.contains(i, digest));
                let life = life(time, ttl, self.grain);
                layers.insert(layers.len() - life as usize, digest);
                seen
            }
            _ => self.put(digest, life(time, ttl, self.grain))?,
        };
        self.head.count(1);
        Ok(Seen::new_if(!seen))
    }

    /// Two buckets hold so many copies of a key and no more, whatever is moved.
    fn check_copies(&self, digest: Digest, time: u64) -> Result<()> {
        let passed = self.epochs_until(time);
        let copies = self.matches(digest).filter(|(_, _, left)| *left > passed).count() as u64;
        if copies < 2 * SLOTS {
            return Ok(());
        }
        Err(Error::new(
            Kind::CapacityExceeded,
            format!("the key is already there {copies} times, which fills its buckets"),
        ))
    }

    /// Writes an entry; true if its fingerprint was there.
    fn put(&mut self, digest: Digest, life: u64) -> Result<bool> {
        let found = self.matches(digest).max_by_key(|(_, _, left)| *left);
        if let Some((t, slot, left)) = found.filter(|_| self.head.form == CUCKOO) {
            self.tables[t].lives.set(slot, left.max(life));
            return Ok(true);
        }
        let place = self.tables[0].place(digest);
        if self.tables.iter_mut().any(|table| table.write(place, life)) {
            return Ok(found.is_some());
        }
        let random = self.generator.clone();
        let last = self.tables.len() - 1;
        if !self.tables[last].push(place, life, &mut self.generator) {
            if self.tables.len() >= MAX_TABLES {
                self.generator = random;
                let message = "no table has room for the key: build the filter for more {items}";
                return Err(Error::new(Kind::CapacityExceeded, message));
            }
            let mut table = self.tables[0].another()?;
            table.write(place, life);
            self.tables.push(table);
        }
        Ok(found.is_some())
    }

    /// Table, slot and life of every entry with the key's fingerprint.
    fn matches(&self, digest: Digest) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let of = move |(t, table): (usize, &'_ Table)| {
            let found: Vec<_> = table.matches(table.place(digest)).collect();
            found.into_iter().map(move |(slot, left)| (t, slot, left))
        };
        self.tables.iter().enumerate().flat_map(of)
    }

    /// Whether the key may be alive, now.
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.contains_at(key, self.now)
    }

    /// Whether the key may be alive at `time`; a time before the last one is taken for the last one.
    pub fn contains_at<K: Key + ?Sized>(&self, key: &K, time: u64) -> bool {
        self.epochs_left(self.head.hasher.digest(key), time) > 0
    }

    /// How long the key will be found from `time` on, at most.
    pub fn remaining<K: Key + ?Sized>(&self, key: &K, time: u64) -> u64 {
        let time = time.max(self.now);
        let left = self.epochs_left(self.head.hasher.digest(key), time);
        // Up to the end of its last epoch.
        left.saturating_mul(self.grain).saturating_sub(time % self.grain)
    }

    fn epochs_left(&self, digest: Digest, time: u64) -> u64 {
        let left = match (self.head.form, &self.layers) {
            (SLICES, Some(layers)) => return run_of(layers, digest, self.run).into(),
            (_, Some(layers)) => {
                let newest = (0..layers.len()).find(|i| layers.contains(*i, digest));
                newest.map_or(0, |i| (layers.len() - i) as u64)
            }
            _ => self.matches(digest).map(|(_, _, left)| left).max().unwrap_or(0),
        };
        left.saturating_sub(self.epochs_until(time))
    }

    /// Takes a key out, in the form `multiset`: of all that could be its entry the one that expires first.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        if self.head.form != MULTISET {
            return Err(Error::unsupported(
                "two keys may share a slot: only form multiset can remove",
            ));
        }
        let first = self.matches(self.head.hasher.digest(key)).min_by_key(|(_, _, left)| *left);
        let (t, slot, _) = first.ok_or_else(|| {
            Error::new(Kind::NotDeletable, "the key is not in the filter, or has expired")
        })?;
        self.tables[t].lives.set(slot, 0);
        self.head.count_off();
        Ok(())
    }

    fn epochs_until(&self, time: u64) -> u64 {
        (time.max(self.now) / self.grain) - self.now / self.grain
    }

    /// Lets time pass until `time`; no clock goes backwards.
    pub fn advance(&mut self, time: u64) {
        let epochs = self.epochs_until(time);
        self.now = self.now.max(time);
        self.tables.iter_mut().for_each(|table| table.lives.age(epochs));
        if let Some(layers) = self.layers.as_mut().filter(|_| self.head.form == RING) {
            layers.age(epochs);
        }
    }

    /// The latest time that was given.
    pub fn time(&self) -> u64 {
        self.now
    }

    /// Tables in use, of one size each.
    pub fn tables(&self) -> usize {
        self.tables.len()
    }

    /// Takes another ring in, at the later of their times.
    pub fn union(&mut self, other: &Self) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("grain", self.grain, other.grain)?;
        agree("time to live", self.ttl, other.ttl)?;
        let (Some(own), Some(theirs)) = (&self.layers, &other.layers) else {
            return Err(Error::unsupported("only rings can be merged"));
        };
        own.agree(theirs)?;
        let mut theirs = other.clone();
        theirs.advance(self.now);
        self.advance(other.now);
        if let (Some(own), Some(theirs)) = (&mut self.layers, &theirs.layers) {
            own.union(theirs);
        }
        self.head.count(other.head.items);
        Ok(())
    }

    fn check(&self) -> Result<()> {
        let Self { now, grain, ttl, turn, inserted, run, tables, layers, .. } = self;
        let plain = *turn == 0 && *inserted == 0 && *run == 0;
        let spans = |epochs: u64| *grain > 0 && *ttl > 0 && ttl.div_ceil(*grain) < epochs;
        let fits = match (self.head.form, layers) {
            (CUCKOO | MULTISET, None) => {
                let alike = tables.iter().all(|table| table.same_shape(&tables[0]));
                let first = tables.first().is_some_and(|table| spans(table.lives.longest()));
                plain && first && alike && tables.len() <= MAX_TABLES
            }
            (RING, Some(layers)) => {
                let shifted = layers.turn() == now / (*grain).max(1);
                plain && tables.is_empty() && spans(layers.len() as u64) && shifted
            }
            (SLICES, Some(layers)) => {
                let run = (1..=layers.len() as u64).contains(run) && layers.flat().k == 1;
                run && tables.is_empty() && *grain == 1 && *ttl == 1 && inserted < turn
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: a window that is not that of its form"))
    }
}

/// Epochs until a key dies that lives for `ttl` from `now` on: rounded up by the time, not by the epoch, or it
/// would die early.
fn life(now: u64, ttl: u64, grain: u64) -> u64 {
    let end = u128::from(now) + u128::from(ttl);
    (end.div_ceil(grain.into()) - u128::from(now / grain)) as u64
}

/// Whether `run` slices in a row have the key.
fn run_of(layers: &Generations, digest: Digest, run: u64) -> bool {
    let mut row = 0;
    (0..layers.len()).any(|i| {
        row = if layers.contains(i, digest) { row + 1 } else { 0 };
        row >= run
    })
}

shaped!(Windowed);

impl Stream for Windowed {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { grain, ttl, of, .. } = *shape;
        let generator = Generator::new(head.hasher.seed() ^ 0x5749_4E44_4F57_4544);
        let (mut tables, mut layers, mut turn, mut run) = (Vec::new(), None, 0, 0);
        match of {
            Of::Table { buckets, print, tag } => tables.push(Table::new(buckets, print, tag)?),
            Of::Ring { flat, filters } => layers = Some(Generations::new(flat, filters as usize)?),
            Of::Slices { slice, k, more, turn: g } => {
                let flat = Flat { m: slice, k: 1 };
                layers = Some(Generations::new(flat, (k + more) as usize)?);
                (turn, run) = (g, k.into());
            }
        }
        Ok(Self { head, now: 0, grain, ttl, turn, inserted: 0, run, tables, layers, generator })
    }
}

face!(Windowed: Insert, Remove, Age, Merge);
planned!(Windowed: "A filter for `items` living keys at a false-positive rate of `fpr`.");
keyed!(Windowed: Remove, Union);

impl Filter for Windowed {
    /// As of the record's time, where it has one, with the time that the key has left. The value beside the key is
    /// its time to live, as in a build, and does not matter here.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let time = record.time.unwrap_or(self.now);
        if self.head.form == SLICES {
            return Ok(Answer::of(self.contains_at(record.key, time)));
        }
        Ok(Answer::counted(Counted::about(self.remaining(record.key, time))))
    }

    /// Living entries; of rings nobody knows how keys spread over the epochs.
    fn fill(&self) -> Option<f64> {
        match self.head.form {
            RING => None,
            SLICES => self.layers.as_ref().map(Generations::fill),
            _ => {
                let slots: u64 = self.tables.iter().map(|table| table.lives.len()).sum();
                Some(self.tables.iter().map(Table::living).sum::<u64>() as f64 / slots as f64)
            }
        }
    }

    /// Members are the keys that live.
    fn now(&self) -> Rates {
        let of_layers = |layers: &Generations| (0..layers.len()).map(|i| layers.fpr(i)).collect();
        let rates: Vec<f64> = match &self.layers {
            Some(layers) => of_layers(layers),
            None => self.tables.iter().map(Table::fpr).collect(),
        };
        if self.head.form == SLICES {
            return Rates::one_sided(run_rate(&rates, self.run as usize));
        }
        let absent: f64 = rates.iter().map(|rate| libm::log1p(-rate)).sum();
        Rates::one_sided(-libm::expm1(absent))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.layers.as_ref().map_or_else(Vec::new, Generations::describe);
        if let Some(table) = self.tables.first() {
            facts.extend([
                fact("tables", self.tables.len() as u64),
                fact("buckets", table.buckets()),
            ]);
            facts.extend([fact("print", table.print()), fact("tag", table.lives.width())]);
        }
        if self.head.form == SLICES {
            facts.extend([fact("run", self.run), fact("turn", self.turn)]);
        } else {
            facts.extend([
                fact("ttl", self.ttl),
                fact("grain", self.grain),
                fact("time", self.now),
            ]);
        }
        facts
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.hasher.digest(key);
        match &self.layers {
            Some(layers) => layers.trace(0..layers.len(), digest),
            None => self.tables.iter().flat_map(|t| t.trace(t.place(digest))).collect(),
        }
    }
}

impl Insert for Windowed {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        let ttl = match record.value {
            None => self.ttl,
            Some(Value::Count(ttl)) => ttl,
            Some(_) => {
                return Err(Error::record("the value of the key must be its time to live"));
            }
        };
        self.insert_for(record.key, ttl, record.time.unwrap_or(self.now))
    }
}

impl Age for Windowed {
    /// A tick is a unit of time; one of slices is a fresh slice.
    fn age(&mut self, ticks: u64) {
        match &mut self.layers {
            Some(layers) if self.head.form == SLICES => {
                layers.age(ticks);
                self.inserted = if ticks > 0 { 0 } else { self.inserted };
            }
            _ => self.advance(self.now.saturating_add(ticks)),
        }
    }
}

const CUCKOO: &str = "cuckoo";
const MULTISET: &str = "multiset";
const RING: &str = "ring";
const SLICES: &str = "slices";
const LIVING: &str = "keys are queried within their time to live";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Windowed>(Facts {
    id: 115,
    slug: "windowed",
    entry: "B18",
    question: "Was it seen, when every key has a lifetime of its own?",
    name: "Windowed filter with a time to live per insertion",
    paper: "B. Fan, D. G. Andersen, M. Kaminsky, M. D. Mitzenmacher, Cuckoo filter: practically better \
            than Bloom, CoNEXT 2014; A. Shtul, C. Baquero, P. S. Almeida, Age-partitioned Bloom \
            filters, 2020",
    family: "decaying",
    needs: &["decay", "delete"],
    input: Input::valued(ValueKind::Count).with_time(Time::Optional),
    meaning: "items are keys that live at the same time, or the last insertions in the form slices; the count after \
              a key is its time to live, the rate is the false-positive rate",
    forms: &[
        Form::exact_while(CUCKOO, &[Ability::Insert, Ability::Age], LIVING),
        Form::exact_while(MULTISET, &[Ability::Insert, Ability::Remove, Ability::Age], LIVING),
        Form::exact_while(RING, &[Ability::Insert, Ability::Age, Ability::Merge], LIVING),
        Form::lossy(
            SLICES,
            &[Ability::Insert, Ability::Age],
            "keys are forgotten with their slices",
        ),
    ],
    params: shape::PARAMS,
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_windows_of_another_form_are_refused() {
        for form in [CUCKOO, MULTISET, RING, SLICES] {
            let mut f: Windowed = empty(&Goal::new(10, 0.1).set("form", form)).unwrap();
            f.insert_for("a", 9, 1000).unwrap();
            let back: Windowed = Opener::new().decode_as(&to_bytes(&f)).unwrap();
            assert_eq!(back, f);
            let lies: [fn(&mut Windowed); 7] = [
                |f| f.grain = 0,
                |f| f.ttl = 1 << 40,
                |f| f.inserted = f.turn + 1,
                |f| f.run = if f.run == 0 { 1 } else { 0 },
                |f| f.tables.push(Table::new(3, 5, 4).unwrap()),
                |f| f.tables.clear(),
                |f| {
                    f.layers = if f.layers.is_some() {
                        None
                    } else {
                        Generations::new(Flat { m: 9, k: 1 }, 3).ok()
                    }
                },
            ];
            for (i, lie) in lies.into_iter().enumerate() {
                let mut liar = f.clone();
                lie(&mut liar);
                // Rings and slices have no tables to lose.
                assert!(
                    liar == f || Opener::new().decode(&to_bytes(&liar)).is_err(),
                    "{form}: lie {i}"
                );
            }
        }
    }
}

//! A table of fingerprints of which each may be in two buckets, either found from the other (catalogue B7).
//!
//! A key has a fingerprint φ and a first bucket; the second is the first xored with a distance that depends on φ
//! alone. So an entry can be moved without its key, and entries that answer for a key carry the same
//! information: removing any of them is as good as removing the key's own.

#[cfg(target_arch = "x86_64")]
mod avx512;

use std::marker::PhantomData;

use super::kicks::{self, Nests};
use super::tables::{FingerprintTable, Tables, missing};
use crate::cells::{Layout, Slots};
use crate::error::{Error, Kind, Result, agree};
use crate::filter::{Answer, Counted, Fact, Part, Rates, Touched, fact, real};
use crate::hash::{Digest, Generator, mix64, multiply_shift};
use crate::plan::cuckoo::{Buckets, MAX_FINGERPRINT, MAX_KICKS};
use crate::probe::bulk::FETCH_FROM;
use crate::state::{Decoder, Encoder, Inline, State};
use crate::theory::cuckoo as theory;

/// How a key is found in a table.
pub(crate) trait Addressing {
    /// Whether it is as in [`Mixed`], for which many keys are looked up at once.
    const MIXED: bool = false;

    /// The first bucket of a key and its fingerprint, 1 to `most`.
    #[inline]
    fn home(digest: Digest, buckets: u64, most: u64) -> (u64, u64) {
        (multiply_shift(digest.h1, buckets), 1 + multiply_shift(digest.h2, most))
    }

    /// What the two buckets of a fingerprint differ by, modulo their number.
    fn distance(fingerprint: u64) -> u64;

    /// Which slot throws its fingerprint out: of the bucket that one was just moved to, or of both of a key's
    /// buckets at first.
    fn victim(random: &mut Generator, at: Turn) -> (u64, u32) {
        let bucket = if at.kick == 0 && random.below(2) == 1 { at.other } else { at.bucket };
        (bucket, random.below(at.room.into()) as u32)
    }
}

/// What is known when a slot is chosen.
#[derive(Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) bucket: u64,
    /// At first, the other bucket of the key.
    pub(crate) other: u64,
    pub(crate) room: u32,
    pub(crate) kick: u32,
}

/// The distance is a hash of the fingerprint (Fan, Andersen, Kaminsky, Mitzenmacher).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mixed;

impl Addressing for Mixed {
    const MIXED: bool = true;

    #[inline]
    fn distance(fingerprint: u64) -> u64 {
        mix64(fingerprint)
    }
}

/// A fingerprint and its two buckets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub(crate) first: u64,
    pub(crate) second: u64,
    pub(crate) fingerprint: u64,
}

/// Fingerprints in buckets, a power of two of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CuckooTable<A> {
    /// Kicks after which an insertion is refused.
    kicks: u32,
    pub(crate) slots: Slots,
    addressing: PhantomData<A>,
}

impl<A: Addressing> CuckooTable<A> {
    pub(crate) fn new(shape: &Buckets) -> Result<Self> {
        let Buckets { buckets, slots, fingerprint, kicks, layout } = *shape;
        Ok(Self::of(kicks, Slots::try_new(buckets, slots, fingerprint, layout)?))
    }

    pub(crate) fn of(kicks: u32, slots: Slots) -> Self {
        Self { kicks, slots, addressing: PhantomData }
    }

    pub(crate) fn kicks(&self) -> u32 {
        self.kicks
    }

    /// The other bucket of a fingerprint.
    #[inline]
    fn other(&self, bucket: u64, fingerprint: u64) -> u64 {
        bucket ^ A::distance(fingerprint) & (self.slots.buckets() - 1)
    }

    #[inline]
    pub(crate) fn places(&self, digest: Digest) -> Places {
        let (first, fingerprint) = A::home(digest, self.slots.buckets(), self.slots.max());
        Places { first, second: self.other(first, fingerprint), fingerprint }
    }

    /// Where an entry of a bucket may be, there or in a table of as many or fewer buckets.
    pub(crate) fn places_of(&self, bucket: u64, fingerprint: u64) -> Places {
        let first = bucket & (self.slots.buckets() - 1);
        Places { first, second: self.other(first, fingerprint), fingerprint }
    }

    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        let Places { first, second, fingerprint } = self.places(digest);
        self.slots.either(first, second, fingerprint)
    }

    /// Puts a fingerprint into a free slot of its buckets, if there is one.
    #[inline]
    pub(crate) fn settle(&mut self, places: Places) -> bool {
        let Places { first, second, fingerprint } = places;
        self.settle_in(first, fingerprint) || self.settle_in(second, fingerprint)
    }

    /// Puts a fingerprint into a free slot of a bucket, if there is one.
    #[inline]
    fn settle_in(&mut self, bucket: u64, fingerprint: u64) -> bool {
        let free = self.slots.find(bucket, 0);
        free.map(|slot| self.slots.set(bucket, slot, fingerprint)).is_some()
    }

    /// Puts a fingerprint into one of its buckets, moving others if it must; false, with nothing changed, if no
    /// room was found.
    #[inline]
    pub(crate) fn place(&mut self, places: Places) -> bool {
        self.settle(places) || self.make_room(places)
    }

    /// [`Self::place`] where both buckets are full.
    #[inline(never)]
    fn make_room(&mut self, places: Places) -> bool {
        let seed = mix64(places.first ^ mix64(places.fingerprint));
        let most = self.kicks;
        let mut walk = Walk { table: self, places, random: Generator::new(seed) };
        kicks::insert(&mut walk, places.fingerprint, most).is_none()
    }

    /// Inserts a key, once more if it is there; true if it was not.
    #[inline]
    pub(crate) fn insert(&mut self, digest: Digest) -> Result<bool> {
        let places = self.places(digest);
        let new = !self.slots.either(places.first, places.second, places.fingerprint);
        if self.place(places) { Ok(new) } else { Err(self.full(places)) }
    }

    /// Why a fingerprint found no room.
    #[cold]
    fn full(&self, places: Places) -> Error {
        let copies = self.copies(places);
        let buckets = if places.first == places.second { 1 } else { 2 };
        let message = if copies >= buckets * u64::from(self.slots.room()) {
            format!(
                "the key, or others with its fingerprint, are already there {copies} times, which fills its two \
                buckets: use a counting filter for repetitions"
            )
        } else {
            format!(
                "no room for the key after {} kicks: build the filter for more {{items}}",
                self.kicks
            )
        };
        Error::new(Kind::CapacityExceeded, message)
    }

    /// Removes a key; refused if its fingerprint is in neither of its buckets.
    #[inline]
    pub(crate) fn remove(&mut self, digest: Digest) -> Result<()> {
        if self.take(self.places(digest)) { Ok(()) } else { Err(missing()) }
    }

    /// Takes one fingerprint out of its buckets; false if none is there.
    #[inline]
    pub(crate) fn take(&mut self, places: Places) -> bool {
        [places.first, places.second].into_iter().any(|bucket| {
            let found = self.slots.find(bucket, places.fingerprint);
            found.map(|slot| self.slots.set(bucket, slot, 0)).is_some()
        })
    }

    /// How often a fingerprint is in its buckets.
    pub(crate) fn copies(&self, places: Places) -> u64 {
        let Places { first, second, fingerprint } = places;
        let second = if first == second { 0 } else { self.slots.count(second, fingerprint) };
        self.slots.count(first, fingerprint) + second
    }

    /// How often the key was inserted; too high by the keys that share its fingerprint and buckets.
    pub(crate) fn count(&self, digest: Digest) -> Counted {
        Counted::about(self.copies(self.places(digest)))
    }

    /// Writes for each digest whether its key may be a member: a large table is prefetched.
    pub(crate) fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        if self.slots.bits() < FETCH_FROM {
            let asked = self.contains_eights(digests, found);
            let pairs = digests.iter().zip(found).skip(asked);
            return pairs.for_each(|(digest, found)| *found = self.contains(*digest));
        }
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            let mut places = [NOWHERE; AHEAD];
            for (places, digest) in places.iter_mut().zip(digests) {
                *places = self.places(*digest);
                self.slots.prefetch(places.first);
                self.slots.prefetch(places.second);
            }
            let asked = self.contains_eights(digests, found);
            for (Places { first, second, fingerprint }, found) in
                places.iter().zip(found).skip(asked)
            {
                *found = self.slots.either(*first, *second, *fingerprint);
            }
        }
    }

    /// Asks eight keys at once, where that can be done; returns how many were asked.
    #[inline]
    fn contains_eights(&self, digests: &[Digest], found: &mut [bool]) -> usize {
        #[cfg(target_arch = "x86_64")]
        if A::MIXED && avx512::can(&self.slots) {
            return avx512::contains(&self.slots, digests, found);
        }
        let _ = (digests, found);
        0
    }

    /// Prefetches the buckets of keys that are inserted next, in a large table.
    fn prefetch(&self, digests: &[Digest]) {
        let large = self.slots.bits() >= FETCH_FROM;
        for digest in digests.iter().filter(|_| large) {
            let Places { first, second, .. } = self.places(*digest);
            self.slots.prefetch_to_write(first);
            self.slots.prefetch_to_write(second);
        }
    }

    /// Inserts keys up to the first that is refused, and says which one that was: a large table is prefetched.
    pub(crate) fn insert_all(
        &mut self,
        digests: &[Digest],
    ) -> std::result::Result<(), (usize, Error)> {
        let large = self.slots.bits() >= FETCH_FROM;
        for (start, digests) in digests.chunks(AHEAD).enumerate() {
            let mut places = [NOWHERE; AHEAD];
            for (places, digest) in places.iter_mut().zip(digests) {
                *places = self.places(*digest);
                if large {
                    self.slots.prefetch_to_write(places.first);
                    self.slots.prefetch_to_write(places.second);
                }
            }
            for (i, places) in places[..digests.len()].iter().enumerate() {
                if !self.place(*places) {
                    return Err((start * AHEAD + i, self.full(*places)));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn fpr(&self) -> f64 {
        theory::fpr_of_table(self.slots.width(), self.slots.room(), self.fill())
    }
}

/// Keys whose buckets are prefetched before the first is looked at.
const AHEAD: usize = 64;

const NOWHERE: Places = Places { first: 0, second: 0, fingerprint: 0 };

/// One insertion.
struct Walk<'a, A> {
    table: &'a mut CuckooTable<A>,
    places: Places,
    random: Generator,
}

impl<A: Addressing> Nests for Walk<'_, A> {
    type Entry = u64;
    type Slot = (u64, u32);

    fn settle(&mut self, fingerprint: u64, from: Option<(u64, u32)>) -> Option<u64> {
        let settled = match from {
            None => self.table.settle(self.places),
            Some((bucket, _)) => {
                self.table.settle_in(self.table.other(bucket, fingerprint), fingerprint)
            }
        };
        if settled { None } else { Some(fingerprint) }
    }

    fn victim(&mut self, &fingerprint: &u64, from: Option<(u64, u32)>, kick: u32) -> (u64, u32) {
        let room = self.table.slots.room();
        let Places { first, second, .. } = self.places;
        let bucket = from.map_or(first, |(bucket, _)| self.table.other(bucket, fingerprint));
        A::victim(&mut self.random, Turn { bucket, other: second, room, kick })
    }

    fn swap(&mut self, (bucket, slot): (u64, u32), fingerprint: u64) -> ((u64, u32), u64) {
        let out = self.table.slots.get(bucket, slot);
        ((bucket, self.table.slots.set(bucket, slot, fingerprint)), out)
    }
}

impl<A> CuckooTable<A> {
    fn check(&self) -> Result<()> {
        let sound = self.slots.buckets().is_power_of_two()
            && self.slots.width() <= MAX_FINGERPRINT
            && (2..=64).contains(&self.slots.width())
            && (1..=MAX_KICKS).contains(&self.kicks);
        let wrong = || Error::corrupt(0, "corrupt filter: an impossible table of fingerprints");
        sound.then_some(()).ok_or_else(wrong)
    }
}

impl<A> Inline for CuckooTable<A> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.kicks.save("kicks", out);
        self.slots.save("slots", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let (kicks, slots) = (u32::load("kicks", src)?, Slots::load("slots", src)?);
        let table = Self { kicks, slots, addressing: PhantomData };
        table.check()?;
        Ok(table)
    }
}

impl<A> State for CuckooTable<A> {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| self.save_fields(out));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, Self::load_fields)
    }
}

impl<A: Addressing> Part for CuckooTable<A> {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(self.count(digest))
    }

    fn fill(&self) -> f64 {
        self.slots.used() as f64 / self.slots.len() as f64
    }

    /// A non-member is compared with 2bα fingerprints (catalogue B7).
    fn rates(&self) -> Rates {
        Rates::one_sided(self.fpr())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("buckets", self.slots.buckets()),
            fact("slots", self.slots.room()),
            fact("fingerprint", self.slots.width()),
            fact("kicks", self.kicks),
            real("load", self.fill()),
        ]
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        self.trace_of(self.places(digest))
    }
}

impl<A: Addressing> CuckooTable<A> {
    /// The two buckets, what their slots hold, and whether it is the fingerprint.
    pub(crate) fn trace_of(&self, places: Places) -> Vec<Touched> {
        let Places { first, second, fingerprint } = places;
        let room = u64::from(self.slots.room());
        let slots =
            [first, second].into_iter().flat_map(|b| (0..self.slots.room()).map(move |s| (b, s)));
        let touched = |(bucket, slot): (u64, u32)| {
            let value = self.slots.get(bucket, slot);
            Touched { index: bucket * room + u64::from(slot), value, agrees: value == fingerprint }
        };
        slots.map(touched).collect()
    }
}

impl<A: Addressing + Clone> FingerprintTable for CuckooTable<A> {
    const LIST: &'static str = "filters";
    const GROWING: &'static str = "growing";
    type Place = Places;

    #[inline]
    fn find(&self, digest: Digest) -> Places {
        self.places(digest)
    }

    fn find_entry(&self, bucket: u64, fingerprint: u64) -> Places {
        self.places_of(bucket, fingerprint)
    }

    #[inline]
    fn holds(&self, places: Places) -> bool {
        self.slots.either(places.first, places.second, places.fingerprint)
    }

    fn copies(&self, places: Places) -> u64 {
        CuckooTable::copies(self, places)
    }

    fn settle(&mut self, places: Places) -> bool {
        CuckooTable::settle(self, places)
    }

    fn place(&mut self, places: Places) -> bool {
        CuckooTable::place(self, places)
    }

    fn take(&mut self, places: Places) -> bool {
        CuckooTable::take(self, places)
    }

    fn full(&self, places: Places) -> Error {
        CuckooTable::full(self, places)
    }

    fn slots(&self) -> &Slots {
        &self.slots
    }

    fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    fn empty(&self) -> Result<Self> {
        let slots = &self.slots;
        let (room, width) = (slots.room(), slots.width());
        Ok(Self::of(self.kicks, Slots::try_new(slots.buckets(), room, width, slots.layout())?))
    }

    fn agree(&self, other: &Self) -> Result<()> {
        let (ours, theirs) = (&self.slots, &other.slots);
        agree("buckets", ours.buckets(), theirs.buckets())?;
        agree("slots", ours.room(), theirs.room())?;
        agree("fingerprint", ours.width(), theirs.width())?;
        agree("kicks", self.kicks, other.kicks)
    }

    /// 1 − Π(1 − f).
    fn fpr(tables: &[Self]) -> f64 {
        match tables {
            [single] => single.fpr(),
            _ => 1.0 - tables.iter().map(|table| 1.0 - table.fpr()).product::<f64>(),
        }
    }

    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        CuckooTable::contains_all(self, digests, found);
    }

    fn prefetch(&self, digests: &[Digest]) {
        CuckooTable::prefetch(self, digests);
    }
}

/// Refuses tables with sorted buckets, where a filter has none.
pub(crate) fn check_plain<A: Addressing + Clone>(tables: &Tables<CuckooTable<A>>) -> Result<()> {
    if tables.tables.iter().all(|table| table.slots.layout() == Layout::Plain) {
        return Ok(());
    }
    Err(Error::corrupt(0, "corrupt filter: sorted buckets in a filter that has none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables from one bucket to some kilobytes, and buckets of all sizes: the last ones end with the array.
    #[test]
    fn keys_asked_together_get_the_answers_of_single_calls() {
        let mut random = Generator::new(3);
        for buckets in [1, 2, 64, 1024] {
            for (room, width) in
                [(1, 2), (1, 32), (1, 33), (2, 9), (4, 7), (4, 8), (4, 13), (3, 19), (8, 12)]
            {
                let slots = Slots::try_new(buckets, room, width, Layout::Plain).expect("small");
                let mut table = CuckooTable::<Mixed>::of(500, slots);
                let mut digest = || Digest { h1: random.next_u64(), h2: random.next_u64() };
                let members: Vec<Digest> = (0..(buckets * u64::from(room)).div_ceil(2))
                    .map(|_| digest())
                    .filter(|member| table.insert(*member).is_ok())
                    .collect();
                let mut asked = members.clone();
                asked.extend((0..205).map(|_| digest()));
                let mut found = vec![false; asked.len()];
                table.contains_all(&asked, &mut found);
                let one_by_one: Vec<bool> = asked.iter().map(|d| table.contains(*d)).collect();
                assert_eq!(found, one_by_one, "{buckets} buckets of {room} × {width}");
                assert!(found[..members.len()].iter().all(|found| *found));
            }
        }
    }
}

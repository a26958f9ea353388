//! Slots of the buckets on a ring, and how entries move among them.

use super::ring::Ring;
use crate::cells::{Layout, Slots};
use crate::error::agree;
use crate::hash::{Generator, mix64, multiply_shift};
use crate::parts::kicks::{self, Nests};
use crate::parts::tables::FingerprintTable;
use crate::plan::cuckoo::{MAX_FINGERPRINT, MAX_KICKS};
use crate::variant::prelude::*;

/// Slots of the buckets on a ring.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    pub(super) kicks: u32,
    pub(super) ring: Ring,
    pub(super) slots: Slots,
}

state!(inline Table { kicks, ring, slots });
state!(Table { kicks, ring, slots });

impl Table {
    /// One of the 2^F − 1 fingerprints.
    #[inline]
    pub(super) fn fingerprint(&self, digest: Digest) -> u64 {
        1 + multiply_shift(digest.h1, self.slots.max())
    }

    /// Puts a fingerprint into one of its buckets with at most so many kicks; false, with nothing changed, if that is
    /// not enough.
    pub(super) fn place_within(&mut self, fingerprint: u64, kicks: u32) -> bool {
        let random = Generator::new(mix64(fingerprint));
        kicks::insert(&mut Walk { table: self, random }, fingerprint, kicks).is_none()
    }

    pub(super) fn no_room(&self) -> Error {
        let message = format!(
            "no room for a fingerprint after {} kicks: add a bucket, or build the filter for more {{items}}",
            self.kicks
        );
        Error::new(Kind::CapacityExceeded, message)
    }

    /// The table with one more bucket.
    pub(super) fn with_another(&self) -> Result<Self> {
        if self.ring.len() + 1 >= 1 << 32 {
            return Err(Error::new(
                Kind::CapacityExceeded,
                "the ring has the maximum number of buckets",
            ));
        }
        let (ring, cut) = self.ring.with_another();
        let slots = self.slots.resized(ring.len())?;
        let mut grown = Self { ring, slots, ..*self };
        let mut moving = Vec::new();
        for bucket in cut {
            for slot in 0..grown.slots.room() {
                let fingerprint = grown.slots.get(bucket, slot);
                if fingerprint != 0 && !grown.ring.candidates(fingerprint).contains(&bucket) {
                    moving.push(fingerprint);
                    grown.slots.set(bucket, slot, 0);
                }
            }
        }
        if moving.into_iter().all(|fingerprint| grown.place(fingerprint)) {
            return Ok(grown);
        }
        Err(self.no_room())
    }

    /// The table without a bucket, whose number goes to the last.
    pub(super) fn without(&self, bucket: u64) -> Result<Self> {
        let (ring, last) = (self.ring.without(bucket), self.ring.len() - 1);
        let moving: Vec<u64> = self.slots.bucket(bucket).collect();
        let mut slots = self.slots.clone();
        for slot in 0..slots.room() {
            slots.set(bucket, slot, slots.get(last, slot));
        }
        let mut smaller = Self { ring, slots: slots.resized(last)?, ..*self };
        if moving.into_iter().all(|fingerprint| smaller.place(fingerprint)) {
            return Ok(smaller);
        }
        Err(self.no_room())
    }

    /// Every fingerprint is in one of its buckets.
    pub(super) fn check(&self) -> Result<()> {
        let sound = (1..=MAX_KICKS).contains(&self.kicks)
            && self.slots.layout() == Layout::Plain
            && (2..=MAX_FINGERPRINT).contains(&self.slots.width())
            && self.slots.buckets() == self.ring.len();
        let placed = || {
            let home = |(bucket, fingerprint)| self.ring.candidates(fingerprint).contains(&bucket);
            self.slots.entries().all(home)
        };
        if sound && placed() {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: buckets that are not those of the ring"))
    }
}

impl FingerprintTable for Table {
    const LIST: &'static str = "rings";
    const GROWING: &'static str = super::RINGS;
    /// The fingerprint alone says where it belongs, in every ring.
    type Place = u64;

    fn find(&self, digest: Digest) -> u64 {
        self.fingerprint(digest)
    }

    fn find_entry(&self, _bucket: u64, fingerprint: u64) -> u64 {
        fingerprint
    }

    fn holds(&self, fingerprint: u64) -> bool {
        self.ring.candidates(fingerprint).iter().any(|b| self.slots.has(*b, fingerprint))
    }

    fn copies(&self, fingerprint: u64) -> u64 {
        let candidates = self.ring.candidates(fingerprint);
        candidates.iter().map(|bucket| self.slots.count(*bucket, fingerprint)).sum()
    }

    fn settle(&mut self, fingerprint: u64) -> bool {
        self.place_within(fingerprint, 0)
    }

    fn place(&mut self, fingerprint: u64) -> bool {
        self.place_within(fingerprint, self.kicks)
    }

    fn take(&mut self, fingerprint: u64) -> bool {
        let held = |bucket: &u64| Some((*bucket, self.slots.find(*bucket, fingerprint)?));
        let found = self.ring.candidates(fingerprint).iter().find_map(held);
        found.map(|(bucket, slot)| self.slots.set(bucket, slot, 0)).is_some()
    }

    fn full(&self, _fingerprint: u64) -> Error {
        self.no_room()
    }

    fn slots(&self) -> &Slots {
        &self.slots
    }

    fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    fn empty(&self) -> Result<Self> {
        let (buckets, slots) = (self.ring.len(), &self.slots);
        let slots = Slots::try_new(buckets, slots.room(), slots.width(), Layout::Plain)?;
        let ring = Ring::new(buckets, self.ring.points, self.ring.choices);
        Ok(Self { kicks: self.kicks, ring, slots })
    }

    /// Rings may have different numbers of buckets.
    fn agree(&self, other: &Self) -> Result<()> {
        agree("slots", self.slots.room(), other.slots.room())?;
        agree("fingerprint", self.slots.width(), other.slots.width())?;
        agree("points", self.ring.points, other.ring.points)?;
        agree("choices", self.ring.choices, other.ring.choices)?;
        agree("kicks", self.kicks, other.kicks)
    }

    /// A non-member passes exactly if its fingerprint is one of those inside.
    fn fpr(tables: &[Self]) -> f64 {
        let entries = tables.iter().flat_map(|table| table.slots.entries());
        let mut inside: Vec<u64> = entries.map(|(_, fingerprint)| fingerprint).collect();
        inside.sort_unstable();
        inside.dedup();
        tables.first().map_or(0.0, |first| inside.len() as f64 / first.slots.max() as f64)
    }

    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        for (digest, found) in digests.iter().zip(found) {
            *found = self.holds(self.find(*digest));
        }
    }
}

/// One insertion.
struct Walk<'a> {
    table: &'a mut Table,
    random: Generator,
}

impl Nests for Walk<'_> {
    type Entry = u64;
    type Slot = (u64, u32);

    fn settle(&mut self, fingerprint: u64, from: Option<(u64, u32)>) -> Option<u64> {
        for bucket in self.table.ring.candidates(fingerprint) {
            if from.is_some_and(|(from, _)| from == bucket) {
                continue;
            }
            if let Some(free) = self.table.slots.find(bucket, 0) {
                self.table.slots.set(bucket, free, fingerprint);
                return None;
            }
        }
        Some(fingerprint)
    }

    fn victim(&mut self, fingerprint: &u64, from: Option<(u64, u32)>, _kick: u32) -> (u64, u32) {
        let mut candidates = self.table.ring.candidates(*fingerprint);
        if let Some((from, _)) = from
            && candidates.len() > 1
        {
            candidates.retain(|bucket| *bucket != from);
        }
        let bucket = candidates[self.random.below(candidates.len() as u64) as usize];
        (bucket, self.random.below(self.table.slots.room().into()) as u32)
    }

    fn swap(&mut self, (bucket, slot): (u64, u32), fingerprint: u64) -> ((u64, u32), u64) {
        let out = self.table.slots.get(bucket, slot);
        ((bucket, self.table.slots.set(bucket, slot, fingerprint)), out)
    }
}

impl Part for Table {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::counted(Counted::about(self.copies(self.fingerprint(digest))))
    }

    fn fill(&self) -> f64 {
        self.slots.used() as f64 / self.slots.len() as f64
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(Self::fpr(std::slice::from_ref(self)))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("buckets", self.ring.len()),
            fact("slots", self.slots.room()),
            fact("fingerprint", self.slots.width()),
            fact("points", self.ring.points),
            fact("choices", self.ring.choices),
            fact("kicks", self.kicks),
            real("load", self.fill()),
        ]
    }

    /// The slots of all buckets that the fingerprint may be in.
    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let fingerprint = self.fingerprint(digest);
        let room = self.slots.room();
        let candidates = self.ring.candidates(fingerprint).into_iter();
        let slots = candidates.flat_map(|bucket| (0..room).map(move |slot| (bucket, slot)));
        let touched = |(bucket, slot): (u64, u32)| {
            let value = self.slots.get(bucket, slot);
            let index = bucket * u64::from(room) + u64::from(slot);
            Touched { index, value, agrees: value == fingerprint }
        };
        slots.map(touched).collect()
    }
}

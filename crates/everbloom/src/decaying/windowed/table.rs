//! Buckets of fingerprints that expire: a cuckoo table whose slots have a life.

use crate::cells::{Fading, Packed};
use crate::error::{Error, Result};
use crate::filter::Touched;
use crate::hash::{Digest, Generator, mix64, multiply_shift};
use crate::state::state;

/// Slots per bucket.
pub(super) const SLOTS: u64 = 4;
/// Entries that are moved before an insertion gives up.
const MAX_KICKS: u32 = 500;
pub(super) const MAX_PRINT: u32 = 56;

/// Fingerprints, and the life of each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    prints: Packed,
    pub(super) lives: Fading,
}

state!(Table { prints, lives });

/// A key's fingerprint and the two buckets it may be in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    print: u64,
    buckets: [u64; 2],
}

impl Table {
    /// `buckets` empty buckets, with fingerprints of `print` bits and tags of `tag` bits.
    pub(super) fn new(buckets: u64, print: u32, tag: u32) -> Result<Self> {
        let slots = buckets.saturating_mul(SLOTS);
        let lives = Fading::stamped_in(slots, longest(tag), tag)?;
        Ok(Self { prints: Packed::try_new(slots, print)?, lives })
    }

    /// An empty table of the same shape.
    pub(super) fn another(&self) -> Result<Self> {
        Self::new(self.buckets(), self.print(), self.lives.width())
    }

    pub(super) fn buckets(&self) -> u64 {
        self.prints.len() / SLOTS
    }

    /// Bits per fingerprint.
    pub(super) fn print(&self) -> u32 {
        self.prints.width()
    }

    pub(super) fn same_shape(&self, other: &Self) -> bool {
        let shape = |t: &Self| (t.buckets(), t.print(), t.lives.width(), t.lives.longest());
        shape(self) == shape(other)
    }

    pub(super) fn place(&self, digest: Digest) -> Place {
        let print = digest.word(0x5749_4E44_4F57_0001) >> (64 - self.print());
        let first = multiply_shift(digest.word(0x5749_4E44_4F57_0002), self.buckets());
        Place { print, buckets: [first, self.other(first, print)] }
    }

    /// The other bucket of an entry, from one of them and the fingerprint alone: what is moved has no key any more.
    fn other(&self, bucket: u64, print: u64) -> u64 {
        let sum = multiply_shift(mix64(print ^ 0x5749_4E44_4F57_0003), self.buckets());
        if sum >= bucket { sum - bucket } else { sum + self.buckets() - bucket }
    }

    /// The slots of a place, each once.
    fn slots(&self, place: Place) -> impl Iterator<Item = u64> + use<> {
        let [a, b] = place.buckets;
        let second = if a == b { 0 } else { SLOTS };
        (a * SLOTS..(a + 1) * SLOTS).chain(b * SLOTS..b * SLOTS + second)
    }

    /// The slots that hold the fingerprint, and how long they live.
    pub(super) fn matches(&self, place: Place) -> impl Iterator<Item = (u64, u64)> + '_ {
        let held = self.slots(place).map(|slot| (slot, self.lives.left(slot)));
        held.filter(move |(slot, left)| *left > 0 && self.prints.get(*slot) == place.print)
    }

    /// Writes an entry into a free slot of its buckets, if there is one; what has expired is free.
    pub(super) fn write(&mut self, place: Place, life: u64) -> bool {
        let free = self.slots(place).find(|slot| self.lives.left(*slot) == 0);
        if let Some(slot) = free {
            self.prints.set(slot, place.print);
            self.lives.set(slot, life);
        }
        free.is_some()
    }

    /// Makes room by moving living entries to their other buckets; if that takes too long, moves them all back.
    pub(super) fn push(&mut self, place: Place, life: u64, random: &mut Generator) -> bool {
        let mut path = Vec::new();
        let mut carried = (place.print, life);
        let mut bucket = place.buckets[random.below(2) as usize];
        for _ in 0..MAX_KICKS {
            let slot = bucket * SLOTS + random.below(SLOTS);
            carried = self.swap(slot, carried);
            path.push(slot);
            bucket = self.other(bucket, carried.0);
            let place = Place { print: carried.0, buckets: [bucket; 2] };
            if self.write(place, carried.1) {
                return true;
            }
        }
        path.into_iter().rev().for_each(|slot| carried = self.swap(slot, carried));
        false
    }

    fn swap(&mut self, slot: u64, (print, life): (u64, u64)) -> (u64, u64) {
        let out = (self.prints.get(slot), self.lives.left(slot));
        self.prints.set(slot, print);
        self.lives.set(slot, life);
        out
    }

    /// Number of living entries.
    pub(super) fn living(&self) -> u64 {
        self.lives.iter().filter(|left| *left > 0).count() as u64
    }

    /// P(a non-member finds its fingerprint), 1 − (1 − 2^{−f})^{2bα} at the live load α.
    pub(super) fn fpr(&self) -> f64 {
        rate(self.buckets(), self.print(), self.living() as f64)
    }

    pub(super) fn trace(&self, place: Place) -> impl Iterator<Item = Touched> + '_ {
        self.slots(place).map(move |index| {
            let (value, left) = (self.prints.get(index), self.lives.left(index));
            Touched { index, value, agrees: left > 0 && value == place.print }
        })
    }

    fn check(&self) -> Result<()> {
        let slots = self.prints.len();
        let fits = slots == self.lives.len() && slots > 0 && slots.is_multiple_of(SLOTS);
        let tags = self.lives.blocks() == 0 && self.lives.longest() == longest(self.lives.width());
        if fits && tags && self.print() <= MAX_PRINT {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: fingerprints and their lives do not fit"))
    }
}

/// The longest life in epochs under tags of so many bits: half of what they tell apart, so that a sweep has as long.
pub(super) fn longest(tag: u32) -> u64 {
    ((1 << tag) - 1) / 2
}

/// The rate of `buckets` buckets with so many living entries of `print` bits.
pub(super) fn rate(buckets: u64, print: u32, living: f64) -> f64 {
    let compared = 2.0 * living / buckets as f64;
    -libm::expm1(compared * libm::log1p(-libm::exp2(-f64::from(print))))
}

/// Entries that `n` keys take, if a key whose fingerprint is there takes none: s with s' = 1 − rate(s).
pub(super) fn entries(buckets: u64, print: u32, n: f64) -> f64 {
    let per_entry = -2.0 * libm::log1p(-libm::exp2(-f64::from(print))) / buckets as f64;
    libm::log1p(per_entry * n) / per_entry
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Hasher;

    #[test]
    fn the_other_bucket_of_the_other_bucket_is_the_first() {
        for buckets in [1, 2, 3, 1000] {
            let table = Table::new(buckets, 7, 8).unwrap();
            for key in 0..500u64 {
                let Place { print, buckets: [a, b] } = table.place(Hasher::default().digest(&key));
                assert!(a < buckets && b < buckets && table.other(b, print) == a);
            }
        }
    }

    #[test]
    fn a_failed_insertion_leaves_the_table_as_it_was() {
        let mut table = Table::new(8, 12, 8).unwrap();
        let mut random = Generator::new(1);
        let mut held = Vec::new();
        let refused = (0..1000u64).find(|key| {
            let place = table.place(Hasher::default().digest(key));
            let before = table.clone();
            let taken = table.write(place, 9) || table.push(place, 9, &mut random);
            assert!(taken || table == before);
            held.push(place);
            !taken
        });
        let accepted = refused.unwrap() as usize;
        assert!(accepted > 24, "{accepted} of 32 slots");
        assert!(held[..accepted].iter().all(|place| table.matches(*place).count() > 0));
    }
}

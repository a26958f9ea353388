//! Where the keys of a table are found.

use std::hash::BuildHasher as _;

use super::super::mixed::Mixed;
use crate::memory::prefetch;

/// Numbers of keys by their digests: each in the first slot that was free, from that of its digest on. It can be fetched
/// ahead, which the map of the standard library cannot.
#[derive(Clone, Debug, Default)]
pub(super) struct Slots {
    mixed: Mixed,
    taken: usize,
    /// The number of a key, counted from 1, below bits of its mixed digest; 0 where there is none.
    slots: Vec<u64>,
}

/// Bits of a slot that are the number of a key.
const NUMBER: u64 = (1 << 40) - 1;

impl Slots {
    /// Asks for the slot of a digest.
    pub fn fetch(&self, digest: u64) {
        prefetch(self.slots.as_ptr().wrapping_add(self.place(self.mixed.hash_one(digest))).cast());
    }

    /// How many slots are taken.
    #[cfg(test)]
    pub fn taken(&self) -> usize {
        self.taken
    }

    fn place(&self, mixed: u64) -> usize {
        mixed as usize & self.slots.len().wrapping_sub(1)
    }

    /// Keys that may have this digest.
    pub fn candidates(&self, digest: u64) -> impl Iterator<Item = usize> {
        let mixed = self.mixed.hash_one(digest);
        let (behind, before) = self.slots.split_at(self.place(mixed).min(self.slots.len()));
        let taken = before.iter().chain(behind).take_while(|slot| **slot != 0);
        let alike = taken.filter(move |slot| (**slot ^ mixed) & !NUMBER == 0);
        alike.map(|slot| ((slot & NUMBER) - 1) as usize)
    }

    /// Takes a slot for the key of this number; `digest_of` says the digests of those that have one, and its own.
    pub fn push(&mut self, number: usize, digest_of: impl Fn(usize) -> u64) {
        self.taken += 1;
        // A quarter stays free, so that free ones are near.
        if 4 * self.taken > 3 * self.slots.len() {
            let wider = vec![0; (2 * self.slots.len()).max(16)];
            let before = std::mem::replace(&mut self.slots, wider);
            before.into_iter().filter(|slot| *slot != 0).for_each(|slot| {
                let number = slot & NUMBER;
                self.take(number, digest_of(number as usize - 1));
            });
        }
        self.take(number as u64 + 1, digest_of(number));
    }

    /// Takes a slot for the key of this number, counted from 1.
    fn take(&mut self, number: u64, digest: u64) {
        let mixed = self.mixed.hash_one(digest);
        let mut place = self.place(mixed);
        while self.slots[place] != 0 {
            place = self.place(place as u64 + 1);
        }
        self.slots[place] = mixed & !NUMBER | number;
    }
}

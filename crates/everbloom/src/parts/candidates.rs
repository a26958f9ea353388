//! The keys with the largest counts so far: what a sketch that cannot list its keys keeps beside its cells.
//!
//! ```text
//!   a key comes; the sketch says 41 ──▶ least count here 17, full: it replaces that key
//!                         says 12 ──▶ below 17: nothing happens, no look-up
//! ```
//!
//! Counts are those that the owner hands over; who may come in is the owner's rule, too.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use crate::error::Result;
use crate::state::{Decoder, Encoder, State};

/// The most candidates that a file may ask for.
pub(crate) const MOST: u64 = 1 << 20;

/// At most `room` keys, each with its count, in slots: a key that drives another out takes its slot.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    room: u64,
    /// The keys, by slot.
    keys: Vec<Arc<[u8]>>,
    /// Every key's slot.
    slots: HashMap<Arc<[u8]>, usize, Seeded>,
    /// Every slot's count.
    counts: Vec<u64>,
    /// The slots as a heap, the least count on top. Of equals the first slot gives way, so that newcomers drive
    /// out each other rather than all who have as little.
    heap: Vec<usize>,
    /// Where in the heap each slot is.
    places: Vec<usize>,
}

/// What was handed over in which order does not matter beyond the slots.
impl PartialEq for Candidates {
    fn eq(&self, other: &Self) -> bool {
        (self.room, &self.keys, &self.counts) == (other.room, &other.keys, &other.counts)
    }
}

impl Candidates {
    /// Room for `room` keys, 1 to [`MOST`].
    pub(crate) fn new(room: u64) -> Self {
        let (keys, slots, counts, heap, places) = Default::default();
        Self { room, keys, slots, counts, heap, places }
    }

    /// How many keys there is room for.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.keys.len() as u64 >= self.room
    }

    /// The slot with the least count, once there is no room left.
    #[inline]
    fn last(&self) -> Option<usize> {
        self.heap.first().copied().filter(|_| self.is_full())
    }

    /// The least count; 0 while there is room left.
    #[inline]
    pub(crate) fn least(&self) -> u64 {
        self.last().map_or(0, |slot| self.counts[slot])
    }

    /// The count that a key is held with.
    pub(crate) fn get(&self, key: &[u8]) -> Option<u64> {
        self.slots.get(key).map(|slot| self.counts[*slot])
    }

    /// Holds a key with a new count. Where there is no room for a new one it replaces the least, which is
    /// returned.
    pub(crate) fn put(&mut self, key: &[u8], count: u64) -> Option<Arc<[u8]>> {
        let held = self.slots.get(key).copied();
        let Some(slot) = held.or_else(|| self.last()) else {
            let (slot, key) = (self.keys.len(), Arc::from(key));
            self.slots.insert(Arc::clone(&key), slot);
            self.keys.push(key);
            self.counts.push(count);
            self.heap.push(slot);
            self.places.push(slot);
            self.rise(slot);
            return None;
        };
        let was = std::mem::replace(&mut self.counts[slot], count);
        let place = self.places[slot];
        if count < was {
            self.rise(place)
        } else {
            self.sink(place)
        }
        if held.is_some() {
            return None;
        }
        let last = std::mem::replace(&mut self.keys[slot], Arc::from(key));
        self.slots.remove(&last);
        self.slots.insert(Arc::clone(&self.keys[slot]), slot);
        Some(last)
    }

    /// Whether the slot at one place of the heap gives way before that at another.
    #[inline]
    fn precedes(&self, a: usize, b: usize) -> bool {
        let order = |place: usize| (self.counts[self.heap[place]], self.heap[place]);
        order(a) < order(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a]] = a;
        self.places[self.heap[b]] = b;
    }

    /// Moves what stands at a place of the heap up to where it belongs.
    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.precedes(place, (place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// Moves what stands at a place of the heap down to where it belongs.
    fn sink(&mut self, mut place: usize) {
        loop {
            let below = (2 * place + 1..2 * place + 3).filter(|below| *below < self.heap.len());
            let least = below.reduce(|a, b| if self.precedes(b, a) { b } else { a });
            match least.filter(|below| self.precedes(*below, place)) {
                Some(below) => {
                    self.swap(place, below);
                    place = below;
                }
                None => return,
            }
        }
    }

    /// The keys with their counts, the largest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut slots: Vec<usize> = (0..self.keys.len()).collect();
        slots.sort_unstable_by_key(|slot| std::cmp::Reverse((self.counts[*slot], *slot)));
        slots.into_iter().map(|slot| (&*self.keys[slot], self.counts[slot]))
    }
}

/// XXH3 under a seed of this table's own, so that nobody can choose keys that meet.
#[derive(Clone, Debug)]
struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for Seeded {
    type Hasher = Self;

    fn build_hasher(&self) -> Self {
        self.clone()
    }
}

impl Hasher for Seeded {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxhash_rust::xxh3::xxh3_64_with_seed(bytes, self.0);
    }

    /// The length of a key, which its hash depends on anyway.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

impl State for Candidates {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("room", self.room);
            out.u64("held", self.keys.len() as u64);
            for (key, count) in self.keys.iter().zip(&self.counts) {
                out.u64("count", *count);
                out.bytes("key", key);
            }
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let mut this = Self::new(src.positive("room")?);
            let held = src.u64("held")?;
            if held > this.room || this.room > MOST {
                let room = this.room;
                return Err(
                    src.corrupt(format!("{held} candidates where there is room for {room}"))
                );
            }
            for _ in 0..held {
                let (count, key) = (src.u64("count")?, src.bytes("key")?);
                if this.get(key).is_some() {
                    return Err(src.corrupt("a candidate twice"));
                }
                this.put(key, count);
            }
            Ok(this)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    fn listed(candidates: &Candidates) -> Vec<(&str, u64)> {
        let text = |key| std::str::from_utf8(key).unwrap();
        candidates.iter().map(|(key, count)| (text(key), count)).collect()
    }

    /// A long list with counts that rise and fall, beside one that is searched from end to end.
    #[test]
    fn the_heap_gives_way_in_the_order_of_counts_and_slots() {
        let (mut top, mut random) = (Candidates::new(20), Generator::new(1));
        let mut plain: Vec<(u64, u64)> = Vec::new();
        for _ in 0..5000 {
            let (key, count) = (random.below(60), random.below(30));
            let out = top.put(&key.to_le_bytes(), count);
            let last = (0..plain.len()).min_by_key(|slot| (plain[*slot].1, *slot));
            let last = last.filter(|_| plain.len() == 20);
            match plain.iter().position(|(held, _)| *held == key).or(last) {
                Some(slot) => {
                    let (was, _) = std::mem::replace(&mut plain[slot], (key, count));
                    let driven = (was != key).then(|| was.to_le_bytes());
                    assert_eq!(out.as_deref(), driven.as_ref().map(|key| &key[..]));
                }
                None => plain.push((key, count)),
            }
            let least = plain.iter().map(|(_, count)| *count).min().filter(|_| plain.len() == 20);
            assert_eq!(top.least(), least.unwrap_or(0));
        }
        let mut slots: Vec<usize> = (0..20).collect();
        slots.sort_by_key(|slot| std::cmp::Reverse((plain[*slot].1, *slot)));
        let wanted: Vec<_> = slots.iter().map(|slot| plain[*slot]).collect();
        let listed = top.iter().map(|(key, n)| (u64::from_le_bytes(key.try_into().unwrap()), n));
        assert_eq!(listed.collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn the_least_makes_room_and_counts_move_both_ways() {
        let mut top = Candidates::new(3);
        for (key, count) in [("a", 5), ("b", 2)] {
            assert_eq!((top.least(), top.put(key.as_bytes(), count)), (0, None));
        }
        top.put(b"c", 9);
        assert_eq!((top.least(), top.get(b"b"), top.get(b"d")), (2, Some(2), None));
        assert_eq!(top.put(b"d", 4).as_deref(), Some(&b"b"[..]));
        assert_eq!(listed(&top), [("c", 9), ("a", 5), ("d", 4)]);
        assert_eq!(top.put(b"c", 1), None);
        assert_eq!(top.put(b"a", 5), None);
        assert_eq!((listed(&top), top.least()), (vec![("a", 5), ("d", 4), ("c", 1)], 1));
        // Of equals the first slot gives way: a has it, then d has the second.
        top.put(b"d", 5);
        top.put(b"c", 5);
        assert_eq!(top.put(b"e", 5).as_deref(), Some(&b"a"[..]));
        assert_eq!(top.put(b"f", 6).as_deref(), Some(&b"e"[..]));
        assert_eq!(top.put(b"g", 6).as_deref(), Some(&b"d"[..]));
    }
}

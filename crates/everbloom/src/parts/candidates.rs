//! The keys with the largest counts so far: what a sketch that cannot list its keys keeps beside its cells.
//!
//! ```text
//!   a key comes; the sketch says 41 ──▶ least count here 17, full: it replaces that key
//!                         says 12 ──▶ below 17: nothing happens, no look-up
//! ```
//!
//! Counts are those that the owner hands over; who may come in is the owner's rule, too.
//!
//! Most updates are of keys that are held already and come once more. They change a count and nothing else: the heap
//! goes by what it last noted of each, which may be too low, and is put in order when somebody new asks for room.

use std::sync::Arc;

use hashbrown::HashTable;

use crate::error::Result;
use crate::hash::{HashId, Hasher};
use crate::state::{Decoder, Encoder, State};

/// The most candidates that a file may ask for.
pub(crate) const MOST: u64 = 1 << 20;

/// At most `room` keys, each with its count, in slots: a key that drives another out takes its slot.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    room: u64,
    slots: Vec<Slot>,
    /// The slots by their keys.
    index: HashTable<u32>,
    /// Of this table alone; it stands in no file.
    hasher: Hasher,
    /// The least count on top. Of equals the first slot gives way, so that newcomers drive out each other rather than
    /// all who have as little.
    heap: Vec<Noted>,
}

#[derive(Clone, Debug)]
struct Slot {
    key: Arc<[u8]>,
    count: u64,
    /// Where in the heap it is.
    place: usize,
}

/// What the heap knows of a slot: its count at some time, never more than it is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Noted {
    count: u64,
    slot: u32,
}

/// What was handed over in which order does not matter beyond the slots.
impl PartialEq for Candidates {
    fn eq(&self, other: &Self) -> bool {
        let held = |this: &Self| -> Vec<(Arc<[u8]>, u64)> {
            this.slots.iter().map(|slot| (Arc::clone(&slot.key), slot.count)).collect()
        };
        (self.room, held(self)) == (other.room, held(other))
    }
}

impl Candidates {
    /// Room for `room` keys, 1 to [`MOST`].
    pub(crate) fn new(room: u64) -> Self {
        let (slots, index, heap) = Default::default();
        Self { room, slots, index, hasher: Hasher::drawn(), heap }
    }

    /// How many keys there is room for.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.slots.len() as u64 >= self.room
    }

    /// At most the least count; 0 while there is room left.
    #[inline]
    fn floor(&self) -> u64 {
        self.heap.first().filter(|_| self.is_full()).map_or(0, |top| top.count)
    }

    /// The least count; 0 while there is room left.
    pub(crate) fn least(&self) -> u64 {
        let least = self.slots.iter().map(|slot| slot.count).min();
        least.filter(|_| self.is_full()).unwrap_or(0)
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.digest_by(HashId::Fold64, key).h1
    }

    /// The slot of a key.
    #[inline]
    fn slot(&self, key: &[u8]) -> Option<usize> {
        let held = |slot: &u32| *self.slots[*slot as usize].key == *key;
        self.index.find(self.hash(key), held).map(|slot| *slot as usize)
    }

    /// The count that a key is held with.
    pub(crate) fn get(&self, key: &[u8]) -> Option<u64> {
        self.slot(key).map(|slot| self.slots[slot].count)
    }

    /// Holds a key with a new count if that reaches the least one and `more`. Where there is no room for a new key it
    /// replaces the least, which is returned.
    #[inline]
    pub(crate) fn offer(&mut self, key: &[u8], count: u64, more: u64) -> Option<Arc<[u8]>> {
        if count < self.floor() + more {
            return None;
        }
        match self.slot(key) {
            Some(slot) if self.slots[slot].count <= count => {
                self.slots[slot].count = count;
                None
            }
            held => self.weigh(held, key, count, more),
        }
    }

    /// The rest of [`Candidates::offer`]: a new key, or one whose count falls.
    #[inline(never)]
    fn weigh(
        &mut self,
        held: Option<usize>,
        key: &[u8],
        count: u64,
        more: u64,
    ) -> Option<Arc<[u8]>> {
        self.settle();
        if count < self.floor() + more {
            return None;
        }
        if let Some(slot) = held {
            self.slots[slot].count = count;
            let place = self.slots[slot].place;
            // What was noted may be lower still.
            if count < self.heap[place].count {
                self.heap[place].count = count;
                self.rise(place);
            }
            return None;
        }
        if !self.is_full() {
            self.push(key, count);
            return None;
        }
        let slot = self.heap[0].slot;
        let Slot { key: last, count: was, .. } = &mut self.slots[slot as usize];
        let last = std::mem::replace(last, Arc::from(key));
        *was = count;
        if let Ok(entry) = self.index.find_entry(self.hash(&last), |held| *held == slot) {
            entry.remove();
        }
        self.enter(slot);
        self.heap[0].count = count;
        self.sink(0);
        Some(last)
    }

    /// Holds a new key while there is room.
    fn push(&mut self, key: &[u8], count: u64) {
        let (slot, place) = (self.slots.len() as u32, self.heap.len());
        self.slots.push(Slot { key: Arc::from(key), count, place });
        self.enter(slot);
        self.heap.push(Noted { count, slot });
        self.rise(place);
    }

    /// Puts a slot where its key is looked for.
    fn enter(&mut self, slot: u32) {
        let hash = self.hash(&self.slots[slot as usize].key);
        let Self { slots, index, hasher, .. } = self;
        let again = |slot: &u32| hasher.digest_by(HashId::Fold64, &*slots[*slot as usize].key).h1;
        index.insert_unique(hash, slot, again);
    }

    /// Notes counts anew until what is on top of the heap has the least one.
    fn settle(&mut self) {
        while let Some(top) = self.heap.first_mut() {
            let count = self.slots[top.slot as usize].count;
            if top.count == count {
                return;
            }
            top.count = count;
            self.sink(0);
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.slots[self.heap[a].slot as usize].place = a;
        self.slots[self.heap[b].slot as usize].place = b;
    }

    /// Moves what stands at a place of the heap up to where it belongs.
    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.heap[place] < self.heap[(place - 1) / 2] {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    /// Moves what stands at a place of the heap down to where it belongs.
    fn sink(&mut self, mut place: usize) {
        loop {
            let below = (2 * place + 1..2 * place + 3).filter(|below| *below < self.heap.len());
            match below.min_by_key(|below| self.heap[*below]) {
                Some(below) if self.heap[below] < self.heap[place] => {
                    self.swap(place, below);
                    place = below;
                }
                _ => return,
            }
        }
    }

    /// The keys with their counts, the largest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        order.sort_unstable_by_key(|slot| std::cmp::Reverse((self.slots[*slot].count, *slot)));
        order.into_iter().map(|slot| (&*self.slots[slot].key, self.slots[slot].count))
    }
}

impl State for Candidates {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("room", self.room);
            out.u64("held", self.slots.len() as u64);
            for slot in &self.slots {
                out.u64("count", slot.count);
                out.bytes("key", &slot.key);
            }
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let mut this = Self::new(src.positive("room")?);
            let held = src.u64("held")?;
            if held > this.room || this.room > MOST {
                let room = this.room;
                return Err(src.corrupt(format!("{held} candidates, but room for only {room}")));
            }
            for _ in 0..held {
                let (count, key) = (src.u64("count")?, src.bytes("key")?);
                if this.get(key).is_some() {
                    return Err(src.corrupt("a candidate twice"));
                }
                this.push(key, count);
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
        for more in [0, 1] {
            let (mut top, mut random) = (Candidates::new(20), Generator::new(1));
            let mut plain: Vec<(u64, u64)> = Vec::new();
            for i in 0..5000 {
                let (key, count) = (random.below(60), random.below(30) + i / 200);
                let out = top.offer(&key.to_le_bytes(), count, more);
                let last = (0..plain.len()).min_by_key(|slot| (plain[*slot].1, *slot));
                let last = last.filter(|_| plain.len() == 20);
                let least = last.map_or(0, |slot| plain[slot].1);
                match plain.iter().position(|(held, _)| *held == key).or(last) {
                    _ if count < least + more => assert_eq!(out, None),
                    Some(slot) => {
                        let (was, _) = std::mem::replace(&mut plain[slot], (key, count));
                        let driven = (was != key).then(|| was.to_le_bytes());
                        assert_eq!(out.as_deref(), driven.as_ref().map(|key| &key[..]));
                    }
                    None => plain.push((key, count)),
                }
                let least = plain.iter().map(|(_, count)| *count).min();
                assert_eq!(top.least(), least.filter(|_| plain.len() == 20).unwrap_or(0));
            }
            let mut slots: Vec<usize> = (0..20).collect();
            slots.sort_by_key(|slot| std::cmp::Reverse((plain[*slot].1, *slot)));
            let wanted: Vec<_> = slots.iter().map(|slot| plain[*slot]).collect();
            let key = |key: &[u8]| u64::from_le_bytes(key.try_into().unwrap());
            let listed: Vec<_> = top.iter().map(|(bytes, n)| (key(bytes), n)).collect();
            assert_eq!(listed, wanted);
        }
    }

    #[test]
    fn the_least_makes_room_and_counts_move_both_ways() {
        let mut top = Candidates::new(3);
        for (key, count) in [("a", 5), ("b", 2)] {
            assert_eq!((top.least(), top.offer(key.as_bytes(), count, 0)), (0, None));
        }
        top.offer(b"c", 9, 0);
        assert_eq!((top.least(), top.get(b"b"), top.get(b"d")), (2, Some(2), None));
        assert_eq!((top.offer(b"d", 2, 1), top.get(b"d")), (None, None));
        assert_eq!(top.offer(b"d", 4, 1).as_deref(), Some(&b"b"[..]));
        assert_eq!(listed(&top), [("c", 9), ("a", 5), ("d", 4)]);
        // A count falls to the least one and no further.
        assert_eq!((top.offer(b"c", 4, 0), top.offer(b"a", 3, 0)), (None, None));
        assert_eq!((listed(&top), top.least()), (vec![("a", 5), ("c", 4), ("d", 4)], 4));
        // Of equals the first slot gives way: a has it, then d has the second.
        top.offer(b"d", 5, 0);
        top.offer(b"c", 5, 0);
        assert_eq!(top.offer(b"e", 5, 0).as_deref(), Some(&b"a"[..]));
        assert_eq!(top.offer(b"f", 6, 0).as_deref(), Some(&b"e"[..]));
        assert_eq!(top.offer(b"g", 6, 0).as_deref(), Some(&b"d"[..]));
    }
}

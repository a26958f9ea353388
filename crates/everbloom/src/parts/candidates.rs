//! The keys with the largest counts so far: what a sketch that cannot list its keys keeps beside its cells.
//!
//! ```text
//!   a key comes; the sketch says 41 ──▶ least count here 17, full: it replaces that key
//!                         says 12 ──▶ below 17: nothing happens, no look-up
//! ```
//!
//! Counts are those that the owner hands over; who may come in is the owner's rule, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::error::Result;
use crate::state::{Decoder, Encoder, State};

/// The most candidates that a file may ask for.
pub(crate) const MOST: u64 = 1 << 20;

/// At most `room` keys, each with its count, in slots: a key that drives another out takes its slot.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidates {
    room: u64,
    /// The keys, by slot.
    keys: Vec<Arc<[u8]>>,
    /// Every key's slot.
    slots: BTreeMap<Arc<[u8]>, usize>,
    /// Every slot's count.
    counts: Vec<u64>,
    /// Counts with their slots, the least first. Of equals the first slot gives way, so that newcomers drive out
    /// each other rather than all who have as little.
    order: BTreeSet<(u64, usize)>,
}

impl Candidates {
    /// Room for `room` keys, 1 to [`MOST`].
    pub(crate) fn new(room: u64) -> Self {
        let (keys, slots, counts, order) = Default::default();
        Self { room, keys, slots, counts, order }
    }

    /// How many keys there is room for.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    fn is_full(&self) -> bool {
        self.keys.len() as u64 >= self.room
    }

    /// The least count; 0 while there is room left.
    pub(crate) fn least(&self) -> u64 {
        self.order.first().filter(|_| self.is_full()).map_or(0, |(count, _)| *count)
    }

    /// The count that a key is held with.
    pub(crate) fn get(&self, key: &[u8]) -> Option<u64> {
        self.slots.get(key).map(|slot| self.counts[*slot])
    }

    /// Holds a key with a new count. Where there is no room for a new one it replaces the least, which is
    /// returned.
    pub(crate) fn put(&mut self, key: &[u8], count: u64) -> Option<Arc<[u8]>> {
        let held = self.slots.get(key).copied();
        let least = self.order.first().filter(|_| self.is_full()).map(|(_, slot)| *slot);
        let Some(slot) = held.or(least) else {
            let (slot, key) = (self.keys.len(), Arc::from(key));
            self.slots.insert(Arc::clone(&key), slot);
            self.keys.push(key);
            self.counts.push(count);
            self.order.insert((count, slot));
            return None;
        };
        let was = std::mem::replace(&mut self.counts[slot], count);
        self.order.remove(&(was, slot));
        self.order.insert((count, slot));
        if held.is_some() {
            return None;
        }
        let last = std::mem::replace(&mut self.keys[slot], Arc::from(key));
        self.slots.remove(&last);
        self.slots.insert(Arc::clone(&self.keys[slot]), slot);
        Some(last)
    }

    /// The keys with their counts, the largest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.order.iter().rev().map(|(count, slot)| (&*self.keys[*slot], *count))
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

    fn listed(candidates: &Candidates) -> Vec<(&str, u64)> {
        let text = |key| std::str::from_utf8(key).unwrap();
        candidates.iter().map(|(key, count)| (text(key), count)).collect()
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

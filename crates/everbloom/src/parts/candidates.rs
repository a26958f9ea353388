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

/// At most `room` keys, each with its count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidates {
    room: u64,
    counts: BTreeMap<Arc<[u8]>, u64>,
    /// The same, least count first; of equals, the least key.
    order: BTreeSet<(u64, Arc<[u8]>)>,
}

impl Candidates {
    /// Room for `room` keys, 1 to [`MOST`].
    pub(crate) fn new(room: u64) -> Self {
        Self { room, counts: BTreeMap::new(), order: BTreeSet::new() }
    }

    /// How many keys there is room for.
    pub(crate) fn room(&self) -> u64 {
        self.room
    }

    /// The least count; 0 while there is room left.
    pub(crate) fn least(&self) -> u64 {
        let full = self.counts.len() as u64 >= self.room;
        self.order.first().filter(|_| full).map_or(0, |(count, _)| *count)
    }

    /// The count that a key is held with.
    pub(crate) fn get(&self, key: &[u8]) -> Option<u64> {
        self.counts.get(key).copied()
    }

    /// Holds a key with a new count. Where there is no room for a new one it replaces the least, which is
    /// returned.
    pub(crate) fn put(&mut self, key: &[u8], count: u64) -> Option<Arc<[u8]>> {
        let held = self.counts.get_key_value(key).map(|(key, count)| (*count, Arc::clone(key)));
        if let Some(held) = held {
            self.order.remove(&held);
            self.counts.insert(Arc::clone(&held.1), count);
            self.order.insert((count, held.1));
            return None;
        }
        let full = self.counts.len() as u64 >= self.room;
        let last = if full { self.order.pop_first().map(|(_, key)| key) } else { None };
        if let Some(last) = &last {
            self.counts.remove(last);
        }
        let key: Arc<[u8]> = Arc::from(key);
        self.counts.insert(Arc::clone(&key), count);
        self.order.insert((count, key));
        last
    }

    /// The keys with their counts, the largest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.order.iter().rev().map(|(count, key)| (&**key, *count))
    }
}

impl State for Candidates {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            out.u64("room", self.room);
            out.u64("held", self.order.len() as u64);
            for (count, key) in &self.order {
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
                let rises = this.order.last().is_none_or(|(c, k)| (*c, &**k) < (count, key));
                if !rises || this.get(key).is_some() {
                    return Err(src.corrupt("candidates out of order"));
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
    }
}

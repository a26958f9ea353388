//! A cache that drops what was not used for longest.

use std::collections::HashMap;

/// Keys in the order of their last use, in constant time each: a list inside a vector.
pub(crate) struct Lru {
    slots: HashMap<u64, usize>,
    /// Key, the slot used after it, the slot used before it.
    list: Vec<[u64; 3]>,
    capacity: usize,
}

/// Slot 0 is the ends of the list.
const ENDS: usize = 0;

impl Lru {
    /// Room for so many keys.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { slots: HashMap::new(), list: vec![[0; 3]], capacity: capacity.max(1) }
    }

    /// Whether the key is there; it then is the last used.
    pub(crate) fn hit(&mut self, key: u64) -> bool {
        let Some(&slot) = self.slots.get(&key) else { return false };
        self.take_out(slot);
        self.put_first(slot);
        true
    }

    /// Puts a key that is not there in front, and returns the one dropped for it.
    pub(crate) fn insert(&mut self, key: u64) -> Option<u64> {
        if self.slots.len() < self.capacity {
            self.list.push([key, 0, 0]);
            self.slots.insert(key, self.list.len() - 1);
            self.put_first(self.list.len() - 1);
            return None;
        }
        let slot = self.list[ENDS][1] as usize;
        let dropped = std::mem::replace(&mut self.list[slot][0], key);
        self.slots.remove(&dropped);
        self.slots.insert(key, slot);
        self.take_out(slot);
        self.put_first(slot);
        Some(dropped)
    }

    /// The keys that are there.
    pub(crate) fn keys(&self) -> impl Iterator<Item = u64> + '_ {
        self.slots.keys().copied()
    }

    pub(crate) fn contains(&self, key: u64) -> bool {
        self.slots.contains_key(&key)
    }

    fn take_out(&mut self, slot: usize) {
        let [_, newer, older] = self.list[slot];
        self.list[newer as usize][2] = older;
        self.list[older as usize][1] = newer;
    }

    fn put_first(&mut self, slot: usize) {
        let newest = self.list[ENDS][2];
        self.list[slot][1] = ENDS as u64;
        self.list[slot][2] = newest;
        self.list[newest as usize][1] = slot as u64;
        self.list[ENDS][2] = slot as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_is_dropped() {
        let mut cache = Lru::new(3);
        assert_eq!([1, 2, 3].map(|key| cache.insert(key)), [None; 3]);
        assert!(cache.hit(1) && !cache.hit(9));
        assert_eq!(cache.insert(4), Some(2));
        assert_eq!(cache.insert(5), Some(3));
        assert_eq!(cache.insert(6), Some(1));
        assert!(cache.contains(4) && cache.keys().count() == 3);
    }
}

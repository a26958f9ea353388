//! Many keys at a time.

use super::CountMin;
use crate::error::Result;
use crate::filter::Bulk;
use crate::hash::{Columns, Digest, Key, MANY};
use crate::variant::Plan;

/// Keys whose counters are prefetched or worked on together.
pub(super) const AHEAD: usize = MANY;

impl CountMin {
    /// Counts every one of a slice of keys once more: their counters are prefetched together. Stops at the
    /// first key that is refused.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        for keys in keys.chunks(AHEAD) {
            let digests = Columns::of(&self.head.hasher, Self::HASH, keys);
            if self.is_plain() {
                self.levels[0].add_all(&digests, keys.len());
                self.head.count(keys.len() as u64);
                continue;
            }
            for (i, key) in keys.iter().enumerate() {
                key.with_bytes(|key| self.raise(digests.digest(i), key, 1))?;
            }
        }
        Ok(())
    }

    /// [`CountMin::count`] for every one of a slice of keys: their counters are prefetched together.
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = Vec::with_capacity(keys.len());
        for keys in keys.chunks(AHEAD) {
            let digests = Columns::of(&self.head.hasher, Self::HASH, keys);
            if self.signed() {
                let estimates = (0..keys.len()).map(|i| self.estimate(digests.digest(i)));
                counts.extend(estimates.map(|count| count.max(0).cast_unsigned()));
            } else {
                let least = &self.levels[0].least_of_all(&digests, keys.len())[..keys.len()];
                counts.extend(least.iter().map(|count| (*count).max(0).cast_unsigned()));
            }
        }
        counts
    }
}

impl Bulk for CountMin {
    fn contains_digests(&self, digests: &[Digest], found: &mut [bool]) {
        for (digests, found) in digests.chunks(AHEAD).zip(found.chunks_mut(AHEAD)) {
            digests.iter().for_each(|digest| self.levels[0].fetch(*digest));
            for (digest, found) in digests.iter().zip(found) {
                *found = self.has(*digest);
            }
        }
    }
}

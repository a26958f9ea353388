//! Many keys at a time.

use super::CountMin;
use crate::error::Result;
use crate::filter::Bulk;
use crate::hash::{Digest, Key};
use crate::variant::Plan;

/// Keys whose counters are prefetched together.
pub(super) const AHEAD: usize = 32;

impl CountMin {
    /// Counts every one of a slice of keys once more. Stops at the first key that is refused.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        if !self.is_plain() {
            return keys.iter().try_for_each(|key| self.insert(key).map(drop));
        }
        // Nothing in the loop depends on what a counter holds, so that the processor works on several keys at once.
        let CountMin { head, levels, .. } = self;
        for key in keys {
            levels[0].increment(head.hasher.digest_usually(Self::HASH, key));
        }
        head.count(keys.len() as u64);
        Ok(())
    }

    /// [`CountMin::count`] for every one of a slice of keys.
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        keys.iter().map(|key| self.count(key)).collect()
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

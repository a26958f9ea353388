//! Many keys at a time.

use super::CountMin;
#[cfg(target_arch = "x86_64")]
use super::avx512;
use crate::error::Result;
use crate::filter::Bulk;
use crate::hash::{Batch, CHUNK, Digest, Digests as _, Key};
use crate::variant::Plan;

/// Keys whose counters are prefetched together.
pub(super) const AHEAD: usize = 32;

const USUAL: u16 = CountMin::HASH as u16;

impl CountMin {
    /// Counts every key of a slice. Stops at the first key that is refused.
    pub fn insert_many<K: Key>(&mut self, keys: &[K]) -> Result<()> {
        if !self.is_plain() {
            return keys.iter().try_for_each(|key| self.insert(key).map(drop));
        }
        // Nothing in the loops depends on what a counter holds, so that the processor works on several keys at once.
        let CountMin { head, levels, .. } = self;
        let mut batch = Batch::<K, USUAL>::new(&head.hasher, keys);
        #[cfg(target_arch = "x86_64")]
        if avx512::can(&levels[0]) {
            while let Some(words) = batch.words(Self::HASH, &mut [0; CHUNK]) {
                avx512::increment(&mut levels[0], &words);
            }
        }
        batch.for_each(|_, digest| _ = levels[0].increment(digest));
        head.count(keys.len() as u64);
        Ok(())
    }

    /// [`CountMin::count`] for every one of a slice of keys.
    pub fn count_many<K: Key>(&self, keys: &[K]) -> Vec<u64> {
        let mut counts = Vec::with_capacity(keys.len());
        let mut batch = Batch::<K, USUAL>::new(&self.head.hasher, keys);
        #[cfg(target_arch = "x86_64")]
        if !self.signed() && avx512::can(&self.levels[0]) {
            while let Some(words) = batch.words(Self::HASH, &mut [0; CHUNK]) {
                counts.extend(
                    avx512::least(&self.levels[0], &words).map(|n| n.max(0).cast_unsigned()),
                );
            }
        }
        batch.for_each(|_, digest| counts.push(self.estimate(digest).max(0).cast_unsigned()));
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

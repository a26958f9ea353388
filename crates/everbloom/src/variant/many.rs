//! From many keys to many digests and back: what the calls for slices of keys share.
//!
//! Keys are hashed in chunks that stay in the L1 cache, then the filter works on a chunk of digests,
//! prefetching its cells well before it looks at them.

use super::Plan;
use crate::filter::{Bulk, BulkInsert};
use crate::hash::{Digest, HashId, Hasher, Key};
use crate::probe::bulk::CHUNK;

/// Calls `f` with the digests of consecutive keys, chunk after chunk.
#[inline]
fn chunks(
    hasher: &Hasher,
    usual: HashId,
    keys: impl Iterator<Item: Key>,
    mut f: impl FnMut(&[Digest]),
) {
    let mut digests = [Digest { h1: 0, h2: 0 }; CHUNK];
    let mut coming = keys.map(|key| hasher.digest_usually(usual, &key));
    loop {
        let mut count = 0;
        for (slot, digest) in digests.iter_mut().zip(coming.by_ref()) {
            *slot = digest;
            count += 1;
        }
        f(&digests[..count]);
        if count < CHUNK {
            return;
        }
    }
}

/// Inserts all keys.
#[inline]
pub(crate) fn insert_many<F>(filter: &mut F, keys: impl Iterator<Item: Key>)
where
    F: Plan + BulkInsert,
{
    let hasher = filter.head().hasher.clone();
    chunks(&hasher, F::HASH, keys, |digests| filter.insert_digests(digests));
}

/// Whether each key may be a member.
#[inline]
pub(crate) fn contains_many<F>(filter: &F, keys: impl ExactSizeIterator<Item: Key>) -> Vec<bool>
where
    F: Plan + Bulk,
{
    let mut found = vec![false; keys.len()];
    contains_into(filter, keys, &mut found);
    found
}

/// [`contains_many`] into memory of the caller's, for as many keys as there is room.
#[inline]
pub(crate) fn contains_into<F>(filter: &F, keys: impl Iterator<Item: Key>, mut found: &mut [bool])
where
    F: Plan + Bulk,
{
    chunks(&filter.head().hasher, F::HASH, keys.take(found.len()), |digests| {
        let (now, later) = std::mem::take(&mut found).split_at_mut(digests.len());
        filter.contains_digests(digests, now);
        found = later;
    });
}

/// Keys of an iterator with what `ask` says of each; keys are taken and asked a chunk at a time.
#[inline]
pub(crate) fn in_chunks<K: Key, I: Iterator<Item = K>, F: Fn(&[K], &mut [bool])>(
    keys: I,
    ask: F,
) -> InChunks<I, F> {
    let (asked, found) = (Vec::new().into_iter(), [false; CHUNK]);
    InChunks { keys, ask, asked, found }
}

pub(crate) struct InChunks<I: Iterator, F> {
    keys: I,
    ask: F,
    /// Keys that were asked for and are not handed out yet, and the answers to the last of a chunk.
    asked: std::vec::IntoIter<I::Item>,
    found: [bool; CHUNK],
}

impl<K: Key, I: Iterator<Item = K>, F: Fn(&[K], &mut [bool])> InChunks<I, F> {
    /// The next keys with their answers, which end with the chunk.
    #[inline(always)]
    fn refill(&mut self) {
        let mut next = Vec::with_capacity(CHUNK);
        next.extend(self.keys.by_ref().take(CHUNK));
        let free = CHUNK - next.len();
        (self.ask)(&next, &mut self.found[free..]);
        self.asked = next.into_iter();
    }

    /// The answers to the keys that are not handed out yet.
    #[inline(always)]
    fn answers(&self) -> &[bool] {
        &self.found[CHUNK - self.asked.len()..]
    }
}

impl<K: Key, I: Iterator<Item = K>, F: Fn(&[K], &mut [bool])> Iterator for InChunks<I, F> {
    type Item = (K, bool);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.asked.len() == 0 {
            self.refill();
        }
        let found = self.answers().first().copied()?;
        self.asked.next().map(|key| (key, found))
    }

    /// What `for_each`, `sum` and `count` go by: a loop over a chunk, and not a question for every key whether there
    /// is one.
    #[inline]
    fn fold<B, G: FnMut(B, Self::Item) -> B>(mut self, mut all: B, mut f: G) -> B {
        loop {
            if self.asked.len() == 0 {
                self.refill();
            }
            if self.asked.len() == 0 {
                return all;
            }
            let (found, keys) = (self.found, std::mem::take(&mut self.asked));
            let found = &found[CHUNK - keys.len()..];
            for pair in keys.zip(found.iter().copied()) {
                all = f(all, pair);
            }
        }
    }
}

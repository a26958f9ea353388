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
pub(crate) fn in_chunks<K: Key>(
    mut keys: impl Iterator<Item = K>,
    ask: impl Fn(&[K], &mut [bool]),
) -> impl Iterator<Item = (K, bool)> {
    let mut found = [false; CHUNK];
    let mut chunk = Vec::new().into_iter().zip(found);
    std::iter::from_fn(move || {
        if let Some(answered) = chunk.next() {
            return Some(answered);
        }
        let next: Vec<K> = keys.by_ref().take(CHUNK).collect();
        ask(&next, &mut found[..next.len()]);
        chunk = next.into_iter().zip(found);
        chunk.next()
    })
}

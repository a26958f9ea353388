//! From many keys to many digests and back: what the calls for slices of keys share.
//!
//! Keys are hashed in chunks that stay in the first cache, then the filter works on a chunk of digests,
//! asking for its cells well before it looks at them.

use crate::filter::{Bulk, Filter, Record};
use crate::hash::{Digest, Hasher, Key};

/// Digests of a chunk: 4 KiB.
const CHUNK: usize = 256;

/// Calls `f` with the digests of consecutive keys, chunk after chunk.
#[inline]
fn chunks<K>(
    hasher: &Hasher,
    keys: &[K],
    hash: impl Fn(&Hasher, &K) -> Digest,
    mut f: impl FnMut(&[Digest]),
) {
    let mut digests = [Digest { h1: 0, h2: 0 }; CHUNK];
    for chunk in keys.chunks(CHUNK) {
        for (digest, key) in digests.iter_mut().zip(chunk) {
            *digest = hash(hasher, key);
        }
        f(&digests[..chunk.len()]);
    }
}

/// Inserts all keys.
#[inline]
pub(crate) fn insert_many<F: Filter + Bulk, K: Key>(filter: &mut F, keys: &[K]) {
    let hasher = filter.head().hasher.clone();
    chunks(&hasher, keys, |h, key| h.digest(key), |digests| filter.insert_digests(digests));
}

/// Inserts the keys of all records.
pub(crate) fn insert_records<F: Filter + Bulk>(filter: &mut F, records: &[Record<'_>]) {
    let hasher = filter.head().hasher.clone();
    chunks(&hasher, records, |h, r| h.digest(r.key), |digests| filter.insert_digests(digests));
}

/// Whether each key may be a member.
#[inline]
pub(crate) fn contains_many<F: Filter + Bulk, K: Key>(filter: &F, keys: &[K]) -> Vec<bool> {
    let mut found = vec![false; keys.len()];
    let mut rest = &mut found[..];
    chunks(
        &filter.head().hasher,
        keys,
        |h, key| h.digest(key),
        |digests| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(digests.len());
            filter.contains_digests(digests, now);
            rest = later;
        },
    );
    found
}

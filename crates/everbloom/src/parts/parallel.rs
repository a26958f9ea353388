//! Insertion on all cores.

use crate::filter::Lent;
use crate::hash::{Digest, HashId, Hasher, Key};
use crate::threads::available;

/// Keys that a thread is worth: fewer are inserted before it has memory of its own.
const SHARE: usize = 1 << 20;

/// Keys that are hashed before they are inserted: their digests stay in the L2 cache.
const CHUNK: usize = 16 << 10;

/// Threads that so many keys are worth.
pub(crate) fn threads(keys: usize) -> usize {
    available().min(keys / SHARE)
}

/// Cuts keys into shares for so many threads: that of this one, and those of the others.
pub(crate) fn shares<K>(threads: usize, keys: &[K]) -> (&[K], std::slice::Chunks<'_, K>) {
    let share = keys.len().div_ceil(threads).max(1);
    let (own, others) = keys.split_at(share.min(keys.len()));
    (own, others.chunks(share))
}

/// Inserts keys into a filter that other threads insert into, too.
pub(crate) fn insert<K: Key>(filter: &Lent<'_>, (hasher, usual): (&Hasher, HashId), keys: &[K]) {
    let mut digests: Vec<Digest> = Vec::with_capacity(CHUNK);
    for keys in keys.chunks(CHUNK) {
        digests.clear();
        digests.extend(keys.iter().map(|key| hasher.digest_usually(usual, key)));
        filter.insert_digests(&digests);
    }
}

//! Insertion on all cores.

use super::own::Owns;
use super::{BitsPart, lent};
use crate::cells::Bits;
use crate::filter::{BulkInsert, Lent};
use crate::hash::{Digest, HashId, Hasher, Key};
use crate::threads::{available, beside};

/// Keys that a thread is worth: fewer are inserted before it has memory of its own.
const SHARE: usize = 1 << 20;

/// Keys that are hashed before they are inserted: their digests stay in the L2 cache.
const CHUNK: usize = 16 << 10;

/// Threads that so many keys are worth.
pub(crate) fn threads(keys: usize) -> usize {
    available().min(keys / SHARE)
}

/// Inserts keys on so many threads; `insert_many` inserts them on one. Each thread has a copy of a small filter, and
/// all share a larger one.
pub(crate) fn insert_on<T, K>(
    filter: &mut T,
    threads: usize,
    keys: &[K],
    insert_many: impl Fn(&mut T, &[K]) + Sync,
) where
    T: Owns<Part: BitsPart> + Clone,
    K: Key + Sync,
{
    if !cfg!(feature = "parallel") || threads < 2 {
        return insert_many(filter, keys);
    }
    if lent::copies_are_small(filter.own_mut().1.bits_mut()) {
        return insert_in_copies(filter, threads, keys, insert_many);
    }
    let hasher = filter.head().hasher.clone();
    let Some(lent) = filter.lend() else {
        return insert_many(filter, keys);
    };
    let insert = |keys: &[K]| insert(&lent, (&hasher, T::HASH), keys);
    let (own, others) = shares(threads, keys);
    beside(others, insert, || insert(own));
}

/// Inserts keys on so many threads, each into bits of its own, which are united at the end.
fn insert_in_copies<T, K>(
    filter: &mut T,
    threads: usize,
    keys: &[K],
    insert_many: impl Fn(&mut T, &[K]) + Sync,
) where
    T: Owns<Part: BitsPart> + Clone,
    K: Key + Sync,
{
    let bits = filter.own_mut().1.bits_mut();
    let room = bits.len();
    // A twin without bits: the threads make their own.
    let taken = std::mem::replace(bits, Bits::new(64));
    let twin = filter.clone();
    *filter.own_mut().1.bits_mut() = taken;
    let fill = |keys: &[K]| {
        let mut own = twin.clone();
        *own.own_mut().1.bits_mut() = Bits::new(room);
        insert_many(&mut own, keys);
        std::mem::replace(own.own_mut().1.bits_mut(), Bits::new(64))
    };
    let (own, others) = shares(threads, keys);
    let ((), copies) = beside(others, fill, || insert_many(filter, own));
    let (head, part) = filter.own_mut();
    lent::unite(part.bits_mut(), &copies);
    head.count((keys.len() - own.len()) as u64);
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

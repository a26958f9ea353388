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

/// Keys of an iterator that are asked for at once: so many that a call for them costs little beside them, so few that
/// they stay in the L1 cache until they are handed out.
const TAKEN: usize = 512;

/// Keys of an iterator with whether each may be a member. Where the filter is `near`, so that nothing is gained by asking
/// for cells before they are needed, `one` is asked for every key; else `many` for a chunk of them.
#[inline]
pub(crate) fn asked<K, I, O, M>(keys: I, near: bool, one: O, many: M) -> Asked<I, O, M>
where
    K: Key,
    I: Iterator<Item = K>,
    O: Fn(&K) -> bool,
    M: Fn(&[K], &mut [bool]),
{
    Asked { keys, near, one, many, pairs: Vec::new().into_iter().zip(Vec::new()) }
}

pub(crate) struct Asked<I: Iterator, O, M> {
    keys: I,
    near: bool,
    one: O,
    many: M,
    /// Keys that were asked for and are not handed out yet, with their answers. Both are lists: of an array in here
    /// `many` would have to be told the address, and a loop over pairs would keep its place in memory instead of
    /// in registers.
    pairs: Pairs<I::Item>,
}

type Pairs<K> = std::iter::Zip<std::vec::IntoIter<K>, std::vec::IntoIter<bool>>;

/// The next keys with their answers; none at the end.
#[inline(always)]
fn taken<K: Key>(
    from: &mut impl Iterator<Item = K>,
    many: &impl Fn(&[K], &mut [bool]),
) -> Pairs<K> {
    let mut keys = Vec::with_capacity(TAKEN);
    keys.extend(from.take(TAKEN));
    let mut found = vec![false; keys.len()];
    many(&keys, &mut found);
    keys.into_iter().zip(found)
}

impl<K, I, O, M> Iterator for Asked<I, O, M>
where
    K: Key,
    I: Iterator<Item = K>,
    O: Fn(&K) -> bool,
    M: Fn(&[K], &mut [bool]),
{
    type Item = (K, bool);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.near {
            let key = self.keys.next()?;
            let found = (self.one)(&key);
            return Some((key, found));
        }
        if let Some(pair) = self.pairs.next() {
            return Some(pair);
        }
        self.pairs = taken(&mut self.keys, &self.many);
        self.pairs.next()
    }

    /// What `for_each`, `sum` and `count` go by: a loop over a chunk, and not a question for every key whether there
    /// is one.
    #[inline]
    fn fold<B, G: FnMut(B, Self::Item) -> B>(self, all: B, mut f: G) -> B {
        let Self { mut keys, near, one, many, pairs } = self;
        if near {
            return keys.fold(all, |all, key| {
                let found = one(&key);
                f(all, (key, found))
            });
        }
        let mut all = pairs.fold(all, &mut f);
        loop {
            let pairs = taken(&mut keys, &many);
            if pairs.len() == 0 {
                return all;
            }
            all = pairs.fold(all, &mut f);
        }
    }
}

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

/// [`contains_many`] into memory of the caller's, for as many keys as there is room; says how many there were.
#[inline]
pub(crate) fn contains_into<F>(
    filter: &F,
    keys: impl Iterator<Item: Key>,
    mut found: &mut [bool],
) -> usize
where
    F: Plan + Bulk,
{
    let room = found.len();
    chunks(&filter.head().hasher, F::HASH, keys.take(found.len()), |digests| {
        let (now, later) = std::mem::take(&mut found).split_at_mut(digests.len());
        filter.contains_digests(digests, now);
        found = later;
    });
    room - found.len()
}

/// [`contains_into`] for the next keys of an iterator, which is handed back with the others.
#[inline]
pub(crate) fn contains_next<F, I>(filter: &F, mut keys: I, found: &mut [bool]) -> (Option<I>, usize)
where
    F: Plan + Bulk,
    I: Iterator<Item: Key>,
{
    let count = contains_into(filter, keys.by_ref(), found);
    (Some(keys), count)
}

/// Keys of an iterator that are asked for at once: so many that a call for them costs little beside them, so few that
/// they stay in the L1 cache until their answers are handed out.
const TAKEN: usize = 1024;

/// Whether each key of an iterator may be a member. `many` takes the next keys, as many as there is room for answers; it hands
/// back the others, and says how many answers there are. By value: behind a reference every step of the iterator would go through
/// memory.
#[inline]
pub(crate) fn asked<I, M>(keys: I, many: M) -> Asked<I, M>
where
    I: Iterator,
    M: Fn(I, &mut [bool]) -> (Option<I>, usize) + Copy,
{
    Asked { keys: Some(keys), many, found: Box::new([false; TAKEN]), next: TAKEN }
}

/// Keys are not handed back: they would be written to a list and read again, which takes as long as a query.
pub(crate) struct Asked<I, M> {
    /// None once they have ended.
    keys: Option<I>,
    many: M,
    /// Answers from `next` on are not handed out yet. They lie elsewhere, and not in here: of what is lent to `many` a loop
    /// would keep its place in memory instead of in registers.
    found: Box<[bool; TAKEN]>,
    next: usize,
}

/// Takes the next keys and puts their answers at the end of `found`, so that a loop over answers has one end to ask for; says
/// which keys are left, and where the answers begin.
///
/// A call for which nothing of an iterator has to be in memory: else a loop over answers would keep its place there, and
/// wait for it with every step.
#[inline(never)]
fn answer<I, M>(many: M, keys: I, found: &mut [bool; TAKEN]) -> (Option<I>, usize)
where
    M: Fn(I, &mut [bool]) -> (Option<I>, usize),
{
    let (rest, count) = many(keys, &mut found[..]);
    if count == TAKEN {
        return (rest, 0);
    }
    found.copy_within(..count, TAKEN - count);
    (None, TAKEN - count)
}

impl<I, M> Iterator for Asked<I, M>
where
    I: Iterator,
    M: Fn(I, &mut [bool]) -> (Option<I>, usize) + Copy,
{
    type Item = bool;

    #[inline]
    fn next(&mut self) -> Option<bool> {
        if self.next >= TAKEN {
            (self.keys, self.next) = answer(self.many, self.keys.take()?, &mut self.found);
        }
        let found = *self.found.get(self.next)?;
        self.next += 1;
        Some(found)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let waiting = TAKEN - self.next;
        let (least, most) = self.keys.as_ref().map_or((0, Some(0)), I::size_hint);
        (least.saturating_add(waiting), most.and_then(|most| most.checked_add(waiting)))
    }

    /// What `for_each`, `sum` and `count` go by: a loop over a chunk, and not a question for every key whether there
    /// is one.
    #[inline]
    fn fold<B, G: FnMut(B, bool) -> B>(self, all: B, mut f: G) -> B {
        let Self { keys, many, mut found, next } = self;
        let mut all = found[next..].iter().copied().fold(all, &mut f);
        let mut coming = keys;
        while let Some(keys) = coming {
            let (rest, first) = answer(many, keys, &mut found);
            all = found[first..].iter().copied().fold(all, &mut f);
            coming = rest;
        }
        all
    }
}

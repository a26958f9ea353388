//! Calls for many keys of types whose part is [`Batched`], which hashes several keys with one instruction. `USUAL` is
//! the number of the type's own hash, for which the loops over keys are compiled.

use super::own::Owns;
use super::{Batched, KeyPart};
use crate::hash::{Batch, Key, Keys};
use crate::variant::many;

/// Inserts keys; `one` inserts a single one.
#[inline(always)]
pub(crate) fn insert_many<const USUAL: u16, T, K>(
    filter: &mut T,
    keys: &[K],
    one: impl Fn(&mut T, &K),
) where
    T: Owns<Part: Batched + KeyPart>,
    K: Key,
{
    let (head, part) = filter.own_mut();
    if part.in_one_loop(keys) {
        let hasher = head.hasher.clone();
        part.set_all(Batch::<_, USUAL>::new(&hasher, keys));
        head.count(keys.len() as u64);
        return;
    }
    // All that other keys gain from a batch is prefetching.
    if part.is_near() {
        return keys.iter().for_each(|key| one(filter, key));
    }
    many::insert_many(filter, keys.iter());
}

/// Writes whether each key may be a member; `one` tells it of a single one.
#[inline(always)]
pub(crate) fn contains_into<const USUAL: u16, T, K>(
    filter: &T,
    keys: &[K],
    found: &mut [bool],
    one: impl Fn(&T, &K) -> bool,
) where
    T: Owns<Part: Batched + KeyPart>,
    K: Key,
{
    let (head, part) = filter.own();
    if part.in_one_loop(keys) {
        part.have(Batch::<_, USUAL>::new(&head.hasher, keys), found);
        return;
    }
    if part.is_near() {
        return found.iter_mut().zip(keys).for_each(|(found, key)| *found = one(filter, key));
    }
    many::contains_into(filter, keys.iter(), found);
}

/// [`contains_into`] for the next keys of an iterator, which is handed back with the others.
#[inline(always)]
pub(crate) fn contains_next<const USUAL: u16, T, I>(
    filter: &T,
    keys: I,
    found: &mut [bool],
) -> (Option<I>, usize)
where
    T: Owns<Part: Batched>,
    I: Iterator<Item: Key>,
{
    let (head, part) = filter.own();
    let mut digests = Keys::<_, USUAL>::new(&head.hasher, keys, found.len());
    let count = part.have(&mut digests, found);
    (digests.rest(), count as usize)
}

/// Inserts the keys of an iterator.
#[inline(always)]
pub(crate) fn extend<const USUAL: u16, T>(filter: &mut T, keys: impl Iterator<Item: Key>)
where
    T: Owns<Part: Batched>,
{
    let (head, part) = filter.own_mut();
    let hasher = head.hasher.clone();
    let count = part.set_all(Keys::<_, USUAL>::new(&hasher, keys, usize::MAX));
    head.count(count);
}

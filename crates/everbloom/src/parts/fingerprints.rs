//! Tables of fingerprints, which refuse keys that they have no room for.

use super::own::Owns;
use crate::error::{Error, Result};
use crate::filter::{Insert, Record, Seen};
use crate::hash::{CHUNK, Digest, Key};

/// Prefetching calls of a type store and find what calls for single keys do.
#[cfg(test)]
macro_rules! many_keys_are_as_one {
    ($make:expr, $keys:expr) => {
        let (mut one, mut many) = ($make, $make);
        $keys.iter().for_each(|key| _ = one.insert(key).unwrap());
        many.insert_many(&$keys).unwrap();
        assert_eq!(one, many);
        let asked: Vec<u64> = (2000..9000).collect();
        let found: Vec<bool> = asked.iter().map(|key| one.contains(key)).collect();
        assert_eq!(many.contains_many(&asked), found);
        assert!(found[..1000].iter().all(|found| *found));
    };
}
#[cfg(test)]
pub(crate) use many_keys_are_as_one;

/// A part that refuses keys that it has no room for.
pub(crate) trait TablePart {
    /// Inserts a key, again if already present; true if it was not.
    fn insert(&mut self, digest: Digest) -> Result<bool>;

    /// Inserts keys up to the first that is refused, and says which one that was.
    fn insert_all(&mut self, digests: &[Digest]) -> Outcome;
}

/// The first key that was refused, by its number, and why.
pub(crate) type Outcome = std::result::Result<(), (usize, Error)>;

/// Inserts a key.
#[inline(always)]
pub(crate) fn insert<T, K>(filter: &mut T, key: &K) -> Result<Seen>
where
    T: Owns<Part: TablePart>,
    K: Key + ?Sized,
{
    let (head, part) = filter.own_mut();
    let new = part.insert(head.hasher.digest_usually(T::HASH, key))?;
    head.count(1);
    Ok(Seen::new_if(new))
}

/// Inserts keys up to the first that is refused.
#[inline(always)]
pub(crate) fn insert_many<T, K>(filter: &mut T, keys: &[K]) -> Result<()>
where
    T: Owns<Part: TablePart>,
    K: Key,
{
    let mut done = 0;
    for keys in keys.chunks(CHUNK) {
        let digest = |key| filter.head().hasher.digest_usually(T::HASH, key);
        let digests: Vec<Digest> = keys.iter().map(digest).collect();
        insert_all(filter, &digests)
            .map_err(|(i, e)| e.context(format!("key {}", done + i + 1)))?;
        done += keys.len();
    }
    Ok(())
}

/// Inserts digests up to the first that is refused.
fn insert_all<T: Owns<Part: TablePart>>(filter: &mut T, digests: &[Digest]) -> Outcome {
    let (head, part) = filter.own_mut();
    let outcome = part.insert_all(digests);
    let taken = outcome.as_ref().map_or_else(|(taken, _)| *taken, |()| digests.len());
    head.count(taken as u64);
    outcome
}

impl<T: Owns<Part: TablePart>> Insert for T {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        insert(self, record.key)
    }

    fn insert_all(&mut self, records: &[Record<'_>]) -> Outcome {
        let digest = |record: &Record<'_>| self.head().hasher.digest(record.key);
        let digests: Vec<Digest> = records.iter().map(digest).collect();
        insert_all(self, &digests)
    }
}

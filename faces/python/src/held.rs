//! The filter inside: of one of a few types that are asked without dispatch, or of any other.

use std::any::Any;

use everbloom::raw::Digest;
use everbloom::{BlockedBloom, Bloom, Error, Filter, Record, Result, Seen, SplitBlock, Verdict};

use crate::abilities::insert;
use crate::keys::Key;

/// Keys that are worked on at once: their digests stay in the L1 cache.
pub const CHUNK: usize = 1024;

/// Some keys, one after the other.
#[derive(Clone, Copy)]
pub enum Chunk<'a> {
    /// Integers of 64 bits.
    Words(&'a [u64]),
    /// Bytes.
    Slices(&'a [&'a [u8]]),
}

impl Chunk<'_> {
    pub fn len(&self) -> usize {
        match self {
            Chunk::Words(words) => words.len(),
            Chunk::Slices(slices) => slices.len(),
        }
    }

    /// Calls `f` with the bytes of every key, and its number.
    pub fn each<E>(
        &self,
        mut f: impl FnMut(usize, &[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        match self {
            Chunk::Words(words) => {
                words.iter().enumerate().try_for_each(|(i, word)| f(i, &word.to_le_bytes()))
            }
            Chunk::Slices(slices) => {
                slices.iter().enumerate().try_for_each(|(i, slice)| f(i, slice))
            }
        }
    }

    /// The digests of all keys.
    fn digests(&self, filter: &dyn Filter, digests: &mut Vec<Digest>) {
        let hasher = &filter.head().hasher;
        digests.clear();
        match self {
            Chunk::Words(words) => digests.extend(words.iter().map(|key| hasher.digest(key))),
            Chunk::Slices(slices) => digests.extend(slices.iter().map(|key| hasher.digest(*key))),
        }
    }
}

/// `held! { Bloom(Bloom), … }`: types with methods of their own for one key and for many, none of which fails.
macro_rules! held {
    ($($name:ident($type:ty)),+ $(,)?) => {
        /// A filter.
        pub enum Held {
            $($name($type),)+
            /// Of any other type.
            Other(Box<dyn Filter>),
        }

        impl Held {
            /// The same filter, of its own type if that is among the few.
            pub fn of(filter: Box<dyn Filter>) -> Self {
                $(
                    if filter.as_same::<$type>().is_ok() {
                        let any: Box<dyn Any> = filter;
                        return match any.downcast::<$type>() {
                            Ok(typed) => Held::$name(*typed),
                            Err(_) => unreachable!("its type was asked for just now"),
                        };
                    }
                )+
                Held::Other(filter)
            }

            pub fn filter(&self) -> &dyn Filter {
                match self {
                    $(Held::$name(filter) => filter,)+
                    Held::Other(filter) => &**filter,
                }
            }

            pub fn filter_mut(&mut self) -> &mut dyn Filter {
                match self {
                    $(Held::$name(filter) => filter,)+
                    Held::Other(filter) => &mut **filter,
                }
            }

            /// Whether a key may be a member.
            #[inline]
            pub fn contains(&self, key: &Key<'_>) -> Result<bool> {
                match (self, key) {
                    $(
                        (Held::$name(filter), Key::Word(word)) => Ok(filter.contains(word)),
                        (Held::$name(filter), Key::Bytes(bytes)) => Ok(filter.contains(*bytes)),
                    )+
                    _ => key.with(|bytes| asked(self.filter(), bytes)),
                }
            }

            /// Inserts a key.
            #[inline]
            pub fn insert(&mut self, key: &Key<'_>) -> Result<Seen> {
                match (&mut *self, key) {
                    $(
                        (Held::$name(filter), Key::Word(word)) => Ok(filter.insert(word)),
                        (Held::$name(filter), Key::Bytes(bytes)) => Ok(filter.insert(*bytes)),
                    )+
                    _ => key.with(|bytes| self.insert_record(Record::key(bytes))),
                }
            }

            /// Writes whether each of some keys may be a member.
            pub fn contains_many(&self, keys: Chunk<'_>, found: &mut [bool]) -> Result<()> {
                match (self, keys) {
                    $(
                        (Held::$name(filter), Chunk::Words(words)) => {
                            filter.contains_many_into(words, found);
                        }
                        (Held::$name(filter), Chunk::Slices(slices)) => {
                            filter.contains_many_into(slices, found);
                        }
                    )+
                    (Held::Other(filter), keys) => return asked_many(&**filter, keys, found),
                }
                Ok(())
            }

            /// Inserts some keys; on all cores if they are many.
            pub fn insert_many(&mut self, keys: Chunk<'_>) -> std::result::Result<(), (usize, Error)> {
                match (self, keys) {
                    $(
                        (Held::$name(filter), Chunk::Words(words)) => {
                            filter.insert_many_parallel(words);
                        }
                        (Held::$name(filter), Chunk::Slices(slices)) => {
                            filter.insert_many_parallel(slices);
                        }
                    )+
                    (Held::Other(filter), keys) => return inserted(&mut **filter, keys),
                }
                Ok(())
            }

            /// Removes all keys, if the type can; says whether it could.
            pub fn clear(&mut self) -> bool {
                match self {
                    $(Held::$name(filter) => filter.clear(),)+
                    Held::Other(_) => return false,
                }
                true
            }
        }
    };
}

held! { Bloom(Bloom), Blocked(BlockedBloom), SplitBlock(SplitBlock) }

impl Held {
    /// Inserts a key with what comes with it.
    pub fn insert_record(&mut self, record: Record<'_>) -> Result<Seen> {
        insert(self.filter_mut())?.insert(record)
    }
}

#[inline]
fn asked(filter: &dyn Filter, key: &[u8]) -> Result<bool> {
    Ok(filter.query(Record::key(key))?.verdict != Verdict::Absent)
}

fn asked_many(filter: &dyn Filter, keys: Chunk<'_>, found: &mut [bool]) -> Result<()> {
    if let Some(bulk) = filter.as_bulk() {
        let mut digests = Vec::with_capacity(keys.len());
        keys.digests(filter, &mut digests);
        bulk.contains_digests(&digests, found);
        return Ok(());
    }
    keys.each(|i, key| {
        found[i] = asked(filter, key)?;
        Ok(())
    })
}

/// Inserts some keys into a filter of any type; says which was refused.
pub fn inserted(
    filter: &mut dyn Filter,
    keys: Chunk<'_>,
) -> std::result::Result<(), (usize, Error)> {
    insert(filter).map_err(|e| (0, e))?;
    if filter.as_bulk_mut().is_some() {
        let mut digests = Vec::with_capacity(keys.len());
        keys.digests(filter, &mut digests);
        if let Some(bulk) = filter.as_bulk_mut() {
            bulk.insert_digests(&digests);
        }
        return Ok(());
    }
    let insert = insert(filter).map_err(|e| (0, e))?;
    keys.each(|i, key| insert.insert(Record::key(key)).map(drop).map_err(|e| (i, e)))
}

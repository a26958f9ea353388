//! The rows of the left side, found by their keys.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroUsize;

use super::super::list::{append, split};
use super::super::mixed::Mixed;
use crate::error::Result;
use crate::hash::Hasher;
use crate::memory::prefetch;

/// Rows and their keys, hashed on any thread, to be put into a table.
#[derive(Clone, Debug, Default)]
pub struct Keyed {
    /// Keys and rows, each preceded by its length. A row that is its key stands there once.
    text: Vec<u8>,
    rows: Vec<Hashed>,
}

#[derive(Clone, Copy, Debug)]
struct Hashed {
    digest: u64,
    /// Whether the row is its key.
    alone: bool,
}

impl Keyed {
    /// Adds a row.
    pub fn push(&mut self, key: &[u8], row: &[u8]) {
        let alone = key == row;
        self.rows.push(Hashed { digest: digest(key), alone });
        append(&mut self.text, key);
        if !alone {
            append(&mut self.text, row);
        }
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        self.text.clear();
        self.rows.clear();
    }
}

fn digest(key: &[u8]) -> u64 {
    Hasher::default().digest(key).word(0)
}

/// Keys that are looked for at the same time.
const TOGETHER: usize = 64;

/// Rows in the order in which they came, those of a key as a chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Keys and rows, each preceded by its length.
    text: Vec<u8>,
    keys: Vec<Held>,
    /// Where each row begins, and the number of the next one of its key.
    rows: Vec<(usize, Option<NonZeroUsize>)>,
    /// Numbers of keys.
    by_digest: HashMap<u64, usize, Mixed>,
    /// Those of keys whose digest another one has.
    others: HashMap<Vec<u8>, usize>,
}

/// What becomes of a row whose key another one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Taken,
    Left,
}

/// A key: where it begins, and its first and last row.
#[derive(Clone, Copy, Debug)]
struct Held {
    start: usize,
    first: usize,
    last: usize,
}

impl Table {
    /// Adds a row.
    pub fn insert(&mut self, key: &[u8], row: &[u8]) {
        let row = (key != row).then_some(row);
        self.enter(digest(key), key, row, Again::Taken);
    }

    /// Adds rows, in their order.
    pub fn insert_all(&mut self, batch: &Keyed, again: Again) {
        let mut rest = batch.text.as_slice();
        let mut next = || {
            let (item, behind) = split(rest).unwrap_or_default();
            rest = behind;
            item
        };
        for hashed in batch.rows.chunks(TOGETHER) {
            let row = |Hashed { digest, alone }: &Hashed| {
                let key = next();
                (*digest, key, (!alone).then(&mut next))
            };
            let rows: Vec<_> = hashed.iter().map(row).collect();
            let held = self.find_all(rows.iter().map(|(digest, key, _)| (*digest, *key)));
            for ((digest, key, row), held) in rows.into_iter().zip(held) {
                // A key that is new may have come among these.
                let held = held.or_else(|| self.find(digest, key));
                self.enter_found(held, digest, key, row, again);
            }
        }
    }

    /// Adds a row, which is its key where none is given.
    fn enter(&mut self, digest: u64, key: &[u8], row: Option<&[u8]>, again: Again) {
        self.enter_found(self.find(digest, key), digest, key, row, again);
    }

    /// [`Table::enter`] for a key of which the number is known, if it has one.
    fn enter_found(
        &mut self,
        held: Option<usize>,
        digest: u64,
        key: &[u8],
        row: Option<&[u8]>,
        again: Again,
    ) {
        let number = self.rows.len();
        if held.is_some() && again == Again::Left {
            return;
        }
        let start = match held.map(|held| self.keys[held].start) {
            Some(start) => start,
            None => self.append(key),
        };
        let begins = row.map_or(start, |row| self.append(row));
        self.rows.push((begins, None));
        match held {
            Some(held) => {
                let last = std::mem::replace(&mut self.keys[held].last, number);
                self.rows[last].1 = NonZeroUsize::new(number);
            }
            None => {
                let held = self.keys.len();
                self.keys.push(Held { start, first: number, last: number });
                match self.by_digest.entry(digest) {
                    Entry::Vacant(free) => _ = free.insert(held),
                    Entry::Occupied(_) => _ = self.others.insert(key.to_vec(), held),
                }
            }
        }
    }

    fn append(&mut self, item: &[u8]) -> usize {
        let start = self.text.len();
        append(&mut self.text, item);
        start
    }

    fn at(&self, start: usize) -> &[u8] {
        split(&self.text[start..]).map_or(&[], |(item, _)| item)
    }

    /// The number of a key.
    fn find(&self, digest: u64, key: &[u8]) -> Option<usize> {
        let held = *self.by_digest.get(&digest)?;
        if self.at(self.keys[held].start) == key {
            return Some(held);
        }
        self.others.get(key).copied()
    }

    /// The numbers of keys with their digests, at most [`TOGETHER`]. Every step is done for all of them before the next: what one
    /// waits for from memory comes while the others ask for theirs.
    fn find_all<'k>(
        &self,
        keys: impl Iterator<Item = (u64, &'k [u8])> + Clone,
    ) -> [Option<usize>; TOGETHER] {
        let mut found = [None; TOGETHER];
        for (found, (digest, _)) in found.iter_mut().zip(keys.clone()) {
            *found = self.by_digest.get(&digest).copied();
        }
        for held in found.into_iter().flatten() {
            let Held { start, first, .. } = self.keys[held];
            prefetch(self.text.as_ptr().wrapping_add(start));
            prefetch(self.rows.as_ptr().wrapping_add(first).cast());
        }
        for (found, (_, key)) in found.iter_mut().zip(keys) {
            if found.is_some_and(|held| self.at(self.keys[held].start) != key) {
                *found = self.others.get(key).copied();
            }
        }
        found
    }

    /// Calls `f` with every item and the rows that have its key, which stands beside it.
    pub fn each_with_rows<'i>(
        &self,
        items: &[(&'i [u8], Cow<'i, [u8]>)],
        mut f: impl FnMut(&'i [u8], &mut dyn Iterator<Item = &[u8]>) -> Result<()>,
    ) -> Result<()> {
        for items in items.chunks(TOGETHER) {
            let found = self.find_all(items.iter().map(|(_, key)| (digest(key), &**key)));
            for ((item, _), held) in items.iter().zip(found) {
                f(item, &mut self.chain(held))?;
            }
        }
        Ok(())
    }

    /// The rows of the key with this number.
    fn chain(&self, held: Option<usize>) -> impl Iterator<Item = &[u8]> {
        let first = held.map(|held| self.keys[held].first);
        std::iter::successors(first, |row| self.rows[*row].1.map(NonZeroUsize::get))
            .map(|row| self.at(self.rows[row].0))
    }

    /// The keys, each once.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.keys.iter().map(|key| self.at(key.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(table: &Table, key: &str) -> Vec<Vec<u8>> {
        let mut rows = Vec::new();
        let key = key.as_bytes();
        let _ = table.each_with_rows(&[(key, key.into())], |item, of_key| {
            assert_eq!(item, key);
            rows.extend(of_key.map(<[u8]>::to_vec));
            Ok(())
        });
        rows
    }

    #[test]
    fn rows_of_a_key_come_in_their_order() {
        let (mut one, mut all, mut batch) = (Table::default(), Table::default(), Keyed::default());
        for (key, row) in [("a", "a"), ("b", "b,1"), ("a", "a,2"), ("", ""), ("a", "a")] {
            one.insert(key.as_bytes(), row.as_bytes());
            batch.push(key.as_bytes(), row.as_bytes());
        }
        all.insert_all(&batch, Again::Taken);
        let mut first = Table::default();
        first.insert_all(&batch, Again::Left);
        assert_eq!((rows(&first, "a"), first.rows.len()), (vec![b"a".to_vec()], 3));
        for table in [one, all] {
            assert_eq!(rows(&table, "a"), [&b"a"[..], b"a,2", b"a"]);
            assert_eq!(
                (rows(&table, "b"), rows(&table, "")),
                (vec![b"b,1".to_vec()], vec![vec![]])
            );
            assert!(rows(&table, "c").is_empty());
            assert!(table.keys().eq([&b"a"[..], b"b", b""]));
        }
    }

    #[test]
    fn many_rows_are_found_as_one_by_one() {
        // Keys come again soon, later, or never.
        let key = |i: usize| format!("{}", if i.is_multiple_of(3) { i / 2 % 50 } else { i });
        let (mut one, mut all, mut batch) = (Table::default(), Table::default(), Keyed::default());
        for i in 0..5 * TOGETHER + 7 {
            let row = if i.is_multiple_of(5) { key(i) } else { format!("{},{i}", key(i)) };
            one.insert(key(i).as_bytes(), row.as_bytes());
            batch.push(key(i).as_bytes(), row.as_bytes());
        }
        all.insert_all(&batch, Again::Taken);
        assert!(all.keys().eq(one.keys()) && all.others.is_empty());
        let asked: Vec<String> = (0..10 * TOGETHER).map(|i| i.to_string()).collect();
        let items: Vec<_> = asked.iter().map(|k| (k.as_bytes(), k.as_bytes().into())).collect();
        let mut found = Vec::new();
        let each = all.each_with_rows(&items, |_, of_key| {
            found.push(of_key.map(<[u8]>::to_vec).collect::<Vec<_>>());
            Ok(())
        });
        assert!(each.is_ok() && found.iter().any(|rows| rows.len() > 2));
        assert!(asked.iter().map(|key| rows(&one, key)).eq(found));
    }

    #[test]
    fn keys_of_one_digest_are_told_apart() {
        let mut table = Table::default();
        for (key, row) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("b", "5")] {
            table.enter(7, key.as_bytes(), Some(row.as_bytes()), Again::Taken);
        }
        assert_eq!(table.keys().len(), 3);
        let chain = |key: &[u8]| {
            let held = table.find(7, key).expect("a key");
            let Held { first, last, .. } = table.keys[held];
            (table.at(table.rows[first].0), table.at(table.rows[last].0))
        };
        assert_eq!(chain(b"a"), (&b"1"[..], &b"3"[..]));
        assert_eq!(chain(b"b"), (&b"2"[..], &b"5"[..]));
        assert_eq!(chain(b"c"), (&b"4"[..], &b"4"[..]));
        let keys = [b"a", b"b", b"c", b"d"];
        let found = table.find_all(keys.iter().map(|key| (7, &key[..])));
        assert!(
            found
                .into_iter()
                .eq(keys.map(|key| table.find(7, key)).into_iter().chain([None; TOGETHER - 4]))
        );
    }
}

//! The rows of the left side, found by their keys.
//!
//! The digest of a key picks one of 64 tables. Each core fills some of them, in the order in which rows come, and a table
//! that is filled for a while stays in its cache.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroUsize;

use super::super::list::{append, split};
use super::slots::Slots;
use crate::filter::{BulkInsert as _, Face as _};
use crate::hash::{Digest, Hasher};
use crate::membership::BlockedBloom;
use crate::memory::prefetch;
use crate::threads::Cores;

/// How many tables there are: as many as there are values of the highest bits of a digest.
const TABLES: usize = 1 << TABLE_BITS;
const TABLE_BITS: u32 = 6;
/// Rows that are worth a thread: it has begun before another one is done with them.
const WORTH_A_THREAD: usize = 1 << 13;
/// Keys that are hashed before they are inserted into a filter.
const CHUNK: usize = 16 << 10;

/// Rows and their keys, hashed on any thread, to be put into tables.
#[derive(Clone, Debug)]
pub struct Keyed {
    /// Those of each table.
    parts: Vec<Part>,
}

/// Rows of one table, in their order.
#[derive(Clone, Debug, Default)]
struct Part {
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

impl Default for Keyed {
    fn default() -> Self {
        Self { parts: vec![Part::default(); TABLES] }
    }
}

impl Keyed {
    /// Adds a row.
    pub fn push(&mut self, key: &[u8], row: &[u8]) {
        let (alone, digest) = (key == row, digest(key));
        let part = &mut self.parts[table_of(digest)];
        part.rows.push(Hashed { digest, alone });
        append(&mut part.text, key);
        if !alone {
            append(&mut part.text, row);
        }
    }

    /// Forgets the rows.
    pub fn clear(&mut self) {
        for Part { text, rows } in &mut self.parts {
            text.clear();
            rows.clear();
        }
    }

    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }
}

fn digest(key: &[u8]) -> u64 {
    Hasher::default().digest(key).word(0)
}

fn table_of(digest: u64) -> usize {
    (digest >> (u64::BITS - TABLE_BITS)) as usize
}

/// Rows by their keys, in as many tables as can be filled at the same time.
#[derive(Clone, Debug)]
pub(super) struct Tables(Vec<Table>);

impl Default for Tables {
    fn default() -> Self {
        Self(vec![Table::default(); TABLES])
    }
}

impl Tables {
    /// Adds a row.
    pub fn insert(&mut self, key: &[u8], row: &[u8]) {
        let (digest, row) = (digest(key), (key != row).then_some(row));
        self.0[table_of(digest)].enter(digest, key, row, Again::Taken);
    }

    /// Adds the rows of all blocks, in their order, on all cores.
    pub fn insert_all(&mut self, blocks: &[Keyed], again: Again) {
        let rows = blocks.iter().map(Keyed::len).sum();
        Cores::for_items(rows, WORTH_A_THREAD).each(&mut self.0, |number, table| {
            blocks.iter().for_each(|block| table.insert_all(&block.parts[number], again));
        });
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.iter().map(|table| table.keys.len()).sum()
    }

    /// The keys, each once.
    pub fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().flat_map(Table::keys)
    }

    /// Inserts all keys into a filter, on all cores.
    pub fn fill(&self, filter: &mut BlockedBloom) {
        let hasher = filter.head().hasher.clone();
        let cores = Cores::for_keys(self.len());
        if let Some(lent) = filter.lend().filter(|_| cores != Cores::ONE) {
            let mut tables: Vec<&Table> = self.0.iter().collect();
            let insert = |digests: &[Digest]| lent.insert_digests(digests);
            return cores.each(&mut tables, |_, table| table.each_digests(&hasher, insert));
        }
        for table in &self.0 {
            table.each_digests(&hasher, |digests| filter.insert_digests(digests));
        }
    }

    /// The rows of keys, at most [`TOGETHER`], each of which stands beside an item.
    pub fn rows_of<'t, 'i>(
        &'t self,
        items: &[(&'i [u8], Cow<'i, [u8]>)],
    ) -> Vec<(&'i [u8], Chain<'t>)> {
        let keys: Vec<_> = items.iter().map(|(_, key)| (digest(key), &**key)).collect();
        let of = |digest: u64| &self.0[table_of(digest)];
        let found = find_all(of, keys.iter().copied());
        let chains = keys.iter().zip(found).map(|((digest, _), held)| of(*digest).chain(held));
        items.iter().map(|(item, _)| *item).zip(chains).collect()
    }
}

/// Keys that are looked for at the same time.
pub(super) const TOGETHER: usize = 64;

/// The numbers of keys with their digests, at most [`TOGETHER`], each in its table. Every step is done for all of them before the
/// next: what one waits for from memory comes while the others ask for theirs.
fn find_all<'t, 'k>(
    table_of: impl Fn(u64) -> &'t Table,
    keys: impl Iterator<Item = (u64, &'k [u8])> + Clone,
) -> [Option<usize>; TOGETHER] {
    let mut found = [None; TOGETHER];
    keys.clone().for_each(|(digest, _)| table_of(digest).slots.fetch(digest));
    for (found, (digest, _)) in found.iter_mut().zip(keys.clone()) {
        let table = table_of(digest);
        *found = table.slots.candidates(digest).next();
        if let Some(held) = *found {
            prefetch(table.keys.as_ptr().wrapping_add(held).cast());
        }
    }
    for (held, (digest, _)) in found.iter().zip(keys.clone()) {
        if let Some(held) = *held {
            let (table, key) = (table_of(digest), &table_of(digest).keys[held]);
            prefetch(table.text.as_ptr().wrapping_add(key.start));
            prefetch(table.text.as_ptr().wrapping_add(key.row));
        }
    }
    for (found, (digest, key)) in found.iter_mut().zip(keys) {
        if let Some(held) = *found {
            let table = table_of(digest);
            *found = found.filter(|_| table.is(held, digest, key));
            // Another one with the same bits in its slot, or even of the same digest, came before it.
            *found = found.or_else(|| table.find(digest, key));
        }
    }
    found
}

/// Rows in the order in which they came, those of a key as a chain.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// Keys and rows, each preceded by its length.
    text: Vec<u8>,
    keys: Vec<Held>,
    /// One key of each digest.
    slots: Slots,
    /// The numbers of the others, which somebody must have chosen: in slots they would stand in one long row.
    others: HashMap<Vec<u8>, usize>,
    /// Rows but the first one of each key: where they begin, and the number of the next, counted from 1.
    more: Vec<(usize, Option<NonZeroUsize>)>,
}

/// What becomes of a row whose key another one has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Again {
    Taken,
    Left,
}

/// A key and its first row.
#[derive(Clone, Copy, Debug)]
struct Held {
    digest: u64,
    /// Where they begin; where the row is its key, at the same place.
    start: usize,
    row: usize,
    /// The numbers of the next row and of the last one, counted from 1.
    next: Option<NonZeroUsize>,
    last: Option<NonZeroUsize>,
}

impl Table {
    /// Adds rows, in their order.
    fn insert_all(&mut self, part: &Part, again: Again) {
        let mut rest = part.text.as_slice();
        let mut next = || {
            let (item, behind) = split(rest).unwrap_or_default();
            rest = behind;
            item
        };
        for hashed in part.rows.chunks(TOGETHER) {
            let row = |Hashed { digest, alone }: &Hashed| {
                let key = next();
                (*digest, key, (!alone).then(&mut next))
            };
            let rows: Vec<_> = hashed.iter().map(row).collect();
            let held = find_all(|_| &*self, rows.iter().map(|(digest, key, _)| (*digest, *key)));
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
        let Some(held) = held else {
            let (start, alone) = (self.append(key), self.of_digest(digest).is_none());
            let row = row.map_or(start, |row| self.append(row));
            self.keys.push(Held { digest, start, row, next: None, last: None });
            if alone {
                self.slots.push(self.keys.len() - 1, |key| self.keys[key].digest);
            } else {
                self.others.insert(key.to_vec(), self.keys.len() - 1);
            }
            return;
        };
        if again == Again::Left {
            return;
        }
        let begins = row.map_or(self.keys[held].start, |row| self.append(row));
        self.more.push((begins, None));
        let number = NonZeroUsize::new(self.more.len());
        let key = &mut self.keys[held];
        match key.last {
            None => key.next = number,
            Some(last) => self.more[last.get() - 1].1 = number,
        }
        key.last = number;
    }

    fn append(&mut self, item: &[u8]) -> usize {
        let start = self.text.len();
        append(&mut self.text, item);
        start
    }

    fn at(&self, start: usize) -> &[u8] {
        split(&self.text[start..]).map_or(&[], |(item, _)| item)
    }

    /// Whether this is the number of a key.
    fn is(&self, held: usize, digest: u64, key: &[u8]) -> bool {
        let held = &self.keys[held];
        held.digest == digest && self.at(held.start) == key
    }

    /// The key of a digest that has a slot.
    fn of_digest(&self, digest: u64) -> Option<usize> {
        self.slots.candidates(digest).find(|held| self.keys[*held].digest == digest)
    }

    /// The number of a key.
    fn find(&self, digest: u64, key: &[u8]) -> Option<usize> {
        let held = self.of_digest(digest)?;
        if self.is(held, digest, key) { Some(held) } else { self.others.get(key).copied() }
    }

    /// The rows of the key with this number.
    fn chain(&self, held: Option<usize>) -> Chain<'_> {
        let held = held.map(|held| &self.keys[held]);
        Chain { table: self, row: held.map(|key| key.row), next: held.and_then(|key| key.next) }
    }

    fn keys(&self) -> impl Iterator<Item = &[u8]> {
        self.keys.iter().map(|key| self.at(key.start))
    }

    /// Calls `f` with the digests of all keys, some at a time.
    fn each_digests(&self, hasher: &Hasher, mut f: impl FnMut(&[Digest])) {
        let mut digests = Vec::new();
        for keys in self.keys.chunks(CHUNK) {
            digests.clear();
            digests.extend(keys.iter().map(|key| hasher.digest(self.at(key.start))));
            f(&digests);
        }
    }
}

/// The rows of a key that are still to come.
#[derive(Clone, Debug)]
pub(super) struct Chain<'a> {
    table: &'a Table,
    /// Where the next one begins, and the number of the one after it.
    row: Option<usize>,
    next: Option<NonZeroUsize>,
}

impl Chain<'_> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.row.is_none()
    }
}

impl<'a> Iterator for Chain<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let row = self.row?;
        let next = self.next.map(|next| self.table.more[next.get() - 1]);
        (self.row, self.next) = next.map_or((None, None), |(row, next)| (Some(row), next));
        Some(self.table.at(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(tables: &Tables, key: &str) -> Vec<Vec<u8>> {
        let key = key.as_bytes();
        let mut found = tables.rows_of(&[(key, key.into())]);
        assert_eq!(found.len(), 1);
        found.drain(..).flat_map(|(_, rows)| rows.map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn rows_of_a_key_come_in_their_order() {
        let (mut one, mut all, mut block) =
            (Tables::default(), Tables::default(), Keyed::default());
        for (key, row) in
            [("a", "a"), ("b", "b,1"), ("a", "a,2"), ("", ""), ("a", "a"), ("a", "a,4")]
        {
            one.insert(key.as_bytes(), row.as_bytes());
            block.push(key.as_bytes(), row.as_bytes());
        }
        all.insert_all(&[block.clone()], Again::Taken);
        let mut first = Tables::default();
        first.insert_all(&[block.clone(), block], Again::Left);
        assert!(first.0.iter().all(|table| table.more.is_empty()));
        assert_eq!((rows(&first, "a"), first.len()), (vec![b"a".to_vec()], 3));
        for tables in [one, all] {
            assert_eq!(rows(&tables, "a"), [&b"a"[..], b"a,2", b"a", b"a,4"]);
            assert_eq!(
                (rows(&tables, "b"), rows(&tables, "")),
                (vec![b"b,1".to_vec()], vec![vec![]])
            );
            assert!(rows(&tables, "c").is_empty());
            let mut keys: Vec<&[u8]> = tables.keys().collect();
            keys.sort();
            assert_eq!((tables.len(), keys), (3, vec![&b""[..], b"a", b"b"]));
        }
    }

    /// In blocks, on as many cores as there are: so many rows are worth several.
    #[test]
    fn many_rows_are_found_as_one_by_one() {
        // Keys come again soon, later, or never.
        let key = |i: usize| format!("{}", if i.is_multiple_of(3) { i / 2 % 5000 } else { i });
        let (mut one, mut all) = (Tables::default(), Tables::default());
        let mut blocks = vec![Keyed::default(); 5];
        for i in 0..5 * WORTH_A_THREAD {
            let row = if i.is_multiple_of(5) { key(i) } else { format!("{},{i}", key(i)) };
            one.insert(key(i).as_bytes(), row.as_bytes());
            blocks[i / WORTH_A_THREAD].push(key(i).as_bytes(), row.as_bytes());
        }
        all.insert_all(&blocks[..3], Again::Taken);
        all.insert_all(&blocks[3..], Again::Taken);
        assert!(all.keys().eq(one.keys()));
        assert!(all.0.iter().all(|table| !table.keys.is_empty() && table.others.is_empty()));
        let asked: Vec<String> = (0..10 * WORTH_A_THREAD).map(|i| i.to_string()).collect();
        let items: Vec<_> = asked.iter().map(|k| (k.as_bytes(), k.as_bytes().into())).collect();
        let found = items.chunks(TOGETHER).flat_map(|items| all.rows_of(items));
        let found: Vec<_> = found.collect();
        assert!(found.iter().map(|(item, _)| *item).eq(asked.iter().map(String::as_bytes)));
        let found: Vec<Vec<_>> =
            found.into_iter().map(|(_, rows)| rows.map(<[u8]>::to_vec).collect()).collect();
        assert!(found.iter().any(|rows| rows.len() > 2));
        assert!(asked.iter().map(|key| rows(&one, key)).eq(found));
    }

    #[test]
    fn all_keys_go_into_a_filter() {
        for keys in [0, 1, 1000, 300_000] {
            let (mut tables, mut block) = (Tables::default(), Keyed::default());
            (0..keys).map(|i: u64| i.to_string()).for_each(|k| block.push(k.as_bytes(), b"row"));
            tables.insert_all(&[block], Again::Taken);
            let mut filter = BlockedBloom::with_rate(keys.max(1), 0.01).expect("a rate");
            let mut expected = filter.clone();
            tables.fill(&mut filter);
            tables.keys().for_each(|key| _ = expected.insert(key));
            assert!(filter == expected && filter.head().items == keys, "{keys}");
        }
    }

    #[test]
    fn keys_of_one_digest_are_told_apart() {
        let mut table = Table::default();
        for (key, row) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("b", "5")] {
            table.enter(7, key.as_bytes(), Some(row.as_bytes()), Again::Taken);
        }
        assert_eq!((table.keys().count(), table.slots.taken(), table.others.len()), (3, 1, 2));
        let rows = |key: &[u8]| table.chain(table.find(7, key)).collect::<Vec<_>>();
        assert_eq!(rows(b"a"), [b"1", b"3"]);
        assert_eq!(rows(b"b"), [b"2", b"5"]);
        assert_eq!(rows(b"c"), [b"4"]);
        assert!(rows(b"d").is_empty());
        let keys = [b"a", b"b", b"c", b"d"];
        let found = find_all(|_| &table, keys.iter().map(|key| (7, &key[..])));
        assert!(
            found
                .into_iter()
                .eq(keys.map(|key| table.find(7, key)).into_iter().chain([None; TOGETHER - 4]))
        );
    }
}

//! The forest-structured filter as a folder of pages: the face of [`Forest`](super::Forest) for filters
//! larger than memory.

use std::path::Path;

use super::directory::{Directory, PageSet, Shape};
use super::forest::{Forest, VARIANT, committed};
use crate::error::Result;
use crate::filter::paged::{self, opens};
use crate::filter::{Head, Seen};
use crate::hash::{Key, SecretKey};
use crate::pages::{PageIo, Pages};
use crate::probe::Indices;

/// A forest on disk: a folder of pages, with a bounded number of them in memory.
///
/// Insertions are durable after [`ForestStore::commit`]; without it, the store opens as of the previous commit.
///
/// ```
/// use everbloom::growing::{Forest, ForestStore};
///
/// let folder = tempfile::tempdir()?;
/// Forest::with_rate(1000, 0.01)?.save_pages(folder.path())?;
/// let mut store = ForestStore::open(folder.path(), 8)?;
/// store.insert("apple")?;
/// store.commit()?;
/// drop(store); // one writer at a time
/// assert!(ForestStore::open(folder.path(), 8)?.contains("apple")?);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Debug)]
pub struct ForestStore {
    head: Head,
    directory: Directory,
    pages: Pages,
}

impl PageSet for Pages {
    fn has(&self, page: u64, bits: &Indices) -> Result<bool> {
        let one = |words: &[u64], i: u64| words[(i / 64) as usize] >> (i % 64) & 1 != 0;
        self.look(page, |words| bits.iter().all(|i| one(words, *i)))
    }

    fn set(&mut self, page: u64, bits: &Indices) -> Result<()> {
        self.change(page, |words| {
            bits.iter().for_each(|i| words[(i / 64) as usize] |= 1 << (i % 64))
        })
    }

    fn grow(&mut self, _: &Shape) -> Result<()> {
        Pages::grow(self);
        Ok(())
    }
}

opens!(ForestStore { directory }: committed);

impl ForestStore {
    /// Inserts a key, unless it seems to be there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let seen = self.directory.insert(self.head.hasher.digest(key), &mut self.pages)?;
        if seen == Seen::New {
            self.head.count(1);
        }
        Ok(seen)
    }

    /// Whether the key may be a member. A page that cannot be read, or is not the one that was written, is an error,
    /// never an "absent".
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool> {
        self.directory.contains(self.head.hasher.digest(key), &self.pages)
    }

    /// Makes everything inserted so far durable.
    pub fn commit(&self) -> Result<()> {
        paged::commit(&self.pages, &VARIANT.facts, &self.head, &self.directory)
    }

    /// Page reads and writes so far.
    pub fn io(&self) -> PageIo {
        self.pages.io()
    }

    /// Pages in memory now.
    pub fn cached(&self) -> usize {
        self.pages.cached()
    }

    /// Keys inside.
    pub fn items(&self) -> u64 {
        self.head.items
    }

    /// Number of layers.
    pub fn layers(&self) -> u32 {
        self.directory.layers()
    }

    /// The same forest with all its pages in memory; reads and verifies every one.
    pub fn to_forest(&self) -> Result<Forest> {
        Forest::read(self.head.clone(), self.directory.clone(), &self.pages)
    }
}

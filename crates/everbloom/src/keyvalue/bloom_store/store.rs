//! The store as a folder of pages: for more pairs than memory has room for.

use std::path::Path;

use super::chains::{Chains, PageSet, Shape};
use super::{BloomStoreImage, VARIANT};
use crate::error::{Error, Kind, Result};
use crate::filter::Head;
use crate::filter::paged::{self, opens};
use crate::hash::{Key, SecretKey};
use crate::pages::{Manifest, PageIo, Pages};

/// A key–value store in a folder of checked pages, with a bounded number of them in memory.
///
/// Changes are durable after [`BloomStore::commit`]; without it, the store opens as of the previous commit, whole.
///
/// ```
/// use everbloom::keyvalue::{BloomStore, BloomStoreImage};
///
/// let folder = tempfile::tempdir()?;
/// BloomStoreImage::with_rate(10_000, 0.01)?.save_pages(folder.path())?;
/// let mut store = BloomStore::open(folder.path(), 16)?;
/// store.put("apple", b"fruit")?;
/// store.put("apple", b"company")?;
/// store.put("pear", b"fruit")?;
/// store.delete("pear")?;
/// store.commit()?;
/// drop(store); // one writer at a time
/// let store = BloomStore::open(folder.path(), 16)?;
/// assert_eq!(store.get("apple")?, Some(b"company".to_vec()));
/// assert_eq!(store.get("pear")?, None);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Debug)]
pub struct BloomStore {
    head: Head,
    chains: Chains,
    pages: Pages,
}

impl PageSet for Pages {
    fn look<R>(&self, page: u64, look: impl FnOnce(&[u64]) -> R) -> Result<R> {
        Pages::look(self, page, look)
    }

    fn change(&mut self, page: u64, change: impl FnOnce(&mut [u64])) -> Result<()> {
        Pages::change(self, page, change)
    }

    fn grow(&mut self, _: &Shape) -> Result<()> {
        Pages::grow(self);
        Ok(())
    }
}

/// Head and chains of a store, which its pages must fit.
pub(super) fn committed(pages: &Pages, manifest: &Manifest, head: Head) -> Result<(Head, Chains)> {
    let (head, chains): (Head, Chains) = paged::committed(manifest, &VARIANT.facts, head)?;
    let Shape { words, .. } = chains.shape;
    let wanted = chains.blocks().checked_mul(chains.shape.stride());
    let fits = pages.words() as u64 == words
        && pages.block() == chains.shape.stride()
        && wanted == Some(pages.len());
    if fits { Ok((head, chains)) } else { Err(chains.wrong_pages()) }
}

opens!(BloomStore { chains }: committed);

impl BloomStore {
    /// Puts a pair; the newest value of a key is the one that counts.
    pub fn put<K: Key + ?Sized>(&mut self, key: &K, value: &[u8]) -> Result<()> {
        key.with_bytes(|key| {
            let new = self.look_up(key)?.value.is_none();
            self.chains.put(&mut self.pages, &self.head.hasher, key, Some(value))?;
            self.head.count(new.into());
            Ok(())
        })
    }

    /// The newest value of a key, unless it was deleted. A page that cannot be read, or is not the one that was
    /// written, is an error, never an "absent".
    pub fn get<K: Key + ?Sized>(&self, key: &K) -> Result<Option<Vec<u8>>> {
        key.with_bytes(|key| Ok(self.look_up(key)?.value))
    }

    fn look_up(&self, key: &[u8]) -> Result<super::chains::Lookup> {
        self.chains.get(&self.pages, &self.head.hasher, key)
    }

    /// Deletes a key by putting a tombstone; refused if it is not there.
    pub fn delete<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        key.with_bytes(|key| {
            if self.look_up(key)?.value.is_none() {
                return Err(Error::new(Kind::NotDeletable, "the key is not in the store"));
            }
            self.chains.put(&mut self.pages, &self.head.hasher, key, None)?;
            self.head.count_off();
            Ok(())
        })
    }

    /// Rewrites live pairs and leaves older values and deleted keys behind; says how many pages that saves.
    pub fn compact(&mut self) -> Result<u64> {
        self.chains.compact(&mut self.pages, &self.head.hasher)
    }

    /// Makes everything so far durable, buffered pairs included.
    pub fn commit(&self) -> Result<()> {
        paged::commit(&self.pages, &VARIANT.facts, &self.head, &self.chains)
    }

    /// The data pages that a lookup of the key reads.
    pub fn pages_read<K: Key + ?Sized>(&self, key: &K) -> Result<u64> {
        key.with_bytes(|key| Ok(self.look_up(key)?.reads))
    }

    /// Keys inside.
    pub fn items(&self) -> u64 {
        self.head.items
    }

    /// Data pages of all chains.
    pub fn data_pages(&self) -> u64 {
        self.chains.pages()
    }

    /// Page reads and writes so far.
    pub fn io(&self) -> PageIo {
        self.pages.io()
    }

    /// Pages in memory now.
    pub fn cached(&self) -> usize {
        self.pages.cached()
    }

    /// The same store with all its pages in memory; reads and verifies every one.
    pub fn to_image(&self) -> Result<BloomStoreImage> {
        BloomStoreImage::read(self.head.clone(), self.chains.clone(), &self.pages)
    }
}

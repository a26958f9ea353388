//! A page store: a folder of pages larger than memory, for variants that live on disk.
//!
//! ```text
//!   folder/
//!     manifest      head, the variant's own state, and for every page its slot and its CRC32C; CRC32C
//!     pages-N       slots of one page each, in no order
//!     lock          held by whoever writes, and a list of the page files that were begun
//! ```
//!
//! Pages are held in a cache of bounded size. A page that was changed goes to a slot the manifest does not
//! know of, and the old slot stays as it is until [`Pages::commit`] has made all pages durable and put a
//! new manifest in place of the old one, whole or not at all. So a crash at any moment leaves the store as
//! of the last commit. A page that is not the one the manifest names, be it torn, stale or rotten, is an
//! error that names it; nothing is ever answered from it. FORMAT.md draws the manifest.

mod begun;
mod manifest;

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use begun::{Before, page_file};
use manifest::{ENTRY, HEAD, Layout, MAX_WORDS, PREFIX};
pub use manifest::{MANIFEST_MAGIC, Manifest};

use crate::disk::{self, InPlace, Lock, Wait, replace};
use crate::error::{Error, Kind, Result};
use crate::state::{Encoder, u32_at, u64_at};

const MANIFEST: &str = "manifest";
/// The file that writers lock.
const LOCK: &str = "lock";
/// The slot of a page that is all zeros and was never written.
const NO_SLOT: u64 = u64::MAX;
/// The disk operations of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageIo {
    /// Pages read.
    pub reads: u64,
    /// Pages written.
    pub writes: u64,
    /// Times that pages were written together, those of one block after each other.
    pub batches: u64,
}

/// Pages in a folder, some of them in memory.
#[derive(Debug)]
pub struct Pages {
    folder: PathBuf,
    /// N of the file `pages-N`.
    number: u64,
    /// Words per page.
    words: usize,
    /// Pages of a block, which are written together.
    block: u64,
    /// Most pages in memory.
    room: usize,
    inner: Mutex<Inner>,
}

/// What a store is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be read. Another process may change the store meanwhile: a page that it has replaced is then an
    /// error, never a wrong answer.
    Read,
    /// To be changed, by nobody else at the same time.
    Write(Wait),
}

#[derive(Debug)]
struct Inner {
    file: InPlace,
    table: Vec<Entry>,
    /// Slots in the file, and those of them that nobody needs.
    slots: u64,
    free: Vec<u64>,
    /// Slots written since the last commit: these may be overwritten.
    fresh: HashSet<u64>,
    /// Slots of the last commit that the next one will free.
    old: Vec<u64>,
    /// Held by whoever may write.
    lock: Option<Lock>,
    origin: Origin,
    cache: HashMap<u64, Frame>,
    clock: u64,
    io: PageIo,
}

/// Where the page file comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The manifest names it.
    Committed,
    /// It was begun here. The first commit makes it the store's, in place of the one that the manifest names, if any.
    Begun { before: Option<u64> },
}

/// Where a page is, and the checksum of what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    slot: u64,
    crc: u32,
}

/// A page in memory.
#[derive(Debug)]
struct Frame {
    words: Box<[u64]>,
    dirty: bool,
    /// When it was last looked at.
    used: u64,
}

/// Whether there is a page store at `path`.
pub fn is_store(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// What tells one commit of the store at `path` from another: the checksum of its manifest.
pub(crate) fn version(path: &Path) -> Option<[u8; 4]> {
    fs::read(path.join(MANIFEST)).ok()?.last_chunk().copied()
}

impl Pages {
    /// A new store in `folder`, for pages of `words` words and blocks of `block` pages, of which `room`
    /// are held in memory. An existing store is replaced by the first commit.
    pub fn create(folder: &Path, words: usize, block: u64, room: usize) -> Result<Self> {
        let cannot =
            |e: io::Error| Error::from(e).context(format!("cannot write {}", folder.display()));
        if !(1..=MAX_WORDS).contains(&(words as u64)) || block == 0 {
            return Err(Error::parameter(format!("blocks of {block} pages of {words} words")));
        }
        fs::create_dir_all(folder).map_err(cannot)?;
        // It is not locked before it is known whose folder it is, and may change until it is locked.
        Before::of(folder)?;
        let lock = Lock::beside(&folder.join(LOCK), Wait::No);
        let mut lock = lock.map_err(|e| e.context(folder.display()))?;
        let before = Before::of(folder)?.number(folder, &mut lock);
        let mut number = 0;
        let file = loop {
            match InPlace::create(&folder.join(page_file(number))) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => number += 1,
                file => break file.map_err(cannot)?,
            }
        };
        // Dropped, it removes the file again.
        let this = Self {
            folder: folder.to_owned(),
            number,
            words,
            block,
            room: room.max(1),
            inner: Mutex::new(Inner::new(file, Vec::new(), 0, Some(lock))),
        };
        let mut inner = this.inner();
        inner.origin = Origin::Begun { before };
        inner.lock.as_mut().map_or(Ok(()), |lock| begun::begin(lock, number)).map_err(cannot)?;
        drop(inner);
        Ok(this)
    }

    /// The store in `folder` as of its last commit, with `room` pages in memory.
    pub fn open(folder: &Path, room: usize, purpose: Purpose) -> Result<(Self, Manifest)> {
        Self::open_at(folder, room, purpose).map_err(|e| e.context(folder.display()))
    }

    fn open_at(folder: &Path, room: usize, purpose: Purpose) -> Result<(Self, Manifest)> {
        let manifest = || fs::read(folder.join(MANIFEST));
        // A folder of somebody else gets no lock file. The manifest may change until there is a lock.
        Layout::parse(&manifest()?)?;
        let lock = match purpose {
            Purpose::Read => None,
            Purpose::Write(wait) => Some(Lock::beside(&folder.join(LOCK), wait)?),
        };
        let bytes = manifest()?;
        let layout = Layout::parse(&bytes)?;
        let path = folder.join(page_file(layout.number));
        let file = InPlace::open(&path)?;
        let page = 8 * layout.words as u64;
        let there = file.length()?;
        let manifest = Manifest {
            prefix: bytes[..HEAD].to_vec(),
            tree: bytes[PREFIX..PREFIX + layout.tree].to_vec(),
            length: bytes.len() as u64 + there,
        };
        let entry = |e: &[u8]| Entry { slot: u64_at(e, 0), crc: u32_at(e, 8) };
        let table: Vec<Entry> =
            bytes[PREFIX + layout.tree..bytes.len() - 4].chunks_exact(ENTRY).map(entry).collect();
        let mut used: Vec<u64> = table.iter().map(|e| e.slot).filter(|s| *s != NO_SLOT).collect();
        used.sort_unstable();
        if used.last().is_some_and(|last| last.checked_add(1).is_none_or(|n| n > there / page)) {
            return Err(Error::new(
                Kind::Truncated,
                format!("{} is truncated: pages are missing at its end", page_file(layout.number)),
            ));
        }
        if used.windows(2).any(|w| w[0] == w[1]) {
            return Err(Error::corrupt(0, "corrupt manifest: two pages in one slot"));
        }
        let mut inner = Inner::new(file, table, there / page, lock);
        let used: HashSet<u64> = used.into_iter().collect();
        // Slots that no page is in, such as those of a commit that never came; the last ones are reused first.
        inner.free = (0..inner.slots).filter(|slot| !used.contains(slot)).rev().collect();
        if let Some(lock) = &mut inner.lock {
            // Not before the pages that the manifest names are there. What cannot be removed takes space and does no other
            // harm.
            let _ = begun::clear(folder, lock, |number| number != layout.number);
        }
        let pages = Self {
            folder: folder.to_owned(),
            number: layout.number,
            words: layout.words,
            block: layout.block,
            room: room.max(1),
            inner: Mutex::new(inner),
        };
        Ok((pages, manifest))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it holds the lock; and if it did, frames and table are changed together.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of pages.
    pub fn len(&self) -> u64 {
        self.inner().table.len() as u64
    }

    /// Whether there are no pages at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Words per page.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Pages per block.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Pages in memory now, never more than `room`.
    pub fn cached(&self) -> usize {
        self.inner().cache.len()
    }

    /// The disk operations so far.
    pub fn io(&self) -> PageIo {
        self.inner().io
    }

    /// Adds a block of zero pages; they take no space on disk until they are written.
    pub fn grow(&self) {
        let mut inner = self.inner();
        let more = inner.table.len() + self.block as usize;
        inner.table.resize(more, Entry { slot: NO_SLOT, crc: 0 });
    }

    /// What `look` finds in a page.
    pub fn look<R>(&self, page: u64, look: impl FnOnce(&[u64]) -> R) -> Result<R> {
        let mut inner = self.inner();
        Ok(look(&self.frame(&mut inner, page)?.words))
    }

    /// Lets `change` write to a page.
    pub fn change<R>(&self, page: u64, change: impl FnOnce(&mut [u64]) -> R) -> Result<R> {
        let mut inner = self.inner();
        let frame = self.frame(&mut inner, page)?;
        frame.dirty = true;
        Ok(change(&mut frame.words))
    }

    /// The page in memory, read if it is not there.
    fn frame<'a>(&self, inner: &'a mut Inner, page: u64) -> Result<&'a mut Frame> {
        if !inner.cache.contains_key(&page) {
            while inner.cache.len() >= self.room {
                self.evict(inner)?;
            }
            let words = self.read(inner, page)?;
            inner.cache.insert(page, Frame { words, dirty: false, used: 0 });
        }
        inner.clock += 1;
        let now = inner.clock;
        match inner.cache.get_mut(&page) {
            Some(frame) => {
                frame.used = now;
                Ok(frame)
            }
            None => Err(Error::parameter(format!("there is no page {page}"))),
        }
    }

    fn read(&self, inner: &mut Inner, page: u64) -> Result<Box<[u64]>> {
        let entry = inner.table.get(page as usize).copied();
        let Entry { slot, crc } = entry
            .ok_or_else(|| Error::parameter(format!("there is no page {page} in the store")))?;
        if slot == NO_SLOT {
            return Ok(vec![0; self.words].into());
        }
        let mut bytes = vec![0; 8 * self.words];
        let at = slot * bytes.len() as u64;
        let read = inner.file.read_at(at, &mut bytes);
        read.map_err(|e| Error::from(e).context(self.name(page)))?;
        inner.io.reads += 1;
        if crc32c::crc32c(&bytes) != crc {
            return Err(Error::corrupt(
                at,
                format!(
                    "{} is not the committed one: its checksum does not match. A write was torn, or the disk has \
                    failed; restore the store from a copy",
                    self.name(page)
                ),
            ));
        }
        Ok(bytes.chunks_exact(8).map(|word| u64_at(word, 0)).collect())
    }

    fn name(&self, page: u64) -> String {
        let (block, inside) = (page / self.block, page % self.block);
        format!(
            "{}: page {inside} of block {block}",
            self.folder.join(page_file(self.number)).display()
        )
    }

    /// Drops the page that was not looked at for the longest time; if it was changed, all changed pages of
    /// its block are written with it.
    fn evict(&self, inner: &mut Inner) -> Result<()> {
        let oldest = inner.cache.iter().min_by_key(|(_, frame)| frame.used);
        let Some((page, dirty)) = oldest.map(|(page, frame)| (*page, frame.dirty)) else {
            return Ok(());
        };
        if dirty {
            self.write(inner, |other| other / self.block == page / self.block)?;
        }
        inner.cache.remove(&page);
        Ok(())
    }

    /// Writes the changed pages that `wanted` names, block after block.
    fn write(&self, inner: &mut Inner, wanted: impl Fn(u64) -> bool) -> Result<()> {
        let dirty = inner.cache.iter().filter(|(page, frame)| frame.dirty && wanted(**page));
        let mut pages: Vec<u64> = dirty.map(|(page, _)| *page).collect();
        pages.sort_unstable();
        for block in pages.chunk_by(|a, b| a / self.block == b / self.block) {
            let written = block.iter().try_for_each(|page| inner.write_page(*page));
            written.map_err(|e| self.cannot_write(e))?;
            inner.io.batches += 1;
        }
        Ok(())
    }

    fn cannot_write(&self, e: io::Error) -> Error {
        let path = self.folder.join(page_file(self.number));
        Error::from(e).context(format!("cannot write {}", path.display()))
    }

    /// Makes all changes durable, with the prefix and state that belong to them: after this, and not
    /// before, the store opens with them. `head` are the first 56 bytes of the manifest.
    pub(crate) fn commit(&self, head: &[u8], state: &Encoder<'_>) -> Result<()> {
        let mut inner = self.inner();
        self.write(&mut inner, |_| true)?;
        inner.file.sync().map_err(|e| self.cannot_write(e))?;
        let mut bytes = head.to_vec();
        let pages = inner.table.len() as u64;
        let lengths = [state.tree.len() as u64, self.words as u64, self.block, pages, self.number];
        lengths.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes.extend_from_slice(&state.tree);
        for Entry { slot, crc } in &inner.table {
            bytes.extend_from_slice(&slot.to_le_bytes());
            bytes.extend_from_slice(&crc.to_le_bytes());
        }
        bytes.extend_from_slice(&crc32c::crc32c(&bytes).to_le_bytes());
        // From here on the manifest may name the page file, even if an error follows.
        let origin = mem::replace(&mut inner.origin, Origin::Committed);
        let path = self.folder.join(MANIFEST);
        replace(&path, |out| out.write_all(&bytes))
            .map_err(|e| Error::from(e).context(format!("cannot write {}", path.display())))?;
        let Inner { old, free, fresh, lock, .. } = &mut *inner;
        free.append(old);
        fresh.clear();
        if let Origin::Begun { before } = origin {
            // Pages that cannot be removed take space and do no other harm.
            let _ = before.map(|number| disk::remove(&self.folder.join(page_file(number))));
            let dead = |number| number != self.number;
            let _ = lock.as_mut().map(|lock| begun::clear(&self.folder, lock, dead));
        }
        Ok(())
    }
}

impl Drop for Pages {
    /// Pages that were never committed are nobody's.
    fn drop(&mut self) {
        let own = self.number;
        let inner = self.inner.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let (Origin::Begun { .. }, Some(lock)) = (inner.origin, &mut inner.lock) {
            let _ = disk::remove(&self.folder.join(page_file(own)));
            let _ = begun::clear(&self.folder, lock, |number| number == own);
        }
    }
}

impl Inner {
    fn new(file: InPlace, table: Vec<Entry>, slots: u64, lock: Option<Lock>) -> Self {
        Self {
            file,
            table,
            slots,
            free: Vec::new(),
            fresh: HashSet::new(),
            old: Vec::new(),
            lock,
            origin: Origin::Committed,
            cache: HashMap::new(),
            clock: 0,
            io: PageIo::default(),
        }
    }

    /// Writes a page of the cache to a slot that the manifest does not know of.
    fn write_page(&mut self, page: u64) -> io::Result<()> {
        let (Some(frame), Some(entry)) =
            (self.cache.get_mut(&page), self.table.get_mut(page as usize))
        else {
            return Ok(());
        };
        let slot = if self.fresh.contains(&entry.slot) {
            entry.slot
        } else {
            self.free.pop().unwrap_or(self.slots)
        };
        let bytes: Vec<u8> = frame.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.file.write_at(slot * bytes.len() as u64, &bytes)?;
        self.io.writes += 1;
        if entry.slot != slot && entry.slot != NO_SLOT {
            self.old.push(entry.slot);
        }
        *entry = Entry { slot, crc: crc32c::crc32c(&bytes) };
        self.slots = self.slots.max(slot + 1);
        self.fresh.insert(slot);
        frame.dirty = false;
        Ok(())
    }
}

//! A store of sorted files that reads few of them (catalogue A38; S0 §IV-A \[64\], Bigtable).
//!
//! ```text
//!   put ──▶ log, then memory table ──full──▶ sorted file: blocks, filter, index
//!   get ──▶ memory table ──▶ newest file: filter no, not read
//!                        ──▶ next one:    filter maybe, one block read: found, or on to older ones
//! ```
//!
//! Files are written once. A deletion is an entry of its own, which hides older values. From time to time the newest
//! files become one: of each cell the newest entry stays, and deletions go once no older file is left that they
//! could hide something in. Each file has a filter of its rows and of its cells, so that a look-up reads about one
//! block, whatever the number of files: 20 files at 10 bits a key cost an absent key 20·f = 0.164 reads.
//!
//! Everything is checked by CRC32C. A crash leaves what was synced, and of later writes whole ones, in order: a torn
//! tail of the log ends it. A damaged block is an error, a damaged filter is no filter; neither is ever an answer.

mod claims;
mod entry;
mod log;
mod merge;
mod sorted;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};

use everbloom::internals::disk::{self, Lock, Wait, replace};
use everbloom::{Error, Kind, Result};

pub use claims::APPLICATION;
use entry::{Cell, Entry, sealed, u64_at, unsealed};
use log::Log;
use merge::{Merge, Source};
use sorted::{Layout, SortedFile};

/// How a store uses memory and disk.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Bytes of the memory table above which it becomes a file.
    pub memory_bytes: usize,
    /// Bytes of a data block, about.
    pub block_bytes: usize,
    /// Bits of filter for each row and each cell.
    pub bits_per_key: f64,
    /// Whether files of similar size are merged by themselves.
    pub merges: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { memory_bytes: 4 << 20, block_bytes: 4096, bits_per_key: 10.0, merges: true }
    }
}

/// Rows of columns with values, in a folder: sorted, exact, and there again after a crash.
///
/// ```
/// use everbloom_lab::applications::tables::lsm::{Options, Store};
///
/// let folder = tempfile::tempdir()?;
/// let mut store = Store::open(folder.path(), Options::default())?;
/// store.put(b"row 1", b"name", b"ann")?;
/// store.put(b"row 2", b"name", b"bob")?;
/// store.delete(b"row 1", b"name")?;
/// store.sync()?;
/// drop(store);
///
/// let store = Store::open(folder.path(), Options::default())?;
/// assert_eq!(store.get(b"row 2", b"name")?, Some(b"bob".to_vec()));
/// assert_eq!(store.get(b"row 1", b"name")?, None);
/// assert_eq!(store.scan(b"row 1".to_vec()..).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store {
    folder: PathBuf,
    options: Options,
    memory: BTreeMap<Cell, Option<Vec<u8>>>,
    memory_bytes: usize,
    log: Log,
    log_number: u64,
    /// Oldest first.
    files: Vec<SortedFile>,
    next: u64,
    _lock: Lock,
}

/// A row's column and its value.
pub type Found = (Vec<u8>, Vec<u8>, Vec<u8>);

const MANIFEST: &str = "manifest";
const MANIFEST_MAGIC: u64 = u64::from_le_bytes(*b"\x89EVL\r\n\x1a\n");

impl Store {
    /// The store in a folder, which is made if it is not there. Nobody else can open it meanwhile.
    pub fn open(folder: &Path, options: Options) -> Result<Self> {
        std::fs::create_dir_all(folder)?;
        let lock = Lock::beside(&folder.join("lock"), Wait::No)?;
        let manifest = match std::fs::read(folder.join(MANIFEST)) {
            Ok(bytes) => read_manifest(&bytes)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => (0, 1, Vec::new()),
            Err(e) => return Err(e.into()),
        };
        let (log_number, next, numbers) = manifest;
        remove_unnamed(folder, log_number, &numbers)?;
        let files = numbers.iter().map(|&n| SortedFile::open(&file_path(folder, n), n));
        let files = files.collect::<Result<Vec<_>>>()?;
        let (log, entries) = match log_number {
            0 => (Log::create(&log_path(folder, next))?, Vec::new()),
            number => Log::open(&log_path(folder, number))?,
        };
        let memory = BTreeMap::new();
        let folder = folder.to_owned();
        let mut store = Self {
            folder,
            options,
            memory,
            memory_bytes: 0,
            log,
            log_number,
            files,
            next,
            _lock: lock,
        };
        if log_number == 0 {
            (store.log_number, store.next) = (next, next + 1);
            store.write_manifest()?;
        }
        entries.into_iter().for_each(|entry| store.remember(entry));
        Ok(store)
    }

    /// Gives a column of a row a value. Durable after the next [`Store::sync`].
    pub fn put(&mut self, row: &[u8], column: &[u8], value: &[u8]) -> Result<()> {
        self.write(Entry::new(row, column, Some(value))?)
    }

    /// Deletes a column of a row, whether it is there or not.
    pub fn delete(&mut self, row: &[u8], column: &[u8]) -> Result<()> {
        self.write(Entry::new(row, column, None)?)
    }

    fn write(&mut self, entry: Entry) -> Result<()> {
        if self.log.broken {
            let message = "an earlier write failed: open the store again, which keeps what was written before";
            return Err(Error::new(Kind::Io, message));
        }
        self.log.append(&entry)?;
        self.remember(entry);
        if self.memory_bytes > self.options.memory_bytes { self.flush() } else { Ok(()) }
    }

    fn remember(&mut self, entry: Entry) {
        let value = entry.value.as_ref().map_or(0, Vec::len);
        self.memory_bytes += entry.cell.0.len() + entry.cell.1.len() + value + 64;
        self.memory.insert(entry.cell, entry.value);
    }

    /// Makes all that was written durable.
    pub fn sync(&mut self) -> Result<()> {
        self.log.sync()
    }

    /// Makes a file of the memory table; nothing if it is empty.
    pub fn flush(&mut self) -> Result<()> {
        if self.memory.is_empty() {
            return Ok(());
        }
        // Numbers of files that a failed attempt left are not used again.
        let number = self.next;
        self.next += 2;
        let entry = |(cell, value): (&Cell, &Option<Vec<u8>>)| {
            Ok(Entry { cell: cell.clone(), value: value.clone() })
        };
        let rows = self.memory.keys().zip(self.memory.keys().skip(1));
        let rows = 1 + rows.filter(|(a, b)| a.0 != b.0).count() as u64;
        let counts = [self.memory.len() as u64, rows];
        let path = file_path(&self.folder, number);
        sorted::write(&path, self.layout(), number, counts, self.memory.iter().map(entry))?;
        let file = SortedFile::open(&path, number)?;
        self.log = Log::create(&log_path(&self.folder, number + 1))?;
        let old = std::mem::replace(&mut self.log_number, number + 1);
        self.files.push(file);
        // Until the manifest names them, neither the file nor the new log is of the store.
        self.log.broken = true;
        self.write_manifest()?;
        self.log.broken = false;
        self.memory.clear();
        self.memory_bytes = 0;
        disk::remove(&log_path(&self.folder, old))?;
        if self.options.merges { self.compact(self.alike()) } else { Ok(()) }
    }

    /// How many of the newest files are of similar size, so that entries are merged a few times each.
    fn alike(&self) -> usize {
        let mut sum = 0;
        let run = self.files.iter().rev().take_while(|file| {
            let joins = sum == 0 || file.bytes <= 2 * sum;
            sum += file.bytes;
            joins
        });
        let run = run.count();
        if run >= 4 { run } else { 0 }
    }

    /// Merges the newest `count` files into one. Older versions go; deletions go if no older file is left.
    pub fn compact(&mut self, count: usize) -> Result<()> {
        let count = count.min(self.files.len());
        if count < 2 {
            return Ok(());
        }
        let kept = self.files.len() - count;
        let merging = &self.files[kept..];
        let merged = || {
            let sources = merging.iter().rev();
            let merge = Merge::new(
                sources.map(|file| -> Source<'_> { Box::new(file.from(&Cell::default())) }),
            );
            merge.filter(move |entry| {
                kept > 0 || entry.as_ref().map_or(true, |entry| entry.value.is_some())
            })
        };
        // Gone through twice: the filter's size has to be known before it is filled.
        let (mut cells, mut rows, mut last) = (0, 0, None);
        for entry in merged() {
            let row = entry?.cell.0;
            cells += 1;
            rows += u64::from(last.as_ref() != Some(&row));
            last = Some(row);
        }
        let number = self.next;
        let path = file_path(&self.folder, number);
        sorted::write(&path, self.layout(), number, [cells, rows], merged())?;
        let new = SortedFile::open(&path, number)?;
        self.next += 1;
        let old = self.files.split_off(kept);
        self.files.push(new);
        if let Err(e) = self.write_manifest() {
            self.files.truncate(kept);
            self.files.extend(old);
            return Err(e);
        }
        old.iter().try_for_each(|file| disk::remove(&file_path(&self.folder, file.number)))?;
        Ok(())
    }

    fn layout(&self) -> Layout {
        let Options { block_bytes, bits_per_key, .. } = self.options;
        Layout { block_bytes, bits_per_key }
    }

    fn write_manifest(&self) -> Result<()> {
        let head = [MANIFEST_MAGIC, self.log_number, self.next];
        let numbers = head.into_iter().chain(self.files.iter().map(|file| file.number));
        let bytes = sealed(numbers.flat_map(u64::to_le_bytes).collect());
        Ok(replace(&self.folder.join(MANIFEST), |out| out.write_all(&bytes))?)
    }

    /// The value of a row's column.
    pub fn get(&self, row: &[u8], column: &[u8]) -> Result<Option<Vec<u8>>> {
        let cell = (row.to_vec(), column.to_vec());
        if let Some(value) = self.memory.get(&cell) {
            return Ok(value.clone());
        }
        for file in self.files.iter().rev() {
            // A deletion ends the search, too: what is older is hidden.
            if let Some(value) = file.get(&cell)? {
                return Ok(value);
            }
        }
        Ok(None)
    }

    /// A row's columns with their values, in order. Files whose filter knows no such row are not read.
    pub fn row(&self, row: &[u8]) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let range = row.to_vec()..=row.to_vec();
        let found = self.merged(range, |file| file.may_have_row(row));
        found.map(|found| found.map(|(_, column, value)| (column, value))).collect()
    }

    /// The cells of a range of rows, in order.
    pub fn scan(&self, rows: impl RangeBounds<Vec<u8>>) -> impl Iterator<Item = Result<Found>> {
        self.merged(rows, |_| true)
    }

    fn merged<'a>(
        &'a self,
        rows: impl RangeBounds<Vec<u8>>,
        wanted: impl Fn(&SortedFile) -> bool,
    ) -> impl Iterator<Item = Result<Found>> + 'a {
        // A row's successor is the row with a zero byte behind it.
        let behind = |row: &Vec<u8>| ([row, &[0][..]].concat(), Vec::new());
        let start = match rows.start_bound() {
            Bound::Unbounded => Cell::default(),
            Bound::Included(row) => (row.clone(), Vec::new()),
            Bound::Excluded(row) => behind(row),
        };
        let end = match rows.end_bound() {
            Bound::Unbounded => None,
            Bound::Included(row) => Some(behind(row)),
            Bound::Excluded(row) => Some((row.clone(), Vec::new())),
        };
        let memory = self.memory.range(start.clone()..);
        let memory: Source<'a> = Box::new(
            memory.map(|(cell, value)| Ok(Entry { cell: cell.clone(), value: value.clone() })),
        );
        let files = self.files.iter().rev().filter(|file| wanted(file));
        let files = files.map(|file| -> Source<'a> { Box::new(file.from(&start)) });
        let entries = Merge::new(std::iter::once(memory).chain(files));
        let inside = move |entry: &Result<Entry>| {
            entry.as_ref().map_or(true, |entry| end.as_ref().is_none_or(|end| entry.cell < *end))
        };
        entries.take_while(inside).filter_map(|entry| match entry {
            Ok(Entry { cell: (row, column), value }) => Some(Ok((row, column, value?))),
            Err(e) => Some(Err(e)),
        })
    }

    /// Files, newest last, with the entries of each.
    pub fn files(&self) -> impl Iterator<Item = u64> + '_ {
        self.files.iter().map(|file| file.entries)
    }

    /// Data blocks read since the store was opened, of the files that are there now.
    pub fn block_reads(&self) -> u64 {
        self.files.iter().map(SortedFile::reads).sum()
    }

    /// Files whose filter is damaged: they are read in every look-up.
    pub fn filters_lost(&self) -> usize {
        self.files.iter().filter(|file| file.filter.is_none()).count()
    }
}

fn file_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("file-{number}"))
}

fn log_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("log-{number}"))
}

/// The numbers of the log, of the next file, and of the files.
fn read_manifest(bytes: &[u8]) -> Result<(u64, u64, Vec<u64>)> {
    let body = unsealed(bytes).filter(|b| b.len() >= 24 && b.len().is_multiple_of(8));
    let numbers = body.map(|b| (0..b.len() / 8).map(|i| u64_at(b, 8 * i)).collect::<Vec<_>>());
    match numbers.as_deref() {
        Some([MANIFEST_MAGIC, log, next, files @ ..]) => Ok((*log, *next, files.to_vec())),
        _ => Err(Error::new(Kind::Corrupt { offset: 0 }, "the store's manifest is damaged")),
    }
}

/// Removes files and logs that a crash left before the manifest named them, or after it named others.
fn remove_unnamed(folder: &Path, log: u64, files: &[u64]) -> Result<()> {
    for found in std::fs::read_dir(folder)? {
        let path = found?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = |prefix: &str| name.strip_prefix(prefix).and_then(|n| n.parse::<u64>().ok());
        let stale = number("file-").is_some_and(|n| !files.contains(&n))
            || number("log-").is_some_and(|n| n != log);
        if stale {
            disk::remove(&path)?;
        }
    }
    Ok(())
}

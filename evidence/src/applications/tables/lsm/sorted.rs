//! A sorted file: written once, never changed.
//!
//! ```text
//!   data blocks     entries in the order of their cells; CRC32C
//!   filter block    a Bloom filter of the rows and of the cells, as an .evb file
//!   index           of each block: u64 offset · u32 length · its first entry's cell; CRC32C
//!   footer          u64 offsets of filter and index, u64 entries, u64 filter's seed, magic; CRC32C
//! ```
//!
//! A filter block that is damaged is no filter: every look-up then reads a block. It never says "absent".

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use everbloom::internals::disk::{InPlace, replace};
use everbloom::internals::hash::mix64;
use everbloom::internals::theory;
use everbloom::{Bloom, Error, Hasher, Kind, Opener, Result, to_bytes};

use super::entry::{Cell, Entry, sealed, u32_at, u64_at, unsealed};

const MAGIC: &[u8; 8] = b"\x89EVS\r\n\x1a\n";
const FOOTER: usize = 44;

pub(super) struct SortedFile {
    pub number: u64,
    /// Entries, deletions included.
    pub entries: u64,
    pub bytes: u64,
    index: Vec<Block>,
    /// None where it is damaged.
    pub filter: Option<Bloom>,
    file: Mutex<InPlace>,
    reads: AtomicU64,
}

struct Block {
    offset: u64,
    length: u32,
    first: Cell,
}

fn corrupt(offset: u64, what: &str) -> Error {
    Error::new(Kind::Corrupt { offset }, format!("a sorted file has a damaged {what}"))
}

/// How a file is laid out.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub block_bytes: usize,
    pub bits_per_key: f64,
}

/// Writes a file of entries in order, whole or not at all. The filter has room for so many cells and rows.
pub(super) fn write(
    path: &Path,
    layout: Layout,
    number: u64,
    [cells, rows]: [u64; 2],
    entries: impl Iterator<Item = Result<Entry>>,
) -> Result<()> {
    let keys = (cells + rows).max(1);
    let m = ((keys as f64 * layout.bits_per_key).ceil() as u64).max(64);
    // A seed of its own: a key that passes one filter wrongly is not bound to pass the others.
    let seed = mix64(number);
    let k = theory::bloom::best_k(m, keys);
    let mut filter = Bloom::with_shape(m, k, Hasher::seeded(seed))?;
    let (mut failed, mut offset, mut index) = (None, 0u64, Vec::new());
    let written = replace(path, |out| {
        let mut block = Vec::new();
        let mut last_row = None;
        let mut finish = |block: &mut Vec<u8>, out: &mut dyn Write| {
            let bytes = sealed(std::mem::take(block));
            index.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
            offset += bytes.len() as u64;
            out.write_all(&bytes)?;
            Ok::<u64, std::io::Error>(offset)
        };
        let mut starts: Vec<(u64, Cell)> = Vec::new();
        let mut start = 0;
        for entry in entries {
            let entry = match entry {
                Ok(entry) => entry,
                Err(e) => {
                    failed = Some(e);
                    return Err(std::io::Error::other("an entry could not be read"));
                }
            };
            if block.is_empty() {
                starts.push((start, entry.cell.clone()));
            }
            let (row, column) = &entry.cell;
            if last_row.as_ref() != Some(row) {
                filter.insert(row);
                last_row = Some(row.clone());
            }
            filter.insert(&(row, column));
            entry.write(&mut block);
            if block.len() >= layout.block_bytes {
                start = finish(&mut block, out)?;
            }
        }
        if !block.is_empty() {
            start = finish(&mut block, out)?;
        }
        let coded = to_bytes(&filter);
        out.write_all(&coded)?;
        let lengths = std::mem::take(&mut index);
        for ((offset, (row, column)), length) in starts.iter().zip(lengths.chunks_exact(4)) {
            index.extend_from_slice(&offset.to_le_bytes());
            index.extend_from_slice(length);
            for part in [row, column] {
                index.extend_from_slice(&(part.len() as u32).to_le_bytes());
                index.extend_from_slice(part);
            }
        }
        out.write_all(&sealed(std::mem::take(&mut index)))?;
        let mut footer = Vec::with_capacity(FOOTER);
        for number in [start, start + coded.len() as u64, cells, seed] {
            footer.extend_from_slice(&number.to_le_bytes());
        }
        footer.extend_from_slice(MAGIC);
        out.write_all(&sealed(footer))
    });
    match (failed, written) {
        (Some(e), _) => Err(e),
        (None, written) => Ok(written?),
    }
}

impl SortedFile {
    pub fn open(path: &Path, number: u64) -> Result<Self> {
        let mut file = InPlace::open(path)?;
        let bytes = file.length()?;
        let place = bytes.checked_sub(FOOTER as u64).ok_or_else(|| corrupt(0, "footer"))?;
        let mut footer = [0; FOOTER];
        file.read_at(place, &mut footer)?;
        let footer = unsealed(&footer).filter(|f| &f[32..40] == MAGIC);
        let footer = footer.ok_or_else(|| corrupt(place, "footer"))?;
        let [filter_at, index_at, entries] = [0, 8, 16].map(|at| u64_at(footer, at));
        if filter_at > index_at || index_at > place {
            return Err(corrupt(place, "footer"));
        }
        let mut read = |from: u64, to: u64| -> Result<Vec<u8>> {
            let mut bytes = vec![0; (to - from) as usize];
            file.read_at(from, &mut bytes)?;
            Ok(bytes)
        };
        let filter = Opener::new().decode_as::<Bloom>(&read(filter_at, index_at)?).ok();
        let index = read(index_at, place)?;
        let index = unsealed(&index).and_then(|bytes| blocks(bytes, filter_at));
        let index = index.ok_or_else(|| corrupt(index_at, "index"))?;
        let (file, reads) = (Mutex::new(file), AtomicU64::new(0));
        Ok(Self { number, entries, bytes, index, filter, file, reads })
    }

    /// Blocks read so far.
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    fn block(&self, block: &Block) -> Result<Vec<Entry>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let mut bytes = vec![0; block.length as usize];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.read_at(block.offset, &mut bytes)?;
        let damaged = || corrupt(block.offset, "data block");
        let mut rest = unsealed(&bytes).ok_or_else(damaged)?;
        let mut entries = Vec::new();
        while !rest.is_empty() {
            entries.push(Entry::read(&mut rest).ok_or_else(damaged)?);
        }
        Ok(entries)
    }

    /// The number of the block that a cell would be in.
    fn place(&self, cell: &Cell) -> Option<usize> {
        self.index.partition_point(|block| block.first <= *cell).checked_sub(1)
    }

    /// What this file says of a cell: nothing, that it was deleted, or its value.
    pub fn get(&self, cell: &Cell) -> Result<Option<Option<Vec<u8>>>> {
        if self.filter.as_ref().is_some_and(|filter| !filter.contains(&(&cell.0, &cell.1))) {
            return Ok(None);
        }
        let Some(place) = self.place(cell) else { return Ok(None) };
        let entries = self.block(&self.index[place])?;
        let found = entries.into_iter().find(|entry| entry.cell == *cell);
        Ok(found.map(|entry| entry.value))
    }

    /// Whether the file may have cells of this row.
    pub fn may_have_row(&self, row: &[u8]) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.contains(row))
    }

    /// The entries from a cell on, a block at a time.
    pub fn from<'a>(&'a self, start: &Cell) -> impl Iterator<Item = Result<Entry>> + 'a {
        let (first, start) = (self.place(start).unwrap_or(0), start.clone());
        self.index[first..]
            .iter()
            .flat_map(|block| match self.block(block) {
                Ok(entries) => entries.into_iter().map(Ok).collect(),
                Err(e) => vec![Err(e)],
            })
            .skip_while(move |entry| entry.as_ref().is_ok_and(|entry| entry.cell < start))
    }
}

/// The index, all of whose blocks lie before `end`.
fn blocks(mut bytes: &[u8], end: u64) -> Option<Vec<Block>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let (head, mut rest) = bytes.split_at_checked(12)?;
        let mut part = || {
            let (length, behind) = rest.split_at_checked(4)?;
            let (part, behind) = behind.split_at_checked(u32_at(length, 0) as usize)?;
            rest = behind;
            Some(part.to_vec())
        };
        let first = (part()?, part()?);
        bytes = rest;
        let (offset, length) = (u64_at(head, 0), u32_at(head, 8));
        if offset.checked_add(length.into())? > end {
            return None;
        }
        all.push(Block { offset, length, first });
    }
    Some(all)
}

//! From a filter to its file.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use super::layout::{CHUNK, Lengths, MAGIC};
use crate::disk::replace;
use crate::error::{Error, Result};
use crate::filter::Filter;
use crate::memory::bytes_of;
use crate::state::{Encoder, push_version};
use crate::threads;

/// The file of a filter, as bytes.
pub fn to_bytes(filter: &dyn Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing into memory cannot fail.
    let _ = write(filter, &mut bytes);
    bytes
}

/// Writes the file of a filter to anything that takes bytes.
pub fn write_to(filter: &dyn Filter, mut out: impl Write) -> Result<()> {
    Ok(write(filter, &mut out)?)
}

/// Writes the file of a filter at `path`, or leaves what was there.
///
/// The bytes go to a temporary file beside it, which is synced, renamed over `path`, and made durable
/// by syncing the folder. A path that is not a regular file (a pipe, a device) is written directly. A path
/// that is a folder, or ends with a slash, becomes a page store, where the variant has one.
pub fn save(filter: &dyn Filter, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if slash || path.is_dir() {
        return filter.save_pages(path);
    }
    replace(path, |out| write(filter, out))
        .map_err(|e| Error::from(e).context(format!("cannot write {}", path.display())))
}

fn write(filter: &dyn Filter, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = Encoder::default();
    let head = filter.head();
    head.save_before(&mut encoder);
    filter.save_state(&mut encoder);
    let padded = |array: &Cow<'_, [u64]>| (array.len() as u64 * 8).next_multiple_of(64);
    let payload_len: u64 = encoder.arrays.iter().map(padded).sum();
    let tree_len = encoder.tree.len() as u64;
    let lengths = Lengths::of(tree_len, payload_len)
        .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the filter is too large"))?;

    let mut header = Vec::with_capacity(lengths.payload_start as usize);
    push_version(MAGIC, head.features(), &mut header);
    head.push_prefix(filter.facts().id, &mut header);
    let words = [tree_len, payload_len, lengths.file];
    words.iter().for_each(|word| header.extend_from_slice(&word.to_le_bytes()));
    header.extend_from_slice(&encoder.tree);
    header.extend_from_slice(&crc32c::crc32c(&header).to_le_bytes());
    header.resize(lengths.payload_start as usize, 0);
    out.write_all(&header)?;

    let mut chunks = Chunks { out, crc: 0, filled: 0, table: Vec::new() };
    for array in &encoder.arrays {
        chunks.words(array)?;
        chunks.pad()?;
    }
    chunks.finish()
}

/// Passes the payload on and checksums it by chunks.
struct Chunks<'a> {
    out: &'a mut dyn Write,
    crc: u32,
    filled: usize,
    table: Vec<u8>,
}

impl Chunks<'_> {
    fn words(&mut self, words: &[u64]) -> io::Result<()> {
        let Some(bytes) = bytes_of(words) else {
            let turned = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let mut chunks = words.chunks(CHUNK / 8).map(turned);
            return chunks.try_for_each(|bytes: Vec<u8>| self.bytes(&bytes));
        };
        if self.filled > 0 {
            return self.bytes(bytes);
        }
        // One core alone takes as long for the checksums of whole chunks as the system for taking the bytes.
        let (whole, rest) = bytes.split_at(bytes.len() / CHUNK * CHUNK);
        let sums = threads::map(whole, CHUNK, crc32c::crc32c);
        sums.into_iter().for_each(|sum| self.table.extend_from_slice(&sum.to_le_bytes()));
        self.out.write_all(whole)?;
        self.bytes(rest)
    }

    fn pad(&mut self) -> io::Result<()> {
        let gap = self.filled.next_multiple_of(64) - self.filled;
        self.bytes(&[0; 64][..gap])
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.filled));
            self.crc = crc32c::crc32c_append(self.crc, now);
            self.filled += now.len();
            if self.filled == CHUNK {
                self.close();
            }
            bytes = later;
        }
        Ok(())
    }

    fn close(&mut self) {
        self.table.extend_from_slice(&self.crc.to_le_bytes());
        (self.crc, self.filled) = (0, 0);
    }

    fn finish(mut self) -> io::Result<()> {
        if self.filled > 0 {
            self.close();
        }
        self.out.write_all(&self.table)
    }
}

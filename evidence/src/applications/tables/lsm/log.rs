//! The write-ahead log: what the memory table holds, so that a crash does not lose it.
//!
//! ```text
//!   record = u32 length · entry · u32 CRC32C of both
//! ```
//!
//! A crash can tear the last records. The first one whose length or checksum is wrong ends the log.

use std::path::Path;

use everbloom::Result;
use everbloom::internals::disk::{InPlace, replace};

use super::entry::{Entry, MOST, sealed, u32_at, unsealed};

pub(super) struct Log {
    file: InPlace,
    end: u64,
    /// A write failed, so that nobody knows what is behind `end`.
    pub broken: bool,
}

/// The whole records at the start of `bytes`, and how long they are.
pub(super) fn replay(bytes: &[u8]) -> (Vec<Entry>, usize) {
    let (mut entries, mut end) = (Vec::new(), 0);
    while let Some(entry) = record(&bytes[end..]) {
        end += entry.1;
        entries.push(entry.0);
    }
    (entries, end)
}

fn record(bytes: &[u8]) -> Option<(Entry, usize)> {
    let length = u32_at(bytes.get(..4)?, 0) as usize;
    if length > MOST + 64 {
        return None;
    }
    let mut body = unsealed(bytes.get(..4 + length + 4)?)?.get(4..)?;
    let entry = Entry::read(&mut body)?;
    body.is_empty().then_some((entry, length + 8))
}

impl Log {
    pub fn create(path: &Path) -> Result<Self> {
        Ok(Self { file: InPlace::create(path)?, end: 0, broken: false })
    }

    /// The log at `path` and its records. A torn tail is cut off, whole or not at all, before anything is added.
    pub fn open(path: &Path) -> Result<(Self, Vec<Entry>)> {
        let bytes = std::fs::read(path)?;
        let (entries, end) = replay(&bytes);
        if end < bytes.len() {
            replace(path, |out| out.write_all(&bytes[..end]))?;
        }
        Ok((Self { file: InPlace::open(path)?, end: end as u64, broken: false }, entries))
    }

    pub fn append(&mut self, entry: &Entry) -> Result<()> {
        let mut bytes = vec![0; 4];
        entry.write(&mut bytes);
        let length = bytes.len() as u32 - 4;
        bytes[..4].copy_from_slice(&length.to_le_bytes());
        let bytes = sealed(bytes);
        self.broken = true;
        self.file.write_at(self.end, &bytes)?;
        self.broken = false;
        self.end += bytes.len() as u64;
        Ok(())
    }

    pub fn sync(&mut self) -> Result<()> {
        self.broken = true;
        self.file.sync()?;
        self.broken = false;
        Ok(())
    }
}

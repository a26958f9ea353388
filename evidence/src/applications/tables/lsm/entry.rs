//! A cell and its value as bytes: the same in the log and in sorted files.
//!
//! ```text
//!   u8 1 value, 0 deleted · u32 row's length · u32 column's · u32 value's · row · column · value
//! ```

use everbloom::{Error, Kind, Result};

/// Row and column: cells are sorted by row, then by column.
pub(super) type Cell = (Vec<u8>, Vec<u8>);

/// What became of a cell: its value, or that it was deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub cell: Cell,
    pub value: Option<Vec<u8>>,
}

/// Row, column and value together.
pub(super) const MOST: usize = 64 << 20;
const HEAD: usize = 13;

impl Entry {
    pub fn new(row: &[u8], column: &[u8], value: Option<&[u8]>) -> Result<Self> {
        let length = row.len() + column.len() + value.map_or(0, <[u8]>::len);
        if length > MOST {
            let message =
                format!("{length} bytes of row, column and value: keep it below {MOST} bytes");
            return Err(Error::new(Kind::BadRecord, message));
        }
        Ok(Self { cell: (row.to_vec(), column.to_vec()), value: value.map(<[u8]>::to_vec) })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        let value = self.value.as_deref().unwrap_or_default();
        let (row, column) = &self.cell;
        out.push(self.value.is_some().into());
        for part in [row, column, value] {
            out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        }
        for part in [row, column, value] {
            out.extend_from_slice(part);
        }
    }

    /// The entry at the start of `bytes`, which are moved behind it.
    pub fn read(bytes: &mut &[u8]) -> Option<Self> {
        let (head, mut rest) = bytes.split_at_checked(HEAD)?;
        let mut part = |at: usize| {
            let length = u32_at(head, at) as usize;
            let (part, behind) = rest.split_at_checked(length)?;
            rest = behind;
            Some(part.to_vec())
        };
        let (row, column, value) = (part(1)?, part(5)?, part(9)?);
        *bytes = rest;
        let value = match head[0] {
            0 if value.is_empty() => None,
            1 => Some(value),
            _ => return None,
        };
        Some(Self { cell: (row, column), value })
    }
}

/// Four bytes that are there, as a number.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Eight bytes that are there, as a number.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

/// Bytes with their CRC32C behind them.
pub(super) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let crc = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes
}

/// The bytes before a CRC32C that is right.
pub(super) fn unsealed(bytes: &[u8]) -> Option<&[u8]> {
    let (body, crc) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
    (u32_at(crc, 0) == crc32c::crc32c(body)).then_some(body)
}

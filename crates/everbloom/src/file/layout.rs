//! Where the sections of a file lie. FORMAT.md draws them.

use crate::error::{Error, Kind, Result};
use crate::state::{u32_at, u64_at};
use crate::threads;

/// The first eight bytes. 0x89 is not ASCII, CR LF and the lone LF show text conversion, 0x1A stops a
/// terminal listing.
pub const MAGIC: [u8; 8] = *b"\x89EVB\r\n\x1a\n";

/// Bytes before the tree.
pub(super) const PREFIX: usize = 80;
/// Bytes of payload under one checksum.
pub(super) const CHUNK: usize = 64 << 10;

/// Lengths and offsets, checked against the number of bytes that are there.
pub(super) struct Prefix {
    pub(super) tree_len: usize,
    pub(super) payload_start: usize,
    pub(super) payload_len: usize,
}

impl Prefix {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let (tree_len, payload_len, file_len) =
            (u64_at(bytes, 56), u64_at(bytes, 64), u64_at(bytes, 72));
        let there = bytes.len() as u64;
        if file_len > there {
            return Err(Error::new(
                Kind::Truncated,
                format!("the file is truncated: it has {there} of {file_len} bytes"),
            ));
        }
        let lengths = Lengths::of(tree_len, payload_len)
            .filter(|l| l.file == file_len && file_len == there && payload_len.is_multiple_of(64));
        let Some(lengths) = lengths else {
            return Err(Error::corrupt(
                56,
                format!("corrupt filter: the lengths in the header do not add up to {there} bytes"),
            ));
        };
        let crc_at = PREFIX + tree_len as usize;
        if crc32c::crc32c(&bytes[..crc_at]) != u32_at(bytes, crc_at) {
            return Err(Error::corrupt(0, "corrupt filter: the header's checksum does not match"));
        }
        let payload_start = lengths.payload_start as usize;
        if bytes[crc_at + 4..payload_start].iter().any(|&b| b != 0) {
            let message = "corrupt filter: the padding after the header is not zero";
            return Err(Error::corrupt(crc_at as u64 + 4, message));
        }
        Ok(Self { tree_len: tree_len as usize, payload_start, payload_len: payload_len as usize })
    }

    pub(super) fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.payload_start..self.payload_start + self.payload_len]
    }

    /// Every chunk of the payload against its checksum.
    pub(super) fn verify(&self, bytes: &[u8]) -> Result<()> {
        let table = self.payload_start + self.payload_len;
        let sums = threads::map(self.payload(bytes), CHUNK, crc32c::crc32c);
        for (i, sum) in sums.into_iter().enumerate() {
            if sum != u32_at(bytes, table + 4 * i) {
                return Err(Error::corrupt(
                    (self.payload_start + i * CHUNK) as u64,
                    format!("corrupt filter: the checksum of payload chunk {i} does not match"),
                ));
            }
        }
        Ok(())
    }
}

/// Where the sections of a file lie, as 64-bit numbers without overflow.
pub(super) struct Lengths {
    pub(super) payload_start: u64,
    pub(super) file: u64,
}

impl Lengths {
    pub(super) fn of(tree: u64, payload: u64) -> Option<Self> {
        let header = tree.checked_add(PREFIX as u64 + 4)?;
        let payload_start = header.checked_next_multiple_of(64)?;
        let table = payload.div_ceil(CHUNK as u64).checked_mul(4)?;
        let file = payload_start.checked_add(payload)?.checked_add(table)?;
        Some(Self { payload_start, file })
    }
}

//! What the file `manifest` says of a store, beside the table of its pages.

use crate::error::{Error, Kind, Result};
use crate::state::{Context, Decoder, MAJOR, Payload, u16_at, u32_at, u64_at};

/// The first eight bytes of a manifest.
pub const MANIFEST_MAGIC: [u8; 8] = *b"\x89EVP\r\n\x1a\n";

/// Bytes that a manifest has in common with a file.
pub(super) const HEAD: usize = 56;
/// Bytes before the tree.
pub(super) const PREFIX: usize = 96;
/// Bytes of a page's entry in the manifest.
pub(super) const ENTRY: usize = 12;
/// The largest page, in words.
pub(super) const MAX_WORDS: u64 = 1 << 20;

/// The fields of a manifest apart from the table of pages.
#[derive(Debug)]
pub struct Manifest {
    /// Its first 56 bytes, as those of a file.
    pub(super) prefix: Vec<u8>,
    pub(super) tree: Vec<u8>,
    pub(super) length: u64,
}

impl Manifest {
    /// The first 56 bytes, as those of a file: features, variant, hash, items and targets.
    pub(crate) fn prefix(&self) -> &[u8] {
        &self.prefix
    }

    /// Its length in bytes, with that of the pages that are on disk.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    /// Reads the state that was committed.
    pub(crate) fn decoder(&self, context: Context) -> Decoder<'_> {
        Decoder::new(&self.tree, PREFIX as u64, Payload::Bytes(&[]), 0, 0, context)
    }
}

/// The numbers of a manifest, checked against its length and checksum.
pub(super) struct Layout {
    pub(super) tree: usize,
    pub(super) words: usize,
    pub(super) block: u64,
    pub(super) number: u64,
}

impl Layout {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self> {
        let common = bytes.len().min(MANIFEST_MAGIC.len());
        if bytes[..common] != MANIFEST_MAGIC[..common] {
            return Err(Error::new(
                Kind::NotOurs,
                "not a page store: the manifest is none of ours",
            ));
        }
        if bytes.len() < PREFIX + 4 {
            return Err(Error::new(Kind::Truncated, "the manifest ends inside its header"));
        }
        let major = u16_at(bytes, 8);
        if major != MAJOR {
            return Err(Error::new(
                Kind::UnsupportedVersion,
                format!(
                    "store version {major}, but this build reads version {MAJOR}: update everbloom"
                ),
            ));
        }
        let [tree, words, block, pages, number] = [56, 64, 72, 80, 88].map(|at| u64_at(bytes, at));
        let length = pages
            .checked_mul(ENTRY as u64)
            .and_then(|table| table.checked_add(tree)?.checked_add(PREFIX as u64 + 4));
        if length != Some(bytes.len() as u64) {
            return Err(Error::new(
                Kind::Truncated,
                "the manifest is cut off, or its lengths do not add up",
            ));
        }
        let end = bytes.len() - 4;
        if crc32c::crc32c(&bytes[..end]) != u32_at(bytes, end) {
            return Err(Error::corrupt(0, "corrupt manifest: its checksum does not match"));
        }
        let whole = block > 0 && pages.is_multiple_of(block);
        if !(1..=MAX_WORDS).contains(&words) || !whole {
            return Err(Error::corrupt(64, "corrupt manifest: impossible pages"));
        }
        Ok(Self { tree: tree as usize, words: words as usize, block, number })
    }
}

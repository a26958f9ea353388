//! A block of whole lines.

use std::ops::Range;

/// Bytes of a block, unless a single line is longer: a block and its digests fit the L2 cache.
pub const BLOCK: usize = 256 << 10;

/// The longest record: what has no end for so long is no text, or quotes that are never closed take the whole input for
/// one row.
pub const LONGEST: usize = 64 << 20;

/// Whole lines, and their positions.
#[derive(Default)]
pub struct Block {
    /// Kept from block to block, since a fresh one would be cleared before it is read into.
    pub(crate) memory: Vec<u8>,
    /// Where in it the lines are.
    pub(crate) lines: Range<usize>,
    /// Number of the block, from 0.
    pub number: u64,
    /// How much comes before it: lines of a stream, but bytes of a file, whose lines nobody has counted.
    pub(crate) start: u64,
}

impl Block {
    pub fn text(&self) -> &[u8] {
        &self.memory[self.lines.clone()]
    }
}

/// Reserves room for this many bytes.
pub fn grow(memory: &mut Vec<u8>, len: usize) {
    if memory.len() < len {
        memory.resize(len, 0);
    }
}

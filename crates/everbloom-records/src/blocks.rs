//! Input cut into blocks of whole lines.

use std::io;

use crate::csv;
use crate::grammar::Ends;
use crate::unpack::Input;

/// Bytes of a block, unless a single line is longer: a block and its digests fit the L2 cache.
const BLOCK: usize = 256 << 10;

/// The longest row of CSV: quotes that are never closed would take the whole input for one.
const ROW: usize = 64 << 20;

/// Whole lines, and where they stand.
#[derive(Default)]
pub struct Block {
    memory: Vec<u8>,
    len: usize,
    /// Number of the block, from 0.
    pub number: u64,
    /// Number of lines before it.
    pub before: u64,
}

impl Block {
    pub fn text(&self) -> &[u8] {
        &self.memory[..self.len]
    }
}

/// Reads blocks of whole lines.
pub struct Blocks<'a> {
    input: Input<'a>,
    ends: Ends,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    number: u64,
    lines: u64,
    done: bool,
}

impl<'a> Blocks<'a> {
    /// Blocks of an input; `before` lines came earlier.
    pub fn new(input: Input<'a>, ends: Ends, before: u64) -> Self {
        Self { input, ends, rest: Vec::new(), number: 0, lines: before, done: false }
    }

    /// Reads the next block; false at the end of the input.
    ///
    /// The text's memory is kept from block to block, since a fresh one would be cleared before it is
    /// read into.
    pub fn next(&mut self, block: &mut Block) -> io::Result<bool> {
        block.number = self.number;
        self.number += 1;
        let memory = &mut block.memory;
        let mut len = self.rest.len();
        grow(memory, len + BLOCK);
        memory[..len].copy_from_slice(&self.rest);
        self.rest.clear();
        let mut whole = 0;
        while !self.done && whole == 0 {
            let start = len;
            grow(memory, start + BLOCK);
            let got = self.read(&mut memory[start..start + BLOCK])?;
            len += got;
            self.done = got == 0;
            if len > ROW && self.ends.csv.is_some() {
                let message =
                    "a row of CSV is longer than 64 MiB: are quotes closed that open a column?";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            whole = match self.ends.csv {
                Some(delimiter) => csv::whole_rows(&memory[..len], delimiter),
                None => memchr::memrchr(self.ends.byte, &memory[start..len])
                    .map_or(0, |last| start + last + 1),
            };
        }
        if self.done {
            whole = len;
        }
        self.rest.extend_from_slice(&memory[whole..len]);
        block.len = whole;
        let text = &memory[..whole];
        block.before = self.lines;
        self.lines += memchr::memchr_iter(self.ends.byte, text).count() as u64;
        Ok(whole > 0)
    }

    /// Ends of lines read so far.
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// Reads what is there: a pipe is not waited for until a block is full, so that lines pass as they
    /// come.
    fn read(&mut self, memory: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.input.read(memory) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

fn grow(memory: &mut Vec<u8>, len: usize) {
    if memory.len() < len {
        memory.resize(len, 0);
    }
}

//! Input cut into blocks of whole lines.

use std::io;
use std::sync::Mutex;

use crate::block::{BLOCK, Block, LONGEST, grow};
use crate::csv;
use crate::error::{Error, Fault, Result};
use crate::grammar::Ends;
use crate::input::Input;
use crate::pieces::Pieces;

/// Blocks of an input, for several threads.
pub enum Blocks<'a> {
    /// Of what has to be read in order, by one thread at a time.
    Stream(Mutex<Stream<'a>>),
    /// Of a file, of which every thread reads a block of its own.
    Pieces(Pieces),
}

impl Blocks<'_> {
    /// Reads the next block; false at the end of the input, and after a thread has panicked while it read.
    pub fn next(&self, block: &mut Block) -> Result<bool> {
        match self {
            Self::Stream(stream) => {
                stream.lock().map_or(Ok(false), |mut stream| stream.next(block))
            }
            Self::Pieces(pieces) => pieces.next(block),
        }
    }

    /// An error in a line of the block, which becomes one of the whole input.
    pub fn placed(&self, e: Error, block: &Block) -> Error {
        let lines = match self {
            Self::Stream(_) => Ok(block.start),
            Self::Pieces(pieces) => pieces.lines_before(block.start),
        };
        lines.map_or_else(Error::from, |lines| e.below(lines))
    }
}

/// Reads blocks of whole lines, one after the other.
pub struct Stream<'a> {
    input: Input<'a>,
    ends: Ends,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    number: u64,
    lines: u64,
    done: bool,
}

impl<'a> Stream<'a> {
    /// Blocks of an input; `before` lines came earlier.
    pub fn new(input: Input<'a>, ends: Ends, before: u64) -> Self {
        Self { input, ends, rest: Vec::new(), number: 0, lines: before, done: false }
    }

    /// Reads the next block; false at the end of the input.
    pub fn next(&mut self, block: &mut Block) -> Result<bool> {
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
            if len > LONGEST {
                // Nobody reads on behind it.
                self.done = true;
                return Err(Fault::TooLong { csv: self.ends.csv.is_some() }.at(self.lines + 1));
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
        block.lines = 0..whole;
        block.start = self.lines;
        self.lines += memchr::memchr_iter(self.ends.byte, block.text()).count() as u64;
        Ok(whole > 0)
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

//! Input cut into blocks of whole lines, for one core or for all of them.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;

use everbloom::error::{Error, Result};

/// Bytes of a block, unless a single line is longer: a block and its digests fit the second cache.
const BLOCK: usize = 256 << 10;

/// What a block is read from.
pub type Input<'a> = Box<dyn Read + Send + 'a>;

/// Unpacks what gzip or zstd packed, and hands everything else through.
pub fn unpacked<'a>(mut input: impl Read + Send + 'a) -> io::Result<Input<'a>> {
    let mut start = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut start)?;
    let magic: [u8; 4] = start.as_slice().try_into().unwrap_or_default();
    let whole = io::Cursor::new(start).chain(input);
    Ok(match magic {
        [0x1f, 0x8b, 8, _] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Box::new(ruzstd::decoding::StreamingDecoder::new(whole).map_err(io::Error::other)?)
        }
        _ => Box::new(whole),
    })
}

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
    end: u8,
    /// The beginning of a line whose end has not been read.
    rest: Vec<u8>,
    number: u64,
    lines: u64,
    done: bool,
}

impl<'a> Blocks<'a> {
    pub fn new(input: Input<'a>, end: u8) -> Self {
        Self { input, end, rest: Vec::new(), number: 0, lines: 0, done: false }
    }

    /// Reads the next block; false at the end of the input.
    ///
    /// The text's memory is kept from block to block, since a fresh one would be cleared before it is
    /// read into.
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
            let last = memchr::memrchr(self.end, &memory[start..len]);
            whole = last.map_or(0, |last| start + last + 1);
        }
        if self.done {
            whole = len;
        }
        self.rest.extend_from_slice(&memory[whole..len]);
        block.len = whole;
        let text = &memory[..whole];
        block.before = self.lines;
        self.lines += memchr::memchr_iter(self.end, text).count() as u64;
        Ok(whole > 0)
    }

    /// Reads what is there: a pipe is not waited for until a block is full, so that lines pass as they
    /// come.
    fn read(&mut self, memory: &mut [u8]) -> Result<usize> {
        loop {
            match self.input.read(memory) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                read => return Ok(read?),
            }
        }
    }
}

fn grow(memory: &mut Vec<u8>, len: usize) {
    if memory.len() < len {
        memory.resize(len, 0);
    }
}

/// In which order results are wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// As they come.
    Any,
    /// As the blocks stand in the input.
    Kept,
}

/// Does `work` on every block, on all cores, and `done` with every result, on this one.
pub fn on_all_cores<T: Send, E: From<Error>>(
    blocks: Blocks<'_>,
    order: Order,
    work: impl Fn(&Block) -> Result<T> + Sync,
    mut done: impl FnMut(T) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let workers = thread::available_parallelism().map_or(1, |n| n.get());
    let blocks = Mutex::new(blocks);
    let (send, receive) = mpsc::sync_channel(4 * workers);
    thread::scope(|scope| {
        for _ in 0..workers {
            let (send, blocks, work) = (send.clone(), &blocks, &work);
            scope.spawn(move || {
                let mut block = Block::default();
                loop {
                    // A poisoned lock means that another worker panicked, which ends the program.
                    let Ok(mut input) = blocks.lock() else { return };
                    let more = input.next(&mut block);
                    drop(input);
                    let result = match more {
                        Ok(false) => return,
                        Ok(true) => work(&block),
                        Err(e) => Err(e),
                    };
                    let failed = result.is_err();
                    // Nobody receives any more once an error was met.
                    if send.send((block.number, result)).is_err() || failed {
                        return;
                    }
                }
            });
        }
        drop(send);
        // Whatever ends the loop early closes the channel, and that ends the workers.
        let receive = receive;
        if order == Order::Any {
            return receive.into_iter().try_for_each(|(_, result)| done(result?));
        }
        let (mut early, mut next) = (BTreeMap::new(), 0);
        for (number, result) in receive {
            early.insert(number, result);
            while let Some(result) = early.remove(&next) {
                done(result?)?;
                next += 1;
            }
        }
        Ok(())
    })
}

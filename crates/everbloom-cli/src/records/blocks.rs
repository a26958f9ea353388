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
    pub text: Vec<u8>,
    /// Number of the block, from 0.
    pub number: u64,
    /// Number of lines before it.
    pub before: u64,
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
    pub fn next(&mut self, block: &mut Block) -> Result<bool> {
        block.number = self.number;
        self.number += 1;
        let text = &mut block.text;
        text.clear();
        text.append(&mut self.rest);
        while !self.done {
            let start = text.len();
            let got = self.input.by_ref().take(BLOCK as u64).read_to_end(text)?;
            self.done = got == 0;
            if let Some(last) = memchr::memrchr(self.end, &text[start..]) {
                self.rest.extend_from_slice(&text[start + last + 1..]);
                text.truncate(start + last + 1);
                break;
            }
        }
        block.before = self.lines;
        self.lines += memchr::memchr_iter(self.end, text).count() as u64;
        Ok(!text.is_empty())
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

//! A file cut into pieces of one length, which threads read at the same time: reading in turn would keep all but a few
//! cores waiting.

use std::fs::File;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::{BLOCK, Block, LONGEST, grow};
use crate::error::{Fault, Result};
use crate::input::Passed;

/// Bytes read beyond a piece in the first try, for the end of its last line.
const BEYOND: usize = 4 << 10;

/// A file, from its beginning to where it ends when that is read.
pub struct Pieces {
    file: File,
    /// Where the first line begins, within the first piece.
    begin: usize,
    /// The byte that ends a line.
    end: u8,
    /// Bytes of a piece.
    length: usize,
    next: AtomicU64,
    passed: Option<Mutex<Passed>>,
}

impl Pieces {
    /// The pieces of a file of lines, the first of which begins at byte `begin`; `None` where files can't be read anywhere
    /// at any time.
    pub fn of(file: File, begin: usize, end: u8, passed: Option<Passed>) -> Option<Self> {
        let (next, passed) = (AtomicU64::new(0), passed.map(Mutex::new));
        cfg!(any(unix, windows)).then_some(Self { file, begin, end, length: BLOCK, next, passed })
    }

    /// Reads the lines that begin in the next piece, perhaps none; false at the end of the file.
    pub fn next(&self, block: &mut Block) -> Result<bool> {
        block.number = self.next.fetch_add(1, Ordering::Relaxed);
        let start = block.number * self.length as u64;
        // The byte before tells whether a line begins with the piece.
        let from = start.saturating_sub(1);
        let skipped = (start - from) as usize;
        let memory = &mut block.memory;
        let stop = skipped + self.length;
        grow(memory, stop + BEYOND);
        let mut len = self.read(from, &mut memory[..stop + BEYOND])?;
        block.lines = 0..0;
        if len <= skipped {
            return Ok(false);
        }
        if let Some(passed) = &self.passed
            && let Ok(mut passed) = passed.lock()
        {
            passed(len.min(stop).saturating_sub(skipped) as u64);
        }
        let first = match block.number {
            0 => Some(self.begin.min(len)),
            _ => memchr::memchr(self.end, &memory[..len]).map(|end| end + 1),
        };
        // All of it belongs to a line that has begun before. If that line ends behind the piece, no line is left either.
        let Some(first) = first else { return Ok(true) };
        block.start = from + first as u64;
        let (mut seen, mut full) = (stop - 1, len == stop + BEYOND);
        let whole = loop {
            match memory.get(seen..len).and_then(|rest| memchr::memchr(self.end, rest)) {
                Some(end) => break seen + end + 1,
                None if !full => break len,
                None if len > LONGEST => {
                    let before = self.lines_before(block.start)?;
                    let whole = memchr::memchr_iter(self.end, &memory[first..stop]).count() as u64;
                    return Err(Fault::TooLong { csv: false }.at(before + whole + 1));
                }
                None => {
                    seen = len;
                    grow(memory, 2 * len);
                    let got = self.read(from + len as u64, &mut memory[len..2 * len])?;
                    full = got == len;
                    len += got;
                }
            }
        };
        block.lines = first..whole;
        Ok(true)
    }

    /// The number of lines that end before this byte.
    pub fn lines_before(&self, byte: u64) -> io::Result<u64> {
        let (mut memory, mut at, mut lines) = (vec![0; BLOCK], 0, 0);
        while at < byte {
            let wanted = (byte - at).min(BLOCK as u64) as usize;
            let got = self.read(at, &mut memory[..wanted])?;
            if got == 0 {
                break;
            }
            lines += memchr::memchr_iter(self.end, &memory[..got]).count() as u64;
            at += got as u64;
        }
        Ok(lines)
    }

    /// Fills the memory with what stands there, unless the file ends before.
    fn read(&self, at: u64, memory: &mut [u8]) -> io::Result<usize> {
        let mut len = 0;
        while len < memory.len() {
            match read_at(&self.file, &mut memory[len..], at + len as u64) {
                Ok(0) => break,
                Ok(got) => len += got,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(len)
    }
}

#[cfg(unix)]
fn read_at(file: &File, memory: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, memory, at)
}

#[cfg(windows)]
fn read_at(file: &File, memory: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, memory, at)
}

/// Nobody gets here: see [`Pieces::of`].
#[cfg(not(any(unix, windows)))]
fn read_at(_: &File, _: &mut [u8], _: u64) -> io::Result<usize> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Pieces of every length, down to a byte, have every line once, in order, and know how many came before.
    #[test]
    fn lines_are_cut_at_their_ends_wherever_pieces_end() {
        let mut random = everbloom::internals::hash::Generator::new(1);
        for length in (0..60).chain([3000]) {
            let mut text: Vec<u8> =
                (0..length).map(|_| b"ab\n"[random.below(3) as usize]).collect();
            if length == 3000 {
                // A line longer than what is read beyond a piece, and than many pieces.
                text.splice(1000..1000, [b'x'; 20_000]);
            }
            let mut file = tempfile::tempfile().expect("a file");
            file.write_all(&text).expect("a file");
            for piece in (1..20).chain([100, 2999, 3000, 3001]) {
                let pieces = Pieces::of(file.try_clone().expect("a file"), 0, b'\n', None);
                let pieces = Pieces { length: piece, ..pieces.expect("a system with files") };
                let (mut all, mut block, mut numbers) = (Vec::new(), Block::default(), 0);
                while pieces.next(&mut block).expect("a file") {
                    assert_eq!(block.number, numbers);
                    numbers += 1;
                    if block.text().is_empty() {
                        continue;
                    }
                    let at = block.start;
                    assert_eq!(at, all.len() as u64, "{length} {piece}");
                    let lines = memchr::memchr_iter(b'\n', &all).count() as u64;
                    assert_eq!(pieces.lines_before(at).expect("a file"), lines);
                    assert!(all.is_empty() || all.ends_with(b"\n"));
                    all.extend_from_slice(block.text());
                }
                assert!(all == text, "{length} {piece}");
            }
        }
    }

    #[test]
    fn bytes_pass_once() {
        use std::sync::Arc;
        let mut file = tempfile::tempfile().expect("a file");
        let text = b"0123456789\n".repeat(100_000);
        file.write_all(&text).expect("a file");
        let seen = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&seen);
        let passed = move |bytes| _ = count.fetch_add(bytes, Ordering::Relaxed);
        let pieces =
            Pieces::of(file, 0, b'\n', Some(Box::new(passed))).expect("a system with files");
        while pieces.next(&mut Block::default()).expect("a file") {}
        assert_eq!(seen.load(Ordering::Relaxed), text.len() as u64);
    }
}

//! Reading ahead on a thread of its own: unpacking takes one core, and the work on its text the others.

use std::io::{self, Read};
use std::sync::{Arc, mpsc};
use std::thread;

use crate::input::Input;
use crate::pool::Pool;

/// Bytes read at a time, and how often before somebody must take them: together they fit the L2 cache.
const CHUNK: usize = 128 << 10;
const CHUNKS: usize = 8;

/// A buffer, and how many of its bytes were read; none at the end.
type Chunk = (Vec<u8>, usize);

/// What a thread has read.
struct Ahead {
    receive: mpsc::Receiver<io::Result<Chunk>>,
    pool: Arc<Pool<Vec<u8>>>,
    chunk: Chunk,
    /// Where in the chunk.
    at: usize,
    ended: bool,
}

/// The same bytes, read by a thread of its own.
pub fn ahead(mut input: Input<'static>) -> io::Result<Input<'static>> {
    let (send, receive) = mpsc::sync_channel(CHUNKS);
    let pool = Arc::new(Pool::default());
    let buffers = Arc::clone(&pool);
    thread::Builder::new().spawn(move || {
        loop {
            let mut buffer: Vec<u8> = buffers.take();
            buffer.resize(CHUNK, 0);
            let read = input.read(&mut buffer);
            if read.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::Interrupted) {
                continue;
            }
            let last = !matches!(read, Ok(1..));
            // Whoever has read enough does not receive any more.
            if send.send(read.map(|length| (buffer, length))).is_err() || last {
                return;
            }
        }
    })?;
    Ok(Box::new(Ahead { receive, pool, chunk: Chunk::default(), at: 0, ended: false }))
}

impl Ahead {
    /// Takes the next chunk.
    fn next(&mut self) -> io::Result<()> {
        self.ended = true;
        // An end that was not sent is none: the thread has panicked.
        let gone = |_| io::Error::other("unpacking failed");
        let chunk = self.receive.recv().map_err(gone)??;
        self.ended = chunk.1 == 0;
        self.pool.give(std::mem::replace(&mut self.chunk, chunk).0);
        self.at = 0;
        Ok(())
    }
}

impl Read for Ahead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.1 && !self.ended {
            self.next()?;
        }
        let (bytes, length) = &self.chunk;
        let n = (&bytes[self.at..*length]).read(out)?;
        self.at += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_the_same_and_errors_are_handed_on() {
        let text: Vec<u8> = (0..3 * CHUNK + 7).map(|i| i as u8).collect();
        let mut all = Vec::new();
        ahead(Box::new(io::Cursor::new(text.clone()))).unwrap().read_to_end(&mut all).unwrap();
        assert!(all == text);

        /// A few bytes, then an error or a panic.
        struct Breaks(bool, u8);
        impl Read for Breaks {
            fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
                self.1 += 1;
                out[0] = self.1;
                assert!(self.1 < 3 || self.0, "a panic");
                if self.1 < 3 { Ok(1) } else { Err(io::Error::other("broken")) }
            }
        }
        for (errs, message) in [(true, "broken"), (false, "unpacking failed")] {
            let mut read = Vec::new();
            let mut broken = ahead(Box::new(Breaks(errs, 0))).unwrap();
            let error = broken.read_to_end(&mut read).unwrap_err().to_string();
            assert_eq!((read.as_slice(), error.as_str()), (&[1, 2][..], message));
        }
    }
}

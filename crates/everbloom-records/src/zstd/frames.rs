//! Frames by `ruzstd`, which reads one at a time.

use std::io::{self, BufRead as _, BufReader, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Bytes of packed input read at a time.
const PACKED: usize = 128 << 10;

/// The text of all frames.
pub struct Zstd<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    /// Whether a frame has begun and is not yet read.
    inside: bool,
}

impl<R: Read> Zstd<R> {
    pub fn new(source: R) -> Self {
        let source = BufReader::with_capacity(PACKED, source);
        Self { source, decoder: FrameDecoder::new(), inside: false }
    }

    /// Begins the next frame, if there is one; those that hold no text are skipped.
    fn begin(&mut self) -> io::Result<()> {
        while !self.inside && !self.source.fill_buf()?.is_empty() {
            use FrameDecoderError::ReadFrameHeaderError as Header;
            match self.decoder.init(&mut self.source) {
                Ok(()) => self.inside = true,
                Err(Header(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink());
                    if skipped? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(e) => return Err(io::Error::other(e)),
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            self.begin()?;
            if !self.inside {
                return Ok(0);
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let block = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.source, block).map_err(io::Error::other)?;
            }
            let read = self.decoder.read(out)?;
            self.inside = !(self.decoder.is_finished() && self.decoder.can_collect() == 0);
            // A frame may be empty.
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
        }
    }
}

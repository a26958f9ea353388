//! Where bytes come from, and who is told of them.

use std::io::{self, Read};

/// Bytes that are read once, perhaps on another thread.
pub type Input<'a> = Box<dyn Read + Send + 'a>;

/// Receives the number of bytes read so far.
pub type Passed = Box<dyn FnMut(u64) + Send>;

/// An input whose bytes are counted as they pass.
struct Watched<'a> {
    input: Input<'a>,
    passed: Passed,
}

impl Read for Watched<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.input.read(out)?;
        (self.passed)(got as u64);
        Ok(got)
    }
}

/// The same input; `passed` is called with the number of bytes as they are read.
pub fn watched(input: Input<'_>, passed: Passed) -> Input<'_> {
    Box::new(Watched { input, passed })
}

//! Randomness that nobody can predict: the operating system's.

use zeroize::Zeroizing;

use crate::error::{Error, Kind, Result};
use crate::hash::multiply_shift;

/// Fills `bytes`.
pub(crate) fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|e| Error::new(Kind::Io, format!("cannot get random bytes from the system: {e}")))
}

/// So many random bytes.
pub(crate) fn bytes<const N: usize>() -> Result<Zeroizing<[u8; N]>> {
    let mut out = Zeroizing::new([0; N]);
    fill(&mut *out)?;
    Ok(out)
}

/// Random numbers, a page at a time: a call of the system for each would take longer than the work.
pub(super) struct Chance {
    page: Zeroizing<[u8; 4096]>,
    used: usize,
}

impl Chance {
    pub(super) fn new() -> Self {
        Self { page: Zeroizing::new([0; 4096]), used: 4096 }
    }

    /// A number in `0..n`; the bias is below n·2⁻⁶⁴.
    pub(super) fn below(&mut self, n: u64) -> Result<u64> {
        if self.used == self.page.len() {
            fill(&mut *self.page)?;
            self.used = 0;
        }
        let mut word = [0; 8];
        word.copy_from_slice(&self.page[self.used..self.used + 8]);
        self.used += 8;
        Ok(multiply_shift(u64::from_le_bytes(word), n))
    }
}

//! The pinned random generator that randomized variants own as part of their state.

use super::mix64;

/// SplitMix64. Its state stands in files, so its algorithm never changes (generator id 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    state: u64,
}

impl Generator {
    /// A generator whose stream is fixed by `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        // mix64 adds the golden ratio before mixing, so handing it the old state and then
        // stepping the state by the same constant is the published SplitMix64 sequence.
        let out = mix64(self.state);
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        out
    }

    /// A number in `0..n` by multiply-shift; the bias is below n·2⁻⁶⁴. `n` = 0 gives 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        super::multiply_shift(self.next_u64(), n)
    }

    /// A number in [0, 1) with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The state, as files store it.
    pub fn state(&self) -> u64 {
        self.state
    }
}

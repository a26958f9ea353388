//! The pinned random generator that randomized variants own as part of their state.

use super::mix64;

/// What a draw adds to the state, and its inverse modulo 2^64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
const PER_STEP: u64 = 0xF1DE_83E1_9937_733D;

/// SplitMix64. Its state is stored in files, so its algorithm never changes (generator id 1).
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
        self.state = self.state.wrapping_add(STEP);
        out
    }

    /// [`Self::next_u64`] where it is `used`; otherwise its bits stay the next ones. Without a branch.
    #[inline(always)]
    pub(crate) fn next_if(&mut self, used: bool) -> u64 {
        let out = mix64(self.state);
        let step = std::hint::select_unpredictable(used, STEP, 0);
        self.state = self.state.wrapping_add(step);
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

    /// A draw from the normal distribution of mean 0 and variance 1, by Box and Muller; two steps of the stream.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.unit())).sqrt();
        radius * libm::cos(core::f64::consts::TAU * self.unit())
    }

    #[cfg(feature = "sketches")]
    /// Whether the two are at most `draws` draws apart in one stream.
    pub(crate) fn is_near(&self, other: &Self, draws: u64) -> bool {
        let apart = self.state.wrapping_sub(other.state).wrapping_mul(PER_STEP);
        apart.min(apart.wrapping_neg()) <= draws
    }

    /// The state, as files store it.
    pub fn state(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_draws_have_their_moments_and_stay_what_they_are() {
        let mut random = Generator::new(1);
        let draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
        let mean = |power: i32| draws.iter().map(|x| x.powi(power)).sum::<f64>() / 1e5;
        assert!(mean(1).abs() < 0.02 && (mean(2) - 1.0).abs() < 0.03);
        assert!(mean(3).abs() < 0.08 && (mean(4) - 3.0).abs() < 0.2);
        let first: Vec<u64> = draws.iter().take(2).map(|x| x.to_bits()).collect();
        assert_eq!(first, NORMAL, "pinned: they decide where vectors go");
    }

    const NORMAL: [u64; 2] = [0xBFA1_8B7C_84D5_C3B6, 0xC004_0023_62CE_87BD];
}

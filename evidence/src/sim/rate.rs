//! The rate of a filter as small as a packet's header, where the formula for large ones is off.

use everbloom::internals::theory::bloom;

use crate::{Bound, bound};

/// The false-positive rate of a filter of given size and load.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Its mean over all filters of this size and load.
    pub mean: f64,
    /// How much it differs from filter to filter, since their fills do.
    pub sd: f64,
}

impl Rate {
    /// For `m` bits, `n` keys and `k` probes.
    ///
    /// ```
    /// use everbloom_lab::sim::Rate;
    /// // (1 − e^{−32/64})^4 = 0.0240 is the rate of a large filter with as many bits a key.
    /// assert!((Rate::of(64, 8, 4).mean - 0.0253).abs() < 1e-4);
    /// ```
    pub fn of(m: u64, n: u64, k: u32) -> Self {
        let (cells, probes) = (m as f64, f64::from(k));
        let mean = bloom::fpr_exact(m, n, k);
        let (fill, sd) =
            (bloom::fill(cells, n as f64 * probes), bloom::fill_sd(cells, n as f64 * probes));
        Self { mean, sd: if n == 0 { 0.0 } else { mean * probes * sd / fill } }
    }

    /// The bound for the share that passes when `trials` keys are queried in each of `filters` filters.
    pub fn bound(&self, filters: u64, trials: u64) -> Bound {
        bound::rate(self.mean, self.sd, filters, trials)
    }
}

//! Counters of counting filters: what a function of them is on average. Figures about their size need it.

use everbloom::internals::theory::counting::cell_pmf;

use crate::{Bound, bound};

/// m counters that n keys have raised by one, k each.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub m: u64,
    pub n: u64,
    pub k: u32,
}

impl Shape {
    /// P(a counter is j).
    pub fn pmf(&self, j: u64) -> f64 {
        cell_pmf(self.m, self.n, self.k, j)
    }

    /// Increments per counter, λ = nk/m.
    pub fn load(&self) -> f64 {
        self.n as f64 * f64::from(self.k) / self.m as f64
    }

    /// Mean of `f` over the counters, and its standard deviation from counter to counter.
    pub fn moments(&self, f: impl Fn(u64) -> f64) -> (f64, f64) {
        // Beyond, all that is left of loads up to 10 is below 1e-15.
        let weighted = |g: &dyn Fn(u64) -> f64| (0..64).map(|j| self.pmf(j) * g(j)).sum::<f64>();
        let mean = weighted(&f);
        let variance = weighted(&|j| (f(j) - mean) * (f(j) - mean));
        (mean, variance.sqrt())
    }

    /// What the mean of `f` over all counters of `runs` filters must lie within.
    ///
    /// As if counters were independent. Since their sum is given they vary less, so this is wide enough.
    pub fn mean_bound(&self, f: impl Fn(u64) -> f64, runs: u64) -> (f64, Bound) {
        let (mean, sd) = self.moments(f);
        (mean, bound::mean(mean, sd, runs * self.m))
    }
}

/// Binary digits of a number: what a counter of fixed width uses of its bits.
pub fn digits(count: u64) -> u64 {
    u64::from(u64::BITS - count.leading_zeros())
}

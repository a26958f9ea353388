//! Search and exchange among peers.

use everbloom::internals::theory::bloom;

use crate::{Bound, bound};

pub mod attenuated_routing;
pub mod foreseer;
pub mod gnutella;
pub mod planetp;
pub mod quad_tree;
pub mod tree_routing;

/// A filter's shape and how many keys are in it.
#[derive(Clone, Copy)]
struct Filled {
    m: u64,
    k: u32,
    n: u64,
}

impl Filled {
    /// Filters of `n` keys with `bits` bits for each, and the best number of probes.
    fn of(n: u64, bits: u64) -> Self {
        let m = (n * bits).max(64);
        Self { m, k: bloom::best_k(m, n), n }
    }

    fn rate(self) -> f64 {
        bloom::fpr_exact(self.m, self.n, self.k)
    }

    /// How much the rate differs from filter to filter: ρ^k by the fill's standard deviation.
    fn rate_sd(self) -> f64 {
        let (m, k) = (self.m as f64, f64::from(self.k));
        let throws = k * self.n as f64;
        k * libm::pow(bloom::fill(m, throws), k - 1.0) * bloom::fill_sd(m, throws)
    }

    /// Where a rate lies that is measured with `trials` queries of each of `filters` filters.
    fn rate_bound(self, filters: u64, trials: u64) -> Bound {
        bound::rate(self.rate(), self.rate_sd(), filters, trials)
    }
}

/// A sum of independent events: what is expected of it, and its variance.
#[derive(Clone, Copy, Default)]
struct Expected {
    mean: f64,
    variance: f64,
}

impl Expected {
    /// Adds an event of probability `p` that counts `weight` times.
    fn add(&mut self, weight: f64, p: f64) {
        self.mean += weight * p;
        self.variance += weight * weight * p * (1.0 - p);
    }

    /// The sum divided by `by`, and where it lies.
    fn over(self, by: f64) -> (f64, Bound) {
        let mean = self.mean / by;
        (mean, bound::mean(mean, self.variance.sqrt() / by, 1))
    }
}

impl std::ops::AddAssign for Expected {
    fn add_assign(&mut self, other: Self) {
        self.mean += other.mean;
        self.variance += other.variance;
    }
}
pub mod approximate;
pub mod friends;

//! Where a stable filter settles, and when it has forgotten a key.

use super::MAX_BITS;
use crate::error::{Error, Result};
use crate::theory::{mean_over, tail};

/// Z, the share of zeros that the filter settles at, whatever it starts from (S0 §III-I).
pub fn stable_zeros(m: f64, k: f64, max: f64, decrements: f64) -> f64 {
    libm::pow(1.0 / (1.0 + 1.0 / (decrements * (1.0 / k - 1.0 / m))), max)
}

/// P, the decrements per arrival for which (1 − Z)^k is `fpr`; round it up (S0 eq. 18).
pub fn decrements_for(fpr: f64, m: f64, k: f64, max: f64) -> f64 {
    let zeros = 1.0 - libm::pow(fpr, 1.0 / k);
    1.0 / ((1.0 / libm::pow(zeros, 1.0 / max) - 1.0) * (1.0 / k - 1.0 / m))
}

/// Cells, probes, bits per cell, decrements per arrival, and the planned rate of false negatives.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) m: u64,
    pub(super) k: u32,
    pub(super) max_bits: u32,
    pub(super) decrements: u64,
    pub(super) fnr: Option<f64>,
}

impl Shape {
    pub(super) fn check(&self) -> Result<()> {
        let Shape { m, k, max_bits, decrements, .. } = *self;
        if k == 0 || u64::from(k) >= m {
            return Err(Error::parameter(format!(
                "{k} probes into {m} cells: a stable filter needs at least one, and fewer than cells, or every \
                insertion could set them all"
            )));
        }
        if !(1..=m).contains(&decrements) {
            return Err(Error::parameter(format!(
                "{decrements} decrements per insertion in {m} cells: there must be at least one, and at most one per \
                cell; use more cells or a higher rate"
            )));
        }
        if !(1..=MAX_BITS).contains(&max_bits) {
            return Err(Error::parameter(format!("cells of {max_bits} bits: 1 to {MAX_BITS}")));
        }
        Ok(())
    }

    fn max(&self) -> u64 {
        (1 << self.max_bits) - 1
    }

    /// The false-positive rate that the filter settles at, (1 − Z)^k.
    pub(super) fn stable_fpr(&self) -> f64 {
        let (m, k, max) = (self.m as f64, f64::from(self.k), self.max() as f64);
        libm::pow(1.0 - stable_zeros(m, k, max, self.decrements as f64), k)
    }

    /// The chance that an arrival touches a given cell, and the share of touches that only decrement.
    fn touches(&self) -> (f64, f64) {
        let m = self.m as f64;
        let set = -libm::expm1(f64::from(self.k) * libm::log1p(-1.0 / m));
        let decrement = self.decrements as f64 / m * (1.0 - set);
        (set + decrement, decrement / (set + decrement))
    }

    /// z(g): the chance that a cell is zero `arrivals` after it was set.
    fn emptied(&self, arrivals: u64) -> f64 {
        let ((touched, share), max) = (self.touches(), self.max());
        libm::pow(share, max as f64) * tail::binomial_at_least(arrivals, touched, max)
    }

    /// The share of zeros after `arrivals` into an empty filter. A cell that was touched fewer than Max
    /// times is zero if none of the touches set it: E[a^min(touches, Max)] in all.
    pub(super) fn zeros_after(&self, arrivals: u64) -> f64 {
        let (touched, share) = self.touches();
        let few = |j: u64| tail::binomial_pmf(arrivals, touched, j) * libm::pow(share, j as f64);
        self.emptied(arrivals) + (0..self.max()).map(few).sum::<f64>()
    }

    /// The chance that a key is missed `arrivals` after it came.
    fn missed(&self, arrivals: u64) -> f64 {
        -libm::expm1(f64::from(self.k) * libm::log1p(-self.emptied(arrivals)))
    }

    /// The rate of false negatives averaged over the last `n` keys.
    pub(super) fn mean_fnr(&self, n: u64) -> f64 {
        mean_over(n, |arrivals| self.missed(arrivals.round() as u64))
    }

    /// A bound on the spread of the fill ρ from filter to filter.
    ///
    /// The number of nonzero cells is drawn back to its mean by (P+k)/m per arrival, against the noise of
    /// what the run and the probes happen to hit: (P·C + k)·ρ(1−ρ), so its variance is at most
    /// m·ρ(1−ρ)·(P·C + k)/(2(P + k)). C > 1 because cells that share runs are alike. With Max = 1, cells x
    /// apart correlate by (1−x/P)·k/(P+x+2k), from the balance of pairs that are both set; summed over a
    /// run, C < 1 + ⅔·Pk/(P+2k). Cells with more levels are less alike, and a filter that has not settled
    /// yet spreads less: measured, up to half of this bound's sd.
    pub(super) fn fill_sd(&self, fill: f64) -> f64 {
        let (p, k) = (self.decrements as f64, f64::from(self.k));
        let alike = 1.0 + 2.0 / 3.0 * p * k / (p + 2.0 * k);
        let noise = (p * alike + k) / (2.0 * (p + k));
        (fill * (1.0 - fill) * noise / self.m as f64).sqrt()
    }
}

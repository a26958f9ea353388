//! Planning of filters that are cut into k slices of cells, with one probe into each.

use super::{Expect, Load, MAX_CELLS, PARAM_K, PARAM_M, Request, check_cells, k_for_m};
use crate::error::{Error, Result};
use crate::probe::{MAX_K, Partitioned};
use crate::theory::bloom as theory;

/// Cells per slice, and slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slices {
    /// Cells per slice.
    pub slice: u64,
    /// Number of slices, and of probes per key.
    pub k: u32,
}

impl Slices {
    /// `m` cells cut into `k` slices; the remainder of m/k is not used.
    pub fn cut(m: u64, k: u32) -> Result<Self> {
        if !(1..=MAX_K).contains(&k) || u64::from(k) > m || m > MAX_CELLS {
            return Err(Error::parameter(format!(
                "{m} cells cannot be divided into {k} slices: k must be from 1 to {MAX_K} and at most m, and m at \
                most {MAX_CELLS}"
            )));
        }
        Ok(Self { slice: m / u64::from(k), k })
    }

    /// The smallest m with the best k or the given one, so that the exact rate stays below p. Slices are
    /// even, so that the filter folds.
    pub fn plan(request: &Request<'_>) -> Result<Self> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            return Self::cut(m, k_for_m(request, |n| Self::best_k(m, n))?);
        }
        let sized = |n: u64, p: f64| {
            // Half full is best, which takes log2(1/p) slices; of its neighbors the smaller filter.
            let best = (-libm::log2(p)).floor().max(1.0) as u32;
            let ks = k_set.map_or(best..=best + 1, |k| k..=k);
            let even = |k: u32| (theory::slice_for(n as f64, p, k) / 2.0).ceil() * 2.0;
            let sizes = ks.map(|k| (even(k), k));
            sizes.min_by(|a, b| cells(*a).total_cmp(&cells(*b))).unwrap_or((f64::INFINITY, 1))
        };
        let (n, p) = request.items_and_rate(|n, p| cells(sized(n, p)))?;
        let (slice, k) = sized(n, p);
        check_cells(n, p, cells((slice, k)))?;
        Ok(Self { slice: slice as u64, k })
    }

    /// The best number of slices of `m` cells for `n` keys: with slices rounded down the optimum may lie one
    /// beside the standard filter's.
    fn best_k(m: u64, n: u64) -> u32 {
        let near = u64::from(theory::best_k(m, n)).min(u64::from(MAX_K)).min(m) as u32;
        let rate = |k: u32| Self::cut(m, k).map_or(f64::INFINITY, |cut| cut.fpr(n));
        [near.saturating_sub(1), near + 1]
            .into_iter()
            .fold(near, |best, k| if rate(k) < rate(best) { k } else { best })
    }

    /// Number of cells in all slices.
    pub fn m(&self) -> u64 {
        self.slice * u64::from(self.k)
    }

    /// The probes of this shape.
    pub fn probe(&self) -> Partitioned {
        Partitioned::new(self.slice, self.k)
    }

    /// The false-positive rate after `n` distinct keys, exactly: slices are independent of each other.
    pub fn fpr(&self, n: u64) -> f64 {
        theory::fpr_partitioned(self.slice as f64, n as f64, f64::from(self.k))
    }

    /// What the formulas say of slices of bits.
    pub fn expect(&self, load: &Load) -> Expect {
        let (slice, k, n) = (self.slice as f64, f64::from(self.k), load.distinct);
        // Every slice takes n throws, independently of the others.
        let fill = (theory::fill(slice, n as f64), theory::fill_sd(slice, n as f64) / k.sqrt());
        Expect::one_sided(self.fpr(n), self.m(), Some(fill)).probing(self.k)
    }
}

fn cells((slice, k): (f64, u32)) -> f64 {
    slice * f64::from(k)
}

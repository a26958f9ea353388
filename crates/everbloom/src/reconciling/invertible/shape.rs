//! How many cells carry a difference, and what is expected of them: their rate and their fill.

use super::{CELL_BITS, STRATA};
use crate::error::Result;
use crate::plan::{Request, check_fit, segments};
use crate::theory::bloom as theory;

/// Number of layers, cells per segment, segments, and the rate of failed decodes planned for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) layers: u64,
    pub(super) slice: u64,
    pub(super) k: u32,
    pub(super) rate: Option<f64>,
}

impl Shape {
    /// From a goal to a shape.
    pub(super) fn plan(request: &Request<'_>) -> Result<Self> {
        let k = request.whole("k") as u32;
        let shape = if request.form() == STRATA {
            let [cells, layers] = request.wholes(["stratum-cells", "strata"]);
            Shape { layers, slice: (cells / u64::from(k)).max(1), k, rate: None }
        } else {
            let (slice, rate) = segments(request, k, CELL_BITS)?;
            Shape { layers: 1, slice, k, rate }
        };
        check_fit(request, shape.bits())?;
        Ok(shape)
    }

    pub(super) fn bits(&self) -> u64 {
        let cells = self.slice.saturating_mul(u64::from(self.k));
        cells.saturating_mul(self.layers).saturating_mul(CELL_BITS)
    }

    /// The share of ids that fall into layer i: 2^−(i+1), and into the last what is left.
    pub(super) fn share(&self, i: u64) -> f64 {
        libm::exp2(-((i + 1).min(self.layers - 1) as f64))
    }

    /// P(present | not a member) after `n` ids: the mean over strata, each of which got a binomial
    /// number of ids. Within one, E[(1 − q^{n_i})^k] = Σ_j C(k,j) (−1)^j (1 − w + w·q^j)^n, q = 1 − 1/s.
    pub(super) fn fpr(&self, n: f64) -> f64 {
        if self.layers == 1 {
            return theory::fpr_partitioned(self.slice as f64, n, f64::from(self.k));
        }
        let q = 1.0 - 1.0 / self.slice as f64;
        let stratum = |i| {
            let (w, mut choose, mut sum) = (self.share(i), 1.0, 0.0);
            for j in 0..=self.k {
                sum += choose * missed(w * (1.0 - libm::pow(q, f64::from(j))), n);
                choose *= -f64::from(self.k - j) / f64::from(j + 1);
            }
            w * sum
        };
        (0..self.layers).map(stratum).sum()
    }

    /// Share of cells in use after `n` ids, and its deviation from filter to filter, from the exact
    /// probabilities that one cell or two given ones are missed by all ids.
    pub(super) fn fill(&self, n: f64) -> (f64, f64) {
        let (s, k) = (self.slice as f64, f64::from(self.k));
        let one = |i| missed(self.share(i) / s, n);
        let (mut empty, mut variance) = (0.0, 0.0);
        for i in 0..self.layers {
            let (w, a) = (self.share(i), one(i));
            let neighbors = missed(2.0 * w / s, n) - a * a;
            let segments = missed(w * (2.0 / s - 1.0 / (s * s)), n) - a * a;
            empty += k * s * a;
            variance += k * s * (a * (1.0 - a) + (s - 1.0) * neighbors + (k - 1.0) * s * segments);
            for j in (0..self.layers).filter(|&j| j != i) {
                let strata = missed((w + self.share(j)) / s, n) - a * one(j);
                variance += k * k * s * s * strata;
            }
        }
        let cells = self.layers as f64 * k * s;
        (1.0 - empty / cells, libm::sqrt(variance.max(0.0)) / cells)
    }
}

/// The chance that `n` ids all miss what each hits with probability `x`.
fn missed(x: f64, n: f64) -> f64 {
    if n == 0.0 { 1.0 } else { libm::exp(n * libm::log1p(-x.min(1.0))) }
}

//! The exact probability that one more key hits only cells that earlier keys hit.
//!
//! Bose et al. (S3 eq. 3) average `(i/m)^k` over the number `i` of occupied cells, a
//! distribution over up to `m` values that takes O(m·kn) steps to compute. The same number
//! comes far cheaper from the other side. Let the asking key's `k` probes land on `d` distinct
//! cells. Whether throws cover *those* `d` cells is a coupon collector's question:
//!
//! ```text
//! H_t(d) = P(t throws cover d given cells)
//! H_{t+1}(d) = d/m · H_t(d−1) + (1 − d/m) · H_t(d)      (by where the first throw falls)
//! ```
//!
//! and the rate is `Σ_d P(k probes are d distinct cells) · H_{kn}(d)`: O(k) per throw whatever
//! `m` is, and every term positive, so nothing cancels (the Stirling-number sum does,
//! catastrophically).

/// The rate at which a foreign key passes, followed item by item.
pub(super) struct Occupancy {
    cells: f64,
    probes: u32,
    /// `distinct[d]`: probability that the asking key's probes are `d` distinct cells.
    distinct: Vec<f64>,
    /// `covered[d]`: probability that the throws so far cover `d` given cells.
    covered: Vec<f64>,
}

impl Occupancy {
    /// No items yet in `cells` ≥ 1 cells, asked with `probes` independent probes.
    pub(super) fn new(cells: u64, probes: u32) -> Self {
        let m = cells as f64;
        let most = cells.min(u64::from(probes)) as usize;
        let mut distinct = vec![0.0; most + 1];
        distinct[0] = 1.0;
        for _ in 0..probes {
            for d in (1..=most).rev() {
                let free = m - (d - 1) as f64;
                distinct[d] = (distinct[d] * d as f64 + distinct[d - 1] * free) / m;
            }
            distinct[0] = 0.0;
        }
        let mut covered = vec![0.0; most + 1];
        covered[0] = 1.0;
        Self { cells: m, probes, distinct, covered }
    }

    /// One item more: as many throws as there are probes.
    pub(super) fn insert(&mut self) {
        for _ in 0..self.probes {
            for d in (1..self.covered.len()).rev() {
                let hit = d as f64 / self.cells;
                self.covered[d] = hit * self.covered[d - 1] + (1.0 - hit) * self.covered[d];
            }
        }
    }

    /// The false-positive rate now.
    pub(super) fn fpr(&self) -> f64 {
        self.distinct.iter().zip(&self.covered).map(|(p, q)| p * q).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bose et al. as printed, by the recurrence on the number of occupied cells.
    fn by_occupied_cells(m: usize, n: usize, k: u32) -> f64 {
        let mut p = vec![0.0; m + 1];
        p[0] = 1.0;
        for _ in 0..n * k as usize {
            for i in (1..=m).rev() {
                p[i] = (p[i] * i as f64 + p[i - 1] * (m - i + 1) as f64) / m as f64;
            }
            p[0] = 0.0;
        }
        let passes = |i: usize| libm::pow(i as f64 / m as f64, f64::from(k));
        p.iter().enumerate().map(|(i, p)| p * passes(i)).sum()
    }

    #[test]
    fn agrees_with_the_recurrence_on_occupied_cells() {
        for (m, n, k) in [(1, 1, 1), (2, 1, 2), (3, 2, 5), (12, 3, 3), (64, 8, 5), (500, 60, 9)] {
            let mut occupancy = Occupancy::new(m as u64, k);
            (0..n).for_each(|_| occupancy.insert());
            let other = by_occupied_cells(m, n, k);
            assert!((occupancy.fpr() / other - 1.0).abs() < 1e-12, "{m} {n} {k}");
        }
    }

    #[test]
    fn no_items_pass_nobody_and_no_probes_pass_everybody() {
        assert_eq!(Occupancy::new(100, 3).fpr(), 0.0);
        assert_eq!(Occupancy::new(100, 0).fpr(), 1.0);
    }
}

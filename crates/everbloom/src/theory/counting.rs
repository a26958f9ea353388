//! How full the counters of a counting Bloom filter get (catalogue C1; S0 eq. 13–16, S1 §2.5).
//!
//! kn increments fall on m counters. S1 bounds the highest of them by the union bound, and
//! concludes that four bits are enough. Duplicate indices of one item count each time.

use super::gamma::ln_choose;
use super::tail::{binomial_at_least, binomial_pmf};
use core::f64::consts::{E, LN_2};

fn increments(n: u64, k: u32) -> u64 {
    n.saturating_mul(u64::from(k))
}

/// P(a counter is j), `C(nk, j) (1/m)^j (1 − 1/m)^{nk−j}` (S0 eq. 13), for m ≥ 1.
pub fn cell_pmf(m: u64, n: u64, k: u32, j: u64) -> f64 {
    binomial_pmf(increments(n, k), 1.0 / m as f64, j)
}

/// Bound on P(some counter is at least j), `m C(nk, j) / m^j` (S0 eq. 14).
///
/// A union bound: where it exceeds 1 it says nothing.
pub fn max_at_least_bound(m: u64, n: u64, k: u32, j: u64) -> f64 {
    let throws = increments(n, k);
    if j > throws {
        return 0.0;
    }
    let (m, j) = (m as f64, j as f64);
    libm::exp(ln_choose(throws as f64, j) + (1.0 - j) * libm::log(m))
}

/// The second, looser form of [`max_at_least_bound`], `m (enk / (jm))^j`, for j ≥ 1.
pub fn max_at_least_bound_loose(m: u64, n: u64, k: u32, j: u64) -> f64 {
    let (throws, m, j) = (increments(n, k) as f64, m as f64, j as f64);
    m * libm::pow(E * throws / (j * m), j)
}

/// [`max_at_least_bound_loose`] for any k up to (m/n) ln 2, `m (e ln 2 / j)^j` (S0 eq. 15),
/// for j ≥ 1.
///
/// At j = 16, where counters of four bits overflow: 1.37·10⁻¹⁵ m (S0 eq. 16).
pub fn max_at_least_bound_optimal(m: u64, j: u64) -> f64 {
    m as f64 * libm::pow(E * LN_2 / j as f64, j as f64)
}

/// Expected number of counters that stand at `max` or would be beyond it: `m · P(c ≥ max)`.
pub fn expected_saturated(m: u64, n: u64, k: u32, max: u64) -> f64 {
    m as f64 * binomial_at_least(increments(n, k), 1.0 / m as f64, max)
}

#[cfg(test)]
mod tests {
    use super::super::{assert_prints, tail};
    use super::*;

    #[test]
    fn c1_bound_at_the_best_k() {
        assert_prints(max_at_least_bound_optimal(1, 16), 1.3677e-15, 1e-19);
        assert_prints(max_at_least_bound_optimal(1, 8), 9.468e-6, 1e-9);
        assert_prints(max_at_least_bound_optimal(1, 4), 0.04923, 1e-5);
    }

    #[test]
    fn c1_true_tail_at_the_best_k() {
        assert_prints(tail::poisson_tail(LN_2, 16), 7.073e-17, 1e-20);
        assert_prints(tail::poisson_tail(LN_2, 8), 7.154e-7, 1e-10);
        assert_prints(tail::poisson_tail(LN_2, 4), 0.005561, 1e-6);
    }

    #[test]
    fn c1_single_counter_values_of_the_erratum() {
        assert_prints(tail::poisson_pmf(LN_2, 14), 3.389e-14, 1e-17);
        assert_prints(tail::poisson_pmf(LN_2, 15), 1.566e-15, 1e-18);
        assert_prints(2.0 * tail::poisson_pmf(LN_2, 16), 1.357e-16, 1e-19);
    }

    #[test]
    fn c1_counter_distribution() {
        let printed = [0.496568, 0.347632, 0.121666, 0.028383, 0.004965, 0.000695];
        for (j, p) in printed.into_iter().enumerate() {
            assert_prints(cell_pmf(10_000, 1000, 7, j as u64), p, 1e-6);
        }
    }

    #[test]
    fn c1_each_bound_is_above_the_one_before() {
        for j in [2, 4, 8, 16] {
            let truth = expected_saturated(10_000, 1000, 6, j);
            let first = max_at_least_bound(10_000, 1000, 6, j);
            let loose = max_at_least_bound_loose(10_000, 1000, 6, j);
            let optimal = max_at_least_bound_optimal(10_000, j);
            assert!(truth < first && first < loose && loose < optimal, "{j}");
        }
        // 10 · C(6, 2) / 10²
        assert!((max_at_least_bound(10, 2, 3, 2) - 1.5).abs() < 1e-14);
        assert_eq!(max_at_least_bound(10, 2, 3, 7), 0.0);
    }

    #[test]
    fn c1_expected_saturated_sums_the_distribution() {
        let above: f64 = (3..60).map(|j| cell_pmf(100, 20, 5, j)).sum();
        assert!((expected_saturated(100, 20, 5, 3) / (100.0 * above) - 1.0).abs() < 1e-13);
        assert_eq!(expected_saturated(1, 20, 5, 3), 1.0);
    }
}

//! The generalized filter as it runs: of finite size, and with queries that skip the set bits which the key's own
//! resets overwrite (catalogue R10). [`generalized`](super::generalized) has S2's own formulas, without that rule.

use super::generalized::{Hashes, Shape};
use super::mean_over;

/// The false-positive rate of `m` bits of which a share of `zeros` is zero, skip rule included.
///
/// Exact given the bits: all k0 resets must fall on zeros, p^k0; if those are d distinct cells, a set
/// passes on a one or on one of them, (1 − p + d/m)^k1. S2 eq. 9 is this without d; to first order d
/// adds (k0·k1/m)·p^k0·(1−p)^{k1−1}, the catalogue's term.
pub fn fpr_at(m: f64, zeros: f64, k0: u32, k1: u32) -> f64 {
    let free = zeros * m;
    // distinct[d]: probability that the resets, all on zeros, are d distinct cells.
    let mut distinct = vec![0.0; k0 as usize + 1];
    distinct[0] = 1.0;
    for draw in 1..=k0 as usize {
        for d in (1..=draw).rev() {
            let fresh = (free - (d - 1) as f64).max(0.0);
            distinct[d] = (distinct[d] * d as f64 + distinct[d - 1] * fresh) / free;
        }
        distinct[0] = 0.0;
    }
    if k0 > 0 && free <= 0.0 {
        return 0.0;
    }
    let set = |d: usize| libm::pow((1.0 - zeros + d as f64 / m).min(1.0), f64::from(k1));
    let sets: f64 = distinct.iter().enumerate().map(|(d, p)| p * set(d)).sum();
    libm::pow(zeros, f64::from(k0)) * sets
}

/// F_p of a filter of `m` bits with the skip rule: the largest value of p^k0·(1 − p + k0/m)^k1, which
/// is eq. 19 times (1 + k0/m)^{k0+k1}.
pub fn max_fpr(m: f64, k0: u32, k1: u32) -> f64 {
    let hashes = Hashes { k0: f64::from(k0), k1: f64::from(k1) };
    hashes.max_fpr() * libm::pow(1.0 + hashes.k0 / m, hashes.k0 + hashes.k1)
}

/// The false-negative rate averaged over `n` members: S2 eq. 12 over all positions.
pub fn mean_fnr(shape: &Shape, n: u64) -> f64 {
    mean_over(n, |later| shape.fnr(later))
}

/// Standard deviation of the share of ones after `n` keys, from filter to filter.
///
/// Var = (v(1−v) + (m−1)w)/m with v the mean share and w the covariance of two bits. One key takes
/// (v, w) to (r·v + q1, A·w + g(v)), where r and A are the chances that it leaves one and two given
/// bits alone and g is quadratic in v; all of g's coefficients are differences (1−2/m)^k − (1−1/m)^2k,
/// computed as such since (1−2/m)/(1−1/m)² = 1 − 1/(m−1)². The recurrence is summed in closed form.
pub fn fill_sd(shape: &Shape, initial_zeros: f64, n: f64) -> f64 {
    let Shape { m, k0, k1 } = *shape;
    let v = 1.0 - shape.zeros_after(initial_zeros, n);
    if m < 2.0 || n < 1.0 {
        return (v * (1.0 - v) / m).sqrt();
    }
    // (1 − 2/m)^k = (1 − 1/m)^2k·(1 + excess(k)).
    let excess = |k: f64| {
        if k == 0.0 { 0.0 } else { libm::expm1(k * libm::log1p(-1.0 / ((m - 1.0) * (m - 1.0)))) }
    };
    let missed = |k: f64| libm::exp(k * libm::log1p(-1.0 / m));
    let (t0, t1, e0, e1) = (missed(k0), missed(k1), excess(k0), excess(k1));
    let (r, e) = (missed(k0 + k1), excess(k0 + k1));
    let both = r * r * (1.0 + e);
    // g(v) = a·v² + 2b·v + c.
    let a = r * r * e;
    let b = t0 * t0 * (e0 * (t1 - t1 * t1) - (1.0 + e0) * t1 * t1 * e1);
    let c = t0 * t0 * (e0 * (1.0 - t1) * (1.0 - t1) + (1.0 + e0) * t1 * t1 * e1);
    // v after i keys is steady + start·r^i.
    let steady = shape.sets() / (shape.resets() + shape.sets());
    let start = 1.0 - initial_zeros - steady;
    let (both_n, r_n) = (libm::pow(both, n), libm::pow(r, n));
    let sum_1 = (1.0 - both_n) / (1.0 - both);
    let sum_r = (r_n - both_n) / (r - both);
    let sum_rr = libm::pow(r, 2.0 * (n - 1.0)) * libm::expm1(n * libm::log1p(e)) / e;
    let w = (a * steady * steady + 2.0 * b * steady + c) * sum_1
        + 2.0 * (a * steady + b) * start * sum_r
        + a * start * start * sum_rr;
    ((v * (1.0 - v) + (m - 1.0) * w).max(0.0) / m).sqrt()
}

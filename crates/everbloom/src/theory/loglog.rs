//! Counting by the largest of random ranks (§3).

/// α_d = (Γ(−1/d)·(1 − 2^{1/d})/ln 2)^{−d}, which makes α_d·2^{mean rank} unbiased for large counts; d ≥ 2.
pub fn alpha(d: f64) -> f64 {
    let base = libm::tgamma(-1.0 / d) * (1.0 - libm::exp2(1.0 / d)) / core::f64::consts::LN_2;
    libm::pow(base, -d)
}

/// P(the largest of `f` ranks is at most `i`), (1 − 2^{−i})^f.
fn at_most(i: u32, f: f64) -> f64 {
    libm::exp(f * libm::log1p(-libm::exp2(-f64::from(i))))
}

/// The mean of the largest of `f` ranks, Σ_i 1 − (1 − 2^{−i})^f.
pub fn mean_rank(f: f64) -> f64 {
    1.0 + (1..200).map(|i| 1.0 - at_most(i, f)).sum::<f64>()
}

/// The mean of the estimate over the true count `f`, with `d` ranks: 1.58 for a single copy at d = 64.
pub fn mean_ratio(f: f64, d: f64) -> f64 {
    let below = |i: u32| if i == 0 { 0.0 } else { at_most(i, f) };
    let moment: f64 =
        (1..200).map(|i| libm::exp2(f64::from(i) / d) * (below(i) - below(i - 1))).sum();
    alpha(d) * libm::pow(moment, d) / f
}

//! Filters that keep a value as an offset added to the places of a key (§5).

/// The largest offset that comes with its base in one unaligned read of a 64-bit word, plus one.
pub const SPAN: u64 = 57;

/// P(a non-member passes) in the membership form, as published: (1−p)^{k/2}·(1−p+p²/(w̄−1))^{k/2} with
/// p = e^{−kn/m}. A little high: see [`pair_from_zeros`].
pub fn membership_published(m: f64, n: f64, k: f64) -> f64 {
    let p = libm::exp(-k * n / m);
    let shifted = 1.0 - p + p * p / (SPAN - 1) as f64;
    libm::pow((1.0 - p) * shifted, k / 2.0)
}

/// P(both bits of a pair are set), from the share `p` of zeros: 1 − 2p + p^{2 − 1/(2(w̄−1))}.
///
/// A bit is missed by all throws with p = e^{−λ}. Half of the throws are bases, and one base of w̄−1 has the
/// pair's own offset, so that λ/(2(w̄−1)) of the throws hit both bits at once: neither is hit with
/// e^{−2λ + λ/(2(w̄−1))}.
pub fn pair_from_zeros(p: f64) -> f64 {
    let neither = libm::pow(p, 2.0 - 0.5 / (SPAN - 1) as f64);
    (1.0 - 2.0 * p + neither).clamp(0.0, 1.0)
}

/// P(one of `c` offsets passes), where each passes with `f`: 1 − (1 − f)^c.
pub fn any_of(f: f64, c: f64) -> f64 {
    -libm::expm1(c * libm::log1p(-f.min(1.0)))
}

/// The rate of one offset at which one of `c` passes with `p`.
pub fn each_of(p: f64, c: f64) -> f64 {
    -libm::expm1(libm::log1p(-p) / c)
}

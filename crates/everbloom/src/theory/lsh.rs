//! Locality-sensitive hashing by random lines (catalogue §35 and §36).

use core::f64::consts::{FRAC_1_SQRT_2, PI};

/// P(two vectors at distance `c` > 0 share a bucket of width `w`):
/// `1 − 2Φ(−w/c) − (2c/(√(2π)·w))·(1 − e^{−w²/2c²})`.
pub fn collision(w: f64, c: f64) -> f64 {
    let x = w / c;
    let tail = libm::erfc(x * FRAC_1_SQRT_2);
    1.0 - tail - 2.0 / ((2.0 * PI).sqrt() * x) * -libm::expm1(-x * x / 2.0)
}

/// P(some of `groups` groups of `k` functions each agree in all of them), at a collision rate of `p`.
pub fn and_or(p: f64, k: u32, groups: u32) -> f64 {
    -libm::expm1(f64::from(groups) * libm::log1p(-libm::pow(p, f64::from(k))))
}

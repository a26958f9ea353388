//! Factorials of large numbers without the cancellation that comes with `lgamma`.
//!
//! `ln Γ(10⁹)` is about 2·10¹⁰, so a difference of two such values has lost six digits before
//! anything is computed with it, and at 2⁶⁴ all of them. Differences of Stirling's formula,
//! taken term by term, lose nothing.

use core::f64::consts::PI;

/// Above this, five terms of Stirling's series are exact in double precision.
const STIRLING_FROM: f64 = 16.0;

/// What Stirling's formula lacks: `ln Γ(x+1) − ln( √(2πx) (x/e)^x )`, for x > 0.
pub(super) fn stirling_error(x: f64) -> f64 {
    if x < STIRLING_FROM {
        return libm::lgamma(x + 1.0) - (0.5 * libm::log(2.0 * PI * x) + x * libm::log(x) - x);
    }
    let y = 1.0 / (x * x);
    let series = 1.0 / 1680.0 - y / 1188.0;
    let series = 1.0 / 1260.0 - y * series;
    let series = 1.0 / 360.0 - y * series;
    (1.0 / 12.0 - y * series) / x
}

/// `ln( x (x−1) ⋯ (x−n+1) )` = `ln Γ(x+1) − ln Γ(x−n+1)`, for real 0 ≤ n ≤ x.
pub(super) fn ln_falling(x: f64, n: f64) -> f64 {
    let rest = x - n;
    if rest < STIRLING_FROM {
        // Here the two values are far apart (or both small), so nothing cancels.
        return libm::lgamma(x + 1.0) - libm::lgamma(rest + 1.0);
    }
    n * (libm::log(x) - 1.0) - (rest + 0.5) * libm::log1p(-n / x) + stirling_error(x)
        - stirling_error(rest)
}

/// `ln C(x, n)` for real 0 ≤ n ≤ x.
pub(super) fn ln_choose(x: f64, n: f64) -> f64 {
    ln_falling(x, n) - libm::lgamma(n + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_factorials_agree_with_their_products() {
        for (x, n) in [(20u64, 3u64), (50, 50), (1000, 400), (1 << 60, 1000)] {
            let product: f64 = (0..n).map(|i| libm::log((x - i) as f64)).sum();
            let closed = ln_falling(x as f64, n as f64);
            assert!((closed / product - 1.0).abs() < 1e-14, "{x} {n}");
        }
        assert_eq!(ln_falling(5.0, 0.0), 0.0);
        assert!((ln_choose(52.0, 5.0) - libm::log(2_598_960.0)).abs() < 1e-13);
    }

    #[test]
    fn stirling_error_is_continuous_where_the_method_changes() {
        let below = stirling_error(STIRLING_FROM.next_down());
        let above = stirling_error(STIRLING_FROM);
        assert!((below - above).abs() < 1e-13);
    }
}

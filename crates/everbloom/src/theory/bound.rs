//! The fewest bits any filter without false negatives can do with (catalogue F7, S1 §2.2).
//!
//! Such a filter answers "maybe" for its n items and for ε of the others, so each of its
//! states can stand for at most `C(n + ε(u−n), n)` sets; there are `C(u, n)` sets to tell apart.

use super::gamma::ln_falling;
use core::f64::consts::LN_2;

/// Least bits for `n` items at rate `fpr` in a large universe, `n log₂(1/ε)`.
///
/// Holds for n ≪ εu, 0 < ε ≤ 1; otherwise see [`lower_bound_in_universe`].
pub fn lower_bound(n: f64, fpr: f64) -> f64 {
    -n * libm::log2(fpr)
}

/// Least bits in a universe of `u` keys, `log₂( C(u,n) / C(n + ε(u−n), n) )`.
///
/// For 0 ≤ n ≤ u and 0 < ε ≤ 1. `n + ε(u−n)` is not rounded to a whole number: the binomials
/// are taken in their gamma form, and digits are kept up to u = 2⁶⁴ and beyond.
pub fn lower_bound_in_universe(u: f64, n: f64, fpr: f64) -> f64 {
    let accepted = n + fpr * (u - n);
    (ln_falling(u, n) - ln_falling(accepted, n)) / LN_2
}

/// Least rate at `bits_per_item` bits per item, `2^{−c}`: [`lower_bound`] the other way round.
pub fn least_fpr(bits_per_item: f64) -> f64 {
    libm::exp2(-bits_per_item)
}

/// How many times the [`lower_bound`] a filter of `bits` bits takes; 1.4427 for a Bloom filter.
///
/// `None` where there is nothing to compare with: no items, or a rate that is not between 0 and 1.
pub fn times_bound(bits: f64, n: f64, fpr: f64) -> Option<f64> {
    (n > 0.0 && fpr > 0.0 && fpr < 1.0).then(|| bits / lower_bound(n, fpr))
}

#[cfg(test)]
mod tests {
    use super::super::{assert_prints, bloom};
    use super::*;
    use core::f64::consts::LOG2_E;

    #[test]
    fn f7_bounds_for_a_thousand_items() {
        assert_prints(lower_bound(1000.0, 0.01), 6643.86, 0.01);
        assert_prints(lower_bound_in_universe(1e9, 1000.0, 0.01), 6643.78, 0.01);
        assert_prints(lower_bound_in_universe(1e6, 1000.0, 0.01), 6574.60, 0.01);
        assert_prints(bloom::bits(1000.0, 0.01), 9585.06, 0.01);
    }

    #[test]
    fn f7_a_bloom_filter_takes_1_44_times_the_bound() {
        let times = times_bound(bloom::bits(1000.0, 0.01), 1000.0, 0.01).unwrap();
        assert!((times / LOG2_E - 1.0).abs() < 1e-14);
        assert_eq!(least_fpr(8.0), 1.0 / 256.0);
        for (n, fpr) in [(0.0, 0.01), (9.0, 0.0), (9.0, 1.0), (9.0, f64::NAN), (9.0, -1.0)] {
            assert_eq!(times_bound(100.0, n, fpr), None);
        }
    }

    #[test]
    fn f7_universe_of_64_bit_keys_keeps_its_digits() {
        let bits = lower_bound_in_universe(18_446_744_073_709_551_616.0, 1000.0, 0.01);
        assert!((bits / lower_bound(1000.0, 0.01) - 1.0).abs() < 1e-12);
        assert_eq!(lower_bound_in_universe(1e9, 1000.0, 1.0), 0.0);
        assert_eq!(lower_bound_in_universe(1e9, 0.0, 0.01), 0.0);
    }
}

//! The standard and the partitioned Bloom filter (catalogue F1 and F2).
//!
//! Three rates for the same filter, each a little larger than the one before:
//!
//! | | takes | is |
//! |---|---|---|
//! | [`fpr_asymptotic`] | a fill of exactly 1 − e^{−kn/m} | the limit of large m, what planners use |
//! | [`fpr_classic`] | the mean fill | off by the fill's variance: 0.06 % at m = 10⁴, k = 7 |
//! | [`fpr_exact`] | the fill's whole distribution | the truth for independent probes |
//!
//! Ranges, unless a function says otherwise: m ≥ 1, n ≥ 0, k ≥ 1, 0 < p < 1.

use core::f64::consts::LN_2;

use super::occupancy::Occupancy;

/// Rate of a large filter, `(1 − e^{−kn/m})^k` (S1 §2.1, S2 eq. 2).
pub fn fpr_asymptotic(m: f64, n: f64, k: f64) -> f64 {
    libm::pow(-libm::expm1(-k * n / m), k)
}

/// Rate at the mean fill, `(1 − (1 − 1/m)^{kn})^k` (S3 eq. 1).
pub fn fpr_classic(m: f64, n: f64, k: f64) -> f64 {
    libm::pow(fill(m, k * n), k)
}

/// The rate itself, averaged over every possible fill (Bose et al., S3 eq. 3).
///
/// Right to nine digits. With many items in a large filter the variance of the fill says it
/// all: `f ≈ ρ^k (1 + k(k−1)/2 · σ²/ρ²)`. Below 10⁴ items, or where that correction exceeds
/// 10⁻⁵ (at k = 7 below a million bits), higher moments show, and the distribution is followed
/// throw by throw in k²n steps: milliseconds, unless k is in the hundreds.
pub fn fpr_exact(m: u64, n: u64, k: u32) -> f64 {
    let (mf, nf, kf) = (m.max(1) as f64, n as f64, f64::from(k));
    // One probe sees only the mean, and a single bit has no fill to vary.
    if m <= 1 || k <= 1 || n == 0 {
        return fpr_classic(mf, nf, kf);
    }
    let mean = fill(mf, kf * nf);
    let correction = kf * (kf - 1.0) / 2.0 * fill_variance(mf, kf * nf) / (mean * mean);
    if n >= 10_000 && correction < 1e-5 {
        return libm::pow(mean, kf) * (1.0 + correction);
    }
    let mut occupancy = Occupancy::new(m, k);
    (0..n).for_each(|_| occupancy.insert());
    occupancy.fpr()
}

/// Variance of the share of ones at any m ≥ 2, where [`fill_sd`] needs many throws:
/// `(q − q²)/m + (1 − 1/m)(q₂ − q²)` with `q₂ = (1 − 2/m)^throws` for two cells missed at once.
fn fill_variance(m: f64, throws: f64) -> f64 {
    let one = missed(m, throws);
    // q₂/q² = (1 − 1/(m−1)²)^throws, so the difference is taken before rounding.
    let both = one * one * libm::expm1(throws * libm::log1p(-1.0 / ((m - 1.0) * (m - 1.0))));
    (one * fill(m, throws) / m + (1.0 - 1.0 / m) * both).max(0.0)
}

/// Rate of k slices with one probe each, `(1 − (1 − 1/m')^n)^k` (S0 §II-C3).
///
/// Exact, not approximate: the slices are independent of each other, so the mean of the
/// product is the product of the means.
pub fn fpr_partitioned(slice_bits: f64, n: f64, k: f64) -> f64 {
    libm::pow(fill(slice_bits, n), k)
}

/// Rate of the best filter with `bits_per_item` bits, `0.6185^c` (S0 eq. 7).
pub fn fpr_best(bits_per_item: f64) -> f64 {
    libm::exp(-bits_per_item * LN_2 * LN_2)
}

/// Chance that `throws` independent throws all miss one given cell, `(1 − 1/m)^throws`.
fn missed(m: f64, throws: f64) -> f64 {
    libm::exp(ln_missed(m, throws))
}

fn ln_missed(m: f64, throws: f64) -> f64 {
    // In a single cell 0 · ln 0 comes up, and no throw at all misses it for certain.
    if throws == 0.0 { 0.0 } else { throws * libm::log1p(-1.0 / m) }
}

/// Expected share of ones after `throws` independent throws, `1 − (1 − 1/m)^throws`.
pub fn fill(m: f64, throws: f64) -> f64 {
    -libm::expm1(ln_missed(m, throws))
}

/// Standard deviation of the share of ones from filter to filter, for large m.
///
/// `σ² = (e^{−λ} − (1+λ) e^{−2λ}) / m` with `λ = throws/m` (catalogue §0).
pub fn fill_sd(m: f64, throws: f64) -> f64 {
    let lambda = throws / m;
    let variance = if lambda < 1e-3 {
        // The two terms agree to ever more digits: take e^λ − 1 − λ by its series.
        let series = 0.5 + lambda * (1.0 / 6.0 + lambda * (1.0 / 24.0 + lambda / 120.0));
        libm::exp(-2.0 * lambda) * lambda * lambda * series
    } else {
        libm::exp(-lambda) - (1.0 + lambda) * libm::exp(-2.0 * lambda)
    };
    (variance / m).sqrt()
}

/// Bits for `n` items at rate `p` with the best k, `−n ln p / (ln 2)²` (S0 eq. 9).
pub fn bits(n: f64, p: f64) -> f64 {
    -n * libm::log(p) / (LN_2 * LN_2)
}

/// [`bits`] as a size to allocate: rounded up, at least 1.
///
/// No finite size reaches a rate of zero: p ≤ 0 gives `u64::MAX`.
pub fn bits_for(n: u64, p: f64) -> u64 {
    (bits(n as f64, p.max(0.0)).ceil() as u64).max(1)
}

/// The real k with the least rate, `(m/n) ln 2` (S0 eq. 6).
pub fn optimal_k(m: f64, n: f64) -> f64 {
    m / n * LN_2
}

/// The whole k with the least [`fpr_asymptotic`]; of two equals the smaller; at least 1.
///
/// Not the rounded [`optimal_k`]: at m/n = 2.1 that rounds to 1, but 2 is better. A filter
/// for no items gets 1.
pub fn best_k(m: u64, n: u64) -> u32 {
    if n == 0 {
        return 1;
    }
    let (m, n) = (m as f64, n as f64);
    let low = optimal_k(m, n).floor().max(1.0);
    let high = optimal_k(m, n).ceil().max(1.0);
    let best = if fpr_asymptotic(m, n, high) < fpr_asymptotic(m, n, low) { high } else { low };
    best as u32
}

/// How many items keep the rate at `p` or below, `−(m/k) ln(1 − p^{1/k})`.
pub fn capacity(m: f64, k: f64, p: f64) -> f64 {
    -(m / k) * libm::log1p(-libm::pow(p, 1.0 / k))
}

/// The smallest slice in which `n` keys leave at most a share `fpr^{1/k}` of ones, so that k of them meet
/// `fpr`: m' = 1/(1 − (1 − p^{1/k})^{1/n}), the exact rate of F2 solved for m'.
///
/// For large n that is n/−ln(1 − p^{1/k}), the slice of the standard filter's formula, plus one half.
pub fn slice_for(n: f64, fpr: f64, k: u32) -> f64 {
    slice_filled(n, libm::pow(fpr, 1.0 / f64::from(k)))
}

/// The smallest slice in which `n` keys leave at most a share `fill` of ones: 1/(1 − (1 − fill)^{1/n}).
pub fn slice_filled(n: f64, fill: f64) -> f64 {
    (-1.0 / libm::expm1(libm::log1p(-fill) / n)).ceil().max(1.0)
}

/// How many distinct items are in a filter with this many zeros,
/// `ln(Z/m) / (k ln(1 − 1/m))` (S1 §2.4).
///
/// `None` without a zero, since any number of items looks like that, and for shapes that
/// cannot be (k = 0, more zeros than bits).
pub fn cardinality(zeros: u64, m: u64, k: u32) -> Option<f64> {
    if zeros == 0 || zeros > m || k == 0 {
        return None;
    }
    let m = m as f64;
    Some(libm::log(m / zeros as f64) / -ln_missed(m, f64::from(k)))
}

/// Standard deviation of [`cardinality`] around the true `n`, to first order in [`fill_sd`].
pub fn cardinality_sd(m: f64, n: f64, k: f64) -> f64 {
    m * fill_sd(m, k * n) / (k * missed(m, k * n))
}

/// How many items two filters of one shape share, from the zeros of both and of their AND
/// (S1 §2.4).
///
/// An estimate with noise: of disjoint sets it is as often below zero as above. `None` where
/// a filter has no zero left or the counts contradict each other.
pub fn intersection_size(
    zeros_a: u64,
    zeros_b: u64,
    zeros_and: u64,
    m: u64,
    k: u32,
) -> Option<f64> {
    let [a, b, and, m] = [zeros_a, zeros_b, zeros_and, m].map(|x| x as f64);
    let size = shared_items(a, b, and, m, f64::from(k));
    size.is_finite().then_some(size)
}

/// `(1 − 1/m)^{−k|A∩B|} ≈ m (Z₁ + Z₂ − Z₁₂) / (Z₁ Z₂)`, solved for `|A∩B|`.
fn shared_items(zeros_a: f64, zeros_b: f64, zeros_and: f64, m: f64, k: f64) -> f64 {
    let ratio = m * (zeros_a + zeros_b - zeros_and) / (zeros_a * zeros_b);
    libm::log(ratio) / -ln_missed(m, k)
}

/// Expected number of ones that the filters of two sets have in common, where the sets have
/// `a` and `b` items and share `both` of them (S1 §2.4).
pub fn inner_product(m: f64, k: f64, a: f64, b: f64, both: f64) -> f64 {
    m * (1.0 - missed(m, k * a) - missed(m, k * b) + missed(m, k * (a + b - both)))
}

/// Bound on the chance that the share of zeros is `delta` or more off its mean,
/// `2 e^{−2δ²m²/(nk)}` (S1 §2.1).
pub fn concentration(m: f64, n: f64, k: f64, delta: f64) -> f64 {
    (2.0 * libm::exp(-2.0 * delta * delta * m * m / (n * k))).min(1.0)
}

/// Chance that the AND of two filters *is* the filter of the intersection,
/// `(1 − 1/m)^{k²ab}` (S0, Theorem 2), where `a_only` and `b_only` items are in one set alone.
///
/// An approximation from below: it also counts collisions on bits that the shared items set
/// anyway, which [`intersection_equals_corrected`] does not.
pub fn intersection_equals(m: f64, k: f64, a_only: f64, b_only: f64) -> f64 {
    missed(m, k * k * a_only * b_only)
}

/// [`intersection_equals`] where the shared items already fill `shared_fill` of the bits,
/// `e^{−k²ab(1−ρ)/m}` (catalogue F1).
pub fn intersection_equals_corrected(
    m: f64,
    k: f64,
    a_only: f64,
    b_only: f64,
    shared_fill: f64,
) -> f64 {
    libm::exp(-k * k * a_only * b_only * (1.0 - shared_fill) / m)
}

#[cfg(test)]
mod tests {
    use super::super::assert_prints;
    use super::*;

    #[test]
    fn f1_rate_table() {
        // m, n, k, then asymptotic, classic and exact, each with its last printed digit.
        #[rustfmt::skip]
        let rows = [
            (2, 1, 2, (0.39958, 1e-5), (0.5625, 1e-12), (0.625, 1e-12)),
            (12, 3, 3, (0.146892, 1e-6), (0.160115, 1e-6), (0.171313, 1e-6)),
            (16, 4, 3, (0.146892, 1e-6), (0.156633, 1e-6), (0.164955, 1e-6)),
            (64, 8, 5, (0.0216792, 1e-7), (0.0223007, 1e-7), (0.0234161, 1e-7)),
            (100, 10, 7, (0.00819372, 1e-8), (0.00839481, 1e-8), (0.00893631, 1e-8)),
            (8000, 1000, 5, (0.0216792, 1e-7), (0.0216841, 1e-7), (0.0216928, 1e-7)),
            (8000, 1000, 6, (0.0215771, 1e-7), (0.0215826, 1e-7), (0.0215945, 1e-7)),
            (10000, 1000, 7, (0.00819372, 1e-8), (0.00819570, 1e-8), (0.00820096, 1e-8)),
        ];
        for (m, n, k, asymptotic, classic, exact) in rows {
            let (mf, nf, kf) = (m as f64, n as f64, f64::from(k));
            assert_prints(fpr_asymptotic(mf, nf, kf), asymptotic.0, asymptotic.1);
            assert_prints(fpr_classic(mf, nf, kf), classic.0, classic.1);
            assert_prints(fpr_exact(m, n, k), exact.0, exact.1);
        }
        let fraction = 127_286_883_571.0 / 743_008_370_688.0;
        assert!((fpr_exact(12, 3, 3) / fraction - 1.0).abs() < 1e-14);
    }

    #[test]
    fn f1_one_probe_makes_classic_exact() {
        let (classic, exact) = (fpr_classic(50.0, 20.0, 1.0), fpr_exact(50, 20, 1));
        assert!((classic / exact - 1.0).abs() < 1e-13);
    }

    #[test]
    fn f1_exact_by_variance_agrees_with_exact_by_throws() {
        for (m, n, k) in [
            (700_000, 70_000, 7),
            (60_000, 60_000, 2),
            (2_000_000, 3, 9),
            (200_000, 10_000, 9),
            (200_000_000, 10_000, 9),
            (999, 9999, 4),
        ] {
            let mut occupancy = Occupancy::new(m, k);
            (0..n).for_each(|_| occupancy.insert());
            assert!((fpr_exact(m, n, k) / occupancy.fpr() - 1.0).abs() < 1e-9, "{m} {n} {k}");
        }
    }

    #[test]
    fn f1_bits_and_probes_for_a_million() {
        assert_eq!(bits_for(1_000_000, 0.01), 9_585_059);
        assert_eq!(bits_for(1_000_000, 0.001), 14_377_588);
        assert_prints(optimal_k(9_585_059.0, 1e6), 6.644, 1e-3);
        assert_prints(optimal_k(14_377_588.0, 1e6), 9.966, 1e-3);
        assert_prints(optimal_k(bits(1.0, 1e-20), 1.0), 66.4, 0.1);
        assert_prints(bits(1.0, 1e-20), 95.85, 0.01);
    }

    #[test]
    fn f1_eight_bits_per_item_are_just_over_two_percent() {
        let rate = fpr_asymptotic(8.0, 1.0, 6.0);
        assert!(rate > 0.02 && rate < 0.022);
        assert_prints(fpr_best(1.0), 0.6185, 1e-4);
    }

    #[test]
    fn f1_best_k_compares_rates_and_does_not_round() {
        assert_eq!(optimal_k(2.1, 1.0).round(), 1.0);
        assert_eq!(best_k(2100, 1000), 2);
        assert_eq!(best_k(10_000, 1000), 7);
        assert_eq!(best_k(8000, 1000), 6);
        assert_eq!(best_k(1, 1000), 1);
        assert_eq!(best_k(1000, 0), 1);
    }

    #[test]
    fn f1_the_rate_is_flat_at_the_optimum_and_steep_away_from_it() {
        for (k, rate) in [
            (2.0, 0.03286),
            (3.0, 0.01741),
            (4.0, 0.01181),
            (6.0, 0.00844),
            (7.0, 0.00819),
            (8.0, 0.00846),
        ] {
            assert_prints(fpr_asymptotic(10.0, 1.0, k), rate, 1e-5);
        }
    }

    #[test]
    fn f1_capacity_inverts_the_rate() {
        let n = capacity(10_000.0, 7.0, 0.01);
        assert!((fpr_asymptotic(10_000.0, n, 7.0) / 0.01 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn f1_ones_tell_k_apart() {
        for (k, ones) in [(6.0, 4512.0), (7.0, 5034.0), (8.0, 5507.0)] {
            assert_prints(10_000.0 * fill(10_000.0, k * 1000.0), ones, 1.0);
        }
        assert_prints(4.0 * 10_000.0 * fill_sd(10_000.0, 7000.0), 111.0, 1.0);
        // Filter-to-filter spread of the rate, k σ/ρ: 3.9 % of it.
        let spread = 7.0 * fill_sd(10_000.0, 7000.0) / fill(10_000.0, 7000.0);
        assert_prints(spread, 0.039, 1e-3);
    }

    #[test]
    fn f1_zero_count_and_cardinality() {
        assert_prints(10_000.0 * missed(10_000.0, 7000.0), 4965.68, 0.01);
        assert_prints(10_000.0 * fill_sd(10_000.0, 7000.0), 27.8, 0.1);
        assert_prints(cardinality_sd(10_000.0, 1000.0, 7.0), 8.0, 0.1);
        assert_prints(cardinality(5000, 10_000, 7).unwrap(), 990.16, 0.01);
        assert_eq!(cardinality(10_000, 10_000, 7), Some(0.0));
        assert_eq!(cardinality(0, 10_000, 7), None);
        assert_eq!(cardinality(11, 10, 7), None);
        assert_eq!(cardinality(5, 10, 0), None);
    }

    #[test]
    fn f1_fill_sd_is_smooth_where_its_form_changes() {
        let (below, above) = (fill_sd(1.0, 1e-3f64.next_down()), fill_sd(1.0, 1e-3));
        assert!((below / above - 1.0).abs() < 1e-9);
    }

    #[test]
    fn f1_intersection_size() {
        let (m, k) = (10_000.0, 4.0);
        assert_prints(inner_product(m, k, 1000.0, 800.0, 300.0), 1523.51, 0.01);
        let (za, zb) = (m * missed(m, k * 1000.0), m * missed(m, k * 800.0));
        let zab = m - inner_product(m, k, 1000.0, 800.0, 300.0);
        assert_prints(za, 6703.07, 0.01);
        assert_prints(zb, 7261.37, 0.01);
        assert_prints(zab, 8476.49, 0.01);
        assert_prints(shared_items(za, zb, zab, m, k), 300.0, 0.1);
        let rounded = intersection_size(6703, 7261, 8476, 10_000, 4).unwrap();
        assert!((rounded - 300.0).abs() < 0.5);
        assert_eq!(intersection_size(0, 7261, 7261, 10_000, 4), None);
        assert_eq!(intersection_size(10, 10, 30, 10_000, 4), None);
    }

    #[test]
    fn f1_theorem_2() {
        assert_prints(intersection_equals(10_000.0, 4.0, 10.0, 10.0), 0.8521, 1e-4);
        let shared = fill(10_000.0, 4.0 * 1000.0);
        let corrected = intersection_equals_corrected(10_000.0, 4.0, 10.0, 10.0, shared);
        assert_prints(corrected, 0.898, 1e-3);
    }

    #[test]
    fn f1_concentration() {
        assert!(
            (concentration(10_000.0, 1000.0, 7.0, 0.02) - 2.0 * libm::exp(-80.0 / 7.0)).abs()
                < 1e-15
        );
        assert_eq!(concentration(10_000.0, 1000.0, 7.0, 0.0), 1.0);
    }

    #[test]
    fn f1_halving() {
        assert_prints(fpr_asymptotic(16_000.0, 1000.0, 5.0), 0.0013925, 1e-7);
        assert_prints(fpr_asymptotic(8_000.0, 1000.0, 5.0), 0.0216792, 1e-7);
    }

    #[test]
    fn f2_partitioned_rates() {
        assert_prints(fpr_partitioned(1600.0, 1000.0, 5.0), 0.0217036, 1e-7);
        assert_prints(fpr_classic(8000.0, 1000.0, 5.0), 0.0216841, 1e-7);
        assert_prints(fpr_partitioned(1428.0, 1000.0, 7.0), 0.0082235, 1e-7);
        assert_prints(fpr_classic(10_000.0, 1000.0, 7.0), 0.0081957, 1e-7);
        assert_prints(fpr_partitioned(10_000.0 / 7.0, 1000.0, 7.0), 0.0082076, 1e-7);
        assert_prints(fpr_partitioned(10.0, 10.0, 7.0), 0.0497242, 1e-7);
        assert_prints(fpr_classic(70.0, 10.0, 7.0), 0.0415228, 1e-7);
    }

    #[test]
    fn the_edges_answer() {
        assert_eq!(fpr_exact(0, 5, 3), 1.0);
        assert_eq!(fpr_exact(10, 0, 3), 0.0);
        assert_eq!(fill(1.0, 0.0), 0.0);
        assert_eq!(fill(1.0, 3.0), 1.0);
        assert_eq!(bits_for(1000, 1.0), 1);
        assert_eq!(bits_for(1000, 0.0), u64::MAX);
        assert_eq!(bits_for(1000, -1.0), u64::MAX);
        assert_eq!(bits_for(0, 0.01), 1);
    }
}

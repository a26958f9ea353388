//! What probes on the ring cost at low rates: a floor that no number of bits gets below.
//!
//! A key's indices on the ring derive from two values, so two keys whose values lie close together share many
//! of their k cells, or all. Let a and b be the differences of the two values in units of a cell (2⁶⁴/m). The
//! i-th indices agree with probability (1 − |a + i·b|)⁺, independently of the other keys. With a share ρ of ones, a
//! non-member that shares j cells with some key passes with ρ^{k−j} instead of ρ^k. Over n keys that adds
//!
//! ```text
//!   n/m² · F(k, ρ),   F = ρ^k · ∬ (∏ᵢ (1 + (1 − |a + i·b|)⁺ · (1/ρ − 1)) − 1) da db
//! ```
//!
//! Differences near other fractions of the ring let every second or third index agree; they add less than a
//! thousandth of that. At n = 2,000 and a rate of 10⁻⁹ the floor doubles the rate, at 10⁻¹² it is 250 times that.

/// F(k, ρ): what pairs of keys add to the rate, in units of n/m².
pub fn shared(k: u32, fill: f64) -> f64 {
    const STEPS: u32 = 40;
    if k == 0 || fill <= 0.0 {
        return 0.0;
    }
    let (gain, last) = (1.0 / fill - 1.0, f64::from(k - 1));
    let mut sum = 0.0;
    for i in 0..STEPS {
        // Most of it lies at small b: b = 2t².
        let t = (f64::from(i) + 0.5) / f64::from(STEPS);
        let (b, width) = (2.0 * t * t, 4.0 * t / f64::from(STEPS));
        let (low, high) = (-1.0 - last * b, 1.0);
        let step = (high - low) / f64::from(2 * STEPS);
        for j in 0..2 * STEPS {
            let a = low + (f64::from(j) + 0.5) * step;
            sum += (agreeing(a, b, k, gain) - 1.0) * step * width;
        }
    }
    // b below zero is the same from the other end.
    2.0 * sum * libm::pow(fill, f64::from(k))
}

/// ∏ᵢ (1 + (1 − |a + i·b|)⁺·gain), over the few i that count.
fn agreeing(a: f64, b: f64, k: u32, gain: f64) -> f64 {
    let first = libm::ceil((-1.0 - a) / b).max(0.0);
    let last = libm::floor((1.0 - a) / b).min(f64::from(k - 1));
    let (mut product, mut i) = (1.0, first);
    while i <= last {
        product *= 1.0 + (1.0 - (a + i * b).abs()).max(0.0) * gain;
        i += 1.0;
    }
    product
}

/// The floor under the rate of `n` keys in `m` cells with a share `fill` of ones.
pub fn floor(m: f64, n: f64, k: u32, fill: f64) -> f64 {
    (n / (m * m) * shared(k, fill)).min(1.0)
}

/// The fewest cells at which the floor stays below a hundredth of the rate 2^{−k} of a filter that is half full.
///
/// By F(k, ½) ≤ 60/k^{2.5}, which holds with room to spare; below k = 19 it asks for fewer cells than small ranges
/// need anyway.
pub fn least_cells(k: u32) -> f64 {
    let k = f64::from(k.max(1));
    100.0 * core::f64::consts::LN_2 * 60.0 * libm::exp2(k) / libm::pow(k, 3.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closed_form_bounds_the_integral() {
        for k in 1..=64 {
            assert!(shared(k, 0.5) <= 60.0 / libm::pow(f64::from(k), 2.5) + 2.5, "{k}");
        }
        for k in 5..=64 {
            assert!(shared(k, 0.5) <= 60.0 / libm::pow(f64::from(k), 2.5), "{k}");
        }
    }

    #[test]
    fn the_floor_is_what_was_measured_by_others() {
        // Rates of standard filters, as multiples of the planned ones, measured by importance sampling.
        for (n, p, times) in [(2e3, 1e-9, 2.2), (2e3, 1e-12, 241.0), (1e4, 1e-12, 52.0)] {
            let k = libm::round(-libm::log2(p)) as u32;
            let m = -n * libm::log(p) / (core::f64::consts::LN_2 * core::f64::consts::LN_2);
            let found = 1.0 + floor(m, n, k, 0.5) / p;
            assert!((found / times - 1.0).abs() < 0.12, "{n} {p}: {found}, measured {times}");
        }
    }
}

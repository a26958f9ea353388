//! Poisson and binomial probabilities, exact to nearly full precision far into the tails.
//!
//! Point probabilities follow Loader's saddle-point form ("Fast and accurate computation of
//! binomial probabilities", 2000): factorials of n = 10⁷ by `lgamma` would cost eight digits.
//! Tails are sums outward from their largest term, about ten standard deviations long, and
//! the side away from the mean is always the one summed, so small tails keep their digits.
//! Time is in proportion to that deviation: microseconds for 10⁷ trials.

use super::gamma::stirling_error;
use super::search::least_integer;
use core::f64::consts::PI;

/// `x ln(x/mean) + mean − x` without cancellation near x = mean (Loader's `bd0`).
fn deviance(x: f64, mean: f64) -> f64 {
    let gap = x - mean;
    if gap.abs() >= 0.1 * (x + mean) {
        return x * libm::log(x / mean) - gap;
    }
    let v = gap / (x + mean);
    let mut sum = gap * v;
    let mut power = 2.0 * x * v;
    // Each term is at most a hundredth of the one before.
    for odd in (3..40).step_by(2) {
        power *= v * v;
        sum += power / f64::from(odd);
    }
    sum
}

/// P(X = i) for X Poisson with mean `lambda` ≥ 0.
pub fn poisson_pmf(lambda: f64, i: u64) -> f64 {
    if i == 0 {
        return libm::exp(-lambda);
    }
    if lambda == 0.0 {
        return 0.0;
    }
    let x = i as f64;
    libm::exp(-stirling_error(x) - deviance(x, lambda)) / (2.0 * PI * x).sqrt()
}

/// P(X ≥ `at_least`) for X Poisson with mean `lambda` ≥ 0.
pub fn poisson_tail(lambda: f64, at_least: u64) -> f64 {
    let step_up = |i: u64| lambda / (i + 1) as f64;
    let step_down = |i: u64| i as f64 / lambda;
    if at_least as f64 > lambda {
        sum_outward(poisson_pmf(lambda, at_least), at_least..u64::MAX, step_up)
    } else if at_least == 0 {
        1.0
    } else {
        let last = at_least - 1;
        1.0 - sum_outward(poisson_pmf(lambda, last), (1..=last).rev(), step_down)
    }
}

/// Sums a run of falling terms: `first`, then each times `ratio(i)` for `i` of `along`.
fn sum_outward(first: f64, along: impl Iterator<Item = u64>, ratio: impl Fn(u64) -> f64) -> f64 {
    let (mut term, mut sum) = (first, first);
    for i in along {
        let ratio = ratio(i);
        term *= ratio;
        sum += term;
        // Ratios only fall, so what is left is less than the geometric series of this one.
        // Asked the negative way, so that NaN ends it too.
        let more = term > (1.0 - ratio) * sum * 1e-17;
        if !more {
            break;
        }
    }
    sum
}

/// P(X = i) for X the number of successes in `n` trials of probability `p`.
pub fn binomial_pmf(n: u64, p: f64, i: u64) -> f64 {
    if i > n {
        return 0.0;
    }
    let (nf, x) = (n as f64, i as f64);
    if i == 0 {
        return if n == 0 { 1.0 } else { libm::exp(nf * libm::log1p(-p)) };
    }
    if i == n {
        return libm::pow(p, nf);
    }
    if p <= 0.0 || p >= 1.0 {
        return 0.0;
    }
    let rest = (n - i) as f64;
    let stirling = stirling_error(nf) - stirling_error(x) - stirling_error(rest);
    let deviances = deviance(x, nf * p) + deviance(rest, nf * (1.0 - p));
    libm::exp(stirling - deviances) * (nf / (2.0 * PI * x * rest)).sqrt()
}

/// P(X ≥ i) for X binomial(n, p).
pub fn binomial_at_least(n: u64, p: f64, i: u64) -> f64 {
    if i as f64 > n as f64 * p { upper_tail(n, p, i) } else { 1.0 - lower_tail(n, p, i) }
}

/// P(X < i) for X binomial(n, p).
pub fn binomial_below(n: u64, p: f64, i: u64) -> f64 {
    if i as f64 > n as f64 * p { 1.0 - upper_tail(n, p, i) } else { lower_tail(n, p, i) }
}

/// P(X ≥ i) for i above the mean.
fn upper_tail(n: u64, p: f64, i: u64) -> f64 {
    let odds = p / (1.0 - p);
    sum_outward(binomial_pmf(n, p, i), i..n, |j| (n - j) as f64 / (j + 1) as f64 * odds)
}

/// P(X < i) for i up to the mean.
fn lower_tail(n: u64, p: f64, i: u64) -> f64 {
    if i == 0 {
        return 0.0;
    }
    let odds = (1.0 - p) / p;
    sum_outward(binomial_pmf(n, p, i - 1), (1..i).rev(), |j| j as f64 / (n - j + 1) as f64 * odds)
}

/// The mean of f(X), X binomial(n, p), for an f between 0 and 1: what a rate is on average over the
/// loads that a random share of n items makes.
///
/// Summed outward from the likeliest X until what is left would not change the sum even if f were 1
/// there. Of wide distributions a few hundred points to the standard deviation are enough.
pub fn binomial_mean(n: u64, p: f64, f: impl Fn(u64) -> f64) -> f64 {
    if p >= 1.0 || n == 0 {
        return f(n);
    }
    let mean = n as f64 * p;
    let step = ((mean * (1.0 - p)).sqrt() / 256.0).max(1.0) as u64;
    let (mut weights, mut sum) = (0.0, 0.0);
    let mut counts = |i: u64| {
        let weight = binomial_pmf(n, p, i);
        weights += weight;
        sum += weight * f(i);
        weight > sum * 1e-15
    };
    let mode = mean as u64;
    let mut up = Some(mode);
    while let Some(i) = up.filter(|&i| i <= n && counts(i)) {
        up = i.checked_add(step);
    }
    let mut down = mode.checked_sub(step);
    while let Some(i) = down.filter(|&i| counts(i)) {
        down = i.checked_sub(step);
    }
    sum / weights
}

/// Whole numbers that X binomial(n, p) stays within but for a chance of `alpha` in all.
///
/// The narrowest `(lo, hi)` with P(X < lo) ≤ α/2 and P(X > hi) ≤ α/2, for 0 < α ≤ 1: exact,
/// where a normal approximation in the far tails is off by whole standard deviations.
pub fn binomial_bounds(n: u64, p: f64, alpha: f64) -> (u64, u64) {
    let tail = alpha.clamp(0.0, 1.0) / 2.0;
    // The first number too high to be lo; P(X < 0) = 0 is never too much.
    let too_high = least_integer(1, n.saturating_add(1), |lo| binomial_below(n, p, lo) > tail);
    let hi = least_integer(0, n, |hi| binomial_at_least(n, p, hi + 1) <= tail);
    (too_high - 1, hi)
}

/// P(at least `i` successes) in independent trials of *different* probabilities `ps`.
///
/// By the recurrence over trials, in len·i steps; all terms positive, so small tails keep
/// their digits.
pub fn poisson_binomial_at_least(ps: &[f64], i: usize) -> f64 {
    if i > ps.len() {
        return 0.0;
    }
    // successes[j]: probability of j so far; the last entry stands for "i or more".
    let mut successes = vec![0.0; i + 1];
    successes[0] = 1.0;
    for &p in ps {
        if i > 0 {
            successes[i] += successes[i - 1] * p;
        }
        for j in (1..i).rev() {
            successes[j] = successes[j] * (1.0 - p) + successes[j - 1] * p;
        }
        if i > 0 {
            successes[0] *= 1.0 - p;
        }
    }
    successes[i]
}

#[cfg(test)]
mod tests {
    use super::super::assert_prints;
    use super::*;
    use statrs::distribution::{Binomial, Discrete, DiscreteCDF, Poisson};

    #[track_caller]
    fn assert_close(ours: f64, theirs: f64, relative: f64) {
        // The absolute part is for theirs, which lose tails below 1e-290.
        let slack = relative * theirs.abs() + 1e-290;
        assert!((ours - theirs).abs() <= slack, "{ours:e} against {theirs:e}");
    }

    #[test]
    fn poisson_agrees_with_statrs() {
        for lambda in [0.01, 0.693, 5.0, 64.0, 700.0] {
            let other = Poisson::new(lambda).unwrap();
            for i in [0u64, 1, 2, 5, 16, 60, 70, 90, 650, 800] {
                assert_close(poisson_pmf(lambda, i), other.pmf(i), 1e-10);
                if i > 0 {
                    assert_close(poisson_tail(lambda, i), other.sf(i - 1), 1e-9);
                }
            }
        }
    }

    #[test]
    fn binomial_agrees_with_statrs() {
        for (n, p) in [(1u64, 0.3), (10, 0.5), (1000, 0.01), (100_000, 0.2), (1_000_000, 0.01)] {
            let other = Binomial::new(p, n).unwrap();
            let mean = n as f64 * p;
            let sd = (mean * (1.0 - p)).sqrt();
            for offset in [-6.0, -3.0, -0.5, 0.0, 0.5, 3.0, 6.0] {
                let i = (mean + offset * sd).round().clamp(0.0, n as f64) as u64;
                assert_close(binomial_pmf(n, p, i), other.pmf(i), 1e-8);
                if i > 0 {
                    assert_close(binomial_below(n, p, i), other.cdf(i - 1), 1e-8);
                    assert_close(binomial_at_least(n, p, i), other.sf(i - 1), 1e-8);
                }
            }
        }
    }

    #[test]
    fn means_over_a_binomial_are_those_in_closed_form() {
        // E zˣ = (1 − p + pz)ⁿ, narrow, wide and in the far tail.
        for (n, p, z) in [(0u64, 0.3, 0.5), (1, 0.3, 0.5), (1000, 0.25, 0.99), (50_000, 1e-6, 0.1)]
        {
            let exact = libm::exp(n as f64 * libm::log1p(p * (z - 1.0)));
            assert_close(binomial_mean(n, p, |i| libm::pow(z, i as f64)), exact, 1e-12);
        }
        let (n, p, z) = (1u64 << 40, 0.25f64, 1.0 - 1e-12);
        let exact = libm::exp(n as f64 * libm::log1p(p * (z - 1.0)));
        assert_close(binomial_mean(n, p, |i| libm::pow(z, i as f64)), exact, 1e-12);
        assert_eq!(binomial_mean(7, 1.0, |i| i as f64 / 7.0), 1.0);
        assert_eq!(binomial_mean(7, 0.0, |i| 1.0 - i as f64 / 7.0), 1.0);
        // Only the rarest X count.
        let rare = binomial_mean(1000, 1e-6, |i| f64::from(u8::from(i >= 3)));
        assert_close(rare, binomial_at_least(1000, 1e-6, 3), 1e-12);
    }

    #[test]
    fn tails_keep_their_digits_where_a_complement_has_none() {
        // P(X ≥ 16) at ln 2 by its own series, and P(all 40 of 40) in closed form.
        assert_prints(poisson_tail(core::f64::consts::LN_2, 16), 7.073e-17, 1e-20);
        assert_close(binomial_at_least(40, 0.1, 40), 1e-40, 1e-13);
        assert_close(binomial_below(40, 0.9, 1), 1e-40, 1e-12);
    }

    #[test]
    fn the_edges_answer() {
        assert_eq!(poisson_pmf(0.0, 0), 1.0);
        assert_eq!(poisson_tail(0.0, 1), 0.0);
        assert_eq!(poisson_tail(5e11, 3), 1.0);
        assert_eq!(binomial_pmf(0, 0.5, 0), 1.0);
        assert_eq!(binomial_pmf(5, 0.5, 6), 0.0);
        for p in [0.0, 1.0] {
            let sure = if p == 0.0 { 0 } else { 7 };
            for i in 0..=8 {
                assert_eq!(binomial_pmf(7, p, i), f64::from(u8::from(i == sure)));
                assert_eq!(binomial_at_least(7, p, i), f64::from(u8::from(i <= sure)));
                assert_eq!(binomial_below(7, p, i), f64::from(u8::from(i > sure)));
            }
            assert_eq!(binomial_bounds(7, p, 1e-9), (sure, sure));
        }
        assert_eq!(binomial_bounds(0, 0.5, 1e-9), (0, 0));
        assert_eq!(binomial_bounds(u64::MAX, 0.0, 1e-9), (0, 0));
    }

    #[test]
    fn bounds_are_the_narrowest_allowed() {
        assert_eq!(binomial_bounds(1_000_000, 0.01, 1e-9), (9398, 10_614));
        for (n, p, alpha) in [(10_000_000u64, 0.01, 1e-9), (1000, 0.3, 0.05), (50, 0.5, 1e-3)] {
            let (lo, hi) = binomial_bounds(n, p, alpha);
            assert!(binomial_below(n, p, lo) <= alpha / 2.0);
            assert!(binomial_below(n, p, lo + 1) > alpha / 2.0);
            assert!(binomial_at_least(n, p, hi + 1) <= alpha / 2.0);
            assert!(binomial_at_least(n, p, hi) > alpha / 2.0);
        }
        let (lo, hi) = binomial_bounds(9, 0.5, 1.0);
        assert!(lo <= hi);
    }

    #[test]
    fn unequal_trials_reduce_to_the_binomial() {
        for i in 0..=12 {
            let ours = poisson_binomial_at_least(&[0.2; 11], i);
            assert_close(ours, binomial_at_least(11, 0.2, i as u64), 1e-13);
        }
        assert_close(poisson_binomial_at_least(&[0.5, 0.1, 0.25], 3), 0.0125, 1e-14);
        assert_close(poisson_binomial_at_least(&[0.5, 0.1], 1), 0.55, 1e-14);
        assert_eq!(poisson_binomial_at_least(&[], 0), 1.0);
    }
}

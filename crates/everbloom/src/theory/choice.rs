//! Filters that choose: of several ways to set the cells of a key, the one that sets the fewest.
//!
//! The catalogue (R11, R12) has no closed form for the fill of such filters, only simulations. In a
//! large filter there is one all the same, up to an integral: a step that finds a share z of zeros
//! and chooses among d independent ways of t throws each adds the least of d binomials(t, z), so the
//! fill ρ follows dρ/dx = g(1 − ρ), where x counts steps per cell and g is the mean of that least.
//! The equation does not depend on x itself, so it is solved by a quadrature, ∫ dρ/g = x, and so is
//! the variance: the deviation v·m from the mean obeys dv/dx = 2·(dg/dρ)·v + s² (s² the variance of
//! the least), which v = g²·∫ s²/g² dx solves. For d = 1 both give the standard filter's fill and its
//! spread; for d > 1 they give the catalogue's simulations.

use super::tail::binomial_pmf;

/// Mean and variance of the fewest successes in `d` independent rounds of `trials` trials with a
/// chance of `z` each: Σ P(X ≥ j)^d, and the same with 2j − 1 for the square.
pub fn fewest(trials: u64, z: f64, d: u64) -> (f64, f64) {
    let n = trials as f64;
    if z >= 1.0 || z <= 0.0 {
        return (if z >= 1.0 { n } else { 0.0 }, 0.0);
    }
    // Beyond nine standard deviations nothing happens, whatever d.
    let (mean, reach) = (n * z, 9.0 * (n * z * (1.0 - z)).sqrt() + 20.0);
    let low = (mean - reach).max(0.0).floor() as u64;
    let high = trials.min((mean + reach).ceil() as u64);
    let mut pmf = binomial_pmf(trials, z, high);
    let (mut at_least, mut sum, mut square) = (0.0, low as f64, low as f64 * low as f64);
    for j in (low + 1..=high).rev() {
        at_least += pmf;
        let all = power(f64::min(at_least, 1.0), d);
        sum += all;
        square += (2 * j - 1) as f64 * all;
        pmf *= j as f64 / (trials - j + 1) as f64 * (1.0 - z) / z;
    }
    (sum, (square - sum * sum).max(0.0))
}

/// x^d by squaring: the same bits everywhere, and ten times as fast as `pow`.
fn power(mut x: f64, mut d: u64) -> f64 {
    let mut out = 1.0;
    while d > 0 {
        if d & 1 == 1 {
            out *= x;
        }
        x *= x;
        d >>= 1;
    }
    out
}

/// Mean and standard deviation of the largest of `n` standard normal variables.
pub fn largest_normal(n: u64) -> (f64, f64) {
    // The integrals of x·dF and x²·dF for F = Φⁿ. Trapezoids converge fast on smooth bells.
    const STEP: f64 = 1.0 / 32.0;
    let n = n.max(1) as f64;
    let (mut mass, mut mean, mut square) = (0.0, 0.0, 0.0);
    for i in -320..=320 {
        let x = f64::from(i) * STEP;
        let below = 0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2);
        let density = libm::exp(-0.5 * x * x) * libm::pow(below, n - 1.0);
        mass += density;
        mean += x * density;
        square += x * x * density;
    }
    let mean = mean / mass;
    (mean, (square / mass - mean * mean).max(0.0).sqrt())
}

/// Steps per cell that fill a large filter to `fill`, where a step that finds a share z of zeros adds
/// `added(z).0` ones on average.
pub fn steps_for(fill: f64, added: impl Fn(f64) -> (f64, f64)) -> f64 {
    let end = (-libm::log1p(-fill.min(MOST))).sqrt();
    let panels = (end / PANEL).ceil().max(1.0);
    let width = end / panels;
    (0..panels as u64).map(|i| Panel::over(i as f64 * width, width, &added).steps(1.0)).sum()
}

/// Fill of a filter of `m` cells after `steps` steps per cell, with its standard deviation from filter
/// to filter, where a step that finds a share z of zeros adds `added(z)` ones: mean and variance.
pub fn fill_after(steps: f64, m: f64, added: impl Fn(f64) -> (f64, f64)) -> (f64, f64) {
    if steps <= 0.0 {
        return (0.0, 0.0);
    }
    let (mut start, mut left, mut noise) = (0.0, steps, 0.0);
    loop {
        let panel = Panel::over(start, PANEL, &added);
        let full = libm::exp(-start * start) < 1.0 - MOST;
        if left > panel.steps(1.0) && !full {
            left -= panel.steps(1.0);
            noise += panel.noise();
            start += PANEL;
            continue;
        }
        let part = if full { 0.0 } else { panel.part_for(left) };
        // The parabola finds the end; near an empty filter the noise is a cubic, so on the way there
        // it is sampled again.
        let last = Panel::over(start, part * PANEL, &added);
        let end = start + part * PANEL;
        let zeros = libm::exp(-end * end);
        return (1.0 - zeros, added(zeros).0 * ((noise + last.noise()) / m).sqrt());
    }
}

/// No fill beyond this is told apart from a full filter.
const MOST: f64 = 1.0 - 1e-12;

/// Width of a panel of Simpson's rule in y, where the share of zeros is e^{−y²}. In y the standard
/// filter's integrand is a straight line, and the square root that choices among many have at an empty
/// filter is one too.
const PANEL: f64 = 1.0 / 8.0;

/// Both integrands on one panel, each as the parabola through its ends and its middle.
struct Panel {
    width: f64,
    steps: [f64; 3],
    noise: [f64; 3],
}

impl Panel {
    fn over(start: f64, width: f64, added: &impl Fn(f64) -> (f64, f64)) -> Self {
        let mut panel = Self { width, steps: [0.0; 3], noise: [0.0; 3] };
        for i in 0..3 {
            let y = start + width * i as f64 / 2.0;
            let zeros = libm::exp(-y * y);
            let (mean, variance) = added(zeros);
            panel.steps[i] = 2.0 * y * zeros / mean;
            panel.noise[i] = panel.steps[i] * variance / (mean * mean);
        }
        panel
    }

    /// Steps that lead through the first `part` of the panel.
    fn steps(&self, part: f64) -> f64 {
        self.integral(self.steps, part)
    }

    fn noise(&self) -> f64 {
        self.integral(self.noise, 1.0)
    }

    fn integral(&self, [a, b, c]: [f64; 3], part: f64) -> f64 {
        let (slope, bend) = (4.0 * b - 3.0 * a - c, 2.0 * a - 4.0 * b + 2.0 * c);
        self.width * part * (a + part * (slope / 2.0 + part * bend / 3.0))
    }

    /// The part of the panel that `steps` steps lead through.
    fn part_for(&self, steps: f64) -> f64 {
        super::search::least_real(0.0, 1.0, |part| self.steps(part) >= steps)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bloom;
    use super::*;

    #[test]
    fn the_fewest_of_one_round_is_the_binomial() {
        for (t, z) in [(1, 0.3), (7, 0.5), (70, 0.01), (700, 0.9), (100_000, 0.4), (12, 1e-12)] {
            let (mean, variance) = fewest(t, z, 1);
            let exact = t as f64 * z;
            assert!((mean / exact - 1.0).abs() < 1e-9, "{t} {z}: {mean}");
            assert!((variance / (exact * (1.0 - z)) - 1.0).abs() < 1e-6, "{t} {z}: {variance}");
        }
        // Two throws of two coins: P(≥1)² + P(≥2)² = 9/16 + 1/16, and the square 9/16 + 3/16.
        let (mean, variance) = fewest(2, 0.5, 2);
        assert!((mean - 0.625).abs() < 1e-15 && (variance - (0.75 - 0.625 * 0.625)).abs() < 1e-15);
        assert_eq!((fewest(5, 1.0, 3), fewest(5, 0.0, 3)), ((5.0, 0.0), (0.0, 0.0)));
    }

    #[test]
    fn the_largest_of_normals_is_the_tabulated_one() {
        // Tables of normal order statistics: means 0, 1/√π, 1.53875, 2.50759; of two, variance 1 − 1/π.
        for (n, mean) in [(1, 0.0), (2, 0.564_189_58), (10, 1.538_75), (100, 2.507_59)] {
            assert!((largest_normal(n).0 - mean).abs() < 1e-5, "{n}: {}", largest_normal(n).0);
        }
        assert!((largest_normal(1).1 - 1.0).abs() < 1e-9);
        let two = (1.0 - core::f64::consts::FRAC_1_PI).sqrt();
        assert!((largest_normal(2).1 - two).abs() < 1e-9);
    }

    #[test]
    fn without_a_choice_it_is_the_standard_filter() {
        for (m, n, k) in [(1e5, 1e4, 7u64), (1e6, 1e4, 3), (1e6, 1e6, 4), (1e7, 10.0, 5)] {
            let (fill, sd) = fill_after(n / m, m, |z| fewest(k, z, 1));
            let throws = n * k as f64;
            assert!((fill / bloom::fill(m, throws) - 1.0).abs() < 1e-5, "{m} {n} {k}: {fill}");
            assert!((sd / bloom::fill_sd(m, throws) - 1.0).abs() < 1e-3, "{m} {n} {k}: {sd}");
            let back = steps_for(fill, |z| fewest(k, z, 1));
            assert!((back * m / n - 1.0).abs() < 1e-6, "{m} {n} {k}: {back}");
        }
    }

    #[test]
    fn full_and_empty_filters_end_the_integral() {
        assert_eq!(fill_after(0.0, 1e3, |z| fewest(5, z, 2)), (0.0, 0.0));
        let (fill, sd) = fill_after(1e30, 1e3, |z| fewest(5, z, 2));
        assert!(fill > 0.999_999 && fill <= 1.0 && sd.is_finite());
        assert!(steps_for(1.0, |z| fewest(5, z, 2)).is_finite());
    }
}

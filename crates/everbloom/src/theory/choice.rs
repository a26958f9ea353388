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

use core::mem;

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

/// The fullest of n buckets after n items without a choice, to leading order: `ln n / ln ln n`, for n ≥ 3.
pub fn max_load(n: f64) -> f64 {
    libm::log(n) / libm::log(libm::log(n))
}

/// [`max_load`] with d ≥ 2 choices, up to a constant: `ln ln n / ln d` (Azar et al. 1994).
pub fn max_load_of_choices(n: f64, d: u32) -> f64 {
    libm::log(libm::log(n)) / libm::log(f64::from(d))
}

/// [`max_load`] with d ≥ 2 tables and ties to the left, up to a constant: `ln ln n / (d ln φ_d)`
/// (Vöcking 1999).
pub fn max_load_to_the_left(n: f64, d: u32) -> f64 {
    libm::log(libm::log(n)) / (f64::from(d) * libm::log(fibonacci_growth(d)))
}

/// φ_d, the growth of the d-ary Fibonacci numbers: the root above 1 of `x^d = 1 + x + … + x^{d−1}`,
/// that is of `x + x^{−d} = 2`. φ_2 is the golden ratio; φ_d tends to 2.
pub fn fibonacci_growth(d: u32) -> f64 {
    if d < 2 {
        return 1.0;
    }
    // x + x^{−d} falls from 2 at 1 to its least at d^{1/(d+1)} and rises from there.
    let lowest = libm::pow(f64::from(d), 1.0 / (f64::from(d) + 1.0));
    super::search::least_real(lowest, 2.0, |x| x + libm::pow(x, -f64::from(d)) >= 2.0)
}

/// Share of buckets that hold at least i items, for i = 1, 2, …, `tails`, when `load` items a bucket
/// were each placed in the least loaded of d buckets.
///
/// The limit of many buckets: `ds_i/dt = s_{i−1}^d − s_i^d` (Mitzenmacher 1996), t items a bucket. With
/// d = 1 it is Poisson's.
pub fn load_tails(load: f64, d: u32, tails: usize) -> Vec<f64> {
    flow(vec![0.0; tails], load, |s, slope| {
        let mut above = 1.0;
        for (s, slope) in s.iter().zip(slope) {
            let here = power(*s, d.into());
            *slope = above - here;
            above = here;
        }
    })
}

/// [`load_tails`] of d tables with ties to the left, averaged over the tables.
///
/// A bucket of table j rises to i if it is the candidate there and holds i − 1, those to its left hold
/// at least i and those to its right at least i − 1 (Mitzenmacher and Vöcking 1999):
/// `dx_{i,j}/dt = d·(x_{i−1,j} − x_{i,j})·∏_{l<j} x_{i,l}·∏_{l>j} x_{i−1,l}`.
pub fn load_tails_to_the_left(load: f64, d: u32, tails: usize) -> Vec<f64> {
    loads_to_the_left([load], d, tails).flatten().collect()
}

/// [`load_tails_to_the_left`] at several loads, in ascending order: each goes on from the one before.
pub fn loads_to_the_left(
    loads: impl IntoIterator<Item = f64>,
    d: u32,
    tails: usize,
) -> impl Iterator<Item = Vec<f64>> {
    let tables = d.max(1) as usize;
    let full = vec![1.0; tables];
    let slope = move |x: &[f64], slope: &mut [f64]| {
        for i in 0..tails {
            let here = &x[i * tables..][..tables];
            let below = if i == 0 { &full[..] } else { &x[(i - 1) * tables..][..tables] };
            for j in 0..tables {
                let left: f64 = here[..j].iter().product();
                let right: f64 = below[j + 1..].iter().product();
                slope[i * tables + j] = tables as f64 * (below[j] - here[j]) * left * right;
            }
        }
    };
    // Row i − 1 holds x_{i,1} … x_{i,d}.
    let (mut shares, mut before) = (vec![0.0; tails * tables], 0.0);
    loads.into_iter().map(move |load| {
        shares = flow(mem::take(&mut shares), load - mem::replace(&mut before, load), &slope);
        shares.chunks(tables).map(|row| row.iter().sum::<f64>() / tables as f64).collect()
    })
}

/// Follows `dx/dt = slope(x)` for `time`, by the classic fourth-order rule.
fn flow(mut x: Vec<f64>, time: f64, slope: impl Fn(&[f64], &mut [f64])) -> Vec<f64> {
    let steps = (time * 64.0).ceil().clamp(1.0, 1e5);
    let h = time / steps;
    let mut k = [const { Vec::new() }; 4];
    k.iter_mut().for_each(|k| k.resize(x.len(), 0.0));
    let mut at = x.clone();
    for _ in 0..steps as u64 {
        for stage in 0..4 {
            let part = [0.0, 0.5, 0.5, 1.0][stage] * h;
            for i in 0..x.len() {
                at[i] = x[i] + if stage == 0 { 0.0 } else { part * k[stage - 1][i] };
            }
            slope(&at, &mut k[stage]);
        }
        for i in 0..x.len() {
            x[i] += h / 6.0 * (k[0][i] + 2.0 * k[1][i] + 2.0 * k[2][i] + k[3][i]);
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::super::{bloom, tail};
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
    fn without_a_choice_loads_are_poisson() {
        for tails in [load_tails(1.5, 1, 8), load_tails_to_the_left(1.5, 1, 8)] {
            for (share, i) in tails.iter().zip(1..) {
                assert!((share / tail::poisson_tail(1.5, i) - 1.0).abs() < 1e-5, "{i}: {share}");
            }
        }
    }

    #[test]
    fn with_choices_loads_are_those_tabulated() {
        // Every item is in some bucket: the tails add up to the load.
        for d in 1..6 {
            for load in [0.3, 1.0, 6.0] {
                for tails in [load_tails(load, d, 40), load_tails_to_the_left(load, d, 40)] {
                    assert!((tails.iter().sum::<f64>() / load - 1.0).abs() < 1e-7, "{d} {load}");
                    assert!(tails.is_sorted_by(|a, b| a >= b));
                }
            }
        }
        // On the way there they are what they are at once, up to the length of steps.
        for tails in loads_to_the_left([0.25, 0.3, 6.0], 4, 12).zip([0.25, 0.3, 6.0]) {
            let at_once = load_tails_to_the_left(tails.1, 4, 12);
            assert!(tails.0.iter().zip(at_once).all(|(a, b)| (a - b).abs() < 1e-7), "{tails:?}");
        }
        // Mitzenmacher's table for two choices at load 1, where the first tail is tanh 1.
        let two = load_tails(1.0, 2, 4);
        assert!((two[0] - libm::tanh(1.0)).abs() < 1e-7, "{two:?}");
        assert!((two[1] - 0.2295).abs() < 1e-4 && (two[2] - 0.0089).abs() < 1e-4, "{two:?}");
    }

    #[test]
    fn fibonacci_numbers_grow_by_their_ratios() {
        for (d, ratio) in [(2, 1.618_034), (3, 1.839_287), (4, 1.927_562)] {
            assert!((fibonacci_growth(d) - ratio).abs() < 1e-6, "{d}: {}", fibonacci_growth(d));
        }
        assert_eq!(fibonacci_growth(1), 1.0);
    }

    #[test]
    fn full_and_empty_filters_end_the_integral() {
        assert_eq!(fill_after(0.0, 1e3, |z| fewest(5, z, 2)), (0.0, 0.0));
        let (fill, sd) = fill_after(1e30, 1e3, |z| fewest(5, z, 2));
        assert!(fill > 0.999_999 && fill <= 1.0 && sd.is_finite());
        assert!(steps_for(1.0, |z| fewest(5, z, 2)).is_finite());
    }
}

//! How high the counters of counting filters get: S0's Figure 5 and S1 §2.5 ask the same.

use everbloom::counting::Counting;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::tail;

/// Hashes and counters per key: the best k for 16 is 11.09, and the bounds hold up to the best k.
pub const K: u32 = 11;
pub const PER_KEY: u64 = 16;

/// Increments that all counters of a full filter get.
pub fn throws(m: u64) -> u64 {
    m / PER_KEY * u64::from(K)
}

/// An empty filter of m four-bit counters.
pub fn empty(m: u64, seed: u64) -> Counting {
    Counting::with_shape(m, K, 4, Hasher::seeded(seed)).expect("a shape that can be")
}

/// A filter of m counters with as many random keys as it is made for.
pub fn filled(m: u64, seed: u64) -> Counting {
    let mut filter = empty(m, seed);
    let mut keys = Generator::new(seed);
    for _ in 0..m / PER_KEY {
        filter.insert(&keys.next_u64());
    }
    filter
}

/// P(a given counter is at least j), the exact tail of S0 eq. 13.
pub fn counter_reaches(m: u64, j: u64) -> f64 {
    tail::binomial_at_least(throws(m), 1.0 / m as f64, j)
}

/// P(some counter is at least j).
///
/// As if counters were independent, which is exact in the tail. Where it is no tail and there are few
/// counters, they are too different for that: a throw that hits one misses the others. There the
/// distribution is computed exactly ([`exact`]).
pub fn some_reaches(m: u64, j: u64) -> f64 {
    let one = counter_reaches(m, j);
    let independent = -(m as f64 * (-one).ln_1p()).exp_m1();
    if m <= 1 << 12 && independent > 1e-4 { exact(m, j) } else { independent }
}

/// P(some counter is at least j) as one minus P(all are below j), where counters are Poisson variables
/// on the condition that their sum is the number of throws: the coefficient of x^throws in the m-th
/// power of their generating function, cut off at j.
fn exact(m: u64, j: u64) -> f64 {
    let throws = throws(m);
    let load = throws as f64 / m as f64;
    let most = throws as usize;
    let mut base: Vec<f64> = (0..j).map(|i| tail::poisson_pmf(load, i)).collect();
    let mut power = vec![1.0];
    let mut exponent = m;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = product(&power, &base, most);
        }
        base = product(&base, &base, most);
        exponent >>= 1;
    }
    let below = power.get(most).copied().unwrap_or(0.0);
    1.0 - below / tail::poisson_pmf(throws as f64, throws)
}

/// The product of two polynomials, without the powers above `most`.
fn product(a: &[f64], b: &[f64], most: usize) -> Vec<f64> {
    let mut out = vec![0.0; (a.len() + b.len() - 1).min(most + 1)];
    for (i, x) in a.iter().enumerate() {
        for (sum, y) in out.iter_mut().skip(i).zip(b) {
            *sum += x * y;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_counter_of_few() {
        // Of 16 counters hit 11 times, none twice: 16·15·…·6/16^11.
        let none_twice: f64 = (0..11).map(|i| (16.0 - f64::from(i)) / 16.0).product();
        assert!((exact(16, 2) + none_twice - 1.0).abs() < 1e-12);
        assert!(exact(16, 12).abs() < 1e-12, "11 throws do not reach 12");
        assert!((some_reaches(1024, 5) - 0.524_233_6).abs() < 1e-6);
    }

    #[test]
    fn tails_agree() {
        for j in 7..10 {
            let (product, truth) = (1024.0 * counter_reaches(1024, j), exact(1024, j));
            assert!((product / truth - 1.0).abs() < 0.01, "{j}: {product} {truth}");
        }
    }
}

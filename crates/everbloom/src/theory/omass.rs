//! Words that are cut into sub-blocks, with one bit of a key in each sub-block of one word (catalogue I7).

use super::tail::binomial_mean;

/// P(a non-member passes for one set) after `keys` keys went into `t` consecutive sets each:
/// Σ Bin(N_x, i; 1/l)·(1 − (1 − t/b)^i)^k. Exact.
pub fn rate(words: u64, b: u64, k: u32, keys: u64, t: u64) -> f64 {
    let miss = 1.0 - t.min(b) as f64 / b as f64;
    let pass = |i: u64| libm::pow(1.0 - libm::pow(miss, i as f64), f64::from(k));
    binomial_mean(keys, 1.0 / words as f64, pass)
}

/// Share of ones after `n` keys in one set each went into `words` words of `k` sub-blocks of `b` bits, and its spread
/// from filter to filter.
///
/// Cells fill in k sub-blocks of a word at once: two cells of different sub-blocks are both missed with
/// 1 − (1 − (1 − 1/b)²)/l, all others with 1 − 2/(lb); the variance is that of the sum over all pairs.
pub fn fill(words: u64, b: u64, k: u32, n: u64) -> (f64, f64) {
    let (n, l, b) = (n as f64, words as f64, b as f64);
    let m = l * b * f64::from(k);
    let missed = |hit: f64| if n == 0.0 { 1.0 } else { libm::exp(n * libm::log1p(-hit)) };
    let one = missed(1.0 / (l * b));
    let beside = missed((1.0 - (1.0 - 1.0 / b).powi(2)) / l);
    let odds = 1.0 / (l * b - 1.0);
    let less = if n == 0.0 { 0.0 } else { libm::expm1(n * libm::log1p(-odds * odds)) };
    let apart = one * one * (1.0 + less);
    let pairs = f64::from(k - 1) * b;
    let variance = (one + pairs * beside - (1.0 + pairs) * apart) / m + one * one * less;
    (1.0 - one, variance.max(0.0).sqrt())
}

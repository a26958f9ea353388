//! Prime numbers near a given one (catalogue I1).

/// Whether `n` is prime: Miller and Rabin's test, which with the first twelve primes as bases is right for
/// every 64-bit number (Sorenson and Webster 2015).
pub fn is_prime(n: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    if n < 2 {
        return false;
    }
    for p in BASES {
        if n.is_multiple_of(p) {
            return n == p;
        }
    }
    let (odd, twos) = ((n - 1) >> (n - 1).trailing_zeros(), (n - 1).trailing_zeros());
    BASES.into_iter().all(|base| {
        let mut x = power(base, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        (1..twos).any(|_| {
            x = times(x, x, n);
            x == n - 1
        })
    })
}

fn times(a: u64, b: u64, m: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(m)) as u64
}

/// base^exponent modulo m.
pub(crate) fn power(mut base: u64, mut exponent: u64, m: u64) -> u64 {
    let mut out = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            out = times(out, base, m);
        }
        base = times(base, base, m);
        exponent >>= 1;
    }
    out
}

/// The `k` primes nearest m/k, in ascending order; of two at the same distance the smaller.
///
/// m/k is not rounded: distances are compared as |kp − m|. For m up to 2⁶³, below which primes never
/// run out.
pub fn nearest_primes(m: u64, k: u32) -> Vec<u64> {
    let (times_k, m) = (|p: u64| u128::from(p) * u128::from(k), u128::from(m));
    let middle = (m / u128::from(k.max(1))) as u64;
    let below = |from: u64| (2..=from).rev().find(|&p| is_prime(p));
    let above = |from: u64| (from..=u64::MAX).find(|&p| is_prime(p));
    let (mut low, mut high) = (below(middle), above(middle + 1));
    let mut primes = Vec::with_capacity(k as usize);
    for _ in 0..k {
        let down = match (low, high) {
            (Some(l), Some(h)) => m - times_k(l) <= times_k(h) - m,
            (low, _) => low.is_some(),
        };
        if down {
            primes.extend(low);
            low = low.and_then(|p| below(p - 1));
        } else {
            primes.extend(high);
            high = high.and_then(|p| above(p + 1));
        }
    }
    primes.sort_unstable();
    primes
}

/// Whether no two of the numbers share a factor.
pub fn pairwise_coprime(numbers: &[u64]) -> bool {
    let alone = |(i, a): (usize, &u64)| numbers[..i].iter().all(|b| gcd(*a, *b) == 1);
    numbers.iter().enumerate().all(alone)
}

/// The largest number that divides both.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_those_of_the_sieve() {
        let mut composite = vec![false; 100_000];
        for n in 2..100_000usize {
            assert_eq!(is_prime(n as u64), !composite[n], "{n}");
            (n * n..100_000).step_by(n).for_each(|multiple| composite[multiple] = true);
        }
        // Strong pseudoprimes to the bases 2, to 2..7, to 2..23, and the largest 64-bit prime.
        for n in [2047, 3_215_031_751, 3_825_123_056_546_413_051, u64::MAX] {
            assert!(!is_prime(n), "{n}");
        }
        assert!(is_prime(u64::MAX - 58) && is_prime((1 << 61) - 1));
    }

    #[test]
    fn nearest_primes_lie_on_both_sides() {
        assert_eq!(nearest_primes(10_000, 5), [1993, 1997, 1999, 2003, 2011]);
        // Around 30/2 = 15 both 13 and 17 are 2 away; around 18/3 = 6 it is 5, 7, then 3 before 11.
        assert_eq!(nearest_primes(15, 1), [13]);
        assert_eq!(nearest_primes(30, 2), [13, 17]);
        assert_eq!(nearest_primes(18, 3), [3, 5, 7]);
        assert_eq!(nearest_primes(9, 2), [3, 5], "around 4.5, not 4");
        assert_eq!(nearest_primes(1, 4), [2, 3, 5, 7]);
        assert!(pairwise_coprime(&nearest_primes(1 << 40, 64)));
        assert!(!pairwise_coprime(&[3, 4, 9]));
    }
}

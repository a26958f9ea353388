//! Ascending numbers as the number of their combination, among all of so many numbers of so many bits.
//!
//! a₀ ≤ a₁ ≤ … become b_i = a_i + i, which differ, and C(b₀, 1) + C(b₁, 2) + C(b₂, 3) + … tells all such sets apart: the
//! largest b is the last whose own term is not above the sum, and what is left tells the others.

use smallvec::SmallVec;

/// The most entries of a bucket.
pub(super) const ROOM: u64 = 8;

pub(super) type Entries = SmallVec<[u64; ROOM as usize]>;

/// Combinations of `z` numbers of `bits` bits, each as often as it likes: C(2^bits + z − 1, z).
pub(super) fn count(bits: u32, z: u64) -> u128 {
    choose((1 << bits) + u128::from(z).saturating_sub(1), z)
}

/// C(b, k) for up to eight of numbers whose combinations have at most 124 bits.
fn choose(b: u128, k: u64) -> u128 {
    // Every product is the next binomial times j, which is 8 at most.
    let step = |c: u128, j: u128| c.saturating_mul(b.saturating_sub(j - 1)) / j;
    (1..=u128::from(k)).fold(1, step)
}

/// The number of the combination of ascending numbers.
pub(super) fn rank(entries: &[u64]) -> u128 {
    let term = |(i, entry): (u64, &u64)| choose(u128::from(*entry) + u128::from(i), i + 1);
    (0..).zip(entries).map(term).sum()
}

/// The `z` numbers of `bits` bits, ascending, of a combination.
pub(super) fn entries(mut rank: u128, z: u64, bits: u32) -> Entries {
    let mut entries: Entries = (0..z).map(|_| 0).collect();
    for i in (0..z).rev() {
        let b = last(rank, i + 1, (1 << bits) + u128::from(i));
        rank = rank.saturating_sub(choose(b, i + 1));
        entries[i as usize] = (b - u128::from(i)) as u64;
    }
    entries
}

/// The last b below `end` with C(b, k) ≤ rank: about the k-th root of k!·rank, and (k − 1)/2 more.
fn last(rank: u128, k: u64, end: u128) -> u128 {
    let product: u64 = (1..=k).product();
    let root = libm::pow(rank as f64 * product as f64, 1.0 / k as f64) + (k - 1) as f64 / 2.0;
    let off = 5.0 + root * libm::exp2(-46.0);
    // The last b is not below `low`, and below `high`.
    let mut low = ((root - off).max(0.0) as u128).clamp(u128::from(k) - 1, end - 1);
    let mut high = ((root + off) as u128).clamp(low + 1, end);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if choose(middle, k) <= rank { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn all_combinations_of_short_numbers() {
        for (bits, z) in [(1, 1), (1, 8), (2, 5), (3, 4), (4, 3)] {
            let all = count(bits, z);
            let mut before: Option<Entries> = None;
            for number in 0..all {
                let entries = entries(number, z, bits);
                assert!(entries.is_sorted() && entries.iter().all(|entry| *entry < 1 << bits));
                assert_eq!(rank(&entries), number);
                assert_ne!(before.replace(entries.clone()), Some(entries));
            }
        }
        assert_eq!((count(4, 4), count(10, 0)), (3876, 1));
    }

    #[test]
    fn long_numbers() {
        let mut random = Generator::new(1);
        for (bits, z) in
            [(60, 1), (30, 2), (16, 4), (11, 6), (9, 8), (64, 1), (62, 2), (42, 3), (17, 8)]
        {
            for round in 0..2000 {
                let mut numbers: Vec<u64> =
                    (0..z).map(|_| random.next_u64() >> (64 - bits)).collect();
                if round < 100 {
                    // The largest there are, and the smallest.
                    numbers.fill(if round < 50 { u64::MAX >> (64 - bits) } else { round - 50 });
                }
                numbers.sort_unstable();
                let number = rank(&numbers);
                assert!(number < count(bits, z));
                assert_eq!(entries(number, z, bits)[..], numbers[..], "{bits} bits");
            }
        }
    }
}

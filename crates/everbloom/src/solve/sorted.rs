//! Hashes in order: where a linear system starts, so that its cells are met one after another.
//!
//! Hashes are spread evenly, so their leading bits say nearly where they belong. A round of counting and
//! moving, into no more places than the caches have pages and lines for, brings neighbors together
//! ([`grouped_hashes`]); another one leaves groups of a few hashes that are sorted by insertion
//! ([`sorted_hashes`]): no comparison sort of all of them is as fast.

use std::ops::Range;

use crate::memory::Words;
use crate::threads::Cores;

/// Most places that one round moves to, 2^11.
const MOST_BITS: u32 = 11;
/// Hashes that are left to a group, 2^3 on average.
const GROUP_BITS: u32 = 3;

/// Groups that a system is built from, 2^9: then what one of them touches fits the L2 cache.
const NEAR_BITS: u32 = 9;

/// The bits in which hashes of a group differ.
pub(crate) const IN_GROUP: u64 = u64::MAX >> NEAR_BITS;

/// What `hash` makes of each of the `items`, in ascending order of the leading bits, and within a group in
/// the order of the items.
pub(crate) fn grouped_hashes(
    items: &[u64],
    hash: impl Fn(u64) -> u64 + Sync,
    cores: Cores,
) -> Words {
    let group = |items: &[u64]| {
        let (mut grouped, mut ends) = (Words::zeroed(items.len()), Vec::new());
        scatter(items, grouped.make_mut(), &hash, 0, NEAR_BITS, &mut ends);
        (grouped, ends)
    };
    if cores == Cores::One {
        return group(items).0;
    }
    let (one, other) = items.split_at(items.len() / 2);
    let (one, other) = cores.both(|| group(one), || group(other));
    // Each group is that of the one half and then that of the other.
    let mut grouped = Words::zeroed(items.len());
    let middle = one.1.len() / 2;
    let (low, high) = grouped.make_mut().split_at_mut(one.1[middle - 1] + other.1[middle - 1]);
    cores.both(
        || join(low, [&one, &other], 0..middle),
        || join(high, [&one, &other], middle..1 << NEAR_BITS),
    );
    grouped
}

/// Puts the groups of a range together, from parts of which each has its own ends.
fn join(mut to: &mut [u64], parts: [&(Words, Vec<usize>); 2], groups: Range<usize>) {
    for group in groups {
        for (hashes, ends) in parts {
            let start = group.checked_sub(1).map_or(0, |before| ends[before]);
            let (now, later) = to.split_at_mut(ends[group] - start);
            now.copy_from_slice(&hashes[start..ends[group]]);
            to = later;
        }
    }
}

/// What `hash` makes of each of the `items`, in ascending order and each once.
pub fn sorted_hashes(items: &[u64], hash: impl Fn(u64) -> u64) -> Vec<u64> {
    let bits = (usize::BITS - items.len().leading_zeros()).saturating_sub(GROUP_BITS);
    let first = bits.min(MOST_BITS);
    let second = (bits - first).min(MOST_BITS);
    let (mut ends, mut inner) = (Vec::new(), Vec::new());
    let mut sorted = vec![0; items.len()];
    scatter(items, &mut sorted, hash, 0, first, &mut ends);
    let mut moved = Vec::new();
    let (mut kept, mut start) = (0, 0);
    for end in ends {
        moved.clear();
        moved.extend_from_slice(&sorted[start..end]);
        scatter(&moved, &mut sorted[start..end], |hash| hash, first, second, &mut inner);
        let mut from = start;
        for to in inner.iter().map(|to| start + to) {
            sorted[from..to].sort_unstable();
            // What is kept never overtakes what is read.
            for i in from..to {
                let hash = sorted[i];
                if kept == 0 || sorted[kept - 1] != hash {
                    sorted[kept] = hash;
                    kept += 1;
                }
            }
            from = to;
        }
        start = end;
    }
    sorted.truncate(kept);
    sorted
}

/// Moves the hashes of `items` to `to`, ordered by the `bits` bits after the first `after`, and tells where
/// the groups end.
fn scatter(
    items: &[u64],
    to: &mut [u64],
    hash: impl Fn(u64) -> u64,
    after: u32,
    bits: u32,
    ends: &mut Vec<usize>,
) {
    // Two shifts, since no bits at all would be a shift by 64.
    let place = |hash: u64| (hash << after >> 1 >> (63 - bits)) as usize;
    ends.clear();
    ends.resize(1 << bits, 0);
    for item in items {
        ends[place(hash(*item))] += 1;
    }
    let mut sum = 0;
    for end in ends.iter_mut() {
        (*end, sum) = (sum, sum + *end);
    }
    for item in items {
        let hash = hash(*item);
        let end = &mut ends[place(hash)];
        to[*end] = hash;
        *end += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn hashes_come_in_order_and_once() {
        for n in [0, 1, 2, 7, 8, 15, 16, 100, 5000, 16_384, 40_000, 300_000] {
            for different in [1, 3, n / 2 + 1, n + 1] {
                let items: Vec<u64> = (0..n).map(|i| i % different).collect();
                let mut expected: Vec<u64> = items.iter().map(|i| mix64(*i)).collect();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(sorted_hashes(&items, mix64), expected, "{n} {different}");
                let mut grouped = grouped_hashes(&items, mix64, Cores::One);
                assert_eq!(grouped_hashes(&items, mix64, Cores::Two), grouped, "{n} {different}");
                assert!(grouped.is_sorted_by_key(|hash| hash & !IN_GROUP));
                let mut all: Vec<u64> = items.iter().map(|i| mix64(*i)).collect();
                all.sort_unstable();
                grouped.make_mut().sort_unstable();
                assert_eq!(grouped[..], all, "{n} {different}");
            }
        }
        // Hashes that are not spread at all.
        assert_eq!(sorted_hashes(&[3, 1, 2, 1, 3], |h| h), [1, 2, 3]);
        let low: Vec<u64> = (0..20_000).rev().collect();
        assert!(sorted_hashes(&low, |h| h).into_iter().eq(0..20_000));
    }
}

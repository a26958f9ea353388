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
    let mut grouped = Words::zeroed(items.len());
    group(items, grouped.make_mut(), hash, NEAR_BITS, cores);
    grouped
}

/// Moves the hashes of `items` to `to`, ordered by their leading `bits` bits, and tells where the groups end.
fn group(
    items: &[u64],
    to: &mut [u64],
    hash: impl Fn(u64) -> u64 + Sync,
    bits: u32,
    cores: Cores,
) -> Vec<usize> {
    let mut ends = Vec::new();
    if cores == Cores::ONE || items.is_empty() {
        scatter(items, to, hash, 0, bits, &mut ends);
        return ends;
    }
    // Every core groups a share; then a group is that of the first share, that of the second, and so on.
    let share = items.len().div_ceil(cores.count());
    let parts = cores.map(items.chunks(share), |items| {
        let (mut grouped, mut ends) = (Words::zeroed(items.len()), Vec::new());
        scatter(items, grouped.make_mut(), &hash, 0, bits, &mut ends);
        (grouped, ends)
    });
    ends.extend((0..1 << bits).map(|group| parts.iter().map(|part| part.1[group]).sum::<usize>()));
    cores.map(ranges(to, &ends, cores), |(groups, to)| join(to, &parts, groups));
    ends
}

/// Ranges of groups, as many as cores, and what of the hashes is theirs.
fn ranges<'a>(
    mut hashes: &'a mut [u64],
    ends: &[usize],
    cores: Cores,
) -> Vec<(Range<usize>, &'a mut [u64])> {
    let (mut all, mut start) = (Vec::new(), 0);
    let length = ends.len().div_ceil(cores.count()).max(1);
    for (first, ends) in (0..).step_by(length).zip(ends.chunks(length)) {
        let end = ends[ends.len() - 1];
        let (now, later) = hashes.split_at_mut(end - start);
        all.push((first..first + ends.len(), now));
        (hashes, start) = (later, end);
    }
    all
}

/// Puts the groups of a range together, from parts of which each has its own ends.
fn join(mut to: &mut [u64], parts: &[(Words, Vec<usize>)], groups: Range<usize>) {
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
pub(crate) fn sorted_hashes(
    items: &[u64],
    hash: impl Fn(u64) -> u64 + Sync,
    cores: Cores,
) -> Vec<u64> {
    let bits = (usize::BITS - items.len().leading_zeros()).saturating_sub(GROUP_BITS);
    let first = bits.min(MOST_BITS);
    let second = (bits - first).min(MOST_BITS);
    let mut sorted = vec![0; items.len()];
    let ends = group(items, &mut sorted, hash, first, cores);
    let ranges = ranges(&mut sorted, &ends, cores);
    let start = |group: usize| group.checked_sub(1).map_or(0, |before| ends[before]);
    let kept = cores.map(ranges, |(groups, hashes)| {
        let from = start(groups.start);
        let ends = ends[groups.clone()].iter().map(|end| end - from);
        (from, sort_groups(hashes, ends, first, second))
    });
    // Where nothing came twice, all is in its place. No hash of a range is in another one.
    let mut all = 0;
    for (from, kept) in kept {
        if from > all {
            sorted.copy_within(from..from + kept, all);
        }
        all += kept;
    }
    sorted.truncate(all);
    sorted
}

/// Sorts each of the groups of hashes, by `second` bits after the first ones and then by comparing, and moves what is there
/// once to the front; how many these are.
fn sort_groups(
    hashes: &mut [u64],
    ends: impl Iterator<Item = usize>,
    first: u32,
    second: u32,
) -> usize {
    let (mut inner, mut moved) = (Vec::new(), Vec::new());
    let (mut kept, mut start) = (0, 0);
    for end in ends {
        moved.clear();
        moved.extend_from_slice(&hashes[start..end]);
        scatter(&moved, &mut hashes[start..end], |hash| hash, first, second, &mut inner);
        let mut from = start;
        for to in inner.iter().map(|to| start + to) {
            hashes[from..to].sort_unstable();
            // What is kept never overtakes what is read.
            for i in from..to {
                let hash = hashes[i];
                if kept == 0 || hashes[kept - 1] != hash {
                    hashes[kept] = hash;
                    kept += 1;
                }
            }
            from = to;
        }
        start = end;
    }
    kept
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
                let mut grouped = grouped_hashes(&items, mix64, Cores::ONE);
                for cores in [1, 2, 3, 8].map(Cores::of) {
                    assert_eq!(sorted_hashes(&items, mix64, cores), expected, "{n} {different}");
                    assert_eq!(grouped_hashes(&items, mix64, cores), grouped, "{n} {different}");
                }
                assert!(grouped.is_sorted_by_key(|hash| hash & !IN_GROUP));
                let mut all: Vec<u64> = items.iter().map(|i| mix64(*i)).collect();
                all.sort_unstable();
                grouped.make_mut().sort_unstable();
                assert_eq!(grouped[..], all, "{n} {different}");
            }
        }
        // Hashes that are not spread at all.
        assert_eq!(sorted_hashes(&[3, 1, 2, 1, 3], |h| h, Cores::of(2)), [1, 2, 3]);
        let low: Vec<u64> = (0..20_000).rev().collect();
        assert!(sorted_hashes(&low, |h| h, Cores::of(3)).into_iter().eq(0..20_000));
    }
}

//! Calls for many keys beside calls for one.

use super::{BlockedBloom, Bloom, SplitBlock};
use crate::filter::{BulkInsert, Filter};
use crate::hash::{Digest, Hasher, mix64};
use crate::probe::bulk::{CHUNK, FETCH_FROM, SET_AHEAD};

#[test]
fn many_at_once_equal_one_by_one() {
    // Below and above the size from which cells are prefetched.
    // With two probes a round left out would let non-members pass.
    let sizes = [1000, FETCH_FROM - 2, FETCH_FROM, 2 * FETCH_FROM + 2];
    for (m, k) in sizes.into_iter().flat_map(|m| [(m, 2), (m, 7)]) {
        for n in [0, 1, 7, SET_AHEAD, CHUNK, CHUNK + 1, 10_000] {
            let keys: Vec<u64> = (0..n as u64).collect();
            let mut single = Bloom::with_shape(m, k, Hasher::default()).unwrap();
            let mut many = single.clone();
            keys.iter().for_each(|key| {
                single.insert(key);
            });
            many.insert_many(&keys);
            assert!(single == many, "{m} {n}");
            let asked: Vec<u64> = (0..2 * n as u64 + 1).collect();
            let one_by_one: Vec<bool> = asked.iter().map(|key| single.contains(key)).collect();
            assert_eq!(many.contains_many(&asked), one_by_one, "{m} {n}");
            assert!(many.contains_iter(&asked).eq(one_by_one.iter().copied()), "{m} {n}");
            let mut folded = Vec::new();
            many.contains_iter(&asked).for_each(|found| folded.push(found));
            assert!(folded == one_by_one, "{m} {n}");
            // Also where there is room for fewer answers.
            let mut found = vec![false; one_by_one.len() / 2 + 1];
            many.contains_many_into(&asked, &mut found);
            assert_eq!(found, one_by_one[..found.len()], "{m} {n}");
        }
    }
}

/// A filter of the type and what its ways of inserting make of the same keys.
macro_rules! threads_equal_one {
    ($type:ident, $n:expr, $rate:expr) => {
        let keys: Vec<u64> = (0..$n as u64).collect();
        let mut single = $type::with_rate($n.max(1) as u64, $rate).unwrap();
        single.insert(&u64::MAX);
        let empty = single.clone();
        keys.iter().for_each(|key| {
            single.insert(key);
        });
        for threads in [1, 2, 3, 7] {
            let mut parallel = empty.clone();
            parallel.insert_on(threads, &keys);
            assert!(single == parallel, "{} {} {threads}", stringify!($type), $n);
        }
        let mut parallel = empty;
        parallel.insert_many_parallel(&keys);
        assert!(single == parallel, "{} {}", stringify!($type), $n);
    };
}

/// What single calls and calls for a slice make of the same keys and answer.
macro_rules! slices_equal {
    ($type:ident, $n:expr, $rate:expr, $keys:expr, $asked:expr, $texts:expr) => {
        let mut single = $type::with_rate($n.max(1), $rate).unwrap();
        let mut batch = single.clone();
        $keys.iter().for_each(|key| {
            single.insert(key);
        });
        $texts.iter().for_each(|key| {
            single.insert(key);
        });
        batch.insert_many(&$keys);
        batch.insert_many(&$texts);
        assert!(single == batch, "{} {}", stringify!($type), $n);
        let mut extended = $type::with_rate($n.max(1), $rate).unwrap();
        extended.extend($keys.iter());
        extended.extend($texts.iter());
        assert!(single == extended, "{} {}", stringify!($type), $n);
        assert_eq!(batch.contains_many(&$texts), vec![true; $texts.len()]);
        let mut found = vec![false; $asked.len()];
        batch.contains_many_into(&$asked, &mut found);
        assert!($asked.iter().map(|key| single.contains(key)).eq(found.iter().copied()));
        batch.contains_many_into(&$texts, &mut found);
        assert!(found[..$texts.len()].iter().all(|found| *found));
        iterators_equal(&$asked, |key| single.contains(key), |keys| batch.contains_iter(keys));
    };
}

/// Answers for keys of an iterator beside those for single keys: one after the other, in one go, and first one way and then
/// the other.
fn iterators_equal<'a, A: Iterator<Item = bool>>(
    keys: &'a [u64],
    one: impl Fn(&u64) -> bool,
    many: impl Fn(Ending<std::slice::Iter<'a, u64>>) -> A,
) {
    let asked = || many(Ending(Some(keys.iter())));
    let expected: Vec<bool> = keys.iter().map(one).collect();
    let mut answers = asked();
    for (i, expected) in expected.iter().enumerate() {
        let left = keys.len() - i;
        assert_eq!(answers.size_hint(), (left, Some(left)));
        assert_eq!(answers.next(), Some(*expected), "key {i}");
    }
    assert_eq!((answers.next(), answers.next(), answers.size_hint()), (None, None, (0, Some(0))));
    for first in [0, 1, 3, 1500] {
        let mut answers = asked();
        let mut found: Vec<bool> = answers.by_ref().take(first).collect();
        answers.for_each(|answer| found.push(answer));
        assert!(found == expected, "{first} of {}", keys.len());
    }
}

/// An iterator that must not be asked again once it has ended.
struct Ending<I>(Option<I>);

impl<I: Iterator> Iterator for Ending<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        let item = self.0.as_mut().expect("it has not ended").next();
        if item.is_none() {
            self.0 = None;
        }
        item
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.as_ref().map_or((0, Some(0)), I::size_hint)
    }
}

/// Filters of which threads have copies, and filters that they share.
#[test]
fn any_number_of_threads_equals_one() {
    for n in [0, 1, 100, 3000, 100_000] {
        threads_equal_one!(Bloom, n, 0.01);
        threads_equal_one!(BlockedBloom, n, 0.01);
        threads_equal_one!(BlockedBloom, n, 1e-6);
        threads_equal_one!(SplitBlock, n, 0.01);
    }
}

#[test]
fn threads_in_bulk_leave_no_key_out() {
    // Below and above the size from which lines are prefetched; with lines of a thread's own, and,
    // where there are fewer keys than lines, without.
    for (room, n) in [(1000, 1000), (3_000_000, 3_000_000), (1_000_000, 20_000)] {
        for rate in [0.01, 1e-6] {
            let mut single = BlockedBloom::with_rate(room, rate).unwrap();
            let keys: Vec<u64> = (0..n).collect();
            let (left, right) = keys.split_at(n as usize / 3);
            let shared = || single.clone().into_atomic().unwrap();
            let (many, others) = (shared(), shared());
            std::thread::scope(|scope| {
                scope.spawn(|| many.insert_many(left));
                scope.spawn(|| many.insert_many(right));
                keys.iter().for_each(|key| {
                    others.insert(key);
                });
            });
            assert!(keys.iter().all(|key| others.contains(key)));
            single.insert_many(&keys);
            assert!(single.bits() == many.into_blocked().bits(), "{n} {rate}");
            assert!(single.bits() == others.into_blocked().bits(), "{n} {rate}");
        }
    }
}

/// Few lines, so that threads meet; few keys, so that Miri can watch them.
#[test]
fn threads_share_lines() {
    let mut alone = BlockedBloom::with_rate(50, 1e-6).unwrap();
    let shared = alone.clone().into_atomic().unwrap();
    std::thread::scope(|scope| {
        for thread in 0..3u64 {
            let shared = &shared;
            scope.spawn(move || {
                (20 * thread..20 * thread + 20).for_each(|key| {
                    shared.insert(&key);
                    // What this thread has inserted is there for it, whatever the others do.
                    assert!(shared.contains(&key));
                });
                shared.insert_many(&[thread, 1000 + thread]);
            });
        }
    });
    (0..60u64).chain(1000..1003).for_each(|key| {
        alone.insert(&key);
    });
    assert!(alone.bits() == shared.into_blocked().bits());
}

#[test]
fn slices_and_iterators_equal_one_by_one() {
    // Below and above what iterators take at once, and just that: twice as many keys are asked for.
    let sizes = [0, 1, 31, 32, 511, 512, 513, 1000, 30_000].map(|n| (n, 0.01));
    for (n, rate) in sizes.into_iter().chain([(64, 1e-6), (2000, 1e-6)]) {
        let keys: Vec<u64> = (0..n).map(mix64).collect();
        let asked: Vec<u64> = (0..2 * n).map(mix64).collect();
        let texts: Vec<String> = keys.iter().map(u64::to_string).collect();
        slices_equal!(BlockedBloom, n, rate, keys, asked, texts);
        slices_equal!(SplitBlock, n, 0.01, keys, asked, texts);
        slices_equal!(Bloom, n, rate, keys, asked, texts);
    }
}

/// However many threads have a filter that is lent, and however they take turns.
#[test]
fn a_lent_filter_is_the_same_as_one_filled_alone() {
    // Miri is a thousand times as slow.
    const KEYS: u64 = if cfg!(miri) { 200 } else { 40_000 };
    fn compare<F: Filter + BulkInsert + Clone + PartialEq>(mut alone: F) {
        let hasher = alone.head().hasher.clone();
        let digests: Vec<Digest> = (0..KEYS).map(|key| hasher.digest(&key)).collect();
        let mut lent = alone.clone();
        alone.insert_digests(&digests);
        let shared = lent.lend().expect("it is lent");
        std::thread::scope(|scope| {
            for part in digests.chunks(digests.len().div_ceil(6)) {
                let shared = &shared;
                scope.spawn(move || part.chunks(999).for_each(|d| shared.insert_digests(d)));
            }
        });
        drop(shared);
        assert!(alone == lent);
        assert_eq!(lent.head().items, KEYS);
    }
    // Filters of fewer lines than regions, too.
    for n in [10, 1000, KEYS] {
        compare(Bloom::with_rate(n, 0.01).unwrap());
        compare(BlockedBloom::with_rate(n, 0.01).unwrap());
        compare(BlockedBloom::with_rate(n, 1e-6).unwrap());
        compare(SplitBlock::with_rate(n, 0.01).unwrap());
    }
}

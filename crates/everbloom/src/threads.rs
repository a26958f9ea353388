//! Work on several cores.

use std::panic::resume_unwind;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

/// Fewer keys than this are done before another thread has started.
pub(crate) const WORTH_A_THREAD: usize = 50_000;

/// How many cores there are to work on, asked once: the system reads files for it, which takes longer than a small filter does
/// altogether.
pub(crate) fn available() -> usize {
    static CORES: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
    if cfg!(feature = "parallel") { *CORES } else { 1 }
}

/// Calls `other` with the numbers below `others`, each on a thread of its own, and `own` on this one. Everything that runs on
/// several threads goes through here, by reference, so that starting a thread is compiled once. A thread that panicked has
/// said why, and there is nothing to save: this one panics, too.
fn together(others: usize, other: &(dyn Fn(usize) + Sync), own: &mut dyn FnMut()) {
    if !cfg!(feature = "parallel") {
        own();
        return (0..others).for_each(other);
    }
    std::thread::scope(|scope| {
        let start = |number| scope.spawn(move || other(number));
        let threads: Vec<ScopedJoinHandle<'_, ()>> = (0..others).map(start).collect();
        own();
        for thread in threads {
            thread.join().unwrap_or_else(|e| resume_unwind(e));
        }
    });
}

/// What comes of a value on one thread: the value before, the result after.
struct Slot<T, R>(Mutex<(Option<T>, Option<R>)>);

impl<T, R> Slot<T, R> {
    fn new(value: T) -> Self {
        Self(Mutex::new((Some(value), None)))
    }

    fn work(&self, of: impl FnOnce(T) -> R) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.1 = slot.0.take().map(of);
    }

    fn result(self) -> Option<R> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// What `of` makes of each value, in order, each on a thread of its own, and what `own` makes on this one.
pub(crate) fn beside<T: Send, R: Send, A>(
    values: impl IntoIterator<Item = T>,
    of: impl Fn(T) -> R + Sync,
    own: impl FnOnce() -> A,
) -> (A, Vec<R>) {
    let slots: Vec<Slot<T, R>> = values.into_iter().map(Slot::new).collect();
    let (mut own, mut made) = (Some(own), None);
    let mut first = || made = own.take().map(|own| own());
    together(slots.len(), &|number| slots[number].work(&of), &mut first);
    let made = made.unwrap_or_else(|| unreachable!("this thread did its part"));
    (made, slots.into_iter().filter_map(Slot::result).collect())
}

/// Memory that a thread of its own is worth.
const SHARE: usize = 1 << 20;

/// What `of` says of each `length` items, in order, on all cores.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    length: usize,
    of: impl Fn(&[T]) -> R + Sync,
) -> Vec<R> {
    let threads = available().min(size_of_val(items) / SHARE);
    if !cfg!(feature = "parallel") || threads < 2 {
        return items.chunks(length).map(of).collect();
    }
    let of = &of;
    let parts = items.len().div_ceil(length).div_ceil(threads);
    let work = |items: &[T]| items.chunks(length).map(of).collect::<Vec<R>>();
    let (own, others) = items.split_at(items.len().min(parts * length));
    let (mut all, made) = beside(others.chunks(parts * length), work, || work(own));
    all.extend(made.into_iter().flatten());
    all
}

/// Calls `f` with every item and its number, on all cores.
pub(crate) fn each<T: Send>(items: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
    Cores(available()).each(items, f);
}

/// Items of which one sum is taken.
const SUMMED: usize = 1 << 16;

/// The sum of what `of` says of parts of the items, on all cores. Parts are of one length and added in order, so that the
/// number of cores does not change the last digit.
pub(crate) fn sum<T: Sync>(items: &[T], of: impl Fn(&[T]) -> f64 + Sync) -> f64 {
    map(items, SUMMED, of).into_iter().sum()
}

/// Groups for each core, so that one which is done early takes another.
const GROUPS: usize = 8;

/// How many cores a piece of work is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cores(usize);

impl Cores {
    pub(crate) const ONE: Self = Self(1);

    /// As many as there are and so many keys are worth.
    pub(crate) fn for_keys(keys: usize) -> Self {
        Self::for_items(keys, WORTH_A_THREAD)
    }

    /// As many as there are, each with so many items at least.
    pub(crate) fn for_items(items: usize, each: usize) -> Self {
        Self(available().min(items / each).max(1))
    }

    #[cfg(test)]
    pub(crate) fn of(cores: usize) -> Self {
        Self(cores)
    }

    pub(crate) fn count(self) -> usize {
        self.0
    }

    /// What each of so many pieces of work may take, if they are done at the same time.
    pub(crate) fn of_each(self, pieces: usize) -> Self {
        Self(self.0.div_ceil(pieces.max(1)))
    }

    /// Does both, at the same time if there are cores for it.
    pub(crate) fn both<A: Send, B>(
        self,
        one: impl FnOnce() -> A + Send,
        other: impl FnOnce() -> B,
    ) -> (A, B) {
        if !cfg!(feature = "parallel") || self == Self::ONE {
            return (one(), other());
        }
        let one = Mutex::new(Some(one));
        let taken = |()| one.lock().unwrap_or_else(PoisonError::into_inner).take().map(|one| one());
        let (other, mut made) = beside([()], taken, other);
        let made = made.pop().flatten().unwrap_or_else(|| unreachable!("the thread did its part"));
        (made, other)
    }

    /// Calls `f` with every item and its number: a core that is done with one takes the next.
    pub(crate) fn each<T: Send>(self, items: &mut [T], f: impl Fn(usize, &mut T) + Sync) {
        let cores = self.0.min(items.len());
        if !cfg!(feature = "parallel") || cores < 2 {
            return items.iter_mut().enumerate().for_each(|(number, item)| f(number, item));
        }
        let queue = Mutex::new(items.iter_mut().enumerate());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((number, item)) = next() {
                f(number, item);
            }
        };
        together(cores - 1, &|_| work(), &mut || work());
    }

    /// What `of` makes of each item, in order; a core has items that follow each other.
    pub(crate) fn map<T: Send, R: Send>(
        self,
        items: impl IntoIterator<Item = T>,
        of: impl Fn(T) -> R + Sync,
    ) -> Vec<R> {
        let mut items: Vec<T> = items.into_iter().collect();
        let (share, of) = (items.len().div_ceil(self.0).max(1), &of);
        if !cfg!(feature = "parallel") || share >= items.len() {
            return items.into_iter().map(of).collect();
        }
        let mut others = Vec::new();
        while items.len() > share {
            others.push(items.split_off((items.len() - 1) / share * share));
        }
        let work = |items: Vec<T>| items.into_iter().map(of).collect::<Vec<R>>();
        let (mut all, made) = beside(others.into_iter().rev(), work, || work(items));
        all.extend(made.into_iter().flatten());
        all
    }

    /// Sorts items by a key, of which `leading` is an evenly spread word that items are in order of first; no two have the same
    /// key unless they are the same. Every core groups a share by the leading words; then groups are sorted, each where it
    /// belongs. To merge what cores have sorted would leave the last merge, of all items, to one of them.
    pub(crate) fn sort<T: Copy + Send + Sync, K: Ord>(
        self,
        items: &mut [T],
        leading: impl Fn(&T) -> u64 + Sync,
        key: impl Fn(&T) -> K + Sync,
    ) {
        if !cfg!(feature = "parallel") || self == Self::ONE {
            return items.sort_unstable_by_key(key);
        }
        let groups = self.0 * GROUPS;
        let group = |item: &T| ((u128::from(leading(item)) * groups as u128) >> 64) as usize;
        let grouped = self.map(items.chunks(items.len().div_ceil(self.0).max(1)), |items| {
            let mut grouped = vec![Vec::new(); groups];
            items.iter().for_each(|item| grouped[group(item)].push(*item));
            grouped
        });
        let (mut places, mut rest) = (Vec::new(), items);
        for group in 0..groups {
            let from: Vec<&[T]> = grouped.iter().map(|share| share[group].as_slice()).collect();
            let (to, behind) = rest.split_at_mut(from.iter().map(|items| items.len()).sum());
            places.push((from, to));
            rest = behind;
        }
        self.each(&mut places, |_, (from, to)| {
            to.iter_mut().zip(from.iter().copied().flatten()).for_each(|(to, item)| *to = *item);
            to.sort_unstable_by_key(&key);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    #[test]
    fn sums_are_those_of_one_core() {
        for n in [0, 1, SUMMED, SUMMED + 1, 10 * SUMMED + 3] {
            let items: Vec<f64> = (0..n).map(|i| 1.0 / (i + 1) as f64).collect();
            let of = |items: &[f64]| items.iter().sum::<f64>();
            assert_eq!(sum(&items, of), items.chunks(SUMMED).map(of).sum::<f64>(), "{n}");
        }
    }

    #[test]
    fn every_item_is_met_once_by_its_number() {
        for n in [0, 1, 2, 3, 100, 101] {
            for cores in [1, 2, 3, 8].map(Cores) {
                let mut items: Vec<usize> = (0..n).collect();
                cores.each(&mut items, |number, item| {
                    assert_eq!(*item, number);
                    *item += 1000;
                });
                assert!(items.into_iter().eq(1000..1000 + n), "{n} {cores:?}");
            }
        }
    }

    #[test]
    fn parts_come_in_order_from_any_number_of_cores() {
        for n in [0, 1, 99, 100, 101, SHARE / 8 * 2, SHARE + 17] {
            let items: Vec<u64> = (0..n as u64).collect();
            let of = |items: &[u64]| (items[0], items.len());
            assert_eq!(map(&items, 100, of), items.chunks(100).map(of).collect::<Vec<_>>(), "{n}");
        }
    }

    #[test]
    fn every_item_is_mapped_in_order_by_any_number_of_cores() {
        for n in [0, 1, 2, 3, 7, 8, 100] {
            for cores in [1, 2, 3, 8].map(Cores) {
                assert!(cores.map(0..n, |i| 2 * i).into_iter().eq((0..n).map(|i| 2 * i)), "{n}");
            }
        }
    }

    #[test]
    fn items_are_sorted_alike_on_any_number_of_cores() {
        for n in [0, 1, 2, 3, 1000, 2 * WORTH_A_THREAD as u64 + 1] {
            let items: Vec<u64> = (0..n).map(|i| mix64(i) >> (i % 2 * 50)).collect();
            let mut expected = items.clone();
            expected.sort();
            for cores in [1, 2, 3, 8].map(Cores) {
                let mut sorted = items.clone();
                // The words in front are spread evenly, but for some that are all in the first group.
                cores.sort(&mut sorted, |item| *item, |item| *item);
                assert!(sorted == expected, "{n} {cores:?}");
            }
        }
    }
}

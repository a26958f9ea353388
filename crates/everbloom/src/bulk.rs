//! From many keys to many digests and back: what the calls for slices of keys share.
//!
//! Keys are hashed in chunks that stay in the first cache, then the filter works on a chunk of digests,
//! asking for its cells well before it looks at them.
//!
//! A flat filter has cells all over the place: [`test_all`] goes through a chunk in rounds. Round i asks
//! for the i-th cell of every key that is still in question, then looks at all of them and drops the keys
//! that fail. Half of the foreign keys fall in every round, as one by one; but no branch depends on a bit,
//! so none is mispredicted, and up to a chunk of misses is under way at once.

use std::panic::resume_unwind;

use crate::cells::{Bits, prefetch, scattered};
use crate::filter::{Bulk, BulkInsert, Filter};
use crate::hash::{Digest, HashId, Hasher, Key};
use crate::probe::{Probe, Ring, Walk};
use crate::structure::Structure;

/// Digests of a chunk: 4 KiB.
const CHUNK: usize = 256;

/// Calls `f` with the digests of consecutive keys, chunk after chunk.
#[inline]
fn chunks(
    hasher: &Hasher,
    usual: HashId,
    keys: impl Iterator<Item: Key>,
    mut f: impl FnMut(&[Digest]),
) {
    let mut digests = [Digest { h1: 0, h2: 0 }; CHUNK];
    let mut coming = keys.map(|key| hasher.digest_usually(usual, &key));
    loop {
        let mut count = 0;
        for (slot, digest) in digests.iter_mut().zip(coming.by_ref()) {
            *slot = digest;
            count += 1;
        }
        f(&digests[..count]);
        if count < CHUNK {
            return;
        }
    }
}

/// Inserts all keys.
#[inline]
pub(crate) fn insert_many<F>(filter: &mut F, keys: impl Iterator<Item: Key>)
where
    F: Structure + Filter + BulkInsert,
{
    let hasher = filter.head().hasher.clone();
    chunks(&hasher, F::HASH, keys, |digests| filter.insert_digests(digests));
}

/// Whether each key may be a member.
#[inline]
pub(crate) fn contains_many<F>(filter: &F, keys: impl ExactSizeIterator<Item: Key>) -> Vec<bool>
where
    F: Structure + Filter + Bulk,
{
    let mut found = vec![false; keys.len()];
    contains_into(filter, keys, &mut found);
    found
}

/// [`contains_many`] into memory of the caller's, for as many keys as there is room.
#[inline]
pub(crate) fn contains_into<F>(filter: &F, keys: impl Iterator<Item: Key>, mut found: &mut [bool])
where
    F: Structure + Filter + Bulk,
{
    chunks(&filter.head().hasher, F::HASH, keys.take(found.len()), |digests| {
        let (now, later) = std::mem::take(&mut found).split_at_mut(digests.len());
        filter.contains_digests(digests, now);
        found = later;
    });
}

/// Fewer keys than this are done before another thread has started.
const WORTH_A_THREAD: usize = 50_000;

/// How many cores a piece of work is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cores {
    One,
    Two,
}

impl Cores {
    /// Two, if there are so many keys that it pays.
    pub(crate) fn for_keys(keys: usize) -> Self {
        if keys < 2 * WORTH_A_THREAD { Self::One } else { Self::Two }
    }

    /// Does both, at the same time if there are cores for it.
    pub(crate) fn both<A: Send, B>(
        self,
        one: impl FnOnce() -> A + Send,
        other: impl FnOnce() -> B,
    ) -> (A, B) {
        if self == Self::One {
            return (one(), other());
        }
        std::thread::scope(|scope| {
            let one = scope.spawn(one);
            let other = other();
            // A thread that panicked has told why; there is nothing to save.
            (one.join().unwrap_or_else(|e| resume_unwind(e)), other)
        })
    }
}

/// Splits keys among all cores and unites what comes of it with `bits`, exactly. `fill` sets the cells of
/// its part of the keys in an array of zeros as large.
pub(crate) fn on_all_cores<K: Sync>(
    bits: &mut Bits,
    keys: &[K],
    fill: impl Fn(&[K], Bits) -> Bits + Sync,
) {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let part = keys.len().div_ceil(cores).max(WORTH_A_THREAD);
    let (len, fill) = (bits.len(), &fill);
    std::thread::scope(|scope| {
        let start = |keys| scope.spawn(move || fill(keys, Bits::new(len)));
        let workers: Vec<_> = keys.chunks(part).map(start).collect();
        for worker in workers {
            // A worker that panicked has told why; there is nothing to save.
            bits.union(&worker.join().unwrap_or_else(|e| resume_unwind(e)));
        }
    });
}

/// Arrays of fewer bits live in the first two caches, where asking ahead costs more than it saves.
const FETCH_FROM: u64 = 8 * (4 << 20);

/// Whether a flat array is so large that going through many keys in rounds pays.
pub(crate) fn worth_it(bits: &Bits) -> bool {
    bits.len() >= FETCH_FROM
}

/// Sets all cells of every digest.
pub(crate) fn set_all(bits: &mut Bits, probe: &Probe, digests: &[Digest]) {
    match probe {
        Probe::Ring(ring) if worth_it(bits) => set_in_rounds(bits, ring, digests),
        Probe::Ring(ring) => digests.iter().for_each(|&digest| {
            scattered::set_all(bits.words_mut(), *ring, digest);
        }),
        _ => digests.iter().for_each(|&digest| {
            probe.each(digest, |i| {
                bits.set(i);
            });
        }),
    }
}

/// Writes for each digest whether all its cells are set.
pub(crate) fn test_all(bits: &Bits, probe: &Probe, digests: &[Digest], found: &mut [bool]) {
    match probe {
        Probe::Ring(ring) if worth_it(bits) => {
            for (digests, found) in digests.chunks(CHUNK).zip(found.chunks_mut(CHUNK)) {
                test_in_rounds(bits, ring, digests, found);
            }
        }
        Probe::Ring(ring) => {
            for (digest, found) in digests.iter().zip(found) {
                *found = scattered::all_set(bits.words(), ring, *digest);
            }
        }
        _ => {
            for (digest, found) in digests.iter().zip(found) {
                *found = probe.all(*digest, |i| bits.get(i));
            }
        }
    }
}

/// Keys whose cells are asked for before the first is set: k cells each.
const SET_AHEAD: usize = 16;

fn set_in_rounds(bits: &mut Bits, ring: &Ring, digests: &[Digest]) {
    let start = bits.words().as_ptr();
    let fetch = |i: u64| prefetch(start.wrapping_add((i / 64) as usize).cast());
    digests.iter().take(SET_AHEAD).for_each(|digest| ring.indices(*digest).for_each(fetch));
    let later = digests.iter().skip(SET_AHEAD).map(Some).chain(std::iter::repeat(None));
    for (digest, later) in digests.iter().zip(later) {
        if let Some(later) = later {
            ring.indices(*later).for_each(fetch);
        }
        ring.indices(*digest).for_each(|i| {
            bits.set(i);
        });
    }
}

fn test_in_rounds(bits: &Bits, ring: &Ring, digests: &[Digest], found: &mut [bool]) {
    let words = bits.words();
    // Who is still in question, where their probes stand, and the cell each is asked for.
    let mut who = [0u32; CHUNK];
    let mut walks = [Walk::default(); CHUNK];
    let mut cells = [0u64; CHUNK];
    let mut left = digests.len();
    for (i, digest) in digests.iter().enumerate() {
        (who[i], walks[i]) = (i as u32, ring.walk(*digest));
    }
    found.fill(false);
    for _ in 0..ring.k() {
        for (walk, cell) in walks[..left].iter_mut().zip(&mut cells) {
            *cell = ring.step(walk);
            prefetch(words.as_ptr().wrapping_add((*cell / 64) as usize).cast());
        }
        let mut kept = 0;
        for i in 0..left {
            let set = words[(cells[i] / 64) as usize] >> (cells[i] % 64) & 1;
            (who[kept], walks[kept]) = (who[i], walks[i]);
            kept += set as usize;
        }
        left = kept;
    }
    who[..left].iter().for_each(|&i| found[i as usize] = true);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;
    use crate::membership::{BlockedBloom, Bloom, SplitBlock};

    #[test]
    fn many_at_once_equal_one_by_one() {
        // Below and above the size from which cells are asked for ahead.
        // With two probes a round left out would let strangers in.
        let sizes = [1000, FETCH_FROM - 2, FETCH_FROM, 2 * FETCH_FROM + 2];
        for (m, k) in sizes.into_iter().flat_map(|m| [(m, 2), (m, 7)]) {
            for n in [0, 1, 7, SET_AHEAD, CHUNK, CHUNK + 1, 10_000] {
                let keys: Vec<u64> = (0..n as u64).collect();
                let mut single = Bloom::with_shape(m, k, Hasher::default());
                let mut many = single.clone();
                keys.iter().for_each(|key| {
                    single.insert(key);
                });
                many.insert_many(&keys);
                assert!(single == many, "{m} {n}");
                let asked: Vec<u64> = (0..2 * n as u64 + 1).collect();
                let one_by_one: Vec<bool> = asked.iter().map(|key| single.contains(key)).collect();
                assert_eq!(many.contains_many(&asked), one_by_one, "{m} {n}");
                // Also where there is room for fewer answers.
                let mut found = vec![false; one_by_one.len() / 2 + 1];
                many.contains_batch(&asked, &mut found);
                assert_eq!(found, one_by_one[..found.len()], "{m} {n}");
            }
        }
    }

    /// A filter of the type and what its two ways of inserting make of the same keys.
    macro_rules! all_cores_equal_one {
        ($type:ident, $n:expr) => {
            let keys: Vec<u64> = (0..$n as u64).collect();
            let mut single = $type::with_rate($n.max(1) as u64, 0.01).unwrap();
            single.insert(&u64::MAX);
            let mut parallel = single.clone();
            keys.iter().for_each(|key| {
                single.insert(key);
            });
            parallel.insert_many_parallel(&keys);
            assert!(single == parallel, "{} {}", stringify!($type), $n);
        };
    }

    /// What single calls and calls for a slice make of the same keys and answer.
    macro_rules! batches_equal {
        ($type:ident, $n:expr, $rate:expr, $keys:expr, $asked:expr, $texts:expr) => {
            let mut single = $type::with_rate($n.max(1), $rate).unwrap();
            let mut batch = single.clone();
            $keys.iter().for_each(|key| {
                single.insert(key);
            });
            $texts.iter().for_each(|key| {
                single.insert(key);
            });
            batch.insert_batch(&$keys);
            batch.insert_batch(&$texts);
            assert!(single == batch, "{} {}", stringify!($type), $n);
            let mut found = vec![false; $asked.len()];
            batch.contains_batch(&$asked, &mut found);
            assert!($asked.iter().map(|key| single.contains(key)).eq(found.iter().copied()));
            batch.contains_batch(&$texts, &mut found);
            assert!(found[..$texts.len()].iter().all(|found| *found));
        };
    }

    #[test]
    fn all_cores_together_equal_one() {
        for n in [0, 1, WORTH_A_THREAD, 2 * WORTH_A_THREAD + 1, 5 * WORTH_A_THREAD] {
            all_cores_equal_one!(Bloom, n);
            all_cores_equal_one!(BlockedBloom, n);
            all_cores_equal_one!(SplitBlock, n);
        }
    }

    #[test]
    fn threads_in_bulk_leave_no_key_out() {
        // Below and above the size from which lines are asked for ahead; with lines of a thread's own, and,
        // where there are fewer keys than lines, without.
        for (room, n) in [(1000, 1000), (3_000_000, 3_000_000), (1_000_000, 20_000)] {
            for rate in [0.01, 1e-6] {
                let mut single = BlockedBloom::with_rate(room, rate).unwrap();
                let keys: Vec<u64> = (0..n).collect();
                let (left, right) = keys.split_at(n as usize / 3);
                let shared = || single.clone().into_atomic().unwrap();
                let (batches, others) = (shared(), shared());
                std::thread::scope(|scope| {
                    scope.spawn(|| batches.insert_batch(left));
                    scope.spawn(|| batches.insert_batch(right));
                    scope.spawn(|| others.insert_many(left));
                    right.iter().for_each(|key| {
                        others.insert(key);
                    });
                });
                assert!(keys.iter().all(|key| others.contains(key)));
                single.insert_many(&keys);
                assert!(single.bits() == batches.into_blocked().bits(), "{n} {rate}");
                assert!(single.bits() == others.into_blocked().bits(), "{n} {rate}");
            }
        }
    }

    #[test]
    fn batches_equal_one_by_one() {
        for (n, rate) in
            [(0, 0.01), (1, 0.01), (63, 0.01), (64, 1e-6), (1000, 0.01), (70_000, 0.01)]
        {
            let keys: Vec<u64> = (0..n).map(mix64).collect();
            let asked: Vec<u64> = (0..2 * n).map(mix64).collect();
            let texts: Vec<String> = keys.iter().map(u64::to_string).collect();
            batches_equal!(BlockedBloom, n, rate, keys, asked, texts);
            batches_equal!(SplitBlock, n, 0.01, keys, asked, texts);
        }
    }
}

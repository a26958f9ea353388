//! First sights of a stream: tells keys that are new from keys that came before.
//!
//! | memory | holds | drops a new key | lets a repetition pass |
//! |---|---|---|---|
//! | [`Remember::All`] | all keys, in filters of growing size | at the rate | never |
//! | [`Remember::Within`] | all keys, in a filter of fixed size | at the rate, and more once it is full | never |
//! | [`Remember::Window`] | the latest keys, in fixed memory | at the rate | when it is older than the window |
//! | [`Remember::Exact`] | all keys, and their 128-bit digests | never | never |
//! | [`Remember::ExactWithin`] | all keys, and their digests while they fit | never, and at the rate once they don't fit | never |
//!
//! Keys are hashed once; what the filters hold is the first word of the digest, an integer, which many can be asked
//! for at once ([`BlockedBloom::contains_many_into`](crate::membership::BlockedBloom::contains_many_into)).
//!
//! Whether a key is new depends on those before it, so that a stream seems to be one core's work. But it depends
//! only on those of the same digest: the second word of a digest picks one of 64 shards, each with a memory of its
//! own, and every core takes the keys of some shards, in their order.
//!
//! ```text
//!   block 0 │ block 1 │ block 2      hashed and sorted by shard, on any thread: Sights
//!   ────────┼─────────┼────────▶  memory of shard 0
//!   ────────┼─────────┼────────▶  memory of shard 1      on all cores
//!   ────────┼─────────┼────────▶  …
//! ```
//!
//! The number of shards follows from what is remembered alone, never from the number of cores, and so do the answers. Shards
//! are small enough to stay in a core's cache while it works on one, which makes a single core faster, too.

mod memory;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::hash::{Digest, Hasher, Key};
use crate::threads::Cores;
use memory::{Memory, Plans, part_of_window};

/// The most shards.
const SHARDS: u64 = 64;
/// Keys of a part of a window, and bits, that are worth a shard.
const WORTH_KEYS: u64 = 1 << 12;
const WORTH_BITS: u64 = 1 << 16;
/// Keys that are worth a thread: it has begun before another one is done with them.
const WORTH_A_THREAD: usize = 1 << 13;
/// Keys that are sorted at a time where the caller has not sorted them.
const SORTED: usize = 1 << 16;

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remember {
    /// All keys, in filters of growing size.
    All,
    /// All keys, in a filter of so many bits.
    Within(u64),
    /// The latest keys: a repetition of one of so many that came last is always noticed.
    Window(u64),
    /// All keys, in filters of growing size and by their digests.
    Exact,
    /// The same while the digests take at most so many bits; then all keys, in filters alone.
    ExactWithin(u64),
}

impl Remember {
    /// How many shards this is worth.
    fn shards(self) -> u64 {
        let worth = match self {
            Self::All | Self::Exact | Self::ExactWithin(_) => SHARDS,
            Self::Within(bits) => bits / WORTH_BITS,
            Self::Window(keys) => part_of_window(keys) / WORTH_KEYS,
        };
        // A power of two: see `Shards::of`.
        1 << worth.clamp(1, SHARDS).ilog2()
    }
}

/// How many shards there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards(u64);

impl Shards {
    /// The shard of a key. The filters hold another word of the digest.
    fn of(self, digest: Digest) -> usize {
        (digest.word(1) & (self.0 - 1)) as usize
    }
}

/// A block of keys, sorted by shard, and whether they are new: filled on any thread.
#[derive(Clone, Debug, Default)]
pub struct Sights {
    /// The shard of each key.
    shards: Vec<u8>,
    parts: Vec<Part>,
}

/// Keys of one shard, as they came.
#[derive(Clone, Debug, Default)]
struct Part {
    digests: Vec<Digest>,
    new: Vec<bool>,
}

impl Sights {
    /// Takes a block of keys of [`Dedupe::hasher`], which replaces the previous one.
    pub fn sort(&mut self, digests: &[Digest], shards: Shards) {
        self.parts.resize_with(shards.0 as usize, Part::default);
        self.parts.iter_mut().for_each(|part| part.digests.clear());
        self.shards.clear();
        for digest in digests {
            let shard = shards.of(*digest);
            self.shards.push(shard as u8);
            self.parts[shard].digests.push(*digest);
        }
        // Until they are told apart, none is.
        for Part { digests, new } in &mut self.parts {
            new.clear();
            new.resize(digests.len(), false);
        }
    }

    /// Whether each key is new, as they came.
    pub fn new_ones(&self) -> impl Iterator<Item = bool> {
        let mut parts: Vec<_> = self.parts.iter().map(|part| part.new.iter()).collect();
        self.shards.iter().map(move |shard| parts[usize::from(*shard)].next() == Some(&true))
    }
}

impl AsMut<Sights> for Sights {
    fn as_mut(&mut self) -> &mut Sights {
        self
    }
}

/// Tells first sights from repetitions.
///
/// ```
/// use everbloom::dedupe::{Dedupe, Remember};
///
/// let mut stream = Dedupe::new(Remember::All, 0.001)?;
/// assert!(stream.first_sight("fig")? && stream.first_sight("oak")?);
/// assert!(!stream.first_sight("fig")?);
/// assert_eq!((stream.keys(), stream.duplicates()), (3, 1));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Dedupe {
    hasher: Hasher,
    shards: Vec<Memory>,
    window: Option<Window>,
    keys: u64,
    first_sights: u64,
}

/// When the next part of a window is forgotten.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// Keys of a part.
    part: u64,
    /// Keys until then.
    room: u64,
}

impl Window {
    /// Where among so many further keys a part is forgotten: before those of these numbers.
    fn turns(&mut self, keys: usize) -> Vec<usize> {
        let (mut turns, mut at) = (Vec::new(), 0);
        while keys as u64 - at > self.room {
            at += self.room;
            turns.push(at as usize);
            self.room = self.part;
        }
        self.room -= keys as u64 - at;
        turns
    }
}

impl Dedupe {
    /// An empty memory. `fpr` is the share of new keys that may be taken for seen; an exact memory uses
    /// it for the keys whose digests are looked up.
    pub fn new(remember: Remember, fpr: f64) -> Result<Self> {
        let window = match remember {
            Remember::Window(0) => {
                return Err(Error::parameter("a window of 0: give at least 1"));
            }
            Remember::Window(keys) => {
                let part = part_of_window(keys);
                Some(Window { part, room: part })
            }
            _ => None,
        };
        let number = remember.shards();
        let plans = Arc::new(Plans::new(remember, fpr, number));
        let shards = (0..number).map(|_| Memory::new(&plans));
        let (hasher, shards) = (Hasher::default(), shards.collect::<Result<_>>()?);
        Ok(Self { hasher, shards, window, keys: 0, first_sights: 0 })
    }

    /// What keys are hashed by, for [`Dedupe::first_sights`].
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// How keys are sorted, for [`Sights::sort`].
    pub fn shards(&self) -> Shards {
        Shards(self.shards.len() as u64)
    }

    /// Whether the key is new, as far as this memory knows; remembers it.
    pub fn first_sight<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let mut new = [false];
        self.first_sights(&[self.hasher.digest(key)], &mut new)?;
        Ok(new[0])
    }

    /// Writes for each of many keys, in their order, whether it is new; `new` is as long as `digests`, which are
    /// by this memory's own hash.
    pub fn first_sights(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<()> {
        if let [digest] = digests {
            return self.one(*digest, &mut new[..1]);
        }
        let (mut sights, shards) = (Sights::default(), self.shards());
        for (digests, new) in digests.chunks(SORTED).zip(new.chunks_mut(SORTED)) {
            sights.sort(digests, shards);
            self.first_sights_of(std::slice::from_mut(&mut sights), |_| ())?;
            new.iter_mut().zip(sights.new_ones()).for_each(|(new, told)| *new = told);
        }
        Ok(())
    }

    fn one(&mut self, digest: Digest, new: &mut [bool]) -> Result<()> {
        let shard = self.shards().of(digest);
        if self.window.as_mut().is_some_and(|window| !window.turns(1).is_empty()) {
            self.shards.iter_mut().try_for_each(Memory::turn)?;
        }
        self.shards[shard].take(&[digest], new)?;
        self.keys += 1;
        self.first_sights += u64::from(new[0]);
        Ok(())
    }

    /// Tells of the keys of all blocks, in their order, whether they are new, and then calls `then` with every block;
    /// both on all cores.
    pub fn first_sights_of<B: AsMut<Sights> + Send>(
        &mut self,
        blocks: &mut [B],
        then: impl Fn(&mut B) + Sync,
    ) -> Result<()> {
        /// A shard's memory, its keys in every block, and how it went.
        struct Work<'a>(&'a mut Memory, Vec<&'a mut Part>, Result<()>);

        let shards = self.shards();
        let work = |memory| Work(memory, Vec::with_capacity(blocks.len()), Ok(()));
        let mut works: Vec<Work> = self.shards.iter_mut().map(work).collect();
        let (mut keys, mut turns) = (0, Vec::new());
        for block in blocks.iter_mut() {
            let Sights { shards: of, parts } = block.as_mut();
            if parts.len() != works.len() {
                return Err(Error::parameter("keys are sorted as Dedupe::shards says"));
            }
            keys += of.len();
            let here = self.window.as_mut().map_or(Vec::new(), |window| window.turns(of.len()));
            turns.push(here.into_iter().map(|at| &of[..at]).collect::<Vec<_>>());
            works.iter_mut().zip(parts).for_each(|(work, part)| work.1.push(part));
        }
        let cores = Cores::for_items(keys, WORTH_A_THREAD);
        cores.each(&mut works, |shard, Work(memory, parts, done)| {
            let mut blocks = parts.iter_mut().zip(&turns);
            *done = blocks.try_for_each(|(part, turns)| {
                let own = |before: &&[u8]| match shards {
                    Shards(1) => before.len(),
                    _ => before.iter().filter(|other| usize::from(**other) == shard).count(),
                };
                part.told(memory, turns.iter().map(own))
            });
        });
        let first = |work: &Work| -> usize {
            work.1.iter().map(|part| part.new.iter().filter(|new| **new).count()).sum()
        };
        self.keys += keys as u64;
        self.first_sights += works.iter().map(first).sum::<usize>() as u64;
        works.into_iter().try_for_each(|work| work.2)?;
        cores.each(blocks, |_, block| then(block));
        Ok(())
    }

    /// Keys so far.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Keys that were taken for seen.
    pub fn duplicates(&self) -> u64 {
        self.keys - self.first_sights
    }

    /// How many of the duplicates were new keys, estimated from the filters' rates over time.
    pub fn wrongly_dropped(&self) -> f64 {
        let estimated: f64 = self.shards.iter().map(Memory::wrongly_dropped).sum();
        // Of a filter that is nearly full the rate tells little, but no more were dropped than were.
        estimated.min(self.duplicates() as f64)
    }

    /// Whether no new key can be taken for seen now.
    pub fn is_exact(&self) -> bool {
        self.shards.iter().all(Memory::is_exact)
    }

    /// The share of new keys that is taken for seen now.
    pub fn rate(&self) -> f64 {
        self.shards.iter().map(Memory::rate).sum::<f64>() / self.shards.len() as f64
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> u64 {
        self.shards.iter().map(Memory::bytes).sum()
    }
}

impl Part {
    /// Tells which keys are new. A part of the window is forgotten after so many of them, each time.
    fn told(&mut self, memory: &mut Memory, turns: impl Iterator<Item = usize>) -> Result<()> {
        let mut done = 0;
        for turn in turns {
            memory.take(&self.digests[done..turn], &mut self.new[done..turn])?;
            memory.turn()?;
            done = turn;
        }
        memory.take(&self.digests[done..], &mut self.new[done..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sights(stream: &mut Dedupe, keys: impl Iterator<Item = u64>) -> Vec<bool> {
        keys.map(|key| stream.first_sight(&key).expect("room")).collect()
    }

    #[test]
    fn repetitions_are_never_first_sights_where_all_is_remembered() {
        for remember in [Remember::All, Remember::Exact, Remember::ExactWithin(1 << 22)] {
            let mut stream = Dedupe::new(remember, 0.05).expect("a rate");
            sights(&mut stream, 0..100_000);
            let again = sights(&mut stream, (0..100_000).rev());
            assert!(again.iter().all(|new| !new), "{remember:?}");
            assert_eq!(stream.keys(), 200_000);
        }
    }

    #[test]
    fn an_exact_memory_drops_nothing_new() {
        let mut stream = Dedupe::new(Remember::Exact, 0.3).expect("a rate");
        assert!(sights(&mut stream, 0..100_000).iter().all(|new| *new));
        assert_eq!((stream.duplicates(), stream.wrongly_dropped()), (0, 0.0));
        assert!(stream.bytes() > 100_000 * 17);
    }

    #[test]
    fn a_repetition_within_the_window_is_never_missed() {
        for window in [1u64, 2, 3, 7, 100, 1000, 5000] {
            let mut stream = Dedupe::new(Remember::Window(window), 0.01).expect("a rate");
            // Each key again as late as the window allows, and the pairs in chunks of any length.
            let back = window.div_ceil(2) - 1;
            let keys: Vec<u64> =
                (0..6 * window).flat_map(|i| [i, i.saturating_sub(back)]).collect();
            let digests: Vec<_> = keys.iter().map(|key| stream.hasher().digest(key)).collect();
            let mut new = vec![false; keys.len()];
            for (digests, new) in digests.chunks(777).zip(new.chunks_mut(777)) {
                stream.first_sights(digests, new).expect("room");
            }
            // The latest sight of a key lies 2·back + 1 lines back: the window, or one less.
            let mut last = std::collections::HashMap::new();
            for (line, (key, new)) in keys.iter().zip(&new).enumerate() {
                if let Some(before) = last.insert(*key, line)
                    && line - before <= window as usize
                {
                    assert!(!new, "window {window}: line {line}");
                }
            }
        }
    }

    #[test]
    fn one_by_one_and_many_at_once_agree() {
        let windows = [3000, 1 << 17].map(Remember::Window);
        let all = [Remember::All, Remember::Exact, Remember::Within(1 << 20)];
        for remember in all.into_iter().chain(windows) {
            let mut one = Dedupe::new(remember, 0.01).expect("a rate");
            let mut many = one.clone();
            let keys: Vec<u64> = (0..200_000).map(|i| i * i % 70_001).collect();
            let single = sights(&mut one, keys.iter().copied());
            let digests: Vec<_> = keys.iter().map(|key| many.hasher().digest(key)).collect();
            let mut new = vec![false; keys.len()];
            many.first_sights(&digests, &mut new).expect("room");
            assert!(single == new, "{remember:?}");
            assert_eq!((one.keys(), one.duplicates()), (many.keys(), many.duplicates()));
            let [one, many] = [one.wrongly_dropped(), many.wrongly_dropped()];
            assert!((one - many).abs() <= 1e-9 * one, "{remember:?}: {one}, {many}");
        }
    }

    /// A block, and what was said of it.
    struct Told(Sights, Vec<bool>);

    impl AsMut<Sights> for Told {
        fn as_mut(&mut self) -> &mut Sights {
            &mut self.0
        }
    }

    #[test]
    fn blocks_of_any_length_are_one_stream() {
        let windows = [100, 1 << 16, 1 << 21].map(Remember::Window);
        let all = [Remember::All, Remember::Within(1 << 20), Remember::Within(1000)];
        for (remember, shards) in all.into_iter().chain(windows).zip([64, 16, 1, 1, 4, 64]) {
            let mut one = Dedupe::new(remember, 0.01).expect("a rate");
            assert_eq!(one.shards(), Shards(shards), "{remember:?}");
            let mut many = one.clone();
            let keys: Vec<u64> = (0..150_000).map(|i| i * i % 70_001).collect();
            let expected = sights(&mut one, keys.iter().copied());
            let digests: Vec<_> = keys.iter().map(|key| one.hasher().digest(key)).collect();
            let sorted = |block: &[Digest]| {
                let mut sights = Sights::default();
                sights.sort(block, Shards(shards));
                assert!(sights.new_ones().eq(block.iter().map(|_| false)));
                Told(sights, Vec::new())
            };
            let (mut told, mut rest, mut length) = (Vec::new(), &digests[..], 0);
            while !rest.is_empty() {
                // Runs of no blocks, of one, and of several.
                length = (length + 700) % 5600;
                let (run, behind) = rest.split_at(rest.len().min(9 * length));
                let mut run: Vec<Told> = run.chunks(length.max(1)).map(sorted).collect();
                let then = |block: &mut Told| block.1.extend(block.0.new_ones());
                many.first_sights_of(&mut run, then).expect("room");
                run.iter_mut().for_each(|block| told.append(&mut block.1));
                rest = behind;
            }
            assert!(told == expected, "{remember:?}");
            assert_eq!((one.keys(), one.duplicates()), (many.keys(), many.duplicates()));
        }
    }

    #[test]
    fn digests_are_dropped_where_they_take_too_much_memory() {
        // Room for 1 MiB / 17 digests in all shards.
        let (bits, rate) = (1u64 << 23, 0.2);
        let mut stream = Dedupe::new(Remember::ExactWithin(bits), rate).expect("a rate");
        sights(&mut stream, 0..30_000);
        assert!(stream.is_exact());
        assert_eq!((stream.duplicates(), stream.wrongly_dropped()), (0, 0.0));
        sights(&mut stream, 30_000..300_000);
        assert!(!stream.is_exact() && stream.bytes() < bits / 8);
        let (truth, estimate) = (stream.duplicates() as f64, stream.wrongly_dropped());
        assert!(truth > 1000.0 && truth < rate * 270_000.0, "{truth}");
        assert!((estimate / truth - 1.0).abs() < 0.2, "{estimate}, truly {truth}");
    }

    #[test]
    fn no_more_are_wrongly_dropped_than_are_dropped() {
        let mut stream = Dedupe::new(Remember::Within(1 << 16), 0.001).expect("room");
        let half_repeated = (0..200_000u64).map(|i| i / 2);
        sights(&mut stream, half_repeated);
        let truth = stream.duplicates() as f64 - 100_000.0;
        assert!(stream.wrongly_dropped() <= stream.duplicates() as f64);
        assert!(stream.wrongly_dropped() > 0.5 * truth, "{} of {truth}", stream.wrongly_dropped());
    }

    #[test]
    fn blocks_sorted_for_another_memory_are_refused() {
        let mut stream = Dedupe::new(Remember::Window(10), 0.01).expect("a rate");
        let mut sights = Sights::default();
        sights.sort(&[stream.hasher().digest("fig")], Shards(64));
        assert!(stream.first_sights_of(&mut [sights], |_| ()).is_err());
        assert!(stream.first_sight("fig").expect("room"));
    }

    #[test]
    fn a_fixed_memory_stays_and_tells_that_it_is_too_small() {
        let mut stream = Dedupe::new(Remember::Within(1 << 16), 0.01).expect("room");
        sights(&mut stream, 0..4000);
        assert!(stream.rate() < 0.012, "{}", stream.rate());
        let bytes = stream.bytes();
        sights(&mut stream, 4000..40_000);
        assert!(stream.bytes() == bytes && stream.rate() > 0.5, "{}", stream.rate());
    }

    #[test]
    fn a_window_remembers_the_latest_and_stays_as_it_is() {
        let mut stream = Dedupe::new(Remember::Window(1000), 0.01).expect("a rate");
        let bytes = stream.bytes();
        sights(&mut stream, 0..50_000);
        let latest = sights(&mut stream, 49_900..50_000);
        assert!(latest.iter().all(|new| !new));
        let first = sights(&mut stream, 0..1000);
        assert!(first.iter().filter(|new| **new).count() > 900, "long forgotten");
        assert_eq!(stream.bytes(), bytes);
        assert!(Dedupe::new(Remember::Window(0), 0.01).is_err());
        assert!(Dedupe::new(Remember::All, 2.0).is_err());
    }

    #[test]
    fn wrong_drops_are_estimated_as_they_are() {
        for remember in [Remember::All, Remember::Window(2000)] {
            let mut stream = Dedupe::new(remember, 0.05).expect("a rate");
            sights(&mut stream, 0..200_000);
            // All keys are new, so every duplicate was dropped wrongly.
            let (truth, estimate) = (stream.duplicates() as f64, stream.wrongly_dropped());
            assert!(truth > 500.0, "{remember:?}: {truth}");
            assert!(
                (estimate / truth - 1.0).abs() < 0.15,
                "{remember:?}: {estimate}, truly {truth}"
            );
        }
    }
}

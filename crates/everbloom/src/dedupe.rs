//! First sights of a stream: tells keys that are new from keys that came before.
//!
//! | memory | holds | drops a new key | lets a repetition pass |
//! |---|---|---|---|
//! | [`Remember::All`] | all keys, in filters of growing size | at the rate | never |
//! | [`Remember::Within`] | all keys, in a filter of fixed size | at the rate, and more once it is full | never |
//! | [`Remember::Window`] | the latest keys, in fixed memory | at the rate | when it is older than the window |
//! | [`Remember::Exact`] | all keys, and their 128-bit digests | never | never |
//!
//! Keys are hashed once; what the filters hold is the first word of the digest, an integer, which many can be asked
//! for at once ([`BlockedBloom::contains_many_into`]).

use std::collections::{HashSet, VecDeque};

use crate::error::{Error, Result};
use crate::filter::{Filter, Seen};
use crate::hash::{Digest, Hasher, Key};
use crate::membership::BlockedBloom;
use crate::plan::Goal;
use crate::variant::empty;

/// Capacity of the first filter of a growing memory.
const FIRST: u64 = 1 << 16;
/// How much larger the next one is. Every filter is asked for every key, so they are few.
const GROWTH: u64 = 4;
/// Parts of a window that are forgotten at a time.
const PARTS: u64 = 4;
/// The least number of first sights between two looks at the rate.
const LOOK: u64 = 4096;
/// Keys that are looked up at once.
const CHUNK: usize = 1024;

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
}

/// Filters that are asked one after the other, the newest last.
#[derive(Clone, Debug)]
struct Filters {
    filters: VecDeque<BlockedBloom>,
    /// Keys that the newest takes before something happens to it.
    room: u64,
    then: Then,
    /// The rate of each.
    rates: VecDeque<f64>,
}

/// What happens to the newest filter when it has as many keys as planned.
#[derive(Clone, Copy, Debug)]
enum Then {
    /// A larger one follows it. The rates are a geometric series, whose sum is the rate of all.
    Grow { capacity: u64, fpr: f64 },
    /// The oldest is emptied and becomes the newest.
    Turn { capacity: u64 },
    /// It goes on.
    Stay,
}

impl Filters {
    fn new(remember: Remember, fpr: f64) -> Result<Self> {
        let filter = |number: u64, items: u64, fpr: f64| {
            empty::<BlockedBloom>(&Goal::new(items, fpr).seed(number))
        };
        let (filters, room, then) = match remember {
            Remember::All | Remember::Exact => {
                let fpr = fpr / 2.0;
                let first = filter(0, FIRST, fpr)?;
                (VecDeque::from([first]), FIRST, Then::Grow { capacity: FIRST, fpr })
            }
            Remember::Within(bits) => {
                let goal = Goal { bits: Some(bits), fpr: Some(fpr), ..Goal::default() };
                (VecDeque::from([empty::<BlockedBloom>(&goal)?]), u64::MAX, Then::Stay)
            }
            Remember::Window(0) => {
                return Err(Error::parameter("a window of 0: at least 1 key must be remembered"));
            }
            Remember::Window(keys) => {
                let (capacity, fpr) = (keys.div_ceil(PARTS), fpr / (PARTS + 1) as f64);
                let parts = (0..=PARTS).map(|part| filter(part, capacity, fpr));
                (parts.collect::<Result<_>>()?, capacity, Then::Turn { capacity })
            }
        };
        let rates = filters.iter().map(|_| 0.0).collect();
        Ok(Self { filters, room, then, rates })
    }

    /// Makes room in the newest filter.
    fn turn(&mut self) -> Result<()> {
        let measured = self.filters.back().and_then(|newest| newest.now().fpr).unwrap_or(0.0);
        if let Some(rate) = self.rates.back_mut() {
            *rate = measured;
        }
        match &mut self.then {
            Then::Stay => self.room = u64::MAX,
            Then::Grow { capacity, fpr } => {
                (*capacity, *fpr) = (capacity.saturating_mul(GROWTH), *fpr / 2.0);
                let goal = Goal::new(*capacity, *fpr).seed(self.filters.len() as u64);
                self.filters.push_back(empty::<BlockedBloom>(&goal)?);
                self.rates.push_back(0.0);
                self.room = *capacity;
            }
            Then::Turn { capacity } => {
                if let Some(mut oldest) = self.filters.pop_front() {
                    oldest.clear();
                    self.filters.push_back(oldest);
                    self.rates.rotate_left(1);
                }
                self.room = *capacity;
            }
        }
        Ok(())
    }

    /// Writes for each key whether it is new, and takes it in; there is room for as many.
    fn take(&mut self, keys: &[u64], new: &mut [bool]) {
        let mut found = [false; CHUNK];
        let found = &mut found[..keys.len()];
        new.fill(true);
        let newest = self.filters.len() - 1;
        for older in self.filters.range(..newest) {
            older.contains_many_into(keys, found);
            new.iter_mut().zip(&*found).for_each(|(new, found)| *new &= !found);
        }
        // In a window a key that comes again is young again; elsewhere it is enough to have it once.
        let again = matches!(self.then, Then::Turn { .. });
        let filter = &mut self.filters[newest];
        // The lines of all keys are in the cache after this.
        filter.contains_many_into(keys, found);
        for ((key, new), found) in keys.iter().zip(new).zip(&*found) {
            if *found {
                *new = false;
            } else if *new || again {
                *new &= filter.insert(key) == Seen::New;
            }
        }
    }

    /// P(a new key is taken for seen), with the newest filter as it is now.
    fn rate(&self) -> f64 {
        let newest = self.filters.back().and_then(|newest| newest.now().fpr).unwrap_or(0.0);
        let older = self.rates.iter().take(self.rates.len() - 1);
        1.0 - older.fold(1.0 - newest, |pass, rate| pass * (1.0 - rate))
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
    filters: Filters,
    /// All of them, where nothing new may be dropped.
    digests: Option<HashSet<Digest>>,
    keys: u64,
    duplicates: u64,
    /// New keys that were taken for seen, estimated up to the last look at the rate.
    wrong: f64,
    /// First sights since then.
    since: u64,
}

impl Dedupe {
    /// An empty memory. `fpr` is the share of new keys that may be taken for seen; an exact memory uses
    /// it for the keys whose digests are looked up.
    pub fn new(remember: Remember, fpr: f64) -> Result<Self> {
        let digests = (remember == Remember::Exact).then(HashSet::new);
        let (hasher, filters) = (Hasher::default(), Filters::new(remember, fpr)?);
        Ok(Self { hasher, filters, digests, keys: 0, duplicates: 0, wrong: 0.0, since: 0 })
    }

    /// What keys are hashed by, for [`Dedupe::first_sights`].
    pub fn hasher(&self) -> &Hasher {
        &self.hasher
    }

    /// Whether the key is new, as far as this memory can tell; it is remembered.
    pub fn first_sight<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let mut new = [false];
        self.first_sights(&[self.hasher.digest(key)], &mut new)?;
        Ok(new[0])
    }

    /// Writes for each of many keys, in their order, whether it is new; `new` is as long as `digests`, which are
    /// by this memory's own hash.
    pub fn first_sights(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<()> {
        let mut words = [0u64; CHUNK];
        let mut done = 0;
        while done < digests.len() {
            if self.filters.room == 0 {
                self.filters.turn()?;
            }
            let room = usize::try_from(self.filters.room).unwrap_or(usize::MAX);
            let end = digests.len().min(done.saturating_add(CHUNK.min(room)));
            let (digests, new) = (&digests[done..end], &mut new[done..end]);
            let words = &mut words[..digests.len()];
            words.iter_mut().zip(digests).for_each(|(word, digest)| *word = digest.word(0));
            self.filters.take(words, new);
            if let Some(all) = &mut self.digests {
                // A key the filters do not know is new for certain; the others are looked up.
                for (digest, new) in digests.iter().zip(&mut *new) {
                    *new |= all.insert(*digest);
                }
            }
            self.count(new);
            done = end;
        }
        Ok(())
    }

    fn count(&mut self, new: &[bool]) {
        let first = new.iter().filter(|new| **new).count() as u64;
        let taken = match self.filters.then {
            // Repetitions make others old, too.
            Then::Turn { .. } => new.len() as u64,
            Then::Grow { .. } => first,
            Then::Stay => 0,
        };
        self.filters.room = self.filters.room.saturating_sub(taken);
        self.keys += new.len() as u64;
        self.duplicates += new.len() as u64 - first;
        self.since += first;
        // To tell its rate a filter goes through its cells: rarely, as it grows.
        if self.since >= LOOK.max((self.keys - self.duplicates) / 8) {
            (self.wrong, self.since) = (self.wrongly_dropped(), 0);
        }
    }

    /// Keys so far.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Keys that were taken for seen.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// How many of the duplicates were new keys, estimated from the filters' rates over time.
    pub fn wrongly_dropped(&self) -> f64 {
        if self.digests.is_some() {
            return 0.0;
        }
        // Of the new keys, a share of the rate was taken for seen: new = kept/(1 − f).
        let f = self.filters.rate();
        self.wrong + self.since as f64 * f / (1.0 - f).max(1e-9)
    }

    /// The share of new keys that is taken for seen now.
    pub fn rate(&self) -> f64 {
        if self.digests.is_some() { 0.0 } else { self.filters.rate() }
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> u64 {
        let bits: u64 = self.filters.filters.iter().map(|filter| filter.memory().total()).sum();
        // A digest and the table's control byte.
        let digests = self.digests.as_ref().map_or(0, |digests| digests.capacity() as u64 * 17);
        bits / 8 + digests
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
        for remember in [Remember::All, Remember::Exact] {
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
            // Each key again after `window` others, and the pairs in chunks of any length.
            let keys: Vec<u64> =
                (0..6 * window).flat_map(|i| [i, i.saturating_sub(window - 1)]).collect();
            let digests: Vec<_> = keys.iter().map(|key| stream.hasher().digest(key)).collect();
            let mut new = vec![false; keys.len()];
            for (digests, new) in digests.chunks(777).zip(new.chunks_mut(777)) {
                stream.first_sights(digests, new).expect("room");
            }
            // The latest sight of a key lies 2·window − 1 lines back at most; half of that is the window.
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
        for remember in
            [Remember::All, Remember::Exact, Remember::Window(3000), Remember::Within(1 << 20)]
        {
            let mut one = Dedupe::new(remember, 0.01).expect("a rate");
            let mut many = one.clone();
            let keys: Vec<u64> = (0..200_000).map(|i| i * i % 70_001).collect();
            let single = sights(&mut one, keys.iter().copied());
            let digests: Vec<_> = keys.iter().map(|key| many.hasher().digest(key)).collect();
            let mut new = vec![false; keys.len()];
            many.first_sights(&digests, &mut new).expect("room");
            assert!(single == new, "{remember:?}");
            assert_eq!((one.keys(), one.duplicates()), (many.keys(), many.duplicates()));
        }
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

//! First sights of a stream: tells keys that are new from keys that came before.
//!
//! Three kinds of memory, by what is scarce:
//!
//! | memory | holds | drops a new key | lets a repetition pass |
//! |---|---|---|---|
//! | [`Remember::All`] | all keys, in a filter that grows | at the rate | never |
//! | [`Remember::Window`] | the latest keys, in fixed memory | at the rate | when it is forgotten |
//! | [`Remember::Exact`] | all keys, and their 128-bit digests | never | never |

use std::collections::HashSet;

use crate::decaying::Stable;
use crate::error::Result;
use crate::filter::{Filter, Seen};
use crate::growing::Scalable;
use crate::hash::{Digest, Hasher, Key};

/// Capacity of the first layer of a growing filter.
const FIRST: u64 = 1 << 16;
/// The least number of first sights between two looks at the filter's rate.
const LOOK: u64 = 4096;

/// What is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remember {
    /// All keys, in a filter that grows.
    All,
    /// About this many of the latest keys, at least 1, in fixed memory.
    Window(u64),
    /// All keys, in a filter that grows and by their digests.
    Exact,
}

#[derive(Clone, Debug)]
enum Memory {
    All(Scalable),
    Window(Stable),
    Exact(Scalable, HashSet<Digest>),
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
    memory: Memory,
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
        let memory = match remember {
            Remember::All => Memory::All(Scalable::with_rate(FIRST, fpr)?),
            Remember::Window(keys) => Memory::Window(Stable::with_rate(keys, fpr)?),
            Remember::Exact => Memory::Exact(Scalable::with_rate(FIRST, fpr)?, HashSet::new()),
        };
        Ok(Self { memory, keys: 0, duplicates: 0, wrong: 0.0, since: 0 })
    }

    /// Whether the key is new, as far as this memory can tell; it is remembered.
    pub fn first_sight<K: Key + ?Sized>(&mut self, key: &K) -> Result<bool> {
        let new = match &mut self.memory {
            Memory::All(filter) => filter.insert(key)? == Seen::New,
            Memory::Window(filter) => filter.insert(key) == Seen::New,
            Memory::Exact(filter, digests) => {
                // A key the filter does not know is new for certain; the others are looked up.
                let new = filter.insert(key)? == Seen::New;
                digests.insert(Hasher::seeded(1).digest(key)) || new
            }
        };
        self.keys += 1;
        if new {
            self.since += 1;
            // To tell the rate a filter may go through its cells: rarely, as it grows.
            if self.since >= LOOK.max((self.keys - self.duplicates) / 8) {
                (self.wrong, self.since) = (self.wrongly_dropped(), 0);
            }
        } else {
            self.duplicates += 1;
        }
        Ok(new)
    }

    /// Keys so far.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// Keys that were taken for seen.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }

    /// How many of the duplicates were new keys, estimated from the filter's rate over time.
    pub fn wrongly_dropped(&self) -> f64 {
        let rate = match &self.memory {
            Memory::All(filter) => filter.now().fpr,
            Memory::Window(filter) => filter.now().fpr,
            Memory::Exact(..) => None,
        };
        // Of the new keys, a share of the rate was taken for seen: new = kept/(1 − f).
        let f = rate.unwrap_or(0.0);
        self.wrong + self.since as f64 * f / (1.0 - f).max(1e-9)
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> u64 {
        let filter: &dyn Filter = match &self.memory {
            Memory::All(filter) | Memory::Exact(filter, _) => filter,
            Memory::Window(filter) => filter,
        };
        let digests = match &self.memory {
            // A digest and the table's control byte.
            Memory::Exact(_, digests) => digests.capacity() as u64 * 17,
            _ => 0,
        };
        filter.memory().total() / 8 + digests
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
    fn a_window_remembers_the_latest_and_stays_as_it_is() {
        let mut stream = Dedupe::new(Remember::Window(1000), 0.01).expect("a rate");
        let bytes = stream.bytes();
        sights(&mut stream, 0..50_000);
        let latest = sights(&mut stream, 49_900..50_000);
        assert!(latest.iter().filter(|new| **new).count() < 10);
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

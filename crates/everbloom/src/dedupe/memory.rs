//! What one shard of the keys is remembered in.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use super::Remember;
use crate::error::Result;
use crate::filter::{Filter, Seen};
use crate::hash::Digest;
use crate::membership::BlockedBloom;
use crate::plan::Goal;
use crate::variant;

/// Capacity of the first filter of a growing memory, all shards together.
const FIRST: u64 = 1 << 16;
/// How much larger the next one is. Every filter is asked for every key, so they are few.
const GROWTH: u64 = 4;
/// Parts of a window that are forgotten at a time.
const PARTS: u64 = 4;
/// The least number of keys between two looks at the rate, all shards together.
const LOOK: u64 = 4096;
/// Bytes of a digest in a table, with the table's control byte.
const DIGEST: u64 = 17;
/// Keys that are looked up at once.
const CHUNK: usize = 1024;

/// Keys between two turns of a window.
pub(super) fn part_of_window(keys: u64) -> u64 {
    keys.div_ceil(PARTS)
}

/// The filters of all shards, each planned once and then copied: to plan one takes as long as to insert many keys.
#[derive(Debug)]
pub(super) struct Plans {
    remember: Remember,
    fpr: f64,
    shards: u64,
    /// Empty ones, by their numbers.
    empty: Mutex<Vec<BlockedBloom>>,
}

impl Plans {
    pub(super) fn new(remember: Remember, fpr: f64, shards: u64) -> Self {
        Self { remember, fpr, shards, empty: Mutex::default() }
    }

    /// Keys that a filter takes before a larger one follows it.
    fn room(&self, number: usize) -> u64 {
        match self.remember {
            Remember::All | Remember::Exact | Remember::ExactWithin(_) => {
                (FIRST / self.shards).saturating_mul(GROWTH.saturating_pow(number as u32))
            }
            Remember::Within(_) | Remember::Window(_) => u64::MAX,
        }
    }

    fn goal(&self, number: usize) -> Goal {
        let goal = match self.remember {
            // The rates are a geometric series, whose sum is the rate of all.
            Remember::All | Remember::Exact | Remember::ExactWithin(_) => {
                Goal::new(self.room(number), self.fpr / libm::exp2(number as f64 + 1.0))
            }
            Remember::Within(bits) => {
                let bits = Some(bits / self.shards);
                Goal { bits, fpr: Some(self.fpr), ..Goal::default() }
            }
            Remember::Window(keys) => {
                // Shards have more or fewer keys than their share, by the root of it.
                let (part, share) = (part_of_window(keys), part_of_window(keys) / self.shards);
                let items = if share == part { part } else { share + share.isqrt() };
                Goal::new(items, self.fpr / (PARTS + 1) as f64)
            }
        };
        goal.seed(number as u64)
    }

    /// An empty filter.
    fn filter(&self, number: usize) -> Result<BlockedBloom> {
        let mut empty = self.empty.lock().unwrap_or_else(PoisonError::into_inner);
        while empty.len() <= number {
            let next = variant::empty(&self.goal(empty.len()))?;
            empty.push(next);
        }
        Ok(empty[number].clone())
    }
}

/// Filters that are asked one after the other, the newest last.
#[derive(Clone, Debug)]
struct Filters {
    plans: Arc<Plans>,
    filters: VecDeque<BlockedBloom>,
    /// Keys that the newest takes before a larger one follows it.
    room: u64,
    /// The rate of each.
    rates: VecDeque<f64>,
}

impl Filters {
    fn new(plans: Arc<Plans>) -> Result<Self> {
        let first = match plans.remember {
            Remember::Window(_) => PARTS as usize + 1,
            _ => 1,
        };
        let filters = (0..first).map(|number| plans.filter(number)).collect::<Result<_>>()?;
        Ok(Self { room: plans.room(0), plans, filters, rates: vec![0.0; first].into() })
    }

    /// Makes room in the newest filter: a larger one follows it; in a window the oldest is emptied and becomes the newest.
    fn turn(&mut self) -> Result<()> {
        let measured = self.filters.back().and_then(|newest| newest.now().fpr).unwrap_or(0.0);
        if let Some(rate) = self.rates.back_mut() {
            *rate = measured;
        }
        if let Remember::Window(_) = self.plans.remember {
            if let Some(mut oldest) = self.filters.pop_front() {
                oldest.clear();
                self.filters.push_back(oldest);
                self.rates.rotate_left(1);
            }
            return Ok(());
        }
        let number = self.filters.len();
        self.filters.push_back(self.plans.filter(number)?);
        self.rates.push_back(0.0);
        self.room = self.plans.room(number);
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
        let again = matches!(self.plans.remember, Remember::Window(_));
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

/// What is remembered of the keys of a shard.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    filters: Filters,
    /// All of them, while nothing new may be dropped.
    digests: Option<HashSet<Digest>>,
    /// From this many digests on there are none: the filters alone decide.
    most_digests: u64,
    keys: u64,
    /// New keys that were taken for seen, estimated up to the last look at the rate, and the rate then.
    wrong: f64,
    rate: f64,
    /// First sights since then.
    since: u64,
    /// How many keys there are by the next look, and the least number between two.
    next_look: u64,
    look: u64,
}

impl Memory {
    /// An empty memory for one of the shards.
    pub(super) fn new(plans: &Arc<Plans>) -> Result<Self> {
        let most_digests = match plans.remember {
            Remember::Exact => u64::MAX,
            Remember::ExactWithin(bits) => (bits / (8 * DIGEST)) / plans.shards,
            _ => 0,
        };
        let digests = (most_digests > 0).then(HashSet::new);
        let (filters, look) = (Filters::new(Arc::clone(plans))?, LOOK / plans.shards);
        Ok(Self {
            filters,
            digests,
            most_digests,
            keys: 0,
            wrong: 0.0,
            rate: 0.0,
            since: 0,
            next_look: look,
            look,
        })
    }

    /// Whether nothing new is dropped.
    pub(super) fn is_exact(&self) -> bool {
        self.digests.is_some()
    }

    /// Writes for each key, in their order, whether it is new; `new` is as long as `digests`.
    pub(super) fn take(&mut self, digests: &[Digest], new: &mut [bool]) -> Result<()> {
        let mut words = [0u64; CHUNK];
        let mut done = 0;
        while done < digests.len() {
            if self.filters.room == 0 {
                self.filters.turn()?;
            }
            // The estimate does not depend on how many keys come at a time.
            let room = self.filters.room.min(self.next_look - self.keys);
            let end = digests.len().min(done + room.min(CHUNK as u64) as usize);
            let (digests, new) = (&digests[done..end], &mut new[done..end]);
            let words = &mut words[..digests.len()];
            words.iter_mut().zip(digests).for_each(|(word, digest)| *word = digest.word(0));
            self.filters.take(words, new);
            if let Some(all) = &mut self.digests {
                // A key the filters do not know is new for certain; the others are looked up.
                for (digest, new) in digests.iter().zip(&mut *new) {
                    *new |= all.insert(*digest);
                }
                if all.len() as u64 >= self.most_digests {
                    // The filters know all keys, too: without digests they err at their rate.
                    self.digests = None;
                    self.rate = self.filters.rate();
                }
            }
            self.count(new);
            done = end;
        }
        Ok(())
    }

    /// Forgets the oldest part of a window.
    pub(super) fn turn(&mut self) -> Result<()> {
        self.filters.turn()
    }

    fn count(&mut self, new: &[bool]) {
        let first = new.iter().filter(|new| **new).count() as u64;
        if self.filters.room != u64::MAX {
            self.filters.room -= first;
        }
        self.keys += new.len() as u64;
        self.since += first;
        // To tell its rate a filter goes through its cells: rarely, as it grows.
        if self.keys >= self.next_look {
            (self.wrong, self.rate, self.since) = (self.wrongly_dropped(), self.rate(), 0);
            self.next_look = self.keys + self.look.max(self.keys / 8);
        }
    }

    /// How many keys were taken for seen and were new, estimated from the filters' rates over time.
    pub(super) fn wrongly_dropped(&self) -> f64 {
        if self.is_exact() {
            return 0.0;
        }
        // Of the new keys, a share of the rate was taken for seen: new = kept/(1 − f). The rate grew meanwhile.
        let f = (self.rate + self.filters.rate()) / 2.0;
        self.wrong + self.since as f64 * f / (1.0 - f).max(1e-9)
    }

    /// The share of new keys that is taken for seen now.
    pub(super) fn rate(&self) -> f64 {
        if self.is_exact() { 0.0 } else { self.filters.rate() }
    }

    /// Bytes of memory in use.
    pub(super) fn bytes(&self) -> u64 {
        let bits: u64 = self.filters.filters.iter().map(|filter| filter.memory().total()).sum();
        let digests = self.digests.as_ref().map_or(0, |digests| digests.capacity() as u64 * DIGEST);
        bits / 8 + digests
    }
}

//! Interleaved filters, each with the index it is rebuilt from.

use crate::cells::Packed;
use crate::error::Result;
use crate::hash::Digest;
use crate::memory::Words;
use crate::probe::Probe;
use crate::state::{Decoder, Encoder, Role, State, state};

/// Filters side by side: a cell is one position of all of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) cells: Packed,
    pub(super) members: Vec<Member>,
}

state!(plain Group { cells, members });

/// What stands beside a filter: its live keys, and how many others are still in its bits.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub(super) live: u64,
    pub(super) stale: u64,
    /// The digests of live keys, two words each; zeros behind. The first `settled` of them are in order, and so are the
    /// rest, which are few: every key in its place among all of them would move half of them.
    pub(super) keys: Words,
    settled: usize,
}

/// Keys in an order of their own before they join the others.
const RECENT: usize = 512;

impl PartialEq for Member {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |member: &Self| (member.live, member.stale, member.keys.len());
        numbers(self) == numbers(other) && self.in_order() == other.in_order()
    }
}

impl State for Member {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.live.save("live", out);
            self.stale.save("stale", out);
            let length = self.keys.len() as u64;
            if self.settled as u64 == self.live {
                out.array("keys", Role::Auxiliary, length, &self.keys);
            } else {
                let words = || (length, self.in_order().as_flattened().to_vec());
                out.coded("keys", Role::Auxiliary, self.keys.len(), words);
            }
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (live, stale) = (u64::load("live", src)?, u64::load("stale", src)?);
            let (len, keys) = src.array("keys")?;
            if len == keys.len() as u64 {
                // Whether they are in order is checked with the rest.
                return Ok(Self { live, stale, settled: live as usize, keys });
            }
            Err(src.corrupt("an index of another length than it says"))
        })
    }
}

impl Member {
    pub(super) fn blank(capacity: u64) -> Result<Self> {
        let words = usize::try_from(capacity.saturating_mul(2)).unwrap_or(usize::MAX);
        Ok(Self { live: 0, stale: 0, keys: Words::try_zeroed(words)?, settled: 0 })
    }

    /// The digests and the zeros behind them.
    fn pairs(&self) -> &[[u64; 2]] {
        self.keys.as_chunks().0
    }

    fn pairs_mut(&mut self) -> &mut [[u64; 2]] {
        self.keys.make_mut().as_chunks_mut().0
    }

    /// The same with all digests in one order.
    fn in_order(&self) -> Vec<[u64; 2]> {
        let mut pairs = self.pairs().to_vec();
        pairs[..self.live as usize].sort();
        pairs
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Digest> {
        self.pairs()[..self.live as usize].iter().map(|[h1, h2]| Digest { h1: *h1, h2: *h2 })
    }

    /// Where a digest is in the index.
    pub(super) fn find(&self, digest: Digest) -> Option<usize> {
        let (settled, recent) = self.pairs()[..self.live as usize].split_at(self.settled);
        let pair = [digest.h1, digest.h2];
        let among_recent = || recent.binary_search(&pair).ok().map(|at| self.settled + at);
        settled.binary_search(&pair).ok().or_else(among_recent)
    }

    pub(super) fn insert(&mut self, digest: Digest) {
        let (settled, end, pair) = (self.settled, self.live as usize, [digest.h1, digest.h2]);
        let pairs = self.pairs_mut();
        let at = settled + pairs[settled..end].partition_point(|recent| *recent < pair);
        pairs.copy_within(at..end, at + 1);
        pairs[at] = pair;
        self.live += 1;
        if end + 1 - settled == RECENT {
            self.settle();
        }
    }

    /// Brings all digests into one order: two that are so already are merged.
    pub(super) fn settle(&mut self) {
        let live = self.live as usize;
        self.pairs_mut()[..live].sort();
        self.settled = live;
    }

    pub(super) fn remove(&mut self, at: usize) {
        let end = self.live as usize;
        let pairs = self.pairs_mut();
        pairs.copy_within(at + 1..end, at);
        pairs[end - 1] = [0; 2];
        self.settled -= usize::from(at < self.settled);
        self.live -= 1;
        self.stale += 1;
    }

    pub(super) fn fits(&self, capacity: u64) -> bool {
        let used = self.live.checked_add(self.stale).is_some_and(|used| used <= capacity);
        let room = Some(self.keys.len() as u64) == capacity.checked_mul(2);
        used && room
            && self.keys().is_sorted()
            && self.keys[2 * self.live as usize..].iter().all(|word| *word == 0)
    }
}

impl Group {
    /// The filters that claim a key, as a mask.
    pub(super) fn claims(&self, probe: &Probe, digest: Digest) -> u64 {
        let mut mask = u64::MAX;
        probe.all(digest, |i| {
            mask &= self.cells.get(i);
            mask != 0
        });
        mask
    }

    pub(super) fn set(&mut self, probe: &Probe, filter: usize, digest: Digest) {
        probe.each(digest, |i| self.cells.set(i, self.cells.get(i) | 1 << filter));
    }

    /// Makes a filter anew from its live keys.
    pub(super) fn rebuild(&mut self, probe: &Probe, filter: usize) {
        for i in 0..self.cells.len() {
            self.cells.set(i, self.cells.get(i) & !(1 << filter));
        }
        let keys: Vec<Digest> = self.members[filter].keys().collect();
        keys.into_iter().for_each(|digest| self.set(probe, filter, digest));
        self.members[filter].stale = 0;
    }

    /// Share of ones of each filter.
    pub(super) fn fills(&self) -> Vec<f64> {
        let mut ones = vec![0u64; self.members.len()];
        for mask in self.cells.iter() {
            ones.iter_mut().enumerate().for_each(|(j, ones)| *ones += mask >> j & 1);
        }
        ones.into_iter().map(|ones| ones as f64 / self.cells.len() as f64).collect()
    }
}

/// The numbers of the filters in a mask.
pub(super) fn ones(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |j| mask >> j & 1 != 0)
}

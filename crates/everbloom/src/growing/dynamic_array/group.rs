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
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) live: u64,
    pub(super) stale: u64,
    /// The digests of live keys, in order, two words each; zeros behind.
    pub(super) keys: Words,
}

impl State for Member {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.live.save("live", out);
            self.stale.save("stale", out);
            out.array("keys", Role::Auxiliary, self.keys.len() as u64, &self.keys);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (live, stale) = (u64::load("live", src)?, u64::load("stale", src)?);
            let (len, keys) = src.array("keys")?;
            if len == keys.len() as u64 {
                return Ok(Self { live, stale, keys });
            }
            Err(src.corrupt("an index of another length than it says"))
        })
    }
}

impl Member {
    pub(super) fn blank(capacity: u64) -> Result<Self> {
        let words = usize::try_from(capacity.saturating_mul(2)).unwrap_or(usize::MAX);
        Ok(Self { live: 0, stale: 0, keys: Words::try_zeroed(words)? })
    }

    fn key(&self, i: usize) -> Digest {
        Digest { h1: self.keys[2 * i], h2: self.keys[2 * i + 1] }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Digest> {
        (0..self.live as usize).map(|i| self.key(i))
    }

    /// Where a digest is in the index, or where it would be.
    pub(super) fn find(&self, digest: Digest) -> std::result::Result<usize, usize> {
        let (mut low, mut high) = (0, self.live as usize);
        while low < high {
            let middle = (low + high) / 2;
            match self.key(middle).cmp(&digest) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }

    pub(super) fn insert(&mut self, digest: Digest) {
        let at = self.find(digest).unwrap_or_else(|at| at);
        let end = 2 * self.live as usize;
        let keys = self.keys.make_mut();
        keys.copy_within(2 * at..end, 2 * at + 2);
        keys[2 * at..2 * at + 2].copy_from_slice(&[digest.h1, digest.h2]);
        self.live += 1;
    }

    pub(super) fn remove(&mut self, at: usize) {
        let end = 2 * self.live as usize;
        let keys = self.keys.make_mut();
        keys.copy_within(2 * at + 2..end, 2 * at);
        keys[end - 2..end].fill(0);
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

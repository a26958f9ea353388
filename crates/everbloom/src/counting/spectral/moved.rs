//! The second filter of recurring minima, and the markers of the keys that are in it.

use std::cmp::Ordering;

use super::shape::Second;
use crate::cells::{Bits, Code, Elias};
use crate::error::Result;
use crate::hash::Digest;
use crate::parts::tally::Tallies;
use crate::probe::Probe;
use crate::state::state;

/// Salts of the second filter and of the markers, whose hashes are their own.
const SECOND: u64 = 0x3C;
const MARKER: u64 = 0x3D;

/// The second filter, and which keys are in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Moved {
    pub(super) tallies: Tallies<Elias>,
    marker_probe: Probe,
    pub(super) marker: Bits,
}

state!(Moved { ..tallies; marker_probe, marker });

impl Moved {
    pub(super) fn new(Second { m, marker }: Second, k: u32, code: Code) -> Result<Self> {
        Ok(Self {
            tallies: Tallies { probe: Probe::over(m, k), cells: Elias::try_new(m, code)? },
            marker_probe: Probe::over(marker, k),
            marker: Bits::try_new(marker)?,
        })
    }

    fn check(&self) -> Result<()> {
        self.tallies.check_flat()?;
        self.marker_probe.check_flat(self.marker.len())
    }

    /// Whether the key is marked as moved.
    pub(super) fn has(&self, digest: Digest) -> bool {
        self.marker_probe.all(digest.salted(MARKER), |i| self.marker.get(i))
    }

    pub(super) fn mark(&mut self, digest: Digest) {
        let marker = &mut self.marker;
        self.marker_probe.each(digest.salted(MARKER), |i| {
            marker.set(i);
        });
    }

    /// Takes note of a key that was counted `times` more times in the first filter: one whose least counter
    /// there stands alone moves.
    pub(super) fn insert(&mut self, first: &Tallies<Elias>, digest: Digest, times: u64) {
        if self.has(digest) {
            self.tallies.insert_times(digest.salted(SECOND), times);
        } else if let Some(least) = single_minimum(first, digest) {
            self.tallies.insert_times(digest.salted(SECOND), least);
            self.mark(digest);
        }
    }

    /// Counts a marked key once less.
    pub(super) fn remove(&mut self, digest: Digest) {
        if self.has(digest) {
            // Refused where a counter is zero: the marker was another's.
            let _ = self.tallies.remove(digest.salted(SECOND));
        }
    }

    /// The count of a marked key.
    pub(super) fn count(&self, digest: Digest) -> Option<u64> {
        self.has(digest).then(|| self.tallies.count(digest.salted(SECOND)).whole())
    }
}

/// The least of the key's counters, if only one of several distinct cells holds it.
fn single_minimum(first: &Tallies<Elias>, digest: Digest) -> Option<u64> {
    let hits = first.hits(digest);
    let (mut least, mut holders) = (u64::MAX, 0);
    for (cell, hashes) in &hits {
        let count = first.cells.get(*cell) / hashes;
        match count.cmp(&least) {
            Ordering::Less => (least, holders) = (count, 1),
            Ordering::Equal => holders += 1,
            Ordering::Greater => {}
        }
    }
    (holders == 1 && hits.len() > 1).then_some(least)
}

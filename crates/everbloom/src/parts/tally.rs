//! What the counting filters have in common, whatever their counters are made of.
//!
//! Hashes of one key that meet in one cell count once each, in insertion, removal and counting alike
//! (catalogue C1 and part D). A removal looks at all of the key's cells before it changes one.

use smallvec::SmallVec;

use crate::error::{Error, Kind, Result};
use crate::filter::Seen;
use crate::hash::Digest;
use crate::probe::{Coincide, Indices, Probe};

/// Counters of any make.
pub(crate) trait Tally {
    /// The counter at `i`.
    fn get(&self, i: u64) -> u64;

    /// Whether the counter at `i` is above zero, which may be cheaper to tell.
    fn any(&self, i: u64) -> bool {
        self.get(i) != 0
    }

    /// Adds `by` to the counter at `i`; returns whether it was zero.
    fn raise(&mut self, i: u64, by: u64) -> bool;

    /// Takes `by` from the counter at `i`, which holds as much or sticks.
    fn lower(&mut self, i: u64, by: u64);
}

/// A key's distinct cells, each with the number of its hashes that point there.
pub(crate) type Hits = SmallVec<[(u64, u64); 16]>;

pub(crate) fn hits(probe: &Probe, digest: Digest) -> Hits {
    let mut out = Hits::new();
    probe.each(digest, |i| match out.iter_mut().find(|(cell, _)| *cell == i) {
        Some((_, times)) => *times += 1,
        None => out.push((i, 1)),
    });
    out
}

/// Counts a key `times` more times.
pub(crate) fn insert<T: Tally>(tally: &mut T, probe: &Probe, digest: Digest, times: u64) -> Seen {
    let mut new = false;
    for (cell, hashes) in hits(probe, digest) {
        new |= tally.raise(cell, hashes.saturating_mul(times));
    }
    if new { Seen::New } else { Seen::Maybe }
}

/// Counts a key `times` more times by conservative update, also called minimum increase: each of its
/// distinct cells is raised to what the key's count now is at most, and none above that. Its counters
/// are then no sums, so nothing can be taken away again.
pub(crate) fn lift<T: Tally>(tally: &mut T, probe: &Probe, digest: Digest, times: u64) -> Seen {
    let cells = probe.collect(digest, Coincide::Distinct);
    let counts: Indices = cells.iter().map(|&i| tally.get(i)).collect();
    let least = counts.iter().copied().min().unwrap_or(0);
    let lifted = least.saturating_add(times);
    for (&cell, &count) in cells.iter().zip(&counts).filter(|(_, count)| **count < lifted) {
        tally.raise(cell, lifted - count);
    }
    if least == 0 { Seen::New } else { Seen::Maybe }
}

/// Counts a key once less. Refused, with nothing changed, if a counter holds less than the key would take.
pub(crate) fn remove<T: Tally>(tally: &mut T, probe: &Probe, digest: Digest) -> Result<()> {
    let hits = hits(probe, digest);
    if hits.iter().any(|(cell, hashes)| tally.get(*cell) < *hashes) {
        return Err(Error::new(
            Kind::NotDeletable,
            "the key is not in the filter: a counter holds less than its removal would take",
        ));
    }
    hits.iter().for_each(|(cell, hashes)| tally.lower(*cell, *hashes));
    Ok(())
}

/// Whether all of a key's counters are above zero.
#[inline]
pub(crate) fn contains<T: Tally>(tally: &T, probe: &Probe, digest: Digest) -> bool {
    probe.all(digest, |i| tally.any(i))
}

/// How often a key was inserted, as its least counter tells; one that several of the key's hashes share
/// is divided by their number. Stops at the first that says never.
pub(crate) fn count<T: Tally>(tally: &T, probe: &Probe, digest: Digest) -> u64 {
    let mut least = u64::MAX;
    for (cell, hashes) in hits(probe, digest) {
        least = least.min(tally.get(cell) / hashes);
        if least == 0 {
            break;
        }
    }
    least
}

//! Cells that hold sums of ids with multiplicities, and how they are read back.

use super::CHECK;
use crate::cells::Packed;
use crate::error::{Error, Result};
use crate::hash::{Digest, Hasher};
use crate::parts::sum_cells::{MAX_SEGMENTS, MIN_SEGMENTS};
use crate::probe::{Partitioned, Probe};
use crate::state::state;

/// m cells in k segments. A cell is a count, and either the xor of its ids or the sums of ids and of their checks,
/// each as often as the id counts. Sums are 128 bits wide and wrap, so that adding and subtracting undo each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cells {
    pub(super) probe: Probe,
    counts: Packed,
    /// One word per cell, or two: low and high.
    ids: Packed,
    /// None, or two words per cell.
    checks: Packed,
}

state!(Cells { probe, counts, ids, checks });

/// Bits of a cell: 64 for the count, and what follows.
pub(super) fn cell_bits(sums: bool) -> u64 {
    if sums { 320 } else { 128 }
}

impl Cells {
    pub(super) fn new(slice: u64, k: u32, sums: bool) -> Result<Self> {
        let probe = Probe::Partitioned(Partitioned::new(slice, k));
        let (m, wide) = (probe.m(), if sums { 2 * probe.m() } else { 0 });
        Ok(Self {
            probe,
            counts: Packed::try_new(m, 64)?,
            ids: Packed::try_new(wide.max(m), 64)?,
            checks: Packed::try_new(wide, 64)?,
        })
    }

    pub(super) fn sums(&self) -> bool {
        !self.checks.is_empty()
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.counts.len())?;
        let (m, wide) = (self.counts.len(), self.checks.len());
        let widths =
            [&self.counts, &self.ids, &self.checks].iter().all(|cells| cells.width() == 64);
        let lengths = (wide, self.ids.len()) == (0, m)
            || m.checked_mul(2).is_some_and(|two| (wide, self.ids.len()) == (two, two));
        let known = (MIN_SEGMENTS..=MAX_SEGMENTS).contains(&self.probe.k());
        if widths && lengths && known && matches!(self.probe, Probe::Partitioned(_)) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not the cells of an invertible counting filter"))
    }

    pub(super) fn len(&self) -> u64 {
        self.counts.len()
    }

    pub(super) fn count(&self, i: u64) -> i64 {
        self.counts.get(i).cast_signed()
    }

    pub(super) fn is_empty(&self, i: u64) -> bool {
        let quiet = self.counts.get(i) == 0;
        quiet
            && if self.sums() {
                wide(&self.ids, i) == 0 && wide(&self.checks, i) == 0
            } else {
                self.ids.get(i) == 0
            }
    }

    /// Whether an xor of ids is left in some cell.
    pub(super) fn xors(&self) -> bool {
        !self.sums() && self.ids.iter().any(|id| id != 0)
    }

    pub(super) fn used(&self, range: std::ops::Range<u64>) -> u64 {
        range.filter(|i| !self.is_empty(*i)).count() as u64
    }

    /// Counts `by` in all cells of an id; whether one of them was empty. Sums take the id as often; the xor takes it once
    /// if `flip`, since a second time would cancel the first.
    pub(super) fn add(&mut self, digest: Digest, id: u64, by: i64, flip: bool) -> bool {
        let (probe, mut new) = (self.probe, false);
        probe.each(digest, |i| {
            new |= self.is_empty(i);
            self.counts.set(i, self.counts.get(i).wrapping_add(by.cast_unsigned()));
            if self.sums() {
                put(&mut self.ids, i, i128::from(by).wrapping_mul(i128::from(id)));
                let check = i128::from(digest.word(CHECK));
                put(&mut self.checks, i, i128::from(by).wrapping_mul(check));
            } else if flip {
                self.ids.set(i, self.ids.get(i) ^ id);
            }
        });
        new
    }

    /// Cell by cell, these minus others of the same shape, or plus them with `sign` 1: xors are the same either way.
    pub(super) fn combine(&mut self, other: &Cells, sign: i64) {
        for i in 0..self.len() {
            let count = other.count(i).wrapping_mul(sign);
            self.counts.set(i, self.counts.get(i).wrapping_add(count.cast_unsigned()));
            if self.sums() {
                put(&mut self.ids, i, wide(&other.ids, i).wrapping_mul(sign.into()));
                put(&mut self.checks, i, wide(&other.checks, i).wrapping_mul(sign.into()));
            } else {
                self.ids.set(i, self.ids.get(i) ^ other.ids.get(i));
            }
        }
    }

    fn own(&self, digest: Digest, i: u64) -> bool {
        !self.probe.all(digest, |own| own != i)
    }

    /// The id and its multiplicity, if a cell of sums holds only one.
    fn pure_sum(&self, i: u64, hasher: &Hasher) -> Option<(Digest, u64, i64)> {
        let (count, sum) = (self.count(i), wide(&self.ids, i));
        let times = i128::from(count);
        if count == 0 || sum.checked_rem(times) != Some(0) {
            return None;
        }
        let id = u64::try_from(sum.checked_div(times)?).ok().filter(|id| *id > 0)?;
        let digest = hasher.digest(&id);
        let fits = wide(&self.checks, i) == times.wrapping_mul(digest.word(CHECK).into());
        (fits && self.own(digest, i)).then_some((digest, id, count))
    }

    /// The id in a cell of xors and its multiplicity, which `sides` tells: the cell's count may be another key's.
    fn pure_xor(
        &self,
        i: u64,
        hasher: &Hasher,
        sides: &dyn Fn(u64) -> i64,
    ) -> Option<(Digest, u64, i64)> {
        let id = Some(self.ids.get(i)).filter(|id| *id != 0)?;
        let digest = hasher.digest(&id);
        let side = Some(sides(id)).filter(|side| *side != 0 && self.own(digest, i))?;
        Some((digest, id, side))
    }

    /// Peels ids off until no cell is pure; `None` if that does not end. `sides` tells of an id that only one side has how
    /// often, below zero if it is the other side; 0 of all others.
    pub(super) fn peel(
        &mut self,
        hasher: &Hasher,
        sides: &dyn Fn(u64) -> i64,
    ) -> Option<Vec<(u64, i64)>> {
        let pure = |cells: &Cells, i: u64| {
            if cells.sums() { cells.pure_sum(i, hasher) } else { cells.pure_xor(i, hasher, sides) }
        };
        let mut queue: Vec<u64> = (0..self.len()).collect();
        let mut found: Vec<(u64, i64)> = Vec::new();
        while let Some(i) = queue.pop() {
            let Some((digest, id, times)) = pure(self, i) else { continue };
            // An honest difference is peeled in m steps; cells that no difference leaves may go on for ever.
            if found.len() as u64 == 2 * self.len() {
                return None;
            }
            found.push((id, times));
            self.add(digest, id, times.wrapping_neg(), true);
            self.probe.each(digest, |j| queue.push(j));
        }
        Some(found)
    }

    /// The second step of the xor form: cells that are left hold counts alone, of common keys whose multiplicities
    /// differ. A cell in which only one of the `common` ids can be is that id's; best effort, since opposite
    /// differences cancel.
    pub(super) fn settle(
        &mut self,
        hasher: &Hasher,
        common: impl Iterator<Item = u64>,
    ) -> Vec<(u64, i64)> {
        let digests = common.map(|id| (id, hasher.digest(&id)));
        let candidates: Vec<(u64, Digest)> =
            digests.filter(|(_, digest)| self.probe.all(*digest, |i| self.count(i) != 0)).collect();
        let cells = self.len() as usize;
        let (mut degree, mut xor) = (vec![0u32; cells], vec![0usize; cells]);
        let mut single = Vec::new();
        for (number, (_, digest)) in candidates.iter().enumerate() {
            self.probe.each(*digest, |i| {
                degree[i as usize] += 1;
                xor[i as usize] ^= number;
                single.push(i);
            });
        }
        let mut found = Vec::new();
        while let Some(i) = single.pop() {
            if degree[i as usize] != 1 {
                continue;
            }
            let (id, digest) = candidates[xor[i as usize]];
            let (number, difference) = (xor[i as usize], self.count(i));
            if difference != 0 {
                found.push((id, difference));
                self.add(digest, id, difference.wrapping_neg(), false);
            }
            self.probe.each(digest, |j| {
                degree[j as usize] -= 1;
                xor[j as usize] ^= number;
                single.push(j);
            });
        }
        found
    }
}

/// The 128-bit number of cell `i`.
fn wide(words: &Packed, i: u64) -> i128 {
    (u128::from(words.get(2 * i)) | u128::from(words.get(2 * i + 1)) << 64).cast_signed()
}

/// Adds to the 128-bit number of cell `i`.
fn put(words: &mut Packed, i: u64, by: i128) {
    let sum = wide(words, i).wrapping_add(by).cast_unsigned();
    words.set(2 * i, sum as u64);
    words.set(2 * i + 1, (sum >> 64) as u64);
}

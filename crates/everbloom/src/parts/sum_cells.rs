//! Cells that add, with one cell of a key in each of k segments, and how what they hold is read back.
//!
//! A cell with a single content left is pure: its count is ±1 and its check is that of its content. Taking the
//! content out of all its cells may leave others pure, and so on until all are empty, or none is pure.
//!
//! A count of ±1 alone proves nothing: x + y − w has it too. The check tells them apart, and it must not
//! be linear (with a CRC, check(x)⊕check(y)⊕check(w) = check(x⊕y⊕w), and every odd mixture looks pure).

use std::collections::HashSet;

use crate::cells::{Cell, Sums};
use crate::error::{Error, Result};
use crate::filter::{Ability, Form, Param, Preset};
use crate::hash::Digest;
use crate::probe::{Partitioned, Probe};
use crate::state::state;

/// The numbers of segments that [`cells_for`](crate::theory::peeling::cells_for) knows.
pub(crate) const MIN_SEGMENTS: u32 = 3;
pub(crate) const MAX_SEGMENTS: u32 = 7;

/// k.
pub(crate) const fn param_k(help: &'static str, default: u64) -> Param {
    Param::integer("k", MIN_SEGMENTS as u64, MAX_SEGMENTS as u64, help).or(Preset::Integer(default))
}

/// A form whose differences are read back, without false negatives while `condition` holds.
pub(crate) const fn form(name: &'static str, condition: &'static str) -> Form {
    let abilities =
        &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::Reconcile];
    Form::exact_while(name, abilities, condition)
}

/// The salt of checks: beyond the probes, which use the words 0..k.
pub(crate) const CHECK: u64 = 1 << 32;

/// Where a content is, and the check of what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) digest: Digest,
    pub(crate) check: u64,
}

/// An array of cells in k segments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SumCells {
    pub(crate) probe: Probe,
    pub(crate) cells: Sums,
}

state!(SumCells { probe, cells });
state!(inline SumCells { probe, cells });

impl SumCells {
    /// `k` segments of `slice` empty cells for contents of `width` words.
    pub(crate) fn new(slice: u64, k: u32, width: u64) -> Result<Self> {
        let probe = Probe::Partitioned(Partitioned::new(slice, k));
        Ok(Self { cells: Sums::try_new(probe.m(), width)?, probe })
    }

    /// Adds a content `count` times (±1) to its cells; whether one of them was empty before.
    pub(crate) fn add(&mut self, place: Place, content: &[u64], count: i64) -> bool {
        let (cells, mut new) = (&mut self.cells, false);
        self.probe.each(place.digest, |i| {
            new |= cells.get(i).is_empty();
            cells.add(i, count, content, place.check);
        });
        new
    }

    /// What a pure cell holds, if this is one: a single content, added or taken away once, in a cell of its own.
    /// `place` tells the place of a content, if it is one at all.
    pub(crate) fn pure(
        &self,
        i: u64,
        place: impl Fn(&[u64]) -> Option<Place>,
    ) -> Option<(Place, Cell<'_>)> {
        let cell = self.cells.get(i);
        if !matches!(cell.count, 1 | -1) {
            return None;
        }
        let place = place(cell.content)?;
        // Beyond count and check, it is one of the content's own cells: a mixture that passes the check by
        // chance hardly ever lands there as well.
        let own = place.check == cell.check && !self.probe.all(place.digest, |own| own != i);
        own.then_some((place, cell))
    }

    /// Takes one content after another out of the cells and hands each to `found` with its sign. Returns the cells that
    /// are left: what was found means something only if all of them are empty.
    pub(crate) fn drain(
        mut self,
        place: impl Fn(&[u64]) -> Option<Place>,
        mut found: impl FnMut(&[u64], i64),
    ) -> Self {
        let pure = |cells: &Self, i: u64| cells.pure(i, &place).is_some();
        let mut queue: Vec<u64> = (0..self.cells.len()).filter(|&i| pure(&self, i)).collect();
        // Honest cells are drained in at most m steps. Those that no insertions leave can put a content back as
        // often as it is taken out: the cap ends that.
        let mut steps = 2 * self.cells.len();
        let mut content = Vec::new();
        while let Some(i) = queue.pop() {
            // Another cell may have told this content since.
            let Some((place, cell)) = self.pure(i, &place) else { continue };
            if steps == 0 {
                break;
            }
            steps -= 1;
            content.clear();
            content.extend_from_slice(cell.content);
            let count = cell.count;
            found(&content, count);
            self.add(place, &content, -count);
            self.probe.each(place.digest, |j| queue.push(j));
        }
        self
    }

    /// Whether a key seems to be there more than once, which more cells would not help. It cancels itself, so that
    /// `nameless` finds no key in the content, and its cells in all segments hold the same.
    pub(crate) fn repeated(&self, nameless: impl Fn(&[u64]) -> bool) -> bool {
        let sums = |segment: std::ops::Range<u64>| -> HashSet<(i64, u64)> {
            let cells = segment.map(|i| self.cells.get(i));
            let held = cells.filter(|cell| !cell.is_empty() && nameless(cell.content));
            held.map(|cell| (cell.count, cell.check)).collect()
        };
        let common = self.segments().map(sums).reduce(|common, here| &common & &here);
        common.is_some_and(|common| !common.is_empty())
    }

    /// The cells of each segment.
    pub(crate) fn segments(&self) -> impl Iterator<Item = std::ops::Range<u64>> + use<> {
        let k = u64::from(self.probe.k());
        let slice = self.probe.m() / k;
        (0..k).map(move |j| j * slice..(j + 1) * slice)
    }

    /// The chance that a foreign key meets a cell for which `holds` in every segment.
    pub(crate) fn in_all(&self, holds: impl Fn(u64) -> bool) -> f64 {
        let share = |segment: std::ops::Range<u64>| {
            let len = segment.end - segment.start;
            segment.filter(|i| holds(*i)).count() as f64 / len as f64
        };
        self.segments().map(share).product()
    }

    /// How many cells hold anything.
    pub(crate) fn used(&self) -> u64 {
        self.cells.iter().filter(|cell| !cell.is_empty()).count() as u64
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.cells.len())?;
        let known = (MIN_SEGMENTS..=MAX_SEGMENTS).contains(&self.probe.k());
        if known && matches!(self.probe, Probe::Partitioned(_)) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: not the probes of an invertible filter"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;

    fn place(content: &[u64]) -> Option<Place> {
        let digest = Hasher::default().digest(&content[0]);
        Some(Place { digest, check: digest.word(CHECK) })
    }

    fn drained(cells: &SumCells) -> Option<Vec<(u64, i64)>> {
        let mut found = Vec::new();
        let left = cells.clone().drain(place, |content, sign| found.push((content[1], sign)));
        found.sort_unstable();
        (left.used() == 0).then_some(found)
    }

    #[test]
    fn contents_come_back_with_their_signs() {
        let mut cells = SumCells::new(10, 4, 2).unwrap();
        for (id, sign) in [(1, 1), (2, 1), (3, -1)] {
            cells.add(place(&[id]).unwrap(), &[id, 10 * id], sign);
        }
        assert_eq!(drained(&cells), Some(vec![(10, 1), (20, 1), (30, -1)]));
        assert!((cells.in_all(|i| !cells.cells.get(i).is_empty()) - 0.3f64.powi(4)).abs() < 0.02);
        // What was added twice leaves a count and no content.
        cells.add(place(&[1]).unwrap(), &[1, 10], 1);
        assert_eq!(drained(&cells), None);
        let left = |cells: &SumCells| cells.clone().drain(place, |_, _| {});
        assert!(left(&cells).repeated(|content| content[0] == 0));
        // Too many contents hide each other, and none is there twice.
        let mut crowded = SumCells::new(2, 3, 2).unwrap();
        (1..20).for_each(|id| _ = crowded.add(place(&[id]).unwrap(), &[id, 10 * id], 1));
        assert!(left(&crowded).used() > 0 && !left(&crowded).repeated(|content| content[0] == 0));
    }

    /// A content in only one of its cells: taking it out puts it into the others, and so on for ever.
    #[test]
    fn cells_that_no_insertions_leave_end_in_an_error() {
        let mut cells = SumCells::new(10, 4, 2).unwrap();
        let at = place(&[7]).unwrap();
        let first = cells.probe.nth(0, at.digest);
        cells.cells.add(first, 1, &[7, 70], at.check);
        assert_eq!(drained(&cells), None);
    }

    #[test]
    fn a_pure_looking_cell_that_is_not_the_contents_own_is_not_pure() {
        let mut cells = SumCells::new(10, 4, 2).unwrap();
        let at = place(&[9]).unwrap();
        let foreign = (0..40).find(|&i| cells.probe.all(at.digest, |own| own != i)).unwrap();
        cells.cells.add(foreign, 1, &[9, 90], at.check);
        assert!(cells.pure(foreign, place).is_none());
    }
}

//! One array of cells, and how ids are read back from it.

use super::{CHECK, MAX_K, MIN_K};
use crate::cells::{Cell, Sums};
use crate::error::{Error, Result};
use crate::hash::{Digest, Hasher};
use crate::probe::{Partitioned, Probe};
use crate::state::state;

/// One array of cells, in k segments.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layer {
    pub(super) probe: Probe,
    pub(super) cells: Sums,
}

state!(Layer { probe, cells });

impl Layer {
    pub(super) fn new(slice: u64, k: u32) -> Result<Self> {
        let probe = Probe::Partitioned(Partitioned::new(slice, k));
        Ok(Self { cells: Sums::try_new(probe.m())?, probe })
    }

    /// Adds an id `count` times (±1) to its cells; whether one of them was empty before.
    pub(super) fn add(&mut self, digest: Digest, id: u64, count: i64) -> bool {
        let (cells, mut new) = (&mut self.cells, false);
        self.probe.each(digest, |i| {
            new |= cells.get(i).is_empty();
            cells.add(i, count, id, digest.word(CHECK));
        });
        new
    }

    /// The ids in the cells, each with its sign; `None` if they cannot be told apart.
    pub(super) fn decode(mut self, hasher: &Hasher) -> Option<Vec<(u64, i64)>> {
        // Beyond count and check, a pure cell is one of the id's own: a mixture that passes the check
        // by chance hardly ever lands there as well.
        let pure = |layer: &Layer, i: u64| {
            let Cell { count: count @ (1 | -1), id, check } = layer.cells.get(i) else {
                return None;
            };
            let digest = hasher.digest(&id);
            let own = digest.word(CHECK) == check && !layer.probe.all(digest, |own| own != i);
            own.then_some((digest, id, count))
        };
        let mut queue: Vec<u64> =
            (0..self.cells.len()).filter(|&i| pure(&self, i).is_some()).collect();
        let mut found = Vec::new();
        // An honest difference is peeled in at most m steps. Cells that no difference leaves can put an
        // id back as often as it is taken out: the cap ends that.
        let cap = 2 * self.cells.len();
        while let Some(i) = queue.pop() {
            // Another cell may have told this id since.
            let Some((digest, id, count)) = pure(&self, i) else { continue };
            if found.len() as u64 == cap {
                return None;
            }
            found.push((id, count));
            self.add(digest, id, -count);
            self.probe.each(digest, |j| queue.push(j));
        }
        found.sort_unstable();
        let twice = found.windows(2).any(|pair| pair[0].0 == pair[1].0);
        (!twice && self.cells.iter().all(|cell| cell.is_empty())).then_some(found)
    }

    /// The product of the segments' fills: the chance that a foreign id meets no empty cell.
    pub(super) fn fpr(&self) -> f64 {
        let slice = self.probe.m() / u64::from(self.probe.k());
        let segments = (0..u64::from(self.probe.k())).map(|j| j * slice..(j + 1) * slice);
        segments.map(|segment| self.used(segment) as f64 / slice as f64).product()
    }

    pub(super) fn used(&self, range: std::ops::Range<u64>) -> u64 {
        range.filter(|&i| !self.cells.get(i).is_empty()).count() as u64
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.cells.len())?;
        let known = (MIN_K..=MAX_K).contains(&self.probe.k());
        if known && matches!(self.probe, Probe::Partitioned(_)) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: not the probes of an invertible filter"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Invertible;
    use super::*;
    use crate::error::Kind;

    /// An id in only one of its cells: taking it out puts it into the others, and so on for ever.
    #[test]
    fn cells_that_no_difference_leaves_end_in_an_error() {
        let mut filter = Invertible::with_shape(40, 4, Hasher::default()).unwrap();
        let (digest, layer) = filter.locate(7);
        let Layer { probe, cells } = &mut filter.layers[layer];
        let mut first = None;
        probe.each(digest, |i| _ = first.get_or_insert(i));
        cells.add(first.unwrap_or(0), 1, 7, digest.word(CHECK));
        assert_eq!(filter.decode().map_err(|e| e.kind()), Err(Kind::Undecodable));
    }

    #[test]
    fn a_pure_looking_cell_that_is_not_the_ids_own_is_not_pure() {
        let mut filter = Invertible::with_shape(40, 4, Hasher::default()).unwrap();
        filter.insert_id(7);
        let (digest, layer) = filter.locate(9);
        let Layer { probe, cells } = &mut filter.layers[layer];
        let foreign = (0..40).find(|&i| probe.all(digest, |own| own != i)).unwrap_or(0);
        cells.add(foreign, 1, 9, digest.word(CHECK));
        assert_eq!(filter.decode().map_err(|e| e.kind()), Err(Kind::Undecodable));
    }
}

//! Finding the cells: keys are peeled off from both ends at once, and cells are settled the other way round.
//!
//! ```text
//!   cells   │ ▷ ▷ ▷ ▷ ▷ ▷ ▷ ▷ ▷ ▷ ▷ ◇ │ ◇ ◁ ◁ ◁ ◁ ◁ ◁ ◁ ◁ ◁ ◁ ◁ │
//!           0                      middle                      end
//! ```
//!
//! In the middle of the array there are too many keys per cell to begin; what peels is the ends, where
//! fewer overlap, then what they leave, and so on inwards: two waves, each in its half. A key with cells on
//! both sides of the middle (◇) waits until both have come to their end. So the halves never touch the same
//! cell, and peeling and settling are two cores' work: half of the time. The other half, hashing, grouping and counting, is
//! that of all cores. A third wave would need an end of its own, two empty segments in the middle, and every query would have
//! to step over it: a fifth more time for each, which was measured and is not worth it.
//!
//! One core does the same one half after the other. The order in which keys are peeled, and with it every
//! bit of the filter, does not depend on how many there are.

use super::geometry::{COUNT, Geometry};
use crate::cells::{Fields, Packed, View};
use crate::memory::Words;
use crate::solve::{IN_GROUP, grouped_hashes};
use crate::threads::Cores;

/// The keys in the order in which they were peeled: each the hash, and the number of its own cell in the
/// bits that are free.
pub(super) struct Order {
    /// Keys of the lower half, then of the upper; in between there may be room.
    halves: Words,
    lower: usize,
    upper: std::ops::Range<usize>,
    /// Those across the middle, and those that waited for them: after both halves.
    rest: Vec<u64>,
}

impl Order {
    /// How many keys there are.
    pub(super) fn len(&self) -> usize {
        self.lower + self.upper.len() + self.rest.len()
    }
}

/// Peels the keys of these digests off their cells, hashed by `hash`; `None` if some are left.
pub(super) fn peel<const A: usize>(
    geometry: &Geometry,
    digests: &[u64],
    hash: impl Fn(u64) -> u64 + Sync,
    cores: Cores,
) -> Option<Order> {
    let mut halves = grouped_hashes(digests, hash, cores);
    let mut cells = Words::zeroed(geometry.cells() as usize);
    let (middle, geometry) = (geometry.middle(), *geometry);
    let segments = (geometry.cells() / geometry.segment) as usize;
    let share = segments.div_ceil(cores.count()).max(1) * geometry.segment as usize;
    let shares = (0..).step_by(share).zip(cells.make_mut().chunks_mut(share));
    let counted =
        cores.map(shares, |(start, cells)| Range { geometry, cells, start }.count::<A>(&halves));
    if !counted.into_iter().all(|fits| fits) {
        return None;
    }
    let (low, high) = cells.make_mut().split_at_mut(middle);
    // As many keys begin in the lower half as may be peeled there. Only in one group some do and some don't.
    let whole = halves.partition_point(|hash| geometry.first(hash | IN_GROUP) < middle);
    let group =
        halves[whole..].iter().take_while(|hash| geometry.first(**hash & !IN_GROUP) < middle);
    let begin_low = whole + group.filter(|hash| geometry.first(**hash) < middle).count();
    let (lower, upper) = halves.make_mut().split_at_mut(begin_low);
    let (lower, upper) = cores.both(
        || Range { geometry, cells: low, start: 0 }.peel::<A>(lower),
        || Range { geometry, cells: high, start: middle }.peel::<A>(upper),
    );
    let rest = peel_rest::<A>(&geometry, cells.make_mut(), [lower.waiting, upper.waiting].concat());
    let order =
        Order { halves, lower: lower.peeled, upper: begin_low..begin_low + upper.peeled, rest };
    (order.len() == digests.len()).then_some(order)
}

/// Cells that follow each other, from the beginning of a segment on.
struct Range<'a> {
    geometry: Geometry,
    cells: &'a mut [u64],
    /// The number of the first.
    start: usize,
}

/// What came of peeling a half.
struct Peeled {
    peeled: usize,
    /// Cells with one key, which has others in the other half.
    waiting: Vec<usize>,
}

impl Range<'_> {
    /// Adds every key to those of its cells that are in this range: the exclusive or of the hashes, and in
    /// the last bits their number. Whether no cell has too many.
    fn count<const A: usize>(self, hashes: &[u64]) -> bool {
        let hashes = self.near::<A>(hashes);
        let Self { geometry, cells, start } = self;
        let mut overflow = false;
        for &hash in hashes {
            for at in geometry.around_from::<A>(start, hash) {
                // Near its two ends not all are in the range.
                if let Some(cell) = cells.get_mut(at) {
                    *cell = (*cell ^ hash).wrapping_add(1);
                    overflow |= *cell & COUNT == 0;
                }
            }
        }
        !overflow
    }

    /// The part of the hashes in which all are that may have a cell here. They are in groups by their
    /// leading bits, and the first cell goes by these.
    fn near<'h, const A: usize>(&self, hashes: &'h [u64]) -> &'h [u64] {
        let segment = self.geometry.segment as usize;
        let (start, end) = (self.start, self.start + self.cells.len());
        let before = |hash: &u64| self.geometry.first(*hash | IN_GROUP) + A * segment <= start;
        let here = |hash: &u64| self.geometry.first(*hash & !IN_GROUP) < end;
        let from = hashes.partition_point(before);
        &hashes[from..from + hashes[from..].partition_point(here)]
    }

    /// Peels the keys that have all their cells in this range, a half.
    ///
    /// Segment by segment from the outer end, first come, first served: the cells at work stay in the near
    /// caches, and the next steps do not wait for the last one, as they would on a stack. A cell becomes
    /// single once, so the queue never holds more than all; pages it does not reach cost nothing.
    fn peel<const A: usize>(self, order: &mut [u64]) -> Peeled {
        let Self { geometry, cells, start } = self;
        let (len, segment) = (cells.len(), geometry.segment as usize);
        let segments = len / segment;
        let mut single = vec![0usize; len + 1];
        let (mut peeled, mut waiting) = (0, Vec::new());
        for i in 0..segments {
            let i = if start == 0 { i } else { segments - 1 - i };
            let (mut next, mut last) = (0, 0);
            for (at, cell) in (i * segment..).zip(&cells[i * segment..][..segment]) {
                // Written whether it counts or not: nobody could predict which.
                single[last] = at;
                last += usize::from(cell & COUNT == 1);
            }
            while next < last {
                let own = single[next];
                next += 1;
                let cell = cells[own];
                // Its last key may have been peeled from another cell since.
                if cell & COUNT != 1 {
                    continue;
                }
                let hash = cell & !COUNT;
                let around = geometry.around_from::<A>(start, hash);
                if around[0] >= len || around[A - 1] >= len {
                    waiting.push(start + own);
                    continue;
                }
                let mut slot = 0;
                for (j, at) in around.into_iter().enumerate() {
                    let left = (cells[at] - 1) ^ hash;
                    cells[at] = left;
                    slot |= if at == own { j as u64 } else { 0 };
                    single[last] = at;
                    last += usize::from(left & COUNT == 1);
                }
                order[peeled] = hash | slot;
                peeled += 1;
            }
        }
        Peeled { peeled, waiting }
    }
}

/// Peels what is left after both halves, from the cells that wait with a single key.
fn peel_rest<const A: usize>(
    geometry: &Geometry,
    cells: &mut [u64],
    mut single: Vec<usize>,
) -> Vec<u64> {
    let (mut next, mut order) = (0, Vec::new());
    while let Some(&own) = single.get(next) {
        next += 1;
        if cells[own] & COUNT != 1 {
            continue;
        }
        let hash = cells[own] & !COUNT;
        let mut slot = 0;
        for (j, at) in geometry.around::<A>(hash).into_iter().enumerate() {
            cells[at] = (cells[at] - 1) ^ hash;
            slot |= if at == own { j as u64 } else { 0 };
            if cells[at] & COUNT == 1 {
                single.push(at);
            }
        }
        order.push(hash | slot);
    }
    order
}

/// Settles the cells in the reverse order, with what `fingerprint` makes of a hash.
pub(super) fn settle<const A: usize>(
    geometry: &Geometry,
    order: &Order,
    fingerprint: impl Fn(u64) -> u64 + Sync,
    cells: &mut Packed,
    cores: Cores,
) {
    let settle = Settle::<A, _> { geometry, fingerprint, cores };
    match cells.split_mut(geometry.middle() as u64) {
        View::Bytes([low, high]) => settle.all(order, low, high),
        View::Shorts([low, high]) => settle.all(order, low, high),
        View::Any([mut low, mut high]) => settle.all(order, &mut low, &mut high),
    }
}

struct Settle<'a, const A: usize, P> {
    geometry: &'a Geometry,
    fingerprint: P,
    cores: Cores,
}

impl<const A: usize, P: Fn(u64) -> u64 + Sync> Settle<'_, A, P> {
    /// All keys: the rest, of which every half needs some, and then the halves.
    fn all<F: Fields + ?Sized + Send>(&self, order: &Order, low: &mut F, high: &mut F) {
        let middle = self.geometry.middle();
        for (around, slot, fingerprint) in self.reversed(&order.rest, 0) {
            let others = around.into_iter().fold(0, |xor, at| {
                xor ^ if at < middle { low.at(at) } else { high.at(at - middle) }.unwrap_or(0)
            });
            let (own, value) = (around[slot], others ^ fingerprint);
            if own < middle { low.put(own, value) } else { high.put(own - middle, value) }
        }
        self.cores.both(
            || self.half(&order.halves[..order.lower], low, 0),
            || self.half(&order.halves[order.upper.clone()], high, middle),
        );
    }

    /// The keys of a half, which begins at `start`: each finds the others of its cells settled, and its own
    /// still zero.
    fn half<F: Fields + ?Sized>(&self, order: &[u64], cells: &mut F, start: usize) {
        for (around, slot, fingerprint) in self.reversed(order, start) {
            let others = around.iter().fold(0, |xor, at| xor ^ cells.at(*at).unwrap_or(0));
            cells.put(around[slot], others ^ fingerprint);
        }
    }

    /// Cells from `start` on, number of the own one and fingerprint of each key, from the last.
    fn reversed(
        &self,
        order: &[u64],
        start: usize,
    ) -> impl Iterator<Item = ([usize; A], usize, u64)> {
        let geometry = *self.geometry;
        order.iter().rev().map(move |entry| {
            let (hash, slot) = (entry & !COUNT, (entry & COUNT) as usize);
            (geometry.around_from(start, hash), slot, (self.fingerprint)(hash))
        })
    }
}

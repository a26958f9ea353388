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
//! cell, and peeling and settling are two cores' work. A third wave would need an end of its own, two empty segments in
//! the middle, and every query would have to step over it: a fifth more time for each where the cells fit a cache. Filters
//! so large that this is nothing beside the wait for memory are in parts, each with two ends, and a core has one after the
//! other, or a half of it.
//!
//! One core does the same one half after the other. The order in which keys are peeled, and with it every
//! bit of the filter, does not depend on how many there are.

use super::shape::{COUNT, Geometry};
use crate::cells::{Fields, Packed, PackedPart, View};
use crate::memory::Words;
use crate::solve::{IN_GROUP, grouped_hashes};
use crate::threads::Cores;

/// The cells of `r` bits of which those of every key add up to what `fingerprint` makes of its hash; `None` if some keys do not
/// peel. The hashes are what `hash` makes of these digests.
pub(super) fn solve<const A: usize>(
    geometry: &Geometry,
    r: u32,
    digests: &[u64],
    hash: impl Fn(u64) -> u64 + Sync,
    fingerprint: impl Fn(u64) -> u64 + Copy + Sync,
    cores: Cores,
) -> Option<Packed> {
    let mut hashes = grouped_hashes(digests, hash, cores);
    let mut cells = Packed::new(geometry.cells(), r);
    let fields = cells.parts_mut(geometry.part_cells());
    let cores_of_each = cores.of_each(fields.len());
    let solve = |(fields, (start, hashes)): (PackedPart<'_>, (usize, &mut [u64]))| {
        let part = Part { geometry, start, cells: fields.len(), cores: cores_of_each };
        let order = part.peel::<A>(hashes)?;
        part.settle::<A>(&order, fingerprint, fields);
        Some(())
    };
    let parts = fields.into_iter().zip(by_part(geometry, hashes.make_mut()));
    cores.map(parts, solve).into_iter().collect::<Option<()>>()?;
    Some(cells)
}

/// The first start of every part, and its keys.
fn by_part<'a>(geometry: &Geometry, mut hashes: &'a mut [u64]) -> Vec<(usize, &'a mut [u64])> {
    let mut all = Vec::new();
    let mut starts = geometry.parts().peekable();
    while let Some(start) = starts.next() {
        let end = starts.peek().copied().unwrap_or(usize::MAX);
        let at = divide(geometry, hashes, end);
        let (now, later) = std::mem::take(&mut hashes).split_at_mut(at);
        all.push((start, now));
        hashes = later;
    }
    all
}

/// Puts the keys that begin before `start` in front of the others, and tells how many they are.
///
/// The hashes are in groups by their leading bits, and where a key begins goes by these: only in one group some begin before
/// and some don't.
fn divide(geometry: &Geometry, hashes: &mut [u64], start: usize) -> usize {
    let whole = hashes.partition_point(|hash| geometry.first(hash | IN_GROUP) < start);
    let group = hashes[whole..].partition_point(|hash| geometry.first(hash & !IN_GROUP) < start);
    let mut before = whole;
    for i in whole..whole + group {
        if geometry.first(hashes[i]) < start {
            hashes.swap(before, i);
            before += 1;
        }
    }
    before
}

/// Cells that share no key with others.
struct Part<'a> {
    geometry: &'a Geometry,
    /// The first start.
    start: usize,
    /// How many cells there are.
    cells: usize,
    cores: Cores,
}

/// The keys of a part in the order in which they were peeled: each the hash, and the number of its own cell in the
/// bits that are free.
struct Order<'a> {
    lower: &'a [u64],
    upper: &'a [u64],
    /// Those across the middle, and those that waited for them: after both halves.
    rest: Vec<u64>,
}

impl Part<'_> {
    /// Peels the keys off their cells, and puts them in that order; `None` if some are left.
    fn peel<'h, const A: usize>(&self, hashes: &'h mut [u64]) -> Option<Order<'h>> {
        let Self { geometry, start, cores, .. } = *self;
        let (keys, middle) = (hashes.len(), geometry.middle(self.cells));
        let mut cells = Words::zeroed(self.cells);
        let segment = geometry.segment as usize;
        let share = (self.cells / segment).div_ceil(cores.count()).max(1) * segment;
        let shares = (start..).step_by(share).zip(cells.make_mut().chunks_mut(share));
        let counted =
            cores.map(shares, |(start, cells)| Range { geometry, cells, start }.count::<A>(hashes));
        if !counted.into_iter().all(|fits| fits) {
            return None;
        }
        let (low, high) = cells.make_mut().split_at_mut(middle);
        // As many keys begin in the lower half as may be peeled there.
        let begin_low = divide(geometry, hashes, start + middle);
        let (lower, upper) = hashes.split_at_mut(begin_low);
        // Short segments are all in the upper half, and peeled as the only one.
        let end = if middle == 0 { End::Low } else { End::High };
        let (low, high) = cores.both(
            || Range { geometry, cells: low, start }.peel::<A>(End::Low, lower),
            || Range { geometry, cells: high, start: start + middle }.peel::<A>(end, upper),
        );
        let rest = self.peel_rest::<A>(cells.make_mut(), [low.waiting, high.waiting].concat());
        let (lower, upper) = (&lower[..low.peeled], &upper[..high.peeled]);
        (lower.len() + upper.len() + rest.len() == keys).then_some(Order { lower, upper, rest })
    }

    /// Peels what is left after both halves, from the cells that wait with a single key.
    fn peel_rest<const A: usize>(&self, cells: &mut [u64], waiting: Vec<usize>) -> Vec<u64> {
        let mut single: Vec<usize> = waiting.into_iter().map(|at| at - self.start).collect();
        let (mut next, mut order) = (0, Vec::new());
        while let Some(&own) = single.get(next) {
            next += 1;
            if cells[own] & COUNT != 1 {
                continue;
            }
            let hash = cells[own] & !COUNT;
            let mut slot = 0;
            let around = self.geometry.around_from::<A>(self.start, hash);
            for (j, at) in around.into_iter().enumerate() {
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

    /// Settles the fields in the reverse order, with what `fingerprint` makes of a hash.
    fn settle<const A: usize>(
        &self,
        order: &Order<'_>,
        fingerprint: impl Fn(u64) -> u64 + Sync,
        fields: PackedPart<'_>,
    ) {
        let settle = Settle::<A, _> { part: self, fingerprint };
        match fields.split(self.geometry.middle(self.cells)) {
            View::Bytes([low, high]) => settle.all(order, low, high),
            View::Shorts([low, high]) => settle.all(order, low, high),
            View::Any([mut low, mut high]) => settle.all(order, &mut low, &mut high),
        }
    }
}

/// Where peeling begins.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Low,
    High,
}

/// Cells of a part that follow each other, from the beginning of a segment on.
struct Range<'a> {
    geometry: &'a Geometry,
    cells: &'a mut [u64],
    /// The number of the first, counted from the first cell of the part with that part's first start.
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
    fn peel<const A: usize>(self, from: End, order: &mut [u64]) -> Peeled {
        let Self { geometry, cells, start } = self;
        let (len, segment) = (cells.len(), geometry.segment as usize);
        let segments = len / segment;
        let mut single = vec![0usize; len + 1];
        let (mut peeled, mut waiting) = (0, Vec::new());
        for i in 0..segments {
            let i = if from == End::Low { i } else { segments - 1 - i };
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

struct Settle<'a, const A: usize, P> {
    part: &'a Part<'a>,
    fingerprint: P,
}

impl<const A: usize, P: Fn(u64) -> u64 + Sync> Settle<'_, A, P> {
    /// All keys: the rest, of which every half needs some, and then the halves.
    fn all<F: Fields + ?Sized + Send>(&self, order: &Order<'_>, low: &mut F, high: &mut F) {
        let Part { geometry, start, cells, cores } = *self.part;
        let middle = geometry.middle(cells);
        for (around, slot, fingerprint) in self.reversed(&order.rest, start) {
            let others = around.into_iter().fold(0, |xor, at| {
                xor ^ if at < middle { low.at(at) } else { high.at(at - middle) }.unwrap_or(0)
            });
            let (own, value) = (around[slot], others ^ fingerprint);
            if own < middle { low.put(own, value) } else { high.put(own - middle, value) }
        }
        cores.both(
            || self.half(order.lower, low, start),
            || self.half(order.upper, high, start + middle),
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
        let geometry = *self.part.geometry;
        order.iter().rev().map(move |entry| {
            let (hash, slot) = (entry & !COUNT, (entry & COUNT) as usize);
            (geometry.around_from(start, hash), slot, (self.fingerprint)(hash))
        })
    }
}

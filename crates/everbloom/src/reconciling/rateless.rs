//! Coded symbols without end (Yang, Gilad, Alizadeh 2024): the cells of an invertible filter in an order in which any
//! long enough beginning decodes.
//!
//! Nobody has to know how large the difference of two sets is. One side sends cells of its set until the other, which
//! subtracts its own, can peel them; about 1.35 cells for each key of the difference:
//!
//! ```text
//!   cell       0     1     2     3     4     5   …
//!   of a key   ●     ●           ●                 in cell i with probability 1/(1 + i/2)
//!   another    ●           ●                 ●     cell 0 has all of them: it is zero when all are found
//! ```
//!
//! The gap to a key's next cell is drawn from a generator that its hash seeds. From index i it exceeds g with
//! probability (i+1)(i+2)/((i+g+1)(i+g+2)), since the product of 1 − 1/(1 + j/2) = j/(j+2) telescopes; that is
//! inverted exactly, in the arithmetic of doubles, whose square root and division are rounded alike everywhere.

use std::collections::HashMap;

use crate::error::{Error, Kind, Result};
use crate::filter::Difference;
use crate::hash::mix64;
use crate::threads::{WORTH_A_THREAD, available, beside};

/// The step of SplitMix64, of which [`mix64`] is one.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The cells that an item is in, one after the other, without end.
#[derive(Clone, Copy, Debug)]
struct Places {
    at: u64,
    state: u64,
}

impl Places {
    /// Those of an item with this hash: the first is cell 0.
    fn new(hash: u64) -> Self {
        Self { at: 0, state: hash }
    }

    /// Goes on to the next cell.
    fn advance(&mut self) {
        let random = mix64(self.state);
        self.state = self.state.wrapping_add(STEP);
        // In (0, 1]. Numbers with a sign are one instruction from doubles and back, and no cell has as high a number.
        let u = ((random >> 11) + 1) as i64 as f64 / (1u64 << 53) as f64;
        let middle = self.at as i64 as f64 + 1.5;
        let beyond = ((middle * middle - 0.25) / u + 0.25).sqrt() - middle;
        // Rounded up: `ceil` would be a call where the processor is only known at run time.
        let whole = beyond as i64;
        let up = whole.saturating_add(i64::from((whole as f64) < beyond));
        self.at = self.at.saturating_add(up.max(1) as u64);
    }
}

/// One cell: how many ids are in it, their exclusive or, and that of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol {
    /// Ids added minus ids taken away.
    pub count: i64,
    /// Exclusive or of the ids.
    pub sum: u64,
    /// Exclusive or of their hashes.
    pub check: u64,
}

impl Symbol {
    /// Takes in what another one of the same number holds.
    fn join(&mut self, other: &Symbol) {
        self.count = self.count.wrapping_add(other.count);
        self.sum ^= other.sum;
        self.check ^= other.check;
    }

    fn add(&mut self, id: u64, hash: u64, sign: i64) {
        self.count = self.count.wrapping_add(sign);
        self.sum ^= id;
        self.check ^= hash;
    }

    fn is_zero(&self) -> bool {
        *self == Symbol::default()
    }

    /// The cell of what this one holds and the other does not, and the other way around.
    #[must_use]
    pub fn minus(self, other: Symbol) -> Symbol {
        Symbol {
            count: self.count.wrapping_sub(other.count),
            sum: self.sum ^ other.sum,
            check: self.check ^ other.check,
        }
    }
}

/// An id, and the cells it is still to come to.
#[derive(Clone, Copy, Debug)]
struct Item {
    id: u64,
    places: Places,
}

/// Cells that are worked out at once, at least. Later it is three times as many as there were before, and as many once
/// that is more than this.
const AHEAD: u64 = 64;
const MANY: u64 = 1 << 16;

/// The cells of a set of ids, one after the other.
///
/// Cells are worked out in runs, each at least as long as all before it: a run costs one pass over the ids, on all
/// cores, so that ten million of them take 24 bytes each and no heap.
#[derive(Clone, Debug)]
pub struct Coded {
    key: u64,
    items: Vec<Item>,
    /// The latest run of cells, and the number of its first.
    ready: Vec<Symbol>,
    start: u64,
    /// The number of the next cell.
    index: u64,
}

impl Coded {
    /// No ids yet; hashes use a key that both sides share and keep secret.
    pub fn new(key: u64) -> Self {
        Self::under(mix64(key))
    }

    fn under(key: u64) -> Self {
        Self { key, items: Vec::new(), ready: Vec::new(), start: 0, index: 0 }
    }

    /// The same with room for this many ids.
    #[must_use]
    pub fn with_room(mut self, ids: usize) -> Self {
        self.items.reserve_exact(ids);
        self
    }

    fn hash(&self, id: u64) -> u64 {
        hash(self.key, id)
    }

    /// Inserts an id, before the first cell is requested.
    pub fn insert(&mut self, id: u64) {
        let places = Places::new(self.hash(id));
        self.push(id, places);
    }

    /// Puts an id in that is in no cell before the next one.
    fn push(&mut self, id: u64, mut places: Places) {
        let hash = self.hash(id);
        enter(&mut self.ready, self.start, id, hash, &mut places);
        self.items.push(Item { id, places });
    }

    /// Works out the next run of cells.
    fn work_out(&mut self) {
        let run = (3 * self.index).min(self.index.max(MANY)).max(AHEAD) as usize;
        self.start = self.index;
        self.ready.clear();
        self.ready.resize(run, Symbol::default());
        let (key, start) = (self.key, self.start);
        // More cells than ids would take longer to join than to work out.
        let part = self.items.len().div_ceil(available()).max(WORTH_A_THREAD).max(run);
        let mut parts = self.items.chunks_mut(part);
        let Some(first) = parts.next() else { return };
        // Sums do not depend on the order: each thread has cells of its own, which are joined.
        let work = |items: &mut [_]| {
            let mut cells = vec![Symbol::default(); run];
            enter_all(&mut cells, start, key, items);
            cells
        };
        let ready = &mut self.ready;
        let ((), others) = beside(parts, work, || enter_all(ready, start, key, first));
        for cells in others {
            self.ready.iter_mut().zip(&cells).for_each(|(cell, other)| cell.join(other));
        }
    }

    /// The next cell.
    pub fn symbol(&mut self) -> Symbol {
        if self.index == self.start + self.ready.len() as u64 {
            self.work_out();
        }
        let symbol = self.ready[(self.index - self.start) as usize];
        self.index += 1;
        symbol
    }
}

/// The hash of an id: not linear in its bits, so that no sum of ids has the sum of their hashes by chance.
fn hash(key: u64, id: u64) -> u64 {
    mix64(mix64(id ^ key).wrapping_add(key))
}

/// Ids that are entered together.
const GROUP: usize = 256;

/// Adds ids to those of the cells, the first of which is number `start`, that they are in.
///
/// In how many of them an id is nobody can foresee, a processor neither. So ids go on a cell at a time, side by side,
/// and those that are through drop out without a branch: a third faster than one after the other.
fn enter_all(cells: &mut [Symbol], start: u64, key: u64, items: &mut [Item]) {
    let end = start + cells.len() as u64;
    let (mut inside, mut hashes) = ([0; GROUP], [0; GROUP]);
    for group in items.chunks_mut(GROUP) {
        let mut count = 0;
        for (i, item) in group.iter().enumerate() {
            (hashes[i], inside[count]) = (hash(key, item.id), i);
            count += usize::from(item.places.at < end);
        }
        while count > 0 {
            let mut left = 0;
            for j in 0..count {
                let i = inside[j];
                let Item { id, places } = &mut group[i];
                cells[(places.at - start) as usize].add(*id, hashes[i], 1);
                places.advance();
                inside[left] = i;
                left += usize::from(places.at < end);
            }
            count = left;
        }
    }
}

/// The same for one id.
fn enter(cells: &mut [Symbol], start: u64, id: u64, hash: u64, places: &mut Places) {
    while let Some(cell) = cells.get_mut((places.at - start) as usize) {
        cell.add(id, hash, 1);
        places.advance();
    }
}

/// Finds what a set and a stream of cells of another do not share.
#[derive(Clone, Debug)]
pub struct Decoder {
    ours: Coded,
    /// What was found so far, of the other side and of this one, to be taken out of cells to come.
    found: [Coded; 2],
    sides: HashMap<u64, i64>,
    /// The cells so far, without what was found.
    symbols: Vec<Symbol>,
    work: Vec<usize>,
}

impl Decoder {
    /// A decoder with this side's ids.
    pub fn new(ours: Coded) -> Self {
        let found = [Coded::under(ours.key), Coded::under(ours.key)];
        Self { ours, found, sides: HashMap::new(), symbols: Vec::new(), work: Vec::new() }
    }

    /// Takes the next cell of the other side; whether all is found.
    pub fn push(&mut self, theirs: Symbol) -> Result<bool> {
        let ours = self.ours.symbol();
        let [plus, minus] = self.found.each_mut().map(Coded::symbol);
        let taken = ours.count.wrapping_add(plus.count).wrapping_sub(minus.count);
        self.symbols.push(Symbol {
            count: theirs.count.wrapping_sub(taken),
            sum: theirs.sum ^ ours.sum ^ plus.sum ^ minus.sum,
            check: theirs.check ^ ours.check ^ plus.check ^ minus.check,
        });
        self.work.push(self.symbols.len() - 1);
        while let Some(at) = self.work.pop() {
            self.peel(at)?;
        }
        Ok(self.done())
    }

    /// Whether all is found: cell 0 holds everything.
    pub fn done(&self) -> bool {
        self.symbols.first().is_some_and(Symbol::is_zero)
    }

    /// Cells so far.
    pub fn symbols(&self) -> u64 {
        self.symbols.len() as u64
    }

    /// The approximate number of ids that differ: those found, and as many more as make the counts scatter as they do.
    ///
    /// Cell i holds an id with probability p = 1/(1 + i/2), independent of other cells. So r ids, s of them more on the
    /// other side, make a count of mean s·p and variance r·p(1−p); s stands in cell 0.
    pub fn estimate(&self) -> f64 {
        let more = self.symbols.first().map_or(0, |symbol| symbol.count) as f64;
        let scatter = |(i, symbol): (usize, &Symbol)| {
            let p = 1.0 / (1.0 + i as f64 / 2.0);
            (symbol.count as f64 - more * p).powi(2) / (p * (1.0 - p))
        };
        let cells = self.symbols.len().saturating_sub(1).max(1) as f64;
        let left = self.symbols.iter().enumerate().skip(1).map(scatter).sum::<f64>() / cells;
        let least = if self.done() { 0.0 } else { more.abs().max(2.0) };
        self.sides.len() as f64 + left.max(least)
    }

    /// What only one side has, once all is found.
    pub fn difference(&self) -> Difference {
        let side = |wanted: i64| {
            let ids = self.sides.iter().filter(move |(_, sign)| **sign == wanted);
            let mut ids: Vec<u64> = ids.map(|(id, _)| *id).collect();
            ids.sort_unstable();
            ids
        };
        Difference { ours: side(-1), theirs: side(1) }
    }

    /// Takes the id of a cell that holds just one out of all cells.
    fn peel(&mut self, at: usize) -> Result<()> {
        let Symbol { count, sum: id, check } = self.symbols[at];
        if count.unsigned_abs() != 1 || check != self.ours.hash(id) {
            return Ok(());
        }
        let mut places = Places::new(check);
        let mut here = false;
        while let Ok(place) = usize::try_from(places.at)
            && place < self.symbols.len()
        {
            here |= place == at;
            self.symbols[place].add(id, check, -count);
            self.work.push(place);
            places.advance();
        }
        // Without this a damaged stream can keep the work going for ever.
        if !here || self.sides.insert(id, count).is_some() {
            let message =
                "the cells are damaged, or of another kind: an id was found in the wrong place";
            return Err(Error::new(Kind::Undecodable, message));
        }
        self.found[usize::from(count < 0)].push(id, places);
        Ok(())
    }
}

/// The usual count of a cell of a set of `items`, |A|/(1 + i/2) rounded: cells are sent with the difference to it.
pub fn usual_count(items: u64, index: u64) -> i64 {
    let (items, index) = (u128::from(items), u128::from(index));
    ((4 * items + index + 2) / (2 * (index + 2))) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    fn places(seed: u64, count: usize) -> Vec<u64> {
        let mut places = Places::new(seed);
        std::iter::repeat_with(|| {
            let at = places.at;
            places.advance();
            at
        })
        .take(count)
        .collect()
    }

    #[test]
    fn places_are_those_pinned() {
        assert_eq!(places(1, 10), [0, 1, 2, 3, 6, 10, 12, 13, 19, 37]);
        assert_eq!(places(18, 9), [0, 4, 6, 10, 13, 41, 43, 44, 124]);
    }

    #[test]
    fn cells_hold_items_as_often_as_the_formula_says() {
        let items = 100_000u64;
        let mut held = [0u64; 40];
        let mut touched = 0u64;
        for i in 0..items {
            let mut places = Places::new(mix64(i));
            while places.at < 1000 {
                if let Some(held) = held.get_mut(places.at as usize) {
                    *held += 1;
                }
                touched += 1;
                places.advance();
            }
        }
        for (i, held) in held.iter().enumerate() {
            let share = *held as f64 / items as f64 * (1.0 + i as f64 / 2.0);
            let slack = 5.0 * (i as f64 / 2.0 / items as f64).sqrt();
            assert!((share - 1.0).abs() <= slack, "cell {i}: {share}");
        }
        // 2(H_{m+1} − 1) for m = 1000.
        let mean = touched as f64 / items as f64;
        assert!((mean - 12.97).abs() < 0.06, "{mean}");
    }

    /// Cells needed for a difference of d, with random sides; what was found is checked.
    fn needed(d: u64, common: u64, seed: u64) -> u64 {
        let mut random = Generator::new(seed);
        let (mut a, mut b) = (Coded::new(seed), Coded::new(seed));
        let (mut only_a, mut only_b) = (Vec::new(), Vec::new());
        for _ in 0..common {
            let id = random.next_u64();
            a.insert(id);
            b.insert(id);
        }
        for _ in 0..d {
            let id = random.next_u64();
            let (side, list) =
                if id & 1 == 0 { (&mut a, &mut only_a) } else { (&mut b, &mut only_b) };
            side.insert(id);
            list.push(id);
        }
        let mut decoder = Decoder::new(b);
        while !decoder.push(a.symbol()).expect("honest cells") {}
        only_a.sort_unstable();
        only_b.sort_unstable();
        assert_eq!(decoder.difference(), Difference { ours: only_b, theirs: only_a });
        decoder.symbols()
    }

    #[test]
    fn s37_rateless_cells_per_difference() {
        // The reference's values, each with the error of the mean of so many runs.
        for (d, runs, cells, error) in [
            (1, 200, 1.0, 1e-9),
            (2, 2000, 1.6045, 0.08),
            (5, 2000, 1.78, 0.07),
            (100, 200, 1.455, 0.03),
            (1000, 20, 1.377, 0.03),
        ] {
            let sum: u64 = (0..runs).map(|seed| needed(d, 0, seed)).sum();
            let mean = sum as f64 / (runs * d) as f64;
            assert!((mean - cells).abs() <= error, "d = {d}: {mean}, not {cells}");
        }
        (0..20).for_each(|seed| assert!(needed(50, 2000, seed) < 150));
        assert_eq!(needed(0, 100, 1), 1, "equal sets take one cell");
    }

    #[test]
    fn cells_are_the_same_however_many_threads_work_them_out() {
        let ids: Vec<u64> = (0..3 * WORTH_A_THREAD as u64 + 7).map(mix64).collect();
        let mut all = Coded::new(3);
        ids.iter().for_each(|id| all.insert(*id));
        // Each of these is too small to be split.
        let part = |ids: &[u64]| {
            let mut part = Coded::new(3);
            ids.iter().for_each(|id| part.insert(*id));
            part
        };
        let mut parts: Vec<Coded> = ids.chunks(WORTH_A_THREAD).map(part).collect();
        for i in 0..1000 {
            let mut sum = Symbol::default();
            parts.iter_mut().for_each(|part| sum.join(&part.symbol()));
            assert_eq!(all.symbol(), sum, "cell {i}");
        }
    }

    #[test]
    fn damaged_cells_are_an_error_or_never_done() {
        // Cell 0 tells that all is found; whoever knows the sizes of both sets can check that, too.
        for damage in 1..60u64 {
            let (mut a, b) = (Coded::new(7), Coded::new(7));
            (0..200).for_each(|i| a.insert(mix64(i)));
            let mut decoder = Decoder::new(b);
            for i in 0..2000u64 {
                let mut symbol = a.symbol();
                if i == damage {
                    symbol = Symbol::default();
                }
                match decoder.push(symbol) {
                    Ok(done) => assert!(!done || decoder.difference().theirs.len() == 200),
                    Err(e) => {
                        assert_eq!(e.kind(), Kind::Undecodable);
                        break;
                    }
                }
            }
        }
    }

    #[test]
    fn a_count_that_is_no_count_is_no_single_id() {
        let mut decoder = Decoder::new(Coded::new(1));
        assert!(!decoder.push(Symbol { count: i64::MIN, sum: 0, check: 0 }).unwrap());
        assert!(decoder.difference().theirs.is_empty());
    }

    #[test]
    fn counts_are_near_the_usual_one() {
        let mut a = Coded::new(3);
        (0..5000).for_each(|i| a.insert(mix64(i)));
        let bytes = |difference: i64| if difference.unsigned_abs() < 64 { 1 } else { 2 };
        let sum: u32 = (0..1000).map(|i| bytes(a.symbol().count - usual_count(5000, i))).sum();
        assert!(f64::from(sum) / 1000.0 < 1.004, "{sum}");
        assert_eq!(usual_count(5000, 0), 5000);
        assert!(usual_count(u64::MAX, 0) != 1);
    }
}

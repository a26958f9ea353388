//! States already visited in a search (catalogue A37; S0 §IV-F \[128\]).
//!
//! ```text
//!   state ──▶ filter: a zero, new ──▶ set its bits, explore it
//!         └─▶ all ones, visited before ──▶ not explored again
//!                                          (a false positive: a new state, and what only it leads to, is left out)
//! ```
//!
//! A search over more states than memory can hold keeps a few bits of each. What it reports is real, since it got
//! there; what it does not report may still be there. The filter fills during the search, so that of n new states
//! (1/n)·Σ f(i) are left out on average over its fill f(i): at 16 bits a state one in 20,000, at 8 bits one in 250.
//! A second search under another seed leaves out others: the shares multiply.

use std::collections::{HashSet, VecDeque};
use std::hash::Hash;

use everbloom::internals::hash::mix64;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Key, Result};

use crate::{
    Application, Axis, Bound, Chart, Experiment, Form, Lab, Oracle, Report, Rows, Series, bound,
};

/// Remembers states.
pub trait Remember<S> {
    /// Notes a state; true if it had not been noted.
    fn visit(&mut self, state: &S) -> bool;
}

/// The states a search has visited, in a few bits each.
///
/// ```
/// use everbloom_lab::applications::search::visited::{Remember, Sliding, Visited, search};
///
/// // A 2×4 sliding puzzle: how many moves turn it around.
/// let mut visited = Visited::new(20_160, 32.0, 1)?;
/// let turned = Sliding::new(4, 2, [7, 6, 5, 4, 3, 2, 1, 0]).expect("eight tiles");
/// let found = search(Sliding::solved(4, 2), |state| state.moves(), &mut visited, |s| *s == turned);
/// assert_eq!(found.first.map(|(_, depth)| depth), Some(28));
/// assert!(!visited.visit(&turned));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Visited {
    filter: Bloom,
}

impl Visited {
    /// Room for so many states, at so many bits for each. More states are taken, and left out more often.
    pub fn new(states: u64, bits_per_state: f64, seed: u64) -> Result<Self> {
        let m = ((states as f64 * bits_per_state).ceil() as u64).max(1);
        Self::with_shape(m, theory::best_k(m, states.max(1)), seed)
    }

    /// A set of `m` bits with `k` probes a state.
    pub fn with_shape(m: u64, k: u32, seed: u64) -> Result<Self> {
        Ok(Self { filter: Bloom::with_shape(m, k, Hasher::seeded(seed))? })
    }

    /// Bits of memory.
    pub fn bits(&self) -> u64 {
        self.filter.m()
    }

    /// The share of new states that the next ones are taken for visited, from the bits as they are.
    pub fn left_out_now(&self) -> f64 {
        everbloom::Filter::now(&self.filter).fpr.unwrap_or(0.0)
    }
}

impl<S: Key> Remember<S> for Visited {
    fn visit(&mut self, state: &S) -> bool {
        // All bits set before is what "may be a member" means.
        self.filter.insert(state) == everbloom::Seen::New
    }
}

/// The exact twin.
impl<S: Eq + Hash + Clone> Remember<S> for HashSet<S> {
    fn visit(&mut self, state: &S) -> bool {
        self.insert(state.clone())
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<S> {
    /// States explored.
    pub reached: u64,
    /// The first state searched for, and its distance from the start.
    pub first: Option<(S, u32)>,
    /// All states searched for.
    pub all: Vec<S>,
}

/// Breadth first from a state: `next` gives the states one step on, `wanted` says which are searched for.
pub fn search<S: Clone, N: IntoIterator<Item = S>>(
    start: S,
    next: impl Fn(&S) -> N,
    visited: &mut impl Remember<S>,
    wanted: impl Fn(&S) -> bool,
) -> Found<S> {
    let mut found = Found { reached: 0, first: None, all: Vec::new() };
    let mut waiting = VecDeque::new();
    if visited.visit(&start) {
        waiting.push_back((start, 0));
    }
    while let Some((state, depth)) = waiting.pop_front() {
        found.reached += 1;
        if wanted(&state) {
            found.first.get_or_insert_with(|| (state.clone(), depth));
            found.all.push(state.clone());
        }
        for next in next(&state) {
            if visited.visit(&next) {
                waiting.push_back((next, depth + 1));
            }
        }
    }
    found
}

/// A sliding puzzle of up to sixteen places: tiles in four bits each, 0 is the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sliding {
    tiles: u64,
    width: u8,
    height: u8,
}

impl Sliding {
    /// The tiles row by row; none unless every number below width·height occurs once.
    pub fn new(width: u8, height: u8, tiles: impl IntoIterator<Item = u8>) -> Option<Self> {
        let places = width.checked_mul(height).filter(|places| (1..=16).contains(places))?;
        let tiles: Vec<u8> = tiles.into_iter().collect();
        let all =
            tiles.len() == usize::from(places) && (0..places).all(|tile| tiles.contains(&tile));
        let packed = tiles.iter().rev().fold(0, |packed, tile| packed << 4 | u64::from(*tile));
        all.then_some(Self { tiles: packed, width, height })
    }

    /// Tiles in order, the gap first. A size beyond sixteen places is 4×4.
    pub fn solved(width: u8, height: u8) -> Self {
        let places = width.checked_mul(height).filter(|places| (1..=16).contains(places));
        match places.and_then(|places| Self::new(width, height, 0..places)) {
            Some(solved) => solved,
            None => Self { tiles: 0xfedc_ba98_7654_3210, width: 4, height: 4 },
        }
    }

    fn tile(self, place: u8) -> u64 {
        self.tiles >> (4 * place) & 15
    }

    /// The states one move on.
    pub fn moves(&self) -> Vec<Self> {
        let (width, places) = (self.width, self.width * self.height);
        let gap = (0..places).find(|place| self.tile(*place) == 0).unwrap_or(0);
        let (column, row) = (gap % width, gap / width);
        let mut next = Vec::with_capacity(4);
        let mut slide = |from: u8| {
            let tile = self.tile(from);
            next.push(Self { tiles: self.tiles ^ tile << (4 * from) ^ tile << (4 * gap), ..*self });
        };
        if column > 0 {
            slide(gap - 1);
        }
        if column + 1 < width {
            slide(gap + 1);
        }
        if row > 0 {
            slide(gap - width);
        }
        if row + 1 < self.height {
            slide(gap + width);
        }
        next
    }
}

impl Key for Sliding {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        self.tiles.with_bytes(f)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A37",
    form: Form::Component,
    uses: &["bloom"],
    oracle: "the same search with a hash set",
    data: "all 20,160 states of the 2×4 sliding puzzle; 10,000 numbered states",
    experiment: Experiment {
        name: "visited",
        source: "S0 §IV-F [128]",
        title: "States already visited in a search, in a few bits each",
        shows: "Everything a search reports is real. Of 10,000 new states 0.51 are left out at 16 bits a state, 40.7 at 8 \
                bits, 0.065 at 100 bits and 3 probes; a second search under another seed multiplies the shares.",
        run,
    },
};

/// The share of n new states that are taken for visited, on average over the filter's fill, and of its squares.
fn left_out(m: f64, n: u64, k: f64) -> [f64; 2] {
    let rates = (0..n).map(|i| theory::fpr_classic(m, i as f64, k));
    let [sum, squares] = rates.fold([0.0, 0.0], |[s, q], f| [s + f, q + f * f]);
    [sum / n as f64, squares / n as f64]
}

const STATES: u64 = 10_000;

/// New states taken for visited, one after the other.
fn one_after_the_other(m: u64, k: u32, seed: u64, first: u64) -> Result<Vec<bool>> {
    let mut visited = Visited::with_shape(m, k, seed)?;
    Ok((first..first + STATES).map(|state| !visited.visit(&mix64(state))).collect())
}

/// Counts new states that are taken for visited.
struct Watched {
    filter: Visited,
    exact: HashSet<Sliding>,
    pruned: HashSet<Sliding>,
}

impl Remember<Sliding> for Watched {
    fn visit(&mut self, state: &Sliding) -> bool {
        let new = self.filter.visit(state);
        if new {
            self.exact.insert(*state);
        } else if !self.exact.contains(state) {
            self.pruned.insert(*state);
        }
        new
    }
}

/// What counts as a violation in the puzzle: the first tile home, the gap at the end.
fn violates(state: &Sliding) -> bool {
    state.tile(0) == 1 && state.tile(7) == 0
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(40);
    let [x, y] = [Axis::linear("bits a state"), Axis::log("share of new states left out")];
    let mut chart = Chart::new("left-out", "New states taken for visited, of 10,000", [x, y], []);
    let mut rows = Rows::new("states", "States left out of 10,000", Axis::log("states"));
    for (bits, k, quoted) in [(16u64, 11u32, 0.51), (8, 6, 40.7), (100, 3, 0.065)] {
        let m = bits * STATES;
        let seen = lab.runs(runs, |seed| one_after_the_other(m, k, seed, seed))?;
        let left = seen.iter().flatten().filter(|left| **left).count() as f64;
        let [p, _] = left_out(m as f64, STATES, k.into());
        let around = bound::share(p, runs * STATES).widened(p, 0.01);
        let xs = (16..=480).map(|i| f64::from(i) / 4.0);
        let few = STATES / 20;
        let mut series =
            Series::new(format!("{k} probes"), xs, |b| left_out(b * few as f64, few, k.into())[0]);
        series.point(bits as f64, p, left / (runs * STATES) as f64, around);
        chart.series.push(series);
        let each = |share: Option<f64>| share.map(|s| s * STATES as f64);
        let around = Bound { low: each(around.low), high: each(around.high) };
        rows.row(format!("{bits} bits, {k} probes"), quoted, left / runs as f64, around);
    }
    let [_, both] = left_out(4.0 * STATES as f64, STATES, 3.0);
    let twice = lab.runs(runs, |seed| {
        let [a, b] = [seed, !seed].map(|s| one_after_the_other(4 * STATES, 3, s, seed));
        Ok(a?.into_iter().zip(b?).filter(|(a, b)| *a && *b).count() as f64)
    })?;
    let around = bound::share(both, runs * STATES).widened(both, 0.03);
    let each = |share: Option<f64>| share.map(|s| s * STATES as f64);
    let around = Bound { low: each(around.low), high: each(around.high) };
    let mean = twice.iter().sum::<f64>() / runs as f64;
    rows.row("4 bits, 3 probes, in both of two searches", both * STATES as f64, mean, around);
    let mut oracle = Oracle::default();
    let puzzle = puzzle(lab, &mut oracle)?;
    Ok(oracle.report().chart(chart).rows(rows).rows(puzzle))
}

/// The whole 2×4 puzzle beside a hash set.
fn puzzle(lab: &Lab, oracle: &mut Oracle) -> Result<Rows> {
    let start = || Sliding::solved(4, 2);
    let mut exact = HashSet::new();
    let twin = search(start(), Sliding::moves, &mut exact, violates);
    let mut rows = Rows::new("puzzle", "The 2×4 sliding puzzle", Axis::log("states or bits"));
    let n = twin.reached;
    rows.row("states, exactly", 20_160.0, n as f64, Bound::exactly(20_160.0, 0.0));
    let runs = lab.scaled(3);
    for (bits, k) in [(8u64, 6u32), (16, 11)] {
        let m = bits * n;
        let seen = lab.runs(runs, |seed| {
            let filter = Visited::with_shape(m, k, seed)?;
            let mut visited = Watched { filter, exact: HashSet::new(), pruned: HashSet::new() };
            let found = search(start(), Sliding::moves, &mut visited, violates);
            Ok((found, visited))
        })?;
        let [p, _] = left_out(m as f64, n, k.into());
        let pruned: usize = seen.iter().map(|(_, v)| v.pruned.len()).sum();
        let around = bound::share(p, runs * n).widened(p, 0.02);
        let each = |share: Option<f64>| share.map(|s| s * n as f64);
        let around = Bound { low: each(around.low), high: each(around.high) };
        rows.row(
            format!("{bits} bits: wrongly pruned"),
            p * n as f64,
            pruned as f64 / runs as f64,
            around,
        );
        // Most successors of a pruned state are reached another way; none is reached that does not exist.
        let missed: u64 = seen.iter().map(|(f, _)| n - f.reached).sum();
        let most = around.high.map(|h| 3.0 * h).unwrap_or(f64::INFINITY);
        let label = format!("{bits} bits: left out with what only they lead to");
        rows.row(
            label,
            p * n as f64,
            missed as f64 / runs as f64,
            Bound { low: around.low, high: Some(most) },
        );
        let invented = seen.iter().map(|(_, v)| v.exact.difference(&exact).count()).sum::<usize>();
        oracle.none(&format!("states reached that do not exist, {bits} bits"), invented as u64);
        let real: HashSet<&Sliding> = twin.all.iter().collect();
        let false_alarms = seen.iter().flat_map(|(f, _)| &f.all).filter(|s| !real.contains(s));
        oracle.none(
            &format!("violations that do not exist, {bits} bits"),
            false_alarms.count() as u64,
        );
        rows.row(
            format!("{bits} bits: memory, bits a state"),
            bits as f64,
            seen[0].1.filter.bits() as f64 / n as f64,
            Bound::exactly(bits as f64, 0.0),
        );
    }
    // With room to spare the two searches are the same.
    let mut roomy = Visited::new(n, 64.0, lab.seed())?;
    let found = search(start(), Sliding::moves, &mut roomy, violates);
    oracle.equal("violations and depth at 64 bits a state", [(found, twin)]);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a37_states_left_out() {
        let n = 10_000;
        let cases =
            [(16.0, 11.0, 5.1e-5, 0.51), (8.0, 6.0, 0.00407, 40.7), (100.0, 3.0, 6.5e-6, 0.065)];
        for (bits, k, share, states) in cases {
            let [p, _] = left_out(bits * n as f64, n, k);
            assert!(
                (p - share).abs() < 0.01 * share && (p * n as f64 - states).abs() < 0.01 * states,
                "{p}"
            );
        }
    }

    #[test]
    fn puzzles_that_are_none_and_moves_that_go_back() {
        assert_eq!(Sliding::new(4, 2, [1, 2, 3]), None);
        assert_eq!(Sliding::new(2, 2, [1, 2, 3, 3]), None);
        assert_eq!(Sliding::new(5, 5, 0..25), None);
        assert_eq!(Sliding::solved(100, 100), Sliding::solved(4, 4));
        let start = Sliding::solved(3, 3);
        assert_eq!(start.moves().len(), 2);
        assert!(start.moves().iter().all(|next| next.moves().contains(&start)));
        let mut exact = HashSet::new();
        assert_eq!(
            search(Sliding::solved(2, 2), Sliding::moves, &mut exact, |_| false).reached,
            12
        );
    }
}

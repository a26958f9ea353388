//! Packets to mobile hosts by filters of squares (catalogue A12; S1 §6.3, Hsiao).
//!
//! ```text
//!   ┌───┬───┐   a square of side K is cut into four, down to unit cells. A cell knows, for each size of
//!   │   │ 2 │   square, the hosts in its own square and in that square's three siblings (a filter each):
//!   ├─┬─┼───┤   log2 K + 1 sizes. A packet goes to the smallest sibling square that has its host, and in
//!   │s│1│   │   there to smaller ones.
//!   └─┴─┴───┘
//! ```
//!
//! The first match is the smallest square that source and host share, unless a filter errs: at most 3f at each
//! size, 1 − (1 − f)^12 = 0.1136 over four of them at f = 0.01. A packet that finds no host comes back and tries
//! the next match, so that all are delivered. A host that moves leaves one filter and enters another for every
//! size whose square changes, log2 K at most.
//!
//! **The trap**: without counters a host never leaves a square.

use std::collections::{HashMap, HashSet};

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Counting, Hasher, Result};

use super::Expected;
use crate::sim::{Graph, Link, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// A unit cell by column and row.
pub type Cell = (u32, u32);

/// The hosts of a square area, by squares of 1, 2, 4, … cells a side.
///
/// ```
/// use everbloom_lab::applications::peers::quad_tree::QuadTree;
///
/// let mut area = QuadTree::new(8, 4, 0.01)?;
/// assert_eq!(area.levels(), 4);
/// area.enter(42, (7, 7))?;
/// let route = area.route((0, 0), 42);
/// assert_eq!((route.cell, route.side), (Some((7, 7)), 8));
/// area.travel(42, (1, 0))?;
/// assert_eq!(area.route((0, 0), 42).side, 2);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct QuadTree {
    side: u32,
    /// By the logarithm of their side: the squares' filters, row by row.
    squares: Vec<Vec<Counting>>,
    /// Who is in a cell.
    cells: Vec<HashSet<u64>>,
    hosts: HashMap<u64, Cell>,
}

/// Where a packet went.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// The host's cell.
    pub cell: Option<Cell>,
    /// The side of the smallest square that has both ends, as the filters found it.
    pub side: u32,
    /// Squares entered in vain, by the logarithm of their side and their place among squares of that side.
    pub wrong: Vec<(usize, Cell)>,
}

impl QuadTree {
    /// An area of `side` cells a side, a power of two, whose filters have room for `hosts` hosts a cell at a rate
    /// of `fpr`.
    pub fn new(side: u32, hosts: u64, fpr: f64) -> Result<Self> {
        let side = side.max(1).next_power_of_two();
        let mut squares = Vec::new();
        for level in 0..=side.trailing_zeros() {
            let (m, k) = shape(hosts, level, fpr);
            // A seed for each size, so that their errors are independent.
            let hasher = Hasher::seeded(level.into());
            let empty = Counting::with_shape(m, k, 4, hasher)?;
            squares.push(vec![empty; ((side >> level) as usize).pow(2)]);
        }
        let cells = vec![HashSet::new(); (side as usize).pow(2)];
        Ok(Self { side, squares, cells, hosts: HashMap::new() })
    }

    /// Sizes of squares, the whole area included.
    pub fn levels(&self) -> usize {
        self.squares.len()
    }

    fn place(&self, level: usize, (x, y): Cell) -> usize {
        (y * (self.side >> level) + x) as usize
    }

    fn at(&self, level: usize, square: Cell) -> &Counting {
        &self.squares[level][self.place(level, square)]
    }

    /// A host that was nowhere is in a cell now. One that is somewhere travels there.
    pub fn enter(&mut self, host: u64, cell: Cell) -> Result<()> {
        if self.hosts.contains_key(&host) {
            return self.travel(host, cell).map(|_| ());
        }
        let cell = (cell.0.min(self.side - 1), cell.1.min(self.side - 1));
        for level in 0..self.levels() {
            let place = self.place(level, above(cell, level));
            self.squares[level][place].insert(&host);
        }
        let place = self.place(0, cell);
        self.cells[place].insert(host);
        self.hosts.insert(host, cell);
        Ok(())
    }

    /// A host moves to another cell: returns for how many sizes its square changed.
    pub fn travel(&mut self, host: u64, to: Cell) -> Result<usize> {
        let Some(&from) = self.hosts.get(&host) else {
            self.enter(host, to)?;
            return Ok(self.levels());
        };
        let to = (to.0.min(self.side - 1), to.1.min(self.side - 1));
        let mut changed = 0;
        for level in 0..self.levels() {
            let [old, new] = [from, to].map(|cell| self.place(level, above(cell, level)));
            if old != new {
                self.squares[level][old].remove(&host)?;
                self.squares[level][new].insert(&host);
                changed += 1;
            }
        }
        let [old, new] = [from, to].map(|cell| self.place(0, cell));
        self.cells[old].remove(&host);
        self.cells[new].insert(host);
        self.hosts.insert(host, to);
        Ok(changed)
    }

    /// Sends a packet from a cell to a host: to the smallest sibling squares first.
    pub fn route(&self, from: Cell, host: u64) -> Route {
        let mut route = Route::default();
        if self.cells[self.place(0, from)].contains(&host) {
            (route.cell, route.side) = (Some(from), 1);
            return route;
        }
        for level in 0..self.levels() - 1 {
            let own = above(from, level);
            for sibling in quarters(above(own, 1)).into_iter().filter(|s| *s != own) {
                if self.at(level, sibling).contains(&host) {
                    route.cell = self.down(level, sibling, host, &mut route.wrong);
                    if route.cell.is_some() {
                        route.side = 2 << level;
                        return route;
                    }
                    route.wrong.push((level, sibling));
                }
            }
        }
        route
    }

    /// Looks for a host in a square.
    fn down(
        &self,
        level: usize,
        square: Cell,
        host: u64,
        wrong: &mut Vec<(usize, Cell)>,
    ) -> Option<Cell> {
        let Some(smaller) = level.checked_sub(1) else {
            return self.cells[self.place(0, square)].contains(&host).then_some(square);
        };
        for quarter in quarters(square) {
            if self.at(smaller, quarter).contains(&host) {
                let cell = self.down(smaller, quarter, host, wrong);
                if cell.is_some() {
                    return cell;
                }
                wrong.push((smaller, quarter));
            }
        }
        None
    }
}

/// Bits and probes of a square's filter.
fn shape(hosts: u64, level: u32, fpr: f64) -> (u64, u32) {
    let items = hosts.max(1) << (2 * level);
    let m = bloom::bits_for(items, fpr);
    (m, bloom::best_k(m, items))
}

/// The square of a larger size that a square is in.
fn above((x, y): Cell, levels: usize) -> Cell {
    (x >> levels, y >> levels)
}

/// The four squares of half the side.
fn quarters((x, y): Cell) -> [Cell; 4] {
    [(2 * x, 2 * y), (2 * x + 1, 2 * y), (2 * x, 2 * y + 1), (2 * x + 1, 2 * y + 1)]
}

/// The side of the smallest square that has both cells.
fn common_side(a: Cell, b: Cell) -> u32 {
    let level = (0..).find(|&level| above(a, level) == above(b, level)).unwrap_or(31);
    1 << level
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A12",
    form: Form::Simulation,
    uses: &["counting", "bloom"],
    oracle: "a map from host to cell",
    data: "an area of 16 by 16 cells with 16 hosts each, which then move at random",
    experiment: Experiment {
        name: "quad-tree",
        source: "S1 §6.3",
        title: "Packets to mobile hosts by filters of squares",
        shows: "All packets are delivered, before and after hosts move. At each size at most 3f of the packets \
                enter a sibling square in vain, 0.1136 over four sizes at f = 0.01.",
        run,
    },
};

const SIDE: u32 = 16;
const HOSTS: u64 = 16;
const RATE: f64 = 0.01;
/// Sizes with siblings.
const SIZES: usize = 4;

#[derive(Default)]
struct Seen {
    delivered: Vec<(Option<Cell>, Option<Cell>)>,
    sides: Vec<(u32, u32)>,
    /// Packets for absent hosts that a sibling square of each size attracts; the last: of any size.
    wrong: [u64; SIZES + 1],
    expected: [Expected; SIZES + 1],
    most_changed: usize,
    /// Hosts that filters still have in the cell they left.
    ghosts: [u64; 2],
    /// Those of them that counters keep, by the fills of the cells they left.
    kept: Expected,
    moved: u64,
}

fn area(seed: u64) -> Result<(QuadTree, Vec<u64>)> {
    let mut random = Generator::new(seed);
    let mut area = QuadTree::new(SIDE, HOSTS, RATE)?;
    let mut hosts = Vec::new();
    for cell in (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y))) {
        for _ in 0..HOSTS {
            hosts.push(random.next_u64());
            area.enter(hosts[hosts.len() - 1], cell)?;
        }
    }
    Ok((area, hosts))
}

fn try_one(seed: u64, packets: u64) -> Result<Seen> {
    let (mut area, hosts) = area(seed)?;
    let mut seen = Seen::default();
    let mut random = Generator::new(!seed);
    absent(&area, packets, &mut random, &mut seen);
    deliver(&area, &hosts, packets / 4, &mut random, &mut seen);
    // Every host moves once; plain filters of the cells cannot forget it.
    let (m, k) = shape(HOSTS, 0, RATE);
    let empty = Bloom::with_shape(m, k, Hasher::default())?;
    let mut plain = vec![empty; area.cells.len()];
    for &host in &hosts {
        let from = area.hosts[&host];
        let to = (random.below(SIDE.into()) as u32, random.below(SIDE.into()) as u32);
        plain[area.place(0, from)].insert(&host);
        seen.most_changed = seen.most_changed.max(area.travel(host, to)?);
        plain[area.place(0, to)].insert(&host);
        if from == to {
            continue;
        }
        seen.moved += 1;
        seen.ghosts[0] += u64::from(plain[area.place(0, from)].contains(&host));
        seen.ghosts[1] += u64::from(area.at(0, from).contains(&host));
        seen.kept.add(1.0, libm::pow(area.at(0, from).to_bits().fill(), k.into()));
    }
    deliver(&area, &hosts, packets / 4, &mut random, &mut seen);
    Ok(seen)
}

/// Packets for hosts that are nowhere: who matches at each size.
fn absent(area: &QuadTree, packets: u64, random: &mut Generator, seen: &mut Seen) {
    let rates: Vec<Vec<f64>> = (0..)
        .zip(&area.squares[..SIZES])
        .map(|(level, squares)| {
            let (_, k) = shape(HOSTS, level, RATE);
            let rate = |filter: &Counting| libm::pow(filter.to_bits().fill(), k.into());
            squares.iter().map(rate).collect()
        })
        .collect();
    for _ in 0..packets {
        let from = (random.below(SIDE.into()) as u32, random.below(SIDE.into()) as u32);
        let host = random.next_u64();
        let (mut any, mut silent) = (false, 1.0);
        for level in 0..SIZES {
            let own = above(from, level);
            let siblings = quarters(above(own, 1)).into_iter().filter(|s| *s != own);
            let (mut matched, mut quiet) = (false, 1.0);
            for sibling in siblings {
                matched |= area.at(level, sibling).contains(&host);
                quiet *= 1.0 - rates[level][area.place(level, sibling)];
            }
            seen.wrong[level] += u64::from(matched);
            seen.expected[level].add(1.0, 1.0 - quiet);
            any |= matched;
            silent *= quiet;
        }
        seen.wrong[SIZES] += u64::from(any);
        seen.expected[SIZES].add(1.0, 1.0 - silent);
        seen.delivered.push((area.route(from, host).cell, None));
    }
}

fn deliver(area: &QuadTree, hosts: &[u64], packets: u64, random: &mut Generator, seen: &mut Seen) {
    for _ in 0..packets {
        let from = (random.below(SIDE.into()) as u32, random.below(SIDE.into()) as u32);
        let host = hosts[random.below(hosts.len() as u64) as usize];
        let route = area.route(from, host);
        let cell = area.hosts[&host];
        seen.delivered.push((route.cell, Some(cell)));
        seen.sides.push((route.side, common_side(from, cell)));
    }
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, packets) = (lab.scaled(4), 20_000);
    let seen = lab.runs(runs, |seed| try_one(seed, packets))?;
    let all = (runs * packets) as f64;
    let share = |size: usize| seen.iter().map(|s| s.wrong[size]).sum::<u64>() as f64 / all;
    let expected = |size: usize| {
        let mut sum = Expected::default();
        seen.iter().for_each(|s| sum += s.expected[size]);
        sum.over(all)
    };
    let at_most = Series::new("at most 3f", [1.0, 2.0, 4.0, 8.0], |_| 3.0 * RATE);
    let mut measured = Series::new("by the filters' fills", [], |_| 0.0);
    for size in 0..SIZES {
        let side = f64::from(1u32 << size);
        let (mean, bound) = expected(size);
        measured.curve.push((side, mean));
        measured.point(side, mean, share(size), bound);
    }
    let chart = Chart::new(
        "sizes",
        "Packets that a sibling square attracts in vain",
        [Axis::log("side of the square in cells"), Axis::linear("share of packets")],
        [at_most, measured],
    );
    let mut rows = Rows::new("claims", "What the entry says", Axis::linear("see each line"));
    let any = 1.0 - libm::pow(1.0 - RATE, 12.0);
    // Fills differ from square to square, which makes the mean rate a little larger than the rate of the mean.
    let high = bound::share(any, runs * packets).widened(any, 0.03).high.unwrap_or(1.0);
    rows.row("packets misled at any of four sizes", any, share(SIZES), Bound::at_most(high));
    let (mean, bound) = expected(SIZES);
    rows.row("the same, by the filters' fills", mean, share(SIZES), bound);
    let levels = QuadTree::new(8, 1, RATE)?.levels() as f64;
    rows.row("sizes of squares at K = 8", 4.0, levels, Bound::exactly(4.0, 0.0));
    let changed = seen.iter().map(|s| s.most_changed).max().unwrap_or(0) as f64;
    rows.row("most sizes changed by a move", 4.0, changed, Bound::at_most(SIZES as f64));
    let moved: u64 = seen.iter().map(|s| s.moved).sum();
    let ghosts = |at: usize| seen.iter().map(|s| s.ghosts[at]).sum::<u64>() as f64 / moved as f64;
    let always = Bound::exactly(1.0, 0.0);
    rows.row("hosts that plain filters keep in the cell they left", 1.0, ghosts(0), always);
    // A cell's number of hosts varies by then, so that the rate does.
    let mut kept = Expected::default();
    seen.iter().for_each(|s| kept += s.kept);
    let (mean, bound) = kept.over(moved as f64);
    rows.row("hosts that counters keep there, by the filters' fills", mean, ghosts(1), bound);
    let mut oracle = Oracle::default();
    let larger = |s: &Seen| s.sides.iter().filter(|(found, truth)| found != truth).count() as u64;
    oracle.none("hosts found in another square than the smallest", seen.iter().map(larger).sum());
    oracle.equal("cells delivered to", seen.into_iter().flat_map(|s| s.delivered));
    Ok(oracle.report().rows(rows).chart(chart).drawing(picture(lab)?))
}

/// The packet with the most wrong squares, in an area of 8 by 8 cells whose filters are far too small.
fn picture(lab: &Lab) -> Result<Drawing> {
    let (side, sizes) = (8u32, 4);
    let mut area = QuadTree::new(side, 2, 0.25)?;
    let mut random = Generator::new(lab.seed());
    let hosts: Vec<u64> = (0..2 * side * side).map(|_| random.next_u64()).collect();
    for (i, &host) in (0..).zip(&hosts) {
        area.enter(host, (i / 2 % side, i / 2 / side))?;
    }
    // Squares by size, the largest first: a dot in the middle of each.
    let first: Vec<usize> =
        (0..sizes).map(|level| (level + 1..sizes).map(|l| 1 << (2 * (3 - l))).sum()).collect();
    let dot = |level: usize, square: Cell| first[level] + area.place(level, square);
    let mut places = Vec::new();
    for level in (0..sizes).rev() {
        let count = side >> level;
        let middle = |i: u32| (f64::from(i) + 0.5) / f64::from(count);
        places.extend((0..count).flat_map(|y| (0..count).map(move |x| (middle(x), middle(y)))));
    }
    let mut graph = Graph::at(places);
    for level in 0..sizes - 1 {
        for (x, y) in (0..side >> level).flat_map(|y| (0..side >> level).map(move |x| (x, y))) {
            graph.link(dot(level + 1, above((x, y), 1)), dot(level, (x, y)));
        }
    }
    let from = (0, 0);
    let far = hosts.iter().filter(|host| area.hosts[*host].0 >= 4);
    let best = far.map(|&host| area.route(from, host)).max_by_key(|route| route.wrong.len());
    let route = best.unwrap_or_default();
    let to = route.cell.unwrap_or(from);
    let link = |level: usize, square: Cell| Link {
        from: dot(level + 1, above(square, 1)),
        to: dot(level, square),
    };
    let wrong: Vec<Link> = route.wrong.iter().map(|&(level, square)| link(level, square)).collect();
    let levels = 0..route.side.trailing_zeros() as usize;
    let right: Vec<Link> =
        levels.flat_map(|l| [link(l, above(from, l)), link(l, above(to, l))]).collect();
    let names = [(dot(0, from), "from".to_owned()), (dot(0, to), "to".to_owned())];
    let title = format!("A packet at a rate of 0.25: {} squares entered in vain", wrong.len());
    Ok(drawing("packet", &title, &graph, [&right, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_wrong_siblings_over_four_levels() {
        assert!((1.0 - libm::pow(0.99, 12.0) - 0.1136).abs() < 5e-5);
    }

    #[test]
    fn cells_beyond_the_edge_are_at_the_edge_and_unknown_hosts_enter() {
        let mut area = QuadTree::new(5, 1, 0.01).unwrap();
        assert_eq!(area.travel(1, (99, 2)).unwrap(), area.levels());
        assert_eq!(area.route((0, 0), 1).cell, Some((7, 2)));
        area.enter(1, (0, 0)).unwrap();
        assert_eq!(area.route((0, 0), 1).side, 1);
        assert_eq!(area.hosts.len(), 1);
    }
}

//! Beacons that tell whom a node hears (catalogue A63; S3 \[46\]–\[48\] §III-B).
//!
//! ```text
//!   s ))) beacon: filter of s's neighbors      u hears it: has u a neighbor that is not in it?
//!     u ))) w                                  yes: u repeats what s sends, since w has not heard it
//! ```
//!
//! 50 neighbors take 62.5 bytes at 10 bits each, and 300 bytes as addresses of 6. A neighbor that s does not hear
//! seems to be covered with f, so that at most f·(new neighbors) are left out at each hop; if every beacon has a new
//! seed, the next one repairs it. A neighbor that is gone is forgotten by a table of two filters that take turns
//! (A²). For routes, a node merges the beacons it hears: a request follows the neighbors whose merged filter has the
//! target.

use std::collections::{BTreeSet, VecDeque};

use everbloom::decaying::ActiveActive;
use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Hasher, Result};

use crate::sim::{Graph, Link, Node, Rate, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Bits of a beacon for each neighbor, and probes.
const BITS: u64 = 10;
const PROBES: u32 = 7;

/// A filter of the nodes that one node hears, itself among them.
///
/// ```
/// use everbloom_lab::applications::wireless::neighbors::Beacon;
/// let beacon = Beacon::new(1, &[2, 3, 5], 0)?;
/// assert!(!beacon.must_repeat([2, 3]));  // all of mine have heard it
/// assert!(beacon.must_repeat([2, 8]));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Beacon {
    filter: Bloom,
}

impl Beacon {
    /// The beacon of a node with these neighbors; `round` gives every beacon a seed of its own.
    pub fn new(node: u64, neighbors: &[u64], round: u64) -> Result<Self> {
        let n = neighbors.len() as u64 + 1;
        let mut filter = Bloom::with_shape(n * BITS, PROBES, Hasher::seeded(round))?;
        filter.extend(neighbors);
        filter.insert(&node);
        Ok(Self { filter })
    }

    /// Whether a receiver with these neighbors must repeat what the sender of the beacon sends.
    pub fn must_repeat(&self, neighbors: impl IntoIterator<Item = u64>) -> bool {
        neighbors.into_iter().any(|neighbor| !self.filter.contains(&neighbor))
    }

    /// Bytes of the filter.
    pub fn bytes(&self) -> f64 {
        self.filter.m() as f64 / 8.0
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A63",
    form: Form::Simulation,
    uses: &["bloom", "active-active"],
    oracle: "the same decisions from lists of neighbors",
    data: "nodes at random places with about 50 neighbors each",
    experiment: Experiment {
        name: "neighbors",
        source: "S3 §III-B [46]–[48]",
        title: "Who must repeat a broadcast: filters of neighbors in beacons",
        shows: "Beacons are a fifth of a list of addresses. A node that the sender does not hear seems to be covered \
                at the rate of the filter; with a new seed for every beacon the next one repairs it. Broadcasts reach \
                everybody whom exact lists reach.",
        run,
    },
};

struct Net {
    graph: Graph,
    names: Vec<u64>,
}

impl Net {
    fn new(seed: u64, nodes: usize, radius: f64) -> Self {
        let mut random = Generator::new(seed);
        let names = (0..nodes).map(|_| random.next_u64()).collect();
        Self { graph: Topology::UnitDisk { nodes, radius }.build(seed), names }
    }

    fn heard(&self, node: Node) -> Vec<u64> {
        self.graph.neighbors(node).iter().map(|&n| self.names[n]).collect()
    }

    fn beacons(&self, round: u64) -> Result<Vec<Beacon>> {
        (0..self.graph.len()).map(|n| Beacon::new(self.names[n], &self.heard(n), round)).collect()
    }

    /// Nodes at exactly two hops.
    fn two_hops(&self, node: Node) -> BTreeSet<Node> {
        let near = self.graph.neighbors(node);
        let all = near.iter().flat_map(|&n| self.graph.neighbors(n)).copied();
        all.filter(|n| *n != node && !near.contains(n)).collect()
    }

    /// Who hears a broadcast from `source`, if `repeats(from, receiver)` decides.
    fn broadcast(&self, source: Node, repeats: impl Fn(Node, Node) -> bool) -> BTreeSet<Node> {
        let mut heard = BTreeSet::from([source]);
        let mut waiting = VecDeque::from([source]);
        while let Some(from) = waiting.pop_front() {
            for &node in self.graph.neighbors(from) {
                if heard.insert(node) && repeats(from, node) {
                    waiting.push_back(node);
                }
            }
        }
        heard
    }
}

#[derive(Default)]
struct Seen {
    /// Bytes of beacons, and of lists.
    bytes: [f64; 2],
    /// Nodes at two hops; those that seem covered in this round, in the next under the same and a new seed.
    far: u64,
    covered: [u64; 3],
    /// The rate that the sizes of the beacons predict, for each node at two hops.
    predicted: f64,
    spread: f64,
    /// Nodes that hear a broadcast by filters and by lists.
    heard: [u64; 2],
    /// Repeats that lists do not ask for, and neighbors missing from a beacon: none.
    needless: u64,
    wrong: u64,
}

fn try_net(seed: u64) -> Result<Seen> {
    let net = Net::new(seed, 250, 0.28);
    let (first, second) = (net.beacons(0)?, net.beacons(1)?);
    let mut seen = Seen::default();
    for (node, beacon) in first.iter().enumerate() {
        let heard = net.heard(node);
        seen.bytes[0] += beacon.bytes();
        seen.bytes[1] += 6.0 * heard.len() as f64;
        seen.wrong += heard.iter().filter(|name| !beacon.filter.contains(*name)).count() as u64;
        let n = heard.len() as u64 + 1;
        let far = net.two_hops(node);
        let again = Beacon::new(net.names[node], &heard, 0)?;
        // Filters of the sizes met here have nearly the same rate: one size stands for ten.
        let rate = Rate::of(n.div_ceil(10) * 10 * BITS, n.div_ceil(10) * 10, PROBES);
        seen.predicted += rate.mean * far.len() as f64;
        seen.spread += (rate.sd * far.len() as f64) * (rate.sd * far.len() as f64);
        for &other in &far {
            let name = &net.names[other];
            let now = beacon.filter.contains(name);
            seen.far += 1;
            seen.covered[0] += u64::from(now);
            seen.covered[1] += u64::from(now && again.filter.contains(name));
            seen.covered[2] += u64::from(now && second[node].filter.contains(name));
        }
    }
    let by_filter = |from: Node, node: Node| first[from].must_repeat(net.heard(node));
    let by_list = |from: Node, node: Node| {
        let near = net.graph.neighbors(from);
        net.graph.neighbors(node).iter().any(|n| *n != from && !near.contains(n))
    };
    for source in (0..net.graph.len()).step_by(25) {
        let needless = |node: &&Node| by_filter(source, **node) && !by_list(source, **node);
        seen.needless += net.graph.neighbors(source).iter().filter(needless).count() as u64;
        seen.heard[0] += net.broadcast(source, by_filter).len() as u64;
        seen.heard[1] += net.broadcast(source, by_list).len() as u64;
    }
    Ok(seen)
}

/// Ticks after which a neighbor that is gone is forgotten by a table of two filters.
fn ticks_until_forgotten() -> Result<f64> {
    let mut table = ActiveActive::with_shape(4_096, 7, 1_000, Hasher::default())?;
    table.insert("neighbor");
    let mut ticks = 0;
    while table.contains("neighbor") && ticks < 10 {
        table.age(1);
        ticks += 1;
    }
    Ok(f64::from(ticks))
}

/// What a route request does by merged filters of `bits` bits.
#[derive(Default)]
struct Routed {
    lost: u64,
    asked: u64,
    wrong: u64,
    predicted: f64,
    picture: Option<Drawing>,
}

/// Requests for targets at most three hops away: a node asks the neighbors whose merged filter has the target.
fn requests(seed: u64, bits: u64) -> Result<Routed> {
    let net = Net::new(seed, 120, 0.16);
    let mut filters = Vec::new();
    for node in 0..net.graph.len() {
        let mut filter = Bloom::with_shape(bits, PROBES, Hasher::default())?;
        filter.extend(net.heard(node));
        filters.push(filter);
    }
    // A node knows whom its neighbors hear.
    let merged: Vec<Bloom> = (0..net.graph.len())
        .map(|node| {
            let mut all = filters[node].clone();
            net.graph.neighbors(node).iter().try_for_each(|&n| all.union(&filters[n]))?;
            Ok(all)
        })
        .collect::<Result<_>>()?;
    let within_two = |node: Node, target: Node| {
        let near = net.graph.neighbors(node);
        near.contains(&target) || near.iter().any(|&n| net.graph.neighbors(n).contains(&target))
    };
    let mut seen = Routed::default();
    for source in 0..net.graph.len() {
        let ways = net.graph.ways_to(source);
        for target in (0..net.graph.len()).filter(|&t| ways[t].is_some_and(|(hops, _)| hops == 3)) {
            let (mut wanted, mut wrong) = (Vec::new(), Vec::new());
            for &next in net.graph.neighbors(source) {
                let link = Link { from: source, to: next };
                let yes = merged[next].contains(&net.names[target]);
                match (within_two(next, target), yes) {
                    (true, true) => wanted.push(link),
                    (true, false) => (),
                    (false, yes) => {
                        seen.asked += 1;
                        seen.predicted += libm::pow(merged[next].bits().fill(), PROBES.into());
                        if yes {
                            wrong.push(link);
                        }
                    }
                }
            }
            seen.lost += u64::from(wanted.is_empty());
            seen.wrong += wrong.len() as u64;
            if seen.picture.is_none() && wanted.len() > 1 && !wrong.is_empty() {
                let names = [(source, "source".to_owned()), (target, "target".to_owned())];
                let title =
                    "A request for a node three hops away: asked rightly, and in vain (red)";
                seen.picture =
                    Some(drawing("request", title, &net.graph, [&wanted, &wrong], &names));
            }
        }
    }
    Ok(seen)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(2);
    let seen = lab.runs(runs, try_net)?;
    let sum = |f: &dyn Fn(&Seen) -> f64| seen.iter().map(f).sum::<f64>();
    let mut oracle = Oracle::default();
    oracle.none("neighbors missing from a beacon", seen.iter().map(|s| s.wrong).sum());
    oracle.none("repeats that lists do not ask for", seen.iter().map(|s| s.needless).sum());
    let far = sum(&|s| s.far as f64);
    let p = sum(&|s| s.predicted) / far;
    // Every node at two hops is a query; the rates of beacons differ.
    let sd = (sum(&|s| s.spread) + far * p).sqrt() / far;
    let covered = |i: usize| sum(&|s| s.covered[i] as f64) / far;
    let mut rows =
        Rows::new("covered", "Nodes at two hops that seem to be covered", Axis::linear("share"));
    rows.row("by a beacon", p, covered(0), bound::mean(p, sd, 1));
    rows.row(
        "by the next beacon too, same seed (the trap)",
        covered(0),
        covered(1),
        Bound::exactly(covered(0), 0.0),
    );
    rows.row(
        "by the next beacon too, a new seed: p²",
        p * p,
        covered(2),
        Bound::at_most(bound::share(p * p, far as u64).high.unwrap_or(1.0) * 1.2),
    );
    let reached = sum(&|s| s.heard[0] as f64) / sum(&|s| s.heard[1] as f64);
    let mut table = Rows::new("source", "Beacons and broadcasts", Axis::linear("value"));
    table.row(
        "bytes of beacons for each byte of addresses",
        62.5 / 300.0,
        sum(&|s| s.bytes[0]) / sum(&|s| s.bytes[1]),
        Bound::between(0.205, 0.225),
    );
    table.row(
        "nodes reached, for each that lists reach",
        1.0,
        reached,
        Bound::between(1.0 - p, 1.0),
    );
    table.row(
        "ticks until a neighbor that is gone is forgotten",
        2.0,
        ticks_until_forgotten()?,
        Bound::exactly(2.0, 0.0),
    );
    let mut series = Series { name: "requests in vain".into(), ..Series::default() };
    let mut picture = None;
    let mut lost = 0;
    for bits in [128, 256, 512] {
        let seen = lab.runs(lab.scaled(1), |seed| requests(seed, bits))?;
        lost += seen.iter().map(|s| s.lost).sum::<u64>();
        let asked = seen.iter().map(|s| s.asked).sum::<u64>() as f64;
        let predicted = seen.iter().map(|s| s.predicted).sum::<f64>() / asked;
        let wrong = seen.iter().map(|s| s.wrong).sum::<u64>() as f64 / asked;
        series.curve.push((bits as f64, predicted));
        // A target is queried in the overlapping filters of many neighbors: as good as 1/20 of the queries.
        series.point(bits as f64, predicted, wrong, bound::share(predicted, (asked / 20.0) as u64));
        picture = picture.or(seen.into_iter().find_map(|s| s.picture));
    }
    oracle.none("targets three hops away that no neighbor's merged filter has", lost);
    let chart = Chart::new(
        "requests",
        "Neighbors off the way that are asked for a route",
        [Axis::log("bits of a merged filter"), Axis::log("share")],
        [series],
    );
    let mut report = oracle.report().rows(rows).rows(table).chart(chart);
    if let Some(picture) = picture {
        report = report.drawing(picture);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a63_a_beacon_of_fifty() {
        let others: Vec<u64> = (1..50).collect();
        assert_eq!(Beacon::new(0, &others, 0).unwrap().bytes(), 62.5);
        assert_eq!(50 * 6, 300);
    }
}

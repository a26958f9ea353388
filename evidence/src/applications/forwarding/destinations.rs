//! Multicast by the receivers in the header (catalogue A43; S0 §IV-C4 \[86\], S3 §III-B \[4\], AOM).
//!
//! ```text
//!   header {r1, r2, r3} ──▶ router: which of my destinations are in it?  r1, r2 by the left link,
//!                                                                        r3     by the right one
//!                           left  ◀── header {r1, r2}      rebuilt for each branch
//!                           right ◀── header {r3}
//! ```
//!
//! Routers have their usual tables of next hops and no state of any group. The header is a filter of receivers. A
//! router tests all destinations of its table, groups those that pass by next hop, never the one the packet came
//! by, and **builds a new header for every branch** from that branch's destinations. So a receiver is in one
//! branch's header alone: one copy each, no loop. A wrong destination gets a copy now and then, since |D| of them
//! are tested.
//!
//! Forwarding the unchanged header instead is the trap: each router finds all receivers again, in all directions,
//! and copies multiply without bound.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use everbloom::internals::hash::Generator;
use everbloom::{Hasher, Result};

use crate::sim::in_packet::{Header, Tag, Tags, false_links};
use crate::sim::{Graph, Link, Node, Topology, drawing, shuffle};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Routers with tables of next hops.
pub struct Network {
    graph: Graph,
    tags: Tags,
    ids: Vec<Tag>,
    /// The neighbor towards each destination, by node.
    next: Vec<Vec<Node>>,
}

/// What a router does with the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Headers {
    /// A new one for each branch, of that branch's destinations.
    Rebuilt,
    /// The same for all: the trap.
    Unchanged,
}

/// What became of a packet.
#[derive(Clone, Debug, Default)]
pub struct Delivery {
    /// How often each node got it that found itself in the header.
    pub copies: BTreeMap<Node, u64>,
    /// The links it took, in order.
    pub links: Vec<Link>,
    /// Copies that ran out of hops.
    pub expired: u64,
    /// Destinations that passed at the sender, of those tested.
    pub tested: (u64, u64),
}

const MOST_HOPS: u32 = 64;
/// Transmissions after which a packet is given up.
const MOST_STEPS: usize = 20_000;

impl Network {
    /// The routers of a network, with headers of `m` bits and `k` probes.
    pub fn new(graph: Graph, m: u64, k: u32, seed: u64) -> Self {
        let tags = Tags::thrown(m, k, Hasher::seeded(seed));
        let ids = (0..graph.len() as u64).map(|node| tags.tag(0, &node)).collect();
        let ways: Vec<_> = (0..graph.len()).map(|to| graph.ways_to(to)).collect();
        let towards = |from: Node| ways.iter().map(|way| way[from].map_or(from, |w| w.1)).collect();
        let next = (0..graph.len()).map(towards).collect();
        Self { graph, tags, ids, next }
    }

    fn header(&self, receivers: &[Node]) -> Header {
        self.tags.header(0, receivers.iter().map(|node| &self.ids[*node]))
    }

    /// The tree that the next hops make: paths to each receiver, joined where they share links.
    fn tree(&self, from: Node, receivers: &[Node]) -> Vec<Link> {
        let mut links = BTreeSet::new();
        for &to in receivers {
            let mut at = from;
            while at != to {
                let next = self.next[at][to];
                links.insert(Link { from: at, to: next });
                at = next;
            }
        }
        links.into_iter().collect()
    }

    /// Sends a packet.
    pub fn send(&self, from: Node, receivers: &[Node], headers: Headers) -> Delivery {
        let mut seen = Delivery::default();
        let mut waiting = VecDeque::from([(from, from, self.header(receivers), MOST_HOPS)]);
        while let Some((came, at, header, hops)) = waiting.pop_front() {
            if seen.links.len() >= MOST_STEPS {
                break;
            }
            let mut branches: BTreeMap<Node, Vec<Node>> = BTreeMap::new();
            for to in (0..self.ids.len()).filter(|&to| header.admits(&self.ids[to])) {
                if to == at {
                    *seen.copies.entry(at).or_default() += 1;
                } else if self.next[at][to] != came || at == from && hops == MOST_HOPS {
                    branches.entry(self.next[at][to]).or_default().push(to);
                }
            }
            if hops == MOST_HOPS {
                let passed: u64 = branches.values().map(|b| b.len() as u64).sum();
                let right = receivers.len() as u64;
                seen.tested = (passed - right, self.ids.len() as u64 - 1 - right);
            }
            if hops == 0 {
                seen.expired += 1;
                continue;
            }
            for (next, destinations) in branches {
                let header = match headers {
                    Headers::Rebuilt => self.header(&destinations),
                    Headers::Unchanged => header.clone(),
                };
                seen.links.push(Link { from: at, to: next });
                waiting.push_back((at, next, header, hops - 1));
            }
        }
        seen
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A43",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the tree of shortest paths to the receivers",
    data: "packets to 8 and 20 random receivers of networks of 200 nodes with 4 links each",
    experiment: Experiment {
        name: "destinations",
        source: "S0 §IV-C4 [86], S3 §III-B [4]",
        title: "Multicast by the receivers in the header (AOM)",
        shows: "Each receiver gets one copy, over hardly more links than the tree has; at the sender |D|·f wrong \
                destinations pass. With the header unchanged, copies multiply without bound.",
        run,
    },
};

const NODES: usize = 200;
/// Receivers, bits of the header, probes.
const CASES: [(usize, u64, u32); 3] = [(8, 256, 5), (20, 256, 5), (20, 512, 8)];

#[derive(Default)]
struct Seen {
    missed: u64,
    duplicates: u64,
    expired: u64,
    extra: u64,
    links: u64,
    tree: u64,
    tested: (u64, u64),
}

fn receivers(graph: &Graph, count: usize, random: &mut Generator) -> (Node, Vec<Node>) {
    let mut nodes: Vec<Node> = (0..graph.len()).collect();
    shuffle(&mut nodes, random);
    (nodes[0], nodes[1..=count].to_vec())
}

fn try_one(seed: u64, (count, m, k): (usize, u64, u32), headers: Headers, packets: u64) -> Seen {
    let graph = Topology::RandomRegular { nodes: NODES, degree: 4 }.build(seed);
    let network = Network::new(graph, m, k, !seed);
    let mut random = Generator::new(seed);
    let mut seen = Seen::default();
    for _ in 0..packets {
        let (from, receivers) = receivers(&network.graph, count, &mut random);
        let delivery = network.send(from, &receivers, headers);
        let copies = |node: &Node| delivery.copies.get(node).copied().unwrap_or(0);
        seen.missed += receivers.iter().filter(|r| copies(r) == 0).count() as u64;
        seen.duplicates += delivery.copies.values().map(|c| c.saturating_sub(1)).sum::<u64>();
        let others = delivery.copies.keys().filter(|n| !receivers.contains(n) && **n != from);
        seen.extra += others.count() as u64;
        seen.expired += delivery.expired;
        seen.links += delivery.links.len() as u64;
        seen.tree += network.tree(from, &receivers).len() as u64;
        seen.tested.0 += delivery.tested.0;
        seen.tested.1 += delivery.tested.1;
    }
    seen
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(5);
    let packets = 60;
    let mut oracle = Oracle::default();
    let mut rows = Rows::new(
        "packets",
        "Packets in networks of 200 nodes, a new header for each branch",
        Axis::linear("for each packet"),
    );
    let mut series = Vec::new();
    for case in CASES {
        let (count, m, k) = case;
        let name = format!("{count} receivers, {m} bits, k = {k}");
        let seen = lab.runs(runs, |seed| Ok(try_one(seed, case, Headers::Rebuilt, packets)))?;
        let sum = |f: &dyn Fn(&Seen) -> u64| seen.iter().map(f).sum::<u64>();
        oracle.none(&format!("receivers missed: {name}"), sum(&|s| s.missed));
        oracle.none(&format!("copies that ran out of hops: {name}"), sum(&|s| s.expired));
        let all = (runs * packets) as f64;
        let passing = Tags::thrown(m, k, Hasher::default()).passing(count as u64, 1);
        let tests = sum(&|s| s.tested.1);
        let each = tests as f64 / all;
        let at_sender = passing.mean * each;
        let rate = bound::rate(passing.mean, passing.sd, runs * packets, each as u64);
        let mut line = Series::new(name.clone(), (1..=40).map(f64::from), |n| {
            (NODES as f64 - 1.0 - n)
                * Tags::thrown(m, k, Hasher::default()).passing(n as u64, 1).mean
        });
        let scaled = Bound { low: rate.low.map(|l| l * each), high: rate.high.map(|h| h * each) };
        line.point(count as f64, at_sender, sum(&|s| s.tested.0) as f64 / all, scaled);
        series.push(line);
        // Branches have shorter headers, and what passed once is a destination like others: later routers add
        // no more than the sender did, but for a packet or two.
        let high = 2.0 * at_sender + 4.9 * (at_sender.max(0.05) / all).sqrt();
        let extra = sum(&|s| s.extra) as f64 / all;
        rows.row(format!("wrong receivers: {name}"), at_sender, extra, Bound::between(0.0, high));
        let (links, tree) = (sum(&|s| s.links) as f64 / all, sum(&|s| s.tree) as f64 / all);
        // A wrong destination is at most as far away as the network is wide, 8 hops.
        let most = tree + 8.0 * high + 0.05;
        rows.row(
            format!("transmissions, beside the tree's links: {name}"),
            tree,
            links,
            Bound::between(tree, most),
        );
        let again = sum(&|s| s.duplicates) as f64 / all;
        rows.row(format!("copies too many: {name}"), 0.0, again, Bound::between(0.0, high));
    }
    let trap = lab.runs(4, |seed| Ok(try_one(seed, CASES[0], Headers::Unchanged, 1)))?;
    let copies = trap.iter().map(|s| s.duplicates).sum::<u64>() as f64 / trap.len() as f64;
    // Wherever copies are, one node in 25 is a receiver, and they are drawn towards receivers.
    let expected = (MOST_STEPS * CASES[0].0 / NODES) as f64;
    rows.row(
        "copies too many with the header unchanged (trap)",
        expected,
        copies,
        Bound::at_least(expected / 4.0),
    );
    let steps = trap.iter().map(|s| s.links).min().unwrap_or(0) as f64;
    let most = MOST_STEPS as f64;
    rows.row(
        "transmissions with the header unchanged, cut off (trap)",
        most,
        steps,
        Bound::at_least(most),
    );
    let chart = Chart::new(
        "wrong",
        "Wrong destinations that pass at the sender, of 200: |D|·f",
        [Axis::linear("receivers in the header"), Axis::log("destinations")],
        series,
    );
    Ok(oracle.report().chart(chart).rows(rows).drawing(picture(lab)))
}

/// A packet to 20 receivers in a network that can be drawn, with wrong destinations.
fn picture(lab: &Lab) -> Drawing {
    let graph = Topology::UnitDisk { nodes: 120, radius: 0.16 }.build(lab.seed());
    let network = Network::new(graph, 96, 4, lab.seed());
    let mut random = Generator::new(lab.seed());
    let (from, receivers) = receivers(&network.graph, 14, &mut random);
    let delivery = network.send(from, &receivers, Headers::Rebuilt);
    let wanted = network.tree(from, &receivers);
    let wrong = false_links(&delivery.links, &wanted);
    let mut names = vec![(from, "sender".to_owned())];
    names.extend(receivers.iter().map(|&node| (node, " ".to_owned())));
    let others = delivery.copies.keys().filter(|n| !receivers.contains(n) && **n != from);
    names.extend(others.map(|&node| (node, "wrong".to_owned())));
    let title =
        format!("14 receivers in a header of 96 bits, {} links for wrong ones", wrong.len());
    drawing("tree", &title, &network.graph, [&wanted, &wrong], &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a43_wrong_destinations_at_the_sender() {
        let f = everbloom::internals::theory::bloom::fpr_asymptotic(256.0, 20.0, 5.0);
        assert!((180.0 * f - 0.64).abs() < 0.01, "{}", 180.0 * f);
    }

    #[test]
    fn one_receiver_gets_one_copy() {
        let grid = Topology::Grid { width: 4, height: 4 }.build(1);
        let network = Network::new(grid, 512, 8, 1);
        let delivery = network.send(0, &[15], Headers::Rebuilt);
        assert_eq!((delivery.copies.get(&15), delivery.links.len()), (Some(&1), 6));
    }
}

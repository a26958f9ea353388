//! Source routes in the MAC fields of a data center (catalogue A42; S0 §IV-C4 \[85\], SiBF).
//!
//! ```text
//!             core (one of many, at random)
//!           ╱      ╲
//!      aggregation  aggregation     the two MAC fields, 96 bits, carry a filter of what is still
//!        ╱              ╲           to visit: core, aggregation, top of rack (3 elements, k = 7)
//!   top of rack      top of rack
//! ```
//!
//! The switch at the top of the sender's rack draws a core at random (Valiant's load balancing), writes the filter,
//! and hands the packet up. Each switch tests its own neighbors and keeps nothing else. As the topology is known,
//! the first switch discards candidates whose filter hits a wrong neighbor on the way, and draws again; the last
//! switch restores the addresses.

use std::ops::Range;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Hasher, Result};

use crate::sim::in_packet::{Header, Tag, Tags, false_links, spread};
use crate::sim::{Graph, Link, Node, Topology, drawing};
use crate::{
    Application, Axis, Bound, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, bound,
};

/// A fat tree of switches that forward by filters in the MAC fields.
///
/// ```
/// use everbloom::internals::hash::Generator;
/// use everbloom_lab::applications::forwarding::data_center::DataCenter;
/// let center = DataCenter::new(8, 1);
/// let mut random = Generator::new(1);
/// let frame = center.address(0, 100, &mut random).expect("hosts of different pods");
/// assert_eq!(center.deliver(0, &frame), [100]);
/// ```
pub struct DataCenter {
    ports: usize,
    graph: Graph,
    tags: Tags,
    ids: Vec<Tag>,
}

/// What the first switch writes: both MAC fields, and the host behind the last switch, which the packet's IP
/// address tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Destination and source field.
    pub mac: [[u8; 6]; 2],
    /// The core that was drawn.
    pub core: Node,
    host: Node,
}

const BITS: u64 = 96;
const K: u32 = 7;
/// Draws before a switch gives up. Of cores, which share no tag, nearly all are good: one in 600 is bad.
const DRAWS: usize = 1_000;

impl DataCenter {
    /// Switches of `ports` ports (an even number).
    pub fn new(ports: usize, seed: u64) -> Self {
        Self::with_bits(ports, BITS, K, seed)
    }

    fn with_bits(ports: usize, m: u64, k: u32, seed: u64) -> Self {
        let graph = Topology::FatTree { ports }.build(seed);
        let tags = Tags::thrown(m, k, Hasher::seeded(seed));
        let ids = (0..graph.len() as u64).map(|node| tags.tag(0, &node)).collect();
        let mut center = Self { ports, graph, tags, ids };
        center.tell_racks_apart();
        center
    }

    /// Draws the tags of racks again until none lies within another one. The last switch is in every filter of a
    /// way to it, so a rack within its tag would be hit over every core, and no draw of a core would help.
    fn tell_racks_apart(&mut self) {
        for rack in self.racks() {
            let one = |tag: &Tag| self.tags.header(0, [tag]);
            let apart = |tag: &Tag| {
                let header = one(tag);
                let others = &self.ids[self.racks().start..rack];
                !others.iter().any(|other| header.admits(other) || one(other).admits(tag))
            };
            let mut drawn = (0..DRAWS as u64).map(|table| self.tags.tag(table, &(rack as u64)));
            if let Some(tag) = drawn.find(apart) {
                self.ids[rack] = tag;
            }
        }
    }

    fn half(&self) -> usize {
        self.ports / 2
    }

    fn cores(&self) -> usize {
        self.half() * self.half()
    }

    /// The switches at the top of the racks.
    fn racks(&self) -> Range<Node> {
        let first = self.cores() + self.ports * self.half();
        first..first + self.ports * self.half()
    }

    /// How many hosts there are.
    pub fn hosts(&self) -> usize {
        self.ports * self.cores()
    }

    /// The switch at the top of a host's rack, and its pod.
    fn rack(&self, host: usize) -> (Node, usize) {
        let (pod, inside) = (host / self.cores(), host % self.cores());
        (self.racks().start + pod * self.half() + inside / self.half(), pod)
    }

    /// The switch of a pod that is linked with a core.
    fn aggregation(&self, pod: usize, core: Node) -> Node {
        self.cores() + pod * self.half() + core / self.half()
    }

    /// The switches from the first to the last one, over a core; none within one pod, which needs no core.
    fn route(&self, from: usize, to: usize, core: Node) -> Option<[Node; 5]> {
        let ((first, pod), (last, other)) = (self.rack(from), self.rack(to));
        let up = self.aggregation(pod, core);
        (pod != other).then(|| [first, up, core, self.aggregation(other, core), last])
    }

    /// The filter of what is to be visited.
    fn header(&self, visits: &[Node]) -> Header {
        self.tags.header(0, visits.iter().map(|node| &self.ids[*node]))
    }

    /// Wrong neighbors that the filter hits on its way, of those tested: all but the next one and the last one.
    fn wrong(&self, header: &Header, route: &[Node; 5]) -> (u64, u64) {
        let (mut wrong, mut tested) = (0, 0);
        for way in route.windows(3) {
            let other = |n: &&Node| **n != way[0] && **n != way[2];
            for neighbor in self.graph.neighbors(way[1]).iter().filter(other) {
                tested += 1;
                wrong += u64::from(header.admits(&self.ids[*neighbor]));
            }
        }
        (wrong, tested)
    }

    /// What the first switch writes into a packet between hosts of different pods: over a core at random, whose
    /// filter hits no wrong neighbor.
    pub fn address(&self, from: usize, to: usize, random: &mut Generator) -> Option<Frame> {
        (0..DRAWS).find_map(|_| {
            let core = random.below(self.cores() as u64) as Node;
            let route = self.route(from, to, core)?;
            let header = self.header(&route[2..]);
            let clean = self.wrong(&header, &route).0 == 0;
            clean.then(|| Frame { mac: fields(&header), core, host: to })
        })
    }

    /// The links that a frame takes between switches from the first one up. Cores and aggregation switches test
    /// their neighbors; one at the top of a rack keeps what comes from above.
    fn links(&self, first: Node, core: Node, header: &Header, pod: usize) -> Vec<Link> {
        let up = self.aggregation(pod, core);
        spread(&self.graph, first, |link| match link.from == first {
            true => link.to == up,
            false => link.from < self.racks().start && header.admits(&self.ids[link.to]),
        })
    }

    /// The hosts that a frame reaches: the last switch restores the addresses of the host that the packet is for.
    pub fn deliver(&self, from: usize, frame: &Frame) -> Vec<usize> {
        let bytes = frame.mac.concat();
        let Some(header) = self.tags.read(0, &bytes) else { return Vec::new() };
        let (first, pod) = self.rack(from);
        let used = self.links(first, frame.core, &header, pod);
        let (last, _) = self.rack(frame.host);
        let arrived = used.iter().filter(|link| link.to == last).count();
        vec![frame.host; arrived]
    }
}

/// 96 bits as two MAC addresses.
fn fields(header: &Header) -> [[u8; 6]; 2] {
    let mut mac = [[0; 6]; 2];
    for (to, from) in mac.iter_mut().flatten().zip(header.to_bytes()) {
        *to = from;
    }
    mac
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A42",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the route itself: each packet arrives once, over the drawn core and no other switch",
    data: "packets between random hosts of a fat tree of 48-port switches (27,648 hosts)",
    experiment: Experiment {
        name: "data-center",
        source: "S0 §IV-C4 [85]",
        title: "Source routes in the MAC fields of a data center (SiBF)",
        shows: "Of 138 wrong neighbors on a way, a filter of 3 elements in 96 bits hits 0.002; after the choice of a \
                clean one, none. Cores are loaded evenly.",
        run,
    },
};

const PORTS: usize = 48;

struct Seen {
    /// Wrong neighbors hit before the choice, and tested, with 3 and with 5 elements.
    hit: [[u64; 2]; 2],
    after: u64,
    lost: u64,
    /// Other switches than those of the route.
    astray: u64,
    loads: Vec<u64>,
}

fn try_one(seed: u64, packets: u64) -> Seen {
    let center = DataCenter::new(PORTS, seed);
    let mut random = Generator::new(!seed);
    let mut seen =
        Seen { hit: [[0; 2]; 2], after: 0, lost: 0, astray: 0, loads: vec![0; center.cores()] };
    let hosts = center.hosts() as u64;
    let mut sent = 0;
    while sent < packets {
        let [from, to] = [0; 2].map(|_| random.below(hosts) as usize);
        let core = random.below(center.cores() as u64) as Node;
        let Some(route) = center.route(from, to, core) else { continue };
        sent += 1;
        for (seen, visits) in seen.hit.iter_mut().zip([&route[2..], &route[..]]) {
            let (wrong, tested) = center.wrong(&center.header(visits), &route);
            *seen = [seen[0] + wrong, seen[1] + tested];
        }
        let Some(frame) = center.address(from, to, &mut random) else {
            seen.lost += 1;
            continue;
        };
        seen.loads[frame.core] += 1;
        seen.lost += u64::from(center.deliver(from, &frame) != [to]);
        let (Some(route), Some(header)) =
            (center.route(from, to, frame.core), center.tags.read(0, &frame.mac.concat()))
        else {
            continue;
        };
        seen.after += center.wrong(&header, &route).0;
        let used = center.links(route[0], frame.core, &header, center.rack(from).1);
        seen.astray += (used.len() as u64).abs_diff(4);
    }
    seen
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, packets) = (lab.scaled(4), 6_000);
    let seen = lab.runs(runs, |seed| Ok(try_one(seed, packets)))?;
    let mut oracle = Oracle::default();
    oracle.none("packets that did not arrive, or not once", seen.iter().map(|s| s.lost).sum());
    oracle.none("links beside the route", seen.iter().map(|s| s.astray).sum());
    let tags = Tags::thrown(BITS, K, Hasher::default());
    let mut rows = Rows::new(
        "hits",
        "Wrong neighbors hit on a way of 3 switches with 46 wrong neighbors each",
        Axis::linear("hits for each way"),
    );
    for (i, elements) in [3, 5].into_iter().enumerate() {
        let [hit, tested] = [0, 1].map(|j| seen.iter().map(|s| s.hit[i][j]).sum::<u64>());
        let ways = runs * packets;
        let (passing, tests) = (tags.passing(elements, 1), tested / ways);
        let scale = tests as f64;
        let bound = bound::rate(passing.mean, passing.sd, ways, tests);
        rows.row(
            format!("{elements} elements, before the choice"),
            passing.mean * scale,
            hit as f64 / ways as f64,
            Bound { low: bound.low.map(|l| l * scale), high: bound.high.map(|h| h * scale) }
                .widened(passing.mean * scale, 0.02),
        );
    }
    let after: u64 = seen.iter().map(|s| s.after).sum();
    rows.row("3 elements, after the choice", 0.0, after as f64, Bound::exactly(0.0, 0.0));
    let mut loads =
        Rows::new("loads", "Cores are loaded evenly", Axis::linear("χ² over 576 cores"));
    let cores = seen[0].loads.len();
    let total: Vec<u64> = (0..cores).map(|i| seen.iter().map(|s| s.loads[i]).sum()).collect();
    let each = total.iter().sum::<u64>() as f64 / cores as f64;
    let chi: f64 = total.iter().map(|n| (*n as f64 - each) * (*n as f64 - each) / each).sum();
    let free = (cores - 1) as f64;
    loads.row("packets of a core", free, chi, bound::mean(free, (2.0 * free).sqrt(), 1));
    Ok(oracle.report().rows(rows).rows(loads).drawing(picture(lab)).note(format!(
        "A switch keeps the tags of its {PORTS} neighbors and nothing else. The formula (1−e^(−kn/m))^k gives {:.2e} \
         for 3 elements and a neighbor, {:.2e} for 5; filters of 96 bits differ in their fill, and their mean rates \
         are {:.2e} and {:.2e}.",
        bloom::fpr_asymptotic(96.0, 3.0, 7.0),
        bloom::fpr_asymptotic(96.0, 5.0, 7.0),
        tags.passing(3, 1).mean,
        tags.passing(5, 1).mean
    )))
}

/// A way in a small center, with a filter so short that it hits a wrong neighbor.
fn picture(lab: &Lab) -> Drawing {
    let center = DataCenter::with_bits(6, 20, 2, lab.seed());
    let ways = (0..center.cores()).filter_map(|core| {
        let route = center.route(0, center.hosts() - 1, core)?;
        let header = center.header(&route[2..]);
        let used = center.links(route[0], core, &header, 0);
        Some((center.wrong(&header, &route).0, route, used))
    });
    let worst = ways.max_by_key(|(wrong, ..)| *wrong);
    let (route, used) = worst.map_or(([0; 5], Vec::new()), |(_, route, used)| (route, used));
    let wanted: Vec<Link> = route.windows(2).map(|w| Link { from: w[0], to: w[1] }).collect();
    let wrong = false_links(&used, &wanted);
    let names = [
        (route[0], "first".to_owned()),
        (route[2], "core".to_owned()),
        (route[4], "last".to_owned()),
    ];
    let title =
        format!("20 bits in place of 96: the way over the worst core, {} wrong links", wrong.len());
    drawing("way", &title, &center.graph, [&wanted, &wrong], &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a42_rates() {
        let f = |elements| bloom::fpr_asymptotic(96.0, elements, 7.0);
        assert!((f(3.0) / 1.13e-5 - 1.0).abs() < 0.01);
        assert!((141.0 * f(3.0) - 0.0016).abs() < 5e-5);
        assert!((f(5.0) / 2.5e-4 - 1.0).abs() < 0.05);
        assert!((141.0 * f(5.0) - 0.034).abs() < 0.002);
    }

    #[test]
    fn a_rack_within_another_would_be_hit_over_every_core() {
        // Tags of 3 ones among 64: about 30 of 512 racks lie within an earlier one before they are told apart.
        let center = DataCenter::with_bits(32, 64, 3, 1);
        for rack in center.racks() {
            let header = center.header(&[rack]);
            let within = center.racks().filter(|other| header.admits(&center.ids[*other]));
            assert_eq!(within.collect::<Vec<_>>(), [rack]);
        }
    }

    #[test]
    fn hosts_of_one_pod_need_no_core() {
        let center = DataCenter::new(4, 1);
        assert_eq!(center.hosts(), 16);
        assert!(center.address(0, 3, &mut Generator::new(1)).is_none());
        assert_eq!(center.rack(15), (4 + 8 + 8 - 1, 3));
    }
}

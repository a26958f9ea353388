//! A switch with a filter for each next hop (catalogue A20; S0 §IV-C4 \[82\], BUFFALO).
//!
//! ```text
//!   address ──▶ filter of hop 1   no        one hop says yes: that one
//!           ──▶ filter of hop 2   yes       several: not the one the packet came by,
//!           ──▶ filter of hop 3   yes       and of the others one at random
//! ```
//!
//! The filters stand in fast memory; counting filters in slow memory follow the routes and write anew only the
//! filters that a change touches. A filter's size changes by folding its counters' bits, so that no address is
//! hashed again. An address of h hops has extra positives with 1 − (1−f)^(h−1). Then a packet may take a wrong turn,
//! but as the choice is random it takes the right one sooner or later: it is always delivered, over a few more
//! hops. Always taking the first positive instead sends some packets round for ever.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Hasher, Result};

use super::planes::Planes;
use crate::sim::{Graph, Link, Node, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Next hops of addresses, without a table of addresses.
///
/// ```
/// use everbloom::internals::hash::Generator;
/// use everbloom_lab::applications::forwarding::buffalo::Switch;
/// let mut switch = Switch::new(2, 100, 16.0)?;
/// switch.learn(0xA1, 0);
/// assert_eq!(switch.next_hop(0xA1, None, &mut Generator::new(1)), Some(0));
/// switch.reroute(&[(0xA1, 0, 1)])?;
/// assert_eq!(switch.next_hop(0xA1, None, &mut Generator::new(1)), Some(1));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Switch {
    hops: Vec<Planes>,
}

/// The control plane is four times as large as the data plane's filters, which can grow to that size.
const FOLDS: u32 = 2;

impl Switch {
    /// A switch with filters of `bits` bits for each of `addresses` addresses of every next hop.
    pub fn new(hops: usize, addresses: u64, bits: f64) -> Result<Self> {
        let m = ((addresses as f64 * bits / 2.0).ceil() as u64).max(32) * 2;
        let k = bloom::best_k(m, addresses.max(1));
        let hops = (0..hops as u64).map(|hop| Planes::new(m, k, FOLDS, Hasher::seeded(hop)));
        Ok(Self { hops: hops.collect::<Result<_>>()? })
    }

    /// A new address behind a next hop; one that the switch does not have is ignored.
    pub fn learn(&mut self, address: u64, hop: usize) {
        if let Some(planes) = self.hops.get_mut(hop) {
            planes.insert(&address);
        }
    }

    /// Moves addresses (address, old hop, new hop), and returns how many filters were written anew.
    pub fn reroute(&mut self, moves: &[(u64, usize, usize)]) -> Result<usize> {
        let mut changed = BTreeSet::new();
        for &(address, old, new) in moves {
            if let Some(planes) = self.hops.get_mut(old) {
                planes.take(&address)?;
                changed.insert(old);
            }
            self.learn(address, new);
            changed.insert(new);
        }
        for hop in &changed {
            if let Some(planes) = self.hops.get_mut(*hop) {
                planes.publish()?;
            }
        }
        Ok(changed.len())
    }

    /// Makes a hop's filter 2^`folds` times smaller than its counters.
    pub fn resize(&mut self, hop: usize, folds: u32) -> Result<()> {
        self.hops.get_mut(hop).map_or(Ok(()), |planes| planes.resize(folds))
    }

    /// The hops whose filters say yes.
    pub fn candidates(&self, address: u64) -> Vec<usize> {
        (0..self.hops.len()).filter(|&hop| self.hops[hop].contains(&address)).collect()
    }

    /// The hop to take: one at random, but back to where the packet came from only if there is no other.
    pub fn next_hop(
        &self,
        address: u64,
        came_by: Option<usize>,
        random: &mut Generator,
    ) -> Option<usize> {
        let mut candidates = self.candidates(address);
        if candidates.len() > 1 {
            candidates.retain(|&hop| Some(hop) != came_by);
        }
        let chosen = random.below(candidates.len() as u64) as usize;
        candidates.get(chosen).copied()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A20",
    form: Form::Simulation,
    uses: &["bloom", "counting"],
    oracle: "a table of the next hop of every address",
    data: "random addresses behind 10 and 32 next hops; hosts in a network of 64 switches, one link of which fails",
    experiment: Experiment {
        name: "buffalo",
        source: "S0 §IV-C4 [82]",
        title: "A switch with a filter for each next hop (BUFFALO)",
        shows: "Every packet is delivered. Extra positives have 1 − (1−f)^(h−1): 0.00896 at 10 hops and 0.0305 at \
                32, for f = 0.001. A change of routes rewrites the filters it touches, and no others.",
        run,
    },
};

const ADDRESSES: u64 = 500;
/// 14.378 bits an address give a rate of 0.001.
const BITS: f64 = 14.378;

/// Addresses with extra positives, and those whose own hop is missing.
fn one_switch(seed: u64, hops: usize) -> Result<(u64, u64)> {
    let mut switch = Switch::new(hops, ADDRESSES, BITS)?;
    let all = (0..ADDRESSES * hops as u64).map(|i| (seed ^ i << 20, (i % hops as u64) as usize));
    let all: Vec<(u64, usize)> = all.collect();
    all.iter().for_each(|&(address, hop)| switch.learn(address, hop));
    let (mut extra, mut missing) = (0, 0);
    for &(address, hop) in &all {
        let candidates = switch.candidates(address);
        missing += u64::from(!candidates.contains(&hop));
        extra += u64::from(candidates.len() > 1);
    }
    Ok((extra, missing))
}

/// Switches with hosts behind them: host i is behind switch i % switches.
struct Network {
    graph: Graph,
    switches: Vec<Switch>,
    /// The next hop of every address, by switch: the exact twin.
    routes: Vec<HashMap<u64, usize>>,
}

const HOSTS: u64 = 1_280;

/// For each node the number of its interface towards every other node.
fn interfaces(graph: &Graph) -> Vec<Vec<Option<usize>>> {
    let ways: Vec<_> = (0..graph.len()).map(|to| graph.ways_to(to)).collect();
    let number = |from: Node, way: Option<(usize, Node)>| {
        let (_, next) = way.filter(|(hops, _)| *hops > 0)?;
        graph.neighbors(from).iter().position(|n| *n == next)
    };
    let towards = |from: Node| ways.iter().map(|ways| number(from, ways[from])).collect();
    (0..graph.len()).map(towards).collect()
}

impl Network {
    fn new(seed: u64, bits: f64) -> Result<Self> {
        let graph = Topology::UnitDisk { nodes: 64, radius: 0.2 }.build(seed);
        let mut network = Self { switches: Vec::new(), routes: Vec::new(), graph };
        for (node, towards) in interfaces(&network.graph).iter().enumerate() {
            let hops = network.graph.neighbors(node).len();
            // Filters are of one size, that of the hop with the most addresses.
            let mut loads = vec![0; hops];
            let of = |host: u64| towards[network.home(host)];
            (0..HOSTS).filter_map(of).for_each(|hop| loads[hop] += 1);
            let most = loads.iter().max().copied().unwrap_or(0);
            let mut switch = Switch::new(hops, most, bits)?;
            let mut routes = HashMap::new();
            for host in 0..HOSTS {
                if let Some(hop) = towards[network.home(host)] {
                    switch.learn(host, hop);
                    routes.insert(host, hop);
                }
            }
            network.switches.push(switch);
            network.routes.push(routes);
        }
        Ok(network)
    }

    fn home(&self, host: u64) -> Node {
        (host % self.graph.len() as u64) as Node
    }

    /// The way a packet takes, up to `most` hops. `choose` has the switch, the host and the interface it came by.
    fn walk(
        &self,
        from: Node,
        host: u64,
        most: usize,
        mut choose: impl FnMut(&Switch, Option<usize>) -> Option<usize>,
    ) -> Vec<Node> {
        let mut path = vec![from];
        let mut at = from;
        while at != self.home(host) && path.len() <= most {
            let before = path.len().checked_sub(2).map(|i| path[i]);
            let came = before.and_then(|b| self.graph.neighbors(at).iter().position(|n| *n == b));
            let Some(hop) = choose(&self.switches[at], came) else { break };
            at = self.graph.neighbors(at)[hop];
            path.push(at);
        }
        path
    }

    /// Routes around a link that fails: filters written anew, and how many had to be.
    fn fail(&mut self, link: Link) -> Result<(usize, usize)> {
        let mut graph = Graph::at((0..self.graph.len()).map(|n| self.graph.place(n)).collect());
        self.graph.links().filter(|l| *l != link).for_each(|l| _ = graph.link(l.from, l.to));
        let (mut written, mut needed) = (0, BTreeSet::new());
        let after = interfaces(&graph);
        for (node, switch) in self.switches.iter_mut().enumerate() {
            // Interfaces keep their numbers in the old network.
            let old_number = |new: usize| {
                let next = graph.neighbors(node)[new];
                self.graph.neighbors(node).iter().position(|n| *n == next)
            };
            let mut moves = Vec::new();
            for (&host, hop) in &mut self.routes[node] {
                let home = (host % graph.len() as u64) as Node;
                let Some(new) = after[node][home].and_then(old_number) else { continue };
                if new != *hop {
                    moves.push((host, *hop, new));
                    needed.extend([(node, *hop), (node, new)]);
                    *hop = new;
                }
            }
            written += switch.reroute(&moves)?;
        }
        Ok((written, needed.len()))
    }
}

const PACKETS: u64 = 4_000;
const MOST_HOPS: usize = 2_000;

struct Delivery {
    lost: u64,
    /// Hops of all packets, and of the shortest ways.
    hops: [f64; 2],
    extra: f64,
}

fn deliver(network: &Network, seed: u64) -> Delivery {
    let mut random = Generator::new(seed);
    let mut seen = Delivery { lost: 0, hops: [0.0; 2], extra: 0.0 };
    let ways: Vec<_> = (0..network.graph.len()).map(|to| network.graph.ways_to(to)).collect();
    let mut draw = Generator::new(!seed);
    for _ in 0..PACKETS {
        let (from, host) = (draw.below(network.graph.len() as u64) as Node, draw.below(HOSTS));
        let path = network.walk(from, host, MOST_HOPS, |switch, came| {
            let several = switch.candidates(host).len() > 1;
            seen.extra += f64::from(u8::from(several));
            switch.next_hop(host, came, &mut random)
        });
        seen.lost += u64::from(path.last() != Some(&network.home(host)));
        seen.hops[0] += (path.len() - 1) as f64;
        seen.hops[1] += ways[network.home(host)][from].map_or(0, |(hops, _)| hops) as f64;
    }
    seen.extra /= seen.hops[0].max(1.0);
    seen
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let extra_of = |f: f64, hops: f64| 1.0 - libm::pow(1.0 - f, hops - 1.0);
    let m = (ADDRESSES as f64 * BITS / 2.0).ceil() as u64 * 2;
    let f = bloom::fpr_exact(m, ADDRESSES, bloom::best_k(m, ADDRESSES));
    let mut series =
        Series::new("1 − (1−f)^(h−1)", (2..=40).map(f64::from), |h| extra_of(f, h));
    for hops in [10, 32] {
        let runs = lab.scaled(256 / hops as u64);
        let seen = lab.runs(runs, |seed| one_switch(seed, hops))?;
        oracle.none(&format!("own hop missing, {hops} hops"), seen.iter().map(|s| s.1).sum());
        let trials = ADDRESSES * hops as u64;
        let mean = seen.iter().map(|s| s.0).sum::<u64>() as f64 / (runs * trials) as f64;
        let expected = extra_of(f, hops as f64);
        // A filter's rate varies with its fill, and an address asks all the other filters.
        let k = f64::from(bloom::best_k(m, ADDRESSES));
        let fill = bloom::fill(m as f64, k * ADDRESSES as f64);
        let sd = expected * k * bloom::fill_sd(m as f64, k * ADDRESSES as f64)
            / fill
            / (hops as f64).sqrt();
        series.point(hops as f64, expected, mean, bound::rate(expected, sd, runs, trials));
    }
    let chart = Chart::new(
        "extra",
        "Addresses for which a wrong hop says yes as well (f = 0.001)",
        [Axis::linear("next hops"), Axis::linear("share of addresses")],
        [series],
    );
    let mut rows =
        Rows::new("network", "A network of 64 switches", Axis::linear("as the row says"));
    for bits in [BITS, 6.0] {
        let network = Network::new(lab.seed(), bits)?;
        let seen = deliver(&network, lab.seed());
        oracle.none(&format!("packets not delivered at {bits} bits an address"), seen.lost);
        // A wrong neighbor is one hop off, and one hop back: 2 hops for a wrong turn, of which there is one on
        // average before the right one; half as many again where three say yes.
        let q = seen.extra;
        let stretch = seen.hops[0] / seen.hops[1];
        rows.row(
            format!("hops for each of the shortest way, {bits} bits an address"),
            1.0 + 2.0 * q,
            stretch,
            Bound::between(1.0, 1.0 + 3.0 * q + 0.01),
        );
        let first = first_positive(&network, lab.seed());
        if bits < 10.0 {
            rows.row(
                format!("packets of {PACKETS} going round for ever where the first positive is taken (trap)"),
                1.0,
                first as f64,
                Bound::at_least(1.0),
            );
        }
    }
    changes(lab, &mut oracle, &mut rows)?;
    Ok(oracle.report().chart(chart).rows(rows).drawing(picture(lab)?))
}

/// Packets that never arrive where switches take the first positive.
fn first_positive(network: &Network, seed: u64) -> u64 {
    let mut draw = Generator::new(!seed);
    let lost = (0..PACKETS).filter(|_| {
        let (from, host) = (draw.below(network.graph.len() as u64) as Node, draw.below(HOSTS));
        let path = network.walk(from, host, 200, |s, _| s.candidates(host).first().copied());
        path.last() != Some(&network.home(host))
    });
    lost.count() as u64
}

/// A link fails, and filters change their size.
fn changes(lab: &Lab, oracle: &mut Oracle, rows: &mut Rows) -> Result<()> {
    let mut network = Network::new(lab.seed(), BITS)?;
    let link = network.graph.links().find(|l| {
        let mut without = Graph::at(vec![(0.0, 0.0); network.graph.len()]);
        network.graph.links().filter(|o| o != l).for_each(|o| _ = without.link(o.from, o.to));
        without.is_connected()
    });
    let Some(link) = link else { return Ok(()) };
    let (written, needed) = network.fail(link)?;
    let filters: usize = network.switches.iter().map(|s| s.hops.len()).sum();
    rows.row(
        format!("filters written anew when a link fails, of {filters}"),
        needed as f64,
        written as f64,
        Bound::exactly(needed as f64, 0.0),
    );
    let routes = network.routes.iter().zip(&network.switches);
    let missing = |(routes, switch): (&HashMap<u64, usize>, &Switch)| {
        routes.iter().filter(|(host, hop)| !switch.candidates(**host).contains(hop)).count() as u64
    };
    oracle.none("routes missing after the failure", routes.clone().map(missing).sum());
    for switch in &mut network.switches {
        (0..switch.hops.len()).try_for_each(|hop| switch.resize(hop, 0))?;
    }
    let routes = network.routes.iter().zip(&network.switches);
    oracle.none("routes missing after every filter has grown", routes.map(missing).sum());
    Ok(())
}

/// The longest detour at 6 bits an address.
fn picture(lab: &Lab) -> Result<Drawing> {
    let network = Network::new(lab.seed(), 6.0)?;
    let mut random = Generator::new(lab.seed());
    let mut longest: (usize, Vec<Node>, Vec<Node>) = (0, Vec::new(), Vec::new());
    for host in 0..200 {
        let from = ((host * 7) % network.graph.len() as u64) as Node;
        let path = network
            .walk(from, host, MOST_HOPS, |switch, came| switch.next_hop(host, came, &mut random));
        let Some(short) = network.graph.path(from, network.home(host)) else { continue };
        // The most eventful one that the eye can follow.
        let detour = path.len() - short.len();
        if (longest.0..=8).contains(&detour) {
            longest = (detour, path, short);
        }
    }
    let (detour, path, short) = longest;
    let links = |path: &[Node]| -> Vec<Link> {
        path.windows(2).map(|pair| Link { from: pair[0], to: pair[1] }).collect()
    };
    let (taken, wanted) = (links(&path), links(&short));
    let right = |l: &Link| wanted.contains(l) || wanted.contains(&Link { from: l.to, to: l.from });
    let wrong: Vec<Link> = taken.iter().filter(|l| !right(l)).copied().collect();
    let ends: BTreeMap<Node, &str> = [(short.first(), "from"), (short.last(), "to")]
        .into_iter()
        .filter_map(|(node, name)| Some((*node?, name)))
        .collect();
    let names: Vec<(Node, String)> =
        ends.into_iter().map(|(n, name)| (n, name.to_owned())).collect();
    let title =
        format!("A detour of {detour} hops at 6 bits an address; the shortest way beside it");
    Ok(drawing("detour", &title, &network.graph, [&wanted, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a20_extra_positives() {
        let extra = |h: i32| 1.0 - 0.999f64.powi(h - 1);
        assert!((extra(10) - 0.00896).abs() < 5e-6);
        assert!((extra(32) - 0.0305).abs() < 5e-5);
    }

    #[test]
    fn a_packet_goes_back_only_if_there_is_no_other_way() {
        let mut switch = Switch::new(3, 10, 16.0).unwrap();
        switch.learn(1, 0);
        let mut random = Generator::new(1);
        assert_eq!(switch.next_hop(1, Some(0), &mut random), Some(0));
        switch.learn(1, 2);
        assert_eq!(switch.next_hop(1, Some(0), &mut random), Some(2));
        assert_eq!(switch.next_hop(99, None, &mut random), None);
        switch.learn(5, 17);
        assert!(switch.reroute(&[(77, 0, 1)]).is_err(), "an address that is not there");
    }
}

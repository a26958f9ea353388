//! Off by default: what a host has not asked for is not forwarded to it (catalogue A55; S0 §IV-E \[114\]).
//!
//! ```text
//!   outside ──▶ router ──▶ router ──▶ router ──▶ host        every router has a filter of the pairs
//!                 ▲          ▲          ▲         │          (source prefix, host) announced behind it,
//!                 └──────────┴──────────┴─────────┘          and drops packets whose pair it does not find
//!                        announcements go up
//! ```
//!
//! A packet's source is tested at each prefix length in use, so that an unwanted one passes one router with
//! 1 − (1−f)^lengths. Routers that hash with **seeds of their own** stop it independently: h of them let f^h pass,
//! 10⁻¹⁰ at f = 0.01 and five routers. With equal seeds and contents all err for the same packets, and five routers
//! are no better than one. What was announced a moment ago is not yet everywhere, and dropped until it is.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Hasher, Result};

use super::longest_prefix::LongestPrefix;
use crate::sim::{Graph, Link, Node, Queue, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Which sources a host wants packets from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permit {
    /// The sources' prefix.
    pub source: Ipv4Addr,
    /// Its length.
    pub length: u8,
    /// The host.
    pub host: Ipv4Addr,
}

impl Permit {
    fn key(self) -> (u32, u8, u32) {
        let length = self.length.min(32);
        let mask = u32::MAX.checked_shl(32 - u32::from(length)).unwrap_or(0);
        (u32::from(self.source) & mask, length, self.host.into())
    }
}

/// What a router knows of the permits announced behind it.
///
/// ```
/// use everbloom_lab::applications::forwarding::off_by_default::{Gate, Permit};
/// let host = [10, 0, 0, 1].into();
/// let mut gate = Gate::new(100, 16.0, 1)?;
/// gate.announce(Permit { source: [192, 168, 0, 0].into(), length: 16, host });
/// assert!(gate.allows([192, 168, 3, 4].into(), host));
/// assert!(!gate.allows([192, 169, 3, 4].into(), host));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Gate {
    filter: Bloom,
    /// The prefix lengths in use, each of which costs a test.
    lengths: BTreeSet<u8>,
}

impl Gate {
    /// Room for so many permits at so many bits each, under a seed that should be the router's own.
    pub fn new(permits: u64, bits: f64, seed: u64) -> Result<Self> {
        let m = ((permits as f64 * bits).ceil() as u64).max(64);
        let filter = Bloom::with_shape(m, bloom::best_k(m, permits.max(1)), Hasher::seeded(seed))?;
        Ok(Self { filter, lengths: BTreeSet::new() })
    }

    /// Lets packets of a permit pass from now on.
    pub fn announce(&mut self, permit: Permit) {
        self.filter.insert(&permit.key());
        self.lengths.insert(permit.length.min(32));
    }

    /// Everything that another gate of the same size and seed lets pass, too.
    pub fn unite(&mut self, other: &Gate) -> Result<()> {
        self.filter.union(&other.filter)?;
        self.lengths.extend(&other.lengths);
        Ok(())
    }

    /// Whether a packet may go on to the host.
    pub fn allows(&self, source: Ipv4Addr, host: Ipv4Addr) -> bool {
        let permit = |length| Permit { source, length, host };
        self.lengths.iter().any(|&length| self.filter.contains(&permit(length).key()))
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A55",
    form: Form::Simulation,
    uses: &["bloom", "counting"],
    oracle: "a list of the permits",
    data: "hosts behind a tree of 121 routers, each with 4 permits of different lengths; random unwanted packets",
    experiment: Experiment {
        name: "off-by-default",
        source: "S0 §IV-E [114]",
        title: "Off by default: reachability by permits",
        shows: "Wanted packets are never dropped once announced. Unwanted ones pass a router with 1 − (1−f)^lengths \
                and h routers with f^h if each hashes with a seed of its own; with equal seeds, with f as one.",
        run,
    },
};

const LENGTHS: [u8; 4] = [8, 16, 24, 32];

/// A tree of routers; hosts behind its leaves, leaf i having the addresses 10.0.i.0/24.
struct Network {
    graph: Graph,
    /// The next router towards an address, by node.
    next: Vec<LongestPrefix<Ipv4Addr, Node>>,
    gates: Vec<Gate>,
    permits: Vec<Permit>,
}

/// The nodes from the root to a node of a complete tree.
fn descent(arity: usize, mut node: Node) -> Vec<Node> {
    let mut path = vec![node];
    while node > 0 {
        node = (node - 1) / arity;
        path.push(node);
    }
    path.reverse();
    path
}

fn random_address(random: &mut Generator) -> Ipv4Addr {
    // Sources are outside: 128.0.0.0 and above.
    (random.next_u64() as u32 | 1 << 31).into()
}

impl Network {
    /// Two hosts a leaf with four permits each; gates at `bits` for each permit behind them.
    fn new(seed: u64, arity: usize, depth: usize, bits: f64) -> Result<Self> {
        let graph = Topology::Tree { arity, depth }.build(seed);
        let mut random = Generator::new(seed);
        let leaves: Vec<Node> =
            (0..graph.len()).filter(|&n| n * arity + 1 >= graph.len()).collect();
        let mut routes: BTreeMap<Node, Vec<(Ipv4Addr, u8, Node)>> = BTreeMap::new();
        let mut behind: BTreeMap<Node, Vec<Permit>> = BTreeMap::new();
        let mut permits = Vec::new();
        for (number, &leaf) in leaves.iter().enumerate() {
            let path = descent(arity, leaf);
            let network = Ipv4Addr::new(10, 0, number as u8, 0);
            for pair in path.windows(2) {
                routes.entry(pair[0]).or_default().push((network, 24, pair[1]));
            }
            for (host, length) in [1, 2].into_iter().flat_map(|host| LENGTHS.map(|l| (host, l))) {
                let host = Ipv4Addr::new(10, 0, number as u8, host);
                let permit = Permit { source: random_address(&mut random), length, host };
                permits.push(permit);
                path.iter().for_each(|node| behind.entry(*node).or_default().push(permit));
            }
        }
        let mut gates = Vec::new();
        let mut next = Vec::new();
        for node in 0..graph.len() {
            let all = behind.remove(&node).unwrap_or_default();
            let mut gate = Gate::new(all.len() as u64, bits, seed ^ (node as u64) << 32)?;
            all.into_iter().for_each(|permit| gate.announce(permit));
            gates.push(gate);
            next.push(LongestPrefix::new(routes.remove(&node).unwrap_or_default(), 10.0)?);
        }
        Ok(Self { graph, next, gates, permits })
    }

    /// A random packet to one of the hosts that no permit is for.
    fn unwanted(&self, random: &mut Generator) -> (Ipv4Addr, Ipv4Addr) {
        loop {
            let host = self.permits[random.below(self.permits.len() as u64) as usize].host;
            let source = random_address(random);
            let wanted = |p: &Permit| p.host == host && p.key() == Permit { source, ..*p }.key();
            if !self.permits.iter().any(wanted) {
                return (source, host);
            }
        }
    }

    /// The routers that a packet from outside passes, and whether it is delivered.
    fn send(&self, source: Ipv4Addr, host: Ipv4Addr) -> (Vec<Node>, bool) {
        let mut passed = Vec::new();
        let mut at = 0;
        loop {
            if !self.gates[at].allows(source, host) {
                return (passed, false);
            }
            passed.push(at);
            match self.next[at].next_hop(host) {
                Some(next) => at = *next,
                None => return (passed, true),
            }
        }
    }
}

/// A chain of routers that all have the same permits.
fn chain(seed: u64, routers: u64, equal: bool, n: u64, bits: f64) -> Result<Vec<Gate>> {
    let gates = (0..routers).map(|i| {
        let mut gate = Gate::new(n, bits, if equal { seed } else { seed ^ i << 40 })?;
        let mut random = Generator::new(seed);
        for host in 0..n as u32 {
            let source = random_address(&mut random);
            gate.announce(Permit { source, length: 24, host: host.into() });
        }
        Ok(gate)
    });
    gates.collect()
}

/// Unwanted packets that pass a whole chain.
fn pass_chain(gates: &[Gate], seed: u64, trials: u64) -> u64 {
    let mut random = Generator::new(!seed);
    let lucky = (0..trials).filter(|i| {
        let (source, host) = (random_address(&mut random), Ipv4Addr::from(1 << 30 | *i as u32));
        gates.iter().all(|gate| gate.allows(source, host))
    });
    lucky.count() as u64
}

const CHAIN: u64 = 1_000;
/// The rate is 0.1.
const CHAIN_BITS: f64 = 4.793;

fn chains(lab: &Lab) -> Result<Chart> {
    let m = (CHAIN as f64 * CHAIN_BITS).ceil() as u64;
    let k = bloom::best_k(m, CHAIN);
    let f = bloom::fpr_exact(m, CHAIN, k);
    let (runs, trials) = (lab.scaled(20), 5_000);
    let mut series = Vec::new();
    for equal in [false, true] {
        let name =
            if equal { "equal seeds and contents: f" } else { "a seed for each router: f^h" };
        let expected = |h: f64| if equal { f } else { libm::pow(f, h) };
        let mut line = Series::new(name, (1..=5).map(f64::from), expected);
        for routers in 1..=3 {
            let passed = lab.runs(runs, |seed| {
                Ok(pass_chain(&chain(seed, routers, equal, CHAIN, CHAIN_BITS)?, seed, trials))
            })?;
            let mean = passed.iter().sum::<u64>() as f64 / (runs * trials) as f64;
            let h = routers as f64;
            let throws = f64::from(k) * CHAIN as f64;
            let spread =
                f64::from(k) * bloom::fill_sd(m as f64, throws) / bloom::fill(m as f64, throws);
            let powers = if equal { 1.0 } else { h.sqrt() };
            let sd = expected(h) * spread * powers;
            line.point(h, expected(h), mean, bound::rate(expected(h), sd, runs, trials));
        }
        series.push(line);
    }
    Ok(Chart::new(
        "chain",
        "Unwanted packets that pass h routers (f = 0.1)",
        [Axis::linear("routers h"), Axis::log("share that pass")],
        series,
    ))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let mut rows = Rows::new(
        "tree",
        "A tree of 121 routers, 4 prefix lengths in use",
        Axis::log("share that pass"),
    );
    let trials = lab.scaled(40_000);
    for bits in [4.0, 8.0] {
        let network = Network::new(lab.seed(), 3, 4, bits)?;
        let wanted = network.permits.iter().map(|p| network.send(p.source, p.host));
        let dropped = wanted.filter(|(path, delivered)| !delivered || path.len() != 5).count();
        oracle.none(&format!("wanted packets dropped at {bits} bits a permit"), dropped as u64);
        let (mut first, mut all) = (0u64, 0u64);
        let mut random = Generator::new(!lab.seed());
        for _ in 0..trials {
            let (source, host) = network.unwanted(&mut random);
            let (path, delivered) = network.send(source, host);
            first += u64::from(!path.is_empty());
            all += u64::from(delivered);
        }
        let levels: Vec<(f64, f64)> = (0..5).map(|level| level_rate(level, bits)).collect();
        let product: f64 = levels.iter().map(|(rate, _)| rate).product();
        let variance: f64 = levels.iter().map(|(_, spread)| spread * spread).sum();
        for (what, (rate, spread), passed) in [
            ("the first router: 1 − (1−f)^4", levels[0], first),
            ("five routers: the product", (product, variance.sqrt()), all),
        ] {
            rows.row(
                format!("{what}, {bits} bits a permit"),
                rate,
                passed as f64 / trials as f64,
                bound::share(rate, trials).widened(rate, 4.9 * spread),
            );
        }
    }
    rows.row(
        "the same filters united upward let their permits pass",
        1.0,
        united(lab)?,
        Bound::exactly(1.0, 0.0),
    );
    let report = oracle.report().chart(chains(lab)?).rows(rows).rows(delay(lab)?);
    Ok(report.drawing(picture(lab)?))
}

/// The chance to pass a router of a level, and how far its mean over the level's routers spreads around it.
fn level_rate(level: u32, bits: f64) -> (f64, f64) {
    let (routers, n) = (3u64.pow(level), 648 / 3u64.pow(level));
    let m = ((n as f64 * bits).ceil() as u64).max(64);
    let k = bloom::best_k(m, n);
    let f = bloom::fpr_exact(m, n, k);
    let throws = f64::from(k) * n as f64;
    let spread = f64::from(k) * bloom::fill_sd(m as f64, throws) / bloom::fill(m as f64, throws);
    (1.0 - libm::pow(1.0 - f, LENGTHS.len() as f64), spread / (routers as f64).sqrt())
}

/// Routers with one seed and one size send their filters up instead of lists, and the union is the OR.
fn united(lab: &Lab) -> Result<f64> {
    let mut up = Gate::new(100, 30.0, lab.seed())?;
    let mut permits = Vec::new();
    let mut random = Generator::new(lab.seed());
    for _ in 0..3 {
        let mut below = Gate::new(100, 30.0, lab.seed())?;
        for host in 0..30 {
            permits.push(Permit {
                source: random_address(&mut random),
                length: 24,
                host: host.into(),
            });
            below.announce(permits[permits.len() - 1]);
        }
        up.unite(&below)?;
    }
    let passed = permits.iter().filter(|p| up.allows(p.source, p.host)).count();
    Ok(passed as f64 / permits.len() as f64)
}

/// What happens in time.
enum Event {
    /// The permit reaches a router, which passes it on to the one above.
    Announced { router: usize },
    /// A packet enters at the first router.
    Packet { sent: f64 },
}

/// A host announces a permit; packets come all the time. Routers are numbered from the outside.
fn delay(lab: &Lab) -> Result<Rows> {
    const ROUTERS: usize = 5;
    let mut gates: Vec<Gate> =
        (0..ROUTERS as u64).map(|i| Gate::new(100, 20.0, lab.seed() ^ i)).collect::<Result<_>>()?;
    let permit = Permit { source: [200, 1, 2, 0].into(), length: 24, host: [10, 0, 0, 1].into() };
    let mut queue = Queue::default();
    queue.at(0.0, Event::Announced { router: ROUTERS - 1 });
    (0..100).for_each(|i| {
        queue.at(f64::from(i) / 10.0 + 0.05, Event::Packet { sent: f64::from(i) / 10.0 })
    });
    let (mut early, mut late) = ([0.0; 2], [0.0; 2]);
    // An announcement takes one unit of time from router to router, so that the first one has it after four.
    let everywhere = (ROUTERS - 1) as f64;
    while let Some((time, event)) = queue.next() {
        match event {
            Event::Announced { router } => {
                gates[router].announce(permit);
                if router > 0 {
                    queue.after(1.0, Event::Announced { router: router - 1 });
                }
            }
            Event::Packet { sent } => {
                let delivered =
                    gates.iter().all(|gate| gate.allows([200, 1, 2, 9].into(), permit.host));
                let seen = if time < everywhere { &mut early } else { &mut late };
                seen[0] += 1.0;
                seen[1] += f64::from(u8::from(delivered));
                debug_assert!(sent <= time);
            }
        }
    }
    let mut rows =
        Rows::new("delay", "Packets around a new permit", Axis::linear("share delivered"));
    rows.row(
        "before the announcement has reached every router",
        0.0,
        early[1] / early[0],
        Bound::exactly(0.0, 0.0),
    );
    rows.row("after it", 1.0, late[1] / late[0], Bound::exactly(1.0, 0.0));
    Ok(rows)
}

/// How far 40 unwanted packets get at 6 bits a permit, and the way of a wanted one.
fn picture(lab: &Lab) -> Result<Drawing> {
    let network = Network::new(lab.seed(), 3, 4, 6.0)?;
    let mut random = Generator::new(lab.seed());
    let links = |path: &[Node]| -> Vec<Link> {
        path.windows(2).map(|pair| Link { from: pair[0], to: pair[1] }).collect()
    };
    let permit = network.permits[network.permits.len() / 2];
    let wanted = links(&network.send(permit.source, permit.host).0);
    let mut wrong = Vec::new();
    for _ in 0..40 {
        let (source, host) = network.unwanted(&mut random);
        wrong.extend(links(&network.send(source, host).0));
    }
    let title =
        format!("A wanted packet's way, and how far 40 unwanted ones get: {} links", wrong.len());
    Ok(drawing("ways", &title, &network.graph, [&wanted, &wrong], &[(0, "outside".to_owned())]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a55_five_routers() {
        assert!((0.01f64.powi(5) / 1e-10 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_length_above_the_width_is_the_width() {
        let host = Ipv4Addr::new(10, 0, 0, 1);
        let mut gate = Gate::new(10, 20.0, 1).unwrap();
        gate.announce(Permit { source: [1, 2, 3, 4].into(), length: 99, host });
        assert!(gate.allows([1, 2, 3, 4].into(), host) && !gate.allows([1, 2, 3, 5].into(), host));
        gate.announce(Permit { source: [1, 2, 3, 4].into(), length: 0, host });
        assert!(gate.allows([9, 9, 9, 9].into(), host), "length 0 is everybody");
    }
}

//! Where did this packet come from? Source path isolation, SPIE (catalogue A23; S0 §IV-D3 \[101\], S1 §8.2).
//!
//! ```text
//!   victim ◀── R1 ◀── R2 ◀── R3 ◀── attacker      every router keeps a filter of the packets of each window
//!              │      │
//!              R9?    R7?                         asked from the victim outwards: "did you forward this one?"
//! ```
//!
//! A router remembers the digest of what does not change on the way: the header without the time to live and the
//! checksum, and the first 8 bytes of the payload. The true path is always found. Beside it, a neighbor that is
//! asked says yes with f, and its own neighbors are asked in turn: r = (degree − 1)·f more for each one that says
//! yes. About (path length)·r/(1 − r) false routers are found, and without end if r ≥ 1. Filters take different
//! seeds, so that neighbors with the same traffic don't err together. A window that was thrown away is *unknown*:
//! to say no would cut the path.

use std::collections::{BTreeSet, HashSet, VecDeque};

use everbloom::internals::hash::Generator;
use everbloom::{Bloom, Filter as _, Hasher, Result};

use crate::sim::{Graph, Link, Node, Rate, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// What a router sees of a packet.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Who sent it, or so it says.
    pub source: u32,
    /// Where it goes.
    pub target: u32,
    /// The sender's number of it.
    pub id: u16,
    /// Decremented by every router: not part of the digest.
    pub time_to_live: u8,
    /// What it carries.
    pub payload: Vec<u8>,
}

/// What stays the same on the way.
type Invariant<'a> = (u32, u32, u16, &'a [u8]);

impl Packet {
    fn invariant(&self) -> Invariant<'_> {
        (self.source, self.target, self.id, &self.payload[..self.payload.len().min(8)])
    }
}

/// What a router remembers: a filter for each of the last windows of time.
///
/// ```
/// use everbloom_lab::applications::tracing::spie::{Packet, Recorder};
/// let packet = Packet { source: 1, target: 2, id: 3, time_to_live: 64, payload: b"attack at dawn".to_vec() };
/// let mut router = Recorder::new(1000, 0.001, 2, 77)?;
/// router.record(&packet);
/// let seen = Packet { time_to_live: 60, ..packet };
/// assert_eq!(router.forwarded(&seen, 0), Some(true));
/// router.next_window()?;
/// router.next_window()?;
/// assert_eq!(router.forwarded(&seen, 0), None); // thrown away: unknown
/// assert_eq!(router.forwarded(&seen, 2), Some(false));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Recorder {
    windows: VecDeque<Bloom>,
    /// The number of the youngest window.
    now: u64,
    kept: usize,
    items: u64,
    fpr: f64,
    seed: u64,
}

impl Recorder {
    /// A router that keeps `windows` windows, each for `items` packets at the rate `fpr`; every router has a
    /// seed of its own.
    pub fn new(items: u64, fpr: f64, windows: usize, seed: u64) -> Result<Self> {
        let first = Bloom::builder().items(items).rate(fpr).seed(seed).build()?;
        let kept = windows.max(1);
        Ok(Self { windows: VecDeque::from([first]), now: 0, kept, items, fpr, seed })
    }

    /// Remembers a packet that it forwards.
    pub fn record(&mut self, packet: &Packet) {
        if let Some(window) = self.windows.back_mut() {
            window.insert(&packet.invariant());
        }
    }

    /// Begins the next window, and throws the oldest one away where there are too many.
    pub fn next_window(&mut self) -> Result<()> {
        let next = Bloom::builder().items(self.items).rate(self.fpr).seed(self.seed).build()?;
        self.windows.push_back(next);
        self.now += 1;
        if self.windows.len() > self.kept {
            self.windows.pop_front();
        }
        Ok(())
    }

    /// The rate at which its youngest window takes a foreign packet for one that it forwarded, from its fill.
    fn rate(&self) -> f64 {
        self.windows.back().and_then(|window| window.now().fpr).unwrap_or(1.0)
    }

    /// Whether it forwarded the packet in that window; none if it no longer knows, or the window is yet to come.
    pub fn forwarded(&self, packet: &Packet, window: u64) -> Option<bool> {
        let back = usize::try_from(self.now.checked_sub(window)?).ok()?;
        let at = self.windows.len().checked_sub(back + 1)?;
        Some(self.windows.get(at)?.contains(&packet.invariant()))
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A23",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the set of packets that each router forwarded",
    data: "packets between random nodes of a random network; endless regular networks for the numbers",
    experiment: Experiment {
        name: "spie",
        source: "S0 §IV-D3 [101], S1 §8.2",
        title: "Tracing one packet back by the routers' filters (SPIE)",
        shows: "The true path is always contained. Besides it, about (path length)·r/(1−r) false routers are found, \
                r = (degree − 1)·f: 0.045 on 15 hops of degree 4 at f = 0.001, 1.5 of degree 10 at 0.01, and no \
                end of them where r ≥ 1.",
        run,
    },
};

const HOPS: u64 = 15;
/// More false routers than this are as good as all.
const ENOUGH: u64 = 1_000;
/// Packets in a router's window.
const LOAD: u64 = 100;

/// Filters of `LOAD` packets each that stand for the routers of an endless network, and their rate.
struct Routers {
    filters: Vec<Bloom>,
    rate: f64,
}

impl Routers {
    fn new(seed: u64, fpr: f64) -> Result<Self> {
        let mut random = Generator::new(seed);
        let mut filters = Vec::new();
        for router in 0..500 {
            let mut filter = Bloom::builder().items(LOAD).rate(fpr).seed(router).build()?;
            filter.extend((0..LOAD).map(|_| random.next_u64()));
            filters.push(filter);
        }
        let rate = Rate::of(filters[0].m(), LOAD, filters[0].k()).mean;
        Ok(Self { filters, rate })
    }

    /// False routers found around a path of `HOPS` routers in a network without circles: the neighbors off the
    /// path are asked (two are on it, at the far end one), and then the others of each that says yes.
    fn false_routers(&self, degree: u64, packet: u64, random: &mut Generator) -> u64 {
        let mut to_ask = HOPS * (degree - 2) + 1;
        let (mut found, mut at) = (0, random.below(self.filters.len() as u64) as usize);
        while to_ask > 0 && found < ENOUGH {
            at = (at + 1) % self.filters.len();
            to_ask -= 1;
            if self.filters[at].contains(&packet) {
                found += 1;
                to_ask += degree - 1;
            }
        }
        found
    }
}

/// The mean of [`Routers::false_routers`], and its standard deviation: a branching process with Bernoulli
/// children in each of `to_ask` places.
fn expected(degree: u64, f: f64) -> (f64, f64) {
    let (asked, r) = ((HOPS * (degree - 2) + 1) as f64, (degree - 1) as f64 * f);
    // Each place is the root of a family of X = B·(1 + ΣX_i) over its degree − 1 places, B = 1 with f.
    let mean = f / (1.0 - r);
    let variance = (1.0 / f - 1.0) * mean * mean / (1.0 - r);
    (asked * mean, (asked * variance).sqrt())
}

fn branches(lab: &Lab) -> Result<(Chart, Rows)> {
    let traces = 10_000;
    let mut series = Vec::new();
    let mut rows = Rows::new("source", "The source's numbers", Axis::linear("false routers"));
    let rough = Series::new("about 15·r/(1−r)", (1..=80).map(|i| f64::from(i) / 100.0), |r| {
        HOPS as f64 * r / (1.0 - r)
    });
    for (degree, rates) in [(4, [0.001, 0.01, 0.05, 0.1]), (10, [0.001, 0.01, 0.03, 0.05])] {
        let mut one =
            Series::new(format!("degree {degree}"), (1..=80).map(|i| f64::from(i) / 100.0), |r| {
                expected(degree, r / (degree - 1) as f64).0
            });
        for fpr in rates {
            let runs = lab.scaled(1);
            let seen = lab.runs(runs, |seed| {
                let routers = Routers::new(seed, fpr)?;
                let mut random = Generator::new(!seed);
                let found: u64 = (0..traces)
                    .map(|_| {
                        let packet = random.next_u64();
                        routers.false_routers(degree, packet, &mut random)
                    })
                    .sum();
                Ok((found as f64 / traces as f64, routers.rate))
            })?;
            let f = seen[0].1;
            let (mean, sd) = expected(degree, f);
            let measured = seen.iter().map(|s| s.0).sum::<f64>() / runs as f64;
            // 500 filters stand for all routers: their mean rate is off by up to 3 %.
            let fits = bound::mean(mean, sd, runs * traces).widened(mean, 0.03);
            one.point((degree - 1) as f64 * f, mean, measured, fits);
            if (degree, fpr) == (4, 0.001) || (degree, fpr) == (10, 0.01) {
                let r = (degree - 1) as f64 * fpr;
                let said = HOPS as f64 * r / (1.0 - r);
                let most = fits.high.unwrap_or(said).max(said);
                rows.row(
                    format!("degree {degree}, f = {fpr}: about, and at most"),
                    said,
                    measured,
                    Bound::at_most(most),
                );
            }
        }
        series.push(one);
    }
    series.push(rough);
    // r = 1.8: the search has no end.
    let routers = Routers::new(lab.seed(), 0.2)?;
    let mut random = Generator::new(lab.seed());
    let endless = (0..100)
        .filter(|_| {
            let packet = random.next_u64();
            routers.false_routers(10, packet, &mut random) >= ENOUGH
        })
        .count();
    rows.row(
        "searches without an end at r = 1.8, share",
        1.0,
        endless as f64 / 100.0,
        Bound::at_least(0.99),
    );
    let chart = Chart::new(
        "branches",
        "False routers found around a path of 15",
        [Axis::linear("r = (degree − 1)·f"), Axis::log("false routers")],
        series,
    );
    Ok((chart, rows))
}

/// A network, its routers, what each of them really forwarded, and one packet's path.
struct Network {
    graph: Graph,
    routers: Vec<Recorder>,
    exact: Vec<HashSet<usize>>,
    packets: Vec<(Packet, Vec<Node>)>,
}

impl Network {
    fn new(seed: u64, fpr: f64, packets: usize) -> Result<Self> {
        let mut random = Generator::new(seed);
        let graph = Topology::RandomRegular { nodes: 80, degree: 4 }.build(seed);
        let nodes = graph.len();
        let expected = packets as u64 / 16;
        let routers = (0..nodes as u64).map(|i| Recorder::new(expected, fpr, 3, seed ^ i));
        let mut network = Self {
            routers: routers.collect::<Result<_>>()?,
            exact: vec![HashSet::new(); nodes],
            packets: Vec::new(),
            graph,
        };
        for number in 0..packets {
            let [from, to] = [0; 2].map(|_| random.below(nodes as u64) as usize);
            let Some(path) = network.graph.path(from, to) else { continue };
            let payload = random.next_u64().to_le_bytes().repeat(2);
            let (source, target) = (random.next_u64() as u32, to as u32);
            let mut packet =
                Packet { source, target, id: number as u16, time_to_live: 64, payload };
            for &router in &path {
                network.routers[router].record(&packet);
                network.exact[router].insert(number);
                packet.time_to_live -= 1;
            }
            network.packets.push((packet, path));
        }
        Ok(network)
    }

    fn traced(&self, number: usize) -> BTreeSet<Node> {
        let (packet, path) = &self.packets[number];
        let victim = path[path.len() - 1];
        self.graph.search(victim, |r| self.routers[r].forwarded(packet, 0) != Some(false))
    }

    /// Foreign routers that a trace asks, how many of them say yes, and the sum of the rates at which they should.
    fn foreign(&self, number: usize) -> [f64; 3] {
        let (found, packet) = (self.traced(number), &self.packets[number].0);
        let asked = self.graph.tested(&found);
        let mut counts = [0.0; 3];
        for router in asked.into_iter().filter(|r| !self.exact[*r].contains(&number)) {
            let yes = self.routers[router].forwarded(packet, 0) == Some(true);
            let more = [1.0, f64::from(u8::from(yes)), self.routers[router].rate()];
            counts.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        counts
    }

    /// Of packets that nobody sent, those for which two neighbors say yes, and the products of their rates: what is
    /// expected of routers with a seed each, although they forwarded many packets both.
    fn neighbors_err(&self, queries: u64, random: &mut Generator) -> [f64; 2] {
        let links: Vec<Link> = self.graph.links().collect();
        let both = |link: &Link| self.routers[link.from].rate() * self.routers[link.to].rate();
        let expected = queries as f64 * links.iter().map(both).sum::<f64>();
        let mut seen = 0;
        for _ in 0..queries {
            let payload = random.next_u64().to_le_bytes().repeat(2);
            let packet = Packet { source: 0, target: 0, id: 0, time_to_live: 64, payload };
            let yes = |router: Node| self.routers[router].forwarded(&packet, 0) == Some(true);
            let yes: Vec<bool> = (0..self.graph.len()).map(yes).collect();
            seen += links.iter().filter(|link| yes[link.from] && yes[link.to]).count();
        }
        [seen as f64, expected]
    }

    fn traced_exactly(&self, number: usize) -> BTreeSet<Node> {
        let path = &self.packets[number].1;
        self.graph.search(path[path.len() - 1], |r| self.exact[r].contains(&number))
    }
}

/// How often the same non-member passes both filters of two neighbors with the same traffic.
fn both_err(seeds: [u64; 2], queries: u64, random: &mut Generator) -> Result<f64> {
    let filter = |seed| Bloom::with_shape(LOAD * 5, 3, Hasher::seeded(seed));
    let mut filters = [filter(seeds[0])?, filter(seeds[1])?];
    for _ in 0..LOAD {
        let packet = random.next_u64();
        for filter in &mut filters {
            filter.insert(&packet);
        }
    }
    let wrong = (0..queries).filter(|_| {
        let packet = random.next_u64();
        filters.iter().all(|f| f.contains(&packet))
    });
    Ok(wrong.count() as f64 / queries as f64)
}

fn traps(lab: &Lab, network: &Network) -> Result<Rows> {
    let mut rows = Rows::new("traps", "Traps", Axis::linear("share"));
    let (mut random, runs, queries) = (Generator::new(lab.seed()), 50, 4_000);
    let f = Rate::of(LOAD * 5, LOAD, 3);
    for (label, same, power) in
        [("two neighbors err together, a seed each", 0, 2), ("… with the same seed", 1, 1)]
    {
        let mut sum = 0.0;
        for run in 0..runs {
            sum +=
                both_err([run, if same == 1 { run } else { run + 1_000 }], queries, &mut random)?;
        }
        let p = libm::pow(f.mean, f64::from(power));
        let sd = p * f64::from(power) * f.sd / f.mean;
        rows.row(label, p, sum / runs as f64, bound::rate(p, sd, runs, queries).widened(p, 0.02));
    }
    // A digest that has the time to live in it is another one at every router.
    let (packet, path) = &network.packets[0];
    let mut router = Recorder::new(LOAD, 1e-9, 1, 1)?;
    router.record(packet);
    let other =
        Packet { payload: packet.payload.iter().map(|b| b ^ 1).collect(), ..packet.clone() };
    let known = [
        router.forwarded(&Packet { time_to_live: 3, ..packet.clone() }, 0),
        router.forwarded(&other, 0),
    ];
    rows.row(
        "the same packet with another time to live is known",
        1.0,
        share(known[0]),
        Bound::exactly(1.0, 0.0),
    );
    rows.row("another payload is not", 0.0, share(known[1]), Bound::exactly(0.0, 0.0));
    let mut with_ttl = Bloom::with_rate(LOAD, 1e-9)?;
    for (hop, _) in path.iter().enumerate() {
        with_ttl.insert(&(packet.invariant(), 64 - hop as u64));
    }
    let found = with_ttl.contains(&(packet.invariant(), 64 - path.len() as u64));
    rows.row(
        "with the time to live in the digest, the victim's copy is known",
        0.0,
        share(Some(found)),
        Bound::exactly(0.0, 0.0),
    );
    Ok(rows)
}

fn share(answer: Option<bool>) -> f64 {
    f64::from(u8::from(answer == Some(true)))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let networks = lab.runs(lab.scaled(2), |seed| Network::new(seed, 0.02, 1_000))?;
    let mut missed = 0;
    let (mut pairs, mut oracle_pairs, mut foreign) = (Vec::new(), Vec::new(), [0.0; 3]);
    for network in &networks {
        for number in (0..network.packets.len()).step_by(4) {
            let found = network.traced(number);
            missed += u64::from(!network.packets[number].1.iter().all(|r| found.contains(r)));
            let exact = network.traced_exactly(number);
            // The filters add to what the sets find, and take nothing away.
            oracle_pairs.push((exact.is_subset(&found), true));
            pairs.push((exact, network.packets[number].1.iter().copied().collect()));
            let more = network.foreign(number);
            foreign.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
    oracle.equal("routers found by the exact sets are found by the filters", oracle_pairs);
    oracle.none(&format!("true paths not wholly found ({} traced)", pairs.len()), missed);
    oracle.equal("paths by the exact sets", pairs);
    let (chart, mut rows) = branches(lab)?;
    rows.row(
        "queries about a window thrown away that are answered \"no\"",
        0.0,
        unknown(lab)?,
        Bound::exactly(0.0, 0.0),
    );
    let [asked, yes, rates] = foreign;
    // Each router answers for many packets with the same fill, and each packet is asked once of each.
    rows.row(
        "foreign routers that say yes in a network, each with its own rate",
        rates / asked,
        yes / asked,
        bound::share(rates / asked, asked as u64),
    );
    let mut random = Generator::new(lab.seed());
    let queries = 4_000;
    let [together, expected] = networks[0].neighbors_err(queries, &mut random);
    let pairs = (queries * networks[0].graph.links().count() as u64) as f64;
    rows.row(
        "two neighbors of a network err together: as if they had nothing in common",
        expected / pairs,
        together / pairs,
        // Three neighbors in a row that err are two pairs: a little more than the binomial spread.
        bound::share(expected / pairs, pairs as u64).widened(expected / pairs, 0.1),
    );
    let leaky = Network::new(lab.seed(), 0.12, 1_000)?;
    let report = oracle.report().chart(chart).rows(rows).rows(traps(lab, &networks[0])?);
    Ok(report.drawing(draw(&leaky)).note(
        "The source counts degree − 1 neighbors off the path for every router of it; a router in the middle has \
         degree − 2, which the curves by degree take into account.",
    ))
}

/// The share of old windows about which a router says no rather than that it does not know.
fn unknown(lab: &Lab) -> Result<f64> {
    let mut router = Recorder::new(LOAD, 0.001, 3, lab.seed())?;
    let packet =
        |id| Packet { source: 1, target: 2, id, time_to_live: 64, payload: b"payload!".to_vec() };
    for id in 0..10 {
        router.record(&packet(id));
        router.next_window()?;
    }
    let denied = (0..8).filter(|&id| router.forwarded(&packet(id), id.into()) == Some(false));
    Ok(denied.count() as f64 / 8.0)
}

fn draw(network: &Network) -> Drawing {
    let long = (0..network.packets.len()).filter(|&i| network.packets[i].1.len() >= 5);
    let number = long.max_by_key(|&i| network.traced(i).len().min(14)).unwrap_or(0);
    let (found, path) = (network.traced(number), &network.packets[number].1);
    let (way, wrong) = (Link::along(path), network.graph.links_beside(&found, path));
    let names = [(path[0], "attacker".to_owned()), (path[path.len() - 1], "victim".to_owned())];
    let title = "A packet traced back through filters that err at 12 %: false branches in red";
    drawing("trace", title, &network.graph, [&way, &wrong], &names)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a23_false_routers() {
        let about = |degree: f64, f: f64| 15.0 * (degree - 1.0) * f / (1.0 - (degree - 1.0) * f);
        assert!((about(4.0, 0.001) - 0.045).abs() < 5e-4);
        assert!((about(10.0, 0.01) - 1.48).abs() < 5e-3);
    }
}

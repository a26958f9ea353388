//! Loops found by the packet itself, Icarus (catalogue A14; S1 §7.1, S0 §IV-C2 \[79\]).
//!
//! ```text
//!   header   0 1 1 0 0 1 1 0 1 0 0 1     every router has a mask of k bits and ORs it in
//!   mask     . . 1 . . 1 . . 1 . . .     all of them set already: I was here, or so it seems
//! ```
//!
//! A packet that runs in a circle is thrown away by its time to live, after dozens of hops. With a small filter of
//! the routers passed it is found out at the first router that sees it twice. No loop is missed. A router that was
//! not passed seems to be with f = (1 − e^{−kh/m})^k after h hops; a header is so small that its fill varies, and
//! the true rate is a little higher (0.0253 for 64 bits, 4 probes and 8 hops, where the formula says 0.0240).
//!
//! S0 says that the time to live is incremented at every hop; it is decremented.

use std::collections::HashSet;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result, Seen};

use crate::sim::{Graph, Link, Node, Rate, Topology, drawing, shuffle};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// The routers that a packet has passed, in its header.
///
/// ```
/// use everbloom_lab::applications::tracing::loops::Passed;
/// let mut header = Passed::new(256, 5)?;
/// assert!(!header.visit(7) && !header.visit(8));
/// assert!(header.visit(7)); // for the second time: a loop
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Passed {
    filter: Bloom,
}

impl Passed {
    /// A header of `m` bits; routers have masks of `k` bits.
    pub fn new(m: u64, k: u32) -> Result<Self> {
        Ok(Self { filter: Bloom::with_shape(m, k, Hasher::default())? })
    }

    /// Puts a router's mask into the header. True if it was there already: a suspected loop.
    pub fn visit(&mut self, router: u64) -> bool {
        self.filter.insert(&router) == Seen::Maybe
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A14",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the set of routers that the packet has passed",
    data: "packets on random networks in which some routers forward to a wrong neighbor",
    experiment: Experiment {
        name: "loops",
        source: "S1 §7.1, S0 §IV-C2 [79]",
        title: "Loops found by a filter in the packet's header (Icarus)",
        shows: "Every loop is found at the first router that sees the packet twice. A router that was not passed \
                seems to be at the rate of a filter with h keys: 0.024 in 64 bits after 8 hops, 0.0014 in 256 bits \
                after 16.",
        run,
    },
};

/// Bits and probes of the two headers of the source.
const HEADERS: [(u64, u32); 2] = [(64, 4), (256, 5)];
const TTL: usize = 64;

/// Where each router sends packets for `target`: to the next one on the way, or, where it is broken, anywhere.
fn next_hops(graph: &Graph, target: Node, random: &mut Generator) -> Vec<Node> {
    let ways = graph.ways_to(target);
    (0..graph.len())
        .map(|node| {
            let neighbors = graph.neighbors(node);
            let broken = random.unit() < 0.15;
            let anywhere = neighbors[random.below(neighbors.len() as u64) as usize];
            ways[node].filter(|_| !broken).map_or(anywhere, |(_, next)| next)
        })
        .collect()
}

/// What became of one packet.
struct Trip {
    network: u64,
    route: Vec<Node>,
    /// The hop at which the header, and at which the exact set, first says that the router was passed.
    alarm: Option<usize>,
    repeat: Option<usize>,
}

impl Trip {
    /// The hops from the first visit of the router that is first passed twice to the second.
    fn circle(&self) -> Option<usize> {
        let repeat = self.repeat?;
        let first = self.route.iter().position(|node| *node == self.route[repeat])?;
        Some(repeat - first)
    }
}

fn travel(hops: &[Node], names: &[u64], from: Node, to: Node, header: (u64, u32)) -> Result<Trip> {
    let mut passed = Passed::new(header.0, header.1)?;
    let mut exact = HashSet::new();
    let mut trip = Trip { network: 0, route: Vec::new(), alarm: None, repeat: None };
    let mut at = from;
    // The time to live ends the trip where nothing else does.
    for hop in 0..TTL {
        trip.route.push(at);
        if passed.visit(names[at]) {
            trip.alarm = trip.alarm.or(Some(hop));
        }
        if !exact.insert(at) {
            trip.repeat = trip.repeat.or(Some(hop));
        }
        if at == to {
            break;
        }
        at = hops[at];
    }
    Ok(trip)
}

fn network(seed: u64) -> Graph {
    Topology::RandomRegular { nodes: 60, degree: 4 }.build(seed)
}

/// Trips over one network with one header.
fn trips(seed: u64, header: (u64, u32), packets: u64) -> Result<Vec<Trip>> {
    let mut random = Generator::new(seed);
    let graph = network(seed);
    let names: Vec<u64> = (0..graph.len()).map(|_| random.next_u64()).collect();
    let mut all = Vec::new();
    for _ in 0..packets {
        let mut ends: Vec<Node> = (0..graph.len()).collect();
        shuffle(&mut ends, &mut random);
        let hops = next_hops(&graph, ends[1], &mut random);
        let trip = travel(&hops, &names, ends[0], ends[1], header)?;
        all.push(Trip { network: seed, ..trip });
    }
    Ok(all)
}

/// How many of `queries` other routers seem to be passed after `hops`.
fn false_alarms(seed: u64, (m, k): (u64, u32), hops: u64, queries: u64) -> Result<u64> {
    let mut random = Generator::new(seed);
    let mut header = Passed::new(m, k)?;
    for _ in 0..hops {
        header.visit(random.next_u64());
    }
    Ok((0..queries).filter(|_| header.filter.contains(&random.next_u64())).count() as u64)
}

/// How many of `paths` paths of so many different routers raise an alarm anywhere.
fn path_alarms(seed: u64, (m, k): (u64, u32), hops: u64, paths: u64) -> Result<u64> {
    let mut random = Generator::new(seed);
    let mut alarms = 0;
    for _ in 0..paths {
        let mut header = Passed::new(m, k)?;
        alarms += u64::from((0..hops).any(|_| header.visit(random.next_u64())));
    }
    Ok(alarms)
}

fn rates(lab: &Lab) -> Result<Chart> {
    let (filters, queries) = (lab.scaled(4_000), 25);
    let mut series = Vec::new();
    for (m, k) in HEADERS {
        let curve = |h: f64| theory::fpr_asymptotic(m as f64, h, f64::from(k));
        let mut one = Series::new(format!("{m} bits, k = {k}"), (2..=24).map(f64::from), curve);
        for hops in [4, 8, 12, 16, 24] {
            let alarms = lab.runs(filters, |seed| false_alarms(seed, (m, k), hops, queries))?;
            let measured = alarms.iter().sum::<u64>() as f64 / (filters * queries) as f64;
            let rate = Rate::of(m, hops, k);
            one.point(hops as f64, rate.mean, measured, rate.bound(filters, queries));
        }
        series.push(one);
    }
    Ok(Chart::new(
        "alarms",
        "A router that was not passed seems to be",
        [Axis::linear("routers passed"), Axis::log("false alarms at the next one")],
        series,
    ))
}

fn run(lab: &Lab) -> Result<Report> {
    let mut oracle = Oracle::default();
    let mut rows =
        Rows::new("trips", "Packets on networks with broken routers", Axis::linear("value"));
    let mut shown = None;
    for header in HEADERS {
        let seen = lab.runs(lab.scaled(20), |seed| trips(seed, header, 50))?;
        let all: Vec<Trip> = seen.into_iter().flatten().collect();
        let looping = || all.iter().filter(|t| t.repeat.is_some());
        let late = looping().filter(|t| t.alarm.is_none_or(|a| Some(a) > t.repeat)).count();
        oracle.none(&format!("loops found late or not, {} bits", header.0), late as u64);
        let false_alarms =
            all.iter().filter(|t| t.alarm.is_some_and(|a| t.repeat.is_none_or(|r| a < r)));
        let share = false_alarms.count() as f64 / all.len() as f64;
        // Up to its first repetition a packet passes at most 16 or so routers: at most this often it errs.
        let longest = all.iter().map(|t| t.repeat.unwrap_or(t.route.len())).max().unwrap_or(1);
        let most = Rate::of(header.0, longest as u64, header.1).mean * longest as f64;
        let high = bound::share(most.min(1.0), all.len() as u64).high.unwrap_or(1.0);
        rows.row(
            format!("packets with a false alarm, {} bits: at most", header.0),
            most,
            share,
            Bound::at_most(high),
        );
        let found: Vec<f64> = looping().filter_map(|t| t.repeat).map(|hop| hop as f64).collect();
        shown =
            all.into_iter().filter(|t| t.repeat.is_some()).max_by_key(|t| t.circle().min(Some(6)));
        rows.row(
            format!("hops until a loop is found, {} bits: below the time to live", header.0),
            TTL as f64,
            bound::mean_and_sd(&found).0,
            Bound::at_most(TTL as f64 / 2.0),
        );
    }
    let (m, k) = HEADERS[1];
    let (runs, paths) = (lab.scaled(20), 3_000);
    let alarms = lab.runs(runs, |seed| path_alarms(seed, (m, k), 16, paths))?;
    let any = 1.0 - (1..16).map(|h| 1.0 - Rate::of(m, h, k).mean).product::<f64>();
    let measured = alarms.iter().sum::<u64>() as f64 / (runs * paths) as f64;
    rows.row(
        "a false alarm anywhere on 16 hops, 256 bits",
        any,
        measured,
        bound::share(any, runs * paths),
    );
    let mut report = oracle.report().chart(rates(lab)?).rows(rows);
    if let Some(trip) = shown {
        report = report.drawing(draw(&trip));
    }
    // A packet in a circle of two routers, with nothing but the time to live to stop it.
    let circle = travel(&[1, 0, 2], &[10, 11, 12], 0, 2, HEADERS[1])?.route.len() as f64;
    Ok(report.erratum(
        "S0 §IV-C2 (time to live)",
        [
            "incremented at every hop: an octet that starts at 64 lasts 191 hops",
            "decremented: 64 hops",
        ],
        191.0,
        [TTL as f64, circle],
        Bound::exactly(TTL as f64, 0.0),
    ))
}

/// A trip in which a loop was found: the way there, and the circle.
fn draw(trip: &Trip) -> Drawing {
    let repeat = trip.repeat.unwrap_or(0);
    let first = repeat - trip.circle().unwrap_or(0);
    let (way, circle) =
        (Link::along(&trip.route[..=first]), Link::along(&trip.route[first..=repeat]));
    let names = [(trip.route[0], "sender".to_owned()), (trip.route[repeat], "alarm".to_owned())];
    let title = "A packet runs into a circle (red); the alarm is where it closes";
    drawing("loop", title, &network(trip.network), [&way, &circle], &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a14_false_loops() {
        let f = |m: f64, k: f64, h: f64| theory::fpr_asymptotic(m, h, k);
        assert!((f(64.0, 4.0, 8.0) - 0.0240).abs() < 5e-5);
        assert!((f(256.0, 5.0, 16.0) - 0.00139).abs() < 5e-6);
        let any = 1.0 - (1..16).map(|h| 1.0 - f(256.0, 5.0, f64::from(h))).product::<f64>();
        assert!((any - 0.0035).abs() < 5e-5, "{any}");
    }
}

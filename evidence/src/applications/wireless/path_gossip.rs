//! Gossip along a path that the packet carries (catalogue A65; S3 \[2\] §III-B, BLOOGO).
//!
//! ```text
//!   header  0 1 1 0 1 0 0 1 …     the nodes of the path, in m bits
//!   whoever hears the packet and is in the filter repeats it, once
//! ```
//!
//! Flooding lets everybody repeat, and gossip lets everybody repeat with some probability and now and then reaches
//! nobody. Here only the path repeats, and f·(listeners) others: 0.034 for 8 nodes in 128 bits (k = 8) and 60
//! listeners, 0.19 in 96 bits. The packet arrives if all nodes of the path hear each other; where two do not, it
//! arrives only if a false positive happens to stand between them.

use std::collections::VecDeque;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Hasher, Result};

use crate::sim::{Graph, Link, Node, Rate, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// The nodes that repeat a packet, in its header.
///
/// ```
/// use everbloom_lab::applications::wireless::path_gossip::Header;
/// let header = Header::new(128, 8, &[4, 8, 15, 16, 23, 42])?;
/// assert!(header.repeats(15) && header.repeats(42));
/// assert!((100..160).filter(|&other| header.repeats(other)).count() < 5);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Header {
    filter: Bloom,
}

impl Header {
    /// A header of `m` bits with `k` for each node of the path.
    pub fn new(m: u64, k: u32, path: &[u64]) -> Result<Self> {
        let mut filter = Bloom::with_shape(m, k, Hasher::default())?;
        filter.extend(path);
        Ok(Self { filter })
    }

    /// Whether a node that hears the packet repeats it.
    pub fn repeats(&self, node: u64) -> bool {
        self.filter.contains(&node)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A65",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "the list of nodes on the path",
    data: "a path of 8 nodes with 60 others at random places beside it",
    experiment: Experiment {
        name: "path-gossip",
        source: "S3 §III-B [2]",
        title: "Only the nodes on a path repeat a packet, and the packet says who they are",
        shows: "Every packet arrives along an unbroken path. Others that repeat it: 0.034 of 60 listeners in 128 \
                bits, 0.19 in 96; flooding lets all 68 transmit, gossip most of them.",
        run,
    },
};

const PATH: usize = 8;
const LISTENERS: usize = 60;
const K: u32 = 8;
/// How far a radio reaches; path nodes stand 0.9 of it apart.
const REACH: f64 = 0.12;

/// A path along the middle, and listeners of whom each hears some node of it. `broken`: two neighbors on the path
/// stand too far apart.
fn network(seed: u64, broken: bool) -> Graph {
    let mut random = Generator::new(seed);
    let step = 0.9 * REACH;
    let mut places: Vec<(f64, f64)> = (0..PATH)
        .map(|i| {
            (0.1 + step * i as f64 + if broken && i >= PATH / 2 { 0.3 * REACH } else { 0.0 }, 0.5)
        })
        .collect();
    while places.len() < PATH + LISTENERS {
        let (x, y) = places[random.below(PATH as u64) as usize];
        let (dx, dy) = ((2.0 * random.unit() - 1.0) * REACH, (2.0 * random.unit() - 1.0) * REACH);
        if dx * dx + dy * dy < REACH * REACH {
            places.push((x + dx, y + dy));
        }
    }
    Graph::of_radios(places, REACH)
}

/// Who transmits, and whether the last node of the path hears it.
fn send(graph: &Graph, mut repeats: impl FnMut(Node) -> bool) -> (Vec<Node>, bool) {
    let mut heard = vec![false; graph.len()];
    heard[0] = true;
    let (mut sent, mut waiting) = (Vec::new(), VecDeque::from([0]));
    while let Some(node) = waiting.pop_front() {
        sent.push(node);
        for &next in graph.neighbors(node) {
            if !std::mem::replace(&mut heard[next], true) && repeats(next) {
                waiting.push_back(next);
            }
        }
    }
    (sent, heard[PATH - 1])
}

struct Seen {
    extra: u64,
    arrived: u64,
    pairs: Vec<(bool, bool)>,
    picture: Option<(Graph, Vec<Node>)>,
}

fn packets(seed: u64, bits: u64, broken: bool, count: u64) -> Result<Seen> {
    let graph = network(seed, broken);
    let mut random = Generator::new(!seed);
    let mut seen = Seen { extra: 0, arrived: 0, pairs: Vec::new(), picture: None };
    for _ in 0..count {
        let names: Vec<u64> = (0..graph.len()).map(|_| random.next_u64()).collect();
        let header = Header::new(bits, K, &names[..PATH])?;
        let (sent, arrived) = send(&graph, |node| header.repeats(names[node]));
        let (_, exactly) = send(&graph, |node| node < PATH);
        let extra = sent.iter().filter(|node| **node >= PATH).count() as u64;
        seen.extra += extra;
        seen.arrived += u64::from(arrived);
        // With nobody else repeating, ours must end as the list does.
        if extra == 0 {
            seen.pairs.push((arrived, exactly));
        }
        if seen.picture.is_none() && extra == 2 {
            seen.picture = Some((graph.clone(), sent));
        }
    }
    Ok(seen)
}

/// Mean transmissions, and the share that arrives, if everybody repeats with probability `p`.
fn gossip(seed: u64, p: f64, count: u64) -> (f64, f64) {
    let graph = network(seed, false);
    let mut random = Generator::new(!seed);
    let (mut all, mut arrived) = (0, 0);
    for _ in 0..count {
        let (sent, there) = send(&graph, |_| random.unit() < p);
        all += sent.len();
        arrived += u64::from(there);
    }
    (all as f64 / count as f64, arrived as f64 / count as f64)
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, count) = (lab.scaled(8), 150);
    let mut oracle = Oracle::default();
    let mut rows = Rows::new("source", "The source's numbers", Axis::linear("value"));
    let listeners = LISTENERS as f64;
    let curve = |bits: f64| listeners * theory::fpr_asymptotic(bits, PATH as f64, K.into());
    let mut series = Series::new("60·f", (6..=24).map(|i| f64::from(i) * 8.0), curve);
    let mut picture = None;
    for bits in [48, 64, 96, 128] {
        let seen = lab.runs(runs, |seed| packets(seed, bits, false, count))?;
        let packets = runs * count;
        let extra = seen.iter().map(|s| s.extra).sum::<u64>() as f64 / packets as f64;
        let rate = Rate::of(bits, PATH as u64, K);
        let share = rate.bound(packets, LISTENERS as u64);
        let fits = Bound {
            low: share.low.map(|l| l * listeners),
            high: share.high.map(|h| h * listeners),
        };
        series.point(bits as f64, listeners * rate.mean, extra, fits);
        oracle.none(
            &format!("packets that did not arrive, {bits} bits"),
            packets - seen.iter().map(|s| s.arrived).sum::<u64>(),
        );
        if let Some(said) =
            [(128, 0.034), (96, 0.189)].into_iter().find(|(b, _)| *b == bits).map(|(_, said)| said)
        {
            // The formula of large filters; headers are small, and the true mean is above it.
            let low = fits.low.map(|l| l.min(said));
            rows.row(
                format!("others that repeat, {bits} bits"),
                said,
                extra,
                Bound { low, ..fits },
            );
        }
        picture = picture.or(seen.into_iter().find_map(|s| s.picture));
    }
    let broken = lab.runs(runs, |seed| packets(seed, 128, true, count))?;
    oracle.equal(
        "arrivals over a broken path, nobody else repeating",
        broken.iter().flat_map(|s| s.pairs.iter().copied()),
    );
    let arrived = broken.iter().map(|s| s.arrived).sum::<u64>() as f64 / (runs * count) as f64;
    let bridged = listeners * Rate::of(128, PATH as u64, K).mean;
    let high = bound::share(bridged, runs * count).high.unwrap_or(1.0);
    rows.row(
        "arrivals over a broken path: only through a false positive",
        0.0,
        arrived,
        Bound::at_most(high),
    );
    let (all, _) = gossip(lab.seed(), 1.0, 1);
    rows.row("transmissions by flooding", 68.0, all, Bound::exactly(68.0, 0.0));
    let (sent, there) = gossip(lab.seed(), 0.5, 400);
    rows.row("transmissions by gossip with 0.5: at most half of the listeners and path, and more than the path", 34.0, sent, Bound::between(PATH as f64, 36.0));
    rows.row("… which arrives less often", 1.0, there, Bound::at_most(0.999));
    let level = |name: &str, y: f64| Series::new(name, [48.0, 192.0], move |_| y);
    let chart = Chart::new(
        "extra",
        "Nodes off the path that transmit, of 60 that listen",
        [Axis::linear("bits of the header"), Axis::log("transmissions")],
        [series, level("flooding", listeners), level("gossip with 0.5", (sent - 4.0).max(1.0))],
    );
    let mut report = oracle.report().chart(chart).rows(rows);
    if let Some((graph, sent)) = picture {
        report = report.drawing(draw(&graph, &sent));
    }
    Ok(report)
}

/// The path, and whom the others that repeat reach.
fn draw(graph: &Graph, sent: &[Node]) -> Drawing {
    let path: Vec<Link> = (1..PATH).map(|to| Link { from: to - 1, to }).collect();
    let others = sent.iter().filter(|node| **node >= PATH);
    let wrong: Vec<Link> = others
        .flat_map(|&from| graph.neighbors(from).iter().map(move |&to| Link { from, to }))
        .collect();
    let names = [(0, "sender".to_owned()), (PATH - 1, "target".to_owned())];
    let title = "Two nodes off the path repeat the packet too (red)";
    drawing("gossip", title, graph, [&path, &wrong], &names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a65_extra_transmissions() {
        let extra = |bits| 60.0 * theory::fpr_asymptotic(bits, 8.0, 8.0);
        assert!((extra(128.0) - 0.034).abs() < 5e-4 && (extra(96.0) - 0.189).abs() < 5e-4);
        assert!((theory::fpr_asymptotic(128.0, 8.0, 8.0) - 5.7e-4).abs() < 1e-5);
    }
}

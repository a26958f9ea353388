//! Queries follow attenuated filters to a nearby replica, and fall back on a sure search (catalogue A11, §40;
//! S1 §6.2, S0 §IV-B \[68\]).
//!
//! ```text
//!   every edge has d levels: what is reached through it in exactly 1, 2, … d hops
//!   query ──▶ the edge with the smallest level that has it ──▶ … at most d hops, no node twice
//!         └─▶ nothing matches, or a dead end: ask the service that knows (Tapestry in the paper)
//! ```
//!
//! A query is misled where a level below the true distance errs, or one of the same level on an edge that is
//! tried first. Deep levels hold more: with 100 objects at a node of degree 5 and 4096 bits, levels 1 to 3 err at
//! 7.5·10⁻⁵, 0.0109 and 0.39, and every second query for an object three hops away is misled. Four times the bits
//! put that right. An object that is within d hops is always told of, and whoever is not misled takes a shortest
//! way.
//!
//! **The trap**: levels count walks. On a triangle a node hears of its own objects at level 3.

use everbloom::grouping::Attenuated;
use everbloom::internals::hash::Generator;
use everbloom::{Hasher, Result};

use super::Expected;
use crate::sim::{Graph, Link, Meter, Node, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// A network whose edges carry attenuated filters.
///
/// ```
/// use everbloom_lab::applications::peers::attenuated_routing::Overlay;
/// use everbloom_lab::sim::Topology;
///
/// let graph = Topology::Grid { width: 4, height: 1 }.build(1); // 0 ─ 1 ─ 2 ─ 3
/// let overlay = Overlay::new(graph, &[vec![], vec![], vec![7], vec![]], 1000, 4, 3)?;
/// assert_eq!(overlay.route(0, 7), Ok(vec![0, 1, 2]));
/// assert_eq!(overlay.route(0, 8), Err(vec![0])); // nothing matches: fall back from here
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Overlay {
    graph: Graph,
    objects: Vec<Vec<u64>>,
    /// By node and by its neighbors, in their order: what is behind that edge.
    edges: Vec<Vec<Attenuated>>,
    depth: u64,
    meter: Meter,
}

impl Overlay {
    /// The network after `depth` rounds in which every node told its neighbors what it holds.
    pub fn new(graph: Graph, objects: &[Vec<u64>], m: u64, k: u32, depth: u64) -> Result<Self> {
        let empty = Attenuated::with_shape(m, k, depth, Hasher::default())?;
        let mut own = vec![empty.clone(); graph.len()];
        for (filter, objects) in own.iter_mut().zip(objects) {
            objects.iter().try_for_each(|object| filter.insert(object, 1).map(|_| ()))?;
        }
        let edges = (0..graph.len()).map(|n| vec![empty.clone(); graph.neighbors(n).len()]);
        let edges = edges.collect();
        let mut overlay =
            Self { graph, objects: objects.to_vec(), edges, depth, meter: Meter::default() };
        for _ in 0..depth {
            overlay.edges = overlay.told(&own)?;
            let links = overlay.graph.links().count() as u64 * 2;
            (0..links).for_each(|_| overlay.meter.send(depth * m.div_ceil(8)));
        }
        debug_assert!(overlay.told(&own)? == overlay.edges, "nothing changes after d rounds");
        Ok(overlay)
    }

    /// What every node hears from its neighbors next: their own objects, and one hop further what they hold of
    /// their other edges.
    fn told(&self, own: &[Attenuated]) -> Result<Vec<Vec<Attenuated>>> {
        let hears = |node: Node| {
            let from = |&neighbor: &Node| {
                let others = self.graph.neighbors(neighbor).iter().zip(&self.edges[neighbor]);
                let others: Vec<&Attenuated> =
                    others.filter(|(to, _)| **to != node).map(|(_, edge)| edge).collect();
                own[neighbor].advertise(&others)
            };
            self.graph.neighbors(node).iter().map(from).collect()
        };
        (0..self.graph.len()).map(hears).collect()
    }

    /// The way to an object: the nodes passed, or those passed before nothing matched or d hops were made, from
    /// whose last one falls back on a sure search.
    pub fn route(&self, from: Node, object: u64) -> std::result::Result<Vec<Node>, Vec<Node>> {
        let mut way = vec![from];
        let mut node = from;
        loop {
            if self.objects[node].contains(&object) {
                return Ok(way);
            }
            if way.len() as u64 > self.depth {
                return Err(way);
            }
            let neighbors = self.graph.neighbors(node).iter().zip(&self.edges[node]);
            let (to, edges): (Vec<Node>, Vec<&Attenuated>) =
                neighbors.filter(|(to, _)| !way.contains(to)).map(|(to, e)| (*to, e)).unzip();
            match Attenuated::route(&edges, &object) {
                Some((edge, _)) => node = to[edge],
                None => return Err(way),
            }
            way.push(node);
        }
    }
}

/// The exact twin: for each edge and level, the nodes that walks of that length reach without turning back at once.
struct Walks {
    /// By node, edge and level.
    reached: Vec<Vec<Vec<Vec<bool>>>>,
}

impl Walks {
    fn new(graph: &Graph, depth: u64) -> Self {
        let nodes = graph.len();
        let none = vec![vec![false; nodes]; depth as usize];
        let mut reached: Vec<Vec<Vec<Vec<bool>>>> =
            (0..nodes).map(|n| vec![none.clone(); graph.neighbors(n).len()]).collect();
        for level in 0..depth as usize {
            for node in 0..nodes {
                for (edge, &to) in graph.neighbors(node).iter().enumerate() {
                    let mut ends = vec![false; nodes];
                    if level == 0 {
                        ends[to] = true;
                    } else {
                        for (next, &far) in graph.neighbors(to).iter().enumerate() {
                            if far != node {
                                let before = &reached[to][next][level - 1];
                                ends.iter_mut().zip(before).for_each(|(end, b)| *end |= b);
                            }
                        }
                    }
                    reached[node][edge][level] = ends;
                }
            }
        }
        Self { reached }
    }

    /// The smallest level of an edge that has the objects of a node.
    fn level(&self, node: Node, edge: usize, holder: Node) -> Option<u64> {
        let at = self.reached[node][edge].iter().position(|ends| ends[holder]);
        at.map(|at| at as u64 + 1)
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A11",
    form: Form::Simulation,
    uses: &["attenuated"],
    oracle: "the nodes that walks of each length reach, and shortest ways",
    data: "200 nodes of degree 5 with 100 objects each, three levels",
    experiment: Experiment {
        name: "attenuated-routing",
        source: "S1 §6.2, S0 §IV-B [68]",
        title: "Queries follow attenuated filters to a nearby replica, or fall back",
        shows: "Every object within three hops is told of. Whoever is not misled takes a shortest way; with \
                4096 bits a level most queries for objects three hops away are misled, with 16384 few.",
        run,
    },
};

const NODES: usize = 200;
const DEGREE: usize = 5;
const OBJECTS: usize = 100;
const K: u32 = 4;
const DEPTH: u64 = 3;
const SIZES: [u64; 2] = [4096, 16384];

fn objects(nodes: usize, seed: u64) -> Vec<Vec<u64>> {
    let mut random = Generator::new(seed);
    (0..nodes).map(|_| (0..OBJECTS).map(|_| random.next_u64()).collect()).collect()
}

/// What queries for objects at one distance did.
#[derive(Clone, Copy, Default)]
struct Tried {
    queries: u64,
    /// Arrived by a shortest way.
    straight: u64,
    arrived: u64,
    /// Not misled, expected from the real fills.
    expected: Expected,
}

struct Seen {
    /// Distances 1 to 4; the last is out of reach.
    by_distance: [Tried; 4],
    untold: u64,
    compared: Vec<(bool, bool)>,
    bytes: (u64, u64),
}

fn try_one(seed: u64, m: u64, queries: u64) -> Result<Seen> {
    let graph = Topology::RandomRegular { nodes: NODES, degree: DEGREE }.build(seed);
    let walks = Walks::new(&graph, DEPTH);
    let objects = objects(NODES, seed);
    let overlay = Overlay::new(graph.clone(), &objects, m, K, DEPTH)?;
    let rates: Vec<Vec<Vec<f64>>> = overlay
        .edges
        .iter()
        .map(|edges| edges.iter().map(Attenuated::level_rates).collect())
        .collect();
    let bytes = (NODES * DEGREE) as u64 * DEPTH * (m / 8) * DEPTH;
    let mut seen = Seen {
        by_distance: [Tried::default(); 4],
        untold: 0,
        compared: Vec::new(),
        bytes: (overlay.meter.bytes, bytes),
    };
    let mut random = Generator::new(!seed);
    let ways: Vec<Vec<Option<(usize, Node)>>> = (0..NODES).map(|n| graph.ways_to(n)).collect();
    while seen.by_distance.iter().any(|tried| tried.queries < queries) {
        let from = random.below(NODES as u64) as usize;
        let holder = random.below(NODES as u64) as usize;
        let distance = ways[holder][from].map_or(0, |(hops, _)| hops);
        if distance == 0 || distance > 4 || seen.by_distance[distance - 1].queries >= queries {
            continue;
        }
        let object = objects[holder][random.below(OBJECTS as u64) as usize];
        for edge in 0..DEGREE {
            let told = overlay.edges[from][edge].level(&object);
            let truth = walks.level(from, edge, holder);
            seen.untold += u64::from(truth.is_some_and(|t| told.is_none_or(|told| told > t)));
        }
        let tried = &mut seen.by_distance[distance - 1];
        let route = overlay.route(from, object);
        tried.queries += 1;
        tried.straight += u64::from(route.as_ref().is_ok_and(|way| way.len() == distance + 1));
        tried.arrived += u64::from(route.is_ok());
        if let Ok(way) = &route {
            seen.compared.push((way.last() == Some(&holder), true));
        }
        if distance <= DEPTH as usize {
            let straight = not_misled(&overlay, &walks, &rates, &ways[holder], (from, holder));
            tried.expected.add(1.0, straight);
        }
    }
    Ok(seen)
}

/// The probability that a query stays on shortest ways, by the rates of the filters it looks at.
///
/// At the first node all levels below the distance must be silent on every edge. Further on they are: what a later
/// edge held at level i, the edge before it held at i + 1. Edges of the same level that come earlier may always
/// be taken in vain.
fn not_misled(
    overlay: &Overlay,
    walks: &Walks,
    rates: &[Vec<Vec<f64>>],
    ways: &[Option<(usize, Node)>],
    (from, holder): (Node, Node),
) -> f64 {
    let (mut node, mut came, mut silent) = (from, None, 1.0);
    let distance = ways[from].map_or(0, |(hops, _)| hops);
    for left in (1..=distance).rev() {
        let neighbors = overlay.graph.neighbors(node);
        let right = |edge: &usize| walks.level(node, *edge, holder) == Some(left as u64);
        let open = |edge: &usize| Some(neighbors[*edge]) != came;
        let Some(taken) = (0..neighbors.len()).find(|e| open(e) && right(e)) else { return 0.0 };
        for edge in (0..neighbors.len()).filter(open) {
            if left == distance {
                silent *= rates[node][edge][..left - 1].iter().map(|f| 1.0 - f).product::<f64>();
            }
            if edge < taken {
                silent *= 1.0 - rates[node][edge][left - 1];
            }
        }
        (came, node) = (Some(node), neighbors[taken]);
    }
    silent
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, queries) = (lab.scaled(2), 1_000);
    let mut oracle = Oracle::default();
    let mut rows = Rows::new("fallback", "Queries that fall back", Axis::linear("share"));
    let mut series = Vec::new();
    for m in SIZES {
        let seen = lab.runs(runs, |seed| try_one(seed, m, queries))?;
        let mut line = Series::new(format!("{m} bits a level"), [], |_| 0.0);
        let (mut misled, mut fell) = (0.0, 0.0);
        let all = (runs * queries) as f64;
        for distance in 1..=4 {
            let mut tried = Tried::default();
            for one in seen.iter().map(|s| s.by_distance[distance - 1]) {
                tried.straight += one.straight;
                tried.arrived += one.arrived;
                tried.expected += one.expected;
            }
            fell += 1.0 - tried.arrived as f64 / all;
            if distance as u64 > DEPTH {
                misled += 1.0;
                continue;
            }
            let (mean, bound) = tried.expected.over(all);
            misled += 1.0 - mean;
            let share = tried.straight as f64 / all;
            line.curve.push((distance as f64, mean));
            // Filters beside each other share objects, and so their errors.
            line.point(distance as f64, mean, share, bound.widened(mean, 0.02));
        }
        series.push(line);
        // A quarter of the queries at each distance; those that are misled may still arrive.
        let slack = bound::share(misled / 4.0, 4 * runs * queries).high.unwrap_or(1.0);
        let label = format!("{m} bits: at most what is too far, and what is misled");
        rows.row(label, misled / 4.0, fell / 4.0, Bound::at_most(slack));
        oracle.none(
            &format!("objects within three hops not told of, {m} bits"),
            seen.iter().map(|s| s.untold).sum(),
        );
        oracle.equal(
            &format!("bytes of {DEPTH} rounds: links·d·m/8 each, {m} bits"),
            seen.iter().map(|s| s.bytes),
        );
        let compared = seen.into_iter().flat_map(|s| s.compared);
        oracle.equal(&format!("arrivals at the holder, {m} bits"), compared);
    }
    let chart = Chart::new(
        "success",
        "Queries that take a shortest way",
        [Axis::linear("hops to the object"), Axis::linear("share of queries")],
        series,
    );
    let report = oracle.report().chart(chart).rows(rows).rows(levels(lab)?);
    Ok(report.drawing(picture(lab)?))
}

/// The rates of §40 on a tree, where no walk comes back; and on a triangle, where it does.
fn levels(lab: &Lab) -> Result<Rows> {
    let mut rows = Rows::new("levels", "What levels hold", Axis::log("see each line"));
    let tree = Topology::Tree { arity: 4, depth: 3 }.build(1);
    let overlay = Overlay::new(tree.clone(), &objects(tree.len(), lab.seed()), 4096, K, DEPTH)?;
    let printed = [7.5e-5, 0.0109, 0.390];
    for (level, (n, printed)) in [100, 400, 1600].into_iter().zip(printed).enumerate() {
        let edges = &overlay.edges[0];
        let rates: Vec<f64> = edges.iter().map(|edge| edge.level_rates()[level]).collect();
        let (mean, _) = bound::mean_and_sd(&rates);
        let filled = super::Filled { m: 4096, k: K, n };
        let bound = bound::mean(printed, filled.rate_sd(), rates.len() as u64);
        let bound = bound.widened(printed, 0.01);
        rows.row(format!("rate of level {} with {n} objects", level + 1), printed, mean, bound);
    }
    let mut ring = Graph::at(vec![(0.0, 0.0); 3]);
    (0..3).for_each(|node| {
        ring.link(node, (node + 1) % 3);
    });
    let overlay = Overlay::new(ring, &[vec![1], vec![], vec![]], 4096, K, DEPTH)?;
    let heard = overlay.edges[0].iter().filter(|edge| edge.level(&1) == Some(3)).count();
    let both = Bound::exactly(2.0, 0.0);
    rows.row("edges of a triangle that tell a node of its own object", 2.0, heard as f64, both);
    Ok(rows)
}

/// A query that is misled, in a network of 40 nodes.
fn picture(lab: &Lab) -> Result<Drawing> {
    let graph = Topology::RandomRegular { nodes: 40, degree: 3 }.build(lab.seed());
    let objects = objects(graph.len(), lab.seed());
    let overlay = Overlay::new(graph.clone(), &objects, 1024, K, DEPTH)?;
    let pairs = (0..40).flat_map(|from| (0..40).map(move |to| (from, to)));
    let misled = |&(from, to): &(Node, Node)| {
        let near = graph.path(from, to).is_some_and(|path| path.len() == 4);
        near && overlay.route(from, objects[to][0]).is_err_and(|way| way.len() > 2)
    };
    let (from, to) = pairs.clone().find(misled).unwrap_or((0, 1));
    let way = overlay.route(from, objects[to][0]).unwrap_or_else(|way| way);
    let links =
        |way: &[Node]| way.windows(2).map(|w| Link { from: w[0], to: w[1] }).collect::<Vec<_>>();
    let right = links(&graph.path(from, to).unwrap_or_default());
    let wrong: Vec<Link> = links(&way).into_iter().filter(|link| !right.contains(link)).collect();
    let names = [(from, "asks".to_owned()), (to, "has it".to_owned())];
    let title = "A query that is misled, and the shortest way";
    Ok(drawing("misled", title, &graph, [&right, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use everbloom::internals::theory::bloom;

    #[test]
    fn a11_rates_of_levels() {
        for (n, rate) in [(100.0, 7.5e-5), (400.0, 0.0109), (1600.0, 0.390)] {
            let f = bloom::fpr_asymptotic(4096.0, n, 4.0);
            assert!((f / rate - 1.0).abs() < 0.01, "{n}: {f}");
        }
    }
}

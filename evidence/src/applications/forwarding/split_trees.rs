//! Multicast trees too large for one header: split and stacked (catalogue A44; S3 §III-B \[5\]\[43\]).
//!
//! ```text
//!   split     one header for each part; the path from the sender to the cut is in both
//!   stacked   ▐ hop 1 ▐ hop 2 ▐ hop 3 ▐   a small filter for each hop, in front of which nodes strip the first
//! ```
//!
//! 80 links in a header of 256 bits let 31 % of the other links pass. **Split** into two parts of 45 links, 5 of
//! them in both, that is 7 %, for twice the packets on the shared path. **Stacked** ([`Multistage`]), each hop has
//! a filter that was searched for until it denies all links of its nodes that are not of the tree: no wrong forward
//! at all, in about Σ ρ·log2 ζ bits for ρ links to take and ζ to leave at each hop, and less at every hop.

use std::collections::{BTreeMap, HashMap, HashSet};

use everbloom::internals::hash::Generator;
use everbloom::known::Multistage;
use everbloom::{Hasher, Result};

use super::zfilters::{ids, missed, network};
use crate::sim::in_packet::{Choice, LinkIds, Tags, beside, false_links, spread};
use crate::sim::{Graph, Link, Node, Tree, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// A tree in two parts that are as equal as a cut below one node allows: the links below it with the path to it,
/// and the rest. Links of that path that both need are in both.
pub fn split(tree: &Tree) -> [Tree; 2] {
    let mut children: HashMap<Node, Vec<Node>> = HashMap::new();
    tree.links.iter().for_each(|link| children.entry(link.from).or_default().push(link.to));
    let above: HashMap<Node, Node> = tree.links.iter().map(|link| (link.to, link.from)).collect();
    let path = |mut to: Node| -> Vec<Link> {
        let mut path = Vec::new();
        while let Some(&from) = above.get(&to) {
            path.push(Link { from, to });
            to = from;
        }
        path
    };
    // At each node, its children in order: some of them to one part, some to the other.
    let mut best: Option<(usize, [Vec<Link>; 2])> = None;
    for (&node, kids) in &children {
        let mut inside: HashSet<Link> = path(node).into_iter().collect();
        let mut moved: HashSet<Link> = HashSet::new();
        for &child in kids {
            let below = below(&children, node, child);
            moved.extend(&below);
            inside.extend(below);
            let mut rest: Vec<Link> =
                tree.links.iter().filter(|link| !moved.contains(link)).copied().collect();
            // What no longer leads anywhere needs no second copy.
            trim(&mut rest, tree, &moved);
            let mut part: Vec<Link> = inside.iter().copied().collect();
            part.sort_unstable();
            let larger = part.len().max(rest.len());
            let better = best.as_ref().is_none_or(|(size, parts)| {
                (larger, part[0], part.len()) < (*size, parts[0][0], parts[0].len())
            });
            if better && !rest.is_empty() {
                best = Some((larger, [part, rest]));
            }
        }
    }
    let parts = best.map_or([tree.links.clone(), Vec::new()], |(_, parts)| parts);
    parts.map(|links| {
        let ends: HashSet<Node> = links.iter().map(|link| link.to).collect();
        let receivers = tree.receivers.iter().filter(|node| ends.contains(node)).copied().collect();
        Tree { root: tree.root, links, receivers }
    })
}

/// The links from a node to a child and below it.
fn below(children: &HashMap<Node, Vec<Node>>, node: Node, child: Node) -> Vec<Link> {
    let mut links = vec![Link { from: node, to: child }];
    let mut at = 0;
    while at < links.len() {
        let from = links[at].to;
        links.extend(children.get(&from).into_iter().flatten().map(|&to| Link { from, to }));
        at += 1;
    }
    links
}

/// Takes off links that lead to no receiver that is left.
fn trim(links: &mut Vec<Link>, tree: &Tree, moved: &HashSet<Link>) {
    let gone: HashSet<Node> = moved.iter().map(|link| link.to).collect();
    loop {
        let from: HashSet<Node> = links.iter().map(|link| link.from).collect();
        let before = links.len();
        let wanted = |node: &Node| tree.receivers.contains(node) && !gone.contains(node);
        links.retain(|link| from.contains(&link.to) || wanted(&link.to));
        if links.len() == before {
            return;
        }
    }
}

/// A header with a filter for each hop.
pub struct Stacked {
    stages: Multistage,
}

impl Stacked {
    /// The header of a tree: at each hop the links to take, against the other links of the nodes there.
    pub fn new(graph: &Graph, tree: &Tree, hasher: Hasher) -> Result<Self> {
        let depths: HashMap<Node, u64> = graph
            .ways_to(tree.root)
            .iter()
            .enumerate()
            .filter_map(|(node, way)| Some((node, (*way)?.0 as u64)))
            .collect();
        let mut hops: BTreeMap<u64, [Vec<(u64, u64)>; 2]> = BTreeMap::new();
        let leaves = tree.links.iter().map(|link| (link, 0));
        let others = beside(graph, &tree.links);
        for (link, kind) in leaves.chain(others.iter().map(|link| (link, 1))) {
            let depth = depths.get(&link.from).copied().unwrap_or(0);
            hops.entry(depth).or_default()[kind].push(key(*link));
        }
        let last = tree.links.iter().filter_map(|link| depths.get(&link.from)).max().copied();
        // Below the last hop of the tree there is no stage, and so no forward.
        hops.retain(|depth, _| Some(*depth) <= last);
        let stages = hops.into_values().map(|[take, leave]| (take, leave));
        Ok(Self { stages: Multistage::of(0, stages, hasher)? })
    }

    /// Bits of the header.
    pub fn bits(&self) -> u64 {
        self.stages.packet_bits()
    }

    /// The links that a packet takes, and the bits of its header at each hop.
    pub fn forward(&self, graph: &Graph, root: Node) -> (Vec<Link>, Vec<u64>) {
        let mut stages = self.stages.clone();
        let (mut at, mut used, mut bits) = (vec![(root, root)], Vec::new(), Vec::new());
        for hop in 0.. {
            bits.push(stages.packet_bits());
            let next: Vec<(Node, Node)> = at
                .iter()
                .flat_map(|&(came, from)| {
                    let others = graph.neighbors(from).iter().filter(move |n| **n != came);
                    others.map(move |&to| (from, to))
                })
                .filter(|&(from, to)| stages.contains(hop, &key(Link { from, to })))
                .collect();
            if next.is_empty() {
                break;
            }
            used.extend(next.iter().map(|&(from, to)| Link { from, to }));
            at = next;
            stages.forward();
        }
        (used, bits)
    }
}

fn key(link: Link) -> (u64, u64) {
    (link.from as u64, link.to as u64)
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A44",
    form: Form::Simulation,
    uses: &["bloom", "multistage"],
    oracle: "the links and receivers of the tree itself",
    data: "multicast trees of 80 links in networks of 120 nodes at random places",
    experiment: Experiment {
        name: "split-trees",
        source: "S3 §III-B [5][43]",
        title: "Multicast trees too large for one header: split and stacked",
        shows: "80 links in one header of 256 bits let 0.31 of the others pass, two parts of 45 links 0.07, a filter \
                for each hop none. All receivers are reached in each form.",
        run,
    },
};

const M: u64 = 256;
const K: u32 = 5;
const LINKS: usize = 80;

#[derive(Default)]
struct Seen {
    missed: [u64; 3],
    /// Links beside the tree and how many are admitted, in one header; of each part; and by stages.
    whole: [f64; 2],
    parts: [f64; 2],
    /// What the exact formula expects of these parts, weighted with their tests.
    expected: f64,
    stacked: u64,
    repeated: f64,
    largest: f64,
    bits: f64,
    ideal: f64,
    shrinks: bool,
}

fn try_one(seed: u64) -> Result<Seen> {
    let graph = network(seed);
    let mut random = Generator::new(seed);
    let tree = graph.tree_of(random.below(graph.len() as u64) as Node, LINKS, &mut random);
    let tags = Tags::distinct(M, K, Hasher::seeded(!seed));
    let lax = LinkIds::new(&graph, tags.clone(), 1, 1.0);
    let mut seen = Seen::default();
    let admitted = |tree: &Tree, missed_of: &mut u64| -> Result<[f64; 2]> {
        let header = lax.header(&graph, &tree.links, Choice::Emptiest)?;
        *missed_of += missed(tree, &lax.forward(&graph, tree.root, &header));
        let others = beside(&graph, &tree.links);
        let wrong = others.iter().filter(|link| lax.admits(&header, **link)).count();
        Ok([others.len() as f64, wrong as f64])
    };
    seen.whole = admitted(&tree, &mut seen.missed[0])?;
    let parts = split(&tree);
    for part in &parts {
        let [tested, wrong] = admitted(part, &mut seen.missed[1])?;
        seen.parts = [seen.parts[0] + tested, seen.parts[1] + wrong];
        seen.expected += tested * tags.passing(part.links.len() as u64, 1).mean;
        seen.largest = seen.largest.max(part.links.len() as f64);
    }
    // Both parts together must have every receiver.
    let reached = |node: &&Node| !parts.iter().any(|part| part.receivers.contains(node));
    seen.missed[1] += tree.receivers.iter().filter(reached).count() as u64;
    seen.repeated = (parts[0].links.len() + parts[1].links.len() - LINKS) as f64;
    let stacked = Stacked::new(&graph, &tree, Hasher::seeded(seed))?;
    let (used, bits) = stacked.forward(&graph, tree.root);
    seen.missed[2] = missed(&tree, &used);
    seen.stacked = false_links(&used, &tree.links).len() as u64;
    seen.bits = stacked.stages.shapes().map(|shape| shape.m as f64).sum();
    seen.ideal = ideal_bits(&graph, &tree);
    seen.shrinks = bits.windows(2).all(|w| w[1] < w[0] || w[1] == 1);
    Ok(seen)
}

/// Σ ρ·log2 ζ over the hops.
fn ideal_bits(graph: &Graph, tree: &Tree) -> f64 {
    let depths = graph.ways_to(tree.root);
    let mut hops: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
    let mut count = |links: &[Link], kind: usize| {
        for link in links {
            let depth = depths[link.from].map_or(0, |way| way.0);
            hops.entry(depth).or_default()[kind] += 1.0;
        }
    };
    count(&tree.links, 0);
    count(&beside(graph, &tree.links), 1);
    hops.values().map(|[take, leave]| take * libm::log2(leave.max(2.0))).sum()
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(60);
    let seen = lab.runs(runs, try_one)?;
    let mut oracle = Oracle::default();
    for (i, form) in ["one header", "split", "stacked"].into_iter().enumerate() {
        oracle.none(&format!("receivers missed: {form}"), seen.iter().map(|s| s.missed[i]).sum());
    }
    oracle.none("links beside the tree, stacked", seen.iter().map(|s| s.stacked).sum());
    let tags = Tags::distinct(M, K, Hasher::default());
    let rate = |n: f64| tags.passing(n as u64, 1).mean;
    let mut series = Series::new("C(ones, k)/C(m, k)", (10..=100).step_by(2).map(f64::from), rate);
    let sum = |f: &dyn Fn(&Seen) -> f64| seen.iter().map(f).sum::<f64>();
    let whole = tags.passing(LINKS as u64, 1);
    let share = |s: [f64; 2]| s[1] / s[0];
    let measured = share([sum(&|s| s.whole[0]), sum(&|s| s.whole[1])]);
    let tests = sum(&|s| s.whole[0]) as u64 / runs;
    series.point(
        LINKS as f64,
        whole.mean,
        measured,
        bound::rate(whole.mean, whole.sd, runs, tests),
    );
    let parts = share([sum(&|s| s.parts[0]), sum(&|s| s.parts[1])]);
    let expected = sum(&|s| s.expected) / sum(&|s| s.parts[0]);
    let largest = sum(&|s| s.largest) / runs as f64;
    let (sd, tests) = (tags.passing(largest as u64, 1).sd, sum(&|s| s.parts[0]) as u64 / runs / 2);
    let links = (LINKS as f64 + sum(&|s| s.repeated) / runs as f64) / 2.0;
    series.point(links.round(), expected, parts, bound::rate(expected, sd, 2 * runs, tests));
    let chart = Chart::new(
        "rate",
        "Other links that pass: a tree of 80 links in one header and in two",
        [Axis::linear("links in a header of 256 bits"), Axis::linear("share that pass")],
        [series],
    );
    let mut rows = Rows::new("cost", "What the forms cost", Axis::linear("as the row says"));
    let mean = |f: &dyn Fn(&Seen) -> f64| sum(f) / runs as f64;
    rows.row("links in both parts", 5.0, mean(&|s| s.repeated), Bound::between(0.0, 12.0));
    rows.row("links of the larger part", 45.0, largest, Bound::between(LINKS as f64 / 2.0, 56.0));
    // The search stops at about ρ·log2 ζ where it has a few tries at every length; small stages need a bit each.
    let (bits, ideal) = (mean(&|s| s.bits), mean(&|s| s.ideal));
    rows.row(
        "bits of all stages, Σ ρ·log2 ζ",
        ideal,
        bits,
        Bound::between(0.6 * ideal, 1.4 * ideal),
    );
    let shrinks = seen.iter().filter(|s| s.shrinks).count() as f64;
    let all = runs as f64;
    rows.row("headers that shrink with every hop", all, shrinks, Bound::exactly(all, 0.0));
    Ok(oracle.report().chart(chart).rows(rows).drawing(picture(lab)?))
}

/// A split tree: the smaller part wanted, links taken wrongly with the other part's header.
fn picture(lab: &Lab) -> Result<Drawing> {
    let graph = network(lab.seed_of(1));
    let mut random = Generator::new(lab.seed_of(2));
    let tree = graph.tree_of(0, LINKS, &mut random);
    let strict = ids(&graph, 8, lab.seed());
    let mut wrong = Vec::new();
    for part in split(&tree) {
        let header = strict.header(&graph, &part.links, Choice::Emptiest)?;
        let used = spread(&graph, 0, |link| strict.admits(&header, link));
        wrong.extend(false_links(&used, &tree.links));
    }
    let names = [(0, "sender".to_owned())];
    let title = format!("A tree of 80 links in two packets, {} links taken wrongly", wrong.len());
    Ok(drawing("tree", &title, &graph, [&tree.links, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a44_shares_admitted() {
        let tags = Tags::distinct(M, K, Hasher::default());
        for (links, share) in [(80, 0.308), (45, 0.068)] {
            let exact = tags.passing(links, 1).mean;
            assert!((exact / share - 1.0).abs() < 0.03, "{links}: {exact}");
        }
    }

    #[test]
    fn a_tree_is_cut_in_the_middle() {
        // A path of 5 links, then two branches of 20 each.
        let link = |from, to| Link { from, to };
        let mut links: Vec<Link> = (0..5).map(|i| link(i, i + 1)).collect();
        links.extend((0..20).map(|i| link(if i == 0 { 5 } else { 5 + i }, 6 + i)));
        links.extend((0..20).map(|i| link(if i == 0 { 5 } else { 25 + i }, 26 + i)));
        let tree = Tree { root: 0, links, receivers: vec![25, 45] };
        let parts = split(&tree);
        assert_eq!(parts.each_ref().map(|part| part.links.len()), [25, 25]);
        assert_eq!(parts.each_ref().map(|part| part.receivers.len()), [1, 1]);
    }
}

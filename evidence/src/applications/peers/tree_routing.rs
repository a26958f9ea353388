//! Resources in a tree, found by a filter for each child's subtree (catalogue A10; S1 §6.1, Czerwinski et al.).
//!
//! ```text
//!          root            a node has a filter of its own resources and one for each child's subtree;
//!         /    \           a request goes down where a filter matches, and up where none does;
//!       a*      b          a dead end goes back to the last other match
//!      / \     / \
//!     .   x   .   .
//! ```
//!
//! Every resource is found, since a filter of a subtree misses none, and a false positive is undone by going back:
//! two hops for each node visited in vain. With a rate of 0.01 at each of ten levels of a binary tree that is
//! 0.102 visits a request if the wrong child is always tried first, 0.05 if the order is random. Who does not go
//! back loses 1 − (1 − f/2)^10 of the requests.
//!
//! A parent's filter is the union of its children's and of its own ([`Sizes::United`]): all have one size, that of
//! the root. Where keys are sent up instead, each level can have its own ([`Sizes::ByLevel`]).

use std::collections::HashMap;

use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom;
use everbloom::{Bloom, Hasher, Result};

use super::Expected;
use crate::sim::{Link, Topology, drawing};
use crate::{
    Application, Axis, Bound, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, bound,
};

/// How large the filters are.
#[derive(Clone, Copy, Debug)]
pub enum Sizes {
    /// All of `m` bits and `k` probes: a parent's is the union of what is below it.
    United {
        /// Bits.
        m: u64,
        /// Probes.
        k: u32,
    },
    /// Each for the resources of its subtree at this rate, with a seed for each level.
    ByLevel(f64),
}

/// In which order a node tries its children that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// From the first child on.
    First,
    /// By the coin.
    Random,
}

/// A tree in which node 0 is the root, and a node's parent has a lower number.
///
/// ```
/// use everbloom_lab::applications::peers::tree_routing::{Order, ResourceTree, Sizes};
///
/// let parents = [0, 0, 0, 1]; // 3 is below 1, 1 and 2 are below the root
/// let resources = [vec![], vec![10], vec![20], vec![30, 31]];
/// let tree = ResourceTree::new(&parents, &resources, Sizes::United { m: 1000, k: 5 })?;
/// let route = tree.find(2, 31, Order::First, 1);
/// assert_eq!((route.at, route.hops), (Some(3), 3));
/// assert_eq!(tree.find(3, 99, Order::First, 1).at, None);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct ResourceTree {
    parents: Vec<usize>,
    children: Vec<Vec<usize>>,
    resources: Vec<Vec<u64>>,
    /// By node: what its parent knows of its subtree.
    below: Vec<Bloom>,
}

/// Where a request went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Route {
    /// The node that has it.
    pub at: Option<usize>,
    /// Links passed, in either direction.
    pub hops: u64,
    /// Nodes entered from above in vain.
    pub wrong: Vec<usize>,
}

impl ResourceTree {
    /// A tree by each node's parent, and each node's resources.
    pub fn new(parents: &[usize], resources: &[Vec<u64>], sizes: Sizes) -> Result<Self> {
        let nodes = parents.len();
        let mut children = vec![Vec::new(); nodes];
        let mut depth = vec![0; nodes];
        for node in 1..nodes {
            children[parents[node]].push(node);
            depth[node] = depth[parents[node]] + 1;
        }
        let mut counts: Vec<u64> = resources.iter().map(|all| all.len() as u64).collect();
        for node in (1..nodes).rev() {
            counts[parents[node]] += counts[node];
        }
        let empty = |node: usize| match sizes {
            Sizes::United { m, k } => Bloom::with_shape(m, k, Hasher::default()),
            Sizes::ByLevel(rate) => {
                let m = bloom::bits_for(counts[node].max(1), rate);
                let k = bloom::best_k(m, counts[node].max(1));
                Bloom::with_shape(m, k, Hasher::seeded(depth[node]))
            }
        };
        let mut below: Vec<Bloom> = (0..nodes).map(empty).collect::<Result<_>>()?;
        for node in (0..nodes).rev() {
            below[node].extend(&resources[node]);
            match sizes {
                Sizes::United { .. } if node > 0 => {
                    let (above, rest) = below.split_at_mut(node);
                    above[parents[node]].union(&rest[0])?;
                }
                Sizes::United { .. } => (),
                Sizes::ByLevel(_) => {
                    let mut above = node;
                    while above > 0 {
                        above = parents[above];
                        below[above].extend(&resources[node]);
                    }
                }
            }
        }
        let (parents, resources) = (parents.to_vec(), resources.to_vec());
        Ok(Self { parents, children, resources, below })
    }

    /// Sends a request from a node: down where filters match, else up, and back from dead ends.
    pub fn find(&self, from: usize, resource: u64, order: Order, seed: u64) -> Route {
        let mut random = Generator::new(seed);
        let mut route = Route::default();
        let (mut node, mut came) = (from, None);
        loop {
            if self.down(node, came, resource, order, &mut random, &mut route) || node == 0 {
                return route;
            }
            came = Some(node);
            node = self.parents[node];
            route.hops += 1;
        }
    }

    /// Looks at a node and below it, but for the child it came from.
    fn down(
        &self,
        node: usize,
        came: Option<usize>,
        resource: u64,
        order: Order,
        random: &mut Generator,
        route: &mut Route,
    ) -> bool {
        if self.resources[node].contains(&resource) {
            route.at = Some(node);
            return true;
        }
        for child in self.matching(node, resource, order, random) {
            if Some(child) == came {
                continue;
            }
            route.hops += 1;
            if self.down(child, None, resource, order, random, route) {
                return true;
            }
            route.hops += 1;
            route.wrong.push(child);
        }
        false
    }

    /// The children whose filter matches, in the order in which they are tried.
    fn matching(
        &self,
        node: usize,
        resource: u64,
        order: Order,
        random: &mut Generator,
    ) -> Vec<usize> {
        let children = self.children[node].iter().copied();
        let mut matching: Vec<usize> =
            children.filter(|child| self.below[*child].contains(&resource)).collect();
        match order {
            Order::First => (),
            Order::Random => crate::sim::shuffle(&mut matching, random),
        }
        matching
    }

    /// Goes down from the root to one matching child after the other, and never back: where it ends.
    pub fn descend(&self, resource: u64, order: Order, seed: u64) -> Option<usize> {
        let mut random = Generator::new(seed);
        let mut node = 0;
        while !self.resources[node].contains(&resource) {
            node = *self.matching(node, resource, order, &mut random).first()?;
        }
        Some(node)
    }

    /// Siblings of the nodes on the way from the root to a node, and the rate of each one's filter by its fill.
    fn siblings(&self, mut node: usize) -> Vec<(usize, f64)> {
        let mut all = Vec::new();
        while node > 0 {
            let parent = self.parents[node];
            for &sibling in self.children[parent].iter().filter(|child| **child != node) {
                let filter = &self.below[sibling];
                all.push((sibling, libm::pow(filter.bits().fill(), filter.k().into())));
            }
            node = parent;
        }
        all
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A10",
    form: Form::Simulation,
    uses: &["bloom"],
    oracle: "a map from resource to node, and shortest ways in the tree",
    data: "a complete binary tree of depth 10 with four resources at each node",
    experiment: Experiment {
        name: "tree-routing",
        source: "S1 §6.1",
        title: "Resources in a tree, found by a filter for each child's subtree",
        shows: "Every resource is found, two hops later for each node visited in vain: 0.102 of them at a rate \
                of 0.01 a level if the wrong child comes first, 0.05 in random order.",
        run,
    },
};

const DEPTH: u32 = 10;
const EACH: usize = 4;
const RATE: f64 = 0.01;

fn parents(nodes: usize) -> Vec<usize> {
    (0..nodes).map(|node: usize| node.saturating_sub(1) / 2).collect()
}

/// Visits in vain of a request whose wrong child is always tried first: a false subtree of h more levels costs
/// 1 + 2f·(one of h − 1).
fn expected_visits(f: f64, depth: u32) -> f64 {
    let (mut sum, mut subtree) = (0.0, 1.0);
    for _ in 0..depth {
        sum += f * subtree;
        subtree = 1.0 + 2.0 * f * subtree;
    }
    sum
}

#[derive(Default)]
struct Seen {
    found: Vec<(Option<usize>, Option<usize>)>,
    hops: Vec<(u64, u64)>,
    /// Visits in vain of requests from the root, the wrong child first and in random order.
    wrong: [u64; 2],
    /// Requests that go down without going back, and end at a dead end.
    lost: u64,
    /// Matches of siblings beside the way, with filters of one size; expected and seen.
    expected: Expected,
    siblings: u64,
    stretch: f64,
    requests: u64,
}

fn try_one(seed: u64, requests: u64) -> Result<Seen> {
    let mut random = Generator::new(seed);
    let nodes = (1 << (DEPTH + 1)) - 1;
    let resources: Vec<Vec<u64>> =
        (0..nodes).map(|_| (0..EACH).map(|_| random.next_u64()).collect()).collect();
    let twin: HashMap<u64, usize> =
        (0..nodes).flat_map(|n| resources[n].iter().map(move |r| (*r, n))).collect();
    let parents = parents(nodes);
    let levels = ResourceTree::new(&parents, &resources, Sizes::ByLevel(RATE))?;
    let m = bloom::bits_for((nodes * EACH) as u64, RATE);
    let united = ResourceTree::new(&parents, &resources, Sizes::United { m, k: 7 })?;
    let leaves = nodes / 2;
    let mut seen = Seen { requests, ..Seen::default() };
    for i in 0..requests {
        // From the root to a leaf: the longest way.
        let leaf = leaves + random.below(leaves as u64 + 1) as usize;
        let resource = resources[leaf][0];
        seen.wrong[0] += beside(&levels, leaf, resource);
        let route = levels.find(0, resource, Order::Random, i);
        seen.wrong[1] += route.wrong.len() as u64;
        seen.hops.push((route.hops, u64::from(DEPTH) + 2 * route.wrong.len() as u64));
        seen.found.push((route.at, twin.get(&resource).copied()));
        seen.lost += u64::from(levels.descend(resource, Order::Random, i).is_none());
        for (sibling, rate) in united.siblings(leaf) {
            seen.expected.add(1.0, rate);
            seen.siblings += u64::from(united.below[sibling].contains(&resource));
        }
        // From anywhere to anywhere, every fourth for what nobody has.
        let from = random.below(nodes as u64) as usize;
        let to = random.below(nodes as u64) as usize;
        let resource = if i % 4 == 0 { random.next_u64() } else { resources[to][1] };
        let route = united.find(from, resource, Order::Random, i);
        let holder = twin.get(&resource).copied();
        let shortest = distance(from, holder.unwrap_or(0));
        seen.found.push((route.at, holder));
        seen.hops.push((route.hops, shortest + 2 * route.wrong.len() as u64));
        seen.stretch += (route.hops as f64 + 1.0) / (shortest as f64 + 1.0);
    }
    Ok(seen)
}

/// Nodes visited in vain from the root if at every level the children beside the way are tried first.
fn beside(tree: &ResourceTree, leaf: usize, resource: u64) -> u64 {
    let mut random = Generator::new(0);
    let mut route = Route::default();
    for (sibling, _) in tree.siblings(leaf) {
        if tree.below[sibling].contains(&resource) {
            route.wrong.push(sibling);
            tree.down(sibling, None, resource, Order::First, &mut random, &mut route);
        }
    }
    route.wrong.len() as u64
}

/// Hops between two nodes of a binary tree numbered from its root.
fn distance(mut a: usize, mut b: usize) -> u64 {
    let mut hops = 0;
    while a != b {
        if a > b {
            a = (a - 1) / 2
        } else {
            b = (b - 1) / 2
        }
        hops += 1;
    }
    hops
}

fn run(lab: &Lab) -> Result<Report> {
    let (runs, requests) = (lab.scaled(4), 2_000);
    let seen = lab.runs(runs, |seed| try_one(seed, requests))?;
    let all = runs * requests;
    let sum = |of: fn(&Seen) -> u64| seen.iter().map(of).sum::<u64>() as f64 / all as f64;
    let depth = f64::from(DEPTH);
    let mut rows = Rows::new("visits", "Nodes visited in vain", Axis::log("for each request"));
    // Visits come singly but for the 2 % inside a false subtree: their variance is about their mean.
    let visits = |mean: f64| bound::mean(mean, (mean * 1.1).sqrt(), all).widened(mean, 0.04);
    let first = expected_visits(RATE, DEPTH);
    rows.row("the wrong child first (0.102)", first, sum(|s| s.wrong[0]), visits(first));
    let random = first / 2.0;
    rows.row("in random order (0.050)", random, sum(|s| s.wrong[1]), visits(random));
    let mut expected = Expected::default();
    seen.iter().for_each(|s| expected += s.expected);
    let (mean, bound) = expected.over(all as f64);
    rows.row("siblings that match, united filters of one size", mean, sum(|s| s.siblings), bound);
    let lost = 1.0 - libm::pow(1.0 - RATE / 2.0, depth);
    let bound = bound::share(lost, all).widened(lost, 0.04);
    rows.row("requests lost without going back", lost, sum(|s| s.lost), bound);
    let stretch = seen.iter().map(|s| s.stretch / s.requests as f64).sum::<f64>() / runs as f64;
    // Two hops for each visit, on ways that are one link long at least.
    rows.row(
        "hops by shortest way, united filters",
        1.0,
        stretch,
        Bound::between(1.0, 1.0 + 2.0 * mean),
    );
    let mut oracle = Oracle::default();
    let (mut found, mut hops) = (Vec::new(), Vec::new());
    for s in seen {
        found.extend(s.found);
        hops.extend(s.hops);
    }
    oracle.equal("nodes found", found);
    oracle.equal("hops: the shortest way and two for each visit in vain", hops);
    Ok(oracle.report().rows(rows).drawing(picture(lab)?))
}

/// The request with the most visits in vain in a tree of depth 6 whose filters are far too small.
fn picture(lab: &Lab) -> Result<Drawing> {
    let graph = Topology::Tree { arity: 2, depth: 6 }.build(lab.seed());
    let mut random = Generator::new(lab.seed());
    let resources: Vec<Vec<u64>> = (0..graph.len()).map(|_| vec![random.next_u64()]).collect();
    let tree = ResourceTree::new(&parents(graph.len()), &resources, Sizes::ByLevel(0.15))?;
    let routes = (63..graph.len()).map(|leaf| tree.find(0, resources[leaf][0], Order::Random, 1));
    let route = routes.max_by_key(|route| route.wrong.len()).unwrap_or_default();
    let at = route.at.unwrap_or(0);
    let wrong: Vec<Link> = route.wrong.iter().map(|&to| Link { from: (to - 1) / 2, to }).collect();
    let right = graph.tree(0, &[at]);
    let names = [(0, "asks".to_owned()), (at, "has it".to_owned())];
    let title = format!("A request at a rate of 0.15: {} nodes visited in vain", wrong.len());
    Ok(drawing("request", &title, &graph, [&right, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a10_visits_in_vain() {
        let first = expected_visits(0.01, 10);
        assert!((first - 0.102).abs() < 5e-4, "{first}");
        assert!((first / 2.0 - 0.050).abs() < 1.5e-3);
    }
}

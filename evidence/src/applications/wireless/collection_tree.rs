//! Commands down a tree that only learns from what goes up (catalogue A64; S3 \[51\] §III-B).
//!
//! ```text
//!            root                 data goes up: each node notes the origin in the filter of the child it came
//!           /    \                through. A command goes down through every child whose filter has the target.
//!        [ 3 4 ] [ 5 6 ]          Filters forget: what is not heard again for ⌈ICV/DF⌉ ticks is gone, and so is
//!         3   4   5   6           the old way of a node that has moved.
//! ```
//!
//! A command arrives if its target was heard within the life of an entry, under the rule that a refresh raises
//! counters to their initial value. Under the other rule, counters that are not zero stay as they are, and nodes are
//! lost although they were heard. False branches leave the way at every level with (children − 1)·f: 0.123 on 5 levels
//! of 4 children at 10 cells a node.

use std::collections::HashSet;

use everbloom::Result;
use everbloom::decaying::TemporalCounting;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::bloom as theory;

use crate::sim::{Graph, Link, Node, Rate, Topology, drawing};
use crate::{
    Application, Axis, Bound, Chart, Drawing, Experiment, Form, Lab, Oracle, Report, Rows, Series,
    bound,
};

/// Initial value and decay step: a life of 4 ticks.
const INITIAL: u64 = 7;
const DECAY: u64 = 2;
const PROBES: u32 = 7;

/// A tree in which every node but the root has a filter of what is below it, kept by its parent.
///
/// ```
/// use everbloom_lab::applications::wireless::collection_tree::{Rule, Tree};
/// let mut tree = Tree::new(4, 3, 10, Rule::Maximum, 1)?;
/// (1..tree.len()).for_each(|node| tree.report(node));
/// assert!(tree.command(84).contains(&84)); // node 84 is a leaf
/// tree.tick(4);
/// assert!(tree.command(84).is_empty());    // not heard for 4 ticks
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Tree {
    graph: Graph,
    parents: Vec<Node>,
    children: Vec<Vec<Node>>,
    /// By child; the root's own stays empty.
    filters: Vec<TemporalCounting>,
    names: Vec<u64>,
    /// The exact twin: when each origin was last heard through a child.
    exact: Vec<std::collections::HashMap<u64, u64>>,
    now: u64,
}

/// What a refresh does to counters that are not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// They are raised to the initial value.
    Maximum,
    /// They stay: the trap.
    Keep,
}

impl Tree {
    /// A complete tree, with so many cells of filter for each node below a child.
    pub fn new(arity: usize, depth: usize, cells: u64, rule: Rule, seed: u64) -> Result<Self> {
        let graph = Topology::Tree { arity, depth }.build(seed);
        let mut random = Generator::new(seed);
        let nodes = graph.len();
        let parents: Vec<Node> = (0..nodes).map(|n| n.saturating_sub(1) / arity).collect();
        let mut below = vec![1u64; nodes];
        (1..nodes).rev().for_each(|n| below[parents[n]] += below[n]);
        let mut children = vec![Vec::new(); nodes];
        (1..nodes).for_each(|n| children[parents[n]].push(n));
        let form = if rule == Rule::Maximum { "maximum" } else { "keep" };
        let filter = |n: &u64| {
            let builder =
                TemporalCounting::builder().form(form).set("m", n * cells).set("k", PROBES);
            builder.set("initial", INITIAL).set("decay", DECAY).seed(seed).build()
        };
        Ok(Self {
            filters: below.iter().map(filter).collect::<Result<_>>()?,
            names: (0..nodes).map(|_| random.next_u64()).collect(),
            exact: vec![Default::default(); nodes],
            now: 0,
            graph,
            parents,
            children,
        })
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Whether there are none: never, a tree has a root.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Data goes from a node to the root.
    pub fn report(&mut self, origin: Node) {
        let mut at = origin;
        while at != 0 {
            self.filters[at].insert(&self.names[origin]);
            self.exact[at].insert(self.names[origin], self.now);
            at = self.parents[at];
        }
    }

    /// Time passes.
    pub fn tick(&mut self, ticks: u64) {
        self.filters.iter_mut().for_each(|filter| filter.age(ticks));
        self.now += ticks;
    }

    /// A node moves below another parent; what leads to its old place fades.
    pub fn move_below(&mut self, node: Node, parent: Node) {
        let old = self.parents[node];
        self.children[old].retain(|child| *child != node);
        self.children[parent].push(node);
        self.parents[node] = parent;
    }

    /// The nodes that get a command for a target: through every child whose filter has it.
    pub fn command(&self, target: Node) -> HashSet<Node> {
        self.spread(|child| self.filters[child].contains(&self.names[target]))
    }

    fn command_exactly(&self, target: Node) -> HashSet<Node> {
        let life = INITIAL.div_ceil(DECAY);
        self.spread(|child| {
            self.exact[child].get(&self.names[target]).is_some_and(|heard| self.now - heard < life)
        })
    }

    fn spread(&self, leads: impl Fn(Node) -> bool) -> HashSet<Node> {
        let (mut reached, mut waiting) = (HashSet::new(), vec![0]);
        while let Some(node) = waiting.pop() {
            for &child in self.children[node].iter().filter(|child| leads(**child)) {
                reached.insert(child);
                waiting.push(child);
            }
        }
        reached
    }

    fn way(&self, target: Node) -> Vec<Node> {
        let up = std::iter::successors(Some(target), |&n| (n != 0).then(|| self.parents[n]));
        up.take_while(|&n| n != 0).collect()
    }
}

/// The application.
pub static APPLICATION: Application = Application {
    entry: "A64",
    form: Form::Simulation,
    uses: &["temporal-counting"],
    oracle: "tables of when each origin was last heard through each child",
    data: "a tree of 4 children and 5 levels in which every node reports, some fall silent and some move",
    experiment: Experiment {
        name: "collection-tree",
        source: "S3 §III-B [51]",
        title: "Commands down a collection tree by filters that forget",
        shows: "Every command arrives whose target was heard within its life. False branches leave the way with \
                (children − 1)·f a level, 0.123 on 5 levels of 4; the old branch of a node that moved dies after \
                exactly ⌈ICV/DF⌉ ticks.",
        run,
    },
};

const ARITY: usize = 4;
const DEPTH: usize = 5;

#[derive(Default)]
struct Seen {
    /// Branches off the way, by level.
    off: [u64; DEPTH],
    targets: u64,
    undelivered: u64,
    /// Differences from the twin for silent nodes: commands that should not arrive, but for false positives.
    missing: u64,
    /// Nodes that moved: old branch alive one tick before its end, and at its end.
    alive: [u64; 2],
    moved: u64,
}

fn try_tree(seed: u64, cells: u64) -> Result<Seen> {
    let mut tree = Tree::new(ARITY, DEPTH, cells, Rule::Maximum, seed)?;
    let mut seen = Seen::default();
    (1..tree.len()).for_each(|node| tree.report(node));
    let leaves: Vec<Node> = (0..tree.len()).filter(|&n| tree.children[n].is_empty()).collect();
    for &target in leaves.iter().step_by(3) {
        seen.targets += 1;
        let way = tree.way(target);
        let reached = tree.command(target);
        seen.undelivered += u64::from(!reached.contains(&target));
        seen.missing += tree.command_exactly(target).difference(&reached).count() as u64;
        // Levels from the root: the way's last node is the root's child.
        for (level, on) in way.iter().rev().enumerate() {
            let siblings = &tree.children[tree.parents[*on]];
            seen.off[level] +=
                siblings.iter().filter(|s| *s != on && reached.contains(s)).count() as u64;
        }
    }
    moves(&mut tree, &leaves, &mut seen);
    Ok(seen)
}

/// Leaves move to the root's last branch; all others fall silent, so that nothing but time decides.
fn moves(tree: &mut Tree, leaves: &[Node], seen: &mut Seen) {
    let life = INITIAL.div_ceil(DECAY);
    let movers: Vec<Node> = leaves[..leaves.len() / 2].iter().copied().step_by(5).collect();
    let old: Vec<Node> = movers.iter().map(|&node| tree.parents[node]).collect();
    let parent = tree.parents[leaves[leaves.len() - 1]];
    movers.iter().for_each(|&node| tree.move_below(node, parent));
    // They report from their new place, and must be reached there.
    for tick in 1..=life {
        tree.tick(1);
        movers.iter().for_each(|&node| tree.report(node));
        for (&node, &place) in movers.iter().zip(&old) {
            let reached = tree.command(node);
            seen.undelivered += u64::from(!reached.contains(&node));
            if tick + 1 >= life {
                seen.alive[(tick + 1 - life) as usize] += u64::from(reached.contains(&place));
            }
        }
    }
    seen.moved += movers.len() as u64;
}

/// The share of ticks at which a node that reports every 5 ticks is reached, with a life of 7.
fn heard_in_time(rule: Rule) -> Result<f64> {
    let form = if rule == Rule::Maximum { "maximum" } else { "keep" };
    let builder = TemporalCounting::builder().form(form).set("m", 1000).set("k", PROBES);
    let mut filter = builder.set("initial", 7).set("decay", 1).build()?;
    let mut reached = 0;
    for tick in 0..100 {
        if tick % 5 == 0 {
            filter.insert("node");
        }
        reached += u64::from(filter.contains("node"));
        filter.age(1);
    }
    Ok(reached as f64 / 100.0)
}

fn run(lab: &Lab) -> Result<Report> {
    let runs = lab.scaled(4);
    let mut oracle = Oracle::default();
    let mut rows = Rows::new("source", "Branches, moves and lives", Axis::linear("value"));
    // Nodes below a child, by level.
    let below = |level: usize| (0..DEPTH - level).map(|i| ARITY.pow(i as u32) as u64).sum::<u64>();
    let others = (ARITY - 1) as f64;
    let total = |cells: u64| {
        (0..DEPTH).map(|l| others * Rate::of(cells * below(l), below(l), PROBES).mean).sum::<f64>()
    };
    let curve =
        |cells: f64| DEPTH as f64 * others * theory::fpr_asymptotic(cells, 1.0, PROBES.into());
    let mut series = Series::new("levels·(children − 1)·f", (6..=16).map(f64::from), curve);
    for cells in [8, 10, 14] {
        let seen = lab.runs(runs, |seed| try_tree(seed, cells))?;
        let sum = |f: &dyn Fn(&Seen) -> u64| seen.iter().map(f).sum::<u64>();
        let targets = sum(&|s| s.targets);
        let mean = sum(&|s| s.off.iter().sum()) as f64 / targets as f64;
        let predicted = total(cells);
        // Upper levels have few filters, which all targets share.
        let shared: f64 = (0..DEPTH)
            .map(|level| {
                let rate = Rate::of(cells * below(level), below(level), PROBES);
                let filters = ARITY.pow(level as u32 + 1) as f64;
                others * others * rate.sd * rate.sd / filters
            })
            .sum();
        let per_run = targets as f64 / runs as f64;
        let fits = bound::mean(predicted, (shared + predicted / per_run).sqrt(), runs);
        series.point(cells as f64, predicted, mean, fits);
        oracle.none(
            &format!("commands that did not arrive, {cells} cells a node"),
            sum(&|s| s.undelivered),
        );
        oracle.none(
            &format!("branches of the twin not taken, {cells} cells a node"),
            sum(&|s| s.missing),
        );
        if cells == 10 {
            rows.row(
                "branches off the way on 5 levels, 10 cells a node",
                0.123,
                mean,
                Bound { low: fits.low.map(|l| l.min(0.123)), ..fits },
            );
            let moved = sum(&|s| s.moved);
            let alive = |i: usize| sum(&|s| s.alive[i]) as f64 / moved as f64;
            rows.row(
                "old branches alive one tick before the end of their life",
                1.0,
                alive(0),
                Bound::exactly(1.0, 0.0),
            );
            let high = bound::share(0.05, moved).high.unwrap_or(1.0);
            rows.row("… at its end: none but false positives", 0.0, alive(1), Bound::at_most(high));
        }
    }
    rows.row(
        "heard every 5 ticks, life 7: reached, by the maximum",
        1.0,
        heard_in_time(Rule::Maximum)?,
        Bound::exactly(1.0, 0.0),
    );
    rows.row(
        "… if counters that are not zero stay (the trap)",
        0.7,
        heard_in_time(Rule::Keep)?,
        Bound::exactly(0.7, 1e-9),
    );
    let chart = Chart::new(
        "branches",
        "Branches off the way of a command, 4 children, 5 levels",
        [Axis::linear("cells for each node below a child"), Axis::log("branches")],
        [series],
    );
    Ok(oracle.report().chart(chart).rows(rows).drawing(draw(lab)?))
}

/// A command in a small tree with filters that are too small.
fn draw(lab: &Lab) -> Result<Drawing> {
    let mut tree = Tree::new(3, 4, 4, Rule::Maximum, lab.seed())?;
    (1..tree.len()).for_each(|node| tree.report(node));
    let score = |target: &Node| tree.command(*target).len().min(16);
    let target = (tree.len() / 3..tree.len()).max_by_key(score).unwrap_or(1);
    let (way, reached) = (tree.way(target), tree.command(target));
    let link = |&to: &Node| Link { from: tree.parents[to], to };
    let wanted: Vec<Link> = way.iter().map(link).collect();
    let wrong: Vec<Link> = reached.iter().filter(|n| !way.contains(n)).map(link).collect();
    let names = [(0, "root".to_owned()), (target, "target".to_owned())];
    let title = "A command to one node, filters of 4 cells a node: false branches in red";
    Ok(drawing("command", title, &tree.graph, [&wanted, &wrong], &names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a64_branches() {
        let f = theory::fpr_asymptotic(10.0, 1.0, 7.0);
        assert!((5.0 * 3.0 * f - 0.123).abs() < 5e-4);
        assert_eq!(INITIAL.div_ceil(DECAY), 4);
    }
}

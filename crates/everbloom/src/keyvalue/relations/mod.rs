//! The relationship-preserving filter for trees (catalogue B16; S3 §II and §IX name it as an open issue).
//!
//! Who is this node's parent? A multicast tree, say, in which every node knows its few neighbors, and none knows the
//! tree. Each node stores, by xor of three cells as in `bloomier`, a fingerprint of its own, u bits, and one of its
//! parent, b bits:
//!
//! ```text
//!   tree     r        node │ own part │ parent part      is c a node?          its own part matches
//!           ╱ ╲       r    │ 1011     │ γ(⊥)             is p its parent?      … and the parent part is γ(p)
//!          a   b      a    │ 0110     │ γ(r)             are x, y siblings?    their parent parts are equal
//!         ╱           b    │ 0001     │ γ(r)
//!        c            c    │ 1100     │ γ(a)             who is c's parent?    those of the candidates with γ(p)
//! ```
//!
//! The cells cannot list anything: whoever asks brings the candidates, its neighbors. The true parent and all true
//! children are always among the answers, and true siblings are always siblings. A foreign node is taken for one with
//! 2^−u; a wrong parent or child of a node with 2^−b, and of a foreign one with 2^−(u+b); wrong siblings with 2^−b. All
//! children of one parent share its γ, so that wrong children come in families. With `depth=yes` two more bits have
//! the depth modulo 3, which must fall by one from child to parent: that prunes paths to the root.
//!
//! The cells of the form `static` are solved for once: another tree is another filter. The form `dynamic` has counting
//! filters of nodes and of edges instead, takes and removes nodes, and knows no siblings.
//!
//! **Use it** for trees whose nodes know their neighbors. **Don't** to explore an unknown tree; a filter of edges
//! alone takes 1.44·b bits per edge, and has neither nodes nor siblings.

mod shape;
mod tree;

pub use shape::Shape;
use tree::{DEPTHS, depths};

use crate::cells::Counters;
use crate::filter::Given;
use crate::keyvalue::entries::{Entry, collapse};
use crate::keyvalue::xor_cells::{MAX_CHECK_BITS, XorCells, false_positives};
use crate::parts::labels::{label_of, shown};
use crate::parts::tally::Tallies;
use crate::probe::Probe;
use crate::variant::prelude::*;

/// A tree that knows which of the queried nodes is the parent of which.
///
/// ```
/// use everbloom::keyvalue::Relations;
///
/// let tree = [("r", ""), ("a", "r"), ("b", "r"), ("c", "a")];
/// let tree = Relations::from_parents(tree, 20, 16)?;
/// assert!(tree.is_root("r") && tree.is_node("c") && !tree.is_node("x"));
/// assert_eq!(tree.parents("c", &["r", "a", "b"]), [&"a"]);
/// assert_eq!(tree.children("r", &["a", "b", "c"]), [&"a", &"b"]);
/// assert!(tree.siblings("a", "b")? && !tree.siblings("a", "c")?);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Relations {
    head: Head,
    /// b, bits of a parent's fingerprint.
    parent_bits: u32,
    /// 1 if values have the depth modulo 3, too.
    depths: u32,
    /// What the nodes store, in the form `static`.
    cells: Option<XorCells>,
    /// Counting filters of nodes and edges, in the form `dynamic`.
    nodes: Option<Tallies<Counters>>,
    edges: Option<Tallies<Counters>>,
}

state!(Relations { head, parent_bits, depths, cells, nodes, edges });

/// Bits of a depth modulo [`DEPTHS`].
const DEPTH_BITS: u32 = 2;

impl Relations {
    /// The static filter of nodes with their parents, with `node_bits` of each node and `parent_bits` of its parent. The
    /// parent of a root is empty.
    pub fn from_parents<C: Key, P: Key>(
        pairs: impl IntoIterator<Item = (C, P)>,
        node_bits: u32,
        parent_bits: u32,
    ) -> Result<Self> {
        let goal = Goal::default().set("node-bits", node_bits).set("parent-bits", parent_bits);
        let (shape, head) = crate::variant::settle::<Self>(&goal)?;
        let hasher = &head.hasher;
        let digests = |(child, parent): (C, P)| (hasher.digest(&child), hasher.digest(&parent));
        let edges: Vec<(Digest, Digest)> = pairs.into_iter().map(digests).collect();
        Self::solved(&shape, head, &edges)
    }

    /// γ: a fingerprint that does not depend on where a node's cells are.
    fn gamma(&self, digest: Digest) -> u64 {
        gamma(digest, self.parent_bits)
    }

    /// What a node stores, if it is one.
    fn stored(&self, node: Digest) -> Option<u64> {
        // Cells that nobody solved for would let some pass.
        let cells = self.cells.as_ref().filter(|_| self.head.items > 0);
        cells.and_then(|cells| cells.value(node))
    }

    /// Whether this may be a node.
    pub fn is_node<K: Key + ?Sized>(&self, node: &K) -> bool {
        let digest = self.head.digest(node);
        match &self.nodes {
            Some(nodes) => nodes.contains(digest),
            None => self.stored(digest).is_some(),
        }
    }

    /// Whether `parent` may be the parent of `child`, which has to be a node.
    pub fn is_parent<P: Key + ?Sized, C: Key + ?Sized>(&self, parent: &P, child: &C) -> bool {
        self.is_edge(self.head.digest(parent), self.head.digest(child))
    }

    fn is_edge(&self, parent: Digest, child: Digest) -> bool {
        match (&self.nodes, &self.edges) {
            (Some(nodes), Some(edges)) => {
                nodes.contains(child) && edges.contains(edge(parent, child))
            }
            _ => self.stored(child).is_some_and(|value| {
                value & low(self.parent_bits) == self.gamma(parent)
                    && (self.depths == 0 || self.falls(value, parent))
            }),
        }
    }

    /// Whether the depth falls by one from a node, which stores `value`, to its parent: none, or a node.
    fn falls(&self, value: u64, parent: Digest) -> bool {
        let depth = value >> self.parent_bits;
        if parent == self.head.digest("") {
            return depth == 0;
        }
        let above = self.stored(parent).map(|value| value >> self.parent_bits);
        above.is_some_and(|above| depth < DEPTHS && (above + 1) % DEPTHS == depth)
    }

    /// Whether this may be a root.
    pub fn is_root<K: Key + ?Sized>(&self, node: &K) -> bool {
        self.is_parent("", node)
    }

    /// The candidates that may be the parent of `child`: the true one, if it is among them, and hardly others.
    pub fn parents<'a, K: Key, C: Key + ?Sized>(
        &self,
        child: &C,
        candidates: &'a [K],
    ) -> Vec<&'a K> {
        let child = self.head.digest(child);
        let is = |parent: &&K| self.is_edge(self.head.digest(*parent), child);
        candidates.iter().filter(is).collect()
    }

    /// The candidates that may be children of `parent`.
    pub fn children<'a, K: Key, P: Key + ?Sized>(
        &self,
        parent: &P,
        candidates: &'a [K],
    ) -> Vec<&'a K> {
        let parent = self.head.digest(parent);
        let is = |child: &&K| self.is_edge(parent, self.head.digest(*child));
        candidates.iter().filter(is).collect()
    }

    /// Whether two nodes may have the same parent. The dynamic form does not know.
    pub fn siblings<A: Key + ?Sized, B: Key + ?Sized>(&self, a: &A, b: &B) -> Result<bool> {
        if self.cells.is_none() {
            return Err(Error::unsupported(
                "a filter of edges does not know siblings: use form static",
            ));
        }
        let (a, b) = (self.stored(self.head.digest(a)), self.stored(self.head.digest(b)));
        Ok(a.is_some() && a == b)
    }

    /// The ways from a node to a root through candidates, by their numbers: the true one, if all its nodes are among
    /// them, and hardly others. No more than `most` are followed up.
    pub fn paths_to_root<K: Key, C: Key + ?Sized>(
        &self,
        node: &C,
        candidates: &[K],
        most: usize,
    ) -> Vec<Vec<usize>> {
        let digests: Vec<Digest> = candidates.iter().map(|key| self.head.digest(key)).collect();
        let root = self.head.digest("");
        let (mut open, mut paths) = (vec![(self.head.digest(node), Vec::new())], Vec::new());
        // Every step is taken once for each way to it.
        for _ in 0..most.saturating_mul(candidates.len() + 1) {
            let Some((at, path)) = open.pop() else { break };
            if self.is_edge(root, at) {
                paths.push(path.clone());
            }
            for (i, digest) in digests.iter().enumerate() {
                if *digest != at && !path.contains(&i) && self.is_edge(*digest, at) {
                    let mut longer = path.clone();
                    longer.push(i);
                    open.push((*digest, longer));
                }
            }
            if paths.len() >= most || open.len() > most {
                break;
            }
        }
        paths
    }

    /// Adds a node below a parent, or a root without one, in the dynamic form.
    pub fn insert<C: Key + ?Sized, P: Key + ?Sized>(
        &mut self,
        child: &C,
        parent: &P,
    ) -> Result<Seen> {
        let (child, parent) = (self.head.digest(child), self.head.digest(parent));
        let (Some(nodes), Some(edges)) = (&mut self.nodes, &mut self.edges) else {
            return Err(Error::unsupported("a static tree cannot take nodes: use form dynamic"));
        };
        let new = nodes.insert(child);
        edges.insert(edge(parent, child));
        self.head.count_one();
        Ok(Seen::new_if(new))
    }

    /// Removes a node that was added below this parent, in the dynamic form.
    pub fn remove<C: Key + ?Sized, P: Key + ?Sized>(
        &mut self,
        child: &C,
        parent: &P,
    ) -> Result<()> {
        let (child, parent) = (self.head.digest(child), self.head.digest(parent));
        if !self.is_edge(parent, child) {
            return Err(Error::new(Kind::NotDeletable, "there is no such node below this parent"));
        }
        let (Some(nodes), Some(edges)) = (&mut self.nodes, &mut self.edges) else {
            return Err(Error::unsupported("a static tree cannot lose nodes: use form dynamic"));
        };
        if nodes.count(child).whole() == 0 {
            return Err(Error::new(Kind::NotDeletable, "there is no such node"));
        }
        edges.remove(edge(parent, child))?;
        nodes.remove(child)?;
        self.head.count_off();
        Ok(())
    }

    /// The filter of nodes with their parents, as digests.
    fn solved(shape: &Shape, head: Head, edges: &[(Digest, Digest)]) -> Result<Self> {
        let root = head.hasher.digest("");
        if edges.iter().any(|(child, _)| *child == root) {
            return Err(Error::record("a node without a name: the empty name is above the root"));
        }
        let depths = if shape.depths { Some(depths(edges, root)?) } else { None };
        let entry = |(record, (child, parent)): (u64, &(Digest, Digest))| {
            let depth = depths.as_ref().map_or(0, |depths| depths[child]);
            let value = gamma(*parent, shape.parent_bits) | depth << shape.parent_bits;
            Entry { digest: *child, value, record }
        };
        let mut entries: Vec<Entry> = (1..).zip(edges).map(entry).collect();
        collapse(&mut entries).map_err(|(first, second)| {
            Error::record(format!("records {first} and {second} give the same node two parents"))
        })?;
        let n = entries.len() as u64;
        let (node_bits, _) = shape.settle(n)?;
        let cells = XorCells::of(&entries, false, shape.value_bits(), node_bits)?;
        let rate = shape.rate.unwrap_or_else(|| false_positives(false, node_bits));
        let head = Head { items: n, fpr: Some(rate).filter(|p| *p < 1.0), ..head };
        let (parent_bits, depths) = (shape.parent_bits, u32::from(shape.depths));
        Ok(Self { head, parent_bits, depths, cells: Some(cells), nodes: None, edges: None })
    }

    fn check(&self) -> Result<()> {
        let bits = VARIANT.takes("parent-bits", self.parent_bits) && self.depths <= 1;
        let wanted = || self.parent_bits + DEPTH_BITS * self.depths;
        let dynamic = self.head.form == DYNAMIC;
        let cells = self.cells.as_ref();
        let fits = bits && cells.is_none_or(|c| !c.mutable() && c.value_bits == wanted());
        let there = [self.cells.is_some(), self.nodes.is_none(), self.edges.is_none()];
        if !fits || there != [!dynamic; 3] || (dynamic && self.depths != 0) {
            return Err(Error::corrupt(0, "corrupt filter: relations of no such tree"));
        }
        self.nodes.iter().chain(&self.edges).try_for_each(Tallies::check_flat)
    }
}

/// The lowest `bits` bits, up to 32.
fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

fn gamma(digest: Digest, bits: u32) -> u64 {
    digest.word(GAMMA) & low(bits)
}

/// An edge as a key of its own.
fn edge(parent: Digest, child: Digest) -> Digest {
    child.salted(parent.word(EDGE))
}

/// The parent beside a node; the empty one above a root.
fn parent_of<'a>(record: &Record<'a>) -> Result<&'a [u8]> {
    record.value.map_or(Ok(b""), |_| label_of(record))
}

impl Create for Relations {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        if let Some((nodes, edges)) = shape.counters {
            let tallies = |flat: Flat| {
                let cells = Counters::try_new(flat.m, WIDTH)?;
                Ok::<_, Error>(Some(Tallies { probe: Probe::over(flat.m, flat.k), cells }))
            };
            let (nodes, edges) = (tallies(nodes)?, tallies(edges)?);
            let mut tree =
                Self { head, parent_bits: shape.parent_bits, depths: 0, cells: None, nodes, edges };
            inputs.records.batches(&mut |batch| {
                batch.iter().try_for_each(|record| Insert::insert(&mut tree, *record).map(drop))
            })?;
            return Ok(tree);
        }
        let mut edges = Vec::new();
        inputs.records.batches(&mut |batch| {
            for record in batch {
                let parent = parent_of(record);
                let parent =
                    parent.map_err(|e| e.context(format!("node {}", shown(record.key))))?;
                edges.push((head.hasher.digest(record.key), head.hasher.digest(parent)));
            }
            Ok(())
        })?;
        Self::solved(shape, head, &edges)
    }
}

face!(Relations: Insert, Remove);
built!(@builder Relations);

impl Filter for Relations {
    /// Whether the key is a node; beside it may stand candidates for its parent, with commas, and those that may be it
    /// come back.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let node = self.is_node(record.key);
        if record.value.is_none() || !node {
            return Ok(Answer::of(node));
        }
        let candidates: Vec<&[u8]> = label_of(&record)?.split(|byte| *byte == b',').collect();
        let parents = self.parents(record.key, &candidates);
        let labels = parents.into_iter().map(|label| label.to_vec()).collect();
        Ok(Answer::of(true).with(Detail::Labels(labels)))
    }

    fn fill(&self) -> Option<f64> {
        let (nodes, edges) = (self.nodes.as_ref()?, self.edges.as_ref()?);
        let used = nodes.cells.nonzero() + edges.cells.nonzero();
        Some(used as f64 / (nodes.m() + edges.m()) as f64)
    }

    /// Of foreign nodes.
    fn now(&self) -> Rates {
        let fpr = match (&self.nodes, &self.cells) {
            (Some(nodes), _) => nodes.fpr(),
            (None, Some(cells)) if self.head.items > 0 => false_positives(false, cells.check_bits),
            _ => 0.0,
        };
        Rates::one_sided((fpr + self.head.collisions()).min(1.0))
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = vec![fact("parent bits", self.parent_bits)];
        if let Some(cells) = &self.cells {
            facts.extend([fact("node bits", cells.check_bits), fact("m", cells.table.len())]);
            facts.push(text("depth", if self.depths == 1 { "yes" } else { "no" }));
        }
        if let (Some(nodes), Some(edges)) = (&self.nodes, &self.edges) {
            facts.extend([fact("m", nodes.m()), fact("k", nodes.k())]);
            facts.extend([fact("edge m", edges.m()), fact("edge k", edges.k())]);
        }
        facts
    }

    /// The counters of a node, in the dynamic form; cells that are solved for show nothing by themselves.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let digest = self.head.digest(key);
        match (&self.nodes, &self.cells) {
            (Some(nodes), _) => Part::trace(nodes, digest),
            (None, Some(cells)) => cells.trace(digest),
            (None, None) => Vec::new(),
        }
    }
}

impl Insert for Relations {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Relations::insert(self, record.key, parent_of(&record)?)
    }
}

impl Remove for Relations {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        Relations::remove(self, record.key, parent_of(&record)?)
    }
}

const STATIC: &str = "static";
const DYNAMIC: &str = "dynamic";
/// Bits per counter, which stick at their maximum.
const WIDTH: u32 = 4;
/// The salt of γ: beyond those of cells and masks.
const GAMMA: u64 = 0x6761_6D6D_6100_0001;
const EDGE: u64 = 0x6564_6765_0000_0001;

/// A binary tree: node i hangs below node i/2, and node 0 is the root.
const EXAMPLE: Example = Example {
    key: |i| i.to_string().into_bytes(),
    label: Some(|i| if i == 0 { Vec::new() } else { (i / 2).to_string().into_bytes() }),
};

/// The candidates beside a node, with commas.
fn among(
    given: &Given<'_>,
    those: impl FnOnce(&[&[u8]]) -> Result<Vec<Vec<u8>>>,
) -> Result<Detail> {
    let candidates: Vec<&[u8]> = label_of(&given.record)?.split(|byte| *byte == b',').collect();
    let found = those(&candidates)?;
    Ok(if found.is_empty() { Detail::None } else { Detail::Labels(found) })
}

fn labels(nodes: Vec<&&[u8]>) -> Vec<Vec<u8>> {
    nodes.into_iter().map(|node| node.to_vec()).collect()
}

/// Paths that are printed.
const MOST_PATHS: usize = 1000;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Relations>(Facts {
    id: 112,
    slug: "relations",
    entry: "B16",
    question: "Which of these nodes is its parent in the tree?",
    name: "Relationship-preserving filter for trees",
    paper: "open issue of L. Luo, D. Guo, R. T. B. Ma, O. Rottenstreich, X. Luo, Optimizing Bloom filter: challenges, \
            solutions, and comparisons, IEEE Communications Surveys & Tutorials 21(2), 2019, §IX",
    family: "keyvalue",
    needs: &["groups", "static"],
    input: Input { sample: Some(EXAMPLE), ..Input::valued(ValueKind::Label) },
    meaning: "items are nodes, the label of each is its parent; the rate is that of foreign nodes taken for nodes of \
              the tree",
    forms: &[
        Form::exact(STATIC, &[]),
        Form::removing(DYNAMIC, &[Ability::Insert, Ability::Remove]),
    ],
    operations: &[
        tell!(
            Relations,
            "parents",
            "Which candidates may be the parent; queries are NODE, a TAB and candidates, with commas.",
            [],
            [Keys],
            |tree, given| among(given, |candidates| Ok(labels(
                tree.parents(given.record.key, candidates)
            )))
        ),
        tell!(
            Relations,
            "children",
            "Which candidates may be children; queries are NODE, a TAB and candidates, with commas.",
            [],
            [Keys],
            |tree, given| among(given, |candidates| Ok(labels(
                tree.children(given.record.key, candidates)
            )))
        ),
        tell!(
            Relations,
            "siblings",
            "Which candidates may have the same parent; queries are NODE, a TAB and candidates, with commas.",
            [],
            [Keys],
            |tree, given| among(given, |candidates| {
                let mut siblings = Vec::new();
                for candidate in candidates {
                    if tree.siblings(given.record.key, *candidate)? {
                        siblings.push(candidate);
                    }
                }
                Ok(labels(siblings))
            })
        ),
        tell!(
            Relations,
            "paths",
            "The ways to a root through candidates, each with slashes; queries are NODE, a TAB and candidates, with commas.",
            [],
            [Keys],
            |tree, given| among(given, |candidates| {
                let paths = tree.paths_to_root(given.record.key, candidates, MOST_PATHS);
                let named = |path: Vec<usize>| {
                    let nodes: Vec<&[u8]> = path.into_iter().map(|at| candidates[at]).collect();
                    [&[given.record.key][..], &nodes].concat().join(&b'/')
                };
                Ok(paths.into_iter().map(named).collect())
            })
        ),
    ],
    params: &[
        Param::integer(
            "node-bits",
            0,
            MAX_CHECK_BITS as u64,
            "u, bits that distinguish nodes from other keys, in form static",
        ),
        Param::integer("parent-bits", 1, 32, "b, bits that distinguish parents from other nodes")
            .or(Preset::Integer(8)),
        Param::first_of(
            "depth",
            &["no", "yes"],
            "whether nodes store their depth modulo 3, in form static",
        ),
    ],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests;

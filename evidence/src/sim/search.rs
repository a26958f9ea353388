//! Searches outwards from a node, and the links they are drawn with.

use std::collections::{BTreeSet, VecDeque};

use super::graph::{Graph, Link, Node};

impl Graph {
    /// The nodes found from one outwards: the neighbors of every node found are tested, each once.
    ///
    /// ```
    /// use everbloom_lab::sim::Topology;
    /// let grid = Topology::Grid { width: 3, height: 3 }.build(1);
    /// let found = grid.search(0, |node| node % 2 == 1);
    /// assert_eq!(found.into_iter().collect::<Vec<_>>(), [0, 1, 3]);
    /// ```
    pub fn search(&self, from: Node, passes: impl Fn(Node) -> bool) -> BTreeSet<Node> {
        let mut found = BTreeSet::from([from]);
        let mut tested = found.clone();
        let mut waiting = VecDeque::from([from]);
        while let Some(node) = waiting.pop_front() {
            for &neighbor in self.neighbors(node) {
                if tested.insert(neighbor) && passes(neighbor) {
                    found.insert(neighbor);
                    waiting.push_back(neighbor);
                }
            }
        }
        found
    }

    /// The nodes that a search tested: those found, and their neighbors.
    pub fn tested(&self, found: &BTreeSet<Node>) -> BTreeSet<Node> {
        let neighbors = found.iter().flat_map(|&node| self.neighbors(node));
        found.iter().chain(neighbors).copied().collect()
    }

    /// The links between nodes of a set that are not on a path.
    pub fn links_beside(&self, nodes: &BTreeSet<Node>, path: &[Node]) -> Vec<Link> {
        let on_path = |link: &Link| {
            let ends = [(link.from, link.to), (link.to, link.from)];
            path.windows(2).any(|pair| ends.contains(&(pair[0], pair[1])))
        };
        let within = |link: &Link| nodes.contains(&link.from) && nodes.contains(&link.to);
        self.links().filter(|link| within(link) && !on_path(link)).collect()
    }
}

impl Link {
    /// The links of a path.
    pub fn along(path: &[Node]) -> Vec<Link> {
        path.windows(2).map(|pair| Link { from: pair[0], to: pair[1] }).collect()
    }
}

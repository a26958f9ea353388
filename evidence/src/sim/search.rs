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

    /// The links between nodes of a set that lead to one that is not on a path: false branches. A link between two nodes of
    /// the path is none, also where the path goes another way.
    ///
    /// ```
    /// use everbloom_lab::sim::{Link, Topology};
    /// use std::collections::BTreeSet;
    /// // 0 1 2
    /// // 3 4 5
    /// let grid = Topology::Grid { width: 3, height: 2 }.build(1);
    /// let path = [0, 1, 4, 3];
    /// assert!(grid.links_beside(&BTreeSet::from(path), &path).is_empty());
    /// assert_eq!(grid.links_beside(&BTreeSet::from([0, 1, 2, 3, 4]), &path), [Link { from: 1, to: 2 }]);
    /// ```
    pub fn links_beside(&self, nodes: &BTreeSet<Node>, path: &[Node]) -> Vec<Link> {
        let within = |link: &Link| nodes.contains(&link.from) && nodes.contains(&link.to);
        let on_path = |link: &Link| path.contains(&link.from) && path.contains(&link.to);
        self.links().filter(|link| within(link) && !on_path(link)).collect()
    }
}

impl Link {
    /// The links of a path.
    pub fn along(path: &[Node]) -> Vec<Link> {
        path.windows(2).map(|pair| Link { from: pair[0], to: pair[1] }).collect()
    }
}

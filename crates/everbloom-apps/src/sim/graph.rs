//! Nodes and links.

use std::collections::VecDeque;

/// A node's number.
pub type Node = usize;

/// A link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Link {
    /// Where it starts.
    pub from: Node,
    /// Where it ends.
    pub to: Node,
}

/// An undirected graph; each node has a place in the unit square, where it is drawn.
#[derive(Clone, Debug)]
pub struct Graph {
    neighbors: Vec<Vec<Node>>,
    places: Vec<(f64, f64)>,
}

impl Graph {
    /// Nodes at these places, without links.
    pub fn at(places: Vec<(f64, f64)>) -> Self {
        Self { neighbors: vec![Vec::new(); places.len()], places }
    }

    /// Links two different nodes; a second link between them changes nothing.
    pub fn link(&mut self, a: Node, b: Node) -> bool {
        let new = a != b && !self.neighbors[a].contains(&b);
        if new {
            self.neighbors[a].push(b);
            self.neighbors[b].push(a);
        }
        new
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.neighbors.is_empty()
    }

    /// The nodes a node is linked with, in the order in which they were linked.
    pub fn neighbors(&self, node: Node) -> &[Node] {
        &self.neighbors[node]
    }

    /// Where a node is drawn.
    pub fn place(&self, node: Node) -> (f64, f64) {
        self.places[node]
    }

    /// Every link once, from the lower number to the higher.
    pub fn links(&self) -> impl Iterator<Item = Link> {
        self.neighbors.iter().enumerate().flat_map(|(from, all)| {
            all.iter().filter(move |&&to| from < to).map(move |&to| Link { from, to })
        })
    }

    /// The distance of every node from `root` in hops, and its neighbor on the way there; none where there is no
    /// way.
    pub fn ways_to(&self, root: Node) -> Vec<Option<(usize, Node)>> {
        let mut ways = vec![None; self.len()];
        ways[root] = Some((0, root));
        let mut waiting = VecDeque::from([root]);
        while let Some(node) = waiting.pop_front() {
            let Some((hops, _)) = ways[node] else { continue };
            for &next in &self.neighbors[node] {
                if ways[next].is_none() {
                    ways[next] = Some((hops + 1, node));
                    waiting.push_back(next);
                }
            }
        }
        ways
    }

    /// A shortest path, both ends included.
    pub fn path(&self, from: Node, to: Node) -> Option<Vec<Node>> {
        let ways = self.ways_to(to);
        let mut path = vec![from];
        while *path.last()? != to {
            path.push(ways[*path.last()?]?.1);
        }
        Some(path)
    }

    /// The links of the shortest paths from `root` to the receivers, directed away from it.
    pub fn tree(&self, root: Node, receivers: &[Node]) -> Vec<Link> {
        let ways = self.ways_to(root);
        let mut links = Vec::new();
        for &receiver in receivers {
            let mut to = receiver;
            while let Some((hops, from)) = ways[to].filter(|(hops, _)| *hops > 0) {
                links.push(Link { from, to });
                debug_assert!(hops > 0);
                to = from;
            }
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// Whether there is a way between any two nodes.
    pub fn is_connected(&self) -> bool {
        self.is_empty() || self.ways_to(0).iter().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use crate::sim::Topology;

    #[test]
    fn paths_and_trees_on_a_grid() {
        let grid = Topology::Grid { width: 5, height: 4 }.build(1);
        assert_eq!(grid.path(0, 19).unwrap().len(), 8);
        let tree = grid.tree(0, &[4, 15, 19]);
        // A tree has one link for each node but the root.
        let mut ends: Vec<usize> = tree.iter().map(|link| link.to).collect();
        ends.sort_unstable();
        let all = ends.len();
        ends.dedup();
        assert_eq!(ends.len(), all);
        assert!(ends.contains(&19) && !ends.contains(&0));
    }
}

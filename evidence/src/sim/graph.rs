//! Nodes and links.

use std::collections::VecDeque;

use everbloom::internals::hash::Generator;

use super::traffic::shuffle;

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

/// A tree of shortest paths.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Where packets come from.
    pub root: Node,
    /// Its links, directed away from the root, in order.
    pub links: Vec<Link>,
    /// Who wants the packets; the last link of each path is among these.
    pub receivers: Vec<Node>,
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
            while let Some((_, from)) = ways[to].filter(|(hops, _)| *hops > 0) {
                links.push(Link { from, to });
                to = from;
            }
        }
        links.sort_unstable();
        links.dedup();
        links
    }

    /// A tree of shortest paths from `root` with exactly so many links, to random receivers; with fewer where the
    /// network has no more.
    pub fn tree_of(&self, root: Node, links: usize, random: &mut Generator) -> Tree {
        let ways = self.ways_to(root);
        let mut order: Vec<Node> = (0..self.len()).filter(|&node| node != root).collect();
        shuffle(&mut order, random);
        let mut tree = Tree { root, links: Vec::new(), receivers: Vec::new() };
        let mut inside = vec![false; self.len()];
        inside[root] = true;
        for receiver in order {
            let mut path = Vec::new();
            let mut to = receiver;
            while let Some((_, from)) = ways[to].filter(|_| !inside[to]) {
                path.push(Link { from, to });
                to = from;
            }
            // The last path ends where the tree is large enough.
            let kept = path.len().min(links - tree.links.len());
            path.drain(..path.len() - kept);
            tree.receivers.extend(path.first().map(|link| link.to));
            path.iter().for_each(|link| inside[link.to] = true);
            tree.links.extend(path);
        }
        tree.links.sort_unstable();
        tree
    }

    /// Whether there is a way between any two nodes.
    pub fn is_connected(&self) -> bool {
        self.is_empty() || self.ways_to(0).iter().all(Option::is_some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::Topology;

    #[test]
    fn trees_have_the_links_asked_for() {
        let disk = Topology::UnitDisk { nodes: 80, radius: 0.22 }.build(1);
        let mut random = Generator::new(1);
        for links in [1, 20, 40, 79] {
            let tree = disk.tree_of(3, links, &mut random);
            assert_eq!(tree.links.len(), links);
            assert_eq!(disk.tree(3, &tree.receivers), tree.links);
        }
        assert_eq!(disk.tree_of(3, 200, &mut random).links.len(), 79);
    }

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

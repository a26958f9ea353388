//! Networks to try things on.

use everbloom::internals::hash::Generator;

use super::graph::Graph;

/// A kind of network and its size.
#[derive(Clone, Copy, Debug)]
pub enum Topology {
    /// A complete tree; node 0 is its root.
    Tree {
        /// Children of a node.
        arity: usize,
        /// Levels below the root.
        depth: usize,
    },
    /// Every node has the same number of links, to random others.
    RandomRegular {
        /// How many nodes; times `degree`, an even number.
        nodes: usize,
        /// Links of a node.
        degree: usize,
    },
    /// A fat tree of switches with `ports` ports: ports²/4 core switches, then for each of the `ports` pods its
    /// ports/2 aggregation and ports/2 edge switches, then (ports/2)² hosts a pod.
    FatTree {
        /// Ports of a switch, an even number.
        ports: usize,
    },
    /// Rows and columns, without diagonals.
    Grid {
        /// Nodes in a row.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// Random places in the unit square; nodes closer than `radius` hear each other.
    UnitDisk {
        /// How many nodes.
        nodes: usize,
        /// How far a radio reaches.
        radius: f64,
    },
}

impl Topology {
    /// The network; where it is random, `seed` decides. Random ones are drawn again until they are connected, at
    /// most a thousand times.
    pub fn build(self, seed: u64) -> Graph {
        let mut random = Generator::new(seed);
        match self {
            Topology::Tree { arity, depth } => tree(arity, depth),
            Topology::FatTree { ports } => fat_tree(ports),
            Topology::Grid { width, height } => grid(width, height),
            Topology::RandomRegular { nodes, degree } => {
                connected(|| random_regular(nodes, degree, &mut random))
            }
            Topology::UnitDisk { nodes, radius } => {
                connected(|| unit_disk(nodes, radius, &mut random))
            }
        }
    }
}

fn connected(mut draw: impl FnMut() -> Graph) -> Graph {
    let mut graph = draw();
    for _ in 0..1000 {
        if graph.is_connected() {
            break;
        }
        graph = draw();
    }
    graph
}

fn tree(arity: usize, depth: usize) -> Graph {
    let mut places = Vec::new();
    let mut width = 1;
    for level in 0..=depth {
        let y = level as f64 / depth.max(1) as f64;
        places.extend((0..width).map(|i| ((i as f64 + 0.5) / width as f64, y)));
        width *= arity;
    }
    let mut graph = Graph::at(places);
    for node in 1..graph.len() {
        graph.link((node - 1) / arity, node);
    }
    graph
}

/// Nodes on a circle; stubs are paired at random, and pairs that cannot be links are swapped with others.
fn random_regular(nodes: usize, degree: usize, random: &mut Generator) -> Graph {
    let place = |i: usize| {
        let angle = std::f64::consts::TAU * i as f64 / nodes as f64;
        (0.5 + 0.5 * libm::cos(angle), 0.5 + 0.5 * libm::sin(angle))
    };
    'again: loop {
        let mut graph = Graph::at((0..nodes).map(place).collect());
        let mut stubs: Vec<usize> = (0..nodes).flat_map(|node| vec![node; degree]).collect();
        while stubs.len() > 1 {
            let first = stubs.swap_remove(random.below(stubs.len() as u64) as usize);
            let fits =
                |&i: &usize| stubs[i] != first && !graph.neighbors(first).contains(&stubs[i]);
            let partners: Vec<usize> = (0..stubs.len()).filter(fits).collect();
            if partners.is_empty() {
                continue 'again;
            }
            let partner = partners[random.below(partners.len() as u64) as usize];
            let second = stubs.swap_remove(partner);
            graph.link(first, second);
        }
        return graph;
    }
}

fn fat_tree(ports: usize) -> Graph {
    let half = ports / 2;
    let (cores, pods, hosts) = (half * half, ports, half * half);
    let row = |count: usize, y: f64| (0..count).map(move |i| ((i as f64 + 0.5) / count as f64, y));
    let places = row(cores, 0.0)
        .chain(row(pods * half, 0.33))
        .chain(row(pods * half, 0.66))
        .chain(row(pods * hosts, 1.0));
    let mut graph = Graph::at(places.collect());
    let aggregation = |pod: usize, i: usize| cores + pod * half + i;
    let edge = |pod: usize, i: usize| cores + pods * half + pod * half + i;
    let host = |pod: usize, i: usize| cores + 2 * pods * half + pod * hosts + i;
    for pod in 0..pods {
        for i in 0..half {
            for j in 0..half {
                graph.link(i * half + j, aggregation(pod, i));
                graph.link(aggregation(pod, i), edge(pod, j));
                graph.link(edge(pod, i), host(pod, i * half + j));
            }
        }
    }
    graph
}

fn grid(width: usize, height: usize) -> Graph {
    let place = |i: usize| {
        let across = (i % width) as f64 / (width - 1).max(1) as f64;
        (across, (i / width) as f64 / (height - 1).max(1) as f64)
    };
    let mut graph = Graph::at((0..width * height).map(place).collect());
    for node in 0..width * height {
        if (node + 1) % width != 0 {
            graph.link(node, node + 1);
        }
        if node + width < width * height {
            graph.link(node, node + width);
        }
    }
    graph
}

fn unit_disk(nodes: usize, radius: f64, random: &mut Generator) -> Graph {
    Graph::of_radios((0..nodes).map(|_| (random.unit(), random.unit())).collect(), radius)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_have_the_nodes_and_links_of_their_kind() {
        let tree = Topology::Tree { arity: 3, depth: 3 }.build(1);
        assert_eq!((tree.len(), tree.links().count()), (40, 39));
        let regular = Topology::RandomRegular { nodes: 50, degree: 4 }.build(1);
        assert!((0..50).all(|node| regular.neighbors(node).len() == 4));
        let fat = Topology::FatTree { ports: 4 }.build(1);
        assert_eq!((fat.len(), fat.links().count()), (4 + 8 + 8 + 16, 16 + 16 + 16));
        assert_eq!(fat.path(20, 35).map(|path| path.len()), Some(7));
        let grid = Topology::Grid { width: 3, height: 2 }.build(1);
        assert_eq!((grid.len(), grid.links().count()), (6, 7));
        let disk = Topology::UnitDisk { nodes: 60, radius: 0.25 }.build(1);
        for graph in [&tree, &regular, &fat, &grid, &disk] {
            assert!(graph.is_connected());
        }
    }

    #[test]
    fn a_seed_fixes_a_random_network() {
        let links = |seed| {
            Topology::RandomRegular { nodes: 30, degree: 3 }.build(seed).links().collect::<Vec<_>>()
        };
        assert_eq!(links(5), links(5));
        assert_ne!(links(5), links(6));
    }
}

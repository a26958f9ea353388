//! Hubs with leaves.

use super::graph::{Graph, Node};

/// Hubs on an inner circle, each linked with `leaves` leaves outside it. Hubs come first; leaf `i` of hub `h` is
/// node [`leaf`]`(hubs, leaves, h, i)`. Links between hubs are the caller's.
pub fn stars(hubs: usize, leaves: usize) -> Graph {
    let at = |turn: f64, radius: f64| {
        let angle = std::f64::consts::TAU * turn;
        (0.5 + radius * libm::cos(angle), 0.5 + radius * libm::sin(angle))
    };
    let inner = (0..hubs).map(|hub| at(hub as f64 / hubs as f64, 0.3));
    let outer = (0..hubs * leaves).map(|i| {
        // The middle leaf stands straight outside its hub; every second one a little further out.
        let offset = (leaves.max(1) - 1) as f64 / 2.0;
        let turn = (i as f64 - offset) / (hubs * leaves) as f64;
        at(turn, if i % 2 == 0 { 0.5 } else { 0.46 })
    });
    let mut graph = Graph::at(inner.chain(outer).collect());
    for hub in 0..hubs {
        for i in 0..leaves {
            graph.link(hub, leaf(hubs, leaves, hub, i));
        }
    }
    graph
}

/// The number of a leaf of [`stars`].
pub fn leaf(hubs: usize, leaves: usize, hub: usize, i: usize) -> Node {
    hubs + hub * leaves + i
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_has_its_hub() {
        let graph = stars(5, 4);
        assert_eq!((graph.len(), graph.links().count()), (25, 20));
        assert!((0..4).all(|i| graph.neighbors(leaf(5, 4, 3, i)) == [3]));
    }
}

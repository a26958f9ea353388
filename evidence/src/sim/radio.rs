//! Radios: who hears whom.

use super::graph::Graph;

impl Graph {
    /// Nodes at these places, of which those closer than `reach` hear each other.
    pub fn of_radios(places: Vec<(f64, f64)>, reach: f64) -> Self {
        let mut graph = Graph::at(places.clone());
        for (a, (ax, ay)) in places.iter().enumerate() {
            for (b, (bx, by)) in places.iter().enumerate().skip(a + 1) {
                let (dx, dy) = (ax - bx, ay - by);
                if dx * dx + dy * dy < reach * reach {
                    graph.link(a, b);
                }
            }
        }
        graph
    }
}

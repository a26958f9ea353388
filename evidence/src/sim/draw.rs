//! Networks as pictures.

use super::graph::{Graph, Link, Node};
use crate::{Drawing, Stroke};

/// A picture of a network: its links pale, the `wanted` ones in the color of what is right, the `wrong` ones
/// in that of what is not, and names at some nodes.
pub fn drawing(
    id: &str,
    title: &str,
    graph: &Graph,
    [wanted, wrong]: [&[Link]; 2],
    names: &[(Node, String)],
) -> Drawing {
    let mut drawing = Drawing::new(id, title);
    for node in 0..graph.len() {
        let name = names.iter().find(|(named, _)| *named == node).map(|(_, name)| name.as_str());
        drawing.dot(graph.place(node), name.unwrap_or(""));
    }
    let listed = |links: &[Link], link: Link| {
        links.iter().any(|l| *l == link || (l.to, l.from) == (link.from, link.to))
    };
    for link in graph.links() {
        let stroke = match (listed(wrong, link), listed(wanted, link)) {
            (true, _) => Stroke::Wrong,
            (_, true) => Stroke::Wanted,
            _ => Stroke::Pale,
        };
        drawing.line(link.from, link.to, stroke);
    }
    drawing
}

//! How deep nodes lie in a tree.

use std::collections::HashMap;

use crate::error::{Error, Result};
use crate::hash::Digest;

/// Depths are told modulo three: enough to tell a parent from a child and from a sibling.
pub(super) const DEPTHS: u64 = 3;

/// The depth of every node modulo 3, from its parents; an error if they are no tree.
pub(super) fn depths(edges: &[(Digest, Digest)], root: Digest) -> Result<HashMap<Digest, u64>> {
    let parents: HashMap<Digest, Digest> = edges.iter().copied().collect();
    let mut known: HashMap<Digest, u64> = HashMap::new();
    for (child, _) in edges {
        let (mut way, mut at) = (Vec::new(), *child);
        // Up to a node whose depth is known, or to the root; then down again.
        while at != root && !known.contains_key(&at) {
            way.push(at);
            at = match parents.get(&at) {
                Some(parent) if way.len() <= edges.len() => *parent,
                Some(_) => {
                    return Err(Error::record("the nodes form a cycle: depths need a tree"));
                }
                None => {
                    return Err(Error::record(
                        "a parent that is not a node itself: depths need the whole tree",
                    ));
                }
            };
        }
        let first = known.get(&at).map_or(0, |depth| depth + 1);
        for (depth, node) in (first..).zip(way.into_iter().rev()) {
            known.insert(node, depth % DEPTHS);
        }
    }
    Ok(known)
}

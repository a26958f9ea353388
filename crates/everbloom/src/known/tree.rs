//! From a multicast tree to the links of its stages.

use crate::error::{Error, Result};

/// The links of one stage of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageSets<N> {
    /// Links of the tree at this distance from the root.
    pub include: Vec<(N, N)>,
    /// The other links of the nodes they start at, also those back to where the packet came from.
    pub exclude: Vec<(N, N)>,
}

/// What every stage has to include and to exclude, for a tree of directed links and the links of the
/// network around it. Stage i is for the nodes i links from the root.
pub fn stage_sets<N: Ord + Clone>(
    root: &N,
    tree: &[(N, N)],
    network: &[(N, N)],
) -> Result<Vec<StageSets<N>>> {
    let mut here = vec![root.clone()];
    let mut reached: Vec<N> = here.clone();
    let mut stages = Vec::new();
    loop {
        let starts_here = |link: &&(N, N)| here.contains(&link.0);
        let include: Vec<(N, N)> = tree.iter().filter(starts_here).cloned().collect();
        if include.is_empty() {
            break;
        }
        let others = network.iter().filter(starts_here).filter(|link| !include.contains(link));
        let exclude = others.cloned().collect();
        here = include.iter().map(|link| link.1.clone()).collect();
        reached.extend(here.iter().cloned());
        stages.push(StageSets { include, exclude });
        // In a tree every link reaches a node of its own, so this ends whatever is given.
        if reached.len() > tree.len() + 1 {
            break;
        }
    }
    reached.sort_unstable();
    if reached.len() != tree.len() + 1 || reached.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::record(
            "the links are not a tree: each must start at the root or at the end of another one, and no two may end \
            at the same node",
        ));
    }
    Ok(stages)
}

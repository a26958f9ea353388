//! Approximate reconciliation trees (Byers, Considine, Mitzenmacher 2002; catalogue B5; S1 §5.2).
//!
//! What do I have that you have not? A Bloom filter of your set tells me, if I try each of my n keys. A tree
//! finds the d of them with work for d·log n. Both sides place every key at a position by one hash, and give it a
//! value by another. The binary trie over positions, without nodes that have one child, is then the same wherever
//! the keys below are; a node's value is the XOR of those below it:
//!
//! ```text
//!            r = p ⊕ q                   B sends two Bloom filters: its leaf values {a, b, c, …}
//!          ╱          ╲                  and its inner values {p, q, r, …}
//!      p = a ⊕ b     q = c ⊕ d
//!      ╱     ╲        ╱    ╲             A walks its own tree from the root. A node whose value B has, too,
//!     a       b      c      d            has nothing new below: leave it out
//! ```
//!
//! A false positive at an inner node would hide all below it, so a branch is left only after c + 1 nodes in a row
//! match, the correction level. A leaf whose value is not in B's filter is a key that B does not have: nothing
//! that is reported is wrong, for Bloom filters have no false negatives. What is missed is a leaf's false positive,
//! or c + 1 in a row above it.
//!
//! **Use it** for large sets with a small difference, if one message is enough and a few percent of misses are
//! acceptable. **Don't** if all differences must be found (`iblt` and [`exchange::reconcile`]), or if there are
//! more than n/log n of them, where one Bloom filter with the bits of both is better.
//!
//! Two parties run it over any connection as [`exchange::tree`].
//!
//! [`exchange::reconcile`]: crate::exchange::reconcile
//! [`exchange::tree`]: crate::exchange::tree

use std::ops::Range;

use crate::hash::Digest;
use crate::theory::bloom;
use crate::variant::prelude::*;

/// Salts the digest for the position and for the value.
const POSITION: u64 = 0x56;
const VALUE: u64 = 0x57;

/// The trie of a set. Its keys are known by their numbers in the order in which they came.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Position and value of each leaf, in order, and the key's number.
    leaves: Vec<(u64, u64, usize)>,
    /// The XOR of the values before each leaf, and of all.
    sums: Vec<u64>,
}

/// What a search found, and the nodes that it looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Search {
    /// The numbers of keys that the other side does not have, in order.
    pub missing: Vec<usize>,
    /// Nodes that were looked at.
    pub visited: u64,
}

impl Tree {
    /// The trie of keys by their digests; of equal ones the first counts.
    pub fn new(digests: impl IntoIterator<Item = Digest>) -> Self {
        let leaf =
            |(number, digest): (usize, Digest)| (digest.word(POSITION), digest.word(VALUE), number);
        let mut leaves: Vec<_> = digests.into_iter().enumerate().map(leaf).collect();
        leaves.sort_unstable();
        // The XOR of a value with itself would be nothing.
        leaves.dedup_by_key(|(position, value, _)| (*position, *value));
        let mut sums = vec![0];
        sums.extend(leaves.iter().scan(0, |sum, (_, value, _)| {
            *sum ^= value;
            Some(*sum)
        }));
        Self { leaves, sums }
    }

    /// Number of leaves.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether there are no leaves.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// The XOR of the values below a node.
    fn value(&self, node: &Range<usize>) -> u64 {
        self.sums[node.start] ^ self.sums[node.end]
    }

    /// The children of a node with more than one leaf: those before and after the first bit in which its
    /// positions differ.
    fn children(&self, node: &Range<usize>) -> [Range<usize>; 2] {
        let key = |leaf: usize| {
            let (position, value, _) = self.leaves[leaf];
            u128::from(position) << 64 | u128::from(value)
        };
        let (first, last) = (key(node.start), key(node.end - 1));
        let bit = 127 - (first ^ last).leading_zeros().min(127);
        let (mut low, mut high) = (node.start, node.end - 1);
        // `low` has a zero there and `high` a one.
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if key(middle) >> bit & 1 == 0 { low = middle } else { high = middle }
        }
        [node.start..high, high..node.end]
    }

    /// Calls `leaf` with the value of every leaf and `inner` with that of every other node.
    pub fn each(&self, mut leaf: impl FnMut(u64), mut inner: impl FnMut(u64)) {
        self.walk(0, |value, is_leaf| {
            if is_leaf {
                leaf(value)
            } else {
                inner(value)
            }
            false
        });
    }

    /// The keys whose leaves `leaf` does not know; branches are left after more than `correction` nodes in a row
    /// that `inner` knows.
    pub fn search(
        &self,
        correction: u32,
        leaf: impl Fn(u64) -> bool,
        inner: impl Fn(u64) -> bool,
    ) -> Search {
        let known = |value, is_leaf| if is_leaf { leaf(value) } else { inner(value) };
        let mut search = self.walk(correction, known);
        search.missing.sort_unstable();
        search
    }

    /// Goes through the tree from the root, and on below a node unless it ends a row of known ones that is
    /// longer than `correction`. Leaves that are not known are reported.
    fn walk(&self, correction: u32, mut known: impl FnMut(u64, bool) -> bool) -> Search {
        let mut search = Search::default();
        let mut stack = vec![(0..self.leaves.len(), 0)];
        while let Some((node, row)) = stack.pop() {
            if node.is_empty() {
                continue;
            }
            search.visited += 1;
            let is_known = known(self.value(&node), node.len() == 1);
            match (node.len(), is_known) {
                (1, true) => {}
                (1, false) => search.missing.push(self.leaves[node.start].2),
                (_, true) if row == correction => {}
                (_, is_known) => {
                    let row = if is_known { row + 1 } else { 0 };
                    stack.extend(self.children(&node).map(|child| (child, row)));
                }
            }
        }
        search
    }
}

/// The best number of probes for a whole number of bits per value: 2, 3, 3, 4, 6 for 3, 4, 5, 6, 8.
pub fn probes(bits: u32) -> u32 {
    (f64::from(bits) * core::f64::consts::LN_2).round().max(1.0) as u32
}

/// The rate of a filter with this many bits per value.
pub fn rate(bits: u32) -> f64 {
    bloom::fpr_asymptotic(bits.into(), 1.0, probes(bits).into())
}

/// The share of differences that a search with correction level 0 finds, (1 − f_l)(1 − f_i)^D at a depth of
/// D ≈ log₂ n − 1; without any limit it is 1 − f_l (catalogue B5).
pub fn found(leaf: f64, inner: f64, depth: f64) -> f64 {
    (1.0 - leaf) * libm::pow(1.0 - inner, depth)
}

/// The list entry.
pub static VARIANT: Variant = Variant::untyped(Facts {
    id: 101,
    slug: "reconciliation-tree",
    entry: "B5",
    question: "Roughly which keys do two sets not share, in one message?",
    kind: EntryKind::Protocol,
    name: "Approximate reconciliation tree",
    paper: "J. Byers, J. Considine, M. Mitzenmacher, Fast approximate reconciliation of set differences, \
            Boston University technical report 2002-019; Informed content delivery across adaptive overlay \
            networks, SIGCOMM 2002",
    family: "reconciling",
    needs: &["reconcile"],
    meaning: "from one message, one side finds most of the keys that the other lacks, and never reports a wrong one",
    ..Facts::TECHNIQUE
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;

    fn tree(keys: impl IntoIterator<Item = u64>) -> Tree {
        Tree::new(keys.into_iter().map(|key| Hasher::default().digest(&key)))
    }

    /// n leaves and n − 1 other nodes, whose values are XORs of their children's.
    #[test]
    fn tries_are_binary_and_add_up() {
        for n in [0u64, 1, 2, 3, 100, 1000] {
            let tree = tree(0..n);
            let (mut leaves, mut inner) = (0u64, 0u64);
            tree.each(|_| leaves += 1, |_| inner += 1);
            assert_eq!((leaves, inner), (n, n.saturating_sub(1)));
            let mut stack = Vec::new();
            stack.push(0..tree.len());
            while let Some(node) = stack.pop().filter(|node| node.len() > 1) {
                let [left, right] = tree.children(&node);
                assert!(!left.is_empty() && !right.is_empty() && left.end == right.start);
                assert_eq!(tree.value(&node), tree.value(&left) ^ tree.value(&right));
                stack.extend([left, right]);
            }
        }
        let twice = tree([1, 2, 1, 2, 3]);
        assert_eq!(twice.len(), 3);
    }

    /// Against the values themselves nothing is missed and nothing wrongly reported, and few nodes are visited.
    #[test]
    fn exact_values_give_exact_differences() {
        use std::collections::HashSet;
        let (here, there) = (tree(0..5000), tree(10..5020));
        let (mut leaves, mut inner) = (HashSet::new(), HashSet::new());
        there.each(|v| _ = leaves.insert(v), |v| _ = inner.insert(v));
        for correction in [0, 2, 100] {
            let search = here.search(correction, |v| leaves.contains(&v), |v| inner.contains(&v));
            assert_eq!(search.missing, (0..10).collect::<Vec<_>>());
            assert!(correction > 0 || search.visited < 1200, "{}", search.visited);
        }
        assert_eq!(tree([]).search(0, |_| false, |_| false), Search::default());
    }
}

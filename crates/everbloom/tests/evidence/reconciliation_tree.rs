//! B5, approximate reconciliation trees.

use everbloom::Bloom;
use everbloom::internals::hash::Hasher;
use everbloom::reconciling::reconciliation_tree::{Tree, found, probes, rate};

const N: u64 = 10_000;
const D: u64 = 100;

/// Searches of a set of 10,000 keys for the 100 that the other side does not have: the share that is found, and
/// the nodes visited, averaged over `runs` seeds.
fn searched(inner_bits: u32, leaf_bits: u32, correction: u32, runs: u64) -> (f64, f64) {
    let (mut share, mut visited) = (0.0, 0.0);
    for run in 0..runs {
        let hasher = Hasher::seeded(run);
        let tree = |keys: std::ops::Range<u64>| Tree::new(keys.map(|key| hasher.digest(&key)));
        let (here, there) = (tree(0..N), tree(D..N + D));
        let filter = |bits: u32, seed| {
            let m = N * u64::from(bits);
            Bloom::with_shape(m, probes(bits), Hasher::seeded(seed)).expect("a shape")
        };
        let mut leaves = filter(leaf_bits, 1000 + run);
        let mut inner = filter(inner_bits, 2000 + run);
        there.each(|value| _ = leaves.insert(&value), |value| _ = inner.insert(&value));
        let search =
            here.search(correction, |v| leaves.contains(&v), |value| inner.contains(&value));
        assert!(search.missing.iter().all(|key| (*key as u64) < D), "nothing is wrongly reported");
        share += search.missing.len() as f64 / D as f64 / runs as f64;
        visited += search.visited as f64 / runs as f64;
    }
    (share, visited)
}

#[test]
fn b5_probes_and_ceilings() {
    assert_eq!([3, 4, 5, 6, 8].map(probes), [2, 3, 3, 4, 6]);
    for (bits, ceiling) in [(3, 0.763), (4, 0.853), (5, 0.908), (6, 0.944)] {
        assert!((1.0 - rate(bits) - ceiling).abs() < 0.0006, "{bits}: {}", 1.0 - rate(bits));
    }
    let none = found(rate(4), rate(4), 12.3);
    assert!((none - 0.12).abs() < 0.005, "{none}");
}

#[test]
fn b5_shares_found_at_four_bits_each() {
    let printed = [
        (0, 0.11, 500.0),
        (1, 0.68, 3020.0),
        (2, 0.835, 5420.0),
        (3, 0.86, 8200.0),
        (5, 0.86, 14_700.0),
    ];
    for (correction, share, nodes) in printed {
        let (found, visited) = searched(4, 4, correction, 20);
        assert!((found - share).abs() < 0.03, "c = {correction}: {found}");
        assert!((visited / nodes - 1.0).abs() < 0.12, "c = {correction}: {visited} nodes");
    }
}

#[test]
fn b5_shares_found_at_other_bits() {
    /// Bits of inner nodes and of leaves, then shares found by correction level.
    type Row = (u32, u32, &'static [(u32, f64)]);
    let printed: [Row; 4] = [
        (3, 5, &[(0, 0.02), (1, 0.50), (2, 0.82), (3, 0.88), (5, 0.91)]),
        (2, 6, &[(0, 0.0), (1, 0.18), (2, 0.54), (3, 0.78), (5, 0.916)]),
        (5, 3, &[(0, 0.22), (1, 0.70), (2, 0.75), (3, 0.77), (5, 0.77)]),
        (8, 8, &[(2, 0.977)]),
    ];
    for (inner, leaf, shares) in printed {
        for (correction, share) in shares {
            let (found, _) = searched(inner, leaf, *correction, 10);
            assert!((found - share).abs() < 0.04, "({inner}, {leaf}), c = {correction}: {found}");
        }
    }
}

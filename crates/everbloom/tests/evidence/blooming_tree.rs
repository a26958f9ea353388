//! B1, blooming trees.

use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::keyvalue::BloomingTree;
use everbloom::keyvalue::blooming_tree::{VARIANT, bits_per_bucket, reaching};

const N: u64 = 200_000;

fn tree(n: u64, ratio: f64, seed: u64) -> BloomingTree {
    BloomingTree::with_shape(0..n, ratio, 1, Hasher::seeded(seed)).expect("a tree")
}

#[test]
fn b1_bits_a_key() {
    for (ratio, printed) in
        [(0.5, 4.39), (0.75, 4.14), (1.0, 4.02), (1.5, 4.01), (2.0, 4.22), (3.0, 4.86)]
    {
        let computed = ratio * bits_per_bucket(1.0 / ratio);
        assert!((computed - printed).abs() < 0.02, "{ratio}: computed {computed}");
        let measured = tree(N / 4, ratio, 1).tree_bits() as f64 / (N / 4) as f64;
        assert!((measured - printed).abs() < 0.03, "{ratio}: {measured}");
    }
}

#[test]
fn b1_numbers_levels_and_leaves() {
    let tree = tree(N, 1.0, 7);
    let mut seen = vec![false; N as usize];
    for key in 0..N {
        let number = tree.index(&key).expect("a member") as usize;
        assert!(!std::mem::replace(&mut seen[number], true), "{number} twice");
    }
    let leaves: Vec<u64> = tree.leaves().collect();
    assert_eq!(leaves.iter().sum::<u64>(), N);
    // n·e^{−n/m} keys are alone in their bucket: 73,576, ± √(n·p·(1 − p)) or so.
    assert!(leaves[0].abs_diff(73_576) < 1300, "{}", leaves[0]);
    assert!((14..=26).contains(&tree.levels()), "{} levels", tree.levels());
}

#[test]
fn b1_non_members_that_get_a_number() {
    for (ratio, printed) in [(0.75, 0.615), (1.0, 0.548), (1.5, 0.440), (2.0, 0.364)] {
        let computed = reaching(1.0 / ratio);
        assert!((computed - printed).abs() < 0.0015, "{ratio}: computed {computed}");
        let tree = tree(N / 4, ratio, 3);
        assert!((tree.reached() - printed).abs() < 0.006, "{ratio}: {}", tree.reached());
        let others = 1u64 << 40..(1 << 40) + 40_000;
        let found = others.filter(|key| tree.index(key).is_some()).count() as f64 / 40_000.0;
        // Five standard deviations of the sample.
        assert!((found - tree.reached()).abs() < 0.0125, "{ratio}: {found}");
    }
}

#[test]
fn b1_small_sets() {
    let empty = tree(0, 1.0, 0);
    assert_eq!((empty.index("x"), empty.levels(), empty.now().fpr), (None, 0, Some(0.0)));
    let one = tree(1, 1.0, 0);
    assert_eq!((one.index(&0u64), one.levels()), (Some(0), 1));
    for n in 2..60 {
        let tree = tree(n, 0.5, n);
        let mut numbers: Vec<u64> = (0..n).map(|key| tree.index(&key).expect("a member")).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..n));
    }
    let twice = BloomingTree::from_keys([5u64, 5, 6], 0.01).expect("duplicates are there once");
    assert_eq!(twice.leaves().sum::<u64>(), 2);
}

#[test]
fn b1_fingerprints_make_it_a_filter() {
    // ⌈log₂(0.548/ε)⌉ bits a key beside the tree.
    let expect = |p| VARIANT.expect(&Goal::new(N, p), &Load::items(N)).unwrap().unwrap();
    let expected = expect(0.001);
    assert!((expected.fpr - 0.548 / 1024.0).abs() < 2e-6, "{}", expected.fpr);
    assert!((expected.bits as f64 / N as f64 - 14.02).abs() < 0.02);
    let tree = BloomingTree::from_keys(0..50_000u64, 0.01).expect("a tree");
    let others = 1u64 << 40..(1 << 40) + 200_000;
    let passed = others.filter(|key| tree.contains(key)).count() as f64;
    let now = 200_000.0 * tree.now().fpr.unwrap();
    assert!((passed - now).abs() < 5.0 * now.sqrt(), "{passed} {now}");
    assert!((tree.now().fpr.unwrap() - 0.548 / 64.0).abs() < 2e-4);
}

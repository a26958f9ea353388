//! B16, relationship-preserving filter for trees.

use everbloom::internals::filter::{Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::Goal;
use everbloom::keyvalue::Relations;
use everbloom::keyvalue::relations::VARIANT;

const NODES: u64 = 10_000;

/// A random recursive tree: node i hangs below a random one before it.
fn tree(seed: u64) -> Vec<(u64, Option<u64>)> {
    let mut random = Generator::new(seed);
    (0..NODES).map(|i| (i, (i > 0).then(|| random.below(i)))).collect()
}

fn name(node: u64) -> String {
    format!("node {node}")
}

fn build(tree: &[(u64, Option<u64>)], u: u32, b: u32) -> Relations {
    let pairs = tree.iter().map(|(c, p)| (name(*c), p.map_or_else(String::new, name)));
    Relations::from_parents(pairs, u, b).unwrap()
}

/// Unique parents among eight candidates, false children, false siblings, over five trees.
fn measure(b: u32) -> [f64; 3] {
    let (mut unique, mut asked) = (0u64, 0u64);
    let (mut children, mut siblings, mut pairs) = (0u64, 0u64, 0u64);
    for seed in 0..5 {
        let tree = tree(seed);
        let filter = build(&tree, 10, b);
        let mut random = Generator::new(100 + seed);
        for &(child, parent) in &tree[1..] {
            let parent = parent.unwrap();
            let mut candidates = vec![parent];
            while candidates.len() < 8 {
                let other = random.below(NODES);
                if other != child && !candidates.contains(&other) {
                    candidates.push(other);
                }
            }
            let names: Vec<String> = candidates.iter().map(|c| name(*c)).collect();
            let found = filter.parents(&name(child), &names);
            assert!(found.contains(&&names[0]), "the true parent is always there");
            unique += u64::from(found.len() == 1);
            asked += 1;
            let other = random.below(NODES);
            let theirs = tree[other as usize].1;
            if other != child && theirs != Some(parent) {
                pairs += 1;
                children += u64::from(filter.is_parent(&name(parent), &name(other)));
                siblings += u64::from(filter.siblings(&name(child), &name(other)).unwrap());
            }
            if theirs == Some(parent) {
                assert!(filter.siblings(&name(child), &name(other)).unwrap());
            }
        }
    }
    [unique as f64 / asked as f64, children as f64 / pairs as f64, siblings as f64 / pairs as f64]
}

#[test]
fn b16_parents_children_and_siblings_of_random_trees() {
    for (b, unique, wrong, tolerance) in [(8, 0.9730, 0.00391, 0.25), (4, 0.637, 0.0625, 0.1)] {
        assert!(((1.0 - 0.5f64.powi(b)).powi(7) - unique).abs() < 1e-3);
        let [found, children, siblings] = measure(b as u32);
        assert!((found - unique).abs() < 0.012, "b = {b}: {found} unique, not {unique}");
        // All children of one parent share its fingerprint, so that errors come in families.
        for rate in [children, siblings] {
            assert!((rate / wrong - 1.0).abs() < tolerance, "b = {b}: {rate}, not {wrong}");
        }
    }
}

#[test]
fn b16_foreign_nodes_pass_by_their_own_part_and_their_parents_by_both() {
    let filter = build(&tree(1), 6, 4);
    let foreign: Vec<String> = (NODES..NODES + 200_000).map(name).collect();
    let nodes = foreign.iter().filter(|node| filter.is_node(*node)).count() as f64;
    assert!((nodes / 200_000.0 * 64.0 - 1.0).abs() < 0.1, "{nodes}: 2^-u");
    let edges = foreign.iter().filter(|node| filter.is_parent(&name(7), *node)).count() as f64;
    assert!((edges / 200_000.0 * 1024.0 - 1.0).abs() < 0.35, "{edges}: 2^-(u+b)");
    assert_eq!(filter.now().fpr, Some(1.0 / 64.0));
}

#[test]
fn b16_space_is_that_of_the_cells() {
    let filter = build(&tree(1), 8, 8);
    let per_node = filter.memory().cells as f64 / NODES as f64 / 16.0;
    assert!((1.22..1.28).contains(&per_node), "{per_node} cells a node");
}

/// Depths modulo 3 prune what fingerprints of few bits leave.
#[test]
fn b16_paths_to_the_root() {
    let tree: Vec<_> = tree(3).into_iter().take(300).collect();
    let names: Vec<String> = tree.iter().map(|(node, _)| name(*node)).collect();
    let lines: Vec<(String, String)> =
        tree.iter().map(|(c, p)| (name(*c), p.map_or_else(String::new, name))).collect();
    let records: Vec<Record<'_>> = lines
        .iter()
        .map(|(c, p)| Record::key(c.as_bytes()).with(Value::Label(p.as_bytes())))
        .collect();
    let (mut ways, mut wrong) = ([0; 2], [0; 2]);
    for (i, depth) in ["no", "yes"].into_iter().enumerate() {
        let goal = Goal::new(300, 0.001).set("parent-bits", 12).set("depth", depth);
        let filter = VARIANT.build_from(&goal, &records).unwrap();
        let filter: &Relations = filter.as_same().unwrap();
        for (child, parent) in tree.iter().take(150) {
            let mut path = Vec::new();
            let mut above = *parent;
            while let Some(node) = above {
                path.push(node as usize);
                above = tree[node as usize].1;
            }
            let found = filter.paths_to_root(&name(*child), &names, 10_000);
            assert!(found.contains(&path), "{child}: {path:?} not in {found:?}");
            ways[i] += found.len();
            wrong[i] += filter.parents(&name(*child), &names).len();
        }
    }
    assert!(ways[1] < ways[0] && wrong[1] < wrong[0], "{ways:?} {wrong:?}");
}

#[test]
fn b16_the_dynamic_form_takes_and_loses_nodes() {
    let mut filter = VARIANT.build_from(&Goal::new(100, 1e-6).set("form", "dynamic"), &[]).unwrap();
    for (child, parent) in [("r", ""), ("a", "r"), ("b", "a")] {
        let record = Record::key(child.as_bytes()).with(Value::Label(parent.as_bytes()));
        filter.as_insert().unwrap().insert(record).unwrap();
    }
    let tree: &Relations = filter.as_same().unwrap();
    let mut tree = tree.clone();
    assert!(tree.is_root("r") && !tree.is_root("a") && tree.is_parent("a", "b"));
    assert!(!tree.is_parent("b", "a") && tree.siblings("a", "b").is_err());
    assert!(tree.remove("b", "r").is_err(), "another parent");
    tree.remove("b", "a").unwrap();
    assert!(!tree.is_node("b") && tree.is_node("a"));
    let answer = tree.query(Record::key(b"a").with(Value::Label(b"x,r,y"))).unwrap();
    assert_eq!(
        (answer.verdict, answer.detail),
        (Verdict::Present, Detail::Labels(vec![b"r".to_vec()]))
    );
}

/// Without bits of their own, foreign nodes look like members with random parents.
#[test]
fn b16_no_bits_of_their_own_make_everybody_a_node() {
    let filter = build(&tree(2), 0, 8);
    assert!((NODES..NODES + 1000).all(|node| filter.is_node(&name(node))));
    let child = (NODES..NODES + 50_000).filter(|node| filter.is_parent(&name(7), &name(*node)));
    let share = child.count() as f64 / 50_000.0;
    assert!((share * 256.0 - 1.0).abs() < 0.3, "{share}");
}

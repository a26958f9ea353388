//! R5, ancestor checking.

use everbloom::counting::Counting;
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::{Face, Filter, Record};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bloom::best_k;
use everbloom::internals::variant::Inputs;
use everbloom::membership::Bloom;
use everbloom::membership::ancestors::{Ancestors, Hierarchy, Nodes, fpr};
use everbloom::membership::bloom;

const PATHS: Hierarchy = Hierarchy::Paths;

fn key(x: u64, depth: u64) -> Vec<u8> {
    // /x/x1/x2…: 100 keys under each of the first-level nodes, all deeper ones their own.
    let levels = (1..depth).map(|level| format!("/{x}-{level}")).collect::<String>();
    format!("/{}{levels}", x / 100).into_bytes()
}

/// 2,000 keys of four levels in a filter of m bits; 6,020 nodes.
fn trie(m: u64, k: u32, ancestors: u32) -> Ancestors<Bloom> {
    let mut trie =
        Ancestors::new(Bloom::with_shape(m, k, Hasher::default()).unwrap(), PATHS, ancestors);
    for x in 0..2000 {
        trie.insert(&key(x, 4)).unwrap();
    }
    trie
}

#[test]
fn r5_formula() {
    for (d, a, want) in [(2, 1, 4e-4), (2, 9, 4e-4), (3, 2, 8e-6), (1, 5, 0.02), (7, 0, 0.02)] {
        assert!((fpr(0.02, d, a) / want - 1.0).abs() < 1e-12, "{d} {a}");
    }
}

#[test]
fn r5_parents() {
    let above = |h: Hierarchy, node: &str| -> Vec<String> {
        let text = |a: &[u8]| String::from_utf8_lossy(a).into_owned();
        h.ancestors(node.as_bytes()).map(text).collect()
    };
    assert_eq!(above(Hierarchy::Prefixes, "1011"), ["101", "10", "1"]);
    assert_eq!(above(Hierarchy::Names, "www.example.org"), ["example.org", "org"]);
    assert_eq!(above(PATHS, "/usr/lib/x"), ["/usr/lib", "/usr"]);
    assert_eq!(above(PATHS, "usr//lib"), ["usr/", "usr"]);
    for h in [None, Some(b'.'), Some(b'/'), Some(b':')].map(Hierarchy::by) {
        assert_eq!(above(h, ""), [""; 0]);
        assert_eq!(above(h, "x"), [""; 0]);
        assert_eq!(Hierarchy::named(&h.name()), Some(h));
    }
    assert_eq!(Hierarchy::named("trees"), None);
}

#[test]
fn r5_every_level_has_to_be_wrong() {
    // The root is in; then nodes whose deepest real ancestor is d levels above them.
    for a in [0, 1, 2, 5] {
        let trie = trie(30_000, 3, a);
        let f = trie.filter().now().fpr.unwrap();
        assert!((0.05..0.1).contains(&f), "{f}");
        for x in (0..2000).step_by(7) {
            for depth in 1..=4 {
                assert!(trie.contains(&key(x, depth)).unwrap(), "a false negative");
            }
        }
        for d in 1..=3u32 {
            let queries = 200_000u64;
            let passing = (0..queries).filter(|i| {
                // Below a real first-level node, d − 1 false ones and then the node.
                let mut node = key(i % 2000, 1);
                (0..d).for_each(|level| node.extend(format!("/no-{i}-{level}").bytes()));
                trie.contains(&node).unwrap()
            });
            let (count, want) = (passing.count() as f64, fpr(f, d, a) * queries as f64);
            assert!((count - want).abs() < 5.0 * want.sqrt(), "d {d}, a {a}: {count} {want}");
        }
    }
}

#[test]
fn r5_all_ancestors_or_false_negatives() {
    let leaf = b"/a/b/c";
    let mut bare = Bloom::with_shape(10_000, 7, Hasher::default()).unwrap();
    bare.insert(&leaf[..]);
    let broken = Ancestors::new(bare.clone(), PATHS, 1);
    assert!(bare.contains(&leaf[..]) && !broken.contains(leaf).unwrap(), "its parent is missing");
    assert!(Ancestors::new(bare, PATHS, 0).contains(leaf).unwrap(), "a = 0 is the plain filter");
    let mut whole =
        Ancestors::new(Bloom::with_shape(10_000, 7, Hasher::default()).unwrap(), PATHS, 9);
    whole.insert(leaf).unwrap();
    assert_eq!(whole.filter().head().items, 3, "every node is inserted");
    assert!(["/a", "/a/b", "/a/b/c", ""].iter().all(|n| whole.contains(n.as_bytes()).unwrap()));
    whole.insert(b"").unwrap();
    assert_eq!(whole.into_filter().head().items, 3, "the root is always in and never stored");
}

#[test]
fn r5_removal_goes_bottom_up_and_leaves_the_others() {
    // A first-level node is inserted a hundred times, which counters of 4 bits could not count.
    let filled = |width| {
        let counting = Counting::with_shape(50_000, 10, width, Hasher::default()).unwrap();
        let mut trie = Ancestors::new(counting, PATHS, 4);
        for x in 0..1000 {
            trie.insert(&key(x, 3)).unwrap();
        }
        trie
    };
    let mut trie = filled(8);
    for x in 0..500 {
        trie.remove(&key(x, 3)).unwrap();
        assert!(x % 50 != 0 || (x + 1..1000).all(|y| trie.contains(&key(y, 3)).unwrap()), "{x}");
    }
    let gone = (0..500).filter(|x| !trie.contains(&key(*x, 3)).unwrap()).count();
    assert!(gone >= 495, "{gone}");
    assert!(!trie.contains(b"/0").unwrap() && trie.contains(b"/5").unwrap());
    let mut narrow = filled(4);
    (0..100).for_each(|x| narrow.remove(&key(x, 3)).unwrap());
    assert!(narrow.contains(b"/0").unwrap(), "stuck counters keep it");
}

#[test]
fn r5_nodes_feed_a_filter_of_any_variant() {
    let keys: Vec<Vec<u8>> = (0..2000).map(|x| key(x, 4)).collect();
    let records: Vec<_> = keys.iter().map(|k| Record::key(k)).collect();
    let mut source = &records[..];
    let mut nodes = Nodes::new(&mut source, PATHS);
    assert_eq!(nodes.count().unwrap(), 20 + 3 * 2000, "shared ancestors count once");
    let goal = Goal::new(6020, 0.05);
    let inputs = &mut Inputs { records: &mut nodes, negatives: None };
    let built = bloom::VARIANT.build(&goal, inputs).unwrap();
    assert_eq!(built.head().items, 6020);
    let opened = Opener::new().decode(&codec::to_bytes(&*built)).unwrap();
    let present = |node: &[u8], a| {
        let answer = PATHS.query(&*opened, Record::key(node), a).unwrap();
        answer.verdict != everbloom::internals::filter::Verdict::Absent
    };
    assert!((0..2000).all(|x| (1..=4).all(|depth| present(&key(x, depth), 3))));
    let non_members: Vec<Vec<u8>> = (5000..45_000).map(|x| key(x, 4)).collect();
    let [plain, checked] = [0, 3].map(|a| non_members.iter().filter(|n| present(n, a)).count());
    assert!(plain > 1500 && checked < plain / 100, "{plain} {checked}");
}

/// What it is for: the same filter, so the same bits, and non-members that share no more than a first
/// level with it. Where not: if only the keys were asked for, a filter of the keys alone is better.
#[test]
fn r5_saves_errors_but_not_bits() {
    let (plain, checked) = (trie(40_000, 5, 0), trie(40_000, 5, 2));
    assert_eq!(plain.filter(), checked.filter());
    let non_members = || {
        (10_000..60_000u64)
            .map(|x| key(x % 2000, 1).into_iter().chain(key(x, 3)).collect::<Vec<u8>>())
    };
    let count = |t: &Ancestors<Bloom>| non_members().filter(|n| t.contains(n).unwrap()).count();
    let (without, with) = (count(&plain), count(&checked));
    assert!(without > 1000 && with * 50 < without, "{without} {with}");

    let mut keys_only = Bloom::with_shape(40_000, best_k(40_000, 2000), Hasher::default()).unwrap();
    (0..2000).for_each(|x| {
        keys_only.insert(&key(x, 4));
    });
    // Brothers of members: their parents are there, and nothing can be proved.
    let brothers =
        || (0..50_000u64).map(|i| [&key(i % 2000, 3)[..], format!("/b{i}").as_bytes()].concat());
    let with = brothers().filter(|n| checked.contains(n).unwrap()).count();
    let alone = brothers().filter(|n| keys_only.contains(n)).count();
    assert!(with > 1000 && alone * 50 < with, "{with} {alone}");
}

#[test]
fn r5_a_removal_that_fails_changes_nothing() {
    // The parent of one leaf is missing: it was removed on its own.
    let mut trie =
        Ancestors::new(Counting::with_shape(5000, 7, 8, Hasher::default()).unwrap(), PATHS, 4);
    trie.insert(b"/a/b/c").unwrap();
    trie.insert(b"/x/y").unwrap();
    let mut counting = trie.into_filter();
    counting.remove("/a/b").unwrap();
    let mut trie = Ancestors::new(counting, PATHS, 4);
    let before = trie.clone();
    assert!(trie.remove(b"/a/b/c").is_err());
    assert_eq!(trie, before);
    trie.remove(b"/x/y").unwrap();
    assert!(!trie.contains(b"/x").unwrap());
}

//! B11, the consistent cuckoo filter.

use everbloom::Kind;
use everbloom::fingerprints::ConsistentCuckoo;
use everbloom::fingerprints::consistent_cuckoo::{VARIANT, fingerprint_bits, refusal};
use everbloom::internals::filter::{Face, Filter as _, Merge as _};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;

fn shaped(buckets: u64, points: u32, choices: u32, seed: u64) -> ConsistentCuckoo {
    let builder = ConsistentCuckoo::builder().set("buckets", buckets).set("fingerprint", 32);
    builder.set("points", points).set("choices", choices).seed(seed).build().expect("a shape")
}

#[test]
fn b11_load_at_the_first_refusal() {
    for (points, printed) in
        [(1, [0.575, 0.738, 0.808]), (4, [0.844, 0.949, 0.973]), (16, [0.936, 0.990, 0.997])]
    {
        for (choices, printed) in (2..).zip(printed) {
            let seeds = 12;
            let loads = (0..seeds).map(|seed| {
                // The ring is the same for all seeds; so many buckets average over its arcs.
                let mut filter = shaped(1000, points, choices, seed);
                let taken = (0u64..).find(|key| filter.insert(key).is_err()).expect("finite");
                assert_eq!(filter.used(), taken);
                taken as f64 / 4000.0
            });
            let mean = loads.sum::<f64>() / f64::from(seeds as u32);
            assert!((mean - printed).abs() < 0.02, "{points} {choices}: {mean} {printed}");
            assert_eq!(refusal(points, choices), printed);
        }
    }
}

/// Three hundred buckets, a bucket more and a random one less, over and over: nothing is refused, nobody is lost.
#[test]
fn b11_buckets_come_and_go() {
    for (load, seed) in [(0.7, 1), (0.9, 2)] {
        let mut filter = shaped(300, 4, 3, seed);
        let keys = (load * 1200.0) as u64;
        (0..keys).for_each(|key| _ = filter.insert(&key).expect("room"));
        let mut random = Generator::new(seed);
        for round in 0..150 {
            filter.add_bucket().expect("room for what moves");
            assert!(round % 10 > 0 || (0..keys).all(|key| filter.contains(&key)));
            filter.remove_bucket(random.below(filter.buckets())).expect("room for its entries");
            assert_eq!((filter.buckets(), filter.used()), (300, keys));
            assert!(round % 10 > 0 || (0..keys).all(|key| filter.contains(&key)), "round {round}");
        }
        assert!((0..keys).all(|key| filter.contains(&key)));
        (0..keys).for_each(|key| filter.remove(&key).expect("a member"));
        assert_eq!((filter.used(), filter.head().items), (0, 0));
    }
}

/// A full filter takes more keys after a bucket came, and gives none up for them.
#[test]
fn b11_growth_makes_room() {
    let mut filter = shaped(100, 4, 3, 5);
    let taken = (0u64..).find(|key| filter.insert(key).is_err()).expect("finite");
    let before = filter.clone();
    assert_eq!(filter.insert(&taken).expect_err("full").kind(), Kind::CapacityExceeded);
    assert_eq!(filter, before);
    (0..10).for_each(|_| filter.add_bucket().expect("room for what moves"));
    (taken..taken + 25).for_each(|key| _ = filter.insert(&key).expect("room again"));
    assert!((0..taken + 25).all(|key| filter.contains(&key)));
    // What does not fit fewer buckets stays.
    let refused = loop {
        let before = filter.clone();
        if let Err(e) = filter.remove_bucket(3) {
            assert_eq!(filter, before);
            break e;
        }
    };
    assert_eq!(refused.kind(), Kind::CapacityExceeded);
    assert!((0..taken + 25).all(|key| filter.contains(&key)));
    assert!(filter.remove_bucket(filter.buckets()).is_err());
    let mut single = shaped(1, 4, 3, 5);
    assert!(single.remove_bucket(0).is_err());
}

/// Every entry is a chance for a false positive: n·2^−F, not 2b·2^−F.
#[test]
fn b11_rates() {
    assert_eq!(fingerprint_bits(10_000, 6.0e-4), 24.0);
    let goal = Goal::new(10_000, 6.0e-4);
    let expected =
        VARIANT.expect(&goal, &Load::items(10_000)).expect("planned").expect("a formula");
    assert!((expected.fpr / 5.96e-4 - 1.0).abs() < 0.005, "{}", expected.fpr);
    for (n, p, queries) in [(10_000, 6.0e-4, 1_000_000u64), (5000, 0.03, 100_000)] {
        let mut filter = ConsistentCuckoo::with_rate(n, p).expect("a shape");
        (0..n).for_each(|key| _ = filter.insert(&key).expect("room"));
        let now = filter.now().fpr.expect("a formula");
        assert!(now <= p && now > 0.4 * p, "{now}");
        let passed =
            (1 << 40..(1 << 40) + queries).filter(|key| filter.contains(key)).count() as u64;
        let (low, high) = binomial_bounds(queries, now, 1e-9);
        assert!((low..=high).contains(&passed), "{passed}, {low} to {high}");
        // As many absent keys can be removed as pass.
        let asked = 1 << 41..(1 << 41) + 20_000u64;
        let accepted = asked.filter(|key| filter.remove(key).is_ok()).count() as u64;
        let (low, high) = binomial_bounds(20_000, now, 1e-9);
        assert!((low * 9 / 10..=high).contains(&accepted), "{accepted}, {low} to {high}");
    }
}

/// At most b copies in each of the buckets of a fingerprint.
#[test]
fn b11_copies_of_a_key() {
    let mut filter = shaped(50, 4, 3, 1);
    let taken = (0..).find(|_| filter.insert("again").is_err()).expect("finite");
    assert!([4, 8, 12].contains(&taken), "{taken}");
    assert_eq!(filter.count("again"), taken);
    (0..taken).for_each(|_| filter.remove("again").expect("there"));
    assert_eq!(filter.remove("again").expect_err("gone").kind(), Kind::NotDeletable);
    assert_eq!(filter.used(), 0);
}

/// Fingerprints decide all: two filters of other seeds have the same ring.
#[test]
fn b11_names_of_buckets_are_not_used_again() {
    let mut filter = ConsistentCuckoo::with_shape(10, 20, Hasher::default()).expect("a shape");
    let before = filter.clone();
    filter.add_bucket().expect("empty");
    filter.remove_bucket(10).expect("empty");
    filter.add_bucket().expect("empty");
    assert_eq!(filter.buckets(), before.buckets() + 1);
    filter.remove_bucket(10).expect("empty");
    assert_ne!(filter, before, "the next bucket has another name");
}

/// A list of rings, which may have different numbers of buckets: the fingerprint decides in each of them.
#[test]
fn b11_rings() {
    let builder = ConsistentCuckoo::builder().set("buckets", 200).set("fingerprint", 24);
    let mut filter = builder.form("rings").seed(3).build().expect("a shape");
    let keys = 2700u64;
    filter.insert_many(&(0..keys).collect::<Vec<_>>()).expect("it grows");
    // 0.949 of 800 slots are taken before a ring refuses, or a little less with so few buckets.
    assert_eq!((filter.rings(), filter.buckets(), filter.used()), (4, 800, keys));
    filter.add_bucket().expect("room for what moves");
    let before = filter.clone();
    let refused = filter.remove_bucket(3).expect_err("its ring is full");
    assert_eq!((refused.kind(), &filter), (Kind::CapacityExceeded, &before));
    filter.remove_bucket(700).expect("room in the newest ring");
    assert_eq!((filter.buckets(), filter.used()), (800, keys));
    assert!(filter.remove_bucket(800).is_err(), "there is none");
    assert!((0..keys).all(|key| filter.contains(&key)), "no false negatives");
    // n·2^−F, over all rings.
    let now = filter.now().fpr.expect("a formula");
    assert!((now / (2700.0 / f64::exp2(24.0)) - 1.0).abs() < 0.001, "{now}");
    (500..keys).for_each(|key| filter.remove(&key).expect("a member"));
    filter.compact();
    assert_eq!((filter.rings(), filter.used()), (1, 500));
    let mut other = filter.clone();
    (500..1200).for_each(|key| _ = other.insert(&key).expect("it grows"));
    filter.merge(&other).expect("the same fingerprints");
    assert_eq!((filter.used(), filter.head().items), (1700, 1700));
    assert!((0..1200u64).all(|key| filter.contains(&key)));
    let standard = ConsistentCuckoo::builder().items(1000).set("rings", 2).build();
    assert_eq!(standard.expect_err("one ring").kind(), Kind::BadParameter);
}

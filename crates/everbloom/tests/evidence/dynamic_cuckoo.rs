//! B10, the dynamic cuckoo filter.

use everbloom::Kind;
use everbloom::fingerprints::DynamicCuckoo;
use everbloom::internals::filter::{Face, Filter as _, Merge as _};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::tail::binomial_bounds;

const KEYS: u64 = 31_000;
/// Slots of one filter of the catalogue's: 1024 buckets of four.
const SLOTS: u64 = 4096;

fn filled(keys: std::ops::Range<u64>, seed: u64) -> DynamicCuckoo {
    let filter = DynamicCuckoo::with_shape(SLOTS / 4, 12, Hasher::seeded(seed));
    let mut filter = filter.expect("a shape");
    keys.for_each(|key| _ = filter.insert(&key).expect("it grows"));
    filter
}

fn rate(filter: &DynamicCuckoo) -> f64 {
    let passed = (1 << 40..(1 << 40) + 300_000u64).filter(|key| filter.contains(key)).count();
    let now = filter.now().fpr.expect("a formula");
    let (low, high) = binomial_bounds(300_000, now, 1e-9);
    assert!((low..=high).contains(&(passed as u64)), "{passed}, {low} to {high}");
    passed as f64 / 300_000.0
}

#[test]
fn b10_growth_and_rate() {
    let filter = filled(0..KEYS, 0);
    assert_eq!(filter.filters(), 8);
    let entries = filter.entries();
    assert!(entries[..7].iter().all(|used| (0.94..0.98).contains(&(*used as f64 / SLOTS as f64))));
    assert_eq!(entries.iter().sum::<u64>(), KEYS);
    let measured = rate(&filter);
    assert!((measured / 0.0148 - 1.0).abs() < 0.06, "{measured}");
    assert!((0..KEYS).all(|key| filter.contains(&key)));
}

#[test]
fn b10_removal_and_compaction() {
    for (share, most, printed) in [(0.3, 7, 0.0102), (0.5, 5, 0.0073), (0.7, 4, 0.0045)] {
        let mut filter = filled(0..KEYS, 1);
        let mut random = Generator::new(5);
        let (gone, live): (Vec<u64>, Vec<u64>) = (0..KEYS).partition(|_| random.unit() < share);
        gone.iter().for_each(|key| filter.remove(key).expect("a member"));
        assert_eq!(filter.filters(), 8, "removal alone drops nothing");
        filter.compact();
        let full = (live.len() as u64).div_ceil(SLOTS);
        let filters = filter.filters() as u64;
        assert!((full..=full + 2).contains(&filters) && filters <= most, "{share}: {filters}");
        let entries = filter.entries();
        assert_eq!(entries.iter().sum::<u64>(), live.len() as u64);
        assert!(entries[0] as f64 > 0.99 * SLOTS as f64, "packed without a kick: {entries:?}");
        assert!(live.iter().all(|key| filter.contains(key)));
        let measured = rate(&filter);
        assert!((measured / printed - 1.0).abs() < 0.12, "{share}: {measured} {printed}");
        // Whoever has room takes the next keys.
        let before = filter.filters();
        (KEYS..KEYS + 100).for_each(|key| _ = filter.insert(&key).expect("it grows"));
        assert!(filter.filters() <= before + 1);
        live.iter().for_each(|key| filter.remove(key).expect("a member"));
        (KEYS..KEYS + 100).for_each(|key| filter.remove(&key).expect("a member"));
        filter.compact();
        assert_eq!((filter.filters(), filter.entries()), (1, vec![0]));
    }
}

/// Keys, filters and counts of both lists, whatever is in them.
#[test]
fn b10_merging() {
    let (mut left, right) = (filled(0..9000, 2), filled(7000..20_000, 2));
    let (before, items) =
        (left.filters() + right.filters(), left.head().items + right.head().items);
    left.merge(&right).expect("equal shapes");
    assert!((0..20_000u64).all(|key| left.contains(&key)));
    assert!(left.filters() <= before);
    assert_eq!((left.head().items, left.entries().iter().sum::<u64>()), (items, items));
    assert!((7000..9000u64).all(|key| left.count(&key) >= 2));
    (0..9000u64).chain(7000..20_000).for_each(|key| left.remove(&key).expect("a member"));
    assert_eq!(left.entries().iter().sum::<u64>(), 0);
    let other = DynamicCuckoo::with_shape(SLOTS / 2, 12, Hasher::seeded(2)).expect("a shape");
    let refused = left.merge(&other).expect_err("another shape");
    assert_eq!(refused.kind(), Kind::Incompatible { what: "buckets" });
}

/// Any number of copies, 2b of them in each filter.
#[test]
fn b10_copies_of_a_key() {
    let mut filter = filled(0..0, 3);
    (0..30).for_each(|_| _ = filter.insert("again").expect("it grows"));
    assert_eq!((filter.filters(), filter.count("again")), (4, 30));
    (0..30).for_each(|_| filter.remove("again").expect("there"));
    let before = filter.clone();
    assert_eq!(filter.remove("again").expect_err("gone").kind(), Kind::NotDeletable);
    assert_eq!(filter, before);
}

/// Removal in any order, compaction in between: nobody is lost.
#[test]
fn b10_no_member_is_lost() {
    let mut filter = DynamicCuckoo::with_shape(16, 8, Hasher::default()).expect("a shape");
    let (mut random, mut inside, mut next) = (Generator::new(1), Vec::new(), 0u64);
    for step in 0..6000 {
        if random.below(100) < if step < 3000 { 60 } else { 40 } || inside.is_empty() {
            filter.insert(&next).expect("it grows");
            inside.push(next);
            next += 1;
        } else {
            let key = inside.swap_remove(random.below(inside.len() as u64) as usize);
            filter.remove(&key).expect("a member");
        }
        if step % 100 == 0 {
            filter.compact();
            assert!(inside.iter().all(|key| filter.contains(key)), "step {step}");
        }
    }
    assert_eq!(filter.entries().iter().sum::<u64>(), inside.len() as u64);
}

/// Planned over several filters, each has its share of items and rate.
#[test]
fn b10_planned_over_several_filters() {
    let spread = DynamicCuckoo::builder().items(30_000).rate(0.01).set("filters", 8).build();
    let mut spread = spread.expect("a shape");
    (0..30_000u64).for_each(|key| _ = spread.insert(&key).expect("it grows"));
    assert!(spread.filters() <= 8);
    assert!(spread.now().fpr.expect("a formula") <= 0.01);
    // As many absent keys can be removed as pass.
    let rate = spread.now().fpr.expect("a formula");
    let accepted =
        (1 << 40..(1 << 40) + 20_000u64).filter(|key| spread.remove(key).is_ok()).count();
    let (low, high) = binomial_bounds(20_000, rate, 1e-9);
    assert!((low..=high).contains(&(accepted as u64)), "{accepted}, {low} to {high}");
}

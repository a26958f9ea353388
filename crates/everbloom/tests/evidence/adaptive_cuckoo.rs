//! B9, the adaptive cuckoo filter.

use everbloom::Kind;
use everbloom::fingerprints::AdaptiveCuckoo;
use everbloom::internals::filter::{Face, Filter as _};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::tail::binomial_bounds;

/// The catalogue's: four tables of 8192 slots at a load of 0.95, fingerprints of eight bits.
const KEYS: u64 = 31_129;

fn filled(selector: u32, seed: u64) -> AdaptiveCuckoo {
    let filter = AdaptiveCuckoo::with_shape(8192, selector, 8, Hasher::seeded(seed));
    let mut filter = filter.expect("a shape");
    (0..KEYS).for_each(|key| _ = filter.insert(&key).expect("room"));
    filter
}

fn in_buckets(seed: u64) -> AdaptiveCuckoo {
    let builder = AdaptiveCuckoo::builder().form("buckets").set("buckets", 4096);
    let mut filter = builder.set("fingerprint", 9).seed(seed).build().expect("a shape");
    (0..KEYS).for_each(|key| _ = filter.insert(&key).expect("room"));
    filter
}

/// Non-member number i.
fn other(i: u64) -> u64 {
    (1 << 40) + i
}

/// The share of false positives in each of five rounds of 100,000 queries, drawn from 100,000 non-members, each
/// of them found out.
fn rounds(filter: &mut AdaptiveCuckoo, seed: u64) -> [f64; 5] {
    let mut random = Generator::new(seed);
    std::array::from_fn(|_| {
        let before = filter.repairs();
        for _ in 0..100_000 {
            assert!(!filter.look_up(&other(random.below(100_000))));
        }
        (filter.repairs() - before) as f64 / 100_000.0
    })
}

#[test]
fn b9_repeated_queries_are_repaired() {
    for (selector, printed) in [
        (1, [0.0094, 0.0035, 0.0018, 0.0009, 0.0009]),
        (2, [0.0090, 0.0037, 0.0014, 0.0006, 0.0002]),
    ] {
        let mut filter = filled(selector, 1);
        let measured = rounds(&mut filter, 7);
        for (measured, printed) in measured.iter().zip(printed) {
            assert!((measured - printed).abs() < 0.0012, "{selector} bits: {measured} {printed}");
        }
        if selector == 2 {
            assert!(measured[4] <= 0.1 * 0.0148, "{measured:?}");
        }
        assert!((0..KEYS).all(|key| filter.contains(&key)), "no false negatives");
        // Others see the rate of the first time.
        let now = filter.now().fpr.expect("a formula");
        assert!((now - 0.0148).abs() < 0.0001, "{now}");
        let passed = (200_000..700_000).filter(|i| filter.contains(&other(*i))).count() as u64;
        let (low, high) = binomial_bounds(500_000, now, 1e-9);
        assert!((low..=high).contains(&passed), "{passed}, {low} to {high}");
    }
}

/// Without selectors nothing is ever repaired.
#[test]
fn b9_without_selectors_the_rate_stays() {
    let mut filter = filled(0, 1);
    for measured in rounds(&mut filter, 7) {
        assert!((measured - 0.0148).abs() < 0.0025, "{measured}");
    }
}

/// A thousand non-members, round after round. With two bits of selector nobody passes from the third round on; with
/// one bit, two of them may undo each other's repairs for ever.
#[test]
fn b9_a_few_non_members_over_and_over() {
    let mut left = [0, 0];
    for seed in 0..10 {
        for (selector, left) in [1, 2].into_iter().zip(&mut left) {
            let mut filter = filled(selector, seed);
            let mut wrong = [0; 6];
            for wrong in &mut wrong {
                let before = filter.repairs();
                (0..1000).for_each(|i| assert!(!filter.look_up(&other(i))));
                *wrong = filter.repairs() - before;
            }
            assert!(wrong[0] >= 5, "{wrong:?}");
            assert!(wrong[2] <= 2 && wrong[5] <= wrong[0] / 3, "{selector} bits: {wrong:?}");
            *left += wrong[5];
        }
    }
    assert_eq!(left[1], 0, "two bits");
    assert!(left[0] <= 6, "one bit: {}", left[0]);
}

/// A false positive is absent at once after its repair, but for one in 2^f.
#[test]
fn b9_a_repair_helps_at_once() {
    for mut filter in [filled(2, 3), in_buckets(3)] {
        let (mut wrong, mut still) = (0, 0);
        for i in 0..100_000 {
            if filter.contains(&other(i)) {
                wrong += 1;
                assert!(!filter.look_up(&other(i)));
                still += u64::from(filter.contains(&other(i)));
            }
        }
        assert!(wrong > 1000 && still * 50 < wrong, "{still} of {wrong} still pass");
        assert!((0..KEYS).all(|key| filter.contains(&key) && filter.look_up(&key)));
    }
}

#[test]
fn b9_buckets_adapt_by_swapping() {
    let mut filter = in_buckets(1);
    // Eight slots are looked at, and nine bits make up for it.
    let now = filter.now().fpr.expect("a formula");
    assert!((now - 0.0148).abs() < 0.0002, "{now}");
    let measured = rounds(&mut filter, 7);
    assert!((measured[0] - 0.0095).abs() < 0.002, "{measured:?}");
    assert!(measured[4] <= 0.2 * now && measured[4] < measured[1], "{measured:?}");
    assert!((0..KEYS).all(|key| filter.contains(&key)), "no false negatives");
    (0..KEYS).for_each(|key| filter.remove(&key).expect("a member"));
    assert_eq!(filter.used(), 0);
}

#[test]
fn b9_refusal_changes_nothing_and_removal_is_exact() {
    for form in ["selector", "buckets"] {
        let builder = AdaptiveCuckoo::builder().form(form).set("buckets", 64);
        let mut filter = builder.set("fingerprint", 5).build().expect("a shape");
        let mut taken = 0u64;
        loop {
            // Repairs in between: a roll-back has to bring selectors back, too.
            (0..20).for_each(|i| assert!(!filter.look_up(&other(100 * taken + i))));
            let before = filter.clone();
            match filter.insert(&taken) {
                Ok(_) => taken += 1,
                Err(e) => {
                    assert_eq!(e.kind(), Kind::CapacityExceeded);
                    assert!(filter == before, "{form}: a refusal changed something");
                    break;
                }
            }
        }
        let slots = filter.memory().cells / if form == "selector" { 7 } else { 5 };
        assert!(taken as f64 > 0.85 * slots as f64, "{form}: {taken} of {slots}");
        assert!((0..taken).all(|key| filter.contains(&key)));
        // Absent keys are refused even if they pass.
        let (mut refused, mut passing) = (0, 0);
        for i in 0..2000 {
            passing += u64::from(filter.contains(&other(i)));
            let before = filter.clone();
            refused +=
                u64::from(filter.remove(&other(i)).is_err_and(|e| e.kind() == Kind::NotDeletable));
            assert!(filter == before);
        }
        assert!(refused == 2000 && passing > 100, "{refused} {passing}");
        for key in 0..taken {
            filter.remove(&key).expect("a member");
            assert!((key + 1..taken).all(|other| filter.contains(&other)));
        }
        assert_eq!((filter.used(), filter.head().items), (0, 0));
    }
}

#[test]
fn b9_repeated_keys_are_kept_once() {
    let mut filter = AdaptiveCuckoo::with_rate(100, 0.01).expect("a shape");
    (0..3).for_each(|_| _ = filter.insert("again").expect("room"));
    assert_eq!((filter.used(), filter.head().items), (1, 3));
    (0..2).for_each(|_| filter.remove("again").expect("a member"));
    assert!(filter.look_up("again"));
    filter.remove("again").expect("the last one");
    assert!(!filter.contains("again"));
    // The empty key is a key like any other.
    filter.insert("").expect("room");
    assert!(filter.look_up(""));
}

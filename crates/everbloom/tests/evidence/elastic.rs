//! B15, the elastic filter.

use std::collections::BTreeMap;

use everbloom::Kind;
use everbloom::fingerprints::Elastic;
use everbloom::fingerprints::elastic::{VARIANT, fixed_rate, widening_rate};
use everbloom::internals::filter::{Face, Filter as _};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};

use super::numbers::prints;

fn passing(filter: &Elastic, queries: u64) -> f64 {
    let others = 1u64 << 40..(1 << 40) + queries;
    others.filter(|key| filter.contains(key)).count() as f64 / queries as f64
}

#[test]
fn b15_formulas() {
    for (g, printed, digit) in [(0.0, 0.0039, 1e-5), (2.0, 0.00972, 1e-5), (10.0, 0.0327, 1e-4)] {
        prints(fixed_rate(4, 10, g), printed, digit);
    }
    for (g, printed) in [(0, 0.0039), (2, 0.0075), (6, 0.0080), (10, 0.0082)] {
        prints(widening_rate(4, 10, g), printed, 2e-4);
    }
    let ever = widening_rate(1, 10, 200_000) * 1024.0;
    assert!((2.15..2.155).contains(&ever), "{ever}");
    // F = ⌈log₂(2.16·4/ε)⌉, or for ten doublings ⌈log₂(4·8.5/ε)⌉.
    for (form, length) in [("widening", 10), ("fixed", 12)] {
        let filter = Elastic::builder().items(1024).rate(0.01).form(form).build().unwrap();
        assert_eq!((filter.buckets(), filter.memory().cells), (256, 256));
        let mut one = filter;
        one.insert("x").unwrap();
        assert_eq!(one.memory().cells, 256 + 1 + length + 1, "{form}");
    }
    let expect = VARIANT.expect(&Goal::new(1024, 0.01), &Load::items(1024)).unwrap().unwrap();
    prints(expect.fpr, 0.0039, 1e-4);
}

#[test]
fn b15_rates_of_both_regimes_as_the_table_grows() {
    let printed = [(1024, 0.0039, 0.0039), (4096, 0.00968, 0.00755), (65_536, 0.0213, 0.0080)];
    for widening in [false, true] {
        let mut filter = Elastic::with_shape(256, 10, widening, Hasher::seeded(3)).unwrap();
        let mut n = 0;
        for (items, fixed, wide) in printed {
            (n..items).for_each(|key| _ = filter.insert(&key).expect("room"));
            n = items;
            assert_eq!(filter.buckets(), items / 4);
            let (now, rate) = (filter.now().fpr.unwrap(), if widening { wide } else { fixed });
            // A single filter of a thousand keys has a rate of its own.
            let off = if items < 10_000 { 0.08 } else { 0.03 };
            assert!((now / rate - 1.0).abs() < off, "{widening}, {items}: {now}, printed {rate}");
            let measured = passing(&filter, 100_000);
            assert!((measured - now).abs() < 5.0 * (now / 1e5).sqrt(), "{measured} {now}");
        }
        assert!((0..n).all(|key| filter.contains(&key)), "no false negatives");
    }
}

#[test]
fn b15_a_million_keys_from_a_thousand() {
    let mut filter = Elastic::with_shape(256, 10, true, Hasher::seeded(1)).unwrap();
    (0..1u64 << 20).for_each(|key| _ = filter.insert(&key).expect("room"));
    let measured = passing(&filter, 200_000);
    assert!((0.0074..0.0088).contains(&measured), "{measured}");
    prints(filter.mean_length(), 15.2, 0.3);
    assert!((0..1u64 << 20).step_by(97).all(|key| filter.contains(&key)));
}

#[test]
fn b15_odd_sizes_voids_deletion_and_shrinking() {
    let mut filter = Elastic::with_shape(256, 8, false, Hasher::seeded(2)).unwrap();
    (0..300_000u64).for_each(|key| _ = filter.insert(&key).expect("room"));
    assert_eq!(filter.buckets(), 75_000);
    let rate = passing(&filter, 100_000);
    assert!((rate - 0.1056).abs() < 0.006, "{rate}");
    assert!((1000..3500).contains(&filter.voids()), "{} voids", filter.voids());
    let refused = (0..150_000u64).filter(|key| filter.remove(key).is_err()).count();
    assert_eq!(refused, 0);
    assert!((150_000..300_000u64).all(|key| filter.contains(&key)), "no false negatives");
    filter.shrink_to(37_500);
    assert_eq!(filter.buckets(), 37_500);
    assert!((150_000..300_000u64).all(|key| filter.contains(&key)), "nor after shrinking");
    // Keys that came after their bucket was split have nine bits now: 0.0145 to 0.015. With eight it would be 0.0187.
    let (rate, now) = (passing(&filter, 100_000), filter.now().fpr.unwrap());
    assert!((0.0132..0.0158).contains(&now), "{now}");
    assert!((rate - now).abs() < 5.0 * (now / 1e5).sqrt(), "{rate} {now}");
    filter.shrink_to(1);
    assert_eq!(filter.buckets(), 37_500, "as many as its items need");
}

/// The test that sees a wrong rule of removal: short fingerprints, few buckets, everything at random.
#[test]
fn b15_the_longest_match_is_removed() {
    let mut random = Generator::new(15);
    for run in 0..200 {
        let mut filter = Elastic::with_shape(1, 3, false, Hasher::seeded(run)).unwrap();
        let mut model = BTreeMap::<u64, u64>::new();
        let mut next = 0;
        for _ in 0..2000 {
            match random.below(20) {
                0..11 => {
                    // New keys, and now and then one that is there.
                    let again = model.keys().next().copied().filter(|_| random.below(10) == 0);
                    let key = again.unwrap_or(next);
                    next += u64::from(again.is_none());
                    filter.insert(&key).expect("room");
                    *model.entry(key).or_default() += 1;
                }
                11..19 if !model.is_empty() => {
                    let at = random.below(model.len() as u64) as usize;
                    let (&key, &held) = model.iter().nth(at).expect("there");
                    filter.remove(&key).expect("members are never refused");
                    if held > 1 {
                        model.insert(key, held - 1);
                    } else {
                        model.remove(&key);
                    }
                }
                _ => filter.shrink_to(random.below(filter.buckets())),
            }
        }
        assert!(model.keys().all(|key| filter.contains(key)), "run {run}: a member was lost");
        assert!(model.iter().all(|(key, held)| filter.count(key) >= *held), "run {run}");
        assert_eq!(filter.head().items, model.values().sum::<u64>());
    }
}

#[test]
fn b15_grows_and_shrinks_to_any_number_of_buckets() {
    for widening in [false, true] {
        let mut filter = Elastic::with_shape(5, 12, widening, Hasher::default()).unwrap();
        (0..20u64).for_each(|key| _ = filter.insert(&key).expect("room"));
        let before = filter.clone();
        for buckets in 6..300 {
            filter.reserve(4 * buckets).expect("room");
            assert_eq!(filter.buckets(), buckets);
            assert!((0..20u64).all(|key| filter.contains(&key)), "{buckets} buckets");
        }
        for buckets in (5..300).rev() {
            filter.shrink_to(buckets);
            assert_eq!(filter.buckets(), buckets);
            assert!((0..20u64).all(|key| filter.contains(&key)), "{buckets} buckets");
        }
        assert_eq!(filter.now().fpr, before.now().fpr, "all bits are back");
        let refused = filter.remove("never there").expect_err("absent");
        assert_eq!(refused.kind(), Kind::NotDeletable);
    }
}

//! §33, the forgetful filter.

use everbloom::decaying::Forgetful;
use everbloom::decaying::forgetful::{VARIANT, filter_rate, pair_rate};
use everbloom::internals::filter::{Age, Filter, Seen};
use everbloom::internals::hash::Hasher;
use everbloom::{Goal, Load};

/// Epochs that end by ticks alone.
const NEVER: u64 = 1 << 40;

#[test]
fn s33_found_after_p_refreshes_and_gone_after_one_more() {
    for past in 0..6 {
        let mut f = Forgetful::with_shape(2000, 5, past, NEVER, Hasher::default()).unwrap();
        assert_eq!(f.insert("x"), Seen::New);
        for refreshes in 0..=past {
            assert!(f.contains("x"), "p = {past}: after {refreshes}");
            assert_eq!(f.insert("x"), Seen::Maybe, "what is found is not inserted again");
            f.refresh();
        }
        assert!(!f.contains("x"), "p = {past}");
    }
}

#[test]
fn s33_rates_of_pairs() {
    let equal = |f: f64| pair_rate(&[f; 5]);
    assert!((equal(0.01) - 4.0e-4).abs() < 5e-7);
    assert!((equal(0.05) - 0.00996).abs() < 5e-6, "{}", equal(0.05));
    let single = 1.0 - 0.95f64.powi(5);
    assert!((single - 0.226).abs() < 5e-4, "any one of five: {single}");
    for (fpr, past) in [(0.01, 3), (1e-6, 0), (0.3, 7)] {
        let rates = vec![filter_rate(fpr, past); past as usize + 2];
        assert!((pair_rate(&rates) / fpr - 1.0).abs() < 1e-9);
    }
}

/// m = 2000, k = 3, p = 3, 150 insertions per epoch: 0.0069 at its end, where shared hash functions would give 0.040.
#[test]
fn s33_filters_have_hash_functions_of_their_own() {
    let (mut passed, mut predicted, filters, queries) = (0.0, 0.0, 25, 20_000);
    for seed in 0..filters {
        let mut f = Forgetful::with_shape(2000, 3, 3, NEVER, Hasher::seeded(seed)).unwrap();
        for epoch in 0..8u64 {
            if epoch > 0 {
                f.refresh();
            }
            // Insertions of keys that are new to the filter.
            let mut new = 0;
            for key in 10_000 * epoch.. {
                new += u64::from(f.insert(&key) == Seen::New);
                if new == 150 {
                    break;
                }
            }
        }
        passed += (1u64 << 40..).take(queries).filter(|key| f.contains(key)).count() as f64;
        predicted += f.now().fpr.unwrap();
    }
    let (fpr, predicted) = (passed / (filters as f64 * queries as f64), predicted / filters as f64);
    assert!((fpr - 0.0069).abs() < 0.0008, "{fpr}");
    assert!((predicted - 0.0072).abs() < 0.0006, "{predicted}");
}

#[test]
fn s33_loads_of_epochs() {
    let goal = Goal { items: Some(150), ..Goal::default() }.set("m", 2000).set("k", 3);
    let expect = |n| VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
    // At the end of an epoch: n in the future, 2n in all others.
    let f = |n: f64| (1.0 - (-3.0 * n / 2000.0f64).exp()).powi(3);
    let full = pair_rate(&[f(149.0), f(299.0), f(300.0), f(300.0), f(300.0)]);
    assert!((expect(150 * 8 - 1).fpr / full - 1.0).abs() < 0.01, "{full}");
    assert!((full - 0.0072).abs() < 1e-4, "{full}");
    assert_eq!(expect(599).fnr, 0.0, "three past epochs and this one");
    assert!(expect(600).fnr > 0.0);
}

#[test]
fn s33_planned_filters_keep_their_rate_for_ever() {
    let (mut passed, filters, queries) = (0.0, 20, 20_000);
    for seed in 0..filters {
        let mut f = Forgetful::builder().items(400).rate(0.02).seed(seed).build().unwrap();
        let mut key = 0u64;
        // Up to the last insertion before an epoch ends.
        while key < 4 * 400 + 390 {
            f.insert(&key);
            key += 1;
        }
        passed += (1u64 << 40..).take(queries).filter(|key| f.contains(key)).count() as f64;
        assert!((key - 390..key).all(|key| f.contains(&key)));
    }
    let fpr = passed / (filters as f64 * queries as f64);
    assert!((0.014..0.021).contains(&fpr), "{fpr}");
}

#[test]
fn s33_adaptation_drops_the_past() {
    let mut f = Forgetful::with_shape(2000, 3, 6, 150, Hasher::default()).unwrap();
    (0..2000u64).for_each(|key| _ = f.insert(&key));
    let before = f.now().fpr.unwrap();
    assert_eq!(f.adapt(1.0), 6, "low enough");
    let left = f.adapt(before / 2.0);
    assert!((1..6).contains(&left) && f.past() == left);
    assert!(f.now().fpr.unwrap() <= before / 2.0);
    f.keep(6).unwrap();
    assert_eq!(f.past(), 6);
    assert!(f.keep(1 << 30).is_err());
    f.insert("x");
    Age::age(&mut f, u64::MAX);
    assert!(!f.contains("x") && f.fill() == Some(0.0));
}

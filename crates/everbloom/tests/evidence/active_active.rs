//! §32, A² buffering.

use everbloom::decaying::ActiveActive;
use everbloom::decaying::active_active::{VARIANT, buffer_rate, overall_rate};
use everbloom::internals::filter::Seen;
use everbloom::internals::hash::Hasher;
use everbloom::{Goal, Load};

/// c = 1000, all keys new: 1000 to 1999 of the most recent ones.
#[test]
fn s32_between_one_and_two_capacities() {
    let mut f = ActiveActive::with_shape(40_000, 12, 1000, Hasher::default()).unwrap();
    let (mut least, mut most) = (u64::MAX, 0);
    for key in 0..10_000u64 {
        assert_eq!(f.insert(&key), Seen::New, "no false positive at so low a rate");
        let (young, old) = f.counts();
        if key >= 1000 {
            (least, most) = (least.min(young + old), most.max(young + old));
        }
        if key % 97 == 0 || young == 0 {
            let oldest = key + 1 - (young + old);
            assert!((oldest..=key).all(|key| f.contains(&key)), "{key}");
        }
    }
    assert_eq!((least, most), (1000, 1999));
}

#[test]
fn s32_rates_of_two_filters() {
    assert!((overall_rate(0.005, 0.005) - 0.009975).abs() < 1e-12);
    let each = buffer_rate(0.01);
    assert!((overall_rate(each, each) - 0.01).abs() < 1e-15);
    assert!((each - (1.0 - 0.99f64.sqrt())).abs() < 1e-15);
    let (mut passed, mut predicted, filters, queries) = (0.0, 0.0, 20, 20_000);
    for seed in 0..filters {
        let goal = Goal::new(1000, 0.01).seed(seed);
        let (shape, load) = (&goal, Load::items(1999));
        let expect = VARIANT.expect(shape, &load).unwrap().unwrap();
        assert!((expect.fpr / 0.01 - 1.0).abs() < 0.02, "{}: both nearly full", expect.fpr);
        let mut f = VARIANT.build_from(&goal, &[]).unwrap();
        let keys: Vec<_> = (0..1999u64).map(u64::to_le_bytes).collect();
        for key in &keys {
            f.as_insert().unwrap().insert(everbloom::Record::key(key)).unwrap();
        }
        assert!(keys[999..].iter().all(|key| f.contains(key)));
        passed +=
            (1u64 << 40..).take(queries).filter(|k| f.contains(&k.to_le_bytes())).count() as f64;
        predicted += f.now().fpr.unwrap();
    }
    let (fpr, predicted) = (passed / (filters as f64 * queries as f64), predicted / filters as f64);
    assert!((fpr / predicted - 1.0).abs() < 0.05, "{fpr} {predicted}");
    assert!((fpr - 0.01).abs() < 0.001, "{fpr}");
}

/// Twice as many keys as double buffering in the same memory, at best; equal at worst.
#[test]
fn s32_twice_double_buffering_at_best() {
    let mut a2 = ActiveActive::with_shape(20_000, 7, 1000, Hasher::default()).unwrap();
    let mut double =
        everbloom::decaying::DoubleBuffer::with_shape(20_000, 7, 1000, Hasher::default()).unwrap();
    let mut best = 0.0f64;
    for key in 0..10_000u64 {
        a2.insert(&key);
        double.insert(&key);
        let (young, old) = a2.counts();
        // Hits of double buffering, each a false positive, move its swaps by a few keys.
        assert!(key < 2000 || young + old + 10 >= double.counts().0, "equal at worst");
        best = best.max((young + old) as f64 / double.counts().0 as f64);
    }
    assert!(best > 1.9, "twice at best: {best}");
}

#[test]
fn s32_a_false_positive_keeps_itself_alive() {
    // One bit per key: every key is a false positive soon, and is then copied.
    let mut f = ActiveActive::with_shape(64, 1, 20, Hasher::default()).unwrap();
    (0..20u64).for_each(|key| _ = f.insert(&key));
    let lucky = (1000u64..).find(|key| f.contains(key)).unwrap();
    for round in 0..5u64 {
        assert_eq!(f.insert(&lucky), Seen::Maybe);
        (0..18).for_each(|key| _ = f.insert(&(5000 + 100 * round + key)));
    }
    assert!(f.contains(&lucky));
}

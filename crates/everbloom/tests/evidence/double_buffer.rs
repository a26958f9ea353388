//! §31, double buffering.

use everbloom::decaying::DoubleBuffer;
use everbloom::decaying::double_buffer::VARIANT;
use everbloom::internals::filter::{Filter, Seen};
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::bloom::fpr_asymptotic;
use everbloom::{Goal, Load};

/// c = 1000, all keys new: the active filter holds 500 to 999 of the most recent ones.
#[test]
fn s31_between_half_and_all_of_the_capacity() {
    let mut f = DoubleBuffer::with_shape(40_000, 7, 1000, Hasher::default()).unwrap();
    let (mut least, mut most) = (u64::MAX, 0);
    for key in 0..10_000u64 {
        assert_eq!(f.insert(&key), Seen::New, "no false positive at so low a rate");
        let (active, warm) = f.counts();
        if key >= 1000 {
            assert_eq!(active, 500 + (key + 1 - 1000) % 500);
            (least, most) = (least.min(active), most.max(active));
        }
        assert!(warm <= active);
        let oldest = key + 1 - active;
        if key % 37 == 0 {
            assert!((oldest..=key).all(|key| f.contains(&key)), "{key}");
            assert!(oldest < 20 || !(oldest - 20..oldest).all(|key| f.contains(&key)));
        }
    }
    assert_eq!((least, most), (500, 999));
}

/// Keys that come again and again stay known, and fill nothing.
#[test]
fn s31_repeats_are_not_counted() {
    let mut f = DoubleBuffer::with_shape(40_000, 7, 1000, Hasher::default()).unwrap();
    for round in 0..50u64 {
        for key in 0..400u64 {
            assert_eq!(f.insert(&key) == Seen::New, round == 0);
        }
    }
    assert_eq!(f.counts(), (400, 0));
}

#[test]
fn s31_the_rate_is_at_most_that_of_a_full_filter() {
    let (m, k, c) = (8000u64, 5, 1000u64);
    let bound = fpr_asymptotic(m as f64, c as f64, 5.0);
    let (mut passed, filters, queries, mut full) = (0.0, 20, 10_000, 0.0);
    for seed in 0..filters {
        let mut f = DoubleBuffer::with_shape(m, k, c, Hasher::seeded(seed)).unwrap();
        (0..5480u64).for_each(|key| _ = f.insert(&key));
        passed += (1u64 << 40..).take(queries).filter(|key| f.contains(key)).count() as f64;
        full += f.now().fpr.unwrap();
    }
    let (fpr, full) = (passed / (filters as f64 * queries as f64), full / filters as f64);
    assert!((fpr / full - 1.0).abs() < 0.05, "{fpr} {full}");
    assert!(fpr < bound && fpr > 0.6 * bound, "{fpr} {bound}: nearly full");
    let goal = Goal { items: Some(500), ..Goal::default() }.set("m", m).set("k", k);
    let expect = |n| VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
    assert!((expect(999).fpr / bound - 1.0).abs() < 0.01, "the fullest it gets");
    assert!((0..5000).all(|n| expect(n).fpr <= 1.001 * bound));
    assert_eq!(expect(500).fnr, 0.0);
    assert!((expect(2000).fnr - 0.75).abs() < 1e-9, "500 of 2000 keys");
}

#[test]
fn s31_planned_filters_find_the_last_n() {
    let mut f = DoubleBuffer::with_rate(300, 0.01).unwrap();
    for key in 0..20_000u64 {
        f.insert(&key);
        if key % 111 == 0 {
            assert!((key.saturating_sub(299)..=key).all(|key| f.contains(&key)), "{key}");
        }
    }
    assert!(f.now().fpr.unwrap() <= 0.0105);
    let m_alone = Goal::default().set("m", 100).set("k", 3);
    assert!(VARIANT.build_from(&m_alone, &[]).unwrap_err().to_string().contains("items"));
    assert!(DoubleBuffer::with_shape(100, 3, 1, Hasher::default()).is_err());
}

//! §9, variable-length signatures.

use everbloom::Kind;
use everbloom::deleting::VariableLength;
use everbloom::deleting::variable_length::{Signature, VARIANT};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;

const N: u64 = 5000;

const FULL: Signature = Signature { k: 8, t: 8, q: 8, d: 0 };
const SHORT: Signature = Signature { k: 8, t: 6, q: 5, d: 0 };

/// 5000 keys in 16 bits each.
fn filled(signature: Signature, form: &str, share: f64, seed: u64) -> VariableLength {
    let Signature { k, t, q, d } = signature;
    let builder = VariableLength::builder().seed(seed).form(form).set("share", share);
    let builder = builder.set("m", 16 * N).set("k", k).set("t", t).set("q", q).set("d", d);
    let mut filter = builder.build().expect("a filter");
    (0..N).for_each(|key| _ = filter.insert(&key));
    filter
}

/// (8, 8, 8): 0.000574; (8, 6, 5): ρ = 0.31271 and 0.06843.
#[test]
fn s9_false_positives() {
    let fill = |t: f64| 1.0 - (-t / 16.0f64).exp();
    assert!((FULL.fpr(fill(8.0)) - 0.000574).abs() < 0.5e-6);
    assert!((fill(6.0) - 0.31271).abs() < 0.5e-5);
    assert!((SHORT.fpr(fill(6.0)) - 0.06843).abs() < 0.5e-5);
    for (signature, printed) in [(FULL, 0.000574), (SHORT, 0.06843)] {
        let filter = filled(signature, "round-robin", 0.1, 1);
        assert!((0..N).all(|key| filter.contains(&key)), "nothing was cleared yet");
        let ones = filter.fill().expect("bits");
        assert!((ones - fill(f64::from(signature.t))).abs() < 5.0 * 0.001, "{ones}");
        let queries = if signature == FULL { 2_000_000 } else { 200_000 };
        let passed = (N..N + queries).filter(|key| filter.contains(key)).count() as u64;
        let now = filter.now().fpr.expect("a rate");
        let (low, high) = binomial_bounds(queries, now, 1e-9);
        assert!((low..=high).contains(&passed), "{passed}, {now} predicted");
        assert!((now / printed - 1.0).abs() < 0.1, "{now}");
    }
}

/// One insertion sets exactly t positions, but for those that meet.
#[test]
fn s9_an_insertion_sets_t_positions() {
    let mut ones = 0.0;
    for key in 0..1000u64 {
        let mut filter =
            VariableLength::with_shape(2000, SHORT, Hasher::default()).expect("a filter");
        filter.insert(&key);
        ones += filter.fill().expect("bits") * 2000.0;
        assert!(filter.length(&key) >= 6);
    }
    assert!((ones - 6000.0 + 1000.0 * 15.0 / 2000.0).abs() < 15.0, "{ones}");
}

/// Lost at s = 0.9: 0.0655, at s = 0.8: 0.2319; without the bits of others 0.11426 and 0.34464.
#[test]
fn s9_false_negatives_by_aging() {
    let fill = 0.31271;
    for (s, lost, alone, measured) in [(0.9, 0.0655, 0.11426, 0.065), (0.8, 0.2319, 0.34464, 0.225)]
    {
        assert!((SHORT.fnr(s, fill) - lost).abs() < 0.5e-4, "{}", SHORT.fnr(s, fill));
        assert!((SHORT.fnr(s, 0.0) - alone).abs() < 1e-5, "{}", SHORT.fnr(s, 0.0));
        // At random, w positions leave a one alone with (1 − 1/m)^w; in turn, the share that is left is exact.
        for (form, share) in [("random", -f64::ln(s)), ("round-robin", 1.0 - s)] {
            let (seeds, mut missing) = (6, 0);
            for seed in 0..seeds {
                let mut filter = filled(SHORT, form, share, seed);
                filter.age(1);
                assert_eq!(filter.now().fnr, None);
                missing += (0..N).filter(|key| !filter.contains(key)).count();
            }
            let rate = missing as f64 / (seeds * N) as f64;
            assert!((rate - measured).abs() < 0.06 * measured + 0.006, "{form} {s}: {rate}");
        }
    }
}

/// In turn, 1/share ticks clear everything once; bits set meanwhile behind the window stay.
#[test]
fn s9_windows_go_round() {
    let mut filter = filled(SHORT, "round-robin", 0.125, 0);
    for tick in 1..=8 {
        filter.age(1);
        let left = filter.fill().expect("bits") / 0.31271;
        assert!((left - (1.0 - f64::from(tick) / 8.0)).abs() < 0.02, "{tick}: {left}");
    }
    assert_eq!(filter.fill(), Some(0.0));
}

/// A removal leaves at most d ones; others lose bits, some of them so many that they are lost.
#[test]
fn s9_removal() {
    for d in [0, 3] {
        let mut filter = filled(Signature { d, ..SHORT }, "round-robin", 0.1, 2);
        for key in 0..500u64 {
            if filter.remove(&key).is_ok() {
                assert!(filter.length(&key) <= d && !filter.contains(&key));
            }
        }
        let lost = (500..N).filter(|key| !filter.contains(key)).count();
        assert!((1..900).contains(&lost), "{d}: {lost} others were lost");
        assert_eq!(filter.remove(&0u64).expect_err("gone").kind(), Kind::NotDeletable);
    }
    // Keeping three ones takes fewer bits from others.
    let lost = |d: u32| {
        let mut filter = filled(Signature { d, ..SHORT }, "round-robin", 0.1, 3);
        (0..1000u64).for_each(|key| _ = filter.remove(&key));
        (1000..N).filter(|key| !filter.contains(key)).count()
    };
    assert!(lost(3) < lost(0), "{} {}", lost(3), lost(0));
}

/// Whoever is found after a tick gets its bits back: nobody who is seen between ticks is lost.
#[test]
fn s9_recovery() {
    let mut filter = filled(SHORT, "random", 0.02, 4);
    let mut without = filter.clone();
    let (mut seen, mut unseen) = (0, 0);
    for _ in 0..20 {
        filter.age(1);
        without.age(1);
        seen = (0..500u64).filter(|key| filter.recover(key)).count();
        unseen = (0..500u64).filter(|key| without.contains(key)).count();
    }
    assert!(seen >= 450 && unseen < 350, "{seen} {unseen}");
    assert!(!filter.recover("never seen, at 16 bits a key") || filter.length("x") <= 8);
}

/// The number of ones tells how often a flow was lengthened, a little too high for the bits of others.
#[test]
fn s9_length_is_a_hint() {
    let signature = Signature { k: 20, t: 6, q: 5, d: 0 };
    let mut filter =
        VariableLength::with_shape(80_000, signature, Hasher::default()).expect("a filter");
    (0..1000u64).for_each(|key| _ = filter.insert(&key));
    for key in 0..1000u64 {
        (0..key % 15).for_each(|_| _ = filter.lengthen(&key));
    }
    let mut sums = [0.0; 15];
    for key in 0..1000u64 {
        let length = filter.length(&key);
        assert!(u64::from(length) >= 6 + key % 15, "{key}: {length}");
        sums[(key % 15) as usize] += f64::from(length) / (1000.0 / 15.0);
    }
    assert!(sums.windows(2).all(|pair| pair[0] < pair[1]), "{sums:?}");
    assert!(!filter.lengthen(&14u64), "all of its positions are set");
}

/// Planned by rate; t, q and d by hand only in their order.
#[test]
fn s9_planned() {
    for p in [0.05, 0.01, 1e-6] {
        let goal = Goal::new(10_000, p);
        let expect =
            VARIANT.expect(&goal, &Load::items(10_000)).expect("a shape").expect("a formula");
        assert!(expect.fpr <= 1.001 * p && expect.fpr > 0.98 * p, "{p}: {}", expect.fpr);
    }
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).expect_err("out of order").kind();
    for (t, q, d) in [(9, 5, 0), (6, 7, 0), (6, 5, 5)] {
        let goal = Goal::new(100, 0.01).set("k", 8).set("t", t).set("q", q).set("d", d);
        assert_eq!(refused(goal), Kind::BadParameter);
    }
    let filter = VARIANT.build_from(&Goal::new(100, 0.01).set("t", 9), &[]).expect("a filter");
    let fact = |name| filter.describe().into_iter().find(|fact| fact.name == name).expect("a fact");
    assert_eq!(
        (fact("t").value.to_string(), fact("q").value.to_string()),
        ("9".into(), "8".into())
    );
    assert_eq!(filter.head().items, 0);
}

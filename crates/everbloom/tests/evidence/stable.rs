//! §27, the stable filter.

use everbloom::decaying::Stable;
use everbloom::decaying::stable::{VARIANT, decrements_for, stable_zeros};
use everbloom::internals::filter::{Filter, Record, Seen};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Expect, Goal, Load};

fn filter(m: u64, k: u32, max_bits: u32, decrements: u64, seed: u64) -> Stable {
    Stable::with_shape(m, k, max_bits, decrements, Hasher::seeded(seed)).unwrap()
}

fn insert(filter: &mut Stable, keys: std::ops::Range<u64>) {
    keys.for_each(|key| {
        filter.insert(&key);
    });
}

/// The goal for exactly this shape.
fn goal(m: u64, k: u32, max_bits: u32, decrements: u64) -> Goal {
    Goal::default().set("m", m).set("k", k).set("max-bits", max_bits).set("decrements", decrements)
}

fn expect(goal: &Goal, n: u64) -> Expect {
    VARIANT.expect(goal, &Load::items(n)).unwrap().unwrap()
}

#[test]
fn s27_decrements_of_eq_18() {
    let m = 1e6;
    for (k, max, decrements, up, fpr) in [
        (3.0, 1.0, 10.925, 11.0, 0.009840),
        (3.0, 3.0, 35.613, 36.0, 0.009728),
        (6.0, 1.0, 6.927, 7.0, 0.009666),
    ] {
        let p = decrements_for(0.01, m, k, max);
        assert!((p - decrements).abs() < 5e-4, "{p}");
        assert_eq!(p.ceil(), up);
        let stable = (1.0 - stable_zeros(m, k, max, up)).powf(k);
        assert!((stable - fpr).abs() < 5e-7, "{stable}");
        let built = VARIANT.build_from(
            &Goal { fpr: Some(0.01), ..Goal::default() }
                .set("m", 1_000_000)
                .set("k", k)
                .set("max-bits", (max + 1.0).log2()),
            &[],
        );
        let facts = built.unwrap().describe();
        assert!(facts.contains(&everbloom::internals::filter::fact("decrements", up as u64)));
    }
}

#[test]
fn s27_stable_point() {
    let zeros = stable_zeros(5000.0, 3.0, 3.0, 10.0);
    assert!((zeros - 0.4550).abs() < 5e-5);
    assert!(((1.0 - zeros).powi(3) - 0.1619).abs() < 5e-5);
    let mut f = filter(5000, 3, 2, 10, 1);
    insert(&mut f, 0..20_000);
    let (snapshots, queries) = (100, 4000);
    let (mut z, mut passed, mut spread) = (0.0, 0, 0.0);
    for i in 0..snapshots {
        let start = 20_000 + i * 1000;
        insert(&mut f, start..start + 1000);
        let now = 1.0 - f.fill().unwrap();
        z += now / snapshots as f64;
        spread += (now - zeros).powi(2) / snapshots as f64;
        passed += ((1 << 40)..(1 << 40) + queries).filter(|key| f.contains(key)).count();
    }
    assert!((z - 0.4554).abs() < 0.004, "{z}");
    let fpr = passed as f64 / (snapshots * queries) as f64;
    assert!((fpr - 0.1616).abs() < 0.004, "{fpr}");
    assert!((0.0045..0.0075).contains(&spread.sqrt()), "one snapshot by 0.006: {}", spread.sqrt());
}

#[test]
fn s27_order_is_query_decrement_set() {
    // With P = m and Max = 1 every arrival empties the filter before it sets.
    for seed in 0..200 {
        let mut f = filter(100, 3, 1, 100, seed);
        assert_eq!(f.insert("x"), Seen::New);
        assert!(f.contains("x"), "set after decrementing");
        assert_eq!(f.insert("x"), Seen::Maybe, "asked before decrementing");
        assert!(f.cells().iter().filter(|&c| c == 1).count() <= 3);
        f.insert("y");
        f.insert("z");
        // Only z is left; x would have to share its cells.
        assert!(f.contains("z") && !f.contains("x") && !f.contains("y"), "seed {seed}");
    }
}

#[test]
fn s27_cells_touched() {
    for k in [1, 3, 8] {
        let cells = |seed| {
            let mut f = filter(1 << 16, k, 2, 10, seed);
            f.insert("x");
            assert!(f.cells().iter().all(|c| c == 0 || c == 3), "set to Max, not counted up");
            f.cells().iter().filter(|&c| c == 3).count() as u64
        };
        let sum: u64 = (0..100).map(cells).sum();
        assert!((100 * u64::from(k) - 2..=100 * u64::from(k)).contains(&sum), "{k}: {sum}");
    }
}

#[test]
fn s27_fill_on_the_way_and_its_spread() {
    for (m, k, d, p) in [(5000, 3, 2, 10), (5000, 3, 1, 11), (3000, 10, 2, 70), (2000, 6, 4, 142)] {
        let goal = goal(m, k, d, p);
        for n in [m / 200, m / 20, m / 4, 2 * m] {
            let filters = 100;
            let fill = |seed| {
                let mut f = filter(m, k, d, p, seed);
                insert(&mut f, 0..n);
                f.fill().unwrap()
            };
            let fills: Vec<f64> = (0..filters).map(fill).collect();
            let mean = fills.iter().sum::<f64>() / filters as f64;
            let var = fills.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / filters as f64;
            let (want, sd) = expect(&goal, n).fill.unwrap();
            let at =
                format!("m {m} k {k} d {d} P {p} n {n}: {mean} ± {}, {want} ± {sd}", var.sqrt());
            assert!((mean - want).abs() < 4.5 * sd / (filters as f64).sqrt(), "{at}");
            assert!(var.sqrt() < 1.2 * sd, "{at}");
            // Settled, the bound is not far off either.
            assert!(n < 2 * m || var.sqrt() > 0.45 * sd, "{at}");
        }
    }
}

#[test]
fn s27_false_negatives_by_age() {
    let (m, k, d, p, n) = (4000, 4, 2, 30, 400);
    let (filters, mut lost) = (200, vec![0.0; n as usize]);
    for seed in 0..filters {
        let mut f = filter(m, k, d, p, seed);
        insert(&mut f, 0..n);
        (0..n).for_each(|age| lost[age as usize] += f64::from(!f.contains(&(n - 1 - age))));
    }
    assert_eq!(lost[0], 0.0, "the last key is never missed");
    let mean = |range: std::ops::Range<usize>| {
        let len = range.len() as f64;
        lost[range].iter().sum::<f64>() / (len * filters as f64)
    };
    let predicted = |n| expect(&goal(m, k, d, p), n).fnr;
    // The mean over the first g ages, for windows within and at the load.
    for g in [50, 100, 200, 400] {
        let (measured, want) = (mean(0..g as usize), predicted(g));
        // Keys of one filter are lost together: 200 filters count, not 200·g keys.
        assert!((measured - want).abs() < 0.04 * want + 0.002, "{g}: {measured} {want}");
    }
    assert!(predicted(1_000_000) > 0.9, "old keys are forgotten");
}

#[test]
fn s27_planned_filters_keep_window_and_rate() {
    for (n, p, fnr) in [(2000, 0.01, 0.1), (500, 0.1, 0.3), (1000, 0.05, 0.02)] {
        let goal = Goal::new(n, p).set("fnr", fnr);
        let expected = expect(&goal, n).fnr;
        assert!(expected <= fnr && expected > 0.9 * fnr, "{expected} for {fnr}");
        // Long after the start the rate is stable, and the window is as well known as at first.
        let (mut lost, mut passed, filters, queries) = (0, 0, 20, 5000);
        for seed in 0..filters {
            let mut f = VARIANT.build_from(&goal.clone().seed(seed), &[]).unwrap();
            assert_eq!((f.head().fpr, f.head().fnr), (Some(p), Some(fnr)));
            let arrivals = 20 * n;
            let keys: Vec<_> = (0..arrivals).map(u64::to_le_bytes).collect();
            let records: Vec<_> = keys.iter().map(|k| Record::key(k)).collect();
            f.as_insert().unwrap().insert_all(&records).unwrap();
            let window = keys.iter().rev().take(n as usize);
            lost += window.filter(|k| !f.contains(*k)).count() as u64;
            let foreign = (1u64 << 40..).take(queries);
            passed += foreign.filter(|k| f.contains(&k.to_le_bytes())).count();
        }
        let measured = lost as f64 / (filters * n) as f64;
        assert!((measured / expected - 1.0).abs() < 0.06, "{n}: {measured} {expected}");
        let fpr = passed as f64 / (filters as usize * queries) as f64;
        assert!(fpr < 1.05 * p + 4.0 * (p / (filters as usize * queries) as f64).sqrt(), "{fpr}");
        assert!(fpr > 0.8 * p, "{fpr}: more zeros than the rate asks for");
    }
}

#[test]
fn s27_refusals() {
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).unwrap_err().to_string();
    assert!(refused(goal(5, 5, 2, 1)).contains("probes"));
    assert!(refused(goal(20, 3, 2, 21)).contains("decrements"));
    // So small a rate that a few cells would all have to be decremented every time.
    let tiny = Goal::new(10, 1e-12).set("m", 20).set("k", 3);
    assert!(refused(tiny).contains("decrements"));
    let few = Goal::new(1000, 1e-6).set("decrements", 2);
    assert!(VARIANT.build_from(&few, &[]).is_err());
    let hand = Goal::new(1000, 0.01).set("m", 50_000).set("k", 3).set("decrements", 20);
    let target = VARIANT.build_from(&hand, &[]).unwrap().head().fpr.unwrap();
    assert!((target - (1.0 - stable_zeros(5e4, 3.0, 3.0, 20.0)).powi(3)).abs() < 1e-12);
    assert!(Stable::with_shape(0, 1, 2, 1, Hasher::default()).is_err());
    assert!(Stable::with_shape(10, 0, 2, 1, Hasher::default()).is_err());
    assert!(Stable::with_shape(10, 1, 9, 1, Hasher::default()).is_err());
    assert!(Stable::with_shape(10, 1, 2, 0, Hasher::default()).is_err());
}

#[test]
fn s27_memory_in_place_of_window_or_rate() {
    let memory = Goal { bits: Some(1_000_000), ..Goal::default() };
    let windows = Goal { fpr: Some(0.01), ..memory.clone() };
    let fit = expect(&windows, 1);
    assert!(fit.bits <= 1_000_000 && fit.bits > 990_000, "{}", fit.bits);
    let rates = Goal { items: Some(20_000), ..memory };
    let fit = expect(&rates, 20_000);
    assert!(fit.bits <= 1_000_000 && fit.bits > 900_000, "{}", fit.bits);
    // Between two whole numbers of decrements the rate moves in steps, and the rest shows here.
    assert!(fit.fnr <= 0.105, "{}", fit.fnr);
    let planned = VARIANT.build_from(&rates, &[]).unwrap().head().fnr.unwrap();
    assert!((planned - fit.fnr).abs() < 1e-9);
}

#[test]
fn s27_small_windows_can_be_planned() {
    for n in 1..30 {
        for p in [0.5, 0.1, 0.01, 1e-4] {
            let expected = expect(&Goal::new(n, p), n);
            assert!(expected.fnr <= 0.1, "{n} {p}: {expected:?}");
        }
    }
}

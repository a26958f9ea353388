//! §37, the invertible Bloom filter and its strata estimator.

use std::thread;

use everbloom::Kind;
use everbloom::internals::file::{Opener, to_bytes};
use everbloom::internals::filter::{Filter, Record, Verdict};
use everbloom::internals::hash::{Generator, Hasher, mix64};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::peeling::{THRESHOLDS, cells_for};
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::reconciling::Invertible;
use everbloom::reconciling::invertible::{MARGIN, VARIANT};

/// How many of `runs` succeed, split over two threads.
fn successes(runs: u64, run: impl Fn(u64) -> bool + Sync) -> u64 {
    let run = &run;
    let half = move |odd| (0..runs).filter(|r| r % 2 == odd).filter(|&r| run(r)).count() as u64;
    thread::scope(|s| {
        let other = s.spawn(move || half(1));
        half(0) + other.join().expect("the runs of one thread")
    })
}

/// A difference of `d` ids, spread over both sides, into an empty filter.
fn differ(mut filter: Invertible, d: u64, run: u64) -> Invertible {
    for i in 0..d {
        let id = mix64(run << 24 | i);
        if i % 3 == 0 { filter.remove_id(id) } else { _ = filter.insert_id(id) }
    }
    filter
}

fn decodes(d: u64, cells: u64, k: u32, runs: u64) -> f64 {
    let ok = successes(runs, |run| {
        let filter = differ(Invertible::with_shape(cells, k, Hasher::seeded(run)).unwrap(), d, run);
        match filter.decode() {
            Ok(difference) => {
                let (ours, theirs) = (difference.ours.len() as u64, difference.theirs.len() as u64);
                assert_eq!((ours, theirs), (d - d.div_ceil(3), d.div_ceil(3)));
                true
            }
            Err(e) => {
                assert_eq!(e.kind(), Kind::Undecodable);
                false
            }
        }
    });
    ok as f64 / runs as f64
}

#[test]
fn s37_success_rates() {
    for (d, cells, k, printed, runs) in [
        (5, 20, 4, 0.984, 8_000),
        (10, 32, 4, 0.988, 8_000),
        (20, 52, 4, 0.9925, 8_000),
        (50, 100, 4, 0.997, 8_000),
        (100, 152, 4, 0.9915, 8_000),
        (100, 150, 3, 0.945, 8_000),
        (500, 752, 4, 0.9999, 2_000),
        (500, 750, 3, 0.9935, 4_000),
        (2000, 2700, 3, 0.998, 500),
    ] {
        let rate = decodes(d, cells, k, runs);
        let tolerance = 4.0 * (printed * (1.0 - printed) / runs as f64).sqrt() + 0.002;
        assert!((rate - printed).abs() <= tolerance, "d = {d} in {cells}, k = {k}: {rate}");
    }
}

#[test]
fn s37_below_the_threshold_nothing_decodes() {
    assert_eq!(decodes(2000, 2301, 3, 100), 0.0);
    for (k, threshold) in (3..).zip(THRESHOLDS) {
        let cells = |factor: f64| (factor * threshold * 20_000.0) as u64;
        assert_eq!(decodes(20_000, cells(0.97), k, 6), 0.0, "k = {k}");
        assert_eq!(decodes(20_000, cells(1.03), k, 6), 1.0, "k = {k}");
    }
}

#[test]
fn s37_thresholds_are_the_least_of_their_formula() {
    // c(k) = min over x of x / (k (1 − e^{−x})^{k−1}), cells per id being 1/c.
    for (k, threshold) in (3..).zip(THRESHOLDS) {
        let load = |i: u32| {
            let x = f64::from(i) * 1e-4;
            x / (f64::from(k) * (1.0 - (-x).exp()).powi(k - 1))
        };
        let least = (1..100_000).map(load).fold(f64::INFINITY, f64::min);
        assert!((1.0 / least - threshold).abs() < 1e-4, "k = {k}: {}", 1.0 / least);
    }
}

#[test]
fn s37_planned_filters_fail_no_more_often_than_asked() {
    for (d, p, k, runs) in [
        (1, 0.01, 4, 1_000),
        (2, 0.01, 4, 6_000),
        (5, 0.01, 4, 6_000),
        (10, 0.01, 4, 6_000),
        (20, 0.01, 4, 6_000),
        (50, 0.01, 4, 6_000),
        (100, 0.01, 4, 6_000),
        (500, 0.01, 4, 1_000),
        (2000, 0.01, 4, 500),
        (20, 0.001, 4, 12_000),
        (100, 0.001, 4, 8_000),
        (50, 0.1, 3, 4_000),
        (50, 0.01, 5, 4_000),
        (20, 0.01, 7, 4_000),
    ] {
        let segment = (cells_for(d, p, k) / f64::from(k)).ceil() as u64;
        let failures = 1.0 - decodes(d, segment * u64::from(k), k, runs);
        let failed = (failures * runs as f64).round() as u64;
        let (_, most) = binomial_bounds(runs, p, 1e-4);
        assert!(failed <= most, "d = {d}, p = {p}, k = {k}: {failed} of {runs} failed");
    }
    // And the cells are not squandered: the paper's 1.5 per id for large differences.
    assert!(cells_for(500, 0.01, 4) < 750.0 && cells_for(100_000, 0.01, 4) < 131_000.0);
}

/// The estimates of `runs` differences of `d` ids, sorted.
fn estimates(d: u64, runs: u64) -> Vec<u64> {
    let estimate = |run: u64| {
        differ(Invertible::estimator(Hasher::seeded(run)).unwrap(), d, run)
            .estimate()
            .expect("an estimate")
    };
    let mut all = thread::scope(|s| {
        let other = s.spawn(move || (0..runs / 2).map(estimate).collect::<Vec<_>>());
        let mut all: Vec<_> = (runs / 2..runs).map(estimate).collect();
        all.extend(other.join().expect("the runs of one thread"));
        all
    });
    all.sort_unstable();
    all
}

#[test]
fn s37_strata_are_exact_for_small_differences() {
    for (d, runs, printed) in [(0, 20, 1.0), (20, 4000, 1.0), (50, 4000, 0.998), (100, 2000, 0.905)]
    {
        let exact = estimates(d, runs).iter().filter(|e| **e == d).count() as f64 / runs as f64;
        let tolerance = 4.0 * (printed * (1.0 - printed) / runs as f64).sqrt() + 0.002;
        assert!((exact - printed).abs() <= tolerance, "d = {d}: exact in {exact}");
    }
}

#[test]
fn s37_strata_estimate_large_differences() {
    for (d, runs, mean, low, high) in
        [(1000, 2000, 0.978, 0.80, 1.17), (10_000, 600, 1.00, 0.83, 1.19)]
    {
        let all: Vec<f64> = estimates(d, runs).iter().map(|e| *e as f64 / d as f64).collect();
        let average = all.iter().sum::<f64>() / runs as f64;
        // The spread of one estimate is 0.11.
        assert!((average - mean).abs() < 4.0 * 0.11 / (runs as f64).sqrt() + 0.005, "{average}");
        let at = |q: f64| all[(q * runs as f64) as usize];
        assert!((at(0.05) - low).abs() < 0.03 && (at(0.95) - high).abs() < 0.03, "d = {d}");
        enough_with_margin(d, &all);
    }
    for (d, runs) in [(100, 1000), (50_000, 150)] {
        let all: Vec<f64> = estimates(d, runs).iter().map(|e| *e as f64 / d as f64).collect();
        enough_with_margin(d, &all);
    }
}

/// P(1.38·estimate ≥ d) is 0.987 to 0.998 for d = 100 to 50,000.
fn enough_with_margin(d: u64, ratios: &[f64]) {
    let enough = ratios.iter().filter(|e| **e * MARGIN >= 1.0).count() as u64;
    let (least, _) = binomial_bounds(ratios.len() as u64, 0.987, 1e-4);
    assert!(enough >= least, "d = {d}: {enough} of {}", ratios.len());
}

#[test]
fn s37_every_key_touches_k_cells_of_one_stratum() {
    let mut strata = [0u64; 32];
    for key in 0..1000u64 {
        let mut cells = Invertible::with_shape(64, 4, Hasher::default()).unwrap();
        cells.insert(&key);
        assert_eq!(cells.fill(), Some(4.0 / 64.0));
        let mut estimator = Invertible::estimator(Hasher::default()).unwrap();
        estimator.insert(&key);
        assert_eq!(estimator.fill(), Some(4.0 / 2560.0));
        // Keys are found in the stratum where they are, which now() weighs by its share.
        let share = estimator.now().fpr.expect("a rate") * 20f64.powi(4);
        strata[(-share.log2()).round() as usize - 1] += 1;
    }
    assert!((437..=563).contains(&strata[0]) && (195..=305).contains(&strata[1]), "{strata:?}");
}

#[test]
fn s37_fill_and_rate_follow_the_formulas() {
    for (form, n) in [("cells", 100), ("cells", 3000), ("strata", 50), ("strata", 3000)] {
        let goal = Goal::new(n, 0.01).set("form", form);
        let expect = VARIANT.expect(&goal, &Load::items(n)).expect("a plan").expect("a formula");
        let (mean, sd) = expect.fill.expect("a fill");
        let seeds = 200u64;
        let (mut fills, mut fpr) = (Vec::new(), 0.0);
        for seed in 0..seeds {
            let keys: Vec<[u8; 8]> = (0..n).map(|i| mix64(seed << 32 | i).to_le_bytes()).collect();
            let records: Vec<_> = keys.iter().map(|k| Record::key(k)).collect();
            let filter = VARIANT.build_from(&goal.clone().seed(seed), &records).expect("a filter");
            assert!(keys.iter().all(|key| filter.contains(key)));
            fills.push(filter.fill().expect("a fill"));
            fpr += filter.now().fpr.expect("a rate") / seeds as f64;
            assert_eq!(filter.memory().cells, expect.bits);
        }
        let average = fills.iter().sum::<f64>() / seeds as f64;
        let spread =
            (fills.iter().map(|f| (f - average).powi(2)).sum::<f64>() / seeds as f64).sqrt();
        assert!(
            (average - mean).abs() < 5.0 * sd / (seeds as f64).sqrt(),
            "{form}: {average} {mean}"
        );
        // The deviation of 200 fills is itself known to 5 %.
        assert!((spread / sd - 1.0).abs() < 0.25, "{form}, n = {n}: {spread}, {sd} predicted");
        assert!((fpr / expect.fpr - 1.0).abs() < 0.05, "{form}: {fpr}, {} predicted", expect.fpr);
    }
}

#[test]
fn s37_foreign_keys_pass_as_predicted() {
    for form in ["cells", "strata"] {
        let goal = Goal::new(300, 0.01).set("form", form);
        let keys: Vec<[u8; 8]> = (0..300u64).map(u64::to_le_bytes).collect();
        let records: Vec<_> = keys.iter().map(|k| Record::key(k)).collect();
        let filter = VARIANT.build_from(&goal, &records).expect("a filter");
        let queries = 200_000;
        let passed = (0..queries)
            .filter(|i| filter.contains(format!("foreign {i}").as_bytes()))
            .count() as u64;
        let (least, most) = binomial_bounds(queries, filter.now().fpr.expect("a rate"), 1e-6);
        assert!((least..=most).contains(&passed), "{form}: {passed} not in {least}..={most}");
    }
}

/// Segments of a single cell: every id is in every cell, so a mixture has nowhere to show but in the
/// check. A linear check would call it pure and decode the xor of the three ids.
#[test]
fn s37_a_count_of_one_with_three_ids_is_not_pure() {
    let mut random = Generator::new(37);
    for _ in 0..1000 {
        let mut filter = Invertible::with_shape(4, 4, Hasher::default()).unwrap();
        filter.insert_id(random.next_u64());
        filter.insert_id(random.next_u64());
        filter.remove_id(random.next_u64());
        assert_eq!(filter.decode().map_err(|e| e.kind()), Err(Kind::Undecodable));
    }
}

#[test]
fn s37_id_zero_works() {
    let mut filter = Invertible::with_shape(40, 4, Hasher::default()).unwrap();
    assert!(!filter.contains_id(0));
    filter.insert_id(0);
    assert!(filter.contains_id(0));
    assert_eq!(filter.decode().expect("one id").ours, [0]);
    filter.remove_id(0);
    filter.remove_id(0);
    assert_eq!(filter.decode().expect("one id").theirs, [0]);
}

#[test]
fn s37_an_id_inserted_twice_is_reported_not_dropped() {
    let mut filter = Invertible::with_shape(40, 4, Hasher::default()).unwrap();
    filter.insert("x");
    filter.insert("x");
    assert_eq!(filter.count("x"), 2);
    assert!(filter.contains("x"));
    let error = filter.decode().expect_err("a multiset");
    assert!(error.to_string().contains("more than once"), "{error}");
    assert_eq!(filter.estimate().map_err(|e| e.kind()), Err(Kind::Undecodable));
}

#[test]
fn s37_subtraction_refuses_other_shapes_and_seeds_and_changes_nothing() {
    let mut filter = Invertible::with_shape(80, 4, Hasher::default()).unwrap();
    filter.insert("x");
    let before = filter.clone();
    let mut strata = Goal::new(10, 0.01).set("form", "strata").set("strata", 31);
    let mut strata_of = |layers: u32| {
        strata = strata.clone().set("strata", layers);
        VARIANT.build_from(&strata, &[]).expect("a filter")
    };
    for (other, what) in [
        (Invertible::with_shape(80, 4, Hasher::seeded(1)).unwrap(), "seed"),
        (Invertible::with_shape(84, 4, Hasher::default()).unwrap(), "m"),
        (Invertible::with_shape(80, 5, Hasher::default()).unwrap(), "k"),
        (Invertible::estimator(Hasher::default()).unwrap(), "form"),
    ] {
        let refused = filter.subtract(&other).expect_err("filters that differ");
        assert_eq!(refused.kind(), Kind::Incompatible { what });
        assert_eq!(filter.add(&other).map_err(|e| e.kind()), Err(refused.kind()));
        assert_eq!(filter, before);
    }
    let (many, few) = (strata_of(32), strata_of(31));
    let refused = many.as_reconcile().expect("an ability").minus(few.as_ref()).map(drop);
    let what = "number of strata";
    assert_eq!(refused.map_err(|e| e.kind()), Err(Kind::Incompatible { what }));
}

#[test]
fn s37_large_sets_with_a_small_difference_reconcile() {
    let (mut ours, mut theirs) = (
        Invertible::with_rate(60, 0.001).expect("a plan"),
        Invertible::with_rate(60, 0.001).expect("a plan"),
    );
    (0..50_000u64).for_each(|key| _ = ours.insert(&key));
    (20..50_040u64).for_each(|key| _ = theirs.insert(&key));
    ours.subtract(&theirs).expect("equal shapes");
    let difference = ours.decode().expect("a small difference");
    let ids = |keys: std::ops::Range<u64>| {
        let mut ids: Vec<u64> = keys.map(|key| ours.id(&key)).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(difference.ours, ids(0..20));
    assert_eq!(difference.theirs, ids(50_000..50_040));
    assert_eq!(ours.estimate().expect("decodable"), 60);
    assert_eq!(
        ours.query(Record::key(&0u64.to_le_bytes())).expect("an answer").verdict,
        Verdict::Present
    );
    let opened: Invertible = Opener::new().decode_as(&to_bytes(&ours)).expect("our own bytes");
    assert_eq!(opened, ours);
    // Adding their cells back restores our set.
    ours.add(&theirs).expect("equal shapes");
    assert!((0..50_000u64).all(|key| ours.contains(&key)));
}

#[test]
fn s37_the_plan_fits_the_memory_and_keeps_the_rate_of_failures() {
    let room = 8 * 100_000;
    let goal = Goal { bits: Some(room), ..Goal::default() };
    let filter = VARIANT.build_from(&goal, &[]).expect("a filter");
    assert!(filter.memory().cells <= room && filter.memory().cells > room - 20 * 192);
    assert_eq!(filter.head().fpr, Some(0.01));
    let strata = Goal { bits: Some(1000), ..Goal::default() }.set("form", "strata");
    assert!(VARIANT.build_from(&strata, &[]).is_err());
    let huge = Goal::new(1 << 50, 0.01);
    assert!(VARIANT.build_from(&huge, &[]).is_err());
}

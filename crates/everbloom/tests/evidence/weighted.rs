//! §14, the weighted Bloom filter.

use everbloom::internals::filter::{Filter, Record, Value};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::internals::theory::weights::best_probes;
use everbloom::internals::variant::Inputs;

use everbloom::weighted::WeightedBloom;
use everbloom::weighted::weighted_bloom::VARIANT;

/// The entry's example: 10,000 keys, each a member with x = 0.1; 1000 hot ones receive 90 % of the queries.
fn weight(key: u64) -> f64 {
    if key.is_multiple_of(10) { 81.0 } else { 1.0 }
}

fn keys(members: bool) -> impl Iterator<Item = (u64, f64)> {
    (0..10_000).filter(move |key| (key / 10 % 10 == 0) == members).map(|key| (key, weight(key)))
}

fn example() -> WeightedBloom {
    WeightedBloom::from_weights(keys(true), keys(false), 10_000).expect("a filter")
}

/// k_hot = 12.637, k_cold = 6.297; a weighted rate of 0.001413 against 0.008193, 5.80 times less.
#[test]
fn s14_the_formula() {
    // Members, and queries of non-members, per class: hot and cold.
    let classes = [(100.0, 0.9 * 0.9), (900.0, 0.1 * 0.9)];
    let probes = best_probes(10_000.0, &classes);
    assert!((probes[0] - 12.637).abs() < 0.0005, "{probes:?}");
    assert!((probes[1] - 6.297).abs() < 0.0005, "{probes:?}");
    let used: f64 = classes.iter().zip(&probes).map(|((n, _), k)| n * k).sum();
    assert!((used - 10_000.0 * std::f64::consts::LN_2).abs() < 1e-6);
    let rate = 0.9 * (-probes[0]).exp2() + 0.1 * (-probes[1]).exp2();
    assert!((rate - 0.001413).abs() < 0.5e-6, "{rate}");
    let standard = bloom::fpr_best(10.0);
    assert!((standard - 0.008193).abs() < 1e-6, "{standard}");
    assert!((standard / rate - 5.80).abs() < 0.005);
    // With whole numbers 13 and 6.
    let fill = 1.0 - (-0.67f64).exp();
    assert!((fill - 0.48829).abs() < 0.5e-5);
    assert!((0.9 * fill.powi(13) + 0.1 * fill.powi(6) - 0.001436).abs() < 0.5e-6);
}

/// Equal frequencies and chances give the standard filter.
#[test]
fn s14_the_degenerate_case() {
    for k in best_probes(10_000.0, &[(1000.0, 1.0)]) {
        assert!((k - 10.0 * std::f64::consts::LN_2).abs() < 1e-12);
    }
    let even = |members| keys(members).map(|(key, _)| (key, 3.0));
    let filter = WeightedBloom::from_weights(even(true), even(false), 10_000).expect("a filter");
    assert_eq!((filter.classes().len(), filter.probes(Some(3.0))), (1, 7));
}

#[test]
fn s14_the_example_built() {
    let filter = example();
    let classes: Vec<_> =
        filter.classes().iter().map(|c| (c.members, c.others, c.probes)).collect();
    assert_eq!(classes, [(900, 8100, 6), (100, 900, 13)]);
    let fill = filter.fill().expect("bits");
    assert!((fill - 0.48829).abs() < 5.0 * bloom::fill_sd(10_000.0, 6700.0), "{fill}");
    assert!((filter.weighted_fpr() - 0.001436).abs() < 0.0003, "{}", filter.weighted_fpr());
    assert!((filter.cost() - 6.7).abs() < 1e-9);
    // Members are found with their weight, with another one, and without.
    for (key, weight) in keys(true) {
        for asked in [Some(weight), None, Some(1000.0)] {
            assert!(filter.contains(&key, asked).expect("a weight"), "{key}");
        }
    }
    // Held-out queries: 90 % for hot keys.
    let (mut random, queries, mut passed) = (Generator::new(14), 1_000_000, 0);
    for key in 10_000..10_000 + queries {
        let weight = if random.unit() < 0.9 { 81.0 } else { 1.0 };
        passed += u64::from(filter.contains(&key, Some(weight)).expect("a weight"));
    }
    let (low, high) = binomial_bounds(queries, filter.weighted_fpr(), 1e-9);
    assert!((low..=high).contains(&passed), "{passed}");
    // The standard filter of the same bits lets more than five times as many pass.
    assert!((passed as f64) < 0.2 * 0.008194 * queries as f64 * 1.05);
}

/// Rates by class, from the real fill; a query without a weight checks the fewest probes of a member.
#[test]
fn s14_rates_by_class() {
    let filter = example();
    assert_eq!(filter.probes(None), 6);
    for asked in [Some(1.0), Some(81.0), None, Some(1e9)] {
        let rate = filter.fpr_at(asked);
        let queries = if asked == Some(81.0) { 2_000_000 } else { 100_000 };
        let passes = |key: &u64| filter.contains(key, asked).expect("a weight");
        let passed = (20_000..20_000 + queries).filter(passes).count() as u64;
        let (low, high) = binomial_bounds(queries, rate, 1e-9);
        assert!((low..=high).contains(&passed), "{asked:?}: {passed}, {rate} predicted");
    }
}

/// k → ±∞ for x → 0 or q → 0: clamped.
#[test]
fn s14_extremes_are_clamped() {
    let members = (0..100u64).map(|key| (key, if key < 50 { 0.0 } else { 1.0 }));
    let others = (100..200u64).map(|key| (key, if key < 150 { 64.0 } else { 1.0 }));
    let filter = WeightedBloom::from_weights(members, others, 1000).expect("a filter");
    assert_eq!((filter.probes(Some(0.0)), filter.probes(Some(64.0))), (1, 64));
    assert_eq!(filter.probes(None), 1);
    assert!((0..50u64).all(|key| filter.contains(&key, Some(0.0)).expect("a weight")));
    assert!(filter.contains(&1u64, Some(f64::NAN)).is_err());
}

/// Through the list: weights from the input, classes in the file, keys added to them later.
#[test]
fn s14_through_the_list() {
    let keys: Vec<[u8; 8]> = (0..2000u64).map(u64::to_le_bytes).collect();
    let record = |i: usize| Record::key(&keys[i]).with(Value::Weight(weight(i as u64)));
    let members: Vec<Record<'_>> = (0..1000).map(record).collect();
    let others: Vec<Record<'_>> = (1000..2000).map(record).collect();
    let (mut records, mut negatives) = (&members[..], &others[..]);
    let inputs = &mut Inputs { records: &mut records, negatives: Some(&mut negatives) };
    let mut filter = VARIANT.build(&Goal::new(1000, 0.01), inputs).expect("a filter");
    let late = 5_000u64.to_le_bytes();
    let late = Record::key(&late).with(Value::Weight(81.0));
    filter.as_insert().expect("an ability").insert(late).expect("a weight");
    let bytes = everbloom::to_bytes(&*filter);
    let again = everbloom::Opener::new().decode(&bytes).expect("a file");
    for record in members.iter().chain([&late]) {
        assert!(again.query(*record).expect("a weight").verdict == everbloom::Verdict::Present);
        assert!(again.contains(record.key));
    }
    assert!(again.query(Record::key(b"x").with(Value::Count(3))).is_err());
}

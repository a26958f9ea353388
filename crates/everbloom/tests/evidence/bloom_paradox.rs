//! R3, the Bloom paradox.

use everbloom::Kind;
use everbloom::internals::filter::{Filter, Record, Verdict};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Flat, Goal};
use everbloom::internals::theory::bloom::fpr_best;
use everbloom::membership::Bloom;
use everbloom::weighted::bloom_paradox::{
    Paradox, VARIANT, false_share, positives, select, threshold, threshold_at_best_k,
};

use super::numbers::prints;

#[test]
fn r3_formulas() {
    prints(false_share(1e10, 1e4, 1e-3), 0.999001, 1e-6);
    prints(positives(1e10, 1e4, 1e-3) / 1e7, 1.001, 1e-4);
    prints(threshold(1e-3, 1.0), 9.990e-4, 1e-7);
    prints(threshold(1e-3, 10.0), 9.999e-5, 1e-8);
    prints(threshold_at_best_k(9.6, 3.0), threshold(fpr_best(9.6), 3.0), 1e-15);
    for alpha in [1.0, 10.0] {
        let paradox = Paradox::new(1e-3, alpha).unwrap();
        assert!(paradox.holds(1e-6).unwrap(), "far below both thresholds");
        let (below, above) = (0.999 * paradox.threshold(), 1.001 * paradox.threshold());
        assert!(paradox.holds(below).unwrap() && !paradox.holds(above).unwrap());
    }
}

#[test]
fn r3_edges() {
    let free = Paradox::new(0.01, 0.0).unwrap();
    assert!(free.holds(0.999).unwrap() && !free.holds(1.0).unwrap(), "missing members is free");
    let exact = Paradox::new(0.0, 1.0).unwrap();
    assert!(!exact.holds(0.0).unwrap() && exact.threshold() == 0.0, "a filter that never errs");
    assert!(!Paradox::new(0.0, 0.0).unwrap().holds(0.5).unwrap());
    for (fpr, alpha) in [(f64::NAN, 1.0), (1.5, 1.0), (0.1, -1.0), (0.1, f64::NAN)] {
        assert_eq!(Paradox::new(fpr, alpha).unwrap_err().kind(), Kind::BadParameter);
    }
    for prior in [-0.1, 1.1, f64::NAN] {
        assert_eq!(exact.holds(prior).unwrap_err().kind(), Kind::BadRecord);
        assert!(select(&[0.5, prior], Flat { m: 100, k: 3 }, 1.0).is_err());
    }
    assert_eq!(VARIANT.check(&Goal::new(10, 0.1)).unwrap_err().kind(), Kind::Unsupported);
}

#[test]
fn r3_selective_query_of_any_filter() {
    let mut f = Bloom::with_shape(1000, 4, Hasher::default()).unwrap();
    (0..100u64).for_each(|key| {
        f.insert(&key);
    });
    let paradox = Paradox::of(&f, 2.0).unwrap();
    assert_eq!(paradox.threshold(), threshold(f.now().fpr.unwrap(), 2.0));
    for key in 0..200u64 {
        let bytes = key.to_le_bytes();
        let ask = |prior| paradox.query(&f, Record::key(&bytes), prior).unwrap().verdict;
        assert_eq!(ask(0.5) == Verdict::Present, f.contains(&key), "above: the filter's answer");
        assert_eq!(ask(1e-9), Verdict::Absent, "below: no, member or not");
        assert!(!paradox.ask(1e-9, || panic!("no look is taken")).unwrap());
    }
}

#[test]
fn r3_selective_insertion_finds_the_balance() {
    let mut coins = Generator::new(5);
    for (m, k, alpha) in [(2000, 3, 1.0), (500, 2, 5.0), (20_000, 7, 0.1), (100, 1, 1.0)] {
        let shape = Flat { m, k };
        let priors: Vec<f64> = (0..1000).map(|_| coins.unit().powi(6)).collect();
        let chosen = select(&priors, shape, alpha).unwrap();
        // By its definition: the largest n' with g(n') ≥ n', looking at every one.
        let g = |n: u64| {
            let least = threshold(shape.fpr(n), alpha);
            priors.iter().filter(|p| **p >= least).count() as u64
        };
        let largest = (0..=1000).filter(|n| g(*n) >= *n).max().unwrap();
        assert_eq!(chosen.len() as u64, largest);
        assert!(largest > 10 && largest < 990, "{largest}: a case that decides nothing");
        // The chosen are the likeliest.
        let least = chosen.iter().map(|i| priors[*i]).fold(1.0, f64::min);
        let mut left: Vec<bool> = vec![true; 1000];
        chosen.iter().for_each(|i| left[*i] = false);
        assert!(priors.iter().zip(&left).all(|(p, left)| !left || *p <= least));
    }
    let shape = Flat { m: 1000, k: 5 };
    assert_eq!(select(&[], shape, 1.0).unwrap(), [0usize; 0]);
    assert_eq!(select(&[0.9, 1.0, 0.9], shape, 1.0).unwrap(), [1, 0, 2]);
}

/// A cache of 1,000 hot and 1,000 cold objects; nobody knows which of the 2,000 hot and the million cold
/// ones there are. Costs of 400,000 queries, on which no build depends, for filters of the same bits:
/// the plain one, the same with selective query, and one with selective insertion too.
fn costs(alpha: f64, believed_cold: f64) -> [f64; 3] {
    const HOT: u64 = 2_000;
    const COLD: u64 = 1_000_000;
    let shape = Flat { m: 12_000, k: 4 };
    // Every second hot object, every thousandth cold one.
    let cached = |x: u64| x.is_multiple_of(if x < HOT { 2 } else { 1000 });
    let prior = |x: u64| if x < HOT { 0.5 } else { believed_cold };
    let members: Vec<u64> = (0..HOT + COLD).filter(|x| cached(*x)).collect();
    let priors: Vec<f64> = members.iter().map(|x| prior(*x)).collect();
    let mut plain = Bloom::with_shape(shape.m, shape.k, Hasher::default()).unwrap();
    members.iter().for_each(|x| {
        plain.insert(x);
    });
    let mut selective = Bloom::with_shape(shape.m, shape.k, Hasher::default()).unwrap();
    select(&priors, shape, alpha).unwrap().iter().for_each(|i| {
        selective.insert(&members[*i]);
    });
    let policies = [Paradox::of(&plain, alpha).unwrap(), Paradox::of(&selective, alpha).unwrap()];
    let mut costs = [0.0; 3];
    let mut today = Generator::new(9);
    for _ in 0..400_000 {
        let x = if today.below(4) == 0 { today.below(HOT) } else { HOT + today.below(COLD) };
        let answers = [
            plain.contains(&x),
            policies[0].ask(prior(x), || plain.contains(&x)).unwrap(),
            policies[1].ask(prior(x), || selective.contains(&x)).unwrap(),
        ];
        for (cost, answer) in costs.iter_mut().zip(answers) {
            *cost += match (answer, cached(x)) {
                (true, false) => 1.0,
                (false, true) => alpha,
                _ => 0.0,
            };
        }
    }
    costs
}

#[test]
fn r3_pays_where_priors_differ() {
    let [plain, query, insertion] = costs(1.0, 0.001);
    assert!(query < 0.5 * plain, "{query} {plain}");
    assert!(insertion < 0.7 * query, "{insertion} {query}");
}

#[test]
fn r3_costs_where_priors_are_wrong() {
    // A missed member is worth five hundred false positives, and the cold ones are believed a hundred
    // times as rare as they are.
    let [plain, query, insertion] = costs(500.0, 0.00001);
    assert!(query > 2.0 * plain && insertion > 2.0 * plain, "{plain} {query} {insertion}");
    // With the right priors the policy denies nobody at this price.
    let [plain, query, insertion] = costs(500.0, 0.001);
    assert_eq!([query, insertion], [plain, plain]);
}

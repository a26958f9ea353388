//! §35, locality-sensitive Bloom filter with verification.

use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::lsh::collision;
use everbloom::structured::LocalitySensitive;
use everbloom::structured::locality_sensitive::VARIANT;

pub fn near(got: f64, want: f64) {
    assert!((got - want).abs() < 6e-5, "{got}, not {want}");
}

/// A random vector of ten coordinates, and another at this distance from it in a random direction.
pub fn pair(random: &mut Generator, distance: f64) -> [Vec<f64>; 2] {
    let v: Vec<f64> = (0..10).map(|_| 1e6 * random.normal()).collect();
    let away: Vec<f64> = (0..10).map(|_| random.normal()).collect();
    let length = away.iter().map(|x| x * x).sum::<f64>().sqrt();
    let w = v.iter().zip(&away).map(|(x, a)| x + a * distance / length).collect();
    [v, w]
}

#[test]
fn s35_collisions_as_computed() {
    for (c, p) in [(0.5, 0.9003), (1.0, 0.8005), (2.0, 0.6095), (4.0, 0.3687), (8.0, 0.1954)] {
        near(collision(4.0, c), p);
    }
}

#[test]
fn s35_near_vectors_are_missed_as_often_as_predicted() {
    for (form, predicted, measured) in [("plain", 0.737, 0.739), ("overflow", 0.098, 0.088)] {
        let (mut missed, mut all) = (0, 0);
        for seed in 0..20 {
            let built = LocalitySensitive::builder().items(2000).rate(1e-5).form(form).seed(seed);
            let mut filter = built.build().unwrap();
            assert!((filter.miss_rate(1.0) - predicted).abs() < 6e-4, "{}", filter.miss_rate(1.0));
            let mut random = Generator::new(seed);
            let pairs: Vec<_> = (0..500).map(|_| pair(&mut random, 1.0)).collect();
            pairs.iter().for_each(|[v, _]| {
                filter.insert(v).unwrap();
            });
            assert!(pairs.iter().all(|[v, _]| filter.contains(v).unwrap()), "members are found");
            missed += pairs.iter().filter(|[_, w]| !filter.contains(w).unwrap()).count();
            all += pairs.len();
        }
        // Six lines shared by 500 pairs, twenty times; the catalogue's measurements.
        let rate = missed as f64 / all as f64;
        assert!((rate - measured).abs() < 0.025, "{form}: {rate}, not {measured}");
    }
}

/// Vectors that all lie in one place fill its buckets: the bits alone let nearly all others there pass, and
/// verification does not.
#[test]
fn s35_verification_removes_what_different_members_match() {
    let built = LocalitySensitive::builder().items(1000).rate(0.001).form("plain");
    let mut filter = built.build().unwrap();
    let mut random = Generator::new(35);
    let mut draw = || (0..10).map(|_| 20.0 * random.normal()).collect::<Vec<f64>>();
    for _ in 0..1000 {
        filter.insert(&draw()).unwrap();
    }
    let queries: Vec<_> = (0..2000).map(|_| draw()).collect();
    let bits = queries.iter().filter(|q| filter.main_contains(q).unwrap()).count();
    let whole = queries.iter().filter(|q| filter.contains(q).unwrap()).count();
    assert!(bits > 1000 && whole < 20, "{bits} by the bits, {whole} verified");
}

/// Vectors far from all members, as many as the bits and the tuples let pass.
#[test]
fn s35_far_vectors_pass_as_often_as_predicted() {
    for (form, rate, low, high) in [
        ("overflow", 0.1, 0.055, 0.075),
        ("overflow", 0.01, 0.006, 0.011),
        ("plain", 0.3, 0.003, 0.006),
    ] {
        let (mut passed, mut predicted, mut expected) = (0.0, 0.0, 0.0);
        for seed in 0..10 {
            let built = LocalitySensitive::builder().items(1000).rate(rate).form(form).seed(seed);
            let mut filter = built.build().unwrap();
            let mut random = Generator::new(seed);
            let mut far = || (0..3).map(|_| 1e7 * random.normal()).collect::<Vec<f64>>();
            (0..1000).for_each(|_| _ = filter.insert(&far()).unwrap());
            let now = filter.now().fpr.unwrap();
            assert!((low..high).contains(&now), "{form}: {now}");
            let goal = Goal::new(1000, rate).set("form", form);
            let expect = VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap();
            expected += 4000.0 * expect.fpr;
            predicted += 4000.0 * now;
            passed += (0..4000).filter(|_| filter.contains(&far()).unwrap()).count() as f64;
        }
        // Lines share one array, and bits of one filter come in the same neighborhoods: a little beside the sample's.
        let off = 5.0 * predicted.sqrt() + 0.04 * predicted;
        assert!((passed - predicted).abs() < off, "{form} {rate}: {passed}, {predicted} predicted");
        assert!((predicted / expected - 1.0).abs() < 0.06, "{form}: {predicted} {expected}");
    }
}

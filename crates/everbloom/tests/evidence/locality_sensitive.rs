//! §35, locality-sensitive Bloom filter with verification.

use everbloom::internals::filter::Filter as _;
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::lsh::collision;
use everbloom::internals::theory::tail::binomial_bounds;
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
        ("overflow", 0.1, 0.0013, 0.0019),
        ("overflow", 0.01, 0.0001, 0.0002),
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
        assert!(predicted < expected / 40.0, "{form}: {predicted} {expected}");
    }
}

/// Points around one center, as measured data often are. Their bits crowd in a part of the array, where a query finds all
/// of its neighbors set: what passes is what the tuples let pass, which is what the filter predicts of itself, and no more
/// than was asked for.
#[test]
fn s35_points_of_one_cluster_keep_the_rate() {
    for (form, rate) in [("overflow", 0.01), ("overflow", 0.1), ("plain", 0.01)] {
        let mut random = Generator::new(35);
        let mut draw = || (0..10).map(|_| 100.0 * random.normal()).collect::<Vec<f64>>();
        let goal = Goal::new(20_000, rate).set("form", form);
        let built = LocalitySensitive::builder().items(20_000).rate(rate).form(form);
        let mut filter = built.build().unwrap();
        (0..20_000).for_each(|_| _ = filter.insert(&draw()).unwrap());
        let passed = (0..20_000).filter(|_| filter.contains(&draw()).unwrap()).count() as u64;
        let now = filter.now().fpr.unwrap();
        let (low, high) = binomial_bounds(20_000, now, 1e-9);
        assert!(
            (low..=high).contains(&passed),
            "{form} {rate}: {passed} of 20000, {now} predicted"
        );
        let expect = VARIANT.expect(&goal, &Load::items(20_000)).unwrap().unwrap();
        assert!((expect.fpr / rate - 1.0).abs() < 0.02, "{form}: {} planned", expect.fpr);
        assert!((now / rate - 1.0).abs() < 0.1, "{form}: {now} instead of {rate}");
    }
}

/// Points in several places, and twice each: the bits tell how crowded they are, however often a point came.
#[test]
fn s35_crowding_is_measured_in_distinct_members() {
    let mut random = Generator::new(36);
    let mut draw = |i: u64| -> Vec<f64> {
        let center = 1e5 * (i % 8) as f64;
        (0..10).map(|_| center + 30.0 * random.normal()).collect()
    };
    let mut once = LocalitySensitive::with_rate(4000, 0.05).unwrap();
    let points: Vec<Vec<f64>> = (0..4000).map(&mut draw).collect();
    points.iter().for_each(|point| _ = once.insert(point).unwrap());
    let mut twice = once.clone();
    points.iter().for_each(|point| _ = twice.insert(point).unwrap());
    let [now, again] = [&once, &twice].map(|filter| filter.now().fpr.unwrap());
    assert!((again / now - 1.0).abs() < 0.02, "{now} {again}");
    let passed = (0..20_000u64).filter(|i| once.contains(&draw(*i)).unwrap()).count() as f64;
    let rate = passed / 20_000.0;
    // Points crowd most in the middle of a cluster, and the bits tell of it as a whole.
    assert!((0.8 * rate..2.0 * rate).contains(&now), "{rate}, {now} predicted");
}

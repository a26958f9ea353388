//! §36, multi-granularity locality-sensitive Bloom filter.

use everbloom::internals::filter::{Filter, Record, Value, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::lsh::{and_or, collision};
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::structured::MultiGranularity;
use everbloom::structured::multi_granularity::VARIANT;
use everbloom::{Goal, Load};

use super::locality_sensitive::{near, pair};

#[test]
fn s36_and_or_rates_as_computed() {
    for (c, rate) in
        [(0.5, 0.99981), (1.0, 0.98545), (2.0, 0.69531), (4.0, 0.13869), (8.0, 0.01161)]
    {
        near(and_or(collision(4.0, c), 4, 8), rate);
    }
    let filter = MultiGranularity::with_rate(10, 0.01).unwrap();
    near(filter.find_rate(8.0, 2), 0.69531);
}

/// What is found at a level is found at every coarser one, and members at all.
#[test]
fn s36_levels_are_monotone() {
    let built = MultiGranularity::builder().items(60).rate(0.2).set("levels", 5);
    let mut filter = built.build().unwrap();
    let mut random = Generator::new(36);
    let distances = [0.0, 0.5, 2.0, 8.0, 30.0, 1e6];
    let pairs: Vec<_> = (0..60).map(|i| pair(&mut random, distances[i % 6])).collect();
    pairs.iter().for_each(|[v, _]| {
        filter.insert(v).unwrap();
    });
    let mut finest = [0; 6];
    for [v, w] in &pairs {
        assert!((0..5).all(|level| filter.contains(v, level).unwrap()));
        let found: Vec<bool> = (0..5).map(|level| filter.contains(w, level).unwrap()).collect();
        assert!(found.windows(2).all(|pair| pair[0] <= pair[1]), "{found:?}");
        let first = filter.finest(w).unwrap();
        assert_eq!(first, found.iter().position(|f| *f).map(|level| level as u32));
        finest[first.unwrap_or(5) as usize] += 1;
    }
    assert!(finest.iter().filter(|count| **count > 0).count() >= 4, "{finest:?}");
}

#[test]
fn s36_near_vectors_are_found_as_often_as_predicted() {
    for (distance, level) in [(1.0, 0), (2.0, 0), (4.0, 0), (4.0, 1), (8.0, 2)] {
        let (mut found, mut all, mut fpr) = (0, 0, 0.0f64);
        for seed in 0..25 {
            let built = MultiGranularity::builder().items(400).rate(1e-4).seed(seed);
            let mut filter = built.build().unwrap();
            let mut random = Generator::new(seed);
            let pairs: Vec<_> = (0..150).map(|_| pair(&mut random, distance)).collect();
            pairs.iter().for_each(|[v, _]| {
                filter.insert(v).unwrap();
            });
            found += pairs.iter().filter(|[_, w]| filter.contains(w, level).unwrap()).count();
            all += pairs.len();
            fpr = fpr.max(filter.rate(level));
        }
        assert!(fpr < 1e-3, "{fpr}");
        let filter = MultiGranularity::with_rate(10, 0.01).unwrap();
        let (rate, predicted) = (found as f64 / all as f64, filter.find_rate(distance, level));
        // A lower bound: buckets that differ may still find set bits in part.
        assert!(rate > predicted - 0.05, "{distance} {level}: {rate}, predicted {predicted}");
        assert!(rate < predicted + 0.20, "{distance} {level}: {rate}, predicted {predicted}");
    }
}

/// A coarse bit is an OR of many: fill rises with the level.
#[test]
fn s36_fill_rises_with_the_level() {
    let mut filter = MultiGranularity::with_rate(2000, 0.01).unwrap();
    let mut random = Generator::new(1);
    for _ in 0..2000 {
        filter.insert(&pair(&mut random, 1.0)[0]).unwrap();
    }
    for array in 0..2 {
        let fine = filter.fills(0)[array];
        for level in 1..3 {
            let predicted = 1.0 - (1.0 - fine).powi(1 << level);
            let fill = filter.fills(level)[array];
            assert!((fill - predicted).abs() < 0.01, "{array} {level}: {fill}, not {predicted}");
        }
        assert!((filter.fills(2)[array] - 0.5).abs() < 0.01);
    }
    assert!((0.0003..0.0008).contains(&filter.now().fpr.unwrap()), "far apart, few pass");
}

/// Points around one center: all bits near a query are set, and the second array alone keeps the rate. Groups whose lines
/// agree by chance with those of a member come on top, as many as the distances tell.
#[test]
fn s36_points_of_one_cluster_keep_the_rate() {
    let mut random = Generator::new(36);
    let mut draw = || (0..10).map(|_| 100.0 * random.normal()).collect::<Vec<f64>>();
    let goal = Goal::new(20_000, 0.01);
    let mut filter = MultiGranularity::with_rate(20_000, 0.01).unwrap();
    let members: Vec<Vec<f64>> = (0..20_000).map(|_| draw()).collect();
    members.iter().for_each(|point| _ = filter.insert(point).unwrap());
    let queries: Vec<Vec<f64>> = (0..20_000).map(|_| draw()).collect();
    let passed = queries.iter().filter(|query| filter.contains(query, 2).unwrap()).count() as u64;
    let distance = |(a, b): (&Vec<f64>, &Vec<f64>)| {
        a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
    };
    let found = |pair| filter.find_rate(distance(pair), 2);
    let agree = members.iter().zip(&queries).map(found).sum::<f64>();
    let now = filter.now().fpr.unwrap();
    assert!((0.004..0.0105).contains(&now), "{now}");
    let expect = VARIANT.expect(&goal, &Load::items(20_000)).unwrap().unwrap();
    assert!((0.004..=0.0101).contains(&expect.fpr), "{} planned", expect.fpr);
    let (low, _) = binomial_bounds(20_000, now, 1e-9);
    let (_, high) = binomial_bounds(20_000, now + agree, 1e-9);
    assert!((low..=high).contains(&passed), "{passed} of 20000, {now} and {agree} predicted");
}

#[test]
fn s36_queries_may_name_a_level() {
    let mut filter = MultiGranularity::with_rate(100, 1e-4).unwrap();
    filter.insert(&[0.0, 0.0]).unwrap();
    let asked = |text: &'static [u8], level: Option<u64>| {
        let record = Record::key(text).with(level.map(Value::Count));
        filter.query(record).unwrap().verdict
    };
    assert_eq!(asked(b"0,0", Some(0)), Verdict::Present);
    assert_eq!(asked(b"500,-900", Some(0)), Verdict::Absent);
    assert_eq!(
        (asked(b"0,0", Some(99)), asked(b"0,0", None)),
        (Verdict::Present, Verdict::Present)
    );
    assert!(filter.query(Record::key(b"0,0").with(Value::Label(b"x"))).is_err());
}

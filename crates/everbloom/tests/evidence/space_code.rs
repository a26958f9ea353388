//! §1, the space-code filter and its multi-resolution form.

use everbloom::Hasher;
use everbloom::internals::filter::{Bound, Count, Face, Filter};
use everbloom::internals::hash::Generator;
use everbloom::sketches::SpaceCode;
use everbloom::sketches::space_code::VARIANT;
use everbloom::sketches::space_code::likelihood::{
    Resolution, mean_groups, mean_value, most_likely,
};

fn single(q: f64, theta: u32) -> u64 {
    most_likely(32, &[Resolution { p: 1.0, q }], &[theta], 2000)
}

#[test]
fn s1_tables_of_the_likeliest_count() {
    assert!((mean_groups(32, 32.0) - 20.414).abs() < 6e-4);
    let cases: [(f64, &[(u32, u64)]); 3] = [
        (0.0, &[(1, 1), (4, 4), (8, 9), (16, 22), (20, 31), (24, 44), (28, 66), (31, 109)]),
        (1.0 / 32.0, &[(1, 0), (4, 4), (8, 8), (16, 21), (20, 30), (24, 43), (28, 65), (31, 108)]),
        (1.0 / 8.0, &[(4, 0), (8, 5), (16, 18), (24, 40)]),
    ];
    for (q, table) in cases {
        for (theta, count) in table {
            assert_eq!(single(q, *theta), *count, "q = {q}, θ = {theta}");
        }
    }
    assert!((mean_value(32, 20) - 30.57).abs() < 6e-3);
}

#[test]
fn s1_several_resolutions_together() {
    let resolutions = [1.0, 0.25, 0.0625].map(|p| Resolution { p, q: 1.0 / 32.0 });
    for (matches, count) in
        [([20, 7, 2], 29), ([31, 17, 6], 98), ([32, 24, 9], 171), ([32, 31, 17], 400)]
    {
        assert_eq!(most_likely(32, &resolutions, &matches, 10_000), count, "{matches:?}");
    }
}

/// 400 flows of 1 to 59 packets, m = 60,000, k = 3, l = 32.
#[test]
fn s1_counts_of_flows() {
    for seed in 0..5 {
        let mut filter = SpaceCode::with_shape(60_000, 3, 32, Hasher::seeded(seed)).unwrap();
        let flows: Vec<u64> = (0..400).map(|flow| 1 + flow % 59).collect();
        for (flow, packets) in (0u64..).zip(&flows) {
            (0..*packets).for_each(|_| _ = filter.insert(&flow));
        }
        let q = filter.fill().unwrap().powi(3);
        assert!((q - 0.026).abs() < 0.003, "{q}");
        let errors: Vec<f64> = (0u64..)
            .zip(&flows)
            .map(|(flow, packets)| {
                assert!(filter.contains(&flow), "no false negatives");
                filter.count(&flow) as f64 / *packets as f64 - 1.0
            })
            .collect();
        let mean = errors.iter().sum::<f64>() / 400.0;
        let sd = (errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / 400.0).sqrt();
        assert!(mean.abs() <= 0.10 && sd <= 0.4, "seed {seed}: {mean} ± {sd}");
    }
}

/// Distinct groups after 32 insertions into an empty filter: 20.414 on average; matches never go down.
#[test]
fn s1_groups_are_picked_evenly() {
    let mut sum = 0;
    for seed in 0..300 {
        let mut filter = SpaceCode::with_shape(100_000, 4, 32, Hasher::seeded(seed)).unwrap();
        let mut before = 0;
        for copies in 1..=32 {
            filter.insert("flow");
            let theta = filter.matches("flow")[0];
            assert!(theta >= before.max(1) && theta <= before + 1 && theta <= copies);
            before = theta;
        }
        sum += before;
    }
    let mean = f64::from(sum) / 300.0;
    // The standard deviation of one run is 1.9.
    assert!((mean - 20.414).abs() < 6.0 * 1.9 / 300f64.sqrt(), "{mean}");
}

#[test]
fn s1_each_resolution_samples_a_quarter_of_the_one_before() {
    let mut ones = [0.0; 4];
    for seed in 0..10 {
        let goal = SpaceCode::builder().form("multi-resolution").set("m", 4_000_000).set("k", 2);
        let mut filter = goal.seed(seed).build().unwrap();
        let mut random = Generator::new(seed);
        (0..4000).for_each(|_| _ = filter.insert(&random.next_u64()));
        // Keys of the next resolutions are sampled: their matches tell how many.
        let mut random = Generator::new(seed);
        for _ in 0..4000 {
            let matches = filter.matches(&random.next_u64());
            assert!(matches[0] >= 1);
            ones.iter_mut().zip(matches).for_each(|(sum, theta)| *sum += f64::from(theta.min(1)));
        }
    }
    for (level, sum) in ones.iter().enumerate() {
        let wanted = 40_000.0 / 4f64.powi(level as i32);
        let tolerance = 5.0 * wanted.sqrt() + 1.0;
        assert!((sum - wanted).abs() < tolerance, "{level}: {sum}, wanted {wanted}");
    }
}

#[test]
fn s1_many_copies() {
    let build = |form| SpaceCode::builder().items(20_000).rate(0.01).form(form).build().unwrap();
    let (mut single, mut multi) = (build("single"), build("multi-resolution"));
    for _ in 0..1000 {
        single.insert("elephant");
        multi.insert("elephant");
    }
    let (one, several) = (Count::count(&single, b"elephant"), Count::count(&multi, b"elephant"));
    assert_eq!(
        (one.whole(), one.bound),
        (109, Bound::AtLeast),
        "all groups of one filter are used"
    );
    assert_eq!(several.bound, Bound::Estimate);
    assert!((600..1600).contains(&several.whole()), "{several:?}");
    assert!(VARIANT.forms.iter().all(|form| form.abilities.len() == 2), "C=Y, all else N");
    assert!(single.as_remove().is_none());
}

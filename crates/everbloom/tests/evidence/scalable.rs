//! §11, the scalable Bloom filter.

use everbloom::growing::Scalable;
use everbloom::growing::scalable::{VARIANT, layer_bits, layer_fpr, layer_k};
use everbloom::internals::filter::{Face, Filter, Record, Seen};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;

use super::numbers::passing;

fn grown(goal: &Goal, n: u64) -> Box<dyn Filter> {
    let mut filter = VARIANT.build_from(goal, &[]).unwrap();
    let insert = filter.as_insert().unwrap();
    for key in 0..n {
        insert.insert(Record::key(&key.to_le_bytes())).unwrap();
    }
    filter
}

/// The entry's example: P = 0.01, r = 0.85, n₀ = 1000, s = 2.
fn example() -> Goal {
    Goal::new(1000, 0.01).set("tightening", 0.85).set("growth", 2)
}

#[test]
fn s11_layer_formulas() {
    let targets: Vec<f64> = (0..5).map(|i| layer_fpr(0.01, 0.85, i)).collect();
    assert_eq!(targets.iter().map(|p| layer_k(*p)).collect::<Vec<_>>(), [10., 10., 10., 11., 11.]);
    let capacities = [1000.0, 2000.0, 4000.0, 8000.0, 16_000.0];
    let bits: Vec<f64> = capacities.iter().zip(&targets).map(|(n, p)| layer_bits(*n, *p)).collect();
    assert_eq!(bits, [13_551.0, 27_757.0, 56_845.0, 116_651.0, 238_481.0]);
    let absent: f64 = targets.iter().map(|p| 1.0 - p).product();
    assert!((1.0 - absent - 0.005551).abs() < 0.5e-6);
    assert!((bits.iter().sum::<f64>() / 31_000.0 - 14.62).abs() < 0.005);
    // What a single filter of the final size would take.
    assert!((bloom::bits(1.0, 0.01) - 9.59).abs() < 0.006);
    // Targets fall; and the usual sizing misses them by up to 1.7 %.
    assert!(targets.windows(2).all(|w| w[1] < w[0]));
    let worst = (0..2000).map(|i| {
        let p = layer_fpr(0.5, 0.995, i);
        let bits = -p.log2() / std::f64::consts::LN_2;
        bloom::fpr_asymptotic(bits, 1.0, layer_k(p)) / p - 1.0
    });
    assert!((worst.skip(600).fold(0.0, f64::max) - 0.017).abs() < 0.004);
}

#[test]
fn s11_infinite_product() {
    assert!((layer_fpr(0.01, 0.9, 0) - 0.001).abs() < 1e-15);
    assert_eq!(layer_k(layer_fpr(0.01, 0.9, 0)), 10.0);
    let absent: f64 = (0..2000).map(|i| 1.0 - layer_fpr(0.01, 0.9, i)).product();
    assert!((1.0 - absent - 0.009953).abs() < 0.5e-6);
}

#[test]
fn s11_layers_of_the_example() {
    let mut filter = Scalable::with_rate(1000, 0.01).unwrap();
    let mut key = 0u64;
    while filter.head().items < 31_000 {
        filter.insert(&key).unwrap();
        key += 1;
    }
    // Keys that were false positives on arrival were skipped: 0.3 % on average over the growth.
    assert!((31_040..31_200).contains(&key), "{key}");
    let layers: Vec<_> = filter.layer_sizes().collect();
    assert_eq!(layers.iter().map(|l| l.1).collect::<Vec<_>>(), [10, 10, 10, 11, 11]);
    let items: Vec<_> = layers.iter().map(|l| l.2).collect();
    assert_eq!(items, [1000, 2000, 4000, 8000, 16_000]);
    for ((m, k, _), formula) in layers.iter().zip([13_551u64, 27_757, 56_845, 116_651, 238_481]) {
        // Slices are whole: at most one bit more in each, and half of one for the exact rate.
        assert!(*m >= formula && *m < formula + 2 * u64::from(*k), "{m} against {formula}");
    }
    assert!((filter.m() as f64 / 31_000.0 - 14.62).abs() < 0.01);
    let fill = filter.fill().unwrap();
    assert!((0.51..0.53).contains(&fill), "{fill}");
    // The next key opens the sixth layer.
    assert_eq!(filter.layers(), 5);
    while filter.head().items < 31_001 {
        filter.insert(&key).unwrap();
        key += 1;
    }
    assert_eq!(filter.layers(), 6);
}

#[test]
fn s11_measured_rate_after_31000() {
    // Computed with full layers 0.005551; a third of a percent of the keys are skipped, which the
    // prediction knows, and the entry measured 0.00552.
    let predicted = VARIANT.expect(&example(), &Load::items(31_000)).unwrap().unwrap();
    assert!((predicted.fpr / 0.00552 - 1.0).abs() < 0.005, "{}", predicted.fpr);
    const FILTERS: u64 = 24;
    const QUERIES: u64 = 200_000;
    let (mean, sd) = predicted.fill.unwrap();
    let (mut total, mut fills) = (0, 0.0);
    for seed in 0..FILTERS {
        let filter = grown(&example().seed(seed), 31_000);
        assert!((0..31_000u64).all(|key| filter.contains(&key.to_le_bytes())));
        total += passing(&*filter, QUERIES);
        let fill = filter.fill().unwrap();
        assert!((fill - mean).abs() < 5.0 * sd, "{fill} against {mean} ± {sd}");
        fills += fill / FILTERS as f64;
    }
    assert!((fills - mean).abs() < 4.5 * sd / (FILTERS as f64).sqrt(), "{fills} {mean} {sd}");
    // 26,500 events: 0.6 %. Layers scatter by √k·σ/ρ, about 2 % in the first, which averages out.
    let rate = total as f64 / (FILTERS * QUERIES) as f64;
    assert!((rate / predicted.fpr - 1.0).abs() < 0.035, "{rate} against {}", predicted.fpr);
}

#[test]
fn s11_the_target_holds_through_many_layers() {
    for (first, growth, r, n, layers) in [
        (10u64, 2u64, 0.85, 20_000u64, 11u64),
        (20, 4, 0.9, 100_000, 7),
        (1, 2, 0.5, 30_000, 15),
        (50, 2, 0.8, 200_000, 12),
    ] {
        let goal = Goal::new(first, 0.01).set("growth", growth).set("tightening", r);
        let filter = grown(&goal, n);
        assert_eq!(filter.describe()[0].value.to_string(), layers.to_string());
        assert!((0..n).all(|key| filter.contains(&key.to_le_bytes())));
        let now = filter.now().fpr.unwrap();
        let seen = passing(&*filter, 1_000_000);
        let (low, high) = binomial_bounds(1_000_000, now, 1e-9);
        assert!((low..=high).contains(&seen), "{first}: {seen} of {low}..{high}");
        // The target holds on average; the smallest layers scatter by tens of percent of their share.
        assert!(now < 0.0105, "{first}: {now}");
        let expected = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        assert!(expected.fpr <= 0.01);
        assert_eq!(expected.bits, filter.memory().cells);
    }
}

#[test]
fn s11_the_target_holds_on_average_from_a_first_layer_of_ten() {
    // 11 layers, 400 filters: the mean rate from the fills, to about 1 %.
    let goal = Goal::new(10, 0.05);
    let expected = VARIANT.expect(&goal, &Load::items(20_000)).unwrap().unwrap().fpr;
    assert!(expected < 0.05 && expected > 0.035);
    let mut mean = 0.0;
    for seed in 0..400 {
        mean += grown(&goal.clone().seed(seed), 20_000).now().fpr.unwrap() / 400.0;
    }
    assert!((mean / expected - 1.0).abs() < 0.02, "{mean} against {expected}");
    assert!(mean < 0.05);
}

#[test]
fn s11_repetitions_fill_no_layer() {
    let mut filter = Scalable::with_rate(100, 0.01).unwrap();
    for _ in 0..1000 {
        for key in 0..90u64 {
            filter.insert(&key).unwrap();
        }
    }
    assert_eq!((filter.layers(), filter.head().items), (1, 90));
    assert_eq!(filter.insert(&5u64).unwrap(), Seen::Maybe);
    assert_eq!(filter.insert(&1000u64).unwrap(), Seen::New);
}

#[test]
fn s11_one_key_sets_k_bits_and_rates_of_layers_add_up() {
    for key in 0..1000u64 {
        let mut filter = Scalable::with_rate(1000, 0.01).unwrap();
        filter.insert(&key).unwrap();
        let ones = filter.fill().unwrap() * filter.m() as f64;
        assert_eq!(ones.round() as u64, 10);
    }
    // At a rate this high the product 1 − Π(1 − fᵢ) is far from the sum.
    let goal = Goal::new(200, 0.5).set("tightening", 0.9);
    let (mut total, mut predicted) = (0, 0.0);
    for seed in 0..20 {
        let filter = grown(&goal.clone().seed(seed), 6000);
        total += passing(&*filter, 20_000);
        predicted += filter.now().fpr.unwrap() * 20_000.0;
    }
    // About 50,000 events in 400,000: 4.5 standard errors are 2 %.
    assert!((total as f64 / predicted - 1.0).abs() < 0.02, "{total} against {predicted}");
}

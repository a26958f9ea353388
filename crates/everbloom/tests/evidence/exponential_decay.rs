//! §41, exponentially decaying filters for routing.

use everbloom::grouping::ExponentialDecay;
use everbloom::grouping::exponential_decay::{VARIANT, expected_ones, noise};
use everbloom::internals::filter::{Age, Filter};
use everbloom::{Goal, Load};

fn filter(m: u64, seed: u64) -> ExponentialDecay {
    ExponentialDecay::builder().set("m", m).seed(seed).build().unwrap()
}

/// k = 32, d = 2, one to five hops: 32, 16, 8, 4, 2 ones, within 0.2 over 3000 keys.
#[test]
fn s41_ones_by_hops() {
    for (hops, ones) in (1..).zip([32.0, 16.0, 8.0, 4.0, 2.0]) {
        assert_eq!(expected_ones(32.0, 2.0, hops, 0.0), ones);
    }
    let mut sums = [0.0; 5];
    // Few keys in many bits, so that nothing is noise.
    for seed in 0..30 {
        let (empty, mut own) = (filter(4 << 20, seed), filter(4 << 20, seed));
        (0..100u64).for_each(|key| _ = own.insert(&key));
        let mut told = own.advertise(&[], 0).unwrap();
        for (hop, sum) in sums.iter_mut().enumerate() {
            *sum += (0..100u64).map(|key| told.ones(&key)).sum::<u64>() as f64 / 3000.0;
            told = empty.advertise(&[&told], seed * 10 + hop as u64).unwrap();
        }
    }
    for (mean, wanted) in sums.into_iter().zip([32.0, 16.0, 8.0, 4.0, 2.0]) {
        assert!((mean - wanted).abs() < 0.2, "{mean} {wanted}");
    }
}

#[test]
fn s41_noise() {
    assert!((expected_ones(32.0, 2.0, 3, 0.1) - 10.4).abs() < 1e-9);
    assert!((0.1f64 * 32.0 - 3.2).abs() < 1e-9);
    assert!((noise(32, 0.1, 10) - 8.1e-4).abs() < 5e-6, "{}", noise(32, 0.1, 10));
    // A filter with a tenth of ones: unrelated keys have 3.2, and reach 10 as often as predicted.
    let (mut mean, mut high, filters, queries) = (0.0, 0.0, 20, 20_000);
    for seed in 0..filters {
        let mut f = filter(60_000, seed);
        let mut key = 0u64;
        while f.fill().unwrap() < 0.1 {
            f.insert(&key);
            key += 1;
        }
        for other in (1u64 << 40..).take(queries) {
            let ones = f.ones(&other);
            mean += ones as f64;
            high += f64::from(ones >= 10);
        }
    }
    let trials = f64::from(filters as u32) * queries as f64;
    assert!((mean / trials - 3.2).abs() < 0.02, "{}", mean / trials);
    assert!((high / trials - 8.1e-4).abs() < 1.5e-4, "{}", high / trials);
}

/// Own bits are never dropped, received ones are; the same epoch draws the same bits.
#[test]
fn s41_decay_is_for_what_was_received() {
    let (mut own, mut other) = (filter(1 << 20, 1), filter(1 << 20, 1));
    own.insert("own");
    other.insert("other");
    let told = own.advertise(&[&other], 7).unwrap();
    assert_eq!(told.ones("own"), 32);
    assert!((6..27).contains(&told.ones("other")), "{}", told.ones("other"));
    assert_eq!(told, own.advertise(&[&other], 7).unwrap());
    assert_ne!(told, own.advertise(&[&other], 8).unwrap());
    assert_eq!(ExponentialDecay::route(&[&own, &told, &other], "other"), Some((2, 32)));
    assert_eq!(ExponentialDecay::route(&[&own, &own], "other"), None, "a random walk");
    let unlike = ExponentialDecay::builder().set("m", 1 << 20).set("decay", 3).build().unwrap();
    assert!(own.advertise(&[&unlike], 7).is_err());
}

/// Objects up to three hops away stand out; far ones are lost by design.
#[test]
fn s41_planned_filters_tell_near_from_far() {
    let empty = ExponentialDecay::with_rate(500, 0.01).unwrap();
    assert_eq!(empty.threshold(), 8);
    let mut own = empty.clone();
    (0..500u64).for_each(|key| _ = own.insert(&key));
    let now = own.now().fpr.unwrap();
    assert!((now / 0.01 - 1.0).abs() < 0.25, "{now}");
    let mut told = own.advertise(&[], 0).unwrap();
    let mut heard = Vec::new();
    for hop in 0..8 {
        heard.push((0..500u64).filter(|key| told.contains(key)).count());
        told = empty.advertise(&[&told], hop).unwrap();
    }
    assert_eq!(heard[0], 500);
    assert!(heard[1] > 495 && heard[2] > 250 && heard[7] < 20, "{heard:?}");
}

#[test]
fn s41_ticks_fade_as_hops_do() {
    let goal = Goal { items: Some(300), fpr: Some(0.01), ..Goal::default() };
    for age in [1, 2, 4] {
        let mut load = Load::items(300);
        load.age = age;
        let expect = VARIANT.expect(&goal, &load).unwrap().unwrap();
        let (mut fill, mut lost) = (0.0, 0.0);
        for seed in 0..10 {
            let mut f =
                ExponentialDecay::builder().items(300).rate(0.01).seed(seed).build().unwrap();
            (0..300u64).for_each(|key| _ = f.insert(&key));
            Age::age(&mut f, age);
            fill += f.fill().unwrap() / 10.0;
            lost += (0..300u64).filter(|key| !f.contains(key)).count() as f64 / 3000.0;
        }
        let (want, sd) = expect.fill.unwrap();
        assert!((fill - want).abs() < 2.0 * sd, "{age}: {fill} {want}");
        // Others' ones help a little.
        assert!(
            lost <= expect.fnr + 0.03 && lost > 0.4 * expect.fnr - 0.03,
            "{age}: {lost} {}",
            expect.fnr
        );
    }
}

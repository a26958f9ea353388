//! §34, the distance-sensitive filter.

use everbloom::Kind;
use everbloom::internals::filter::{Detail, Face, Filter, Record, Verdict, fact};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::{binomial_at_least, binomial_below};
use everbloom::structured::DistanceSensitive;
use everbloom::structured::distance_sensitive::{VARIANT, far_hit, near_hit};

const LENGTH: usize = 256;

/// A random bit vector, written as text.
fn vector(generator: &mut Generator) -> Vec<u8> {
    (0..LENGTH).map(|_| b'0' + generator.below(2) as u8).collect()
}

/// `key` with `flips` of its coordinates changed.
fn flipped(key: &[u8], flips: usize, generator: &mut Generator) -> Vec<u8> {
    let mut other = key.to_vec();
    let mut places: Vec<usize> = (0..key.len()).collect();
    for i in 0..flips {
        let j = i + generator.below((places.len() - i) as u64) as usize;
        places.swap(i, j);
        other[places[i]] ^= 1;
    }
    other
}

/// The entry's filter: 100 random members, s = 16, k = 64, m' = 2048.
fn filter(seed: u64, threshold: u32) -> (DistanceSensitive, Vec<Vec<u8>>, Generator) {
    let mut generator = Generator::new(seed);
    let members: Vec<_> = (0..100).map(|_| vector(&mut generator)).collect();
    let hasher = Hasher::seeded(seed);
    let mut f = DistanceSensitive::with_shape(16, 64, 2048, threshold, hasher).unwrap();
    members.iter().for_each(|key| {
        f.insert(key).unwrap();
    });
    (f, members, generator)
}

fn close(a: f64, b: f64, relative: f64) -> bool {
    (a / b - 1.0).abs() <= relative
}

#[test]
fn s34_parameters() {
    let (near, far) = (near_hit(0.05, 16), far_hit(0.4, 16, 2048.0, 100.0));
    assert!((near - 0.4401).abs() < 5e-5 && (far - 0.0742).abs() < 5e-5, "{near} {far}");
    for (t, missed, passed) in [(16, 5.1e-4, 1.3e-5), (12, 5.3e-6, 2.4e-3)] {
        assert!(close(binomial_below(64, near, t), missed, 0.02));
        assert!(close(binomial_at_least(64, far, t), passed, 0.05));
    }
    assert!((near_hit(0.05, 8) - 0.663).abs() < 5e-4);
    assert!((far_hit(0.4, 8, 2048.0, 100.0) - 0.825).abs() < 5e-4);
}

#[test]
fn s34_unusable_settings_are_refused() {
    let goal = Goal::new(100, 0.01).set("arrays", 64).set("slice", 2048);
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).unwrap_err().to_string();
    let message = refused(goal.clone().set("samples", 8).set("threshold", 40));
    for part in ["0.825", "0.663", "more samples"] {
        assert!(message.contains(part), "{message}");
    }
    let small = Goal::new(100, 0.01).set("arrays", 64).set("slice", 64).set("samples", 20);
    assert!(refused(small).contains("larger slices"));
    assert!(refused(Goal::new(100, 0.01).set("samples", 8)).contains("more samples"));
    assert!(refused(Goal::new(100, 0.01).set("near", 0.4).set("far", 0.3)).contains("below"));
    let by_hand = VARIANT.build_from(&goal.set("samples", 16).set("threshold", 16), &[]).unwrap();
    assert!(close(by_hand.head().fnr.unwrap(), 5.1e-4, 0.02));
    assert!(close(by_hand.head().fpr.unwrap(), 1.3e-5, 0.05));
    assert!(by_hand.describe().contains(&fact("threshold", 16u64)));
}

#[test]
fn s34_members_hit_every_array_once() {
    for seed in 0..20 {
        let (f, members, mut generator) = filter(seed, 64);
        for key in &members {
            assert_eq!(f.hits(key).unwrap(), 64);
        }
        let answer = Filter::query(&f, Record::key(&members[0])).unwrap();
        assert_eq!((answer.verdict, answer.detail), (Verdict::Present, Detail::Score(1.0)));
        let mut one = DistanceSensitive::with_shape(16, 64, 2048, 9, Hasher::seeded(seed)).unwrap();
        let key = vector(&mut generator);
        one.insert(&key).unwrap();
        assert!((0..64).all(|array| one.bits().ones_in(array * 2048, 2048) == 1));
        // The same coordinates in another order are another key.
        let turned: Vec<u8> = key.iter().rev().copied().collect();
        assert!(one.hits(&turned).unwrap() < 5);
    }
}

#[test]
fn s34_arrays_hash_apart_what_they_see_alike() {
    // Every array sees sixteen zeros, but not in the same bit.
    let mut f = DistanceSensitive::with_shape(16, 64, 2048, 16, Hasher::default()).unwrap();
    f.insert(&[b'0'; LENGTH]).unwrap();
    let mut places: Vec<u64> =
        (0..64 * 2048).filter(|&i| f.bits().get(i)).map(|i| i % 2048).collect();
    places.sort_unstable();
    places.dedup();
    assert!(places.len() > 55, "{}", places.len());
}

#[test]
fn s34_mean_hits_and_bounds() {
    let (filters, keys) = (40, 500);
    let total = (filters * keys) as f64;
    let (mut near_sum, mut far_sum) = (0.0, 0.0);
    let (mut near_below, mut far_from) = ([0.0; 65], [0.0; 65]);
    for seed in 0..filters {
        let (f, members, mut generator) = filter(seed, 16);
        for i in 0..keys {
            let member = &members[i as usize % members.len()];
            let near = f.hits(&flipped(member, 12, &mut generator)).unwrap();
            let far = f.hits(&flipped(member, 103, &mut generator)).unwrap();
            near_sum += f64::from(near);
            far_sum += f64::from(far);
            (near as usize + 1..65).for_each(|t| near_below[t] += 1.0);
            (0..=far as usize).for_each(|t| far_from[t] += 1.0);
        }
    }
    let (near, far) = (near_sum / total, far_sum / total);
    assert!(close(near, 30.7, 0.05) && close(far, 3.1, 0.05), "{near} {far}");
    // With repeated coordinates the near ones agree with (244/256)^16 exactly.
    let fill = 1.0 - (1.0 - 1.0 / 2048.0f64).powi(100);
    let hit = 1.0 - (1.0 - (244.0 / 256.0f64).powi(16)) * (1.0 - fill);
    assert!(close(near, 64.0 * hit, 0.01), "{near} {}", 64.0 * hit);
    let (p_near, p_far) = (near_hit(0.05, 16), far_hit(0.4, 16, 2048.0, 100.0));
    for t in [6, 8, 12, 16, 20, 24] {
        let noise = |p: f64| 4.0 * (p / total).sqrt() + 1.0 / total;
        let (missed, passed) = (near_below[t] / total, far_from[t] / total);
        let (most_missed, most_passed) =
            (binomial_below(64, p_near, t as u64), binomial_at_least(64, p_far, t as u64));
        assert!(missed <= most_missed + noise(most_missed), "{t}: {missed} {most_missed}");
        assert!(passed <= most_passed + noise(most_passed), "{t}: {passed} {most_passed}");
    }
    assert_eq!((near_below[16], far_from[16]), (0.0, 0.0), "as the entry found");
    // Where near keys are missed often enough to count, as often as the binomial says.
    assert!(close(near_below[28] / total, binomial_below(64, hit, 28), 0.08));
}

#[test]
fn s34_rate_from_the_real_fill() {
    // A threshold so low that keys which agree with no member pass often: 16-letter alphabet.
    let letters = |generator: &mut Generator| -> Vec<u8> {
        (0..64).map(|_| b'a' + generator.below(16) as u8).collect()
    };
    let (mut passed, mut predicted, queries) = (0, 0.0, 10_000);
    for seed in 0..20 {
        let mut generator = Generator::new(seed);
        let mut f = DistanceSensitive::with_shape(16, 40, 1000, 8, Hasher::seeded(seed)).unwrap();
        (0..150).for_each(|_| {
            f.insert(&letters(&mut generator)).unwrap();
        });
        predicted += f.now().fpr.unwrap() / 20.0;
        passed += (0..queries).filter(|_| f.contains(&letters(&mut generator)).unwrap()).count();
    }
    let rate = passed as f64 / (20 * queries) as f64;
    assert!(close(rate, predicted, 0.02), "{rate} {predicted}");
    let goal = Goal::new(150, 0.01).set("samples", 16).set("arrays", 40).set("slice", 1000);
    let expect = VARIANT.expect(&goal.set("threshold", 8), &Load::items(150)).unwrap().unwrap();
    assert!(close(rate, expect.fpr, 0.05), "{rate} {}", expect.fpr);
}

#[test]
fn s34_planned_filters_keep_both_rates() {
    for (n, p) in [(50, 0.1), (1000, 0.01)] {
        let goal = Goal::new(n, p);
        let (mut missed, mut passed, mut tried) = (0, 0, 0);
        for seed in 0..5 {
            let mut generator = Generator::new(seed);
            let members: Vec<_> = (0..n).map(|_| vector(&mut generator)).collect();
            let records: Vec<_> = members.iter().map(|key| Record::key(key)).collect();
            let f = VARIANT.build_from(&goal.clone().seed(seed), &records).unwrap();
            assert_eq!((f.head().fpr, f.head().fnr), (Some(p), Some(p)));
            assert!(members.iter().all(|key| f.contains(key)));
            for member in members.iter().take(500) {
                missed += usize::from(!f.contains(&flipped(member, 12, &mut generator)));
                passed += usize::from(f.contains(&flipped(member, 103, &mut generator)));
                tried += 1;
            }
            let fill = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap().fill.unwrap();
            assert!((f.fill().unwrap() - fill.0).abs() < 6.0 * fill.1, "{:?} {fill:?}", f.fill());
        }
        let most = p * tried as f64 + 4.0 * (p * tried as f64).sqrt();
        assert!((missed as f64) < most && (passed as f64) < most, "{missed} {passed} of {tried}");
    }
}

#[test]
fn s34_planner_is_frugal_and_takes_every_setting() {
    let bits = |goal: Goal| VARIANT.expect(&goal, &Load::items(100)).unwrap().unwrap().bits;
    // The entry's own shape keeps 5.1e-4 and 1.3e-5 in 131072 bits.
    let best = bits(Goal::new(100, 1.35e-5).set("fnr", 5.2e-4));
    assert!(best <= 131_072, "{best}");
    assert!(bits(Goal::new(100, 1.35e-5).set("fnr", 5.2e-4).set("samples", 16)) <= 131_072);
    let near_only = Goal::new(100, 1.35e-5).set("fnr", 5.2e-4).set("samples", 16);
    assert!(bits(near_only.clone().set("slice", 2048)) <= 131_072);
    assert!(bits(near_only.clone().set("threshold", 16)) <= 140_000);
    assert!(bits(near_only.set("arrays", 64)) <= 140_000);
    let memory = Goal { bits: Some(200_000), fpr: Some(0.01), ..Goal::default() };
    assert!(bits(memory) <= 200_000);
    let memory = Goal { bits: Some(200_000), items: Some(100), ..Goal::default() };
    assert!(bits(memory) <= 200_000);
    // The largest set of its purpose can still be planned.
    let large = VARIANT.expect(&Goal::new(100_000, 0.01), &Load::items(100_000));
    assert!(large.unwrap().unwrap().bits < 1 << 30);
}

#[test]
fn s34_lengths() {
    let mut f = DistanceSensitive::with_rate(10, 0.01).unwrap();
    assert_eq!(f.hits("any length").unwrap(), 0, "nothing is near nothing");
    f.insert("0011").unwrap();
    let error = f.insert("00111").unwrap_err();
    assert_eq!(error.kind(), Kind::BadRecord);
    assert!(error.to_string().contains('4') && error.to_string().contains('5'), "{error}");
    assert_eq!(f.contains("001").unwrap_err().kind(), Kind::BadRecord);
    assert_eq!(f.insert("").unwrap_err().kind(), Kind::BadRecord);
    assert_eq!(f.head().items, 1);
    let set = Goal::new(10, 0.01).set("length", 3);
    assert!(VARIANT.build_from(&set, &[Record::key(b"0011")]).is_err());
    assert!(VARIANT.build_from(&set, &[Record::key(b"001")]).is_ok());
}

#[test]
fn s34_union() {
    let (mut a, left, _) = filter(1, 16);
    let mut b = DistanceSensitive::with_shape(16, 64, 2048, 16, Hasher::seeded(1)).unwrap();
    let right: Vec<_> = filter(2, 16).1;
    right.iter().for_each(|key| {
        b.insert(key).unwrap();
    });
    a.as_merge().unwrap().merge(&b).unwrap();
    assert!(left.iter().chain(&right).all(|key| a.hits(key).unwrap() == 64));
    assert!((190..=210).contains(&a.head().items), "{}", a.head().items);
    let once = a.clone();
    a.as_merge().unwrap().merge(&b).unwrap();
    assert_eq!(a, once);
    let mut other = DistanceSensitive::with_shape(16, 64, 2048, 16, Hasher::seeded(1)).unwrap();
    other.insert("0101").unwrap();
    let error = a.as_merge().unwrap().merge(&other).unwrap_err();
    assert_eq!(error.kind(), Kind::Incompatible { what: "length" });
    assert_eq!(a, once);
}

//! I18, the Golomb-coded set.

use everbloom::Kind;
use everbloom::compact::golomb::{
    Golomb, VARIANT, best_parameter, bits_per_entry, bits_per_gap, fpr,
};
use everbloom::internals::file::{Opener, to_bytes};
use everbloom::internals::filter::{Face, Filter, Record};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::{bloom, bound};

/// N, b, bits an entry: the best parameters, then Rice's.
const TABLE: [(u64, u64, f64); 6] = [
    (128, 88, 8.466),
    (256, 177, 9.469),
    (1024, 709, 11.471),
    (1024, 1 << 10, 11.582),
    (1024, 1 << 9, 11.541),
    (784_931, 1 << 19, 21.052),
];

fn keys(n: u64) -> Vec<u64> {
    (0..n).collect()
}

fn set(n: u64, spread: u64, b: u64, interval: u64, seed: u64) -> Golomb {
    Golomb::with_shape(&keys(n), spread, b, interval, Hasher::seeded(seed)).unwrap()
}

#[test]
fn i18_parameters_and_bits_by_formula() {
    for (spread, b, bits) in TABLE {
        let p = 1.0 / spread as f64;
        let computed = bits_per_gap(b, p);
        assert!((computed - bits).abs() < 6e-4, "N = {spread}, b = {b}: {computed}");
        if !b.is_power_of_two() {
            assert_eq!(best_parameter(p), b, "N = {spread}");
            for other in [b - 1, b + 1, b / 2, 2 * b] {
                assert!(bits_per_gap(other, p) >= computed, "N = {spread}: {other} beats {b}");
            }
        } else {
            let q = (1.0 - p).powf(b as f64);
            let rice = f64::from(b.ilog2()) + 1.0 + q / (1.0 - q);
            assert!((computed - rice).abs() < 1e-9, "N = {spread}");
        }
        // The best there can be is the entropy of a gap, half a bit above the space lower bound's log2 N
        // and a bit more.
        assert!(computed > bound::lower_bound(1.0, p) + 1.4);
    }
    // Defined at the ends.
    assert_eq!(best_parameter(1.0), 1);
    assert!(best_parameter(0.0) > 1 << 60);
    assert_eq!(best_parameter(0.5), 1);
}

#[test]
fn i18_bits_of_real_sets() {
    let (n, sets) = (10_000, 20);
    for (spread, b, bits) in TABLE {
        let (mut per_key, mut exact) = (0.0, 0.0);
        for seed in 0..sets {
            let set = set(n, spread, b, 256, seed);
            let entries = set.entries() as f64;
            let predicted = entries * bits_per_entry(b, entries / set.range() as f64);
            let off = (set.code_bits() as f64 - predicted).abs();
            assert!(off <= 6.0 * set.bits_sd(), "{off} bits off, sd {}", set.bits_sd());
            per_key += set.code_bits() as f64 / (n * sets) as f64;
            exact += predicted / (n * sets) as f64;
        }
        assert!((per_key / bits - 1.0).abs() < 0.01, "N = {spread}, b = {b}: {per_key}");
        // Two keys of one number cost one code, and different numbers are at least 1 apart.
        assert!((per_key / exact - 1.0).abs() < 5e-4, "N = {spread}, b = {b}: {per_key}, {exact}");
    }
    // Both show where the numbers are dense.
    let dense = set(200_000, 4, 3, 0, 1);
    let (entries, range) = (dense.entries() as f64, dense.range() as f64);
    let per_entry = dense.code_bits() as f64 / entries;
    assert!((per_entry / bits_per_entry(3, entries / range) - 1.0).abs() < 0.003, "{per_entry}");
    assert!(per_entry > 1.05 * bits_per_gap(3, entries / range), "{per_entry}");
}

#[test]
fn i18_it_is_smaller_than_a_standard_filter() {
    let n = 100_000;
    for p in [0.01, 0.001, 1e-6] {
        for form in ["golomb", "rice"] {
            let goal = Goal::new(n, p).set("form", form);
            let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
            assert!(expect.fpr <= p && expect.fpr > 0.98 * p, "{expect:?}");
            let per_key = expect.bits as f64 / n as f64;
            assert!(per_key < bloom::bits(1.0, p), "{form}, {p}: {per_key}");
            assert!(per_key < bound::lower_bound(1.0, p) + 2.1, "{form}, {p}: {per_key}");
        }
    }
}

#[test]
fn i18_rates() {
    assert!((fpr(128_000.0, 1000.0) - 0.0077821).abs() < 1e-6);
    let (n, spread, queries, sets) = (2000, 128, 50_000u64, 20);
    let (mut wrong, mut entries) = (0, 0);
    for seed in 0..sets {
        let set = set(n, spread, 88, 64, seed);
        assert!((0..n).all(|key| set.contains(&key)));
        wrong += (n..n + queries).filter(|key| set.contains(key)).count();
        entries += set.entries();
        assert_eq!(set.now().fpr, Some(set.entries() as f64 / set.range() as f64));
    }
    let predicted = fpr((n * spread) as f64, n as f64);
    let rate = wrong as f64 / (queries * sets) as f64;
    // Some 7,800 events: five standard deviations are 6 %.
    assert!((rate / predicted - 1.0).abs() < 0.06, "{rate}, not {predicted}");
    let mean = entries as f64 / sets as f64;
    assert!((mean - (n * spread) as f64 * predicted).abs() < 4.0, "{mean} entries");
    assert!(mean < n as f64, "some keys share a number");
}

#[test]
fn i18_every_index_gives_the_same_answers() {
    let (n, spread) = (1000, 50);
    let whole = set(n, spread, 35, 0, 1);
    for interval in [1, 2, 7, 256, 999, 1000, 100_000] {
        let indexed = set(n, spread, 35, interval, 1);
        assert_eq!(indexed.code_bits(), whole.code_bits());
        for key in 0..5 * n {
            assert_eq!(indexed.contains(&key), whole.contains(&key), "{interval}: {key}");
        }
    }
}

#[test]
fn i18_repeated_keys_are_stored_once() {
    let twice: Vec<u64> = keys(500).into_iter().chain(keys(500)).collect();
    let set = Golomb::with_shape(&twice, 1 << 30, 1 << 30, 256, Hasher::default()).unwrap();
    assert_eq!((set.entries(), set.range()), (500, 1000 << 30), "stored, and the n that fixes F");
    assert_eq!(set.head().items, 1000);
    assert!((0..500u64).all(|key| set.contains(&key)));
    let again: Golomb = Opener::new().decode_as(&to_bytes(&set)).unwrap();
    assert_eq!(again, set);
}

#[test]
fn i18_unary_runs_longer_than_a_word() {
    // b = 1 writes every gap in unary, some of them with hundreds of ones.
    let set = set(300, 200, 1, 16, 2);
    assert!(set.code_bits() > 50_000 && set.code_bits() <= 60_000 + 300);
    assert!((0..300u64).all(|key| set.contains(&key)));
    let wrong = (300..30_300u64).filter(|key| set.contains(key)).count();
    assert!((60..=260).contains(&wrong), "{wrong} of 30,000 at 1/200");
}

#[test]
fn i18_ranges_fit_their_numbers() {
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).unwrap_err().kind();
    assert_eq!(refused(Goal::new(1 << 40, 1e-9)), Kind::BadParameter);
    assert_eq!(refused(Goal::new(10, 0.01).set("N", 1u64 << 60)), Kind::BadParameter);
    assert_eq!(refused(Goal::new(1 << 30, 1e-9).set("b", 1)), Kind::BadParameter);
    assert_eq!(refused(Goal::new(10, 0.01).set("P", 3)), Kind::BadParameter);
    assert_eq!(refused(Goal::new(10, 0.01).set("form", "rice").set("b", 8)), Kind::BadParameter);
    assert!(Golomb::with_shape(&keys(9), u64::MAX, 8, 0, Hasher::default()).is_err());
    assert!(Golomb::with_shape(&keys(9), 1 << 40, 1, 0, Hasher::default()).is_err(), "in unary");
    assert!(Golomb::with_shape(&keys(9), 0, 8, 0, Hasher::default()).is_err());
    assert!(Golomb::with_shape(&keys(9), 10, 0, 0, Hasher::default()).is_err());
    assert!(Golomb::with_shape(&keys(9), 10, 1 << 63, 0, Hasher::default()).is_err());
    let bip158 = Goal::new(1000, 0.01).set("form", "rice").set("N", 784_931).set("P", 19);
    let built = VARIANT.build_from(&bip158, &[]).unwrap();
    let facts: Vec<String> =
        built.describe().iter().map(|f| format!("{}={}", f.name, f.value)).collect();
    assert!(facts.contains(&"N=784931".into()) && facts.contains(&"b=524288".into()), "{facts:?}");
}

#[test]
fn i18_rice_takes_the_better_power() {
    for (p, power) in [(1.0 / 1024.0, 9u32), (1.0 / 900.0, 9), (1.0 / 1480.0, 10), (0.01, 6)] {
        let goal = Goal::new(50_000, p).set("form", "rice");
        let keys: Vec<[u8; 8]> = (0..50_000u64).map(u64::to_le_bytes).collect();
        let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
        let built = VARIANT.build_from(&goal, &records).unwrap();
        let expect = VARIANT.expect(&goal, &Load::items(50_000)).unwrap().unwrap();
        let bits = |power: u32| bits_per_entry(1 << power, p);
        assert!(bits(power) <= bits(power - 1).min(bits(power + 1)), "{p}");
        assert!((expect.bits as f64 / 50_000.0 - bits(power)).abs() < 0.4, "{p}: {expect:?}");
        let b = built.describe().into_iter().find(|fact| fact.name == "b").expect("its parameter");
        assert_eq!(b.value.to_string(), (1u64 << power).to_string(), "{p}");
    }
}

//! R6, the cross-checking filter.

use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Flat, Goal, Load};
use everbloom::internals::theory::bloom::fpr_asymptotic;
use everbloom::known::CrossChecking;
use everbloom::known::cross_checking::{VARIANT, fpr_any};
use everbloom::membership::Bloom;

const SEEDS: u64 = 20;
const STRANGERS: std::ops::Range<u64> = 1 << 40..(1 << 40) + 500_000;

fn filter(main: Flat, cross: Flat, n: u64, seed: u64) -> CrossChecking {
    let mut f = CrossChecking::with_shape(main, cross, 2, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        f.insert(&key);
    });
    f
}

fn bloom(m: u64, k: u32, n: u64, seed: u64) -> Bloom {
    let mut f = Bloom::with_shape(m, k, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        f.insert(&key);
    });
    f
}

/// The share of non-members that pass, over all seeds.
fn measured(passes: impl FnMut(u64) -> u64) -> f64 {
    (0..SEEDS).map(passes).sum::<u64>() as f64 / (SEEDS * (STRANGERS.end - STRANGERS.start)) as f64
}

fn passing(f: &CrossChecking) -> u64 {
    STRANGERS.filter(|key| f.contains(key)).count() as u64
}

#[test]
fn r6_formulas() {
    let f = |bits: f64, n: f64, k: f64| fpr_asymptotic(bits, n, k);
    let prints = |value: f64, printed: f64, digit: f64| {
        assert!((value - printed).abs() <= 0.51 * digit, "{value} {printed}");
    };
    prints(f(8.0, 1.0, 5.0), 0.0216792, 1e-7);
    prints(f(8.0, 0.5, 5.0), 0.00139247, 1e-8);
    prints(fpr_any(f(8.0, 1.0, 5.0), f(8.0, 0.5, 5.0), 2), 6.0333e-5, 1e-9);
    // With shared hashes the main filter adds nothing.
    prints(fpr_any(1.0, f(8.0, 0.5, 5.0), 2), 0.0027830, 1e-7);
    prints(fpr_any(f(8.0, 1.0, 5.0), f(4.0, 0.5, 5.0), 2), 9.298e-4, 1e-7);
    prints(f(16.0, 1.0, 11.0), 4.587e-4, 1e-7);
}

#[test]
fn r6_independent_filters_multiply_their_rates() {
    let (n, shape) = (2000, Flat { m: 16_000, k: 5 });
    let mut ones = 0.0;
    let rate = measured(|seed| {
        let f = filter(shape, shape, n, seed);
        assert!((0..n).all(|key| f.contains(&key)));
        ones += f.fill().unwrap() / SEEDS as f64;
        passing(&f)
    });
    // About 600 events. A salt that is dropped gives 0.0028 or more.
    assert!((rate / 6.0333e-5 - 1.0).abs() < 0.17, "{rate}");
    let goal = Goal::new(n, 0.01).set("m", 16_000).set("k", 5).set("cross-m", 16_000);
    let expect = VARIANT.expect(&goal.set("cross-k", 5), &Load::items(n)).unwrap().unwrap();
    let (mean, sd) = expect.fill.unwrap();
    assert!((ones - mean).abs() < 4.0 * sd / (SEEDS as f64).sqrt(), "{ones} {mean}: a wrong k");
    assert!((expect.fpr / 6.0333e-5 - 1.0).abs() < 0.01, "{}", expect.fpr);
}

/// What it is for: no filter may have more than five hash functions. At equal total bits and on
/// non-members, three filters of 8 bits a key beat one of 24.
#[test]
fn r6_beats_one_filter_with_as_few_probes() {
    let (n, shape) = (2000, Flat { m: 16_000, k: 5 });
    let checked = measured(|seed| {
        let f = filter(shape, shape, n, seed);
        assert!(f.memory().cells == 48_000);
        passing(&f)
    });
    let single = measured(|seed| {
        // As many bits as all of the other's filters and their descriptions together.
        let total = filter(shape, shape, 0, seed).memory().total();
        let f = bloom(total, 5, n, seed);
        STRANGERS.filter(|key| f.contains(key)).count() as u64
    });
    assert!(checked < 0.35 * single, "{checked} {single}");
}

/// Where not to use it: one filter with its best k makes better use of the same bits.
#[test]
fn r6_loses_to_one_filter_with_its_best_k() {
    let n = 2000;
    let (main, cross) = (Flat { m: 16_000, k: 5 }, Flat { m: 8_000, k: 5 });
    let checked = measured(|seed| passing(&filter(main, cross, n, seed)));
    let single = measured(|seed| {
        let f = bloom(32_000, 11, n, seed);
        STRANGERS.filter(|key| f.contains(key)).count() as u64
    });
    assert!((checked / 9.298e-4 - 1.0).abs() < 0.06, "{checked}");
    assert!((single / 4.587e-4 - 1.0).abs() < 0.08, "{single}");
}

#[test]
fn r6_parts_by_hash_and_by_choice() {
    let shape = Flat { m: 16_000, k: 5 };
    let mut f = CrossChecking::with_shape(shape, shape, 3, Hasher::default()).unwrap();
    for key in 0..300u64 {
        f.insert_into(key as usize % 3, &key).unwrap();
    }
    assert!((0..300u64).all(|key| f.contains(&key)), "the rule asks every part");
    assert!(f.insert_into(3, &0u64).unwrap_err().to_string().contains("3 parts"));
    // The own-part rule asks one filter of the two, so its rate is half of the other's.
    let build = |form| {
        let keys: Vec<[u8; 8]> = (0..20_000u64).map(u64::to_le_bytes).collect();
        let records: Vec<_> =
            keys.iter().map(|k| everbloom::internals::filter::Record::key(k)).collect();
        let goal =
            Goal::new(20_000, 0.01).set("form", form).set("m", 100_000).set("cross-m", 50_000);
        VARIANT.build_from(&goal, &records).unwrap()
    };
    let (any, own) = (build("any-part"), build("own-part"));
    let count = |f: &dyn Filter| STRANGERS.filter(|k| f.contains(&k.to_le_bytes())).count() as f64;
    let ratio = count(&*own) / count(&*any);
    let want = own.now().fpr.unwrap() / any.now().fpr.unwrap();
    assert!((0.5..0.56).contains(&want) && (ratio - want).abs() < 0.02, "{ratio} {want}");
}

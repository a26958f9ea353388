//! B4 (b) to (d), the ribbon filters.

use everbloom::compact::ribbon::{VARIANT, bumped_keys, homogeneous_slots, standard_slots};
use everbloom::compact::{Ribbon, times_bound};
use everbloom::internals::filter::{Ability, FalseNegatives};
use everbloom::internals::filter::{Filter, Record};
use everbloom::internals::hash::{Generator, HashId, Hasher, mix64};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::probe::multiply_shift;
use everbloom::internals::solve::{Band, Row};
use everbloom::internals::theory::tail::binomial_bounds;

use super::numbers::{fact, has_each_once, passing, some_twice};

const FORMS: [&str; 3] = ["bumped", "standard", "homogeneous"];

fn hasher(seed: u64) -> Hasher {
    Hasher::with_id(HashId::Fold64, seed).unwrap()
}

fn bumped(n: u64, bits: u32, seed: u64) -> Ribbon {
    Ribbon::with_bits(0..n, bits, hasher(seed)).unwrap()
}

fn build(goal: &Goal, n: u64) -> Box<dyn Filter> {
    let keys: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    VARIANT.build_from(goal, &records).unwrap()
}

fn goal(form: &str, n: u64, bits: u32, seed: u64) -> Goal {
    Goal::new(n.max(1), 0.5).seed(seed).set("form", form).set("bits", bits)
}

/// The band of n random equations in m unknowns, by the entry's own words; `None` on a conflict.
fn random_band(n: u64, m: u64, seed: u64, zero: bool) -> Option<Band> {
    let mut coins = Generator::new(mix64(seed ^ n << 32));
    let mut hashes: Vec<u64> = (0..n).map(|_| coins.next_u64()).collect();
    hashes.sort_unstable();
    let mut band = Band::new(0..m as usize);
    for hash in hashes {
        let result = if zero { 0 } else { mix64(hash ^ 2) as u32 & 0xff };
        let start = multiply_shift(hash, m - 63) as usize;
        if band.insert(start, mix64(hash ^ 1) | 1, result) == Row::Conflict {
            return None;
        }
    }
    Some(band)
}

#[test]
fn b4_standard_success_of_one_seed() {
    for (n, runs, shares) in [
        (10_000, 150, &[(1.02, 0.13), (1.03, 0.41), (1.05, 0.835), (1.07, 0.96), (1.1, 0.997)][..]),
        (100_000, 30, &[(1.05, 0.17), (1.07, 0.75), (1.1, 0.975), (1.15, 1.0)][..]),
    ] {
        for (per_key, share) in shares {
            let m = (n as f64 * per_key) as u64;
            let solved = (0..runs).filter(|seed| random_band(n, m, *seed, false).is_some());
            let solved = solved.count() as u64;
            // Shares are known to two or three hundredths.
            let (low, _) = binomial_bounds(runs, (share - 0.03f64).max(0.0), 1e-7);
            let (_, high) = binomial_bounds(runs, (share + 0.03f64).min(1.0), 1e-7);
            assert!((low..=high).contains(&solved), "{n} × {per_key}: {solved} of {runs}");
        }
    }
}

#[test]
fn b4_standard_slots() {
    for (n, per_key) in [(4000, 1.055), (10_000, 1.066), (100_000, 1.094), (1_000_000, 1.121)] {
        let found = standard_slots(n) as f64 / n as f64;
        assert!((found - per_key).abs() < 0.001, "{n}: {found}");
    }
    assert_eq!((standard_slots(1), standard_slots(100)), (64, 163));
    // Under these, 93 of 100 seeds or more have a solution, and as many rows are empty as slots are left.
    for (n, runs) in [(100, 200), (500, 200), (1000, 200), (2000, 200), (4000, 100), (10_000, 60)] {
        let m = standard_slots(n);
        let bands = (0..runs).filter_map(|seed| random_band(n, m, seed, false));
        let solved = bands.map(|band| assert_eq!(band.free(), m - n)).count() as u64;
        let (low, _) = binomial_bounds(runs, 0.92, 1e-6);
        assert!(solved >= low, "{n}: {solved} of {runs}");
    }
}

#[test]
fn b4_homogeneous_needs_a_margin_and_a_look() {
    let spanned = |n, m, seed| {
        let band = random_band(n, m, seed, true).expect("zeros are never in conflict");
        assert!(band.free() >= m - n, "free rows are at least 1 − n/m of all");
        let mut coins = Generator::new(seed);
        let mut random = || band.spans(coins.below(m - 63) as usize, coins.next_u64() | 1);
        (0..10_240).filter(|_| random()).count() as f64 / 10_240.0
    };
    // With n + 63 slots, 4 % of the filters have a rate above 1.25·2^−8, and the worst a very high one.
    let shares: Vec<f64> = (0..600).map(|seed| spanned(1000, 1063, seed)).collect();
    let bad = shares.iter().filter(|share| **share > 0.25 / 256.0).count() as u64;
    let (low, high) = binomial_bounds(600, 0.04, 1e-6);
    assert!((low..=high).contains(&bad), "{bad} of 600");
    assert!(shares.iter().any(|share| *share > 0.03));
    // With 1.12·n + 63 there are none.
    assert_eq!((homogeneous_slots(1000), homogeneous_slots(10_000)), (1183, 11_263));
    assert!((0..300).all(|seed| spanned(1000, homogeneous_slots(1000), seed) <= 0.25 / 256.0));
    assert!((0..40).all(|seed| spanned(10_000, homogeneous_slots(10_000), seed) <= 0.25 / 256.0));
    // A filter built with too few slots takes another seed where one is bad.
    let tight = |seed| build(&goal("homogeneous", 1000, 8, seed).set("slots", 1.063), 1000);
    let filters: Vec<_> = (0..100).map(tight).collect();
    assert!(filters.iter().all(|filter| fact(&**filter, "spanned") <= 0.25 / 256.0));
    assert!(filters.iter().any(|filter| fact(&**filter, "attempts") > 1.0));
}

#[test]
fn b4_ribbon_rates() {
    for form in FORMS {
        for bits in [1, 3, 5, 8, 12] {
            let (mut passed, mut predicted) = (0, 0.0);
            for seed in 0..20 {
                let n = 10 + 777 * seed;
                let filter = build(&goal(form, n, bits, seed), n);
                assert!((0..n).all(|key| filter.contains(&key.to_le_bytes())), "{form} {bits} {n}");
                passed += passing(&*filter, 50_000);
                predicted += filter.now().fpr.unwrap() / 20.0;
            }
            let chance = 0.5f64.powi(bits as i32);
            assert!(predicted >= chance && predicted < 1.03 * chance, "{form}: {predicted}");
            let (low, high) = binomial_bounds(1_000_000, chance, 1e-9);
            assert!((low..=high).contains(&passed), "{form} {bits}: {passed}, {low}..{high}");
        }
        let wide = build(&goal(form, 1000, 32, 3), 1000);
        assert!((0..1000u64).all(|key| wide.contains(&key.to_le_bytes())));
        assert_eq!(passing(&*wide, 200_000), 0, "{form}");
    }
}

#[test]
fn b4_bumped_slots() {
    let n = 200_000;
    for (overload, low, high) in
        [(1.0, 1.010, 1.015), (1.02, 1.003, 1.007), (1.05, 1.0005, 1.0025), (1.08, 1.0005, 1.0025)]
    {
        let filter = build(&goal("bumped", n, 8, 0).set("overload", overload), n);
        let slots = fact(&*filter, "slots per key");
        assert!((low..high).contains(&slots), "{overload}: {slots}");
    }
    // Some 9500 keys are bumped once, 336 twice: buckets of 128 starts for 134.4 of them.
    let filter = bumped(n, 8, 0);
    let slots: Vec<u64> = filter.slots().collect();
    assert_eq!((slots.len(), slots[0]), (3, 1489 * 128 + 64));
    let second = (slots[1] - 64) as f64 * 1.05;
    assert!((9200.0..9900.0).contains(&second), "{second}");
    assert!((300..700).contains(&slots[2]), "{slots:?}");
    // Two bits a bucket are 0.0157 bits a key with the second layer's.
    let thresholds = 2.0 * fact(&filter, "buckets") / n as f64;
    assert!((thresholds - 0.0157).abs() < 0.0003, "{thresholds}");
}

#[test]
fn b4_bumped_bits_per_key() {
    for (n, low, high) in
        [(2_000_000, 8.015, 8.03), (200_000, 8.02, 8.035), (10_000, 8.0, 8.2), (3000, 8.1, 8.5)]
    {
        let filter = bumped(n, 8, 1);
        let per_key = filter.memory().cells as f64 / n as f64;
        assert!((low..high).contains(&per_key), "{n}: {per_key}");
        assert!((0..n).all(|key| filter.contains(&key)), "{n}");
        let (low, high) = binomial_bounds(500_000, 1.0 / 256.0, 1e-9);
        assert!((low..=high).contains(&passing(&filter, 500_000)), "{n}");
    }
    // Within a twentieth of the fewest bits possible, everything counted.
    for n in [10_000, 30_000, 100_000] {
        for bits in [7, 8, 16] {
            let times = times_bound(&bumped(n, bits, 2)).unwrap();
            assert!(times < 1.05, "{n} keys, {bits} bits: {times}");
        }
    }
}

#[test]
fn b4_bumped_keys_are_as_many_as_expected() {
    // As measured, with the number of buckets.
    for (n, buckets, share) in [
        (20_000.0, 149.0, 0.04591),
        (200_000.0, 1489.0, 0.04779),
        (200_000.0, 1532.0, 0.02355),
        (200_000.0, 1563.0, 0.01100),
        (200_000.0, 1447.0, 0.07412),
    ] {
        let expected = bumped_keys(n, buckets) / n;
        assert!((expected - share).abs() < 0.001, "{n} {buckets}: {expected}, measured {share}");
    }
    // The bits that follow from them are those of filters of every size, within their spread.
    for n in [2001, 2100, 5000, 17_000, 41_000, 43_000, 60_000, 300_000] {
        for overload in [1.0, 1.03, 1.05, 1.1] {
            let goal = goal("bumped", n, 8, n).set("overload", overload);
            let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
            let filter = build(&goal, n);
            let off = expect.bits.abs_diff(filter.memory().cells) as f64;
            assert!(off <= 4.0 * filter.bits_sd(), "{n} {overload}: off by {off} bits");
        }
    }
}

#[test]
fn b4_ribbon_every_size_builds() {
    let sizes = (0..130).chain((130..20_000).step_by(631)).chain((11_000..12_000).step_by(17));
    for n in sizes {
        let filter = Ribbon::with_bits(some_twice(n), 8, hasher(0)).unwrap();
        has_each_once(&filter, n);
        assert!(filter.attempts() <= 10, "{n}: {} seeds", filter.attempts());
        for form in ["standard", "homogeneous"] {
            let filter = build(&goal(form, n, 4, 1), n);
            assert!((0..n).all(|key| filter.contains(&key.to_le_bytes())), "{form} {n}");
        }
    }
}

#[test]
fn b4_ribbon_no_keys_no_answers() {
    for form in FORMS {
        let empty = build(&goal(form, 0, 1, 0), 0);
        assert_eq!(passing(&*empty, 10_000), 0, "{form}");
        assert_eq!((empty.now().fpr, empty.memory().cells), (Some(0.0), 0));
    }
}

#[test]
fn b4_ribbon_repeated_keys_are_there_once() {
    let keys = (0..5000u64).chain(0..5000).chain([7; 100]);
    assert_eq!(Ribbon::with_bits(keys, 8, hasher(3)).unwrap(), bumped(5000, 8, 3));
}

#[test]
fn b4_ribbon_plans() {
    for (p, bits) in [(0.5, 1), (0.01, 7), (1.0 / 256.0, 8), (1e-6, 20)] {
        let goal = Goal::new(1000, p).set("form", "standard");
        let expect = VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap();
        // 1063 slots are 17 blocks.
        assert_eq!((expect.bits, expect.fpr), (17 * 64 * bits, 0.5f64.powi(bits as i32)), "{p}");
    }
    // A homogeneous ribbon keeps the rate even if a quarter more pass.
    let goal = Goal::new(1000, 1.0 / 256.0).set("form", "homogeneous");
    let expect = VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap();
    assert_eq!(expect.bits, 19 * 64 * 9);
    assert_eq!(expect.fpr, 1.0 / 512.0);
    assert!(VARIANT.build_from(&Goal::new(10, 1e-12), &[]).is_err(), "beyond 32 bits");
    assert!(VARIANT.build_from(&Goal { bits: Some(6000), ..Goal::new(1000, 0.01) }, &[]).is_err());
    assert!(Ribbon::with_bits(0..5u64, 0, hasher(0)).is_err());
    assert!(Ribbon::with_bits(0..5u64, 33, hasher(0)).is_err());
    // Fewer slots than keys have no solution under any seed, and the error says what to do.
    let keys: Vec<[u8; 8]> = (0..3000u64).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let tight = Goal::new(3000, 0.01).set("form", "standard").set("slots", 1.0);
    let error = VARIANT.build_from(&tight, &records).unwrap_err().to_string();
    assert!(error.contains("slots") && error.contains("100 seeds"), "{error}");
}

#[test]
fn b4_ribbon_flags() {
    // Static: nothing is counted, grouped, deleted or grown, and no member is missed.
    for form in VARIANT.forms {
        assert_eq!(form.abilities, &[] as &[Ability]);
        assert_eq!(form.false_negatives, FalseNegatives::Never);
    }
    let mut filter = build(&goal("bumped", 10, 8, 0), 10);
    assert!(filter.as_insert().is_none() && filter.as_bulk_mut().is_none());
    assert!(filter.as_bulk().is_some());
}

#[test]
fn b4_homogeneous_ribbons_err_as_often_as_predicted() {
    let variant = everbloom::catalog::by_slug("ribbon").unwrap();
    for n in [100, 3000] {
        let goal = everbloom::Goal::new(n, 0.01).set("form", "homogeneous");
        let expect = variant.expect(&goal, &everbloom::Load::items(n)).unwrap().unwrap().fpr;
        let rate = |seed: u64| {
            let goal = everbloom::Goal { hasher: Hasher::seeded(seed), ..goal.clone() };
            let keys: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
            let records: Vec<_> = keys.iter().map(|key| everbloom::Record::key(key)).collect();
            variant.build_from(&goal, &records).unwrap().now().fpr.unwrap()
        };
        let mean = (0..20).map(rate).sum::<f64>() / 20.0;
        assert!((mean / expect - 1.0).abs() < 0.03, "{n} keys: {mean}, not {expect}");
    }
}

//! R10, the generalized filter: the figures that catalogue and S2 give for running filters. Those for
//! formulas are tested beside the formulas.

use everbloom::HashId;
use everbloom::internals::cells::Bits;
use everbloom::internals::filter::{Filter, Seen};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::generalized::{Hashes, Shape};
use everbloom::membership::Bloom;
use everbloom::membership::Generalized;
use everbloom::membership::generalized::{VARIANT, fill_sd, fpr_at, max_fpr, mean_fnr};

/// `m` bits, each zero with probability `zeros`.
fn bits(m: u64, zeros: f64, seed: u64) -> Bits {
    let mut generator = Generator::new(seed);
    Bits::with_ones(m, (0..m).filter(|_| generator.unit() >= zeros))
}

fn filter(m: u64, k0: u32, k1: u32, zeros: f64, seed: u64) -> Generalized {
    Generalized::on(bits(m, zeros, seed), k0, k1, Hasher::seeded(seed)).unwrap()
}

fn insert(filter: &mut Generalized, keys: std::ops::Range<u64>) {
    keys.for_each(|key| {
        filter.insert(&key);
    });
}

/// Share of `queries` foreign keys that pass.
fn measured_fpr(filter: &Generalized, queries: u64) -> f64 {
    let foreign = (1 << 40)..(1 << 40) + queries;
    foreign.filter(|key| filter.contains(key)).count() as f64 / queries as f64
}

fn shape(m: u64, k0: u32, k1: u32) -> Shape {
    Shape { m: m as f64, k0: f64::from(k0), k1: f64::from(k1) }
}

#[test]
fn r10_cells_touched() {
    for (k0, k1) in [(2, 3), (3, 2), (1, 5), (0, 4)] {
        let (mut set, mut reset) = (0, 0);
        for seed in 0..200 {
            let m = 1 << 16;
            let mut empty = filter(m, k0, k1, 1.0, seed);
            insert(&mut empty, 0..1);
            set += empty.bits().ones();
            let mut full = filter(m, k0, k1, 0.0, seed);
            insert(&mut full, 0..1);
            reset += full.bits().zeros();
        }
        // Two hashes of a key meet in about 10 of 65536 cells: hardly ever in 200 keys.
        assert!((200 * u64::from(k1) - 2..=200 * u64::from(k1)).contains(&set), "{k1}: {set}");
        assert!((200 * u64::from(k0)).saturating_sub(2) <= reset, "{k0}: {reset}");
        assert!(reset <= 200 * u64::from(k0));
    }
}

#[test]
fn r10_skip_rule_rate_before_steady_state() {
    let (mut with_skip, mut naive, mut predicted) = (0.0, 0.0, 0.0);
    let (filters, queries) = (500, 40_000);
    for seed in 0..filters {
        let mut f = filter(1280, 2, 2, 1.0, seed);
        insert(&mut f, 0..10);
        with_skip += measured_fpr(&f, queries);
        let ones = f.fill().unwrap();
        naive += (1.0 - ones).powi(2) * ones.powi(2);
        predicted += f.now().fpr.unwrap();
    }
    let mean = |sum: f64| sum / filters as f64;
    // 5600 passes expected: 1.3 % of noise. The two rules are 20 % apart.
    let noise = 1.0 / (2.8e-4 * (filters * queries) as f64).sqrt();
    assert!((mean(with_skip) / 2.80e-4 - 1.0).abs() < 4.0 * noise, "{}", mean(with_skip));
    assert!((mean(with_skip) / mean(predicted) - 1.0).abs() < 4.0 * noise);
    // Given the bits the naive rate is p²(1−p)²; the filter's bits vary.
    assert!((mean(naive) / 2.31e-4 - 1.0).abs() < 0.02, "{}", mean(naive));
    let expected = fpr_at(1280.0, shape(1280, 2, 2).zeros_after(1.0, 10.0), 2, 2);
    assert!((expected / 2.80e-4 - 1.0).abs() < 0.01, "{expected}");
}

#[test]
fn r10_steady_state_rate() {
    let (filters, queries) = (100, 20_000);
    let sum: f64 = (0..filters)
        .map(|seed| {
            let mut f = filter(1280, 2, 2, 0.5, seed);
            insert(&mut f, 0..10);
            measured_fpr(&f, queries)
        })
        .sum();
    let rate = sum / filters as f64;
    assert!((rate - 0.0629).abs() < 0.0008, "{rate}");
    assert!((max_fpr(1280.0, 2, 2) - 0.0629).abs() < 5e-5);
}

#[test]
fn r10_false_negatives_after_ten_others() {
    let trials = 300_000;
    let mut f = filter(1280, 2, 2, 0.5, 1);
    let mut lost = 0;
    for trial in 0..trials {
        let first = trial * 11;
        insert(&mut f, first..first + 11);
        lost += u64::from(!f.contains(&first));
    }
    let rate = lost as f64 / trials as f64;
    // Noise 0.00044; the catalogue's own 0.0004.
    assert!((rate - 0.0607).abs() < 4.0 * 0.0006, "{rate}");
    assert!(rate > 0.058, "the bound F_n is 0.0601");
}

#[test]
fn r10_the_last_key_is_never_missed() {
    let mut generator = Generator::new(7);
    for case in 0..40_000u64 {
        // A few bits and many hashes: sets and resets of one key meet all the time.
        let m = 1 + generator.below(if case % 2 == 0 { 12 } else { 300 });
        let (k0, k1) = (generator.below(7) as u32, 1 + generator.below(7) as u32);
        let mut f = filter(m, k0, k1, generator.unit(), case);
        insert(&mut f, 0..1 + generator.below(5));
        f.insert(&case);
        assert!(f.contains(&case), "m {m} k0 {k0} k1 {k1}");
        assert_eq!(f.insert(&case), Seen::Maybe);
    }
}

#[test]
fn r10_without_resets_it_is_the_standard_filter() {
    for (m, k) in [(1u64, 1), (97, 3), (10_000, 7), (100_000, 5)] {
        let mut standard =
            Bloom::with_shape(m, k, Hasher::with_id(HashId::Xxh3_128, 3).unwrap()).unwrap();
        let mut ours = filter(m, 0, k, 1.0, 3);
        for key in 0..1000u64 {
            assert_eq!(standard.insert(&key), ours.insert(&key));
        }
        assert_eq!(standard.bits(), ours.bits());
        assert!((0..5000u64).all(|key| standard.contains(&key) == ours.contains(&key)));
        let fill = standard.bits().ones() as f64 / m as f64;
        assert!((ours.now().fpr.unwrap() / fill.powi(k as i32) - 1.0).abs() < 1e-12);
        assert_eq!(ours.now().fnr, Some(0.0));
    }
}

#[test]
fn r10_all_one_attack() {
    for (k0, k1) in [(2, 2), (2, 3), (3, 1)] {
        let bound = max_fpr(1280.0, k0, k1);
        let worst = Hashes { k0: f64::from(k0), k1: f64::from(k1) }.worst_zeros();
        for zeros in [0.0, 1.0, worst] {
            for n in [0, 1, 10, 300] {
                let (filters, queries) = (40, 5000);
                let sum: f64 = (0..filters)
                    .map(|seed| {
                        let mut f = filter(1280, k0, k1, zeros, seed);
                        insert(&mut f, 0..n);
                        assert!(f.now().fpr.unwrap() <= bound * (1.0 + 1e-12));
                        measured_fpr(&f, queries)
                    })
                    .sum();
                let noise = (bound / (filters * queries) as f64).sqrt();
                assert!(sum / filters as f64 <= bound + 4.0 * noise, "{k0} {k1} {zeros} {n}");
            }
        }
    }
    // The standard filter under the same attack lets everybody pass.
    assert_eq!(measured_fpr(&filter(1280, 0, 4, 0.0, 1), 1000), 1.0);
}

#[test]
fn r10_fill_and_its_spread() {
    // Before, at and far beyond the load S2 has in mind; large and tiny; every kind of start.
    for (m, k0, k1, zeros, n) in [
        (1280, 2, 2, 1.0, 10),
        (1280, 2, 3, 0.0, 60),
        (500, 3, 2, 0.3, 400),
        (200, 0, 4, 1.0, 40),
        (7, 1, 2, 1.0, 3),
        (2, 1, 1, 0.5, 2),
    ] {
        let filters = 6000;
        let fills: Vec<f64> = (0..filters)
            .map(|seed| {
                let mut f = filter(m, k0, k1, zeros, seed);
                insert(&mut f, 0..n);
                f.fill().unwrap()
            })
            .collect();
        let mean = fills.iter().sum::<f64>() / filters as f64;
        let var = fills.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / filters as f64;
        let s = shape(m, k0, k1);
        let (want, sd) = (1.0 - s.zeros_after(zeros, n as f64), fill_sd(&s, zeros, n as f64));
        let at = format!("m {m} k0 {k0} k1 {k1} zeros {zeros} n {n}");
        assert!((mean - want).abs() < 4.5 * sd / (filters as f64).sqrt(), "{at}: {mean} {want}");
        // A sample's sd is off by 1/√(2·6000) = 0.9 %.
        assert!((var.sqrt() / sd - 1.0).abs() < 0.05, "{at}: {} {sd}", var.sqrt());
    }
}

#[test]
fn r10_planned_filters_keep_both_bounds() {
    for (n, p, fnr) in [(1000, 0.05, 0.05), (10, 0.3, 0.1), (2000, 0.01, 0.2)] {
        let goal = Goal::new(n, p).set("fnr", fnr);
        let (mut lost, mut passed, queries) = (0, 0, 10_000);
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        assert!(expect.fpr <= p && expect.fnr <= fnr);
        let filters = 20_000 / n;
        for seed in 0..filters {
            let keys: Vec<_> = (0..n).map(u64::to_le_bytes).collect();
            let records: Vec<_> =
                keys.iter().map(|k| everbloom::internals::filter::Record::key(k)).collect();
            let f = VARIANT.build_from(&goal.clone().seed(seed), &records).unwrap();
            lost += keys.iter().filter(|k| !f.contains(*k)).count();
            let foreign = (1u64 << 40..).take(queries);
            passed += foreign.filter(|k| f.contains(&k.to_le_bytes())).count();
            assert_eq!((f.head().fpr, f.head().fnr), (Some(p), Some(fnr)));
        }
        let rate = lost as f64 / (filters * n) as f64;
        // Members of one filter are lost together now and then: allow five binomial deviations.
        let noise = (expect.fnr / (filters * n) as f64).sqrt();
        assert!((rate - expect.fnr).abs() < 5.0 * noise, "{n}: {rate} {}", expect.fnr);
        let rate = passed as f64 / (filters as usize * queries) as f64;
        let noise = (expect.fpr / (filters as usize * queries) as f64).sqrt();
        assert!((rate - expect.fpr).abs() < 5.0 * noise + 0.05 * expect.fpr, "{n}: {rate}");
    }
}

#[test]
fn r10_settings() {
    let expect = |goal: Goal| VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap();
    // F_n of S2's text: (2,3) hashes at 256 bits a key.
    let by_hand = Goal::new(1000, 0.05).set("k0", 2).set("k1", 3).set("m", 256_000);
    let filter = VARIANT.build_from(&by_hand, &[]).unwrap();
    assert!((filter.head().fnr.unwrap() - 0.045575).abs() < 1e-6);
    let sized = expect(Goal::new(1000, 0.05).set("k0", 2).set("k1", 3).set("fnr", 0.045575));
    assert!((sized.bits as f64 / 256_000.0 - 1.0).abs() < 1e-4);
    // One kind of hashes by hand: the other follows from the rate, F_p(2,3) = 0.03456.
    let one_set = expect(Goal::new(1000, 0.035).set("k0", 2).set("fnr", 0.045575));
    assert_eq!(one_set.bits, sized.bits);
    // Memory in place of the rate or the items.
    let memory = Goal { bits: Some(256_000), ..Goal::default() };
    let items = Goal { items: Some(1000), ..memory.clone() };
    assert!(expect(items.set("fnr", 0.0456)).bits <= 256_000);
    let rate = Goal { fpr: Some(0.035), ..memory };
    assert!(expect(rate.set("fnr", 0.0456)).bits <= 256_000);
    // Without resets it is planned as the standard filter.
    let standard = expect(Goal::new(1000, 0.01).set("k0", 0));
    assert!((standard.bits as f64 / 9586.0 - 1.0).abs() < 0.01, "{}", standard.bits);
    assert!(standard.fpr < 0.0101 && standard.fnr == 0.0);
    // A start that is too full for a filter that cannot reset.
    let full = Goal::new(1000, 0.01).set("k0", 0).set("k1", 1).set("zeros", 0.5);
    assert!(VARIANT.check(&full).is_ok() && VARIANT.build_from(&full, &[]).is_err());
    // The initial bits are reproducible and follow their seed.
    let mixed = Goal::new(100, 0.05).set("zeros", 0.4);
    let build = |goal: &Goal| VARIANT.build_from(goal, &[]).unwrap();
    assert_eq!(build(&mixed).fill(), build(&mixed).fill());
    assert_ne!(build(&mixed).fill(), build(&mixed.clone().set("init-seed", 9)).fill());
    assert!((build(&mixed).fill().unwrap() - 0.6).abs() < 0.02);
}

#[test]
fn r10_mean_of_false_negatives() {
    let s = shape(100_000, 2, 3);
    let exact = |n: u64| (0..n).map(|i| s.fnr(i as f64)).sum::<f64>() / n as f64;
    for n in [1, 10, 4000, 5000, 200_000] {
        assert!((mean_fnr(&s, n) - exact(n)).abs() < 1e-4, "{n}");
    }
}

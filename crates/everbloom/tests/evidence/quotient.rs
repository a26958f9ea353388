//! B12, the quotient filter.

use std::collections::BTreeMap;

use everbloom::Kind;
use everbloom::fingerprints::Quotient;
use everbloom::fingerprints::quotient::{VARIANT, cluster, stretch};
use everbloom::internals::filter::{Face, Filter as _, List, Merge, Record};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};

use super::numbers::prints;

const FORMS: [&str; 2] = ["rank-select", "status-bits"];

fn filled(form: &str, slots: u64, remainder: u32, n: u64, seed: u64) -> Quotient {
    let mut filter =
        Quotient::with_shape(form, slots, remainder, Hasher::seeded(seed)).expect("a shape");
    (0..n).for_each(|key| {
        filter.insert(&key).expect("room");
    });
    filter
}

#[test]
fn b12_formulas() {
    let expect = |form: &str, r: u32, alpha: f64| {
        let n = (alpha * 65536.0) as u64;
        let goal = Goal::default().set("form", form).set("slots", 65536).set("remainder", r);
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        (expect.fpr, expect.bits as f64 / n as f64)
    };
    for (r, alpha, fpr, bits) in
        [(8, 0.75, 0.002925, 14.67), (8, 0.9, 0.003509, 12.22), (10, 0.9, 8.785e-4, 14.44)]
    {
        let (expected, per_key) = expect("status-bits", r, alpha);
        prints(expected, fpr, if fpr < 0.001 { 1e-7 } else { 1e-6 });
        prints(per_key, bits, 0.01);
    }
    // Two bits and an eighth beside eight, at a load of 0.95.
    prints(expect("rank-select", 8, 0.95).1, 10.66, 0.01);
    for (alpha, printed) in [(0.5, 1.54), (0.75, 2.69), (0.9, 6.17), (0.95, 11.98)] {
        prints(cluster(alpha), printed, 0.01);
    }
    for (alpha, printed, digit) in
        [(0.5, 2.54, 0.01), (0.75, 5.69, 0.01), (0.9, 15.2, 0.1), (0.95, 31.0, 0.1)]
    {
        prints(stretch(alpha), printed, digit);
    }
}

#[test]
fn b12_plans() {
    // p = ⌈log₂(n/ε)⌉ bits in all, in slots for a load of 0.9.
    for (n, eps) in [(1000u64, 0.01), (3700, 0.001), (58_000, 1.0 / 256.0)] {
        let goal = Goal::new(n, eps).set("form", "status-bits");
        let filter = VARIANT.build_from(&goal, &[]).unwrap();
        let q = (n as f64 / 0.9).log2().ceil();
        let p = (n as f64 / eps).log2().ceil();
        assert_eq!(filter.memory().cells as f64, q.exp2() * (p - q + 3.0), "{n} {eps}");
    }
    let filter = Quotient::with_rate(1_000_000, 1.0 / 256.0).unwrap();
    assert_eq!(filter.remainder(), 8);
    prints(filter.memory().cells as f64 / 1e6, 10.66, 0.01);
    assert!(filter.memory().total() as f64 / 1e6 < 10.7);
    let expect = VARIANT.expect(&Goal::new(1_000_000, 1.0 / 256.0), &Load::items(1_000_000));
    prints(expect.unwrap().unwrap().fpr, 0.0037, 1e-4);
    let goal = Goal::new(1000, 0.01).set("load", 0.5);
    assert_eq!(VARIANT.build_from(&goal, &[]).unwrap().memory().cells, 2048 * 8 + 32 * 8);
}

#[test]
fn b12_rates() {
    for form in FORMS {
        let (mut passed, queries, n) = (0, 50_000u64, 3686);
        for seed in 0..20 {
            let filter = filled(form, 4096, 8, n, seed);
            assert!((0..n).all(|key| filter.contains(&key)), "no false negatives");
            let others = 1 << 40..(1 << 40) + queries;
            passed += others.filter(|key| filter.contains(key)).count();
        }
        // 3509 of a million.
        assert!((passed as f64 - 3509.0).abs() < 5.0 * 3509f64.sqrt(), "{form}: {passed}");
    }
}

/// Random insertions and removals beside a multiset of fingerprints.
#[test]
fn b12_the_fingerprints_are_a_multiset() {
    let mut random = Generator::new(12);
    for run in 0..400u64 {
        let (form, slots) = (FORMS[run as usize % 2], 8u64 << (run % 4));
        let new = || Quotient::with_shape(form, slots, 3, Hasher::seeded(run)).expect("a shape");
        let mut filter = new();
        let print = |key: u64| {
            let mut alone = new();
            alone.insert(&key).expect("room");
            alone.fingerprints().next().expect("one").0
        };
        let prints: Vec<u64> = (0..40).map(print).collect();
        let mut model = BTreeMap::<u64, u64>::new();
        for _ in 0..3 * slots {
            let key = random.below(40);
            let print = prints[key as usize];
            if random.below(5) < 3 {
                if filter.insert(&key).is_ok() {
                    *model.entry(print).or_default() += 1;
                } else {
                    assert_eq!(model.values().sum::<u64>() + 1, filter.slots());
                }
            } else {
                let held = model.get(&print).copied().unwrap_or(0);
                assert_eq!(filter.remove(&key).is_ok(), held > 0, "absent keys are refused");
                if held > 1 {
                    model.insert(print, held - 1);
                } else {
                    model.remove(&print);
                }
            }
            assert_eq!(filter.count(&key), model.get(&print).copied().unwrap_or(0));
        }
        assert!(filter.fingerprints().eq(model), "{form}, {slots} slots, run {run}");
        let mut listed = 0;
        filter.list(&mut |key, _| listed += key.len()).expect("lists");
        assert_eq!(listed, 16 * filter.fingerprints().count(), "hexadecimal digits");
    }
}

/// The lengths of clusters and of stretches between empty slots.
fn lengths(filter: &Quotient) -> (Vec<u64>, Vec<u64>) {
    let (mut clusters, mut stretches, mut end) = (vec![0], vec![0], u64::MAX);
    for (quotient, start, len) in filter.runs() {
        if start == quotient && start != end {
            stretches.push(0);
        }
        if start == quotient {
            clusters.push(0);
        }
        *clusters.last_mut().unwrap() += len;
        *stretches.last_mut().unwrap() += len;
        end = start + len;
    }
    (clusters.split_off(1), stretches.split_off(1))
}

#[test]
fn b12_clusters_and_stretches() {
    let longest_of = [(0.5, 20, 60), (0.75, 60, 250), (0.9, 250, 1500), (0.95, 700, 5000)];
    for (i, (alpha, least, most)) in longest_of.into_iter().enumerate() {
        let (mut sums, mut counts, mut longest) = ([0, 0], [0, 0], 0);
        for seed in 0..4 {
            let n = (alpha * 65536.0) as u64;
            let filter = filled(FORMS[i % 2], 65536, 8, n, seed);
            let (clusters, stretches) = lengths(&filter);
            longest = longest.max(clusters.iter().copied().max().unwrap());
            for (i, lengths) in [clusters, stretches].iter().enumerate() {
                sums[i] += lengths.iter().sum::<u64>();
                counts[i] += lengths.len();
            }
        }
        let mean = |i: usize| sums[i] as f64 / counts[i] as f64;
        assert!((mean(0) / cluster(alpha) - 1.0).abs() < 0.05, "{alpha}: clusters {}", mean(0));
        assert!((mean(1) / stretch(alpha) - 1.0).abs() < 0.05, "{alpha}: stretches {}", mean(1));
        assert!((least..most).contains(&longest), "{alpha}: the longest cluster is {longest}");
    }
}

#[test]
fn b12_full_tables_refuse_and_change_nothing() {
    for form in FORMS {
        let mut filter = filled(form, 64, 8, 63, 3);
        let before = filter.clone();
        let refused = filter.insert("one more").expect_err("one slot stays empty");
        assert_eq!(refused.kind(), Kind::CapacityExceeded);
        assert!(filter == before && (0..63u64).all(|key| filter.contains(&key)));
        let refused = filter.remove("never there").expect_err("absent");
        assert_eq!((refused.kind(), filter == before), (Kind::NotDeletable, true));
        (0..63u64).for_each(|key| filter.remove(&key).expect("a member"));
        let empty = Quotient::with_shape(form, 64, 8, Hasher::seeded(3)).unwrap();
        assert_eq!(filter, empty, "nothing is left");
    }
}

#[test]
fn b12_doubling_keeps_fingerprints_and_rate() {
    for form in FORMS {
        let filter = filled(form, 1024, 5, 900, 7);
        let rate = |f: &Quotient| f.now().fpr.unwrap();
        let mut larger = filter.clone();
        for doubling in 1..=4 {
            larger = larger.doubled().expect("bits are left");
            assert_eq!((larger.slots(), larger.remainder()), (1024 << doubling, 5 - doubling));
            assert!(larger.fingerprints().eq(filter.fingerprints()));
            assert_eq!(rate(&larger), rate(&filter));
        }
        assert_eq!(larger.doubled().expect_err("r = 1").kind(), Kind::CapacityExceeded);
        // Twice the keys, twice the rate, however many slots there are.
        (900..1800u64).for_each(|key| _ = larger.insert(&key).expect("room"));
        assert!((rate(&larger) / rate(&filter) - 2.0).abs() < 0.1);
        assert!((0..1800u64).all(|key| larger.contains(&key)));
        (900..1800u64).for_each(|key| larger.remove(&key).expect("a member"));
        let mut smaller = larger;
        for _ in 0..4 {
            smaller = smaller.halved().expect("slots are left");
        }
        assert_eq!(smaller, filter);
        assert!(smaller.halved().is_err(), "900 fingerprints in 512 slots");
    }
}

#[test]
fn b12_merging_streams_into_more_slots() {
    for form in FORMS {
        let mut both = filled(form, 1024, 9, 850, 1);
        let mut other = Quotient::with_shape(form, 1024, 9, Hasher::seeded(1)).unwrap();
        (500..1400u64).for_each(|key| _ = other.insert(&key).expect("room"));
        let doubled = other.doubled().unwrap();
        both.merge(&other).expect("the same fingerprints");
        assert_eq!((both.slots(), both.remainder(), both.head().items), (2048, 8, 1750));
        assert!((500..850u64).all(|key| both.count(&key) >= 2));
        assert!((0..1400u64).all(|key| both.contains(&key)));
        // Another split of the same bits merges, too.
        let mut again = filled(form, 1024, 9, 850, 1);
        again.merge(&doubled).expect("the same fingerprints");
        assert_eq!(again, both);
        let strange = Quotient::with_shape(form, 1024, 8, Hasher::seeded(1)).unwrap();
        let refused = again.merge(&strange).expect_err("other fingerprints");
        assert_eq!(refused.kind(), Kind::Incompatible { what: "fingerprints" });
        // With no bit left, what does not fit is refused.
        let mut tight = filled(form, 64, 1, 50, 1);
        let before = tight.clone();
        let refused = tight.merge(&before).expect_err("100 in 64 slots");
        assert_eq!((refused.kind(), tight == before), (Kind::CapacityExceeded, true));
    }
}

#[test]
fn b12_runs_are_shown() {
    let filter = filled("rank-select", 64, 4, 60, 2);
    for key in 0..60u64 {
        let trace = filter.trace(&key.to_le_bytes());
        assert!(trace.iter().any(|slot| slot.agrees), "{key}");
    }
    let answer = filter.query(Record::key(&7u64.to_le_bytes())).unwrap();
    assert!(format!("{answer:?}").contains("Count"));
}

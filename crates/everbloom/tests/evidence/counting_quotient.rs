//! B13, the counting quotient filter.

use std::collections::BTreeMap;

use everbloom::Kind;
use everbloom::fingerprints::CountingQuotient;
use everbloom::fingerprints::counting_quotient::{VARIANT, coded, decoded};
use everbloom::internals::filter::{
    Answer, Counted, Detail, Face, Filter as _, Insert, List, Merge, Record, Remove, Value,
};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;

const FORMS: [&str; 2] = ["rank-select", "status-bits"];

#[test]
fn b13_codes() {
    let codes: [(u64, u64, &[u64]); 13] = [
        (5, 1, &[5]),
        (5, 2, &[5, 5]),
        (5, 3, &[5, 0, 5]),
        (5, 4, &[5, 2, 5]),
        (5, 7, &[5, 0, 6, 5]),
        (5, 256, &[5, 0, 255, 5]),
        (5, 257, &[5, 2, 1, 5]),
        (5, 1000, &[5, 4, 237, 5]),
        (1, 4, &[1, 0, 3, 1]),
        (0, 3, &[0, 0, 0]),
        (0, 4, &[0, 1, 0, 0]),
        (0, 1000, &[0, 4, 232, 0, 0]),
        (200, 1_000_000, &[200, 16, 127, 255, 200]),
    ];
    for (x, count, slots) in codes {
        assert_eq!(coded(8, x, count), slots, "{x}, {count}");
    }
}

#[test]
fn b13_codes_are_read_back() {
    for x in 0..256 {
        for count in 1..700 {
            assert_eq!(decoded(8, &coded(8, x, count)), Some(vec![(x, count)]));
        }
    }
    let mut random = Generator::new(13);
    for run in 0..50_000u64 {
        let r = [2, 3, 4, 8][run as usize % 4];
        let mut pairs = BTreeMap::new();
        for _ in 0..1 + random.below(6) {
            // Small counts and large ones alike.
            let most = 1 << (1 + random.below(40));
            pairs.insert(random.below(1 << r), 1 + random.below(most));
        }
        let slots: Vec<u64> = pairs.iter().flat_map(|(x, count)| coded(r, *x, *count)).collect();
        assert_eq!(decoded(r, &slots), Some(pairs.into_iter().collect()), "r = {r}: {slots:?}");
    }
}

#[test]
fn b13_zipf_counts_in_three_slots_a_key() {
    const KEYS: usize = 10_000;
    let mut sum = 0.0;
    let shares: Vec<f64> = (1..=KEYS)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let (mut random, mut counts) = (Generator::new(1), vec![0u64; KEYS]);
    for _ in 0..1_000_000 {
        let drawn = random.next_u64() as f64 / 2f64.powi(64) * sum;
        counts[shares.partition_point(|share| *share < drawn).min(KEYS - 1)] += 1;
    }
    for form in FORMS {
        let mut filter =
            CountingQuotient::with_shape(form, 65_536, 8, Hasher::default()).expect("a shape");
        for (key, count) in (0u64..).zip(&counts).filter(|(_, count)| **count > 0) {
            filter.insert_times(&key, *count).expect("room");
        }
        assert!((31_400..31_900).contains(&filter.used()), "{form}: {} slots", filter.used());
        assert_eq!(filter.head().items, 1_000_000);
        let exact = (0u64..).zip(&counts).filter(|(key, count)| filter.count(key) == **count);
        let exact = exact.count();
        assert!(exact >= KEYS - 30, "{form}: {exact} exact counts");
        assert!((0u64..).zip(&counts).all(|(key, count)| filter.count(&key) >= *count));
    }
}

/// Every operation beside a multiset of fingerprints.
#[test]
fn b13_counts_are_those_of_a_multiset() {
    let mut random = Generator::new(3);
    for run in 0..60u64 {
        let form = FORMS[run as usize % 2];
        let new = || {
            CountingQuotient::with_shape(form, 64, 2 + run as u32 % 4, Hasher::seeded(run)).unwrap()
        };
        let mut filter = new();
        let print = |key: u64| {
            let mut alone = new();
            alone.insert(&key).expect("room");
            alone.fingerprints().next().expect("one").0
        };
        let prints: Vec<u64> = (0..30).map(print).collect();
        let mut model = BTreeMap::<u64, u64>::new();
        for _ in 0..400 {
            let key = random.below(30);
            let most = 1 << random.below(12);
            let (print, times) = (prints[key as usize], 1 + random.below(most));
            let held = model.get(&print).copied().unwrap_or(0);
            let before = filter.clone();
            if random.below(2) == 0 {
                match filter.insert_times(&key, times) {
                    Ok(_) => _ = model.insert(print, held + times),
                    Err(e) => {
                        assert_eq!((e.kind(), &filter), (Kind::CapacityExceeded, &before));
                    }
                }
            } else {
                match filter.remove_times(&key, times) {
                    Ok(()) if held == times => _ = model.remove(&print),
                    Ok(()) => _ = model.insert(print, held - times),
                    Err(e) => {
                        assert!(times > held);
                        assert_eq!((e.kind(), &filter), (Kind::NotDeletable, &before));
                    }
                }
            }
            assert_eq!(filter.count(&key), model.get(&print).copied().unwrap_or(0));
        }
        assert_eq!(filter.head().items, model.values().sum::<u64>());
        assert!(filter.fingerprints().eq(model), "{form}, run {run}");
    }
}

#[test]
fn b13_merging_adds_counts_and_resizing_keeps_them() {
    for form in FORMS {
        let build = |keys: std::ops::Range<u64>| {
            let mut filter =
                CountingQuotient::with_shape(form, 1024, 7, Hasher::default()).expect("a shape");
            keys.for_each(|key| _ = filter.insert_times(&key, 1 + key % 50).expect("room"));
            filter
        };
        let (mut both, other) = (build(0..200), build(100..300));
        let smaller = both.clone();
        both.merge(&other).expect("the same fingerprints");
        let mut sums = BTreeMap::<u64, u64>::new();
        for (h, count) in smaller.fingerprints().chain(other.fingerprints()) {
            *sums.entry(h).or_default() += count;
        }
        assert!(both.fingerprints().eq(sums));
        assert!((100..200u64).all(|key| both.count(&key) >= 2 * (1 + key % 50)));
        let mut larger = both.clone();
        for r in (2..7).rev() {
            larger = larger.doubled().expect("bits are left");
            assert_eq!(larger.remainder(), r);
            assert!(larger.fingerprints().eq(both.fingerprints()));
            assert_eq!(larger.now().fpr, both.now().fpr);
        }
        assert_eq!(larger.doubled().expect_err("r = 2").kind(), Kind::CapacityExceeded);
        while larger.remainder() < 7 {
            larger = larger.halved().expect("slots are left");
        }
        assert_eq!(larger, both);
    }
}

#[test]
fn b13_records_carry_counts_and_fingerprints_are_listed() {
    let mut filter = CountingQuotient::with_rate(100, 0.001).expect("planned");
    let record = |count| Record::key(b"x").with(Value::Count(count));
    Insert::insert(&mut filter, record(41)).expect("room");
    Insert::insert(&mut filter, Record::key(b"x")).expect("room");
    assert_eq!(filter.count("x"), 42);
    Remove::remove(&mut filter, record(40)).expect("there");
    assert_eq!(Remove::remove(&mut filter, record(3)).expect_err("two").kind(), Kind::NotDeletable);
    for bad in [record(0), Record::key(b"x").with(Value::Label(b"y"))] {
        assert_eq!(Insert::insert(&mut filter, bad).expect_err("bad").kind(), Kind::BadRecord);
    }
    let mut listed = Vec::new();
    filter.list(&mut |key, answer| listed.push((key.to_vec(), answer))).expect("lists");
    let (h, count) = filter.fingerprints().next().expect("one");
    assert_eq!(count, 2);
    let answer = Answer::of(true).with(Detail::Count(Counted::exactly(2)));
    assert_eq!(listed, [(format!("{h:016x}").into_bytes(), answer)]);
}

#[test]
fn b13_plans_three_bits_at_least() {
    let filter = CountingQuotient::builder().items(1000).rate(0.9).build().expect("planned");
    assert_eq!(filter.remainder(), 3);
    let goal = Goal::new(1000, 0.01).set("remainder", 2);
    assert_eq!(VARIANT.build_from(&goal, &[]).expect("by hand").memory().cells, 1088 * 4 + 17 * 8);
    let refused = VARIANT.build_from(&Goal::new(1000, 0.01).set("remainder", 1), &[]);
    assert_eq!(refused.expect_err("one bit").kind(), Kind::BadParameter);
}

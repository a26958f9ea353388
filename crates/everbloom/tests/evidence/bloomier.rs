//! §20, the Bloomier filter by xor retrieval.

use everbloom::internals::file::{Opener, to_bytes};
use everbloom::internals::filter::{Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::{Hasher, mix64};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::solve::peel;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::keyvalue::Bloomier;
use everbloom::keyvalue::bloomier::{VARIANT, cells_for, check_bits_for};
use everbloom::{Kind, Result};

fn pairs(n: u64, value_bits: u32) -> Vec<(u64, u64)> {
    (0..n).map(|key| (key, mix64(key ^ 20) >> (64 - value_bits))).collect()
}

fn both(n: u64, r: u32, c: u32, seed: u64) -> [Bloomier; 2] {
    let hasher = || Hasher::seeded(seed);
    [
        Bloomier::from_values(pairs(n, r), r, c, hasher()).expect("a filter"),
        Bloomier::mutable_from_values(pairs(n, r), r, c, hasher()).expect("a filter"),
    ]
}

#[test]
fn s20_members_get_exactly_their_values() {
    for (n, r, c) in [(1, 1, 1), (2, 64, 0), (10, 8, 8), (1000, 33, 31), (30_000, 20, 5)] {
        for filter in both(n, r, c, n) {
            for (key, value) in pairs(n, r) {
                assert_eq!(filter.get(&key), Some(value), "n = {n}, key {key}");
            }
            assert_eq!(filter.m(), cells_for(n));
        }
    }
}

#[test]
fn s20_cells() {
    // ⌈1.23 n⌉ + 32, up to a multiple of three.
    let sizes = [0, 1, 100, 1000, 100_000].map(cells_for);
    assert_eq!(sizes, [33, 36, 156, 1263, 123_033]);
}

/// A million keys and more are in parts, with as many cells per key, and the salt suits all of them.
#[test]
fn s20_parts() {
    let n = 2_500_000;
    let filter = Bloomier::from_values(pairs(n, 8), 8, 8, Hasher::default()).expect("a filter");
    assert_eq!((filter.m(), filter.attempts()), (cells_for(n), 1));
    assert!((filter.m() as f64 / (1.23 * n as f64) - 1.0).abs() < 0.001);
    assert!(pairs(n, 8).into_iter().all(|(key, value)| filter.get(&key) == Some(value)));
    let queries = 1_000_000;
    let present = (n..n + queries).filter(|key| filter.get(key).is_some()).count() as u64;
    let (least, most) = binomial_bounds(queries, 1.0 / 256.0, 1e-6);
    assert!((least..=most).contains(&present), "{present}");
    assert_eq!(Opener::new().decode_as::<Bloomier>(&to_bytes(&filter)).expect("a file"), filter);
}

#[test]
fn s20_first_try_success() {
    for (n, printed, runs) in [(100, 0.956, 4000), (1000, 0.906, 2000), (10_000, 0.914, 400)] {
        let first = |seed: &u64| {
            let pairs = (0..n).map(|key: u64| (key, 0));
            let filter = Bloomier::from_values(pairs, 1, 1, Hasher::seeded(*seed));
            filter.expect("a filter").attempts() == 1
        };
        let rate = (0..runs).filter(first).count() as f64 / runs as f64;
        let tolerance = 4.0 * (printed * (1.0 - printed) / runs as f64).sqrt() + 0.005;
        assert!((rate - printed).abs() <= tolerance, "n = {n}: {rate}");
    }
    let large = (0..10).map(|seed| both(100_000, 1, 1, seed)[0].attempts());
    assert!(large.into_iter().all(|attempts| attempts == 1));
}

#[test]
fn s20_below_the_threshold_nothing_peels() {
    let peels = |n: usize, cells: usize, seed: u64| {
        let segment = cells / 3;
        let word = |key: usize, i: usize| mix64(mix64(seed ^ (key as u64) << 2) ^ i as u64);
        let cell = |key, i| (i * segment) as u64 + word(key, i) % segment as u64;
        let around: Vec<[u64; 3]> = (0..n).map(|key| [0, 1, 2].map(|i| cell(key, i))).collect();
        peel(&around, cells).is_some()
    };
    for seed in 0..10 {
        assert!(!peels(30_000, 36_000, seed), "1.2 cells a key");
        assert!(peels(30_000, 37_500, seed), "1.25 cells a key");
    }
}

#[test]
fn s20_false_positives() {
    for (form, printed, passed) in [(0, 0.00391, 0.0039063), (1, 0.00293, 0.0029297)] {
        let (seeds, queries) = (20, 100_000);
        let mut present = 0;
        for seed in 0..seeds {
            let filter = &both(1000, 8, 8, seed)[form];
            let rate = filter.now().fpr.expect("a rate");
            assert!((rate - printed).abs() < 5e-6 && (rate - passed).abs() < 5e-8, "{rate}");
            present += (1000..1000 + queries).filter(|key| filter.get(key).is_some()).count();
        }
        let (least, most) = binomial_bounds(seeds * queries, passed, 1e-6);
        assert!((least..=most).contains(&(present as u64)), "form {form}: {present}");
    }
}

/// What non-members get is spread over all values: the mask covers the value bits too.
#[test]
fn s20_false_values_are_random() {
    let filter = Bloomier::from_values((0..1000u64).map(|k| (k, 0)), 1, 4, Hasher::default());
    let filter = filter.expect("a filter");
    let values: Vec<u64> = (1000..200_000u64).filter_map(|key| filter.get(&key)).collect();
    let (least, most) = binomial_bounds(values.len() as u64, 0.5, 1e-6);
    assert!((least..=most).contains(&values.iter().sum()));
}

#[test]
fn s20_space() {
    let n = 100_000;
    let [immutable, mutable] = both(n, 8, 8, 1);
    let per_key = |filter: &Bloomier| filter.memory().cells as f64 / n as f64;
    assert!((per_key(&immutable) / (1.23 * 16.0) - 1.0).abs() < 0.001);
    assert!((per_key(&mutable) / (1.23 * 18.0) - 1.0).abs() < 0.001);
    for form in ["immutable", "mutable"] {
        let goal = Goal::new(n, 0.01).set("form", form).set("value-bits", 9);
        let expect = VARIANT.expect(&goal, &Load::items(n)).expect("a plan").expect("a formula");
        let filter = build(&goal, &[("a", "1"), ("b", "2")]).expect("a filter");
        let of_two = VARIANT.expect(&goal, &Load::items(2)).expect("a plan").expect("a formula");
        assert_eq!(of_two.bits, filter.memory().cells);
        assert_eq!(Some(expect.fpr), filter.now().fpr);
        assert_eq!(expect.bits, cells_for(n) * if form == "mutable" { 18 } else { 16 });
    }
}

#[test]
fn s20_check_bits_follow_from_the_rate() {
    for (p, immutable, mutable) in [
        (0.5, 1, 1),
        (0.01, 7, 7),
        (0.0059, 8, 7),
        (1.0 / 256.0, 8, 8),
        (0.003, 9, 8),
        (1e-9, 30, 30),
    ] {
        assert_eq!(
            (check_bits_for(false, p), check_bits_for(true, p)),
            (immutable, mutable),
            "{p}"
        );
    }
}

/// A non-member that passes the check names some cell as its own, and setting its value changes what a
/// member finds there: the trap of the mutable form.
#[test]
fn s20_setting_a_non_member_overwrites_a_member() {
    let [_, mut filter] = both(1000, 8, 2, 7);
    let intruders: Vec<u64> = (1000..3000).filter(|key| filter.get(key).is_some()).collect();
    assert!(intruders.len() > 200, "3/16 of 2000 pass");
    for key in &intruders {
        let old = filter.get(key).expect("a value");
        filter.set(key, old ^ 0xff).expect("the filter cannot tell");
        assert_eq!(filter.get(key), Some(old ^ 0xff));
    }
    let hurt = pairs(1000, 8).iter().filter(|(key, value)| filter.get(key) != Some(*value)).count();
    assert!(hurt > 50, "{hurt} members lost their values");
}

#[test]
fn s20_members_values_can_be_set_and_nobody_elses_change() {
    let [mut immutable, mut filter] = both(5000, 8, 20, 3);
    for key in (0..5000u64).step_by(2) {
        filter.set(&key, key & 0xff).expect("a member");
    }
    for (key, value) in pairs(5000, 8) {
        let wanted = if key % 2 == 0 { key & 0xff } else { value };
        assert_eq!(filter.get(&key), Some(wanted));
    }
    let before = filter.clone();
    assert_eq!(filter.set(&9999u64, 1).map_err(|e| e.kind()), Err(Kind::BadRecord));
    assert_eq!(filter.set(&1u64, 256).map_err(|e| e.kind()), Err(Kind::BadRecord));
    assert_eq!(filter, before);
    assert_eq!(immutable.set(&1u64, 1).map_err(|e| e.kind()), Err(Kind::Unsupported));
}

fn build(goal: &Goal, pairs: &[(&str, &str)]) -> Result<Box<dyn Filter>> {
    let records: Vec<Record<'_>> = pairs
        .iter()
        .map(|&(key, label)| {
            let value = Some(Value::Label(label.as_bytes()));
            Record::key(key.as_bytes()).with(value)
        })
        .collect();
    VARIANT.build_from(goal, &records)
}

fn lookup(filter: &mut Box<dyn Filter>, key: &str) -> Option<String> {
    let value = filter.as_lookup().expect("an ability").get(key.as_bytes());
    value.map(|v| String::from_utf8(v).expect("text"))
}

#[test]
fn s20_labels_are_numbers_or_a_dictionary() {
    let goal = Goal::new(4, 1e-6).set("form", "mutable");
    let mut numbers = build(&goal, &[("a", "0"), ("b", "18"), ("c", "3")]).expect("a filter");
    assert_eq!(lookup(&mut numbers, "b").as_deref(), Some("18"));
    let set = |filter: &mut Box<dyn Filter>, key: &str, value: &str| {
        let before = to_bytes(&**filter);
        let outcome = filter.as_assign().expect("an ability").set(key.as_bytes(), value.as_bytes());
        if outcome.is_err() {
            assert_eq!(to_bytes(&**filter), before, "a refused change changes nothing");
        }
        outcome.map_err(|e| e.kind())
    };
    assert_eq!(set(&mut numbers, "b", "31"), Ok(()));
    assert_eq!(lookup(&mut numbers, "b").as_deref(), Some("31"));
    for refused in ["32", "x", "007", "+7", ""] {
        assert_eq!(set(&mut numbers, "b", refused), Err(Kind::BadRecord), "{refused}");
    }

    // One label that is no canonical number makes all of them words.
    let words = [("a", "7"), ("b", "07"), ("c", "red"), ("d", "7"), ("e", "")];
    let mut words_filter = build(&goal, &words).expect("a filter");
    for (key, label) in words {
        assert_eq!(lookup(&mut words_filter, key).as_deref(), Some(label));
    }
    // Four labels take two bits: no room for a fifth, unless it was planned for.
    assert_eq!(set(&mut words_filter, "a", "blue"), Err(Kind::BadRecord));
    assert_eq!(set(&mut words_filter, "a", "red"), Ok(()));
    let mut wide = build(&goal.clone().set("value-bits", 3), &words).expect("a filter");
    assert_eq!(set(&mut wide, "nobody", "blue"), Err(Kind::BadRecord));
    assert_eq!(set(&mut wide, "a", "blue"), Ok(()));
    let mut again = Opener::new().decode(&to_bytes(&*wide)).expect("our own bytes");
    assert_eq!(lookup(&mut again, "a").as_deref(), Some("blue"));
    assert_eq!(lookup(&mut again, "d").as_deref(), Some("7"));
}

/// Three labels in two bits: the fourth number is nobody's value.
#[test]
fn s20_numbers_without_a_label_are_absent() {
    let keys: Vec<String> = (0..300).map(|i| format!("key {i}")).collect();
    let pairs: Vec<(&str, &str)> =
        keys.iter().zip(["red", "green", "blue"].iter().cycle()).map(|(k, l)| (&**k, *l)).collect();
    let filter = build(&Goal::new(300, 0.1).set("check-bits", 3), &pairs).expect("a filter");
    assert_eq!(filter.now().fpr, Some(0.75 / 8.0));
    let queries = 200_000;
    let passed = (0..queries).filter(|i: &u64| filter.contains(&i.to_le_bytes())).count() as u64;
    let (least, most) = binomial_bounds(queries, 0.75 / 8.0, 1e-6);
    assert!((least..=most).contains(&passed), "{passed}");
}

#[test]
fn s20_duplicates_collapse_and_conflicts_are_named() {
    let goal = Goal::new(4, 0.01);
    let twice = build(&goal, &[("a", "1"), ("b", "2"), ("a", "1")]).expect("a filter");
    assert_eq!(twice.head().items, 2);
    let refused = build(&goal, &[("a", "1"), ("b", "2"), ("c", "2"), ("b", "x")]);
    let refused = refused.expect_err("a conflict");
    assert_eq!(refused.kind(), Kind::BadRecord);
    for part in ["records 2 and 4", "\"b\"", "\"2\"", "\"x\""] {
        assert!(refused.to_string().contains(part), "{refused}");
    }
    let long = "é".repeat(100);
    let refused = build(&goal, &[(&long, "1"), (&long, "2")]).expect_err("a conflict");
    assert!(refused.to_string().contains("ééé…\"") && refused.to_string().len() < 250, "{refused}");
    let refused = VARIANT.build_from(&goal, &[Record::key(b"bare")]).expect_err("no label");
    assert!(refused.kind() == Kind::BadRecord && refused.to_string().starts_with("record 1"));
    let refused = Bloomier::from_values([("x", 1), ("x", 2)], 2, 8, Hasher::default());
    assert_eq!(refused.map_err(|e| e.kind()), Err(Kind::BadRecord));
}

#[test]
fn s20_no_keys_no_answers() {
    for form in ["immutable", "mutable"] {
        let goal = Goal::new(1, 0.5).set("form", form).set("check-bits", 0);
        let mut filter = VARIANT.build_from(&goal, &[]).expect("a filter");
        assert!((0..1000u64).all(|key| !filter.contains(&key.to_le_bytes())));
        assert_eq!(filter.now().fpr, Some(0.0));
        let set = filter.as_assign().expect("an ability").set(b"x", b"1");
        assert!(set.is_err());
    }
}

#[test]
fn s20_values_beside_queries_are_ignored() {
    let filter = build(&Goal::new(1, 0.001), &[("a", "5")]).expect("a filter");
    let answer = filter.query(Record::key(b"a").with(Some(Value::Label(b"9"))));
    let answer = answer.expect("an answer");
    assert_eq!((answer.verdict, answer.detail), (Verdict::Present, Detail::Value(b"5".to_vec())));
}

#[test]
fn s20_too_many_bits_are_refused() {
    let refused = Bloomier::from_values([("x", u64::MAX)], 64, 1, Hasher::default());
    assert_eq!(refused.map_err(|e| e.kind()), Err(Kind::BadParameter));
    let refused = Bloomier::from_values([("x", 4)], 2, 8, Hasher::default());
    assert_eq!(refused.map_err(|e| e.kind()), Err(Kind::BadParameter));
    let wide = Bloomier::mutable_from_values([("x", u64::MAX)], 64, 62, Hasher::default());
    assert_eq!(wide.expect("a filter").get("x"), Some(u64::MAX));
    let goal = Goal { bits: Some(36 * 30), items: Some(1), ..Goal::default() };
    let filter = build(&goal, &[("a", "1023")]).expect("a filter");
    assert_eq!(filter.memory().cells, 36 * 30);
    assert_eq!(filter.head().fpr, Some(2f64.powi(-20)));
}

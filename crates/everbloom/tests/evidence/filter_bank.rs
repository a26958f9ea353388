//! §39, filter banks and action codes.

use everbloom::grouping::FilterBank;
use everbloom::grouping::filter_bank::{VARIANT, read_right, some_action};
use everbloom::internals::filter::{Filter, fact};
use everbloom::{Detail, Goal, Record, Value, Verdict};

fn bank(form: &'static str, classes: u64, m: u64, k: u32, seed: u64) -> FilterBank {
    let builder = FilterBank::builder().set("form", form).set("groups", classes).seed(seed);
    builder.set("m", m).set("k", k).build().unwrap()
}

#[test]
fn s39_codes_leave_zero_for_none() {
    for (classes, filters) in [(1, 1), (3, 2), (4, 3), (7, 3), (8, 4), (15, 4), (16, 5)] {
        let f = bank("code-bank", classes, 1000 * filters, 3, 0);
        assert!(f.describe().contains(&fact("filters", filters)), "{classes}");
    }
}

#[test]
fn s39_errors_of_codes() {
    assert!((read_right(0.01, 3) - 0.9703).abs() < 5e-5, "0001");
    assert_eq!(read_right(0.01, 0), 1.0, "1111");
    assert!((some_action(0.01, 4) - 0.0394).abs() < 5e-5);
}

/// Four filters, each at a rate of 0.01: measured over many keys, as the formulas say.
#[test]
fn s39_coded_banks_as_predicted() {
    let (mut right, mut members, mut wrong, mut rate) = ([0.0; 2], 0.0, 0.0, 0.0);
    let (filters, queries) = (20, 20_000);
    for seed in 0..filters {
        let mut f = bank("code-bank", 15, 4 * 10_000, 5, seed);
        let class = |key: u64| (key % 15).to_string();
        // The classes in order, so that class i has the code i + 1.
        (0..1500u64).for_each(|key| _ = f.insert(&key, class(key).as_bytes()).unwrap());
        for key in 0..1500u64 {
            let own = class(key);
            let found = f.classes_of(&key);
            assert!(found.contains(&own.as_bytes()) || found.len() == 1, "never missed");
            // Codes 0001 and 1111.
            for (i, wanted) in [0, 14].into_iter().enumerate() {
                right[i] += f64::from(key % 15 == wanted && found == [own.as_bytes()]);
            }
        }
        members += 100.0;
        // Codes of 15 classes use each filter 8 times: its rate is that of 800 keys.
        rate += f.now().fpr.unwrap();
        wrong +=
            (1u64 << 40..).take(queries).filter(|key| !f.classes_of(key).is_empty()).count() as f64;
    }
    let f = (1.0 - (-5.0f64 * 800.0 / 10_000.0).exp()).powi(5);
    let [light, heavy] = right.map(|right| right / members);
    assert!((light - read_right(f, 3)).abs() < 0.008, "{light} {}", read_right(f, 3));
    assert_eq!(heavy, 1.0, "no zero to be turned into a one");
    let action = wrong / (filters as f64 * queries as f64);
    assert!((action / some_action(f, 4) - 1.0).abs() < 0.1, "{action} {}", some_action(f, 4));
    assert!(rate > 0.0);
}

/// A code of fixed weight that was read wrong has too many ones: ambiguous, never another class.
#[test]
fn s39_fixed_weight_detects_errors() {
    let mut f = bank("fixed-bank", 6, 4 * 1000, 2, 1);
    (0..600u64).for_each(|key| _ = f.insert(&key, (key % 6).to_string().as_bytes()).unwrap());
    let mut ambiguous = 0;
    for key in 0..600u64 {
        let (own, found) = ((key % 6).to_string(), f.classes_of(&key));
        assert!(found.contains(&own.as_bytes()));
        ambiguous += u64::from(found.len() > 1);
        let verdict = f.contains(&key, own.as_bytes());
        assert_eq!(verdict == Verdict::Undecided, found.len() > 1);
    }
    assert!(ambiguous > 50, "{ambiguous}");
}

#[test]
fn s39_several_classes_are_a_miss_or_all_of_them() {
    for (policy, verdict) in [("reclassify", Verdict::Undecided), ("all", Verdict::Present)] {
        let goal = Goal::new(100, 1e-6).set("policy", policy);
        let [a, b] = [b"red", b"tea"].map(|class| Record::key(b"x").with(Value::Label(class)));
        let single = Record::key(b"y").with(Value::Label(b"red"));
        let f = VARIANT.build_from(&goal, &[a, b, single]).unwrap();
        let answer = f.query(Record::key(b"x")).unwrap();
        let both = Detail::Labels(vec![b"red".to_vec(), b"tea".to_vec()]);
        assert_eq!((answer.verdict, answer.detail), (verdict, both));
        assert_eq!(f.query(a).unwrap().verdict, verdict);
        assert_eq!(f.query(single).unwrap().verdict, Verdict::Present);
    }
}

#[test]
fn s39_counters_count_and_delete() {
    for form in ["bank", "code-bank", "fixed-bank"] {
        let mut f = bank(form, 5, 20_000, 4, 3);
        (0..3).for_each(|_| _ = f.insert("x", b"a").unwrap());
        f.insert("y", b"a").unwrap();
        f.insert("x", b"b").unwrap();
        assert!(f.count("x", b"a") >= 3 && f.count("z", b"a") == 0, "{form}");
        (0..3).for_each(|_| f.remove("x", b"a").unwrap());
        f.remove("x", b"b").unwrap();
        assert!(f.classes_of("x").is_empty(), "{form}");
        let before = f.clone();
        assert!(f.remove("x", b"a").is_err() && f.remove("y", b"none").is_err());
        assert_eq!(f, before, "{form}: a refused removal changes nothing");
        assert_eq!(f.classes_of("y"), [b"a"]);
    }
}

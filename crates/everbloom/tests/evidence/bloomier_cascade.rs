//! §19, the Bloomier filter as a cascade.

use everbloom::Kind;
use everbloom::internals::filter::{Detail, Filter, Record, Value};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::keyvalue::Cascade;
use everbloom::keyvalue::cascade::{VARIANT, false_positives, filter_rate};

/// Half of the keys have each of `v` values.
fn pairs(n: u64, v: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..n).map(move |key| (key, key % v))
}

fn cascade(n: u64, v: u64, f: f64, seed: u64) -> Cascade {
    let p = false_positives(v as f64, f);
    Cascade::from_values(pairs(n, v), p, Hasher::seeded(seed)).expect("a filter")
}

/// 2f/(1 + f): 0.0952 at f = 0.05, 0.1176 at f = 1/16; about v·f for v values.
#[test]
fn s19_formulas() {
    assert!((false_positives(2.0, 0.05) - 0.0952).abs() < 0.5e-4);
    assert!((false_positives(2.0, 1.0 / 16.0) - 0.1176).abs() < 0.5e-4);
    let many = false_positives(16.0, 0.001);
    assert!((many - 0.016).abs() < 0.0005, "{many}");
    for (v, p) in [(2.0, 0.01), (3.0, 0.2), (16.0, 1e-6)] {
        assert!((false_positives(v, filter_rate(v, p)) / p - 1.0).abs() < 1e-12);
    }
}

/// Three or four levels for 4000 keys per value at f = 1/16: 4000, 250, 16, 1.
#[test]
fn s19_levels_shrink() {
    let (mut second, mut third, seeds) = (0, 0, 20);
    for seed in 0..seeds {
        let filter = cascade(8000, 2, 1.0 / 16.0, seed);
        let sizes = filter.level_sizes();
        assert_eq!(sizes[0], [4000, 4000]);
        assert!((2..=4).contains(&sizes.len()), "{sizes:?}");
        second += sizes[1].iter().sum::<u64>();
        third += sizes[2].iter().sum::<u64>();
        assert!(filter.table_len() <= 8);
    }
    let mean = |sum: u64| sum as f64 / (2 * seeds) as f64;
    assert!((mean(second) - 250.0).abs() < 15.0, "{}", mean(second));
    assert!((mean(third) - 15.6).abs() < 3.0, "{}", mean(third));
    // n·fⁱ: 1000, 50, 2.5 at f = 0.05.
    let (mut second, seeds) = (0, 20);
    for seed in 0..seeds {
        second += cascade(2000, 2, 0.05, seed).level_sizes()[1].iter().sum::<u64>();
    }
    assert!((second as f64 / (2 * seeds) as f64 - 50.0).abs() < 5.0, "{second}");
}

#[test]
fn s19_members_get_exactly_their_values() {
    for (n, v, f) in [(1, 1, 0.05), (2, 2, 0.5), (3000, 2, 0.0625), (4000, 7, 0.02), (500, 2, 0.5)]
    {
        for seed in 0..5 {
            let filter = cascade(n, v, f, seed);
            for (key, value) in pairs(n, v) {
                assert_eq!(filter.get(&key), Some(value), "{n} {v} {f}");
            }
        }
    }
    let empty = Cascade::from_values(pairs(0, 1), 0.01, Hasher::default()).expect("a filter");
    assert_eq!((empty.get("anyone"), empty.now().fpr), (None, Some(0.0)));
}

/// 0.1173 by the entry at f = 1/16, 0.0952 at f = 0.05.
#[test]
fn s19_non_members() {
    for (v, f, printed) in [(2, 1.0 / 16.0, 0.1173), (2, 0.05, 0.0952), (8, 0.01, 0.0748)] {
        let (seeds, queries, mut passed) = (10, 40_000, 0);
        for seed in 0..seeds {
            let filter = cascade(8000, v, f, seed);
            let here = (10_000..10_000 + queries).filter(|key| filter.get(key).is_some()).count();
            let now = filter.now().fpr.expect("a rate");
            let (low, high) = binomial_bounds(queries, now, 1e-9);
            assert!((low..=high).contains(&(here as u64)), "{here}, {now} predicted");
            passed += here;
        }
        let rate = passed as f64 / (seeds * queries) as f64;
        assert!((rate - printed).abs() < 0.05 * printed, "{v} {f}: {rate}");
    }
}

/// Members that several filters of the last level claim are in the exact table, and only they.
#[test]
fn s19_the_last_level_falls_to_the_table() {
    let mut exact = 0;
    for seed in 0..20 {
        let filter = cascade(1000, 2, 0.25, seed);
        exact += filter.table_len();
        assert!(pairs(1000, 2).all(|(key, value)| filter.get(&key) == Some(value)));
    }
    assert!(exact > 20, "{exact} keys needed it");
}

/// With one value there is one filter and no second level.
#[test]
fn s19_one_value_is_a_standard_filter() {
    let filter = cascade(5000, 1, 0.01, 0);
    assert_eq!((filter.level_sizes(), filter.table_len()), (vec![vec![5000]], 0));
    assert!((filter.now().fpr.expect("a rate") - 0.01).abs() < 0.001);
}

/// The formulas know as many values as the load tells; the memory decides where no rate is given.
#[test]
fn s19_planned_by_rate_or_memory() {
    let keys: Vec<[u8; 8]> = (0..4000u64).map(u64::to_le_bytes).collect();
    let labels = ["left", "right"];
    let record = |(i, key): (usize, &'static [u8; 8])| {
        Record::key(key).with(Value::Label(labels[i % 2].as_bytes()))
    };
    let keys: &'static [[u8; 8]] = Box::leak(keys.into_boxed_slice());
    let records: Vec<Record<'_>> = keys.iter().enumerate().map(record).collect();
    let mut load = Load::items(4000);
    load.classes = 2;
    for goal in [Goal::new(4000, 0.02), Goal { items: Some(4000), ..Goal::default() }.bits(40_000)]
    {
        let expect = VARIANT.expect(&goal, &load).expect("a shape").expect("a formula");
        let filter = VARIANT.build_from(&goal, &records).expect("a filter");
        let now = filter.now().fpr.expect("a rate");
        assert!((now / expect.fpr - 1.0).abs() < 0.12, "{now}, {} expected", expect.fpr);
        let bits = filter.memory().cells as f64;
        assert!((bits / expect.bits as f64 - 1.0).abs() < 0.05, "{bits}, {} expected", expect.bits);
        assert!(goal.bits.is_none_or(|room| filter.memory().cells <= room));
        for (i, record) in records.iter().enumerate() {
            let value = labels[i % 2].as_bytes().to_vec();
            assert_eq!(filter.query(*record).expect("a key").detail, Detail::Value(value.clone()));
            assert_eq!(filter.as_lookup().expect("an ability").get(record.key), Some(value));
        }
    }
    // A key has one value.
    let twice = [records[0], Record::key(records[0].key).with(Value::Label(b"right"))];
    let refused = VARIANT.build_from(&Goal::new(2, 0.01), &twice).expect_err("two values");
    assert_eq!(refused.kind(), Kind::BadRecord);
}

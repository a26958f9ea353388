//! §17, kBF.

use everbloom::Kind;
use everbloom::internals::filter::{Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::{Hasher, mix64};
use everbloom::internals::plan::Goal;
use everbloom::keyvalue::kbf::{VARIANT, expected_rates};
use everbloom::keyvalue::{Kbf, Known};

const N: u64 = 3000;

/// Uniform over the 255 values of 8 bits.
fn value(key: u64) -> u64 {
    mix64(key ^ 17) % 255
}

fn filled(cells: u64, k: u32, seed: u64) -> Kbf {
    let mut filter = Kbf::with_shape(cells, k, 8, Hasher::seeded(seed)).expect("a filter");
    (0..N).for_each(|key| _ = filter.insert(&key, value(key)).expect("a value"));
    filter
}

/// Cells per key, k; and per form: no counter of 1, unknown members, non-members with a value and unknown.
const TABLE: [(u64, u32, [f64; 4]); 3] = [
    (4, 3, [0.1469, 0.0387, 0.0021, 8e-4]),
    (6, 4, [0.0561, 0.0046, 4e-5, 2e-5]),
    (8, 4, [0.0240, 0.0010, 7e-6, 7e-6]),
];

#[test]
fn s17_formulas() {
    for (cells, k, [single, _, value, unknown]) in TABLE {
        let load = f64::from(k) / cells as f64;
        assert!(((1.0 - (-load).exp()).powi(k as i32) - single).abs() < 0.5e-4);
        let (some, several) = expected_rates(cells as f64, 1.0, k.into(), 255.0);
        // The entry measured the smallest of these by a handful of events.
        assert!((some - value).abs() < 0.2 * value + 3e-6, "{cells}: {some}");
        assert!((several - unknown).abs() < 0.2 * unknown + 7e-6, "{cells}: {several}");
    }
}

#[test]
fn s17_members_get_their_value_or_none() {
    for (cells, k, [_, unknown, ..]) in TABLE {
        let (seeds, mut hidden) = (10, 0u64);
        for seed in 0..seeds {
            let filter = filled(cells * N, k, seed);
            for key in 0..N {
                match filter.get(&key) {
                    Known::Value(found) => assert_eq!(found, value(key), "a wrong value"),
                    Known::Unknown => hidden += 1,
                    Known::Nothing => panic!("{key} is a member"),
                }
            }
        }
        let all = (seeds * N) as f64;
        let off = (hidden as f64 / all - unknown).abs();
        let tolerance = 4.0 * (unknown / all).sqrt() + 0.1 * unknown;
        assert!(off <= tolerance, "{cells}: {hidden} of {all}");
    }
}

#[test]
fn s17_non_members_are_seen_through() {
    for (cells, k, [bare, _, printed, unknown]) in TABLE {
        let (seeds, queries) = (4, 100_000u64);
        let (mut some, mut several, mut counters) = (0u64, 0u64, 0u64);
        for seed in 0..seeds {
            let filter = filled(cells * N, k, seed);
            for key in N..N + queries {
                match filter.get(&key) {
                    Known::Value(_) => some += 1,
                    Known::Unknown => several += 1,
                    Known::Nothing => {}
                }
                if key < N + 20_000 {
                    let cells = filter.trace(&key.to_le_bytes());
                    counters += u64::from(cells.iter().all(|cell| cell.value > 0));
                }
            }
            let (now, predicted) =
                (filter.now(), expected_rates(cells as f64, 1.0, k.into(), 255.0));
            assert!((now.fpr.expect("a rate") / predicted.0 - 1.0).abs() < 0.5, "{now:?}");
            assert!((now.undecided.expect("a rate") / predicted.1 - 1.0).abs() < 0.5, "{now:?}");
        }
        let all = (seeds * queries) as f64;
        for (count, rate) in [(some, printed), (several, unknown)] {
            let off = (count as f64 / all - rate).abs();
            assert!(off <= 4.0 * (rate / all).sqrt() + 0.25 * rate, "{cells}: {count}, {rate}");
        }
        // The counters alone would let these pass.
        let bare_rate = counters as f64 / (seeds * 20_000) as f64;
        assert!((bare_rate - bare).abs() < 0.1 * bare, "{cells}: {bare_rate}");
    }
}

/// One insertion touches k distinct cells, once each.
#[test]
fn s17_cells_of_one_key() {
    let mut met = 0;
    for key in 0..1000u64 {
        let mut filter = Kbf::with_shape(60, 4, 8, Hasher::default()).expect("a filter");
        filter.insert(&key, 3).expect("a value");
        let cells = filter.trace(&key.to_le_bytes());
        assert!(cells.iter().all(|cell| cell.value == 1), "{cells:?}");
        assert_eq!(filter.get(&key), Known::Value(3));
        met += usize::from(cells.len() < 4);
    }
    // C(4,2)/60 of all keys have two hashes that meet.
    assert!((50..160).contains(&met), "{met}");
}

/// Two keys of one value: counter 2, code 0, which is unreadable and not the value 0.
#[test]
fn s17_equal_values_cancel() {
    let mut filter = Kbf::with_shape(1, 1, 8, Hasher::default()).expect("one cell");
    filter.insert("a", 0).expect("a value");
    filter.insert("b", 0).expect("a value");
    assert_eq!((filter.get("a"), filter.get("c")), (Known::Unknown, Known::Unknown));
    filter.remove("b", 0).expect("a pair");
    assert_eq!(filter.get("a"), Known::Value(0));
    // Different ones can be told apart, but not which is whose.
    filter.insert("b", 9).expect("a value");
    assert_eq!(filter.get("a"), Known::Unknown);
}

/// A counter at its maximum marks a dead cell: it says nothing, even when keys are removed again.
#[test]
fn s17_saturated_cells_are_dead() {
    let mut filter = Kbf::with_shape(1, 1, 8, Hasher::default()).expect("one cell");
    (0..15u64).for_each(|key| _ = filter.insert(&key, key).expect("a value"));
    (1..15u64).for_each(|key| filter.remove(&key, key).expect("a pair"));
    assert_eq!(filter.get(&0u64), Known::Unknown);
    assert_eq!(filter.get("never there"), Known::Unknown);
    let dead = filter.describe().into_iter().find(|fact| fact.name == "dead cells");
    assert_eq!(dead.expect("a fact").value.to_string(), "1");
}

#[test]
fn s17_update_and_removal() {
    let mut filter = filled(8 * N, 4, 5);
    let mut unknown = 0;
    for key in 0..N {
        match filter.update(&key, (value(key) + 1) % 255) {
            Ok(()) => assert_eq!(filter.get(&key), Known::Value((value(key) + 1) % 255)),
            Err(e) => {
                assert_eq!(e.kind(), Kind::Ambiguous);
                unknown += 1;
            }
        }
    }
    assert!(unknown < 20, "{unknown}");
    // Another value than the key's is not removed, nor a key that is not there.
    let known = (0..N).find(|key| matches!(filter.get(key), Known::Value(_))).expect("most are");
    let before = filter.clone();
    assert_eq!(
        filter.remove(&known, value(known)).expect_err("changed").kind(),
        Kind::NotDeletable
    );
    assert_eq!(filter.remove("nobody", 3).expect_err("absent").kind(), Kind::NotDeletable);
    assert_eq!(filter.insert("large", 255).expect_err("too large").kind(), Kind::BadRecord);
    assert_eq!(filter, before);
    filter.remove(&known, (value(known) + 1) % 255).expect("its value");
    assert_ne!(filter.get(&known), Known::Value((value(known) + 1) % 255));
}

/// Joining sets that share no key is building from both; halving keeps every value or hides it.
#[test]
fn s17_join_and_halve() {
    let mut parts = [0, 1].map(|half| {
        let mut filter = Kbf::with_shape(8 * N, 4, 8, Hasher::seeded(3)).expect("a filter");
        let keys = (0..N).filter(|key| key % 2 == half);
        keys.for_each(|key| _ = filter.insert(&key, value(key)).expect("a value"));
        filter
    });
    let [left, right] = &mut parts;
    left.join(right).expect("alike");
    assert_eq!(*left, filled(8 * N, 4, 3));
    let half = left.halve().expect("an even number of cells");
    assert_eq!(half.memory().cells - 256, (left.memory().cells - 256) / 2);
    let mut unknown = 0;
    for key in 0..N {
        match half.get(&key) {
            Known::Value(found) => assert_eq!(found, value(key)),
            Known::Unknown => unknown += 1,
            Known::Nothing => panic!("{key} is a member"),
        }
    }
    assert!((30..200).contains(&unknown), "{unknown}: 4 cells a key");
    let other = filled(8 * N, 4, 4);
    assert!(matches!(left.join(&other).expect_err("a seed").kind(), Kind::Incompatible { .. }));
}

/// Through the list: labels that are no numbers, removal with and without a value.
#[test]
fn s17_labels() {
    let keys: Vec<String> = (0..200).map(|i| format!("key {i}")).collect();
    let states = ["open", "closed", "waiting"];
    let record =
        |i: usize| Record::key(keys[i].as_bytes()).with(Value::Label(states[i % 3].as_bytes()));
    let records: Vec<Record<'_>> = (0..200).map(record).collect();
    let mut filter = VARIANT.build_from(&Goal::new(200, 0.01), &records).expect("a filter");
    let mut known = 0;
    for (i, record) in records.iter().enumerate() {
        let answer = filter.query(*record).expect("a key");
        match answer.verdict {
            Verdict::Present => {
                assert_eq!(answer.detail, Detail::Value(states[i % 3].as_bytes().to_vec()));
                known += 1;
            }
            verdict => assert_eq!(verdict, Verdict::Undecided),
        }
    }
    assert!(known > 190, "{known}");
    let new = Record::key(b"late").with(Value::Label(b"new"));
    filter.as_insert().expect("an ability").insert(new).expect("room for a label");
    assert_eq!(filter.as_lookup().expect("an ability").get(b"late"), Some(b"new".to_vec()));
    filter.as_assign().expect("an ability").set(b"late", b"open").expect("a member");
    assert_eq!(filter.as_lookup().expect("an ability").get(b"late"), Some(b"open".to_vec()));
    filter
        .as_remove()
        .expect("an ability")
        .remove(Record::key(b"late"))
        .expect("its value is known");
    assert_eq!(filter.as_lookup().expect("an ability").get(b"late"), None);
    // More labels than two bits can tell apart.
    let goal = Goal::new(10, 0.01).set("value-bits", 2);
    let four: Vec<Record<'_>> = ["a", "b", "c", "d"]
        .iter()
        .map(|name| Record::key(name.as_bytes()).with(Value::Label(name.as_bytes())))
        .collect();
    assert!(VARIANT.build_from(&goal, &four[..3]).is_ok());
    assert_eq!(VARIANT.build_from(&goal, &four).expect_err("four").kind(), Kind::BadParameter);
}

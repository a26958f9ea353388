//! B6, the fast hash table.

use everbloom::Kind;
use everbloom::internals::filter::{Face, Record, Value};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bloom;
use everbloom::keyvalue::FastHashTable;
use everbloom::keyvalue::fast_hash_table::VARIANT;

const N: u64 = 10_000;

fn table(form: &str, m: u64, k: u32, seed: u64) -> FastHashTable {
    let builder = FastHashTable::builder().form(form).set("m", m).set("k", k).seed(seed);
    let mut table = builder.build().expect("a shape");
    (0..N).for_each(|key| _ = table.put(&key, &key.to_le_bytes()));
    table
}

/// Accesses for absent keys, list of the basic table, and the share and longest list of the pruned one.
#[test]
fn b6_the_catalogues_table() {
    for (m, k, accesses, list, shared, longest) in [
        (128_000, 10, 0.0022, 1.003, 0.0..=0.0001, 1),
        (65_536, 5, 0.043, 1.04, 0.0008..=0.0036, 2),
        (40_000, 4, 0.160, 1.165, 0.018..=0.030, 3),
        (20_000, 3, 0.467, 1.56, 0.17..=0.19, 4),
    ] {
        let (basic, pruned) = (table("basic", m, k, 1), table("pruned", m, k, 1));
        let absent = |table: &FastHashTable| {
            let read = (N..N + 200_000).filter(|key| table.accesses(key)).count();
            read as f64 / 200_000.0
        };
        for table in [&basic, &pruned] {
            let measured = absent(table);
            let formula = bloom::fpr_asymptotic(m as f64, N as f64, f64::from(k));
            assert!((measured / accesses - 1.0).abs() < 0.12, "{m}: {measured} {accesses}");
            assert!((table.access_rate() / formula - 1.0).abs() < 0.05, "{m}: {formula}");
        }
        let mean = (0..N).map(|key| basic.list_of(&key)).sum::<usize>() as f64 / N as f64;
        assert!((mean - list).abs() < 0.01 + 0.02 * (list - 1.0), "{m}: {mean} {list}");
        assert!(shared.contains(&pruned.shared()), "{m}: {}", pruned.shared());
        assert!(pruned.lists().max() <= Some(longest), "{m}: {:?}", pruned.lists().max());
        assert_eq!(pruned.lists().sum::<usize>() as u64, N, "every item once");
        assert!((0..N).all(|key| pruned.get(&key) == Some(&key.to_le_bytes()[..])));
        assert!((0..N).all(|key| basic.get(&key) == Some(&key.to_le_bytes()[..])));
    }
}

/// At two counters a key, sweeps bring 18 % of the keys that share a bucket to none.
#[test]
fn b6_balancing() {
    let mut shares = [0.0; 4];
    for seed in 0..4 {
        let mut table = table("pruned", 20_000, 3, seed);
        for share in &mut shares {
            table.balance(1);
            *share += table.shared() / 4.0;
        }
        assert!((0..N).all(|key| table.get(&key) == Some(&key.to_le_bytes()[..])));
        assert!((N..2 * N).all(|key| table.get(&key).is_none()));
        // What comes later finds its place, too.
        (N..N + 2000).for_each(|key| _ = table.put(&key, b"late"));
        assert!((0..N + 2000).all(|key| table.contains(&key)));
    }
    for (measured, printed) in shares.iter().zip([0.072, 0.015, 0.0005, 0.0]) {
        assert!((measured - printed).abs() < 0.25 * printed + 0.0008, "{shares:?}");
    }
}

/// Removals and insertions in any order, beside a plain map.
#[test]
fn b6_every_live_key_is_found() {
    for form in ["pruned", "basic"] {
        let builder = FastHashTable::builder().form(form).set("m", 900).set("k", 3);
        let mut table = builder.build().expect("a shape");
        let (mut model, mut random) = (std::collections::BTreeMap::new(), Generator::new(3));
        for step in 0..6000u64 {
            let key = random.below(400);
            if random.below(5) < 3 {
                table.put(&key, &step.to_le_bytes());
                model.insert(key, step);
            } else {
                let removed = table.remove(&key).map_err(|e| e.kind());
                let held = model.remove(&key).map(drop).ok_or(Kind::NotDeletable);
                assert_eq!(removed, held, "{form}, step {step}");
            }
            if step % 1000 == 999 && form == "pruned" {
                table.balance(2);
            }
            if step % 50 == 0 {
                for key in 0..500 {
                    let value = model.get(&key).map(|step| step.to_le_bytes());
                    assert_eq!(table.get(&key), value.as_ref().map(|v| &v[..]), "{form} {step}");
                }
                assert_eq!(table.head().items, model.len() as u64);
            }
        }
    }
}

/// Removals leave the counters alone until a quarter of the keys is gone; then they are counted anew.
#[test]
fn b6_counters_are_rebuilt_after_a_quarter_of_removals() {
    let mut lazy = table("pruned", 40_000, 4, 2);
    let before = lazy.access_rate();
    (0..N / 5).for_each(|key| lazy.remove(&key).expect("a member"));
    assert_eq!(lazy.access_rate(), before, "2000 of 8000 left");
    (N / 5..N / 2).for_each(|key| lazy.remove(&key).expect("a member"));
    assert!(lazy.access_rate() < 0.45 * before, "{} {before}", lazy.access_rate());
    assert!((N / 2..N).all(|key| lazy.contains(&key)));
    (N / 2..N).for_each(|key| lazy.remove(&key).expect("a member"));
    assert_eq!((lazy.head().items, lazy.lists().count()), (0, 0));
    assert_eq!(lazy.access_rate(), 0.0);
}

/// Counters that stick at their maximum do not move homes.
#[test]
fn b6_stuck_counters() {
    let builder = FastHashTable::builder().set("m", 60).set("k", 3).set("width", 2);
    let mut table = builder.build().expect("a shape");
    (0..300u64).for_each(|key| _ = table.put(&key, &key.to_le_bytes()));
    table.balance(4);
    assert!((0..300u64).all(|key| table.get(&key) == Some(&key.to_le_bytes()[..])));
    (0..300u64).for_each(|key| table.remove(&key).expect("a member"));
    assert_eq!(table.lists().count(), 0);
}

#[test]
fn b6_values_are_updated_in_place() {
    let mut table = FastHashTable::with_shape(1000, 4, Hasher::default()).expect("a shape");
    table.put("flow", b"7");
    table.put("flow", b"8");
    assert_eq!((table.get("flow"), table.head().items), (Some(&b"8"[..]), 1));
    assert_eq!(table.list_of("flow"), 1);
    assert_eq!(table.list_of("other"), 0);
    // By the list of abilities: values beside keys, looked up and changed.
    let records = [Record::key(b"a").with(Value::Bytes(b"one")), Record::key(b"b")];
    let mut built = VARIANT.build_from(&Goal::new(10, 0.01), &records).expect("built");
    let value = |built: &dyn everbloom::Filter, key| built.as_lookup().expect("values").get(key);
    assert_eq!(value(&*built, b"a"), Some(b"one".to_vec()));
    assert_eq!(value(&*built, b"b"), Some(Vec::new()));
    let assign = built.as_assign().expect("values");
    assign.set(b"b", b"two").expect("there");
    assert_eq!(assign.set(b"c", b"three").expect_err("absent").kind(), Kind::BadRecord);
    assert_eq!(value(&*built, b"b"), Some(b"two".to_vec()));
    let refused =
        built.as_insert().expect("takes keys").insert(Record::key(b"x").with(Value::Count(3)));
    assert_eq!(refused.expect_err("no count").kind(), Kind::BadRecord);
    assert_eq!(built.now().fpr, Some(0.0), "answers are exact");
}

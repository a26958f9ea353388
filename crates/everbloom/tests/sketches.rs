//! Every sketch × every promise: sketches have no members, so they have a loop of their own.

mod support;

use std::collections::BTreeMap;

use everbloom::internals::file as codec;
use everbloom::internals::file::{Access, Opener};
use everbloom::internals::filter::{Ability, Bound, Counts, Filter, Form};
use everbloom::internals::hash::{HashId, Hasher, SecretKey};
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom::{Goal, Kind, Record, Value, Verdict};

/// Every form of every sketch, with a goal for `items` items at 1 %.
fn forms(items: u64) -> impl Iterator<Item = (&'static Variant, &'static Form, Goal, String)> {
    support::sketches().map(move |(variant, form)| {
        let goal = Goal::new(items, 0.01).set("form", form.name);
        (variant, form, goal, format!("{} ({})", variant.slug, form.name))
    })
}

fn records_of(variant: &Variant, range: std::ops::Range<u64>) -> Sample {
    Sample::new(&variant.input, Style::Short, range)
}

/// All that a sketch can be asked: its size, the counts of some keys, its list.
fn told(sketch: &dyn Filter, keys: &[Record<'_>]) -> String {
    let counts: Vec<_> =
        keys.iter().map(|r| sketch.as_count().map(|count| count.count(r.key))).collect();
    let mut list = Vec::new();
    if let Some(lists) = sketch.as_list() {
        lists.list(&mut |key, answer| list.push((key.to_vec(), answer))).expect("a list");
    }
    let size = sketch.as_estimate().map(|estimate| estimate.cardinality());
    format!("{size:?} {counts:?} {list:?}")
}

#[test]
fn sketches_have_no_members_and_the_abilities_that_the_list_says() {
    let mut seen = 0;
    for (variant, form, goal, what) in forms(50) {
        let members = records_of(variant, 0..50);
        let mut sketch = variant.build_from(&goal, &members.records()).expect(&what);
        let refused = sketch.query(members.records()[0]).expect_err(&what);
        assert_eq!(refused.kind(), Kind::Unsupported, "{what}");
        assert!(refused.to_string().contains("sketch"), "{what}: {refused}");
        assert!(!sketch.contains(members.records()[0].key), "{what}");
        assert!(sketch.as_bulk().is_none() && sketch.as_bulk_mut().is_none(), "{what}");
        support::check_abilities(&mut *sketch, form, &what);
        let asked = [Ability::Count, Ability::List, Ability::Estimate];
        assert!(asked.iter().any(|ability| form.abilities.contains(ability)), "{what}: mute");
        seen += 1;
    }
    assert!(seen >= 5 || std::env::var_os("EVERBLOOM_ONLY").is_some());
}

#[test]
fn saved_sketches_come_back_the_same_and_builds_are_reproducible() {
    let folder = tempfile::tempdir().expect("a folder");
    for (variant, _, goal, what) in forms(1000) {
        let members = records_of(variant, 0..1000);
        let members = members.records();
        let build = |goal: &Goal| variant.build_from(goal, &members).expect(&what);
        let sketch = build(&goal);
        let bytes = codec::to_bytes(&*sketch);
        assert_eq!(codec::to_bytes(&*build(&goal)), bytes, "{what}: reproducible");
        let path = folder.path().join("sketch.evb");
        codec::save(&*sketch, &path).expect(&what);
        for again in support::opened(&bytes, &path) {
            let again = again.expect(&what);
            assert_eq!(codec::to_bytes(&*again), bytes, "{what}: encoding is canonical");
            assert_eq!(again.head(), sketch.head(), "{what}");
            assert_eq!(again.describe(), sketch.describe(), "{what}");
            assert_eq!(told(&*again, &members), told(&*sketch, &members), "{what}");
        }
        // What is built record by record is the same, and a mapped file is never changed.
        let mut grown = variant.build_from(&goal, &[]).expect(&what);
        members.iter().for_each(|r| _ = grown.as_insert().expect(&what).insert(*r).expect(&what));
        assert_eq!(codec::to_bytes(&*grown), bytes, "{what}");
        let mut mapped = Opener::new().access(Access::Map).open(&path).expect(&what);
        mapped.as_insert().expect(&what).insert(members[7]).expect(&what);
        assert_eq!(std::fs::read(&path).expect(&what), bytes, "{what}: the file is as it was");
    }
}

#[test]
fn seeds_and_keys_matter_or_are_refused() {
    let key = SecretKey::from_hex("000102030405060708090a0b0c0d0e0f").expect("a key");
    for (variant, _, goal, what) in forms(200) {
        let members = records_of(variant, 0..200);
        let build = |goal: &Goal| variant.build_from(goal, &members.records());
        let plain = codec::to_bytes(&*build(&goal).expect(&what));
        match build(&goal.clone().seed(1)) {
            Ok(other) => assert_ne!(codec::to_bytes(&*other), plain, "{what}: the seed matters"),
            Err(e) => {
                assert_eq!((e.kind(), e.field()), (Kind::BadParameter, Some("seed")), "{what}")
            }
        }
        match build(&Goal { hasher: Hasher::keyed(key.clone()), ..goal.clone() }) {
            Ok(keyed) => {
                assert_eq!(keyed.head().hasher.id(), HashId::SipHash24_128, "{what}");
                let bytes = codec::to_bytes(&*keyed);
                let refused = Opener::new().decode(&bytes).expect_err(&what);
                assert_eq!(refused.kind(), Kind::KeyMissing, "{what}");
                assert!(Opener::new().key(Some(key.clone())).decode(&bytes).is_ok(), "{what}");
            }
            Err(e) => assert_eq!(e.kind(), Kind::BadParameter, "{what}"),
        }
    }
}

#[test]
fn merging_sketches_is_building_one() {
    for (variant, form, goal, what) in forms(400) {
        if !form.abilities.contains(&Ability::Merge) {
            continue;
        }
        let build = |range| {
            let records = records_of(variant, range);
            variant.build_from(&goal, &records.records()).expect(&what)
        };
        let (mut merged, right, whole) = (build(0..250), build(250..400), build(0..400));
        merged.as_merge().expect(&what).merge(&*right).expect(&what);
        assert_eq!(codec::to_bytes(&*merged), codec::to_bytes(&*whole), "{what}");
        let smaller = match variant.slug {
            "hyperloglog" => goal.clone().set("p", 8),
            _ => Goal { items: Some(4000), ..goal.clone() },
        };
        let other = variant.build_from(&smaller, &[]).expect(&what);
        let before = codec::to_bytes(&*merged);
        let refused = merged.as_merge().expect(&what).merge(&*other).expect_err(&what);
        assert!(matches!(refused.kind(), Kind::Incompatible { .. }), "{what}: {refused}");
        assert_eq!(codec::to_bytes(&*merged), before, "{what}: a refused merge changes nothing");
    }
}

/// What a sketch says is within the bounds that it states: sizes within five standard errors, counts on the side
/// that their bound says.
#[test]
fn errors_are_within_the_stated_bounds() {
    for n in [100, 1000, 30_000] {
        for (variant, form, goal, what) in forms(n) {
            let members = records_of(variant, 0..n);
            let members = members.records();
            let sketch = variant.build_from(&goal, &members).expect(&what);
            if let Some(estimate) = sketch.as_estimate() {
                let facts = sketch.describe();
                let error = facts.iter().find(|f| f.name == "error").map(|f| f.value.to_string());
                let error: f64 = error.and_then(|e| e.parse().ok()).expect(&what);
                let size = estimate.cardinality().expect(&what);
                assert!((size / n as f64 - 1.0).abs() < 5.0 * error, "{what}: {size} of {n}");
            }
            let mut truth: BTreeMap<&[u8], u64> = BTreeMap::new();
            for record in &members {
                let times = if let Some(Value::Count(times)) = record.value { times } else { 1 };
                *truth.entry(record.key).or_default() += times;
            }
            if let Some(count) = sketch.as_count() {
                for (key, true_count) in &truth {
                    let counted = count.count(key);
                    let right = match (counted.bound, form.counts) {
                        (Bound::AtLeast, _) => counted.whole() <= *true_count,
                        (_, Counts::Above | Counts::Tight) => counted.whole() >= *true_count,
                        _ => true,
                    };
                    assert!(right, "{what}: {counted} for {true_count}");
                }
            }
            if let Some(list) = sketch.as_list() {
                list.list(&mut |key, answer| {
                    assert!(
                        truth.contains_key(key) && answer.verdict == Verdict::Present,
                        "{what}"
                    );
                })
                .expect(&what);
            }
        }
    }
}

#[test]
fn impossible_goals_for_sketches_are_refused_in_a_sentence() {
    for (variant, _, goal, what) in forms(100) {
        let refused = |goal: Goal| {
            let error = variant.build_from(&goal, &[]).expect_err(&what);
            assert_eq!(error.kind(), Kind::BadParameter, "{what}: {error}");
        };
        refused(Goal { items: Some(0), ..goal.clone() });
        refused(Goal { fpr: Some(f64::NAN), ..goal.clone() });
        refused(Goal { bits: Some(1), ..goal.clone() });
        refused(goal.clone().set("no-such-thing", 1));
        for param in variant.params {
            refused(goal.clone().set(param.name, "NaN"));
            refused(goal.clone().set(param.name, "-1"));
        }
        for (n, p) in [(1, 1e-300), (u64::MAX, 0.5), (3, 0.999)] {
            if let Err(e) =
                variant.build_from(&Goal { items: Some(n), fpr: Some(p), ..goal.clone() }, &[])
            {
                assert_eq!(e.kind(), Kind::BadParameter, "{what}: {e}");
            }
        }
    }
}

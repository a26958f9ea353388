//! B18, windowed filters.

use everbloom::decaying::Windowed;
use everbloom::decaying::windowed::VARIANT;
use everbloom::internals::filter::{Age, Filter, Insert, Merge, fact};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::{Goal, Kind, Load, Record, Value};

fn table(form: &'static str, buckets: u64, print: u32, seed: u64) -> Windowed {
    Windowed::with_table(form, buckets, print, 8, Hasher::seeded(seed)).unwrap()
}

fn share(filter: &Windowed, queries: u64) -> f64 {
    let passed = (1u64 << 40..).take(queries as usize).filter(|key| filter.contains(key)).count();
    passed as f64 / queries as f64
}

#[test]
fn b18_parameters() {
    let goal = Goal::new(100_000, 0.01);
    let built = VARIANT.build_from(&goal.clone().set("ttl", 12_600), &[]).unwrap();
    let facts = built.describe();
    for wanted in [fact("print", 10u64), fact("tag", 8u64), fact("grain", 100u64)] {
        assert!(facts.contains(&wanted), "{wanted:?} in {facts:?}");
    }
    // 18.9 bits per live key, and a few slots to spare.
    let bits = VARIANT.expect(&goal, &Load::default()).unwrap().unwrap().bits as f64 / 1e5;
    assert!((bits - 18.95).abs() < 0.1, "{bits}");
}

/// 250 insertions per epoch with a time to live of 1 to 100, over six wraps of the tags.
#[test]
fn b18_a_stream_of_lives() {
    let mut f = table("cuckoo", 4096, 12, 1);
    let mut random = Generator::new(7);
    let (mut ends, mut key) = (vec![], 0u64);
    let (mut load, mut after, mut fpr, mut late, mut snapshots) = (0.0, 0.0, 0.0, (0, 0), 0.0);
    for epoch in 0..1500u64 {
        Age::age(&mut f, u64::from(epoch > 0));
        let ticked = f.fill().filter(|_| epoch > 200 && epoch % 50 == 0);
        for _ in 0..250 {
            let ttl = 1 + random.below(100);
            f.insert_for(&key, ttl, epoch).unwrap();
            ends.push(epoch + ttl);
            key += 1;
        }
        if let Some(ticked) = ticked {
            let recent = key.saturating_sub(250 * 120)..key;
            for key in recent {
                if ends[key as usize] > epoch {
                    assert!(f.contains(&key), "epoch {epoch}: key {key} is lost");
                } else {
                    late = (late.0 + u64::from(f.contains(&key)), late.1 + 1);
                }
            }
            load += f.fill().unwrap();
            after += ticked;
            fpr += share(&f, 20_000);
            snapshots += 1.0;
        }
    }
    assert_eq!(f.tables(), 1, "nothing was refused");
    let mean = [load, after, fpr].map(|sum| sum / snapshots);
    assert!((mean[0] - 0.771).abs() < 0.004, "live load {}", mean[0]);
    assert!((mean[1] - 0.755).abs() < 0.004, "after the tick {}", mean[1]);
    assert!((mean[2] - 0.0015).abs() < 0.00015, "rate {}", mean[2]);
    let late = late.0 as f64 / late.1 as f64;
    assert!((late - 0.0015).abs() < 0.0003, "expired keys pass as others do: {late}");
}

/// Without the sweep all of them would come back at t = 178.
#[test]
fn b18_what_is_dead_stays_dead() {
    let mut f = table("cuckoo", 4096, 12, 2);
    (0..10_000u64).for_each(|key| _ = f.insert_for(&key, 50, 0).unwrap());
    for t in 0..=310 {
        f.advance(t);
        let found = (0..10_000u64).step_by(9).filter(|key| f.contains(key)).count();
        assert_eq!(found, if t < 50 { 1112 } else { 0 }, "t = {t}");
    }
}

/// A leap is as many ticks in order: advancing first and sweeping later would revive keys.
#[test]
fn b18_leaps_revive_nobody() {
    for leap in [1, 10, 60, 126, 127, 128, 300] {
        let mut f = table("cuckoo", 512, 16, 3);
        let mut random = Generator::new(leap);
        for epoch in 0..130u64 {
            for key in 40 * epoch..40 * (epoch + 1) {
                f.insert_for(&key, 1 + random.below(3), epoch).unwrap();
            }
        }
        f.advance(129 + 3 + leap);
        for after in 0..300 {
            f.advance(129 + 3 + leap + after);
            assert_eq!((0..5200u64).filter(|key| f.contains(key)).count(), 0, "{leap}, {after}");
        }
    }
}

/// E is rounded up by the time, not by the epoch: a key that comes late in an epoch lives as long.
#[test]
fn b18_a_life_is_never_too_short_and_less_than_a_grain_too_long() {
    for form in ["cuckoo", "multiset", "ring"] {
        let goal = Goal::new(100, 1e-9).set("form", form).set("ttl", 1000);
        for (time, ttl) in [(0, 1000), (7, 1000), (1999, 3), (12_345, 500), (12_350, 1)] {
            let mut f = VARIANT.build_from(&goal, &[]).unwrap();
            let grain = f.describe().iter().find(|f| f.name == "grain").unwrap().value.to_string();
            let grain: u64 = grain.parse().unwrap();
            let record = Record::key(b"x").with(Value::Count(ttl)).at(time);
            f.as_insert().unwrap().insert(record).unwrap();
            let alive = |at| f.query(Record::key(b"x").at(at)).unwrap().verdict;
            assert!(
                (time..time + ttl).step_by(7).all(|at| alive(at) == everbloom::Verdict::Present)
            );
            assert_eq!(alive(time + ttl - 1), everbloom::Verdict::Present, "{form}");
            assert_eq!(alive(time + ttl + grain), everbloom::Verdict::Absent, "{form}");
        }
    }
}

#[test]
fn b18_reinsertion_never_shortens_a_life() {
    let mut f = table("cuckoo", 64, 12, 1);
    f.insert_for("x", 90, 0).unwrap();
    f.insert_for("x", 5, 10).unwrap();
    assert_eq!(f.remaining("x", 10), 80);
    f.insert_for("x", 100, 20).unwrap();
    assert_eq!((f.remaining("x", 20), f.time()), (100, 20));
    let before = f.clone();
    assert!(f.insert_for("x", 0, 30).is_err() && f.insert_for("x", 127, 30).is_err());
    assert_eq!(f, before, "a refused key changes nothing, not even the time");
    assert_eq!(f.remove("x").unwrap_err().kind(), Kind::Unsupported, "two keys may share a slot");
}

/// nb = 64, f = 4: fingerprints are shared all the time, and the match that expires first is the one to take.
#[test]
fn b18_deletion_loses_nobody() {
    let mut f = table("multiset", 64, 4, 5);
    let mut random = Generator::new(1);
    let mut live: Vec<(u64, u64)> = Vec::new();
    let mut removed = 0;
    for epoch in 0..600u64 {
        f.advance(epoch);
        live.retain(|(_, end)| *end > epoch);
        for key in 10 * epoch..10 * epoch + 4 {
            let ttl = 1 + random.below(40);
            if f.insert_for(&key, ttl, epoch).is_ok() {
                live.push((key, epoch + ttl));
            }
        }
        if !live.is_empty() && epoch % 2 == 0 {
            let (key, _) = live.swap_remove(random.below(live.len() as u64) as usize);
            f.remove(&key).unwrap();
            removed += 1;
        }
        assert!(live.iter().all(|(key, _)| f.contains(key)), "epoch {epoch}");
    }
    assert!(removed > 250);
}

#[test]
fn b18_copies_are_as_many_as_two_buckets_hold() {
    let mut f = table("multiset", 64, 12, 6);
    let taken = (0..20).take_while(|_| f.insert_for("x", 9, 0).is_ok()).count();
    assert_eq!((taken, f.tables()), (8, 1));
    let refused = f.insert_for("x", 9, 3).unwrap_err();
    assert_eq!((refused.kind(), f.time()), (Kind::CapacityExceeded, 0));
    (0..8).for_each(|_| f.remove("x").unwrap());
    assert!(!f.contains("x") && f.remove("x").is_err());
}

/// Inserts until tables were added, then asks for all accepted keys.
#[test]
fn b18_a_full_table_gets_another() {
    for form in ["cuckoo", "multiset"] {
        let mut f = table(form, 50, 14, 9);
        (0..1000u64).for_each(|key| _ = f.insert_for(&key, 100, 0).unwrap());
        assert!((5..=8).contains(&f.tables()), "{form}: {}", f.tables());
        assert!((0..1000u64).all(|key| f.contains(&key)), "{form}");
        let (now, measured) = (f.now().fpr.unwrap(), share(&f, 200_000));
        assert!((measured / now - 1.0).abs() < 0.1, "{form}: {measured} {now}");
    }
}

/// G = 8, a rate of 0.001 each: k = 10, 14.4 bits per key of a filter, 16.2 per living one at equal times to live.
#[test]
fn b18_rings() {
    let goal = Goal::new(8000, 0.009).set("form", "ring").set("ttl", 800);
    let mut f = VARIANT.build_from(&goal, &[]).unwrap();
    let facts = f.describe();
    assert!(facts.contains(&fact("k", 10u64)) && facts.contains(&fact("filters", 9u64)));
    assert!((f.memory().cells as f64 / 8000.0 - 16.2).abs() < 0.1);
    // Ten keys per unit of time, all with the longest time to live: 8000 live.
    let mut wrong = (0, 0);
    for time in 0..2400u64 {
        for key in 10 * time..10 * (time + 1) {
            let key = key.to_le_bytes();
            f.as_insert().unwrap().insert(Record::key(&key).at(time)).unwrap();
        }
        if time > 900 && time % 100 == 99 {
            let oldest = 10 * (time - 799);
            assert!((oldest..10 * (time + 1)).all(|key| f.contains(&key.to_le_bytes())), "{time}");
            let passed =
                (1u64 << 40..).take(20_000).filter(|k| f.contains(&k.to_le_bytes())).count();
            wrong = (wrong.0 + passed, wrong.1 + 20_000);
        }
    }
    let fpr = wrong.0 as f64 / f64::from(wrong.1);
    assert!(fpr <= 0.0095 && fpr > 0.007, "{fpr}: eight full filters and one begun");
}

#[test]
fn b18_rings_merge_at_the_later_time() {
    let ring = || Windowed::builder().items(100).rate(1e-6).set("form", "ring").set("ttl", 80);
    let (mut a, mut b) = (ring().build().unwrap(), ring().build().unwrap());
    a.insert_for("old", 80, 100).unwrap();
    b.insert_for("new", 40, 150).unwrap();
    let mut early = a.clone();
    Merge::merge(&mut early, &b).unwrap();
    b.union(&a).unwrap();
    for f in [early, b] {
        assert_eq!(f.time(), 150);
        assert!(f.contains_at("old", 179) && !f.contains_at("old", 190));
        assert!(f.contains_at("new", 189) && !f.contains_at("new", 200));
    }
    let cuckoo = table("cuckoo", 64, 12, 1);
    assert!(a.union(&cuckoo).is_err());
}

/// Age-partitioned slices: (10, 7) at 0.0015 and (14, 11) at 1.2e-4, just before a shift. (The catalogue has 1.6e-4
/// for the latter, from a small number of queries.)
#[test]
fn b18_slices() {
    for (k, more, rate, tolerance) in [(10, 7, 0.0015, 0.0002), (14, 11, 1.2e-4, 4e-5)] {
        let (turn, filters, queries) = (200u64, 20, 60_000);
        let (mut passed, mut predicted) = (0.0, 0.0);
        for seed in 0..filters {
            let mut f = Windowed::with_slices(k, more, turn, Hasher::seeded(seed)).unwrap();
            let keys = 5 * u64::from(k + more) * turn - 1;
            (0..keys).for_each(|key| _ = f.insert(&key).unwrap());
            let surely = u64::from(more) * turn;
            assert!((keys - surely..keys).all(|key| f.contains(&key)), "the last l·g keys");
            // A key loses one slice per turn, and its neighbors may stand in for a few.
            let gone = keys - surely - u64::from(k) * turn;
            let late = (gone - 500..gone).filter(|key| f.contains(key)).count();
            assert!(late < 20, "{late} of 500 are remembered too long");
            passed += share(&f, queries);
            predicted += f.now().fpr.unwrap();
        }
        let (fpr, predicted) = (passed / filters as f64, predicted / filters as f64);
        assert!((fpr - rate).abs() < tolerance, "{k} {more}: {fpr}");
        assert!((predicted / rate - 1.0).abs() < 0.1, "{k} {more}: {predicted}");
    }
    let planned = Windowed::builder().items(1000).rate(0.01).set("form", "slices").build().unwrap();
    assert!(planned.memory().cells < 30_000, "{}", planned.memory().cells);
    assert!(Windowed::with_slices(0, 3, 5, Hasher::default()).is_err());
}

#[test]
fn b18_the_value_beside_a_key_is_its_time_to_live() {
    let mut f = table("cuckoo", 64, 12, 1);
    let record = |ttl| Record::key(b"x").with(Value::Count(ttl));
    Insert::insert(&mut f, record(3).at(1000)).unwrap();
    assert!(f.contains_at("x", 1002) && !f.contains_at("x", 1003));
    assert!(Insert::insert(&mut f, Record::key(b"x").with(Value::Label(b"3"))).is_err());
    Age::age(&mut f, u64::MAX);
    assert!(!f.contains("x"));
}

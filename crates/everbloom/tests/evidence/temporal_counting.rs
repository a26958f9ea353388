//! §28, the temporal counting filter. S3's example of a lost key is among the variant's own tests.

use everbloom::decaying::TemporalCounting;
use everbloom::decaying::temporal_counting::VARIANT;
use everbloom::internals::filter::{Bound, Filter, Insert, Merge, Number};
use everbloom::{Detail, Goal, Load, Record, Value, Verdict};

fn filter(initial: u64, decay: u64) -> TemporalCounting {
    let builder = TemporalCounting::builder().items(1000).rate(1e-6);
    builder.set("initial", initial).set("decay", decay).build().unwrap()
}

#[test]
fn s28_a_key_lives_for_exactly_icv_over_df_ticks() {
    for (initial, decay, life) in [(7, 1, 7), (7, 2, 4), (10, 5, 2), (3, 9, 1), (100, 7, 15)] {
        let mut f = filter(initial, decay);
        f.insert("x");
        assert_eq!(f.life("x"), life);
        f.age(life - 1);
        assert!(f.contains("x"), "{initial} {decay}");
        f.age(1);
        assert!(!f.contains("x"), "{initial} {decay}");
    }
}

/// Reinsertion renews a life, and never shortens one.
#[test]
fn s28_lives_of_their_own() {
    let mut f = filter(7, 1);
    f.insert_for("x", 15).unwrap();
    f.insert_for("x", 2).unwrap();
    assert_eq!(f.life("x"), 15);
    f.age(10);
    f.insert("x");
    assert_eq!(f.life("x"), 7);
    let before = f.clone();
    assert!(f.insert_for("x", 0).is_err() && f.insert_for("x", 16).is_err());
    assert_eq!(f, before, "a refused key changes nothing");
}

#[test]
fn s28_merging_by_the_maximum_is_idempotent_and_by_the_sum_reinforces() {
    let mut a = filter(7, 1);
    a.insert("both");
    a.insert("a");
    a.age(2);
    let mut b = filter(7, 1);
    b.insert("both");
    b.insert("b");
    b.age(1);
    // b is brought to a's time, or a to b's: whichever is later.
    let lives = |f: &TemporalCounting| ["both", "a", "b"].map(|key| f.life(key));
    let mut most = a.clone();
    most.union(&b).unwrap();
    assert_eq!(lives(&most), [5, 5, 5], "b's keys are one tick older at time 2");
    let cells: Vec<u64> = most.cells().iter().collect();
    Merge::merge(&mut most, &b).unwrap();
    assert!(most.cells().iter().eq(cells), "merging twice changes nothing");
    let mut late = b.clone();
    late.union(&a).unwrap();
    assert_eq!((lives(&late), late.time()), ([5, 5, 5], 2));
    let mut sum = a.clone();
    sum.reinforce(&b).unwrap();
    assert_eq!(lives(&sum), [10, 5, 5], "what both have met lives longer");
    sum.reinforce(&b).unwrap();
    assert_eq!(lives(&sum), [15, 5, 10], "up to the cap, which is 15");
    let other = filter(8, 1);
    assert!(a.union(&other).is_err());
}

#[test]
fn s28_time_comes_with_the_records() {
    let mut f = filter(7, 1);
    let at = |time| Record::key(b"x").at(time);
    Insert::insert(&mut f, at(1_700_000_000)).unwrap();
    let ask = |f: &TemporalCounting, time| f.query(at(time)).unwrap();
    assert_eq!(ask(&f, 1_700_000_006).verdict, Verdict::Present);
    assert_eq!(ask(&f, 1_700_000_007).verdict, Verdict::Absent);
    let Detail::Count(left) = ask(&f, 1_700_000_003).detail else { panic!("a life") };
    assert_eq!((left.value, left.bound), (Number::Whole(4), Bound::Estimate));
    // Queries write nothing, and a clock that goes backwards is not believed.
    assert_eq!(f.time(), 1_700_000_000);
    Insert::insert(&mut f, at(3).with(Value::Count(9))).unwrap();
    assert_eq!((f.time(), f.life("x")), (1_700_000_000, 9));
    assert!(Insert::insert(&mut f, at(1_800_000_000).with(Value::Count(99))).is_err());
    assert_eq!(f.time(), 1_700_000_000, "a refused record changes nothing, not even the time");
}

#[test]
fn s28_the_rate_is_that_of_the_living() {
    let (mut passed, filters, queries) = (0, 20, 20_000);
    for seed in 0..filters {
        let goal = Goal::default().set("m", 10_000).set("k", 7).seed(seed);
        let mut f = VARIANT.build_from(&goal, &[]).unwrap();
        for key in 0..2000u64 {
            let key = key.to_le_bytes();
            f.as_insert().unwrap().insert(Record::key(&key)).unwrap();
            if u64::from_le_bytes(key) == 999 {
                f.as_age().unwrap().age(7);
            }
        }
        passed += (1u64 << 40..).take(queries).filter(|k| f.contains(&k.to_le_bytes())).count();
    }
    let fpr = passed as f64 / (filters as usize * queries) as f64;
    assert!((fpr - 0.008194).abs() < 0.0008, "f_BF(10n, n, 7) of the living half: {fpr}");
    let shape = Goal::default().set("m", 10_000).set("k", 7);
    let aged = |age| {
        let mut load = Load::items(1000);
        load.age = age;
        VARIANT.expect(&shape, &load).unwrap().unwrap()
    };
    assert!((aged(6).fpr - 0.008194).abs() < 2e-5 && aged(6).fnr == 0.0);
    assert_eq!((aged(7).fpr, aged(7).fnr), (0.0, 1.0));
}

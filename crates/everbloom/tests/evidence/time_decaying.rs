//! §30, the time-decaying filter.

use everbloom::decaying::TimeDecaying;
use everbloom::decaying::time_decaying::VARIANT;
use everbloom::internals::filter::{Age, Filter, Insert};
use everbloom::internals::hash::Generator;
use everbloom::{Goal, Load, Record, Value, Verdict};

fn filter(form: &'static str, half_life: f64) -> TimeDecaying {
    let builder = TimeDecaying::builder().items(300).rate(0.01);
    builder.set("form", form).set("half-life", half_life).build().unwrap()
}

#[test]
fn s30_half_lives() {
    for form in ["scaled", "lazy"] {
        let mut f = filter(form, 5.0);
        f.add("x", 1.0, 100).unwrap();
        for (after, weight) in [(0, 1.0), (5, 0.5), (10, 0.25), (20, 0.0625)] {
            assert!((f.weight("x", 100 + after) - weight).abs() < 1e-12, "{form}: {after}");
        }
        f.add("x", 2.0, 110).unwrap();
        assert!((f.weight("x", 110) - 2.25).abs() < 1e-12, "{form}");
        assert_eq!(f.weight("x", 3), f.weight("x", 110), "{form}: no clock goes backwards");
        assert_eq!(f.weight("x", 110 + 5 * 30), 0.0, "{form}: below the least weight");
    }
}

/// Both forms agree over thousands of half-lives, that is over many scalings, and never fall below the truth.
#[test]
fn s30_lazy_and_scaled_agree_and_are_never_below_the_truth() {
    let (mut scaled, mut lazy) = (filter("scaled", 2.5), filter("lazy", 2.5));
    let mut random = Generator::new(1);
    let mut truth = vec![(0.0f64, 0u64); 300];
    let (mut time, mut exact, mut asked) = (0, 0, 0);
    let faded = |(weight, at): (f64, u64), now: u64| weight * f64::exp2(-((now - at) as f64) / 2.5);
    for step in 0..20_000u64 {
        time += random.below(3) * u64::from(step % 2 == 0) + 700 * u64::from(step % 5000 == 0);
        let (key, weight) = (random.below(300), 1.0 + random.unit());
        for f in [&mut scaled, &mut lazy] {
            f.add(&key, weight, time).unwrap();
        }
        let last = &mut truth[key as usize];
        *last = (faded(*last, time) + weight, time);
        let key = random.below(300);
        let [a, b] = [&scaled, &lazy].map(|f| f.weight(&key, time + 2));
        assert!((a - b).abs() <= 1e-9 * a.max(b), "{a} {b}");
        let want = faded(truth[key as usize], time + 2);
        assert!(a >= want * (1.0 - 1e-9) || want < 1.1e-6, "{a} below {want}");
        asked += 1;
        exact += u64::from((a - want).abs() <= 1e-6 * want || a == 0.0);
    }
    assert!(exact * 10 > asked * 9, "{exact} of {asked} are exact");
}

#[test]
fn s30_merging_adds_weights_at_the_later_time() {
    for form in ["scaled", "lazy"] {
        let (mut a, mut b) = (filter(form, 10.0), filter(form, 10.0));
        a.add("x", 4.0, 0).unwrap();
        b.add("x", 3.0, 10).unwrap();
        b.add("y", 1.0, 20).unwrap();
        let mut early = a.clone();
        early.union(&b).unwrap();
        b.union(&a).unwrap();
        for f in [early, b] {
            assert!(
                (f.weight("x", 20) - 2.5).abs() < 1e-12 && (f.weight("y", 20) - 1.0).abs() < 1e-12
            );
            assert_eq!(f.now_is(), 20);
        }
        assert!(a.union(&filter(form, 11.0)).is_err());
    }
}

#[test]
fn s30_records_bring_weights_and_times() {
    let mut f = filter("scaled", 5.0);
    let record = |value: Value<'static>| Record::key(b"x").with(value);
    Insert::insert(&mut f, record(Value::Count(8)).at(50)).unwrap();
    Insert::insert(&mut f, record(Value::Weight(0.5)).at(55)).unwrap();
    assert!((f.weight("x", 55) - 4.5).abs() < 1e-12);
    let before = f.clone();
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e200] {
        assert!(Insert::insert(&mut f, record(Value::Weight(bad)).at(99)).is_err());
    }
    assert!(Insert::insert(&mut f, record(Value::Count(0))).is_err());
    assert!(Insert::insert(&mut f, record(Value::Label(b"a"))).is_err());
    assert_eq!(f, before, "a refused record changes nothing, not even the time");
    assert_eq!(f.query(Record::key(b"x").at(60)).unwrap().verdict, Verdict::Present);
    assert_eq!(f.query(Record::key(b"x").at(400)).unwrap().verdict, Verdict::Absent);
    Age::age(&mut f, u64::MAX);
    assert!(!f.contains("x"));
    f.add("y", 1.0, 0).unwrap();
    assert_eq!(f.weight("y", 0), 1.0, "at the end of time");
}

/// A cell counts if it holds enough keys: the binomial tail, against filters whose keys are of one age.
#[test]
fn s30_rates_by_age() {
    let shape = Goal::default().set("m", 10_000).set("k", 3).set("half-life", 1).set("least", 0.3);
    for age in [0, 1, 2, 3] {
        let (mut fill, filters) = (0.0, 20);
        for seed in 0..filters {
            let mut f = VARIANT.build_from(&shape.clone().seed(seed), &[]).unwrap();
            for key in 0..3000u64 {
                f.as_insert().unwrap().insert(Record::key(&key.to_le_bytes())).unwrap();
            }
            f.as_age().unwrap().age(age);
            fill += f.fill().unwrap() / filters as f64;
        }
        let mut load = Load::items(3000);
        load.age = age;
        let expect = VARIANT.expect(&shape, &load).unwrap().unwrap();
        let want = expect.fill.unwrap().0;
        assert!((fill - want).abs() < 0.004, "{age}: {fill} {want}");
        assert_eq!(expect.fnr > 0.0, age >= 2, "0.25 is below 0.3: {}", expect.fnr);
    }
}

//! §5, the shifting Bloom filter.

use everbloom::grouping::Shifting;
use everbloom::grouping::shifting::VARIANT;
use everbloom::internals::filter::{Bound, Count, Filter, Insert, Remove};
use everbloom::internals::theory::bloom::{fpr_asymptotic, fpr_best};
use everbloom::internals::theory::shifting::{membership_published, pair_from_zeros};
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::{Goal, Kind, Record, Value};

fn built(goal: &Goal, records: &[(Vec<u8>, Option<Value<'_>>)]) -> Shifting {
    let records: Vec<Record<'_>> =
        records.iter().map(|(key, value)| Record::key(key).with(*value)).collect();
    let filter = VARIANT.build_from(goal, &records).unwrap();
    filter.as_same::<Shifting>().unwrap().clone()
}

fn goal(form: &str, m: u64, k: u32, seed: u64) -> Goal {
    Goal::default().set("form", form).set("m", m).set("k", k).seed(seed)
}

fn keys(range: std::ops::Range<u64>) -> Vec<(Vec<u8>, Option<Value<'static>>)> {
    range.map(|i| (i.to_le_bytes().to_vec(), None)).collect()
}

#[test]
fn s5_membership_rates() {
    for (ratio, k, published, standard) in
        [(10.0, 8.0, 0.008679, 0.008455), (8.0, 6.0, 0.022070, 0.021577)]
    {
        assert!((membership_published(ratio, 1.0, k) - published).abs() < 6e-7);
        assert!((fpr_asymptotic(ratio, 1.0, k) - standard).abs() < 6e-7);
        let zeros = libm::exp(-k / ratio);
        let exact = libm::pow(pair_from_zeros(zeros), k / 2.0);
        assert!((standard..published).contains(&exact), "{exact}");
    }
    // The best k is 0.7009·m/n, with 0.6204^{m/n}; the standard filter has 0.6185.
    let rate = |k: f64| membership_published(10.0, 1.0, k);
    let best = (1..2000).map(|k| f64::from(k) / 100.0).min_by(|a, b| rate(*a).total_cmp(&rate(*b)));
    assert!((best.unwrap() / 10.0 - 0.7009).abs() < 6e-4, "{best:?}");
    assert!((libm::pow(rate(7.009), 0.1) - 0.6204).abs() < 6e-5);
    assert!((libm::pow(fpr_best(10.0), 0.1) - 0.6185).abs() < 6e-5);
}

#[test]
fn s5_membership_rates_measured() {
    for (ratio, k, rate) in [(10, 8, 0.00851), (8, 6, 0.02169)] {
        let n = 20_000;
        let (mut passed, mut queries) = (0, 0);
        for seed in 0..3 {
            let filter = built(&goal("membership", ratio * n, k, seed), &keys(0..n));
            assert!((0..n).all(|key| filter.contains(&key)));
            passed += (n..n + 100_000).filter(|key| filter.contains(key)).count();
            queries += 100_000;
        }
        let measured = passed as f64 / f64::from(queries);
        let noise = 4.0 * (rate / f64::from(queries)).sqrt();
        assert!((measured - rate).abs() < noise + 0.02 * rate, "{measured} {rate}");
    }
}

/// The rate cannot tell it from the standard filter: its cells can.
#[test]
fn s5_pairs_at_one_common_distance() {
    let (m, k) = (100_000u64, 8u32);
    let (mut whole, mut distances) = (0, std::collections::HashSet::new());
    for key in 0..500u64 {
        let mut filter = Shifting::planned(&goal("membership", m, k, 1)).unwrap();
        Insert::insert(&mut filter, Record::key(&key.to_le_bytes())).unwrap();
        let trace = filter.trace(&key.to_le_bytes());
        let (bases, shifted) = trace.split_at(trace.len() / 2);
        assert!(trace.iter().all(|cell| cell.agrees));
        if trace.len() == 8 {
            whole += 1;
            let distance = shifted[0].index - bases[0].index;
            assert!((1..=56).contains(&distance));
            let pairs = bases.iter().zip(shifted);
            assert!(pairs.into_iter().all(|(a, b)| b.index - a.index == distance));
            distances.insert(distance);
        }
        let ones = (filter.fill().unwrap() * m as f64).round() as usize;
        assert_eq!(ones, trace.len(), "only these are set");
    }
    assert!(whole > 490 && distances.len() == 56, "{whole} {}", distances.len());
    let filter = Shifting::planned(&goal("membership", m, k, 1)).unwrap();
    let facts: Vec<String> =
        filter.describe().iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
    assert_eq!(facts, ["m=100000", "k=8", "reads=4", "hashes=5"]);
    assert_eq!(filter.memory().cells, m + 57, "a tail in place of a wrap");
    assert!(Shifting::planned(&goal("membership", m, 7, 1)).is_err(), "k is even");
}

#[test]
fn s5_association_of_two_sets() {
    for (k, unique) in [(7u32, 0.98444), (10, 0.99805)] {
        let (mut once, mut all) = (0u64, 0);
        for seed in 0..5 {
            // 6000 keys in the two sets together; m = k·n/ln 2.
            let m = (f64::from(k) * 6000.0 / std::f64::consts::LN_2) as u64;
            let mut records = Vec::new();
            for key in 0..6000u64 {
                let bytes = key.to_le_bytes().to_vec();
                if key < 4000 {
                    records.push((bytes.clone(), Some(Value::Label(&b"left"[..]))));
                }
                if key >= 2000 {
                    records.push((bytes, Some(Value::Label(&b"right"[..]))));
                }
            }
            let filter = built(&goal("association", m, k, seed).set("regions", 3), &records);
            for key in 0..6000u64 {
                let wanted = ["left", "left+right", "right"][(key / 2000) as usize];
                let found = filter.regions(&key);
                assert!(found.iter().any(|region| region == wanted), "the true region is there");
                once += u64::from(found.len() == 1);
                all += 1;
            }
        }
        let (low, high) = binomial_bounds(all, unique, 1e-9);
        assert!((low..=high).contains(&once), "k = {k}: {once} of {all}, predicted {unique}");
        assert!(((1.0 - libm::exp2(-f64::from(k))).powi(2) - unique).abs() < 6e-6);
    }
    let filter = Shifting::of_two(["a", "b"], ["b", "c"], 1e-6).unwrap();
    let label = |key: &[u8], set: &'static [u8]| {
        filter.query(Record::key(key).with(Value::Label(set))).unwrap().verdict
    };
    use everbloom::Verdict::{Absent, Present};
    assert_eq!(
        [label(b"a", b"1"), label(b"a", b"2"), label(b"b", b"2")],
        [Present, Absent, Present]
    );
    assert_eq!((filter.regions("c"), filter.regions("d")), (vec!["2".to_owned()], vec![]));
}

#[test]
fn s5_multiplicities() {
    let (n, c) = (1000u64, 20u64);
    let (mut correct, mut absent) = (0, 0);
    let runs = 20;
    for seed in 0..runs {
        let records: Vec<_> = (0..n)
            .map(|key| (key.to_le_bytes().to_vec(), Some(Value::Count(1 + key % c))))
            .collect();
        let filter = built(&goal("multiplicity", 10_000, 7, seed), &records);
        for key in 0..n {
            let (count, truth) = (filter.count(&key), 1 + key % c);
            assert!(count >= truth, "never below");
            correct += u64::from(count == truth);
        }
        absent += (n..n + 2000).filter(|key| filter.count(key) == 0).count() as u64;
    }
    let (correct, absent) =
        (correct as f64 / (n * runs) as f64, absent as f64 / (2000 * runs) as f64);
    assert!((absent - 0.8483).abs() < 0.01, "{absent}");
    assert!((correct - 0.9259).abs() < 0.007, "{correct}");
    let f0 = fpr_asymptotic(10.0, 1.0, 7.0);
    assert!(((1.0 - f0).powi(20) - 0.8483).abs() < 6e-5);
    let mean = (1..=20).map(|j| (1.0 - f0).powi(20 - j)).sum::<f64>() / 20.0;
    assert!((mean - 0.9259).abs() < 6e-5);
}

/// The largest of the offsets that pass, also where they fill several words and many of them pass.
#[test]
fn s5_multiplicities_of_several_words() {
    for c in [64u64, 65, 200] {
        let count = |key: u64| 1 + key % c;
        let records =
            (0..400u64).map(|key| (key.to_le_bytes().to_vec(), Some(Value::Count(count(key)))));
        let goal = goal("multiplicity", 2000, 4, 1).set("c", c);
        let filter = built(&goal, &records.collect::<Vec<_>>());
        let too_low = (0..400u64).filter(|key| filter.count(key) < count(*key)).count();
        let right = (0..400u64).filter(|key| filter.count(key) == count(*key)).count();
        assert!(too_low == 0 && right < 360, "{c}: {too_low} too low, {right} right");
    }
}

#[test]
fn s5_counts_beyond_the_largest_say_so() {
    for c in [3u64, 64, 100, 200] {
        let goal = goal("multiplicity", 5000, 7, 1).set("c", c);
        let records: Vec<_> = [(1u64, c - 1), (2, c), (3, 5 * c)]
            .iter()
            .map(|(key, count)| (key.to_le_bytes().to_vec(), Some(Value::Count(*count))))
            .collect();
        let filter = built(&goal, &records);
        let of = |key: u64| Count::count(&filter, &key.to_le_bytes());
        assert_eq!((of(1).whole(), of(1).bound), (c - 1, Bound::Estimate));
        assert_eq!((of(2).whole(), of(2).bound), (c, Bound::Saturated));
        assert_eq!((of(3).whole(), of(3).bound), (c, Bound::Saturated));
    }
}

/// Deletion on the counting forms, with the old value from the exact table; none on the forms of bits.
#[test]
fn s5_counting_forms_delete_and_forms_of_bits_do_not() {
    for form in VARIANT.forms {
        let goal = Goal::new(500, 0.01).set("form", form.name);
        let mut filter = VARIANT.build_from(&goal, &[]).unwrap();
        assert_eq!(
            filter.as_remove().is_some(),
            form.name.starts_with("counting"),
            "{}",
            form.name
        );
    }
    let mut filter =
        Shifting::planned(&Goal::new(500, 0.01).set("form", "counting-multiplicity")).unwrap();
    let key = |i: u64| i.to_le_bytes();
    for i in 0..500u64 {
        for _ in 0..1 + i % 5 {
            Insert::insert(&mut filter, Record::key(&key(i))).unwrap();
        }
    }
    for i in 0..500u64 {
        let times = i % (2 + i % 5);
        Remove::remove(
            &mut filter,
            Record::key(&key(i)).with(if times > 0 { Some(Value::Count(times)) } else { None }),
        )
        .unwrap();
        let left = 1 + i % 5 - times.max(1);
        assert!(filter.count(&i) >= left);
    }
    for i in 0..500u64 {
        let left = 1 + i % 5 - (i % (2 + i % 5)).max(1);
        assert!(filter.count(&i) >= left, "no other key was hurt");
    }
    let before = filter.clone();
    for absent in [Record::key(b"nobody"), Record::key(&key(7)).with(Value::Count(99))] {
        let refused = Remove::remove(&mut filter, absent).unwrap_err();
        assert_eq!((refused.kind(), &filter), (Kind::NotDeletable, &before));
    }
}

#[test]
fn s5_counting_association_follows_the_sets() {
    let goal = Goal::new(100, 1e-6).set("form", "counting-association").set("regions", 3);
    let mut filter = Shifting::planned(&goal).unwrap();
    let record = |key: &'static [u8], set: &'static [u8]| Record::key(key).with(Value::Label(set));
    for (key, set) in [(b"x", b"a"), (b"x", b"b"), (b"y", b"b"), (b"z", b"a")] {
        Insert::insert(&mut filter, record(key, set)).unwrap();
    }
    assert_eq!(
        (filter.regions("x"), filter.regions("y")),
        (vec!["a+b".to_owned()], vec!["b".to_owned()])
    );
    Remove::remove(&mut filter, record(b"x", b"a")).unwrap();
    assert_eq!(filter.regions("x"), ["b"]);
    let before = filter.clone();
    assert_eq!(
        Remove::remove(&mut filter, record(b"x", b"a")).unwrap_err().kind(),
        Kind::NotDeletable
    );
    assert_eq!(
        Insert::insert(&mut filter, record(b"z", b"c")).unwrap_err().kind(),
        Kind::CapacityExceeded
    );
    assert_eq!(Insert::insert(&mut filter, Record::key(b"z")).unwrap_err().kind(), Kind::BadRecord);
    assert_eq!(filter, before, "refused calls change nothing");
    for (key, set) in [(b"x", b"b"), (b"y", b"b"), (b"z", b"a")] {
        Remove::remove(&mut filter, record(key, set)).unwrap();
    }
    assert_eq!(filter.fill(), Some(0.0));
}

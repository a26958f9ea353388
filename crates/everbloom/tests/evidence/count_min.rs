//! §6, the count-min sketch.

use std::collections::HashMap;

use everbloom::internals::filter::{Bound, Count, Face, Filter, List, Merge, Number};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::sketches::CountMin;
use everbloom::sketches::count_min::VARIANT;
use everbloom::{Goal, Kind, Record, Value};

fn shape(w: u64, d: u32, seed: u64) -> CountMin {
    CountMin::with_shape(w, d, Hasher::seeded(seed)).unwrap()
}

fn of_form(form: &str, w: u64, d: u32) -> CountMin {
    CountMin::builder().form(form).set("w", w).set("d", d).build().unwrap()
}

/// `updates` keys of 0..`keys`, key i about as often as 1/(i + 1).
fn zipf(keys: u64, updates: u64, seed: u64) -> Vec<u64> {
    let mut random = Generator::new(seed);
    let top = libm::log(keys as f64 + 1.0);
    let mut draw = || libm::exp(random.unit() * top) as u64 - 1;
    (0..updates).map(|_| draw().min(keys - 1)).collect()
}

fn truth(stream: &[u64]) -> HashMap<u64, u64> {
    let mut counts = HashMap::new();
    stream.iter().for_each(|key| *counts.entry(*key).or_default() += 1);
    counts
}

#[test]
fn s6_rows_from_epsilon_and_delta() {
    for (epsilon, delta, w, d) in
        [(0.001, 0.01, 2719, 5), (0.01, 0.001, 272, 7), (1e-4, 1e-3, 27183, 7)]
    {
        let sketch = CountMin::with_error(epsilon, delta).unwrap();
        assert_eq!((sketch.w(), sketch.d()), (w, d), "{epsilon} {delta}");
        assert_eq!(sketch.memory().cells, 64 * w * u64::from(d));
        assert_eq!(sketch.head().fpr, None, "planned for an error, not for a rate");
    }
    // δ alone asks for rows; how long they are, items and rate say.
    let goal = Goal::new(1000, 0.01).set("delta", 0.001);
    let filter = VARIANT.build_from(&goal, &[]).unwrap();
    let d = filter.describe().iter().find(|fact| fact.name == "d").map(|f| f.value.to_string());
    assert_eq!(d.as_deref(), Some("7"));
    assert_eq!(filter.head().fpr, Some(0.01));
    assert_eq!(CountMin::with_error(0.0, 0.1).unwrap_err().kind(), Kind::BadParameter);
    let even = of_form("signed", 10, 4);
    assert_eq!(even.d(), 5, "a median needs an odd number of rows");
}

#[test]
fn s6_errors_stay_below_epsilon_of_the_total() {
    for (w, d, epsilon, delta) in [(272, 5, 0.01, 0.01), (28, 3, 0.1, 0.05)] {
        let mut sketch = shape(w, d, 7);
        let stream = zipf(10_000, 100_000, 1);
        sketch.insert_many(&stream).unwrap();
        let counts = truth(&stream);
        let bound = epsilon * stream.len() as f64;
        let mut beyond = 0;
        for key in 0..10_000u64 {
            let (count, true_count) = (sketch.count(&key), counts.get(&key).copied().unwrap_or(0));
            assert!(count >= true_count, "never too low");
            beyond += u64::from((count - true_count) as f64 > bound);
        }
        assert!(beyond as f64 <= delta * 1e4, "{w}×{d}: {beyond} of 10,000");
    }
}

#[test]
fn s6_one_update_changes_one_counter_per_row() {
    for key in 0..1000u64 {
        let mut sketch = shape(300, 6, 3);
        sketch.insert_times(&key, 3).unwrap();
        let changed: Vec<u64> =
            (0..1800).filter(|i| sketch.counters().get(*i) != 0).map(|i| i / 300).collect();
        assert_eq!(changed, [0, 1, 2, 3, 4, 5]);
        assert_eq!(sketch.counters().iter().sum::<i64>(), 18);
    }
}

/// Each single row holds N/w for an absent key, and rows are not copies of each other.
#[test]
fn s6_every_row_has_its_own_share_of_the_total() {
    let (w, d, n) = (500u64, 4u32, 100_000u64);
    for seed in 0..3 {
        let mut sketch = shape(w, d, seed);
        (0..n).for_each(|i| _ = sketch.insert(&(i % (8 * w))).unwrap());
        let (mut sums, mut apart) = (vec![0.0; d as usize], 0u64);
        for key in 1 << 32..(1 << 32) + 10_000u64 {
            let cells = sketch.trace(&key.to_le_bytes());
            for (row, cell) in cells.iter().enumerate() {
                assert_eq!(cell.index / w, row as u64, "a row of its own");
                sums[row] += cell.value as f64;
            }
            let first = cells[0].index % w;
            apart += u64::from(cells[1..].iter().all(|cell| cell.index % w != first));
        }
        for sum in sums {
            let ratio = sum / 1e4 / (n / w) as f64;
            assert!((ratio - 1.0).abs() < 0.05, "seed {seed}: {ratio}");
        }
        assert!(apart > 9900, "{apart}: rows disagree on where a key is");
    }
}

#[test]
fn s6_inner_products_are_bounds() {
    let streams = [zipf(3000, 20_000, 1), zipf(3000, 10_000, 2)];
    let counts = streams.each_ref().map(|s| truth(s));
    let exact: u64 = counts[0].iter().map(|(k, c)| c * counts[1].get(k).unwrap_or(&0)).sum();
    let (mut beyond, runs) = (0, 200);
    for seed in 0..runs {
        let mut sketches = [shape(272, 3, seed), shape(272, 3, seed)];
        for (sketch, stream) in sketches.iter_mut().zip(&streams) {
            sketch.insert_many(stream).unwrap();
        }
        let product = sketches[0].inner_product(&sketches[1]).unwrap();
        assert!(product >= i128::from(exact));
        beyond += u64::from((product - i128::from(exact)) as f64 > 0.01 * 20_000.0 * 10_000.0);
    }
    assert!(beyond as f64 <= 0.05 * runs as f64, "{beyond}: δ = e⁻³");
    let other = shape(271, 3, 0);
    assert!(matches!(
        shape(272, 3, 0).inner_product(&other).map_err(|e| e.kind()),
        Err(Kind::Incompatible { .. })
    ));
}

#[test]
fn s6_strict_turnstile_comes_back_to_zero() {
    let stream = zipf(500, 5000, 4);
    let mut sketch = shape(60, 4, 1);
    sketch.insert_many(&stream).unwrap();
    let mut left = stream.clone();
    let gone: Vec<u64> = left.drain(..4000).collect();
    gone.iter().for_each(|key| sketch.remove(key).unwrap());
    let counts = truth(&left);
    for key in 0..500u64 {
        assert!(sketch.count(&key) >= counts.get(&key).copied().unwrap_or(0));
    }
    assert_eq!((sketch.total(), sketch.head().items), (1000, 1000));
    let before = sketch.clone();
    let refused = sketch.remove_times(&3u64, 1_000_000).unwrap_err();
    assert_eq!((refused.kind(), &sketch), (Kind::NotDeletable, &before));
    left.iter().for_each(|key| sketch.remove(key).unwrap());
    assert!(sketch.counters().iter().all(|count| count == 0));
}

#[test]
fn s6_batches_are_single_updates() {
    let stream = zipf(2000, 3000, 9);
    for form in ["strict", "signed", "heavy", "dyadic"] {
        let (mut one, mut many) = (of_form(form, 50, 3), of_form(form, 50, 3));
        stream.iter().for_each(|key| _ = one.insert(key).unwrap());
        many.insert_many(&stream).unwrap();
        assert_eq!(one, many, "{form}");
        let single: Vec<u64> = stream.iter().map(|key| one.count(key)).collect();
        assert_eq!(many.count_many(&stream), single, "{form}");
    }
}

/// Totals below zero: the median is near them, says that it has a sign, and the minimum would not be.
#[test]
fn s6_signed_totals_by_the_median() {
    let mut sketch = of_form("signed", 300, 7);
    let mut random = Generator::new(5);
    let totals: Vec<i64> = (0..400).map(|_| random.below(2001) as i64 - 1000).collect();
    for (key, total) in (0u64..).zip(&totals) {
        match u64::try_from(*total) {
            Ok(up) => _ = sketch.insert_times(&key, up).unwrap(),
            Err(_) => sketch.remove_times(&key, total.unsigned_abs()).unwrap(),
        }
    }
    let norm: f64 = totals.iter().map(|t| t.unsigned_abs() as f64).sum();
    let bound = 3.0 * std::f64::consts::E / 300.0 * norm;
    let (mut beyond, mut error, mut least_error) = (0, 0.0, 0.0);
    for (key, total) in (0u64..).zip(&totals) {
        let off = (sketch.signed_count(&key) - total).unsigned_abs() as f64;
        beyond += usize::from(off > bound);
        error += off;
        let cells = sketch.trace(&key.to_le_bytes());
        let least = cells.iter().map(|cell| sketch.counters().get(cell.index)).min().unwrap();
        least_error += (least - total).unsigned_abs() as f64;
    }
    assert!(beyond as f64 <= libm::exp(-7.0 / 4.0) * 400.0);
    assert!(error < 0.5 * least_error, "{error} {least_error}");
    let low = (0u64..).zip(&totals).min_by_key(|(_, total)| **total).unwrap().0;
    let counted = Count::count(&sketch, &low.to_le_bytes());
    assert!(matches!(counted.value, Number::Signed(total) if total < 0));
    assert_eq!(counted.bound, Bound::Estimate);
    assert!(sketch.contains(&low), "a total other than zero");
}

#[test]
fn s6_heavy_hitters_of_insertions() {
    let (phi, n) = (0.01, 100_000);
    for seed in 0..3 {
        let stream = zipf(20_000, n, seed);
        let counts = truth(&stream);
        let build = |stream: &[u64]| {
            let mut sketch = CountMin::builder()
                .form("heavy")
                .set("epsilon", phi / 4.0)
                .set("delta", 1e-4)
                .set("phi", phi)
                .seed(seed)
                .build()
                .unwrap();
            sketch.insert_many(stream).unwrap();
            sketch
        };
        let whole = build(&stream);
        let (left, right) = stream.split_at(stream.len() / 3);
        let mut merged = build(left);
        Merge::merge(&mut merged, &build(right)).unwrap();
        for sketch in [&whole, &merged] {
            let found = sketch.heavy_hitters(phi).unwrap();
            assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1), "largest first");
            for (key, count) in counts.iter().filter(|(_, c)| **c as f64 >= phi * n as f64) {
                let held = found.iter().find(|(k, _)| k[..] == key.to_le_bytes());
                assert!(held.is_some_and(|(_, estimate)| estimate >= count), "{key}: {count}");
            }
            for (key, _) in &found {
                let key = u64::from_le_bytes(key[..].try_into().unwrap());
                assert!(counts[&key] as f64 >= 0.75 * phi * n as f64, "{key} is not heavy");
            }
            let mut listed = 0;
            sketch.list(&mut |_, _| listed += 1).unwrap();
            assert_eq!(listed, found.len());
        }
        assert_eq!(whole.clone().remove(&0u64).unwrap_err().kind(), Kind::Unsupported);
    }
}

/// What was heavy and is removed again is not listed; what stays is, whatever came and went.
#[test]
fn s6_heavy_integers_under_deletions() {
    for step in [1, 3, 8] {
        let mut sketch = CountMin::builder()
            .form("dyadic")
            .set("epsilon", 0.005)
            .set("delta", 0.001)
            .set("step", step)
            .build()
            .unwrap();
        let mut random = Generator::new(step);
        let heavy: Vec<u64> = (0..8).map(|_| random.next_u64()).chain([0, u64::MAX]).collect();
        let gone: Vec<u64> = (0..5).map(|_| random.next_u64()).collect();
        gone.iter().for_each(|key| _ = sketch.insert_times(key, 10_000).unwrap());
        heavy.iter().for_each(|key| _ = sketch.insert_times(key, 500).unwrap());
        (0..1000).for_each(|_| _ = sketch.insert(&random.next_u64()).unwrap());
        sketch.insert_times("text", 500).unwrap();
        gone.iter().for_each(|key| sketch.remove_times(key, 10_000).unwrap());
        let mut found: Vec<Vec<u8>> =
            sketch.heavy_hitters(0.05).unwrap().into_iter().map(|(key, _)| key).collect();
        found.sort();
        let mut wanted: Vec<Vec<u8>> = heavy.iter().map(|key| key.to_le_bytes().to_vec()).collect();
        wanted.push(b"text".to_vec());
        wanted.sort();
        assert_eq!(found, wanted, "step {step}");
        let before = sketch.clone();
        assert_eq!(sketch.insert("a longer key").unwrap_err().kind(), Kind::BadRecord);
        assert_eq!(sketch.remove("a longer key").unwrap_err().kind(), Kind::BadRecord);
        assert_eq!(sketch.remove_times(&heavy[0], 100_000).unwrap_err().kind(), Kind::NotDeletable);
        assert_eq!(sketch, before, "refused calls change nothing");
    }
    assert_eq!(shape(10, 3, 0).heavy_hitters(0.1).unwrap_err().kind(), Kind::Unsupported);
    assert!(of_form("heavy", 10, 3).heavy_hitters(0.0).is_err());
}

#[test]
fn s6_flags_and_records() {
    let mut filter = VARIANT.build_from(&Goal::new(100, 0.01), &[]).unwrap();
    assert!(filter.as_count().is_some() && filter.as_remove().is_some(), "C=Y, D=Y");
    let record = |count| Record::key(b"flow").with(Value::Count(count));
    let insert = filter.as_insert().unwrap();
    assert_eq!(insert.insert(record(0)).unwrap_err().kind(), Kind::BadRecord);
    let label = Record::key(b"flow").with(Value::Label(b"x"));
    assert_eq!(insert.insert(label).unwrap_err().kind(), Kind::BadRecord);
    insert.insert(record(40)).unwrap();
    insert.insert(Record::key(b"flow")).unwrap();
    let (place, refused) = insert.insert_all(&[record(1), record(0), record(1)]).unwrap_err();
    assert_eq!((place, refused.kind()), (1, Kind::BadRecord));
    filter.as_remove().unwrap().remove(record(2)).unwrap();
    assert_eq!(filter.as_count().unwrap().count(b"flow").whole(), 40);
    assert_eq!(filter.head().items, 40);
}

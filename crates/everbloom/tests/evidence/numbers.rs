//! How measured numbers are taken and compared with printed ones.

use everbloom::Filter;

/// Whether `value` is what is printed, to half of the last digit.
#[track_caller]
pub fn prints(value: f64, printed: f64, digit: f64) {
    assert!((value - printed).abs() <= 0.501 * digit, "{value} {printed}");
}

/// Whether `value` is what is printed, within a share of it.
#[track_caller]
pub fn near(value: f64, printed: f64, relative: f64) {
    assert!((value / printed - 1.0).abs() < relative, "{value} against {printed}");
}

/// Mean and standard deviation.
pub fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (mean, (squares / (n - 1.0)).sqrt())
}

/// How many of so many foreign keys pass.
pub fn hits(contains: impl Fn(&u64) -> bool, queries: u64) -> u64 {
    (1 << 40..(1 << 40) + queries).filter(contains).count() as u64
}

/// How many of so many foreign keys pass a filter.
pub fn passing(filter: &dyn Filter, queries: u64) -> u64 {
    hits(|key| filter.contains(&key.to_le_bytes()), queries)
}

/// A number that a filter tells of itself.
pub fn fact(filter: &dyn Filter, name: &str) -> f64 {
    let facts = filter.describe();
    let fact = facts.iter().find(|fact| fact.name == name).expect(name);
    fact.value.to_string().parse().expect(name)
}

/// The keys below `n`, every third of them twice.
pub fn some_twice(n: u64) -> impl Iterator<Item = u64> {
    (0..n).chain((0..n).step_by(3))
}

/// Whether a filter of [`some_twice`] has each of the keys, and counts it once.
#[track_caller]
pub fn has_each_once(filter: &dyn Filter, n: u64) {
    assert_eq!(filter.head().items, n);
    assert!((0..n).all(|key| filter.contains(&key.to_le_bytes())), "{n}");
}

/// The share of 1,000,000 foreign keys that pass, averaged over 20 filters of the keys below `n`, made from seeds.
pub fn measured<F>(n: u64, filled: impl Fn(u64) -> F, contains: fn(&F, &u64) -> bool) -> f64 {
    let passed = |seed| {
        let filter = filled(seed);
        assert!((0..n).all(|key| contains(&filter, &key)), "no false negatives");
        hits(|key| contains(&filter, key), 50_000)
    };
    (0..20).map(passed).sum::<u64>() as f64 / 1e6
}

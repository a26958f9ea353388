//! C3, the spectral Bloom filter.

use std::collections::BTreeMap;

use everbloom::Kind;
use everbloom::counting::spectral::{VARIANT, mean_code_bits};
use everbloom::counting::{Counting, Spectral};
use everbloom::internals::cells::Code;
use everbloom::internals::filter::{Filter as _, Merge as _, Record, Value, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;

const KEYS: u64 = 1000;
/// Sixty, as the catalogue asks for, where all trials are run; one run has some twenty wrong keys.
fn runs() -> u64 {
    if crate::support::thorough("spectral") { 60 } else { 20 }
}

/// The catalogue's filter: k = 5 and m = 7143, γ = nk/m = 0.7 for 1000 distinct keys.
fn goal(form: &str, seed: u64) -> Goal {
    Goal::default().set("form", form).set("m", 7143).set("k", 5).seed(seed)
}

fn empty(goal: &Goal) -> Spectral {
    Spectral::planned(goal).expect("a shape")
}

/// 100,000 keys out of 1000, all alike or by Zipf's law with exponent 1.
fn stream(zipf: bool, seed: u64) -> Vec<u64> {
    let weight = |i: u64| if zipf { 1.0 / (i + 1) as f64 } else { 1.0 };
    let mut sum = 0.0;
    let sums: Vec<f64> = (0..KEYS)
        .map(|i| {
            sum += weight(i);
            sum
        })
        .collect();
    let mut random = Generator::new(seed ^ 0x5bec);
    let mut draw = || {
        let at = random.unit() * sum;
        sums.partition_point(|s| *s <= at) as u64
    };
    (0..100_000).map(|_| draw()).collect()
}

fn frequencies(stream: &[u64]) -> BTreeMap<u64, u64> {
    let mut counts = BTreeMap::new();
    stream.iter().for_each(|key| *counts.entry(*key).or_default() += 1);
    counts
}

/// The shares of keys counted wrong and too low, over all runs.
fn errors(zipf: bool, filled: impl Fn(u64, &[u64]) -> Spectral) -> (f64, f64) {
    let (mut wrong, mut low, mut all) = (0u64, 0u64, 0u64);
    for seed in 0..runs() {
        let stream = stream(zipf, seed);
        let filter = filled(seed, &stream);
        for (key, truth) in frequencies(&stream) {
            let count = filter.count(&key);
            all += 1;
            wrong += u64::from(count != truth);
            low += u64::from(count < truth);
        }
    }
    (wrong as f64 / all as f64, low as f64 / all as f64)
}

fn one_by_one(goal: &Goal, stream: &[u64]) -> Spectral {
    let mut filter = empty(goal);
    stream.iter().for_each(|key| {
        filter.insert(key);
    });
    filter
}

/// Within 10 % of the catalogue's values; over a third of the runs, within what chance allows them besides (keys that
/// share cells err together, which doubles the variance).
#[track_caller]
fn near(value: f64, low: f64, high: f64) {
    let chance = if runs() < 60 { (2.0 / (high * (runs() * KEYS) as f64)).sqrt() } else { 0.0 };
    let slack = 0.1 + chance;
    assert!(
        value > (1.0 - slack) * low && value < (1.0 + slack) * high,
        "{value}, not {low} to {high} ± {slack}"
    );
}

#[test]
fn c3_minimum_selection() {
    assert!((bloom::fpr_asymptotic(7143.0, 1000.0, 5.0) - 0.0323).abs() < 5e-5);
    // Sums do not depend on the order, so a key's repetitions go in at once.
    let (wrong, low) = errors(false, |seed, stream| {
        let mut filter = empty(&goal("minimum-selection", seed));
        frequencies(stream).into_iter().for_each(|(key, times)| {
            filter.insert_times(&key, times);
        });
        filter
    });
    near(wrong, 0.031, 0.034);
    assert_eq!(low, 0.0);
}

#[test]
fn c3_minimum_increase_uniform() {
    let run = |seed, stream: &[u64]| one_by_one(&goal("minimum-increase", seed), stream);
    let (wrong, low) = errors(false, run);
    near(wrong, 0.022, 0.024);
    assert_eq!(low, 0.0);
}

#[test]
fn c3_minimum_increase_zipf() {
    let run = |seed, stream: &[u64]| one_by_one(&goal("minimum-increase", seed), stream);
    let (wrong, low) = errors(true, run);
    near(wrong, 0.0147, 0.0147);
    assert_eq!(low, 0.0);
}

#[test]
fn c3_recurring_minimum_uniform() {
    let run = |seed, stream: &[u64]| one_by_one(&goal("recurring-minimum", seed), stream);
    let (wrong, low) = errors(false, run);
    near(wrong, 0.0163, 0.0163);
    assert!(low < 1e-4, "{low}");
}

#[test]
fn c3_recurring_minimum_zipf() {
    let run = |seed, stream: &[u64]| one_by_one(&goal("recurring-minimum", seed), stream);
    let (wrong, low) = errors(true, run);
    near(wrong, 0.0140, 0.0146);
    assert!(low < 1e-4, "{low}");
}

#[test]
fn c3_smaller_markers_make_counts_too_low() {
    let run = |seed, stream: &[u64]| {
        one_by_one(&goal("recurring-minimum", seed).set("marker", 3571), stream)
    };
    let (_, low) = errors(false, run);
    // 5 to 8 of 10,000, where markers of m bits have less than one.
    assert!((2e-4..14e-4).contains(&low), "{low}");
}

#[test]
fn c3_without_markers_counts_are_too_low_by_the_thousand() {
    // Whoever has a single minimum moves and is looked up in the second filter, marked or not.
    let alone = |filter: &Spectral, key: &u64| {
        let mut cells = filter.trace(&key.to_le_bytes());
        cells.sort_by_key(|cell| cell.index);
        cells.dedup_by_key(|cell| cell.index);
        let least = cells.iter().map(|cell| cell.value).min().unwrap_or(0);
        (cells.iter().filter(|cell| cell.value == least).count() == 1).then_some(least)
    };
    let (mut wrong, mut low) = (0, 0);
    for seed in 0..6 {
        let mut first = empty(&goal("minimum-selection", seed));
        let mut second = empty(&goal("minimum-selection", !seed).set("m", 3571));
        let stream = stream(false, seed);
        for key in &stream {
            first.insert(key);
            if let Some(least) = alone(&first, key) {
                let times = if second.contains(key) { 1 } else { least };
                second.insert_times(key, times);
            }
        }
        for (key, truth) in frequencies(&stream) {
            let moved = alone(&first, &key).map(|_| second.count(&key)).filter(|count| *count > 0);
            let count = moved.unwrap_or_else(|| first.count(&key));
            wrong += u64::from(count != truth);
            low += u64::from(count < truth);
        }
    }
    let (wrong, low) = (wrong as f64 / 6000.0, low as f64 / 6000.0);
    // 0.029, of which 0.024.
    assert!(low > 0.015 && low < 0.033 && wrong > low, "{wrong}, of them {low} too low");
}

#[test]
fn c3_minimum_increase_is_never_above_minimum_selection() {
    for seed in 0..20 {
        let stream = stream(seed % 2 == 0, seed);
        let stream = &stream[..20_000];
        let [least, all] = ["minimum-increase", "minimum-selection"].map(|form| {
            // Few enough counters that both err often.
            one_by_one(&goal(form, seed).set("m", 3000), stream)
        });
        let truth = frequencies(stream);
        let mut better = 0;
        for key in 0..2 * KEYS {
            let (low, high) = (least.count(&key), all.count(&key));
            assert!(truth.get(&key).copied().unwrap_or(0) <= low);
            // A cell that two hashes of the key share is halved by one and counted once by the other.
            let mut cells: Vec<u64> =
                all.trace(&key.to_le_bytes()).iter().map(|t| t.index).collect();
            cells.sort_unstable();
            cells.dedup();
            assert!(low <= high || cells.len() < 5, "{low} {high}");
            better += u64::from(low < high);
        }
        assert!(better > 100, "{better}");
        // Cells in use are the same.
        assert_eq!(least.fill(), all.fill());
    }
}

#[test]
fn c3_cells_touched() {
    for (form, sum) in [("minimum-selection", 5), ("recurring-minimum", 5)] {
        for key in 0..300u64 {
            let mut filter = empty(&goal(form, 1).set("m", 40));
            filter.insert(&key);
            assert_eq!(filter.counters().iter().sum::<u64>(), sum, "once per hash");
            assert_eq!(filter.count(&key), 1);
        }
    }
    for key in 0..300u64 {
        let mut filter = empty(&goal("minimum-increase", 1).set("m", 40));
        filter.insert_times(&key, 3);
        let distinct: std::collections::BTreeSet<u64> =
            filter.trace(&key.to_le_bytes()).iter().map(|t| t.index).collect();
        assert_eq!(filter.counters().iter().filter(|c| *c == 3).count(), distinct.len());
        assert_eq!(filter.counters().iter().sum::<u64>(), 3 * distinct.len() as u64);
        // Only the least go up.
        filter.insert_times(&key, 2);
        assert_eq!(filter.count(&key), 5);
    }
    let mut filter = empty(&goal("minimum-selection", 2));
    (0..KEYS).for_each(|key| {
        filter.insert(&key);
    });
    // 7143·(1 − e^{−0.7}), ± 4σ.
    let used = filter.counters().nonzero() as f64;
    assert!((used - 3596.0).abs() < 4.0 * 7143.0 * bloom::fill_sd(7143.0, 5000.0), "{used}");
}

#[test]
fn c3_single_minima_move_with_their_count() {
    let mut filter = empty(&goal("recurring-minimum", 3).set("m", 400).set("marker", 5000));
    let mut alone = 0;
    for key in 0..60u64 {
        filter.insert_times(&key, 10 + key);
        let cells = filter.trace(&key.to_le_bytes());
        let least = cells.iter().map(|cell| cell.value).min().unwrap_or(0);
        let holders = cells.iter().filter(|cell| cell.value == least).count();
        let twice = (0..5).any(|i| cells[..i].iter().any(|cell| cell.index == cells[i].index));
        if !twice {
            assert!(holders > 1 || filter.is_moved(&key), "{key}");
            alone += u64::from(holders == 1);
        }
        assert!(filter.count(&key) >= 10 + key, "{key}");
    }
    // Whose least counter stood together with another stayed, but for a marker that is another's.
    let moved = (0..60u64).filter(|key| filter.is_moved(key)).count() as u64;
    assert!(alone >= 2 && moved >= alone && moved <= alone + 3, "{moved}, {alone}");
    // Once moved, both filters count on and back.
    let key = (0..60u64).find(|key| filter.is_moved(key)).expect("some moved");
    let before = filter.count(&key);
    filter.insert_times(&key, 5);
    assert_eq!(filter.count(&key), before + 5);
    (0..5).for_each(|_| filter.remove(&key).expect("a member"));
    assert_eq!(filter.count(&key), before);
}

#[test]
fn c3_removal_keeps_the_others() {
    for form in ["minimum-selection", "recurring-minimum"] {
        let mut filter = empty(&goal(form, 4).set("m", 2000));
        for key in 0..300u64 {
            filter.insert_times(&key, 1 + key % 4);
        }
        for key in 0..200u64 {
            (0..1 + key % 4).for_each(|_| filter.remove(&key).expect("a member"));
            let low = (key + 1..300).filter(|key| filter.count(key) < 1 + key % 4).count();
            assert!(form != "minimum-selection" || low == 0);
            assert!(low <= 3 && (key + 1..300).all(|key| filter.contains(&key)), "{form}: {low}");
        }
        let before = filter.clone();
        let refused = filter.remove(&1_000_000u64).expect_err("never inserted");
        assert_eq!((refused.kind(), &filter), (Kind::NotDeletable, &before));
        for key in 200..300u64 {
            (0..1 + key % 4).for_each(|_| filter.remove(&key).expect("a member"));
        }
        assert_eq!(filter.counters().nonzero(), 0, "{form}");
    }
    let mut least = empty(&goal("minimum-increase", 4));
    least.insert("x");
    assert_eq!(least.remove("x").expect_err("disabled").kind(), Kind::Unsupported);
}

#[test]
fn c3_removal_under_minimum_increase_would_lose_counts() {
    // S3's example: x three times and y twice share a counter. By minimum selection it holds 5 and falls
    // to 3 with y; by minimum increase it holds 3 and would fall to 1.
    let shared = |form: &str| {
        let mut found = None;
        for key in 1..200u64 {
            let mut filter = empty(&goal(form, 9).set("m", 60).set("k", 2));
            filter.insert_times(&0u64, 3);
            filter.insert_times(&key, 2);
            let cells = |key: u64| filter.trace(&key.to_le_bytes());
            let meet =
                cells(0).iter().filter(|a| cells(key).iter().any(|b| a.index == b.index)).count();
            if meet == 1 {
                let both = cells(0).iter().map(|cell| cell.value).max();
                found = both.map(|both| (both, filter.count(&0u64)));
                break;
            }
        }
        found.expect("two keys that share a cell")
    };
    assert_eq!(shared("minimum-selection"), (5, 3));
    assert_eq!(shared("minimum-increase"), (3, 3));
}

#[test]
fn c3_code_lengths() {
    assert!((mean_code_bits(Code::Gamma, std::f64::consts::LN_2) - 2.0666).abs() < 5e-5);
    assert!((mean_code_bits(Code::Delta, std::f64::consts::LN_2) - 2.5333).abs() < 5e-5);
    for (name, code) in [("gamma", Code::Gamma), ("delta", Code::Delta)] {
        let mut filter = empty(&goal("minimum-selection", 5).set("m", 100_000).set("code", name));
        (0..13_863u64).for_each(|key| {
            filter.insert(&key);
        });
        let bits = filter.counters().bits() as f64 / 1e5;
        let mean = mean_code_bits(code, 5.0 * 13_863.0 / 1e5);
        assert!((bits - mean).abs() < 0.02, "{name}: {bits}, {mean}");
        let sum: u64 = filter.counters().iter().map(|c| code.bits(c + 1)).sum();
        assert_eq!(sum, filter.counters().bits());
        assert_eq!(sum, filter.memory().cells);
    }
}

#[test]
fn c3_space_beside_plain_counters_at_equal_rate() {
    for (n, code, most) in
        [(1000u64, "delta", 0.98), (100_000, "delta", 0.95), (100_000, "gamma", 0.84)]
    {
        let records: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
        let records: Vec<Record<'_>> = records.iter().map(|key| Record::key(key)).collect();
        let goal = Goal::new(n, 0.01).set("code", code);
        let ours = VARIANT.build_from(&goal, &records).expect("built");
        let plain = Counting::with_rate(n, 0.01).expect("planned");
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        assert!(ours.memory().cells <= expect.bits);
        // Index, spare words and all.
        let total = ours.memory().total() as f64 / plain.memory().total() as f64;
        assert!(total < most, "{n} keys, {code}: {total} of the bits");
    }
    // One key a million times: twenty bits more, not twenty bits for everybody.
    let mut filter = Spectral::with_rate(1000, 0.01).expect("planned");
    let before = filter.memory().cells;
    filter.insert_times("hot", 1_000_000);
    assert_eq!(filter.count("hot"), 1_000_000);
    assert!(filter.memory().cells < before + 7 * 30);
}

#[test]
fn c3_thresholds() {
    let mut filter = empty(&goal("minimum-selection", 6));
    (0..KEYS).for_each(|key| {
        filter.insert_times(&key, 1 + key % 100);
    });
    let mut wrong = 0;
    for key in 0..KEYS {
        let truth = key % 100 >= 59;
        assert!(!truth || filter.at_least(&key, 60), "whoever came so often is found");
        wrong += u64::from(filter.at_least(&key, 60) != truth);
        let bytes = key.to_le_bytes();
        let record = Record::key(&bytes).with(Value::Count(60));
        let verdict = filter.query(record).expect("a threshold").verdict;
        assert_eq!(verdict == Verdict::Present, filter.at_least(&key, 60));
    }
    assert!(wrong < 40, "{wrong}");
}

#[test]
fn c3_merging_adds() {
    let filled = |keys: std::ops::Range<u64>| {
        let mut filter = empty(&goal("minimum-selection", 7));
        keys.for_each(|key| {
            filter.insert_times(&key, 1 + key % 50);
        });
        filter
    };
    let (mut a, b, whole) = (filled(0..500), filled(500..1000), filled(0..1000));
    a.merge(&b).expect("same shape");
    assert!(a.counters().iter().eq(whole.counters().iter()));
    let gamma = empty(&goal("minimum-selection", 7).set("code", "gamma"));
    assert_eq!(a.merge(&gamma).expect_err("code").kind(), Kind::Incompatible { what: "code" });
}

//! I2, the distributed load-balanced filter.

use everbloom::grouping::LoadBalanced;
use everbloom::grouping::load_balanced::wasted;
use everbloom::internals::filter::{Answer, Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::bloom;

/// The entry's shape.
const M: u64 = 40_000;
const K: u32 = 4;
const N: u64 = 4000;
/// (1 − (1 − 4/40,000)^4000)⁴.
const RATE: f64 = 0.011_815_2;

/// 4000 keys spread over `classes` classes.
fn filled(classes: u64, seed: u64) -> LoadBalanced {
    let mut filter = LoadBalanced::with_shape(M, K, Hasher::seeded(seed)).expect("a shape");
    for key in 0..N {
        let class = (key % classes).to_string();
        filter.insert(&key, class.as_bytes()).expect("room for classes");
    }
    filter
}

#[test]
fn i2_rate_for_any_spread_over_classes() {
    let formula = bloom::fpr_partitioned((M / u64::from(K)) as f64, N as f64, f64::from(K));
    assert!((formula - RATE).abs() < 5e-8, "{formula}");
    // Fill of a bank 0.3297, filter to filter 0.4 % of it; 24 filters, 4 banks.
    for classes in [1u64, 2, 8, 32, 1000] {
        let (mut wrong, mut ones) = (0u64, 0.0);
        for seed in 0..24 {
            let filter = filled(classes, seed);
            ones += filter.fill().expect("a fill") / 24.0;
            let non_members = 1u64 << 40..(1 << 40) + 50_000;
            wrong += non_members
                .filter(|key| filter.contains(key, (key % classes).to_string().as_bytes()))
                .count() as u64;
        }
        let expected = bloom::fill(10_000.0, N as f64);
        let sd = bloom::fill_sd(10_000.0, N as f64) / (24.0f64 * 4.0).sqrt();
        assert!((ones - expected).abs() < 4.0 * sd, "{classes} classes: fill {ones} of {expected}");
        let rate = wrong as f64 / (24.0 * 50_000.0);
        // 14,000 events (0.85 %), fills 0.16 %: 4σ are 3.5 %.
        assert!((rate / RATE - 1.0).abs() < 0.035, "{classes} classes: {rate}");
    }
}

#[test]
fn i2_all_prefixes_in_one_length_change_nothing() {
    let mean = |classes| {
        (0..24).map(|seed| filled(classes, seed).now().fpr.expect("a rate")).sum::<f64>() / 24.0
    };
    let (one, many) = (mean(1), mean(32));
    // Each mean to 4·0.4 %/√(24·4)·4 banks.
    assert!((one / many - 1.0).abs() < 0.01, "{one} against {many}");
    assert!((one / RATE - 1.0).abs() < 0.007, "{one}");
}

#[test]
fn i2_banks_share_the_load() {
    for seed in 0..20 {
        for (j, fill) in filled(8, seed).banks().enumerate() {
            let (mean, sd) = (bloom::fill(10_000.0, 4000.0), bloom::fill_sd(10_000.0, 4000.0));
            assert!((fill - mean).abs() < 5.0 * sd, "bank {j}: {fill}");
        }
    }
    // One key sets exactly one bit in each bank.
    for key in 0..200u64 {
        let mut filter = LoadBalanced::with_shape(M, K, Hasher::default()).expect("a shape");
        filter.insert(&key, b"24").expect("a class");
        assert!(filter.banks().all(|fill| (fill * 10_000.0).round() == 1.0));
    }
}

#[test]
fn i2_hash_functions_depend_on_the_class() {
    // Prefixes padded with zeros are the same bytes in every class.
    let mut filter = LoadBalanced::with_shape(1 << 20, 4, Hasher::default()).expect("a shape");
    for net in 0..2000u32 {
        filter.insert(&(net << 16).to_be_bytes(), b"16").expect("a class");
    }
    for class in ["8", "24", "32"] {
        filter.insert("one", class.as_bytes()).expect("a class");
        let met = (0..2000u32)
            .filter(|net| filter.contains(&(net << 16).to_be_bytes(), class.as_bytes()));
        assert_eq!(met.count(), 0, "/{class}");
    }
    assert!((0..2000u32).all(|net| filter.contains(&(net << 16).to_be_bytes(), b"16")));
    assert!(!filter.contains("one", b"48"), "nobody is in a class that never came");
}

/// The first `length` bits of an address.
fn prefix(address: u32, length: u64) -> [u8; 4] {
    (address & u32::MAX.checked_shl(32 - length as u32).unwrap_or(0)).to_be_bytes()
}

#[test]
fn i2_longest_prefix_match_falls_back() {
    let table: std::collections::HashSet<(u64, [u8; 4])> = (0..3000u32)
        .map(|i| {
            let length = [8u64, 16, 20, 24][i as usize % 4];
            (length, prefix(i.wrapping_mul(2_654_435_761), length))
        })
        .collect();
    let mut filter = LoadBalanced::with_shape(M, K, Hasher::default()).expect("a shape");
    for (length, bytes) in &table {
        filter.insert(bytes, length.to_string().as_bytes()).expect("a class");
    }
    let f = filter.now().fpr.expect("a rate");
    let (mut sum, mut found) = (0, 0);
    const ADDRESSES: u32 = 100_000;
    for i in 0..ADDRESSES {
        let address = i.wrapping_mul(0x9E37_79B9).rotate_left(7);
        let result = filter.lookup(
            |length| prefix(address, length),
            |length, key| table.contains(&(length, *key)),
        );
        let truth =
            [24u64, 20, 16, 8].into_iter().find(|l| table.contains(&(*l, prefix(address, *l))));
        assert_eq!(result.class, truth, "{address:#x}");
        found += u32::from(truth.is_some());
        sum += result.wasted;
    }
    assert!(found > 1000, "{found}");
    // At most g·f on average, and not much less where most addresses try every length.
    let (mean, bound) = (f64::from(sum as u32) / f64::from(ADDRESSES), wasted(4.0, f));
    assert!(mean < 1.1 * bound && mean > 0.1 * bound, "{mean} of at most {bound}");
}

#[test]
fn i2_queries_name_a_class_or_ask_for_all() {
    let filter = filled(8, 3);
    let key = 5u64.to_le_bytes();
    let ask = |value| filter.query(Record::key(&key).with(value)).expect("a query");
    assert_eq!(ask(Some(Value::Label(b"5"))), Answer::of(true));
    assert_eq!(ask(Some(Value::Label(b"no such class"))), Answer::of(false));
    let Answer { verdict: Verdict::Present, detail: Detail::Labels(labels) } = ask(None) else {
        panic!("the classes of the key")
    };
    assert!(labels.contains(&b"5".to_vec()));
    // Non-members: each of 8 classes errs on its own.
    let (mut any, f) = (0, filter.now().fpr.expect("a rate"));
    for key in 1u64 << 40..(1 << 40) + 100_000 {
        let answer = filter.query(Record::key(&key.to_le_bytes())).expect("a query");
        any += u64::from(answer.verdict == Verdict::Present);
    }
    let expected = 1.0 - (1.0 - f).powi(8);
    let (low, high) = everbloom::internals::theory::tail::binomial_bounds(100_000, expected, 1e-9);
    assert!((low..=high).contains(&any), "{any}, expected {expected}");
    let bare = everbloom::grouping::load_balanced::VARIANT
        .build_from(&everbloom::internals::plan::Goal::new(9, 0.1), &[Record::key(b"x")]);
    assert_eq!(bare.expect_err("no class").kind(), everbloom::Kind::BadRecord);
}

#[test]
fn i2_union_joins_classes_whatever_their_order() {
    let mut left = LoadBalanced::with_shape(M, K, Hasher::default()).expect("a shape");
    let mut right = left.clone();
    let mut whole = left.clone();
    for (key, class) in [(1u64, "8"), (2, "16"), (3, "24"), (4, "16"), (5, "8")] {
        let side = if key < 3 { &mut left } else { &mut right };
        side.insert(&key, class.as_bytes()).expect("a class");
        whole.insert(&key, class.as_bytes()).expect("a class");
    }
    left.union(&right).expect("alike");
    assert_eq!(left, whole);
    let other = LoadBalanced::with_shape(M, K + 1, Hasher::default()).expect("a shape");
    assert!(left.union(&other).is_err());
    assert_eq!(left, whole);
}

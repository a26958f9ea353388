//! C2, the multilayer compressed counting filter.

use std::f64::consts::LN_2;

use everbloom::Kind;
use everbloom::counting::multilayer_counting::{VARIANT, bits};
use everbloom::counting::{Counting, MultilayerCounting};
use everbloom::internals::cells::Layers;
use everbloom::internals::filter::{Face, Filter as _, Merge as _, Record};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::poisson_pmf;

fn filled(m: u64, k: u32, n: u64) -> MultilayerCounting {
    let mut filter = MultilayerCounting::with_shape(m, k, Hasher::default()).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn c2_bits_are_exactly_m_and_nk() {
    for (m, n, k) in [(10_000, 1000, 7), (10_000, 1000, 3), (700, 300, 5), (13, 90, 4)] {
        let mut filter = filled(m, k, n);
        assert_eq!(filter.layers().bits(), m + n * u64::from(k));
        assert_eq!(filter.layers().bits(), bits(m, n, k));
        assert_eq!(filter.memory().cells, bits(m, n, k));
        (0..n).for_each(|key| filter.remove(&key).expect("a member"));
        assert_eq!((filter.layers().bits(), filter.memory().cells), (m, m));
        assert_eq!((filter.layers().nonzero(), filter.head().items), (0, 0));
    }
}

#[test]
fn c2_saving_and_entropy() {
    // At the best k: 1.6931 bits a counter, 57.7 % less than four; the entropy is 1.5859.
    let share = bits(1_000_000, 99_021, 7) as f64 / 1e6;
    assert!((share - 1.6931).abs() < 1e-4 && (1.0 - share / 4.0 - 0.577).abs() < 1e-3, "{share}");
    let entropy: f64 = (0..40).map(|j| poisson_pmf(LN_2, j)).map(|p| -p * p.log2()).sum();
    assert!((entropy - 1.5859).abs() < 5e-5, "{entropy}");
    // Huffman's code for Poisson(ln 2) is unary: each count outweighs all above it together.
    for j in 0..20 {
        let above: f64 = (j + 1..60).map(|i| poisson_pmf(LN_2, i)).sum();
        assert!(poisson_pmf(LN_2, j) >= above - 1e-15, "{j}");
    }
}

#[test]
fn c2_less_than_half_of_plain_counters_at_equal_rate() {
    for n in [1000, 100_000] {
        let records: Vec<[u8; 8]> = (0..n).map(u64::to_le_bytes).collect();
        let records: Vec<Record<'_>> = records.iter().map(|key| Record::key(key)).collect();
        let ours = VARIANT.build_from(&Goal::new(n, 0.01), &records).expect("built");
        let plain = Counting::with_rate(n, 0.01).expect("planned");
        let expect = VARIANT.expect(&Goal::new(n, 0.01), &Load::items(n)).unwrap().unwrap();
        assert_eq!(ours.memory().cells, expect.bits);
        let cells = ours.memory().cells as f64 / plain.memory().cells as f64;
        assert!((cells - 1.0 + 0.577).abs() < 0.01, "{cells}");
        // Index, spare words and all.
        let total = ours.memory().total() as f64 / plain.memory().total() as f64;
        assert!(total < 0.5, "{n} keys: {total} of the bits");
    }
}

#[test]
fn c2_levels_of_the_example() {
    // R17's word without its cap: (0, 3, 5) and (0, 3, 7) go in, a third would too, (0, 3, 5) goes.
    let mut layers = Layers::try_new(8).unwrap();
    let bits =
        |layers: &Layers, t: u32| layers.layer(t).into_iter().map(u8::from).collect::<Vec<_>>();
    [0, 3, 5].into_iter().for_each(|i| layers.increment(i));
    assert_eq!((bits(&layers, 0), bits(&layers, 1)), (vec![1, 0, 0, 1, 0, 1, 0, 0], vec![0; 3]));
    assert_eq!(layers.bits(), 11);
    [0, 3, 7].into_iter().for_each(|i| layers.increment(i));
    assert_eq!(
        (bits(&layers, 0), bits(&layers, 1)),
        (vec![1, 0, 0, 1, 0, 1, 0, 1], vec![1, 1, 0, 0])
    );
    assert_eq!((bits(&layers, 2), bits(&layers, 3)), (vec![0; 2], vec![]), "no empty layers");
    assert_eq!(layers.bits(), 14);
    [0, 3, 5].into_iter().for_each(|i| layers.decrement(i));
    assert_eq!((bits(&layers, 0), bits(&layers, 1)), (vec![1, 0, 0, 1, 0, 0, 0, 1], vec![0; 3]));
    assert_eq!(layers.bits(), 11);
}

#[test]
fn c2_counts_like_plain_counters_and_never_overflows() {
    for (k, ones) in [(7, 5034.0f64), (3, 2592.0)] {
        let mut filter = filled(10_000, k, 1000);
        let mut plain = Counting::with_shape(10_000, k, 16, Hasher::default()).unwrap();
        (0..1000u64).for_each(|key| {
            plain.insert(&key);
        });
        let used = filter.layers().nonzero() as f64;
        assert!((used - ones).abs() < 111.0, "{used} of {ones}");
        for _ in 0..40 {
            assert_eq!(filter.insert(&7u64), plain.insert(&7u64));
        }
        assert!(filter.layers().iter().eq(plain.counters().iter()));
        assert!((0..5000u64).all(|key| filter.contains(&key) == plain.contains(&key)));
        assert!((0..5000u64).all(|key| filter.count(&key) == plain.count(&key)));
    }
    let mut filter = MultilayerCounting::with_shape(100, 2, Hasher::default()).unwrap();
    (0..1000).for_each(|_| {
        filter.insert("hot");
    });
    assert_eq!(filter.count("hot"), 1000);
    (0..1000).for_each(|_| filter.remove("hot").expect("counted"));
    assert_eq!(filter.remove("hot").expect_err("gone").kind(), Kind::NotDeletable);
}

#[test]
fn c2_updates_move_a_bounded_part() {
    // A change touches the rows of one region: the words of all others stay as they are, byte for byte.
    let mut filter = filled(1_000_000, 1, 500_000);
    filter.insert(&0u64);
    let before = everbloom::internals::file::to_bytes(&filter);
    let mut most = 0;
    for key in 1 << 40..(1u64 << 40) + 100 {
        let mut after = filter.clone();
        after.insert(&key);
        let after = everbloom::internals::file::to_bytes(&after);
        if after.len() == before.len() {
            most = most.max(after.iter().zip(&before).filter(|(a, b)| a != b).count());
        }
    }
    // 128 rows of about five words at the most, of 2000 rows.
    assert!(most > 0 && most < 8192 && before.len() > 200_000, "{most} bytes of {}", before.len());
}

#[test]
fn c2_merging_adds() {
    let (mut a, mut b, whole) = (filled(700, 3, 100), filled(700, 3, 0), filled(700, 3, 300));
    (100..300u64).for_each(|key| {
        b.insert(&key);
    });
    a.merge(&b).expect("same shape");
    assert!(a.layers().iter().eq(whole.layers().iter()));
    assert_eq!(a.memory().cells, whole.memory().cells);
    let other = MultilayerCounting::with_shape(701, 3, Hasher::default()).unwrap();
    assert!(matches!(a.merge(&other).expect_err("m").kind(), Kind::Incompatible { .. }));
}

#[test]
fn c2_copies_of_one_key_are_counted_exactly_and_quickly() {
    // Following a counter bit by bit, as many steps as it counts, took ten seconds here.
    let mut filter = MultilayerCounting::with_rate(1000, 0.01).unwrap();
    (0..16_000).for_each(|_| {
        filter.insert("hot");
    });
    (0..500u64).for_each(|key| {
        filter.insert(&key);
    });
    assert_eq!(filter.count("hot"), 16_000);
    (0..15_000).for_each(|_| filter.remove("hot").unwrap());
    assert_eq!(filter.count("hot"), 1000);
    assert!((0..500u64).all(|key| filter.contains(&key)));
}

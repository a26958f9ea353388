//! B3, the optimal replacement by quotienting.

use everbloom::Kind;
use everbloom::fingerprints::PaghPaghRao;
use everbloom::fingerprints::pagh_pagh_rao::VARIANT;
use everbloom::internals::filter::{Face, Filter as _, List, Merge};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;

use super::numbers::prints;

fn filled(quotients: u64, remainder: u32, n: u64, seed: u64) -> PaghPaghRao {
    let mut filter =
        PaghPaghRao::with_shape(quotients, remainder, Hasher::seeded(seed)).expect("a shape");
    (0..n).for_each(|key| _ = filter.insert(&key).expect("blocks"));
    filter
}

#[test]
fn b3_bits_and_rates() {
    for (r, bloom_bits) in [(7, 10.10), (8, 11.54), (10, 14.43)] {
        let n = 10_000;
        let p = 2f64.powi(-r);
        let expect = VARIANT.expect(&Goal::new(n, p), &Load::items(n)).unwrap().unwrap();
        assert_eq!(expect.bits, n * (r as u64 + 2));
        prints(bloom::bits(1.0, p), bloom_bits, 0.01);
        let filter = filled(n, r as u32, n, 0);
        assert_eq!(filter.memory().cells, n * r as u64 + n + n, "n·r + n + N");
        if r == 7 {
            prints(expect.fpr, 0.007782, 1e-6);
        }
    }
    for (r, printed) in [(7, 0.00778), (10, 9.76e-4)] {
        let (mut passed, queries) = (0, 50_000u64);
        for seed in 0..20 {
            let filter = filled(10_000, r, 10_000, seed);
            assert!((0..10_000u64).all(|key| filter.contains(&key)));
            passed += (1 << 40..(1 << 40) + queries).filter(|key| filter.contains(key)).count();
        }
        let expected = printed * 1e6;
        let off = (passed as f64 - expected).abs();
        assert!(off < 5.0 * expected.sqrt() + 0.01 * expected, "r = {r}: {passed}");
    }
}

/// One block: the bits and rates of the catalogue's check, to the last bit.
#[test]
fn b3_the_static_form_is_one_code() {
    let n = 10_000u64;
    for (r, bits_per_key, fpr) in [(7, 9, Some(0.007782)), (8, 10, None), (10, 12, None)] {
        let goal = Goal::new(n, 2f64.powi(-r)).set("form", "static");
        let expect = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap();
        assert_eq!(expect.bits, n * bits_per_key);
        fpr.inspect(|fpr| prints(expect.fpr, *fpr, 1e-6));
        let builder = PaghPaghRao::builder().rate(2f64.powi(-r)).form("static");
        let filter = builder.build_from(0..n).expect("10,000 keys");
        assert_eq!(filter.memory().cells, n * r as u64 + n + n, "n·r + n + N");
        assert!(
            filter.memory().auxiliary < n / 2,
            "{:?}: counts of ones, 0.08 bits a key",
            filter.memory()
        );
        assert!((0..n).all(|key| filter.contains(&key)));
        let (queries, rate) = (200_000, filter.now().fpr.unwrap());
        let passed = (n..n + queries).filter(|key| filter.contains(key)).count() as f64;
        let expected = rate * queries as f64;
        assert!((passed - expected).abs() < 5.0 * expected.sqrt(), "r = {r}: {passed}");
    }
}

#[test]
fn b3_frozen_filters_answer_as_before_and_change_no_more() {
    for (quotients, remainder, n) in
        [(1, 4, 30), (7, 0, 5), (65, 5, 0), (200, 12, 3000), (500, 7, 500)]
    {
        let mut blocks = filled(quotients, remainder, n, 6);
        (0..n / 3).for_each(|key| _ = blocks.insert(&key).expect("blocks"));
        let frozen = blocks.frozen().expect("room");
        assert!(frozen.fingerprints().eq(blocks.fingerprints()));
        assert_eq!((frozen.now().fpr, frozen.fill()), (blocks.now().fpr, blocks.fill()));
        assert_eq!(frozen.memory().cells, blocks.memory().cells);
        for key in 0..2 * n + 50 {
            assert_eq!(frozen.count(&key), blocks.count(&key), "{quotients} {remainder}");
            assert_eq!(frozen.contains(&key), blocks.contains(&key));
        }
        assert_eq!(frozen.thawed().expect("room"), blocks);
        let mut fixed = frozen.clone();
        let refused = [
            fixed.insert("x").map(drop).expect_err("a code"),
            fixed.remove(&0u64).expect_err("a code"),
            fixed.merge(&frozen).expect_err("a code"),
        ];
        assert!(refused.iter().all(|e| e.kind() == Kind::Unsupported) && fixed == frozen);
        assert!(fixed.as_insert().is_none() && fixed.as_remove().is_none());
        assert!(fixed.as_merge().is_none() && fixed.as_count().is_some());
        if remainder > 0 {
            let doubled = frozen.doubled().expect("bits are left");
            assert_eq!(doubled.head().form, "static");
            assert!(doubled.fingerprints().eq(blocks.fingerprints()));
            assert_eq!(doubled.halved().expect("even"), frozen);
        }
    }
}

#[test]
fn b3_the_fingerprints_are_a_sorted_vector() {
    let mut random = Generator::new(3);
    for (quotients, remainder) in [(1, 4), (7, 0), (64, 3), (65, 5), (200, 12)] {
        let new = || PaghPaghRao::with_shape(quotients, remainder, Hasher::default()).unwrap();
        let print = |key: u64| {
            let mut alone = new();
            alone.insert(&key).expect("blocks");
            alone.fingerprints().next().expect("one")
        };
        let prints: Vec<u64> = (0..80).map(print).collect();
        let (mut filter, mut oracle) = (new(), Vec::new());
        for _ in 0..600 {
            let key = random.below(80);
            let print = prints[key as usize];
            let at = oracle.partition_point(|h| *h < print);
            let held = oracle[at..].iter().take_while(|h| **h == print).count() as u64;
            assert_eq!(filter.count(&key), held);
            if random.below(5) < 3 {
                filter.insert(&key).expect("blocks");
                oracle.insert(at, print);
            } else if held > 0 {
                filter.remove(&key).expect("there");
                oracle.remove(at);
            } else {
                let before = filter.clone();
                let refused = filter.remove(&key).expect_err("absent");
                assert_eq!((refused.kind(), &filter), (Kind::NotDeletable, &before));
            }
            assert!(filter.fingerprints().eq(oracle.iter().copied()));
        }
    }
}

#[test]
fn b3_nothing_is_left_after_removing_all() {
    let mut filter = filled(1000, 7, 1000, 5);
    (0..1000u64).for_each(|key| filter.remove(&key).expect("a member"));
    assert_eq!((filter.fingerprints().count(), filter.head().items), (0, 0));
    assert_eq!(filter.memory().cells, 1000, "a zero for each list");
    assert_eq!(filter.now().fpr, Some(0.0));
}

#[test]
fn b3_never_full_and_the_rate_is_of_what_is_inside() {
    let mut filter = filled(500, 7, 5000, 1);
    assert!((0..5000u64).all(|key| filter.contains(&key)));
    let full = filter.now().fpr.unwrap();
    prints(full, bloom::fill(500.0 * 128.0, 5000.0), 0.002);
    (500..5000u64).for_each(|key| filter.remove(&key).expect("a member"));
    assert_eq!(filter.now().fpr, filled(500, 7, 500, 1).now().fpr, "whatever came before");
}

#[test]
fn b3_merging_and_resizing() {
    let mut both = filled(300, 8, 300, 2);
    let mut other = PaghPaghRao::with_shape(300, 8, Hasher::seeded(2)).unwrap();
    (200..500u64).for_each(|key| _ = other.insert(&key).expect("blocks"));
    let mut expected: Vec<u64> = both.fingerprints().chain(other.fingerprints()).collect();
    expected.sort_unstable();
    let mut resized = both.clone();
    both.merge(&other).expect("the same fingerprints");
    assert!(both.fingerprints().eq(expected.iter().copied()) && both.head().items == 600);
    resized.merge(&other.doubled().unwrap()).expect("another split of the same bits");
    assert!(resized.fingerprints().eq(expected));
    let refused = both.merge(&filled(300, 7, 3, 2)).expect_err("other fingerprints");
    assert_eq!(refused.kind(), Kind::Incompatible { what: "fingerprints" });
    let mut split = both.clone();
    for r in (0..8).rev() {
        split = split.doubled().expect("bits are left");
        assert_eq!(split.memory().cells, 600 * (r + 1) + (300 << (8 - r)));
        assert!(split.fingerprints().eq(both.fingerprints()));
        assert_eq!(split.now().fpr, both.now().fpr);
    }
    assert_eq!(split.doubled().expect_err("r = 0").kind(), Kind::CapacityExceeded);
    for _ in 0..10 {
        split = split.halved().expect("even");
    }
    assert!(split.halved().is_err(), "75 lists");
    assert!((0..500u64).all(|key| split.contains(&key)));
    let mut listed = 0;
    split.list(&mut |_, _| listed += 1).expect("lists");
    assert_eq!(listed, 600);
}

//! F1, the standard Bloom filter.

use everbloom::Kind;
use everbloom::internals::filter::{Face, Filter as _, Seen};
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::probe::{Coincide, Probe};
use everbloom::internals::theory::bloom as theory;
use everbloom::membership::Bloom;

fn filled(m: u64, k: u32, seed: u64, keys: std::ops::Range<u64>) -> Bloom {
    let mut filter = Bloom::with_shape(m, k, Hasher::seeded(seed)).unwrap();
    keys.for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn rate(filter: &Bloom, queries: std::ops::Range<u64>) -> f64 {
    let total = (queries.end - queries.start) as f64;
    queries.filter(|key| filter.contains(key)).count() as f64 / total
}

/// The mean rate over 40 seeds, with its standard error as measured.
fn mean_rate(m: u64, n: u64, k: u32) -> (f64, f64) {
    let rates: Vec<f64> =
        (0..40).map(|seed| rate(&filled(m, k, seed, 0..n), n..n + 50_000)).collect();
    let mean = rates.iter().sum::<f64>() / 40.0;
    let variance = rates.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / 39.0;
    (mean, (variance / 40.0).sqrt())
}

/// S0 Fig. 2, recomputed: MD5, SHA-1 and CRC-32 of one-letter keys as big-endian integers, mod 16.
#[test]
fn f1_golden_vector() {
    use md5::Digest as _;
    let positions = |key: &str| {
        let last = |bytes: &[u8]| u64::from(bytes[bytes.len() - 1] % 16);
        let md5 = last(&md5::Md5::digest(key));
        let sha1 = last(&sha1::Sha1::digest(key));
        [md5, sha1, u64::from(crc32fast::hash(key.as_bytes()) % 16)]
    };
    for (key, printed) in [
        ("a", [1, 8, 3]),
        ("b", [15, 8, 9]),
        ("y", [13, 10, 5]),
        ("l", [3, 7, 14]),
        ("q", [13, 0, 7]),
        ("z", [7, 10, 15]),
    ] {
        assert_eq!(positions(key), printed, "{key}");
    }
    let mut bits = everbloom::internals::cells::Bits::new(16);
    let mut insert = |keys: [&str; 2]| -> Vec<u64> {
        keys.iter().flat_map(|key| positions(key)).for_each(|i| {
            bits.set(i);
        });
        (0..16).filter(|&i| bits.get(i)).collect()
    };
    assert_eq!(insert(["a", "b"]), [1, 3, 8, 9, 15]);
    let ones = insert(["y", "l"]);
    assert_eq!(ones, [1, 3, 5, 7, 8, 9, 10, 13, 14, 15]);
    assert!(!positions("q").iter().all(|i| ones.contains(i)));
    assert!(positions("z").iter().all(|i| ones.contains(i)), "a false positive");
}

/// The same figure with the filter's own hash: its ones are the cells of its keys, and a key passes just where all of
/// its cells are ones.
#[test]
fn f1_ones_are_the_cells_of_the_keys() {
    for seed in 0..50 {
        let mut filter = Bloom::with_shape(16, 3, Hasher::seeded(seed)).unwrap();
        let mut cells = std::collections::BTreeSet::new();
        for key in ["a", "b", "y", "l"] {
            filter.insert(key);
            cells.extend(filter.trace(key.as_bytes()).iter().map(|cell| cell.index));
            let ones: Vec<u64> = (0..16).filter(|&i| filter.bits().get(i)).collect();
            assert!(ones.iter().eq(&cells), "{ones:?}, not {cells:?}");
        }
        for key in ["q", "z", "a"] {
            let covered = filter.trace(key.as_bytes()).iter().all(|c| cells.contains(&c.index));
            assert_eq!(filter.contains(key), covered);
        }
    }
}

#[test]
fn f1_exact_rates_are_those_measured() {
    // The exact column, in small filters where the classic one is measurably too low.
    for (m, n, k, exact) in [
        (16, 4, 3, 0.164_955),
        (64, 8, 5, 0.023_416_1),
        (100, 10, 7, 0.008_936_31),
        (8000, 1000, 5, 0.021_692_8),
        (10_000, 1000, 7, 0.008_200_96),
    ] {
        // Small filters differ so much that more queries of each would tell no more.
        let (seeds, queries) = if m < 1000 { (4000, 2000) } else { (40, 20_000) };
        let sum: f64 = (0..seeds).map(|s| rate(&filled(m, k, s, 0..n), n..n + queries)).sum();
        let mean = sum / seeds as f64;
        // Filter-to-filter spread of the rate is about k·σ_ρ/ρ of it; 5 σ over all filters.
        let (fill, sd) = (
            theory::fill(m as f64, (k as u64 * n) as f64),
            theory::fill_sd(m as f64, (k as u64 * n) as f64),
        );
        let spread = f64::from(k) * sd / fill;
        let error =
            exact * ((spread * spread + 1.0 / (exact * queries as f64)) / seeds as f64).sqrt();
        assert!((mean - exact).abs() < 5.0 * error, "m = {m}: {mean} against {exact} ± {error}");
    }
}

#[test]
fn f1_rate_far_from_the_optimum_sees_k() {
    // c = 10, k = 3: 0.01741; k = 2 would give 0.03286, k = 4 0.01181.
    let (mean, error) = mean_rate(10_000, 1000, 3);
    assert!((mean - 0.017_41).abs() < 5.0 * error + 1e-4, "{mean} ± {error}");
}

#[test]
fn f1_ones_see_k() {
    // m = 10,000, n = 1000, k = 7: 5034 ± 111; k = 6 gives 4512, k = 8 5507.
    for seed in 0..20 {
        let ones = filled(10_000, 7, seed, 0..1000).bits().ones() as i64;
        assert!((ones - 5034).abs() <= 111, "{ones}");
    }
}

#[test]
fn f1_insertion_touches_k_cells() {
    let hasher = Hasher::with_id(HashId::Xxh3_128, 0).unwrap();
    for (m, k) in [(10_000, 7), (1 << 20, 10)] {
        let probe = Probe::over(m, k);
        let mut all_distinct = 0;
        for key in 0..1000u64 {
            let mut filter = Bloom::with_shape(m, k, hasher.clone()).unwrap();
            assert_eq!(filter.insert(&key), Seen::New);
            assert_eq!(filter.insert(&key), Seen::Maybe);
            let distinct = probe.collect(hasher.digest(&key), Coincide::Distinct).len();
            assert_eq!(filter.bits().ones(), distinct as u64);
            all_distinct += u32::from(distinct == k as usize);
        }
        assert!(all_distinct > 950, "self-collisions are rare: {all_distinct}");
    }
}

#[test]
fn f1_planned_sizes() {
    let bloom = everbloom::catalog::by_slug("bloom").expect("in the list");
    let shape = |p: f64| {
        let filter = Bloom::with_rate(1_000_000, p).expect("a goal");
        (filter.m(), filter.k())
    };
    // 9,585,059 and 14,377,588 bits, made even; k_opt 6.644 and 9.966.
    assert_eq!(shape(0.01), (9_585_060, 7));
    assert_eq!(shape(0.001), (14_377_588, 10));
    let expect = bloom.expect(&Goal::new(1_000_000, 0.01), &Load::items(1_000_000));
    let fpr = expect.expect("a goal").expect("a formula").fpr;
    assert!((fpr / 0.01 - 1.0).abs() < 0.01, "{fpr}");
    // p = 1e-20 needs more than 64 probes.
    let mut tiny = Bloom::with_rate(100, 1e-20).expect("a goal");
    assert!(tiny.k() == 66 && tiny.m() == 9586, "{} {}", tiny.k(), tiny.m());
    (0..100u64).for_each(|key| {
        tiny.insert(&key);
    });
    assert!((0..100u64).all(|key| tiny.contains(&key)));
    assert_eq!(rate(&tiny, 100..100_000), 0.0);
}

#[test]
fn f1_cardinality_from_zeros() {
    // m = 10,000, k = 7, n = 1000: zeros 4965.68 ± 27.8, n̂ has a standard deviation of 8.0.
    let (mut zeros, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for seed in 0..400 {
        let filter = filled(10_000, 7, seed, 0..1000);
        let n = filter.cardinality().expect("zeros are left");
        zeros += filter.bits().zeros() as f64 / 400.0;
        sum += n / 400.0;
        squares += (n - 1000.0).powi(2) / 400.0;
    }
    assert!((zeros - 4965.68).abs() < 5.0 * 27.8 / 20.0, "{zeros}");
    assert!((sum - 1000.0).abs() < 5.0 * 8.0 / 20.0, "{sum}");
    assert!((squares.sqrt() - 8.0).abs() < 1.5, "{}", squares.sqrt());
    let mut full = Bloom::with_shape(64, 8, Hasher::default()).unwrap();
    (0..1000u64).for_each(|key| {
        full.insert(&key);
    });
    assert_eq!(full.cardinality(), None, "no zeros, no estimate");
}

#[test]
fn f1_intersection_size() {
    // m = 10,000, k = 4, |A| = 1000, |B| = 800, |A∩B| = 300: the estimate's sd is about 7.4.
    let (mut sum, mut squares) = (0.0, 0.0);
    for seed in 0..100 {
        let (a, b) = (filled(10_000, 4, seed, 0..1000), filled(10_000, 4, seed, 700..1500));
        let n = a.intersection_size(&b).expect("same shape").expect("zeros are left");
        sum += n / 100.0;
        squares += (n - 300.0).powi(2) / 100.0;
    }
    assert!((sum - 300.0).abs() < 5.0 * 7.4 / 10.0, "{sum}");
    assert!((squares.sqrt() - 7.4).abs() < 2.5, "{}", squares.sqrt());
}

#[test]
fn f1_union_is_the_filter_of_the_union() {
    let (mut a, b) = (filled(10_000, 7, 3, 0..600), filled(10_000, 7, 3, 400..1000));
    let whole = filled(10_000, 7, 3, 0..1000);
    a.union(&b).expect("same shape");
    assert_eq!(a.bits(), whole.bits());
    let items = a.head().items as f64;
    assert!(
        (items - 1000.0).abs() < 50.0,
        "items come from the zeros, not from 600 + 600: {items}"
    );
    // Theorem 1 (S0): the union errs more often than its parts, as measured.
    let queries = 10_000..210_000;
    assert!(rate(&a, queries.clone()) > 2.0 * rate(&b, queries));
    let other_seed = filled(10_000, 7, 4, 0..1);
    let refused = a.union(&other_seed).expect_err("another seed");
    assert_eq!(refused.kind(), Kind::Incompatible { what: "seed" });
    let other_k = filled(10_000, 6, 3, 0..1);
    assert_eq!(a.union(&other_k).expect_err("another k").kind(), Kind::Incompatible { what: "k" });
}

#[test]
fn f1_intersection_keeps_common_keys() {
    let (mut a, b) = (filled(10_000, 7, 0, 0..600), filled(10_000, 7, 0, 400..1000));
    a.intersect(&b).expect("same shape");
    assert!((400..600u64).all(|key| a.contains(&key)));
    let exact = filled(10_000, 7, 0, 400..600);
    assert!(a.bits().ones() >= exact.bits().ones(), "a superset of the filter of the intersection");
    let items = a.head().items as f64;
    assert!((items - 200.0).abs() < 60.0, "{items}");
}

#[test]
fn f1_theorem_2() {
    // m = 10,000, k = 4, a = b = 10: 0.8521 by the formula, 0.854 simulated with an empty
    // intersection, 0.897 with one of 1000.
    const TRIALS: u64 = 4000;
    let share = |common: u64| {
        let equal = (0..TRIALS).filter(|&seed| {
            let set = |own: u64| {
                let mut filter = filled(10_000, 4, seed, 0..common);
                (own..own + 10).for_each(|key| {
                    filter.insert(&key);
                });
                filter
            };
            let mut and = set(10_000);
            and.intersect(&set(20_000)).expect("same shape");
            and.bits() == filled(10_000, 4, seed, 0..common).bits()
        });
        equal.count() as f64 / TRIALS as f64
    };
    // An sd of 0.0056 and less: each is told from the other.
    assert!((share(0) - 0.854).abs() < 0.018);
    assert!((share(1000) - 0.897).abs() < 0.018);
}

#[test]
fn f1_halving() {
    // m = 16,000, n = 1000, k = 5: 0.0013925 → 0.0216792.
    let (mut before, mut after) = (0.0, 0.0);
    for seed in 0..40 {
        let whole = filled(16_000, 5, seed, 0..1000);
        let half = whole.fold().expect("16,000 is even");
        assert_eq!(half.m(), 8000);
        assert!((0..1000u64).all(|key| half.contains(&key)));
        assert_eq!(
            half.bits(),
            filled(8000, 5, seed, 0..1000).bits(),
            "as if built at half the size"
        );
        before += rate(&whole, 1000..51_000) / 40.0;
        after += rate(&half, 1000..51_000) / 40.0;
    }
    assert!((before / 0.001_392_5 - 1.0).abs() < 0.08, "{before}");
    assert!((after / 0.021_679_2 - 1.0).abs() < 0.03, "{after}");
    let odd = Bloom::with_shape(101, 3, Hasher::default()).unwrap();
    assert_eq!(odd.fold().expect_err("odd").kind(), Kind::BadParameter);
}

#[test]
fn f1_every_scheme_folds_and_keeps_its_keys() {
    let bloom = everbloom::catalog::by_slug("bloom").expect("in the list");
    let sample = everbloom::internals::sample::Sample::new(
        &bloom.input,
        everbloom::internals::sample::Style::Short,
        0..1000,
    );
    for scheme in ["double", "enhanced", "ring", "mixed"] {
        let goal = Goal::new(1000, 0.01).set("m", 16_000).set("k", 5).set("scheme", scheme);
        let filter = bloom.build_from(&goal, &sample.records()).expect(scheme);
        let any: Box<dyn std::any::Any> = filter;
        let filter = *any.downcast::<Bloom>().expect(scheme);
        let half = filter.fold().expect(scheme);
        assert!(sample.records().iter().all(|r| half.contains(r.key)), "{scheme}");
    }
}

#[test]
fn f1_concurrent_inserts_lose_nothing() {
    let shared = Bloom::with_rate(100_000, 0.01).expect("a goal").into_atomic();
    std::thread::scope(|scope| {
        for t in 0..4u64 {
            let shared = &shared;
            scope.spawn(move || {
                (t * 25_000..(t + 1) * 25_000).for_each(|key| {
                    shared.insert(&key);
                    assert!(shared.contains(&key));
                })
            });
        }
    });
    let filter = shared.into_bloom();
    let mut alone = Bloom::with_rate(100_000, 0.01).expect("a goal");
    (0..100_000u64).for_each(|key| {
        alone.insert(&key);
    });
    assert_eq!(filter.bits(), alone.bits(), "the same bits as one thread sets");
    let items = filter.head().items as f64;
    assert!((items / 100_000.0 - 1.0).abs() < 0.01, "items come from the fill: {items}");
}

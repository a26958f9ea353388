//! I5, Bloom-1 and Bloom-g.

use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::internals::theory::{blocked, bloom};
use everbloom::membership::bloom_g::{
    Shape, VARIANT, false_positives, false_positives_classic, false_positives_distinct, hash_bits,
};
use everbloom::membership::{BlockedBloom, BloomG};

use super::numbers::{hits, spread};

fn shape(c: u64, n: u64, word: u64, k: u32, g: u32, distinct: bool) -> Shape {
    Shape { words: n * c / word, word, k, g, distinct }
}

fn filter(shape: Shape, n: u64, seed: u64) -> BloomG {
    let mut filter = BloomG::with_shape(shape, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

/// Mean rate of 20 filters of 20,000 keys, and its standard error from their scatter.
fn measured(c: u64, word: u64, k: u32, g: u32, distinct: bool, queries: u64) -> (f64, f64) {
    let (n, filters) = (20_000, 20u64);
    let rates: Vec<f64> = (0..filters)
        .map(|seed| {
            let filter = filter(shape(c, n, word, k, g, distinct), n, seed);
            hits(|key| filter.contains(key), queries) as f64 / queries as f64
        })
        .collect();
    let mean = rates.iter().sum::<f64>() / filters as f64;
    let squares: f64 = rates.iter().map(|r| (r - mean) * (r - mean)).sum();
    (mean, (squares / ((filters - 1) * filters) as f64).sqrt())
}

/// Whether a value shows the printed digits. The entry sums over a binomial number of keys in a word,
/// we over its Poisson limit: at n = 10⁵ in 10⁴ words they differ by some 10⁻⁴.
fn prints(value: f64, printed: f64) {
    assert!((value / printed - 1.0).abs() < 4e-4, "{value} against {printed}");
}

#[test]
fn i5_formula_values() {
    // c, k, g, classic, Bose, distinct (0 where the entry has none); words of 64 bits.
    for (c, k, g, classic, bose, distinct) in [
        (8.0, 4, 1, 0.032588, 0.033540, 0.032111),
        (16.0, 6, 1, 0.003778, 0.004052, 0.003673),
        (16.0, 6, 2, 0.001369, 0.001414, 0.0),
        (10.0, 5, 1, 0.01705, 0.01784, 0.0),
        (10.0, 7, 1, 0.01943, 0.02094, 0.0),
    ] {
        prints(false_positives_classic(64, c, k, g), classic);
        prints(false_positives(64, c, k, g), bose);
        if distinct > 0.0 {
            prints(false_positives_distinct(64, c, k, g), distinct);
        }
    }
    // Bloom-1 in a cache line is the blocked filter.
    assert_eq!(false_positives(512, 10.0, 7, 1), blocked::fpr(512, 10.0, 7));
}

#[test]
fn i5_best_k_is_not_the_standard_filters() {
    assert_eq!(bloom::best_k(10, 1), 7);
    let goal = Goal::new(100_000, 0.5).set("m", 1_000_000);
    let built = VARIANT.build_from(&goal, &[]).unwrap();
    let k = built.describe().iter().find(|f| f.name == "k").map(|f| f.value.to_string());
    assert_eq!(k.as_deref(), Some("5"));
}

#[test]
fn i5_measured_rates() {
    for (c, k, g, distinct, simulated, queries) in [
        (8u64, 4u32, 1u32, false, 0.0335, 30_000u64),
        (8, 4, 1, true, 0.032111, 30_000),
        (16, 6, 1, false, 0.00405, 250_000),
        (16, 6, 1, true, 0.003673, 250_000),
        (16, 6, 2, false, 0.001416, 500_000),
    ] {
        let (rate, error) = measured(c, 64, k, g, distinct, queries);
        assert!(error < 0.012 * rate, "{c} {k} {g}: too noisy to tell, ± {error}");
        let slack = 4.5 * error + 0.002 * rate;
        assert!((rate - simulated).abs() < slack, "{c} {k} {g} {distinct}: {rate} ± {error}");
    }
    // Far from the best k: a k off by one would show.
    for k in [1, 2, 3] {
        let (rate, error) = measured(10, 64, k, 1, false, 50_000);
        let f = false_positives(64, 10.0, k, 1);
        assert!(error < 0.01 * f && (rate - f).abs() < 4.5 * error, "{k}: {rate} against {f}");
    }
}

#[test]
fn i5_a_key_lies_in_g_words() {
    for (k, g, distinct) in [(4u32, 1u32, false), (6, 2, false), (12, 3, false), (6, 1, true)] {
        let inside = f64::from(k / g);
        let (mut ones, mut words) = (0, 0);
        for key in 0..1000u64 {
            let one = Shape { words: 10_007, word: 64, k, g, distinct };
            let mut filter = filter(one, 0, 0);
            filter.insert(&key);
            ones += filter.bits().ones();
            words += filter.bits().words().iter().filter(|w| **w != 0).count();
            assert!(!distinct || filter.bits().ones() == u64::from(k));
        }
        // g words, now and then the same one twice; k bits but for those that coincide.
        let all = 1000 * g as usize;
        assert!(words <= all && words >= all - 5, "{k} {g}: {words}");
        if !distinct {
            let mean = 1000.0 * f64::from(g) * 64.0 * bloom::fill(64.0, inside);
            let meetings = 1000.0 * f64::from(g) * inside * (inside - 1.0) / 128.0;
            assert!((ones as f64 - mean).abs() < 5.0 * meetings.sqrt() + 5.0, "{k} {g}: {ones}");
        }
    }
}

#[test]
fn i5_any_number_of_words_is_used_evenly() {
    // 3 words, 30,000 keys that each meet in 1 of them: 10,000 ± 82, whichever word comes second too.
    let mut seen = [[0u32; 3]; 2];
    let one = Shape { words: 3, word: 64, k: 2, g: 2, distinct: false };
    let filter = filter(one, 0, 0);
    for key in 0..30_000u64 {
        let touched = filter.trace(&key.to_le_bytes());
        for (j, t) in touched.iter().enumerate() {
            seen[j][(t.index / 64) as usize] += 1;
        }
    }
    assert!(seen.iter().flatten().all(|n| n.abs_diff(10_000) < 420), "{seen:?}");
    // The two words are independent: they coincide in a third of all keys.
    let same = (0..30_000u64)
        .filter(|key| {
            let touched = filter.trace(&key.to_le_bytes());
            touched[0].index / 64 == touched[1].index / 64
        })
        .count();
    assert!(same.abs_diff(10_000) < 420, "{same}");
}

#[test]
fn i5_positions_beyond_the_width_of_a_hash() {
    // k = 30 bits of a 64-bit word take 180 hash bits: all 30 probes still have to be independent.
    assert!((hash_bits(1 << 20, 64, 10, 1) - 80.0).abs() < 1e-9);
    assert!((hash_bits(1 << 10, 512, 6, 2) - 74.0).abs() < 1e-9);
    let one = Shape { words: 1000, word: 64, k: 30, g: 1, distinct: false };
    let ones: u64 = (0..2000u64)
        .map(|key| {
            let mut filter = filter(one, 0, 0);
            filter.insert(&key);
            filter.bits().ones()
        })
        .sum();
    let mean = 2000.0 * 64.0 * bloom::fill(64.0, 30.0);
    assert!((ones as f64 / mean - 1.0).abs() < 0.01, "{ones} against {mean}");
}

#[test]
fn i5_now_and_fill_see_the_crowded_words() {
    for (c, word, k, g, distinct) in [
        (8u64, 64u64, 4u32, 1u32, false),
        (10, 64, 5, 1, true),
        (12, 64, 6, 2, false),
        (10, 16, 4, 2, true),
        (10, 256, 6, 3, false),
    ] {
        let (n, what) = (50_000, format!("{c} {word} {k} {g} {distinct}"));
        let filter = filter(shape(c, n, word, k, g, distinct), n, 3);
        assert!((0..n).all(|key| filter.contains(&key)));
        let now = filter.now().fpr.unwrap();
        let (low, high) = binomial_bounds(1_000_000, now, 1e-9);
        let seen = hits(|key| filter.contains(key), 1_000_000);
        assert!((low..=high).contains(&seen), "{what}: {seen} of {low}..{high}");
        let estimate = filter.cardinality().unwrap();
        assert!((estimate / n as f64 - 1.0).abs() < 0.02, "{what}: {estimate}");
    }
}

#[test]
fn i5_fill_and_its_spread() {
    const FILTERS: u64 = 600;
    for (words, k, g, distinct, n) in
        [(64u64, 4u32, 1u32, false, 400u64), (64, 6, 2, false, 400), (64, 5, 1, true, 400)]
    {
        let one = Shape { words, word: 64, k, g, distinct };
        let fills: Vec<f64> =
            (0..FILTERS).map(|seed| filter(one, n, seed).fill().unwrap()).collect();
        let positions = if distinct { "distinct" } else { "any" };
        let goal = Goal::new(n, 0.1).set("form", "bloom-g").set("g", g).set("m", words * 64);
        let goal = goal.set("k", k).set("positions", positions);
        let (mean, sd) = VARIANT.expect(&goal, &Load::items(n)).unwrap().unwrap().fill.unwrap();
        let (average, spread) = spread(&fills);
        assert!((average - mean).abs() < 4.5 * sd / (FILTERS as f64).sqrt(), "{average} {mean}");
        // 600 filters tell their standard deviation to 3 %.
        assert!((0.86..1.14).contains(&(spread / sd)), "{spread} against {sd}");
    }
}

#[test]
fn i5_bloom_1_is_the_blocked_filter_of_one_word() {
    let hasher = Hasher::with_id(HashId::Xxh3_128, 0).unwrap();
    let mut blocked = BlockedBloom::with_shape(1000, 64, 4, None, hasher).unwrap();
    let one = Shape { words: 1000, word: 64, k: 4, g: 1, distinct: false };
    let same = filter(one, 5000, 0);
    (0..5000u64).for_each(|key| {
        blocked.insert(&key);
    });
    assert_eq!(blocked.bits(), same.bits());
}

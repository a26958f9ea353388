//! I8, the compressed filter.

use everbloom::Kind;
use everbloom::compact::compressed::{
    Compressed, Design, VARIANT, entropy, rate_limit, sent_per_key,
};
use everbloom::internals::file::{Opener, to_bytes};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::state::Limits;
use everbloom::internals::theory::bloom as theory;
use everbloom::membership::Bloom;

/// Bits a key in memory, k, bits a key sent, rate: S1 Table 1 recomputed, and two more shapes.
const TABLE: [(u64, u32, f64, f64); 6] = [
    (16, 11, 16.0, 0.000459),
    (28, 4, 15.846, 0.000314),
    (48, 3, 15.829, 0.000222),
    (14, 2, 7.923, 0.017721),
    (92, 2, 13.782, 0.000462),
    (8, 6, 7.982, 0.021577),
];

fn filter(m: u64, k: u32, n: u64, seed: u64) -> Compressed {
    let mut filter = Compressed::with_shape(m, k, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn i8_table_by_formula() {
    for (c, k, z, f) in TABLE {
        let design = Design { per_key: c as f64, k };
        assert!((design.sent() - z).abs() < 0.006, "({c}, {k}): {}", design.sent());
        assert!((design.rate() / f - 1.0).abs() < 0.002, "({c}, {k}): {}", design.rate());
    }
    assert!((entropy(0.5) - 1.0).abs() < 1e-15);
    assert_eq!((entropy(0.0), entropy(1.0)), (0.0, 0.0));
}

#[test]
fn i8_table_by_real_code() {
    let (n, filters) = (10_000, 20);
    for (c, k, z, f) in TABLE {
        let (mut sent, mut rate, mut ones) = (0.0, 0.0, 0.0);
        for seed in 0..filters {
            let filter = filter(c * n, k, n, seed);
            sent += filter.bits().code_bits() as f64 / n as f64;
            rate += filter.now().fpr.unwrap();
            ones += filter.bits().ones() as f64;
            let code = filter.bits().code_bits() as f64;
            assert!((code / filter.sent_bits() - 1.0).abs() < 0.001, "predicted from the fill");
        }
        let [sent, rate, ones] = [sent, rate, ones].map(|sum| sum / filters as f64);
        assert!((sent / z - 1.0).abs() < 0.01, "({c}, {k}): {sent} bits a key sent, not {z}");
        // The mean of 20 filters is off by less than k/ρ·σ_ρ/√20 and what convexity adds.
        assert!((rate / f - 1.0).abs() < 0.02, "({c}, {k}): {rate}, not {f}");
        let m = (c * n) as f64;
        let throws = (n * u64::from(k)) as f64;
        let off = ones - m * theory::fill(m, throws);
        let sd = m * theory::fill_sd(m, throws) / (filters as f64).sqrt();
        assert!(off.abs() < 5.0 * sd, "({c}, {k}): {ones} ones, off by {off}, sd {sd}");
    }
}

#[test]
fn i8_rates_are_measured_too() {
    // k = 2 is sensitive to the quality of the hash.
    let (n, queries, filters) = (10_000u64, 100_000u64, 20);
    for (c, k, f) in [(14, 2, 0.017721), (28, 1, 1.0 - (-1.0f64 / 28.0).exp())] {
        let mut wrong = 0;
        for seed in 0..filters {
            let filter = filter(c * n, k, n, seed);
            wrong += (n..n + queries).filter(|key| filter.contains(key)).count();
        }
        let rate = wrong as f64 / (queries * filters) as f64;
        assert!((rate / f - 1.0).abs() < 0.03, "({c}, {k}): {rate}, not {f}");
    }
}

#[test]
fn i8_the_designer_finds_the_table() {
    for (most, c, k) in [(16.0, 16.0, 11), (28.0, 28.0, 4), (48.0, 48.0, 3)] {
        assert_eq!(Design::for_sent(16.0, most), Design { per_key: c, k }, "at most {most}");
    }
    // The constraint binds where memory does not.
    let design = Design::for_sent(8.0, 100.0);
    assert!((design.sent() - 8.0).abs() < 1e-6 && design.per_key < 100.0, "{design:?}");
    // Whatever the budget, no pair of a fine grid is better whose filter is not more than half full.
    for (z, most) in [(16.0, 48.0), (8.0, 24.0), (12.0, 90.0), (5.0, 7.0)] {
        let best = Design::for_sent(z, most);
        assert!(best.sent() <= z * (1.0 + 1e-9) && best.per_key <= most);
        for k in 1..30 {
            for step in 1..2000 {
                let other = Design { per_key: most * f64::from(step) / 2000.0, k };
                if f64::from(k) > other.per_key * std::f64::consts::LN_2 {
                    continue;
                }
                assert!(
                    other.sent() > z || other.rate() >= best.rate() * (1.0 - 1e-9),
                    "{other:?}"
                );
            }
        }
    }
}

#[test]
fn i8_the_designer_of_a_rate_sends_least() {
    for p in [0.1, 0.01, 0.001, 1e-6] {
        let standard = theory::bits(1.0, p);
        for stretch in [1.0, 1.5, 3.0, 10.0] {
            let design = Design::for_rate(p, stretch * standard);
            assert!((design.rate() / p - 1.0).abs() < 1e-9);
            assert!(stretch == 1.0 || design.per_key <= stretch * standard);
            assert!(design.sent() <= design.per_key);
            if stretch >= 3.0 {
                assert!(design.sent() < 0.96 * standard, "{p}: {} of {standard}", design.sent());
            }
        }
    }
}

#[test]
fn i8_the_limit_is_approached_and_not_reached() {
    assert!((rate_limit(16.0) - 1.53e-5).abs() < 5e-8);
    let mut last = 1.0;
    for most in [16.0, 48.0, 1e3, 1e5, 1e7] {
        let rate = Design::for_sent(16.0, most).rate();
        assert!(rate <= last * (1.0 + 1e-9) && rate > 2.0 * rate_limit(16.0), "{most}: {rate}");
        last = rate;
    }
    // With one probe, k ≥ 1, the rate stays above: c ≈ 2^z/e.
    assert_eq!(Design::for_sent(16.0, 1e7).k, 1);
}

#[test]
fn i8_plans_from_bits_sent() {
    let n = 10_000;
    let goal = |stretch: f64| {
        let goal = Goal { items: Some(n), ..Goal::default() };
        goal.set("transmit", 16).set("stretch", stretch)
    };
    for (stretch, c, f) in [(1.0, 16, 0.000459), (1.75, 28, 0.000314), (3.0, 48, 0.000222)] {
        let expect = VARIANT.expect(&goal(stretch), &Load::items(n)).unwrap().unwrap();
        assert_eq!(expect.bits, c * n, "stretch {stretch}");
        assert!((expect.fpr / f - 1.0).abs() < 0.002, "stretch {stretch}: {}", expect.fpr);
        let built = VARIANT.build_from(&goal(stretch), &[]).unwrap();
        assert!((built.head().fpr.unwrap() / f - 1.0).abs() < 0.002);
    }
    for bad in [
        goal(3.0).set("k", 3),
        goal(3.0).set("m", 300),
        Goal { items: None, fpr: Some(0.01), ..goal(3.0) },
        Goal { fpr: Some(1e-5), ..goal(3.0) },
    ] {
        assert_eq!(
            VARIANT.build_from(&bad, &[]).unwrap_err().kind(),
            Kind::BadParameter,
            "{bad:?}"
        );
    }
    // Memory bounds what is held, and a rate that is met is no obstacle.
    let tight = Goal { bits: Some(28 * n), fpr: Some(0.001), ..goal(3.0) };
    assert_eq!(VARIANT.expect(&tight, &Load::items(n)).unwrap().unwrap().bits, 28 * n);
}

#[test]
fn i8_plans_from_memory_send_a_share_of_it() {
    let n = 10_000;
    for stretch in [1.0, 2.0, 3.0, 6.0] {
        let goal = Goal { items: Some(n), bits: Some(48 * n), ..Goal::default() };
        let built = VARIANT.build_from(&goal.set("stretch", stretch), &[]).unwrap();
        let k: u32 = built.describe()[1].value.to_string().parse().unwrap();
        assert_eq!(built.memory().cells, 48 * n);
        assert!(sent_per_key(48.0, k) * stretch <= 48.0 * (1.0 + 1e-3), "{stretch}: k = {k}");
        assert!(stretch == 1.0 || sent_per_key(48.0, k + 1) * stretch > 48.0, "{stretch}: k = {k}");
    }
}

#[test]
fn i8_the_file_is_the_code() {
    let n = 10_000;
    let sparse = filter(48 * n, 3, n, 1);
    let file = to_bytes(&sparse).len() as u64;
    assert_eq!(sparse.memory().cells, 48 * n, "plain in memory");
    // Header, parameters, padding and checksums.
    assert!(8 * file < sparse.bits().code_bits() + 8 * 600, "{file} bytes");
    let hasher = Hasher::with_id(HashId::Xxh3_128, 1).unwrap();
    let mut plain = Bloom::with_shape(48 * n, 3, hasher).unwrap();
    (0..n).for_each(|key| {
        plain.insert(&key);
    });
    assert_eq!(plain.bits().words(), sparse.bits().words(), "bit for bit the standard filter");
    assert!((file as f64) < 0.35 * to_bytes(&plain).len() as f64);
}

/// As a filter from a network is opened.
fn received(bytes: &[u8]) -> everbloom::Result<Compressed> {
    Opener::new().limits(Limits::NETWORK).decode_as(bytes)
}

#[test]
fn i8_what_is_received_is_what_was_sent() {
    for (m, k, n) in [(1, 1, 0), (1, 1, 5), (63, 2, 4), (64, 1, 0), (1000, 3, 40), (1000, 9, 5000)]
    {
        let sent = filter(m, k, n, 7);
        assert_eq!(received(&to_bytes(&sent)).unwrap(), sent, "m = {m}, n = {n}");
    }
    // Neither an empty nor a full array has any entropy.
    assert_eq!(filter(1000, 3, 0, 0).bits().code_bits(), 0);
    assert_eq!(filter(64, 3, 5000, 0).bits().code_bits(), 0);
}

#[test]
fn i8_what_expands_is_asked_for_first() {
    let filter = Compressed::with_shape(1 << 20, 3, Hasher::default()).unwrap();
    let bytes = to_bytes(&filter);
    assert!(bytes.len() < 1000, "an empty filter is sent in no time: {}", bytes.len());
    let opener = |expanded| Opener::new().limits(Limits::LOCAL.bytes(1 << 20).expanded(expanded));
    assert!(opener(1 << 17).decode(&bytes).is_ok());
    let refused = opener((1 << 17) - 1).decode(&bytes).unwrap_err();
    assert_eq!(refused.kind(), Kind::LimitExceeded { what: "expanded" }, "{refused}");
    let huge = Compressed::with_shape((128 << 23) + 1, 3, Hasher::default()).unwrap();
    let refused = received(&to_bytes(&huge)).unwrap_err();
    assert_eq!(refused.kind(), Kind::LimitExceeded { what: "expanded" }, "{refused}");
}

#[test]
fn i8_shapes_that_could_not_be_reopened_are_refused() {
    for (m, k) in [(0, 1), (1, 0), (1, 4097), (u64::MAX, 1)] {
        assert!(Compressed::with_shape(m, k, Hasher::default()).is_err(), "{m}, {k}");
    }
    let most = Compressed::with_shape(1, 4096, Hasher::default()).unwrap();
    assert_eq!(received(&to_bytes(&most)).unwrap(), most);
}

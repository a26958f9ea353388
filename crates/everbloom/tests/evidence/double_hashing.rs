//! F3, double hashing, and F4, enhanced double hashing.

use std::collections::HashSet;

use everbloom::internals::file::{Opener, to_bytes};
use everbloom::internals::filter::EntryKind;
use everbloom::internals::filter::Record;
use everbloom::internals::hash::{Digest, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::internals::probe::{Coincide, Double, Enhanced, Mixed, Probe, Scheme};
use everbloom::internals::theory::bloom;

fn digest(h1: u64, h2: u64) -> Digest {
    Digest { h1, h2 }
}

/// g_i = (h1 + i·h2) mod m over the integers, with no care taken of the step.
fn as_printed(m: u64, k: u32, d: Digest) -> impl Iterator<Item = u64> {
    let (m, h1, h2) = (u128::from(m), u128::from(d.h1), u128::from(d.h2));
    (0..u128::from(k)).map(move |i| ((h1 + i * h2) % m) as u64)
}

#[test]
fn f3_the_mod_applies_to_the_whole_sum() {
    let stream: Vec<u64> = Double::new(1000, 5).indices(digest(7, 13)).collect();
    assert_eq!(stream, [7, 20, 33, 46, 59]);
    let wrapping: Vec<u64> = Double::new(100, 4).indices(digest(90, 45)).collect();
    assert_eq!(wrapping, [90, 35, 80, 25]);
}

#[test]
fn f3_sums_beyond_64_bits_do_not_wrap() {
    // Wrapping at 2^64 first and reducing then is another stream; this one is the integers'.
    let (h1, h2) = (u64::MAX - 100, u64::MAX - 1000);
    for m in [u64::MAX - 58, (1 << 63) + 29, 1000, 999] {
        let exact: Vec<u64> = as_printed(m, 9, digest(h1, h2 | 1)).collect();
        let stream: Vec<u64> = Double::new(m, 9).indices(digest(h1, h2)).collect();
        assert_eq!(stream, exact, "m = {m}");
    }
    let wrapped = h1.wrapping_add(h2 | 1) % 1000;
    let second = Double::new(1000, 2).indices(digest(h1, h2)).nth(1);
    assert_ne!(second, Some(wrapped));
}

#[test]
fn f3_the_step_never_vanishes() {
    // A step of 0 would put all k indices in one cell: whatever m is, and whatever h2 is mod m.
    for m in [2u64, 3, 7, 16, 99, 1000, 1024] {
        for h2 in [0, 1, m - 1, m, 2 * m, 3 * m, m * m] {
            let cells: HashSet<u64> = Double::new(m, 2).indices(digest(5, h2)).collect();
            assert_eq!(cells.len(), 2, "m = {m}, h2 = {h2}");
        }
    }
    assert_eq!(Double::new(1, 3).indices(digest(5, 0)).collect::<Vec<_>>(), [0, 0, 0]);
    // Odd steps visit every cell of a power of two, and every step but 0 those of a prime.
    for h2 in 0..64 {
        for m in [64u64, 61] {
            let cells: HashSet<u64> = Double::new(m, m as u32).indices(digest(9, h2)).collect();
            assert_eq!(cells.len() as u64, m, "m = {m}, h2 = {h2}");
        }
    }
    // Elsewhere a factor in common leaves m/gcd cells: step 25 of 1000 reaches 40.
    let cells: HashSet<u64> = Double::new(1000, 100).indices(digest(3, 25)).collect();
    assert_eq!(cells.len(), 40);
}

#[test]
fn f3_more_probes_than_cells_repeat() {
    let stream: Vec<u64> = Double::new(8, 20).indices(digest(3, 5)).collect();
    assert_eq!(stream.len(), 20);
    assert!((8..20).all(|i| stream[i] == stream[i - 8]));
}

#[test]
fn f4_stream() {
    let stream: Vec<u64> = Enhanced::new(1000, 6).indices(digest(7, 13)).collect();
    assert_eq!(stream, [7, 20, 34, 50, 69, 92]);
}

#[test]
fn f4_stream_is_the_closed_form_over_the_integers() {
    for (m, h1, h2) in
        [(1000u64, 7u64, 13u64), (97, u64::MAX, 3), (u64::MAX - 58, u64::MAX, 1 << 63)]
    {
        let closed = |i: u128| {
            let cubic = (i * i * i - i) / 6;
            ((u128::from(h1) + i * u128::from(h2) + cubic) % u128::from(m)) as u64
        };
        // Beyond i = m the increment is reduced too.
        for (i, index) in (0..).zip(Enhanced::new(m, 300).indices(digest(h1, h2))) {
            assert_eq!(index, closed(i), "m = {m}, i = {i}");
        }
    }
    // Without a step the increments still move on: 0, 0, 1, 4, 10, 20.
    let still: Vec<u64> = Enhanced::new(1000, 6).indices(digest(0, 0)).collect();
    assert_eq!(still, [0, 0, 1, 4, 10, 20]);
}

/// The mean rate of plain bit filters with 7 probes, and its standard error from their scatter.
fn rate<I: Iterator<Item = u64>>(
    m: u64,
    n: u64,
    filters: u64,
    queries: u64,
    indices: impl Fn(Digest) -> I,
) -> (f64, f64) {
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut bits = vec![false; m as usize];
    for seed in 0..filters {
        let hasher = Hasher::seeded(seed);
        bits.fill(false);
        (0..n).for_each(|key| indices(hasher.digest(&key)).for_each(|i| bits[i as usize] = true));
        let passes = |key: &u64| indices(hasher.digest(key)).all(|i| bits[i as usize]);
        let share = (n..n + queries).filter(passes).count() as f64 / queries as f64;
        sum += share;
        squares += share * share;
    }
    let mean = sum / filters as f64;
    (mean, ((squares / filters as f64 - mean * mean) / (filters - 1) as f64).sqrt())
}

#[test]
fn f3_f4_rates_in_small_and_large_ranges() {
    // The entry's simulations: independent, double, double with odd step, enhanced. They are good for
    // 2 %, and printed to two digits.
    for (m, n, filters, queries, want) in [
        (128u64, 12u64, 20_000u64, 500u64, [0.0064, 0.0160, 0.0121, 0.0070]),
        (1000, 100, 4000, 1000, [0.0083, 0.0097, 0.0091, 0.0085]),
        (16_384, 1638, 300, 10_000, [0.0082; 4]),
    ] {
        let k = 7;
        let (double, enhanced, mixed) = (Double::new(m, k), Enhanced::new(m, k), Mixed::new(m, k));
        let got = [
            rate(m, n, filters, queries, |d| mixed.indices(d)),
            rate(m, n, filters, queries, |d| as_printed(m, k, d)),
            rate(m, n, filters, queries, |d| double.indices(d)),
            rate(m, n, filters, queries, |d| enhanced.indices(d)),
        ];
        for ((mean, error), want) in got.into_iter().zip(want) {
            assert!(error < 0.01 * want, "m = {m}: too noisy to tell, ± {error}");
            let slack = 0.02 * want + 0.00005 + 3.0 * error;
            assert!((mean - want).abs() < slack, "m = {m}: {mean} ± {error} against {want}");
        }
        let exact = bloom::fpr_exact(m, n, k);
        let (independent, error) = got[0];
        assert!((independent - exact).abs() < 4.5 * error, "m = {m}: {independent}, {exact}");
        // In small ranges the order of the four is plain to see.
        if m < 16_384 {
            let [independent, printed, odd, enhanced] = got.map(|(mean, _)| mean);
            assert!(printed > 1.04 * odd && odd > 1.04 * enhanced && enhanced > 1.01 * independent);
        }
    }
}

#[test]
fn f3_f4_keys_of_equal_pairs_meet_in_every_cell() {
    // With 30 probes no chance passes 0.44^30 of the time; what passes shares both values mod m with a
    // member, n/m² of all. In plain double hashing so do those that run the same way backwards, and
    // most of those one step ahead or behind.
    let (m, n, k, filters, queries) = (257u64, 5u64, 30, 100, 100_000);
    let pairs = n as f64 / (m * m) as f64;
    let (enhanced, double) = (Enhanced::new(m, k), Double::new(m, k));
    let (rate_enhanced, error) = rate(m, n, filters, queries, |d| enhanced.indices(d));
    assert!((rate_enhanced - pairs).abs() < 4.5 * error, "{rate_enhanced} ± {error}, {pairs}");
    let (rate_double, _) = rate(m, n, filters, queries, |d| double.indices(d));
    assert!(rate_double > 2.0 * pairs && rate_double < 8.0 * pairs, "{rate_double}, {pairs}");
}

#[test]
fn f3_f4_are_schemes_of_the_standard_filter() {
    let bloom = everbloom::catalog::by_slug("bloom").unwrap();
    let keys: Vec<[u8; 8]> = (0..100u64).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    for (slug, entry, scheme) in [
        ("double-hashing", "F3", Scheme::Double),
        ("enhanced-double-hashing", "F4", Scheme::Enhanced),
    ] {
        let technique = everbloom::catalog::by_slug(slug).unwrap();
        assert_eq!((technique.entry, technique.kind), (entry, EntryKind::Technique));
        let goal = Goal::default().set("m", 1 << 14).set("k", 5).set("scheme", scheme.name());
        let filter = bloom.build_from(&goal, &records).unwrap();
        // The cells it looks at are the scheme's, also after a trip through a file.
        let filter = Opener::new().decode(&to_bytes(&*filter)).unwrap();
        let probe = Probe::flat(scheme, 1 << 14, 5).unwrap();
        for key in &keys {
            let touched: Vec<u64> = filter.trace(key).iter().map(|t| t.index).collect();
            let digest = filter.head().hasher.digest(key);
            assert_eq!(touched, probe.collect(digest, Coincide::PerHash).to_vec());
            assert!(filter.contains(key));
        }
    }
}

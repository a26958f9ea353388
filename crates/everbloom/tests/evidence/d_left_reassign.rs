//! B2, the d-left filter with dynamic bit reassignment.

use everbloom::Kind;
use everbloom::fingerprints::DLeftReassign;
use everbloom::fingerprints::d_left_reassign::{Coding, VARIANT, fpr};
use everbloom::internals::filter::{Face, Filter as _, Seen};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;
use everbloom::internals::theory::tail::binomial_bounds;

/// The catalogue's: tables of 2^14 buckets.
const BUCKETS: u64 = 1 << 14;

fn filled(d: u32, width: u32, load: u64, seed: u64) -> DLeftReassign {
    let filter = DLeftReassign::with_shape(d, BUCKETS, width, Hasher::seeded(seed));
    let mut filter = filter.expect("a shape");
    (0..u64::from(d) * BUCKETS * load)
        .for_each(|key| _ = filter.insert(&key).expect("no overflow"));
    filter
}

/// The measured rate, held to the filter's own prediction.
fn rate(filter: &DLeftReassign, queries: u64) -> f64 {
    let passed = (1 << 40..(1 << 40) + queries).filter(|key| filter.contains(key)).count() as u64;
    let now = filter.now().fpr.expect("a formula");
    let (low, high) = binomial_bounds(queries, now, 1e-9);
    assert!((low..=high).contains(&passed), "{passed}, {low} to {high}");
    now
}

#[test]
fn b2_bits_of_an_entry() {
    let bits = |coding: Coding, payload| {
        (1..=8).map(|z| coding.entry_bits(payload, z)).collect::<Vec<_>>()
    };
    assert_eq!(bits(Coding::Plain, 60), [60, 30, 20, 15, 12, 10, 8, 7]);
    assert_eq!(bits(Coding::Plain, 124), [64, 62, 41, 31, 24, 20, 17, 15]);
    // ⌊(60 + log₂ z!)/z⌋: 1.58 bits more at z = 6, a whole one and half of the next.
    assert_eq!(bits(Coding::Sorted, 60), [60, 30, 20, 16, 13, 11, 10, 9]);
    assert_eq!(bits(Coding::Sorted, 124), [64, 62, 42, 32, 26, 22, 19, 17]);
    assert!((f64::log2(720.0) / 6.0 - 1.58).abs() < 0.005);
    assert_eq!(Coding::Plain.entry_bits(60, 0), 0);
}

#[test]
fn b2_loads_and_rate_at_six() {
    let filter = filled(4, 64, 6, 0);
    let mut histogram = [0u64; 9];
    filter.loads().for_each(|z| histogram[z as usize] += 1);
    for (z, printed) in [(4, 203.0), (5, 7943.0), (6, 49_037.0), (7, 8352.0f64)] {
        let off = (histogram[z] as f64 - printed).abs();
        assert!(off < 6.0 * printed.sqrt(), "{z} entries: {} buckets, {printed}", histogram[z]);
    }
    assert!(histogram[8] < 5, "{histogram:?}");
    assert_eq!(filter.memory().cells, 4 * BUCKETS * 64);
    assert!((0..24 * BUCKETS).step_by(7).all(|key| filter.contains(&key)));
    let now = rate(&filter, 500_000);
    assert!((now - 0.0316).abs() < 0.0004, "{now}");
    // The union bound is a little higher, fixed widths let six times as many pass, and a Bloom filter of that size
    // a sixth.
    let load = |z: usize| histogram[z] as f64 / (4 * BUCKETS) as f64;
    let union: f64 = (1..9)
        .map(|z| {
            4.0 * load(z) * z as f64 * f64::exp2(-f64::from(Coding::Plain.entry_bits(60, z as u64)))
        })
        .sum();
    assert!((union - 0.0321).abs() < 0.0003 && union > now, "{union}");
    assert_eq!(24.0 * f64::exp2(-7.0), 0.1875);
    assert!((bloom::fpr_best(64.0 / 6.0) - 0.0059).abs() < 0.0001);
    // The formula knows beforehand.
    assert!(
        (fpr(Coding::Plain, 4, 60, 6.0) / now - 1.0).abs() < 0.02,
        "{}",
        fpr(Coding::Plain, 4, 60, 6.0)
    );
}

#[test]
fn b2_rates_of_other_loads_and_widths() {
    for (d, width, load, printed, queries) in [
        (4, 64, 5, 0.0066, 500_000),
        (4, 64, 4, 0.00100, 500_000),
        (4, 128, 6, 4.45e-5, 1_000_000),
        (3, 64, 6, 0.0265, 300_000),
    ] {
        let filter = filled(d, width, load, 1);
        let now = rate(&filter, queries);
        assert!((now / printed - 1.0).abs() < 0.03, "{d} {width} {load}: {now} {printed}");
        let formula = fpr(Coding::Plain, d, width - 4, load as f64);
        assert!((formula / now - 1.0).abs() < 0.03, "{d} {width} {load}: {formula} {now}");
    }
}

/// Residents lose their low bits with every entry that comes, and are found all the while.
#[test]
fn b2_residents_are_shortened() {
    for width in [64, 128] {
        let mut filter =
            DLeftReassign::with_shape(1, 1, width, Hasher::default()).expect("a shape");
        let mut passing = Vec::new();
        for key in 0..8u64 {
            filter.insert(&key).expect("room");
            assert!((0..=key).all(|key| filter.contains(&key)), "{width} bits, {key}");
            passing.push((100..100_000u64).filter(|key| filter.contains(key)).count());
        }
        assert!(passing.is_sorted(), "shorter ones let more pass: {passing:?}");
        if width == 64 {
            // Eight of 7 bits.
            assert!((5000..7000).contains(&passing[7]) && passing[1] == 0, "{passing:?}");
        }
        let before = filter.clone();
        let refused = filter.insert(&8u64).expect_err("the ninth");
        assert_eq!((refused.kind(), &filter), (Kind::CapacityExceeded, &before));
    }
}

/// A set leaves keys out that pass already, a multiset takes every one.
#[test]
fn b2_sets_and_multisets() {
    let make = |form: &str| {
        let builder = DLeftReassign::builder().form(form).set("buckets", 2048);
        builder.build().expect("a shape")
    };
    let (mut set, mut multiset) = (make("set"), make("multiset"));
    for _ in 0..3 {
        set.insert("again").expect("room");
        multiset.insert("again").expect("room");
    }
    assert_eq!((set.loads().sum::<u64>(), multiset.loads().sum::<u64>()), (1, 3));
    assert_eq!((set.head().items, multiset.head().items), (1, 3));
    let left_out =
        (0..40_000u64).filter(|key| set.insert(key).expect("room") == Seen::Maybe).count();
    assert!(left_out > 5, "{left_out}");
    assert!((0..40_000u64).all(|key| set.contains(&key)));
    assert_eq!(set.loads().sum::<u64>(), 40_001 - left_out as u64);
}

#[test]
fn b2_planned_shapes_keep_their_rate() {
    for (n, p) in [(10_000, 0.03), (100_000, 0.01), (100_000, 1e-3), (50_000, 1e-5), (20_000, 1e-9)]
    {
        let goal = Goal::new(n, p);
        let expected = VARIANT.expect(&goal, &Load::items(n)).expect("planned").expect("a formula");
        assert!(expected.fpr <= p, "{n} {p}: {}", expected.fpr);
        let mut filter = DLeftReassign::with_rate(n, p).expect("a shape");
        (0..n).for_each(|key| _ = filter.insert(&key).expect("no overflow"));
        let now = filter.now().fpr.expect("a formula");
        assert!(now <= 1.05 * p && now > expected.fpr / 2.0, "{n} {p}: {now} {}", expected.fpr);
    }
    let wide = DLeftReassign::with_rate(1000, 1e-4).expect("a shape").memory().cells;
    let narrow = DLeftReassign::builder().items(1000).rate(1e-4).set("width", "64").build();
    assert!(wide <= narrow.expect("a shape").memory().cells);
}

/// Residents as a combination: longer entries, the same keys found, and a rate that comes close to a Bloom filter's.
#[test]
fn b2_sorted_sets() {
    let make = |width: &str, load: u64| {
        let builder = DLeftReassign::builder().form("sorted").set("buckets", 1 << 12);
        let mut filter = builder.set("width", width).build().expect("a shape");
        let n = 4 * (1 << 12) * load;
        (0..n).for_each(|key| _ = filter.insert(&key).expect("no overflow"));
        assert!((0..n).all(|key| filter.contains(&key)), "no false negatives");
        filter
    };
    let six = make("64", 6);
    let now = rate(&six, 200_000);
    // 4·Σ P(z)·z·2^−f(z) with the loads of the catalogue's check is 0.0125; a set leaves a few out.
    assert!((now - 0.0123).abs() < 0.0004, "{now}");
    let formula = fpr(Coding::Sorted, 4, 60, 6.0);
    assert!((formula / now - 1.0).abs() < 0.04, "{formula} {now}");
    assert!(formula < 0.41 * fpr(Coding::Plain, 4, 60, 6.0));
    let four = rate(&make("64", 4), 200_000);
    assert!((four / fpr(Coding::Sorted, 4, 60, 4.0) - 1.0).abs() < 0.04, "{four}");
    // At 16 bits a key a Bloom filter lets 4.6·10⁻⁴ pass.
    assert!(four < 1.25 * bloom::fpr_best(16.0), "{four}");
    let wide = make("128", 6).now().fpr.expect("a formula");
    assert!(wide < bloom::fpr_best(128.0 / 6.0), "{wide}");
}

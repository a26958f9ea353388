//! R8, the yes-no filter.

use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Flat;
use everbloom::known::yes_no::{Shape, YesNo, covers};
use everbloom::membership::Bloom;
use everbloom::{HashId, Kind};

const SHAPE: Shape = Shape { yes: Flat { m: 600, k: 5 }, no_filters: 3, no_bits: 32, no_k: 4 };
const N: u64 = 80;
const KNOWN: std::ops::Range<u64> = 1 << 32..(1 << 32) + 2000;

fn build(known: u64, shape: Shape, seed: u64) -> YesNo {
    YesNo::of(0..N, KNOWN.take(known as usize), shape, Hasher::seeded(seed)).unwrap()
}

fn passing(f: &YesNo, keys: impl Iterator<Item = u64>) -> u64 {
    keys.filter(|key| f.contains(key)).count() as u64
}

fn bloom(m: u64, k: u32, seed: u64) -> Bloom {
    let hasher = Hasher::with_id(HashId::Xxh3_128, seed).unwrap();
    let mut f = Bloom::with_shape(m, k, hasher).unwrap();
    (0..N).for_each(|key| {
        f.insert(&key);
    });
    f
}

#[test]
fn r8_formulas() {
    assert!((covers(4, 32, 4) - 2.781e-5).abs() < 5e-9, "1 of the 35,960 subsets");
    assert_eq!((covers(3, 32, 4), covers(32, 32, 4), covers(0, 4, 4)), (0.0, 1.0, 0.0));
}

#[test]
fn r8_known_false_positives_are_halved_and_no_member_is_lost() {
    let (mut before, mut after, seeds) = (0, 0, 200);
    for seed in 0..seeds {
        let f = build(2000, SHAPE, seed);
        assert_eq!(passing(&f, 0..N), N, "a false negative");
        let plain = build(2000, Shape { no_filters: 0, ..SHAPE }, seed);
        let (with, without) = (passing(&f, KNOWN), passing(&plain, KNOWN));
        assert!(with <= without);
        assert_eq!(with, f.remaining(), "what was stored is turned away");
        after += with;
        before += without;
    }
    let [before, after] = [before, after].map(|c| c as f64 / seeds as f64);
    // The catalogue's run: 54 and 28.
    assert!((before - 54.0).abs() < 2.5, "{before}");
    assert!((after - 28.0).abs() < 2.5, "{after}");
}

#[test]
fn r8_without_no_filters_it_is_a_standard_filter() {
    let f = build(2000, Shape { no_filters: 0, ..SHAPE }, 3);
    let standard = bloom(600, 5, 3);
    assert!(KNOWN.chain(0..N).all(|key| f.contains(&key) == standard.contains(&key)));
    assert_eq!(f.fill(), standard.fill());
    // k places of its own for every key, in each no-filter.
    let one =
        YesNo::of(0..1u64, 1..2, Shape { yes: Flat { m: 1, k: 1 }, ..SHAPE }, Hasher::default());
    assert_eq!(one.unwrap().stored(), 1);
}

#[test]
fn r8_without_the_test_members_would_be_lost() {
    // Everything that passes is written into the one no-filter: at 8 bits that covers members.
    let shape = Shape { yes: Flat { m: 100, k: 2 }, no_filters: 1, no_bits: 8, no_k: 2 };
    let mut refused = 0;
    for seed in 0..50 {
        let f = build(2000, shape, seed);
        assert_eq!(passing(&f, 0..N), N);
        refused += f.remaining();
    }
    assert!(refused > 50 * 100, "{refused}: the test must have something to refuse");
    // A member among the known non-members is refused by itself.
    let f = YesNo::of(0..N, 0..N, SHAPE, Hasher::default()).unwrap();
    assert_eq!((f.stored(), f.remaining(), passing(&f, 0..N)), (0, N, N));
}

#[test]
fn r8_later_members_are_tested_too() {
    let mut f = build(2000, SHAPE, 1);
    assert!(f.stored() > 10);
    let (mut taken, mut refused) = (0, 0);
    for key in (1 << 40)..(1 << 40) + 500u64 {
        let before = f.clone();
        match f.insert(&key) {
            Ok(_) => {
                assert!(f.contains(&key));
                taken += 1;
            }
            Err(e) => {
                assert_eq!(e.kind(), Kind::BadRecord);
                assert_eq!(f, before);
                refused += 1;
            }
        }
    }
    assert!(taken > 300 && refused > 0, "{taken} {refused}");
    assert_eq!(f.head().items, N + taken);
    assert_eq!(passing(&f, 0..N), N);
}

/// What it is for: the known non-members are those that were asked for yesterday, and most of today's
/// queries are for them again. At equal total bits, on queries that no build has seen.
#[test]
fn r8_beats_a_standard_filter_on_recurring_non_members() {
    let (mut ours, mut theirs, mut known, seeds) = (0, 0, (0.0, 0.0), 50);
    for seed in 0..seeds {
        let f = build(300, SHAPE, seed);
        // The description of the no-filters has to be paid for as well: three numbers.
        let m = f.memory().cells + 3 * 16;
        let standard = bloom(m, everbloom::internals::theory::bloom::best_k(m, N), seed);
        let mut today = Generator::new(seed);
        for _ in 0..10_000 {
            let non_member = today.unit() < 0.1;
            let known = KNOWN.start + today.below(300);
            let key = if non_member { today.next_u64() | 1 << 63 } else { known };
            ours += u64::from(f.contains(&key));
            theirs += u64::from(standard.contains(&key));
        }
        known.0 += f.remaining() as f64 / seeds as f64;
        let wrong = KNOWN.take(300).filter(|key| standard.contains(key)).count();
        known.1 += wrong as f64 / seeds as f64;
    }
    assert!(ours * 2 < theirs, "{ours} {theirs}");
    assert!(known.0 < 0.5 && (2.5..4.5).contains(&known.1), "{known:?}");
}

/// Where not to use it: non-members meet a smaller yes-filter.
#[test]
fn r8_loses_where_everybody_is_a_non_member() {
    let (mut ours, mut theirs, mut now, queries) = (0, 0, 0.0, 50_000);
    for seed in 0..40 {
        let f = build(500, SHAPE, seed);
        let standard = bloom(696, 6, seed);
        ours += passing(&f, (1 << 40)..(1 << 40) + queries);
        theirs +=
            ((1 << 40)..(1 << 40) + queries).filter(|key| standard.contains(key)).count() as u64;
        now += f.now().fpr.unwrap() * queries as f64;
    }
    assert!(ours as f64 > 1.3 * theirs as f64, "{ours} {theirs}");
    assert!((ours as f64 / now - 1.0).abs() < 0.04, "{ours} {now}");
}

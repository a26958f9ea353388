//! R1, the multi-class filter.

use everbloom::Kind;
use everbloom::internals::filter::{Filter as _, Record, Value};
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::membership::Bloom;
use everbloom::weighted::MultiClass;
use everbloom::weighted::multi_class::{
    VARIANT, constant, constant_for, expected_false_positives, probes,
};

/// The entry's universe: 100 keys with a prior of 0.5, 1000 with 0.05, in 1000 bits.
const UNIVERSE: [(f64, f64); 2] = [(100.0, 0.5), (1000.0, 0.05)];

fn prior(key: u64) -> f64 {
    if key < 100 { 0.5 } else { 0.05 }
}

fn expected(k: [u32; 2]) -> f64 {
    expected_false_positives(1000.0, &[(100.0, 0.5, k[0]), (1000.0, 0.05, k[1])])
}

#[test]
fn r1_probes_and_expected_false_positives() {
    let c = constant(1000.0, &UNIVERSE);
    let near = |value: f64, printed: f64, digit: f64| {
        assert!((value - printed).abs() <= digit, "{value} against {printed}");
    };
    near(c, 4.8075, 1e-4);
    near(c + (0.95f64 / 0.05).log2(), 9.0554, 1e-4);
    assert_eq!([probes(0.5, c, 64), probes(0.05, c, 64)], [5, 9]);
    near(expected([5, 9]), 3.5893, 1e-4);
    near(expected([7, 7]), 8.1937, 1e-4);
    near(1.0 - f64::exp(-(50.0 * 5.0 + 50.0 * 9.0) / 1000.0), 0.50341, 1e-5);
    // The real optimum is 3.5710, and (5, 9) the best pair of whole numbers.
    near((50.0 + 950.0 / 19.0) * 0.5f64.powf(c), 3.5710, 1e-4);
    let pairs = (1..20).flat_map(|a| (1..20).map(move |b| [a, b]));
    assert_eq!(pairs.min_by(|a, b| expected(*a).total_cmp(&expected(*b))), Some([5, 9]));
    // Members are a sample of the universe: the same C from 50 + 50 of them.
    let members = (0..100).map(|i| if i < 50 { 0.5 } else { 0.05 });
    near(constant_for(1000.0, members, 64), c, 1e-6);
}

#[test]
fn r1_priors_at_the_edges() {
    assert_eq!(probes(1.0, 5.0, 64), 0, "always yes");
    assert_eq!(probes(0.0, 5.0, 64), 64, "as many as there are");
    assert_eq!(probes(0.999, 5.0, 64), 1, "never none by rounding");
    assert_eq!(probes(0.5, -30.0, 64), 1);
    let mut filter = MultiClass::with_shape(1000, 5.0, 64, Hasher::default()).unwrap();
    assert!(filter.contains("anybody", Some(1.0)).expect("a prior"));
    for bad in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(filter.insert("x", bad).expect_err("no prior").kind(), Kind::BadRecord);
        assert_eq!(filter.contains("x", Some(bad)).expect_err("no prior").kind(), Kind::BadRecord);
    }
    assert_eq!(filter.bits().ones(), 0, "refused insertions change nothing");
}

/// False positives of one filter among the non-members of the universe, `scale` times as large:
/// multi-class, and standard with k = 7 at no fewer bits in all.
fn false_positives(seed: u64, scale: u64, member: &dyn Fn(u64) -> bool) -> (u64, u64) {
    let hasher = Hasher::seeded(seed);
    let c = constant(1000.0, &UNIVERSE);
    let mut filter = MultiClass::with_shape(1000 * scale, c, 64, hasher.clone()).unwrap();
    // What the file says of C and the probes is paid for in bits.
    let mut bloom = Bloom::with_shape(1000 * scale + 128, 7, hasher).unwrap();
    for key in (0..1100 * scale).filter(|key| member(*key)) {
        filter.insert(&key, prior(key / scale)).expect("a prior");
        bloom.insert(&key);
    }
    assert!(filter.memory().total() <= bloom.memory().total());
    let non_members = || (0..1100 * scale).filter(|key| !member(*key));
    let passes = |key: &u64| filter.contains(key, Some(prior(key / scale))).expect("a prior");
    let wrong = non_members().filter(passes).count();
    (wrong as u64, non_members().filter(|key| bloom.contains(key)).count() as u64)
}

/// Exactly the expected number of members of each class.
fn typical(key: u64) -> bool {
    if key < 100 { key < 50 } else { key < 150 }
}

#[test]
fn r1_false_positives_as_measured() {
    // With exactly 50 + 50 members, as the formula has it: 3.61 of 1000 non-members, where one filter's
    // number has a standard deviation of 2.7.
    let sum: u64 = (0..2000).map(|seed| false_positives(seed, 1, &typical).0).sum();
    let mean = sum as f64 / 2000.0;
    assert!((mean - 3.61).abs() < 4.0 * 2.7 / 2000f64.sqrt(), "{mean}");

    // Members drawn by their priors: 3.93, since crowded filters cost more than empty ones save.
    let mut drawn = 0;
    for seed in 0..2000 {
        let mut coins = Generator::new(seed);
        let members: Vec<bool> = (0..1100).map(|key| coins.unit() < prior(key)).collect();
        drawn += false_positives(seed, 1, &|key| members[key as usize]).0;
    }
    let mean = drawn as f64 / 2000.0;
    assert!((mean - 3.93).abs() < 4.0 * 3.2 / 2000f64.sqrt(), "{mean}");
}

#[test]
fn r1_half_the_false_positives_at_equal_bits() {
    let (mut ours, mut plain) = (0, 0);
    for seed in 0..100 {
        let (a, b) = false_positives(seed, 10, &|key| typical(key / 10));
        (ours, plain) = (ours + a, plain + b);
    }
    assert!(ours * 2 < plain, "{ours} against {plain}");
}

#[test]
fn r1_not_when_priors_are_guesses() {
    // Members and non-members share all priors alike: non-members of high prior pass almost freely.
    let guess = |key: u64| (key % 20) as f64 / 20.0 + 0.02;
    let priors = (0..1000u64).map(guess);
    let c = constant_for(10_000.0, priors, 64);
    let mut filter = MultiClass::with_shape(10_000, c, 64, Hasher::default()).unwrap();
    let mut bloom = Bloom::with_shape(10_000, 7, Hasher::default()).unwrap();
    for key in 0..1000u64 {
        filter.insert(&key, guess(key)).expect("a prior");
        bloom.insert(&key);
    }
    let non_members = || 1 << 40..(1u64 << 40) + 100_000;
    let ours =
        non_members().filter(|key| filter.contains(key, Some(guess(*key))).expect("a prior"));
    let (ours, plain) = (ours.count(), non_members().filter(|key| bloom.contains(key)).count());
    assert!(ours > 2 * plain, "{ours} against {plain} of 100,000");
}

#[test]
fn r1_sets_as_many_bits_as_its_prior_says_and_they_nest() {
    for (prior, k) in [(0.5, 5), (0.05, 9), (0.9, 2), (1.0, 0), (0.25, 6)] {
        let mut ones = 0;
        for key in 0..200u64 {
            let mut filter =
                MultiClass::with_shape(1_000_000, 4.8075, 64, Hasher::default()).unwrap();
            assert_eq!(filter.probes(prior), k);
            filter.insert(&key, prior).expect("a prior");
            ones += filter.bits().ones();
            // Any higher prior is a prefix of the same probes; none at all uses the least.
            assert!((0..=20).all(|i| {
                let other = f64::from(i) / 20.0;
                other < prior || filter.contains(&key, Some(other)).expect("a prior")
            }));
            assert!(filter.contains(&key, None).expect("no prior is needed"));
        }
        assert!(ones <= 200 * u64::from(k) && ones + 2 >= 200 * u64::from(k), "{ones}, k = {k}");
    }
}

#[test]
fn r1_false_negatives_begin_where_the_condition_ends() {
    let mut filter = MultiClass::with_shape(2000, 5.0, 64, Hasher::default()).unwrap();
    for key in 0..200u64 {
        filter.insert(&key, 0.5).expect("a prior");
    }
    let found = |prior| (0..200u64).filter(|k| filter.contains(k, prior).expect("a prior")).count();
    assert_eq!([found(Some(0.5)), found(Some(0.8)), found(None)], [200; 3]);
    assert!(found(Some(0.05)) < 50, "a fallen prior asks for probes that were never set");
}

#[test]
fn r1_built_from_records_it_is_half_full_and_rates_follow_the_prior() {
    let n = 20_000u64;
    let keys: Vec<[u8; 8]> = (0..2 * n).map(u64::to_le_bytes).collect();
    let weight = |i: u64| [0.5, 0.05, 0.2, 0.9][(i % 4) as usize];
    let record = |i: u64| Record::key(&keys[i as usize]).with(Some(Value::Weight(weight(i))));
    let records: Vec<_> = (0..n).map(record).collect();
    let built = VARIANT.build_from(&Goal::new(n, 0.01), &records).expect("a filter");
    let fill = built.fill().expect("a fill");
    assert!((fill - 0.5).abs() < 0.02, "{fill}");
    let typed: &dyn std::any::Any = &*built;
    let filter: &MultiClass = typed.downcast_ref().expect("multi-class");
    let mut present = [0u64; 4];
    for i in n..2 * n {
        let answer = built.query(record(i)).expect("a record");
        present[(i % 4) as usize] +=
            u64::from(answer.verdict != everbloom::internals::filter::Verdict::Absent);
    }
    for (class, count) in (0..).zip(present) {
        let rate = filter.fpr_at(Some(weight(class)));
        let (low, high) = everbloom::internals::theory::tail::binomial_bounds(n / 4, rate, 1e-9);
        assert!((low..=high).contains(&count), "class {class}: {count}, rate {rate}");
    }
    let bare = Record::key(b"x").with(None);
    assert_eq!(
        VARIANT.build_from(&Goal::new(9, 0.1), &[bare]).expect_err("no prior").kind(),
        Kind::BadRecord
    );
}

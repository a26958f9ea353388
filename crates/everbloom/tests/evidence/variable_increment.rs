//! R15, the variable-increment counting filter.

use everbloom::Kind;
use everbloom::counting::variable_increment::{Cells, Rule, Sequence, VARIANT};
use everbloom::counting::{Counting, VariableIncrement};
use everbloom::internals::cells::Mark;
use everbloom::internals::filter::{Filter as _, Seen};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::bloom;
use everbloom::membership::Bloom;

use super::numbers::{self, near};

fn bh(order: u32) -> Rule {
    Rule::Sequence(Sequence::new(&[1, 4, 8, 13], order).expect("a sequence"))
}

fn filled(m: u64, k: u32, rule: Rule, n: u64, seed: u64) -> VariableIncrement {
    let mut filter = VariableIncrement::with_shape(m, k, rule, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn measured(m: u64, k: u32, rule: &Rule, n: u64) -> f64 {
    numbers::measured(
        n,
        |seed| filled(m, k, rule.clone(), n, seed),
        |filter, key| filter.contains(key),
    )
}

#[test]
fn r15_which_sequences_are_b_l() {
    let values = [1, 4, 8, 13];
    assert!(Sequence::new(&values, 2).is_ok() && Sequence::new(&values, 3).is_ok());
    let refused = Sequence::new(&values, 4).expect_err("16, 25 and 28 repeat");
    assert_eq!(refused.kind(), Kind::BadParameter);
    assert!(refused.to_string().contains("two sums of 4 are 16"), "{refused}");
    // Mian and Chowla's greedy sequence of order 2.
    assert_eq!(
        Sequence::of_size(6, 2).expect("a sequence"),
        Sequence::new(&[1, 2, 4, 8, 13, 21], 2).expect("a sequence")
    );
    assert!(Sequence::of_size(8, 4).is_ok());
    for bad in [&[][..], &[0, 1], &[2, 1], &[1, 1], &[5000]] {
        assert!(Sequence::new(bad, 2).is_err(), "{bad:?}");
    }
}

#[test]
fn r15_formulas() {
    let f = |rule: Rule| rule.fpr(8000, 1000, 5);
    near(f(bh(3)), 6.598e-5, 1e-4);
    near(f(bh(2)), 8.955e-5, 1e-4);
    near(f(Rule::Least(1)), 0.021_684_1, 1e-5);
    near(f(Rule::Least(1)), bloom::fpr_classic(8000.0, 1000.0, 5.0), 1e-9);
    near(f(Rule::Least(2)), 1.861e-3, 3e-4);
    near(f(Rule::Least(4)), 3.005e-4, 3e-4);
    near(f(Rule::Least(8)), 8.907e-5, 1e-4);
    near(Rule::Least(4).fpr(3000, 1000, 3), 0.03512, 2e-4);
}

#[test]
fn r15_rates_as_measured() {
    // Counts of passes are close to Poisson: four standard deviations and the fill's spread.
    for (rule, m, k, printed) in [
        (bh(3), 8000, 5, 6.598e-5),
        (bh(2), 8000, 5, 8.955e-5),
        (Rule::Least(4), 8000, 5, 3.005e-4),
        (Rule::Least(2), 8000, 5, 1.861e-3),
        (Rule::Least(3), 3000, 3, Rule::Least(3).fpr(3000, 1000, 3)),
        (Rule::Least(4), 3000, 3, 0.0352),
        (bh(3), 3000, 3, bh(3).fpr(3000, 1000, 3)),
    ] {
        let rate = measured(m, k, &rule, 1000);
        let sd = (printed / 1e6f64).sqrt() + 0.01 * printed;
        assert!((rate - printed).abs() < 4.0 * sd, "{rule:?}: {rate} against {printed}");
    }
}

#[test]
fn r15_fewer_false_positives_than_plain_counters_at_equal_bits() {
    // 40 bits a key: 10,000 counters of 4 bits with k = 7, or 6,667 of 6 bits.
    near(bloom::fpr_classic(10_000.0, 1000.0, 7.0), 0.008_196, 2e-3);
    near(Rule::Least(4).fpr(6667, 1000, 7), 5.739e-4, 3e-4);
    let (mut plain, mut variable) = (0, 0);
    for seed in 0..20 {
        let mut counting = Counting::with_shape(10_000, 7, 4, Hasher::seeded(seed)).unwrap();
        // A few cells fewer pay for what the file says of them.
        let filter = filled(6640, 7, Rule::Least(4), 1000, seed);
        (0..1000u64).for_each(|key| {
            counting.insert(&key);
        });
        assert!(filter.memory().total() <= counting.memory().total());
        for key in 1 << 40..(1u64 << 40) + 50_000 {
            plain += u64::from(counting.contains(&key));
            variable += u64::from(filter.contains(&key));
        }
    }
    assert!(variable * 10 < plain, "{variable} against {plain} of a million");
}

#[test]
fn r15_not_for_keys_that_come_many_times_over() {
    // Ten times each, then ten times out again: ten increments fill six bits, and what sticks stays,
    // while plain counters reach fifteen.
    let mut filter =
        VariableIncrement::with_shape(6600, 7, Rule::Least(4), Hasher::default()).unwrap();
    let mut counting = Counting::with_shape(10_000, 7, 4, Hasher::default()).unwrap();
    for key in (0..1000u64).flat_map(|key| [key; 10]) {
        filter.insert(&key);
        counting.insert(&key);
    }
    for key in (0..1000u64).flat_map(|key| [key; 10]) {
        filter.remove(&key).expect("a member, or stuck");
        counting.remove(&key).expect("a member, or stuck");
    }
    let left = |passed: &dyn Fn(&u64) -> bool| (0..1000u64).filter(|key| passed(key)).count();
    let (ours, plain) = (left(&|key| filter.contains(key)), left(&|key| counting.contains(key)));
    assert!(ours > 10 * plain.max(1), "{ours} are left of 1,000, {plain} in plain counters");
}

#[test]
fn r15_not_where_keys_only_come() {
    // Without removals the same bits make a standard filter that lets nobody through.
    let filter = filled(6600, 7, Rule::Least(4), 1000, 0);
    let mut bloom = Bloom::with_shape(39_600, 27, Hasher::default()).unwrap();
    (0..1000u64).for_each(|key| {
        bloom.insert(&key);
    });
    assert!(bloom.memory().total() <= filter.memory().total());
    let non_members = || 1 << 40..(1u64 << 40) + 100_000;
    assert!(non_members().filter(|key| filter.contains(key)).count() > 20);
    assert_eq!(non_members().filter(|key| bloom.contains(key)).count(), 0);
}

#[test]
fn r15_dl_beats_bh_at_equal_bits() {
    let bits = |form| {
        let goal = Goal::new(100_000, 0.001).set("form", form);
        let load = Load::items(100_000);
        let expect = VARIANT.expect(&goal, &load).expect("a plan").expect("a formula");
        assert!(expect.fpr < 0.001 * 1.02, "{form}: {}", expect.fpr);
        expect.bits
    };
    let counting = everbloom::catalog::by_slug("counting").expect("in the list");
    let plain = counting.expect(&Goal::new(100_000, 0.001), &Load::default());
    let plain = plain.expect("a plan").expect("a formula").bits;
    assert!(bits("dl") < bits("bh") && bits("bh") < plain, "{} {} {plain}", bits("dl"), bits("bh"));
}

#[test]
fn r15_each_hash_adds_one_increment() {
    let (mut seen_dl, mut seen_bh) = ([0u64; 4], [0u64; 4]);
    for key in 0..2000u64 {
        let mut filter =
            VariableIncrement::with_shape(100_000, 5, Rule::Least(4), Hasher::default()).unwrap();
        assert_eq!(filter.insert(&key), Seen::New);
        let Cells::Sums(_, sums) = filter.cells() else { panic!("dl") };
        // Distinct cells but for one key in ten thousand.
        let values: Vec<u64> = sums.iter().filter(|v| *v != 0).collect();
        assert!(values.len() == 5 || values.len() == 4 && values.iter().any(|v| *v >= 8));
        values.iter().filter(|v| **v < 8).for_each(|v| seen_dl[(v - 4) as usize] += 1);

        let mut filter = VariableIncrement::with_shape(1000, 3, bh(3), Hasher::default()).unwrap();
        filter.insert(&key);
        let Cells::Pairs(_, pairs) = filter.cells() else { panic!("bh") };
        let mut hashes = 0;
        for mark in pairs.iter() {
            let Mark::Known { count, mark } = mark else { panic!("lost") };
            hashes += count;
            if count == 1 {
                let place = [1, 4, 8, 13].iter().position(|v| *v == mark);
                seen_bh[place.expect("an increment of the sequence")] += 1;
            }
        }
        assert_eq!(hashes, 3);
    }
    // Increments are uniform: 10,000 and 6,000 draws over four, standard deviations 43 and 34.
    assert!(seen_dl.iter().all(|s| s.abs_diff(2500) < 220), "{seen_dl:?}");
    assert!(seen_bh.iter().all(|s| s.abs_diff(1500) < 180), "{seen_bh:?}");
}

#[test]
fn r15_insert_all_then_remove_all_leaves_nothing() {
    for rule in [Rule::Least(4), bh(3)] {
        let mut filter = filled(8000, 5, rule, 1000, 3);
        assert_eq!(filter.cells().counters().saturated(), 0);
        for key in 0..1000u64 {
            filter.remove(&key).expect("a member");
            assert!((key + 1..1000).step_by(37).all(|other| filter.contains(&other)));
        }
        assert_eq!(filter.cells().counters().nonzero(), 0);
        assert_eq!(filter.now().fpr, Some(0.0));
    }
}

#[test]
fn r15_refused_removals_change_nothing_and_overflow_loses_nobody() {
    for rule in [Rule::Least(4), bh(2)] {
        // So few cells that hashes of one key coincide and counters overflow.
        let mut filter = filled(12, 6, rule, 4, 5);
        for key in 100..400u64 {
            let before = filter.clone();
            if let Err(e) = filter.remove(&key) {
                assert_eq!(e.kind(), Kind::NotDeletable);
                assert_eq!(filter, before);
            } else {
                filter = before;
            }
        }
        (0..60u64).for_each(|key| {
            filter.insert(&key);
        });
        assert!(filter.cells().counters().saturated() > 6);
        (0..50u64).for_each(|key| filter.remove(&key).expect("a member"));
        assert!((50..60u64).all(|key| filter.contains(&key)));
    }
}

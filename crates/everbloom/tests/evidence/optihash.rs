//! R4, optihash.

use everbloom::internals::filter::{Face, Filter};
use everbloom::internals::hash::Hasher;
use everbloom::internals::theory::bloom as theory;
use everbloom::internals::theory::tail::binomial_bounds;
use everbloom::known::{Optihash, optihash};
use everbloom::membership::Bloom;

/// Members 0..members; known queries 1000..1000 + queries.
fn filter(m: u64, members: u64, queries: u64, bits: (u32, u32), seed: u64) -> Optihash {
    let (members, queries): (Vec<u64>, Vec<u64>) =
        ((0..members).collect(), (1000..1000 + queries).collect());
    Optihash::of(&members, &queries, m, bits.0, bits.1, Hasher::seeded(seed)).unwrap()
}

fn wrong(filter: &Optihash, queries: u64) -> usize {
    (1000..1000 + queries).filter(|q| filter.contains(q)).count()
}

/// False positives on the known queries under one code, without the filter's help.
fn wrong_under(code: u64, m: u64, members: u64, queries: u64, seed: u64) -> usize {
    let hasher = Hasher::seeded(seed);
    let index = |key: u64| {
        let h = hasher.digest(&key).salted(code).h1;
        (u128::from(h) * u128::from(m)) >> 64
    };
    let hit: std::collections::HashSet<u128> = (0..members).map(index).collect();
    (1000..1000 + queries).filter(|q| hit.contains(&index(*q))).count()
}

#[test]
fn r4_formula_values() {
    let fill = theory::fill(240.0, 10.0);
    assert!((fill - 0.040894).abs() < 5e-7, "{fill}");
    assert!((20.0 * fill - 0.8179).abs() < 5e-5);
    assert!((optihash::clear_chance(fill, 20, 1) - 0.43384).abs() < 5e-6);
    assert_eq!(optihash::clear_chance(fill, 20, 256), 1.0);
    // All 256 fail with chance (1 − 0.43384)^256 ≈ 6e-64.
    let all_fail = (256.0 * (-0.43384f64).ln_1p()).exp();
    assert!((5e-64..8e-64).contains(&all_fail), "{all_fail}");
    assert!((optihash::clear_chance(fill, 20, 2) - (1.0 - 0.56616 * 0.56616)).abs() < 1e-5);
}

#[test]
fn r4_no_wrong_answer_on_the_known_queries() {
    for seed in 0..300 {
        let filter = filter(240, 10, 20, (4, 4), seed);
        assert_eq!(wrong(&filter, 20), 0);
        assert!((0..10u64).all(|key| filter.contains(&key)));
        assert!(filter.alpha() < 16 && filter.beta() < 16);
        assert_eq!(filter.w().len(), 248, "α and β are sent too");
        assert_eq!(filter.memory().cells, 248);
    }
}

#[test]
fn r4_one_candidate_is_binomial() {
    // Without a choice, |F| is binomial(20, 0.0409): 4.5 standard errors over 5,000 filters.
    let counts: Vec<usize> =
        (0..5000).map(|seed| wrong(&filter(240, 10, 20, (0, 0), seed), 20)).collect();
    let mean = counts.iter().sum::<usize>() as f64 / 5000.0;
    assert!((mean - 0.8179).abs() < 4.5 * (0.8179f64 * 0.9591 / 5000.0).sqrt(), "{mean}");
    let clear = counts.iter().filter(|c| **c == 0).count() as f64 / 5000.0;
    assert!((clear - 0.43384).abs() < 4.5 * (0.43384f64 * 0.56616 / 5000.0).sqrt(), "{clear}");
}

#[test]
fn r4_the_first_minimum_wins_and_is_never_worse_than_none() {
    // So crowded that most searches end above zero: ρ = 0.28, E|F| = 16.8.
    let (m, members, queries) = (60, 20, 60);
    let mut gains = 0;
    for seed in 0..40 {
        let filter = filter(m, members, queries, (2, 3), seed);
        let each = (0..32).map(|code| (wrong_under(code, m, members, queries, seed), code));
        let (fewest, first) = each.min().unwrap();
        assert_eq!(filter.alpha() << 3 | filter.beta(), first, "seed {seed}");
        assert_eq!(wrong(&filter, queries), fewest);
        gains += wrong_under(0, m, members, queries, seed) - fewest;
        assert!((0..members).all(|key| filter.contains(&key)));
    }
    // Two standard deviations of 3.5 each, on average.
    assert!(gains > 40 * 4, "{gains}");
}

#[test]
fn r4_both_numbers_bend_the_hash() {
    // β alone must change |F|, and so must α: neither only rotates v.
    for codes in [0..16u64, 16..32] {
        let counts: std::collections::HashSet<usize> =
            codes.map(|code| wrong_under(code, 60, 20, 60, 1)).collect();
        assert!(counts.len() > 4, "{counts:?}");
    }
    for bits in [(8, 0), (0, 8)] {
        assert!((0..50).all(|seed| wrong(&filter(240, 10, 20, bits, seed), 20) == 0));
    }
}

#[test]
fn r4_members_among_the_queries_and_repetitions_do_not_count() {
    let members: Vec<u64> = vec![1, 2, 3, 3, 3, 1];
    let queries: Vec<u64> = vec![3, 2, 100, 100, 101, 1];
    let plain = Optihash::of(&[1u64, 2, 3], &[100, 101], 40, 3, 3, Hasher::default()).unwrap();
    let mixed = Optihash::of(&members, &queries, 40, 3, 3, Hasher::default()).unwrap();
    assert_eq!(mixed.w(), plain.w());
    assert!(members.iter().all(|key| mixed.contains(key)));
    assert_eq!(mixed.head().items, 6, "records");
    // Nothing to avoid, nothing to search.
    let free = Optihash::of(&[1u64, 2], &[], 40, 3, 3, Hasher::default()).unwrap();
    assert_eq!((free.alpha(), free.beta()), (0, 0));
}

#[test]
fn r4_non_members_meet_the_fill() {
    let filter = filter(240, 30, 20, (4, 4), 5);
    let fill = filter.w().ones_in(0, 240) as f64 / 240.0;
    assert_eq!(filter.now().fpr, Some(fill));
    let hits = (1 << 40..(1 << 40) + 400_000).filter(|key: &u64| filter.contains(key)).count();
    let (low, high) = binomial_bounds(400_000, fill, 1e-9);
    assert!((low..=high).contains(&(hits as u64)), "{hits}");
}

#[test]
fn r4_where_to_use_it_and_where_not() {
    // 20 members, 40 known queries, 112 bits and 16 for α and β: 128 sent, as the standard filter has.
    let (mut ours, mut theirs, mut our_non_members, mut their_non_members) = (0, 0, 0, 0);
    for seed in 0..50 {
        let packet = filter(112, 20, 40, (8, 8), seed);
        let mut plain =
            Bloom::with_shape(128, theory::best_k(128, 20), Hasher::seeded(seed)).unwrap();
        (0..20u64).for_each(|key| {
            plain.insert(&key);
        });
        assert_eq!(packet.memory().total(), plain.memory().total());
        ours += wrong(&packet, 40);
        theirs += (1000..1040u64).filter(|q| plain.contains(q)).count();
        let non_members = 1 << 40..(1 << 40) + 2000u64;
        our_non_members += non_members.clone().filter(|key| packet.contains(key)).count();
        their_non_members += non_members.filter(|key| plain.contains(key)).count();
    }
    // Known queries: none, where the standard filter errs on 4.6 % of 40. The idea allows no queries
    // held out: it is made for those that are known.
    assert!(ours == 0 && theirs > 50, "{ours} against {theirs}");
    // Non-members: 16 % against 4.6 %.
    assert!(
        our_non_members > 2 * their_non_members,
        "{our_non_members} against {their_non_members}"
    );
}

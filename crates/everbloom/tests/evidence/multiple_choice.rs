//! F5, d choices and d-left.

use everbloom::Kind;
use everbloom::counting::ChoiceTable;
use everbloom::internals::hash::Hasher;
use everbloom::internals::solve::Rule;
use everbloom::internals::theory::choice::{
    load_tails, load_tails_to_the_left, max_load, max_load_of_choices, max_load_to_the_left,
};

const N: u32 = 100_000;

fn filled(d: u32, rule: Rule, seed: u64) -> ChoiceTable {
    let mut table = ChoiceTable::new(N, d, rule, Hasher::seeded(seed)).expect("d divides N");
    (0..u64::from(N)).for_each(|key| table.insert(&key));
    table
}

const TABLES: u64 = 20;

/// Tables of one rule and one number of choices: their largest loads, and how many of all their buckets have
/// at least 1, 2, 3 keys.
struct Filled {
    maxima: Vec<usize>,
    at_least: [u64; 3],
}

impl Filled {
    fn new(d: u32, rule: Rule) -> Self {
        let mut all = Self { maxima: Vec::new(), at_least: [0; 3] };
        for seed in 0..TABLES {
            let table = filled(d, rule, seed);
            all.maxima.push(table.max_load());
            for load in table.loads() {
                all.at_least.iter_mut().take(load).for_each(|count| *count += 1);
            }
        }
        all
    }

    fn all_between(&self, least: usize, most: usize) -> bool {
        self.maxima.iter().all(|max| (least..=most).contains(max))
    }

    fn assert_tails(&self, what: &str, tails: &[f64]) {
        // Loads of which a hundredth of a bucket is expected are not met in twenty tables, or once;
        // loads of which a hundred are expected are met in all.
        let met = |least: f64| tails.iter().take_while(|s| **s * f64::from(N) > least).count();
        assert!(self.all_between(met(100.0), met(0.01)), "{what}: {:?}, {tails:?}", self.maxima);
        for (i, (seen, share)) in self.at_least.iter().zip(tails).enumerate() {
            // Shares of buckets spread no more than independent ones would.
            let all = TABLES as f64 * f64::from(N);
            let (mean, sd) = (share * all, (all * share * (1.0 - share)).sqrt());
            let off = (*seen as f64 - mean).abs();
            assert!(off < 5.0 * sd, "{what}, at least {}: {seen}, {mean} ± {sd}", i + 1);
        }
    }
}

#[test]
fn f5_loads_follow_the_fluid_limit() {
    for (rule, d, tails, (least, most)) in [
        (Rule::Anywhere, 1, load_tails(1.0, 1, 12), (6, 11)),
        (Rule::Anywhere, 2, load_tails(1.0, 2, 12), (3, 4)),
        (Rule::Anywhere, 3, load_tails(1.0, 3, 12), (3, 3)),
        (Rule::Left, 2, load_tails_to_the_left(1.0, 2, 12), (3, 3)),
        (Rule::Left, 4, load_tails_to_the_left(1.0, 4, 12), (2, 2)),
    ] {
        let filled = Filled::new(d, rule);
        assert!(filled.all_between(least, most), "{rule:?} {d}: {:?}", filled.maxima);
        filled.assert_tails(&format!("{rule:?} {d}"), &tails);
    }
}

#[test]
fn f5_max_loads_to_leading_order() {
    // Up to a constant: the fluid limits say more.
    let n = f64::from(N);
    assert!((max_load(n) - 4.71).abs() < 0.01);
    assert!((max_load_of_choices(n, 2) - 3.53).abs() < 0.01);
    assert!((max_load_to_the_left(n, 2) - 2.54).abs() < 0.01);
    assert!((max_load_to_the_left(n, 4) - 0.931).abs() < 0.001);
}

#[test]
fn f5_one_choice_fails_the_test_that_two_pass() {
    let within = |d, rule, most: usize| (0..5).all(|seed| filled(d, rule, seed).max_load() <= most);
    assert!(within(2, Rule::Anywhere, 4) && within(2, Rule::Left, 3));
    assert!(!within(1, Rule::Anywhere, 4) && !within(1, Rule::Left, 4));
}

#[test]
fn f5_ties_and_tables_belong_to_the_rule() {
    // Always the left of equals fills the left table more; ties at random have no sides.
    let halves = |rule| {
        let loads: Vec<usize> = filled(2, rule, 7).loads().collect();
        let (left, right) = loads.split_at(loads.len() / 2);
        (left.iter().sum::<usize>(), right.iter().sum::<usize>())
    };
    let (left, right) = halves(Rule::Left);
    assert!(left > right + 10_000, "{left} {right}");
    let (first, second) = halves(Rule::Anywhere);
    assert!(first.abs_diff(second) < 1500, "{first} {second}");
}

#[test]
fn f5_keys_are_found_in_one_of_their_buckets() {
    for rule in [Rule::Anywhere, Rule::Left] {
        let mut table = filled(4, rule, 3);
        assert!((0..u64::from(N)).all(|key| table.contains(&key)));
        assert!((1 << 40..(1u64 << 40) + 1000).all(|key| !table.contains(&key)));
        for key in 0..1000u64 {
            table.remove(&key).expect("a member");
            assert!(!table.contains(&key));
            assert_eq!(table.remove(&key).expect_err("gone").kind(), Kind::NotDeletable);
        }
        assert_eq!(table.loads().sum::<usize>(), N as usize - 1000);
    }
}

#[test]
fn f5_deletions_undo_the_guarantee() {
    // Ten keys a bucket; then all leave but those of one bucket. Of so few keys no insertion would put
    // two together.
    let mut table = ChoiceTable::new(1000, 2, Rule::Left, Hasher::default()).expect("even");
    (0..10_000u64).for_each(|key| table.insert(&key));
    let bucket = table.bucket_of(&0u64);
    for key in 0..10_000u64 {
        if table.bucket_of(&key) != bucket {
            table.remove(&key).expect("a member");
        }
    }
    let left = table.loads().sum::<usize>();
    assert!(table.max_load() == left && left >= 9, "{left}");
    let mut fresh = ChoiceTable::new(1000, 2, Rule::Left, Hasher::default()).expect("even");
    (0..left as u64).for_each(|key| fresh.insert(&key));
    assert_eq!(fresh.max_load(), 1);
}

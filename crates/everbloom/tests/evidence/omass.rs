//! I7, OMASS.

use everbloom::Kind;
use everbloom::grouping::Omass;
use everbloom::grouping::omass::{VARIANT, rate};
use everbloom::internals::filter::{Answer, Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::tail;

/// The entry's shape: 12,500 words of 64 bits in 4 sub-blocks of 16.
const WORDS: u64 = 12_500;
const N: u64 = 100_000;

fn empty(seed: u64) -> Omass {
    Omass::with_shape(WORDS, 64, 4, Hasher::seeded(seed)).expect("a shape")
}

fn label(set: u64) -> Vec<u8> {
    set.to_string().into_bytes()
}

/// The share of non-members that pass, and the mean rate predicted from the fill.
fn measured(filters: impl Iterator<Item = Omass>, sets: u64) -> (f64, f64) {
    let (mut wrong, mut asked, mut predicted) = (0, 0, Vec::new());
    for filter in filters {
        predicted.push(filter.now().fpr.expect("a rate"));
        for key in 1u64 << 40..(1 << 40) + 20_000 {
            wrong += u64::from(filter.contains(&key, &label(key % sets)));
            asked += 1;
        }
    }
    (wrong as f64 / asked as f64, predicted.iter().sum::<f64>() / predicted.len() as f64)
}

#[test]
fn i7_rate_is_independent_of_the_number_of_sets() {
    let formula = rate(WORDS, 16, 4, N, 1);
    assert!((formula - 0.034_885).abs() < 5e-7, "{formula}");
    for sets in [1u64, 4, 16] {
        let filters = (0..20).map(|seed| {
            let mut filter = empty(seed);
            for key in 0..N {
                filter.insert(&key, &label(key % sets)).expect("16 sets");
            }
            filter
        });
        let (seen, predicted) = measured(filters, sets);
        // 14,000 events: 0.85 %.
        assert!((seen / formula - 1.0).abs() < 0.035, "{sets} sets: {seen}");
        assert!((predicted / formula - 1.0).abs() < 0.01, "{sets} sets: {predicted}");
    }
}

#[test]
fn i7_keys_in_several_sets_cost_more() {
    let formula = rate(WORDS, 16, 4, 25_000, 4);
    assert!((formula - 0.071_214).abs() < 5e-7, "{formula}");
    let filters = (0..20).map(|seed| {
        let mut filter = empty(seed);
        for key in 0..25_000u64 {
            for set in 0..4 {
                filter.insert(&key, &label(set)).expect("4 sets");
            }
        }
        filter
    });
    let (seen, predicted) = measured(filters, 4);
    assert!((seen / formula - 1.0).abs() < 0.025, "{seen}");
    assert!((predicted / formula - 1.0).abs() < 0.01, "{predicted}");
}

#[test]
fn i7_a_key_in_one_set_is_in_no_other() {
    for sets in 1..=16u64 {
        for seed in 0..20 {
            // Somebody else, in another word, has made all sets known.
            let mut known = empty(seed);
            for set in 0..sets {
                known.insert("somebody else", &label(set)).expect("16 sets");
            }
            for set in 0..sets {
                let mut filter = known.clone();
                filter.insert(&seed, &label(set)).expect("16 sets");
                assert_eq!(filter.sets_of(&seed), [label(set).as_slice()], "{sets} sets");
            }
        }
    }
}

#[test]
fn i7_more_sets_than_bits_would_alias_and_are_refused() {
    let mut filter = empty(1);
    for set in 0..16 {
        filter.insert("key", &label(set)).expect("16 sets");
    }
    assert_eq!(filter.room(), 16);
    // All sixteen shifts of four sub-blocks: the whole word.
    assert_eq!(filter.bits().ones(), 64);
    let before = filter.clone();
    let error = filter.insert("key", b"a seventeenth").expect_err("it would be set 0 again");
    assert_eq!((error.kind(), filter), (Kind::CapacityExceeded, before));
    for (width, k) in [(64, 5), (64, 0), (0, 1), (1024, 4), (60, 7)] {
        assert!(Omass::with_shape(10, width, k, Hasher::default()).is_err(), "{width} / {k}");
    }
    let refused = |goal: Goal| VARIANT.build_from(&goal, &[]).expect_err("no such cut").kind();
    assert_eq!(refused(Goal::new(10, 0.1).set("k", 5)), Kind::BadParameter);
    assert_eq!(refused(Goal::new(10, 0.1).set("sets", 65)), Kind::BadParameter);
    assert_eq!(refused(Goal::new(10, 0.1).set("k", 8)), Kind::BadParameter, "8 bits for 16 sets");
}

#[test]
fn i7_one_word_is_read_and_k_bits_are_set() {
    let mut touched = std::collections::HashSet::new();
    let empty = empty(9);
    for key in 0..3000u64 {
        let mut filter = empty.clone();
        filter.insert(&key, b"a").expect("a set");
        assert_eq!(filter.bits().ones(), 4);
        assert_eq!(filter.words_read(&key), 1);
        let words: Vec<u64> = filter.bits().words().iter().copied().filter(|w| *w != 0).collect();
        assert_eq!(words.len(), 1);
        let blocks = words[0].to_le_bytes();
        let blocks = blocks.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
        assert!(blocks.clone().all(|b| b.count_ones() == 1), "one bit in each sub-block");
        touched.insert(words[0]);
    }
    // 3000 draws of 65,536 combinations meet 67 times on average.
    assert!(touched.len() > 2890, "{}: places are independent of each other", touched.len());
}

#[test]
fn i7_plans_meet_the_rate_with_the_fewest_words() {
    for (n, p, word, sets) in [
        (1000u64, 0.01, 64u64, 16u64),
        (100_000, 0.05, 128, 20),
        (5000, 1e-4, 512, 64),
        (300, 0.2, 60, 5),
    ] {
        let goal = Goal::new(n, p).set("word", word).set("sets", sets);
        let expect = VARIANT.expect(&goal, &Load::items(n)).expect("a plan").expect("a formula");
        assert!(expect.fpr <= p && expect.fpr > 0.9 * p, "{n} {p}: {}", expect.fpr);
        let divisors = (1..=word).filter(|k| word % k == 0 && word / k >= sets);
        let words = expect.bits / word;
        for k in divisors {
            assert!(
                rate(words - 1, word / k, k as u32, n, 1) > p,
                "{n} {p} {word}: k = {k} is better"
            );
        }
    }
}

#[test]
fn i7_queries_name_a_set_or_ask_for_all() {
    let key = b"apple".as_slice();
    let insert = |label| Record::key(key).with(Some(Value::Label(label)));
    let records = [insert(b"fruit".as_slice()), insert(b"company")];
    let filter = VARIANT.build_from(&Goal::new(1000, 0.01), &records).expect("a filter");
    let all = filter.query(Record::key(key)).expect("a query");
    let labels = vec![b"fruit".to_vec(), b"company".to_vec()];
    assert_eq!(all, Answer { verdict: Verdict::Present, detail: Detail::Labels(labels) });
    assert_eq!(filter.query(insert(b"company")).expect("a query"), Answer::of(true));
    assert_eq!(filter.query(insert(b"river")).expect("a query"), Answer::of(false));
    let none = filter.query(Record::key(b"stone")).expect("a query");
    assert_eq!(none.verdict, Verdict::Absent);
    // A filter whose sets are all asked for errs once for each of them.
    let mut full = empty(3);
    for key in 0..N {
        full.insert(&key, &label(key % 16)).expect("16 sets");
    }
    let sum: usize = (1u64 << 40..(1 << 40) + 20_000).map(|key| full.sets_of(&key).len()).sum();
    let f = full.now().fpr.expect("a rate");
    let (low, high) = tail::binomial_bounds(320_000, f, 1e-9);
    // Sets of one key share its word, so that the spread is larger than that of independent ones.
    assert!(
        sum as f64 > 0.93 * low as f64 && (sum as f64) < 1.07 * high as f64,
        "{sum}: {low}..{high}"
    );
}

//! B14, learned and sandwiched learned Bloom filter.

use everbloom::internals::filter::Filter;
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::{bloom, tail};
use everbloom::known::Learned;
use everbloom::known::learned::{best_split, rate_at};

/// Twelve letters, each in a–m with a probability of `share`.
fn key(random: &mut Generator, share: f64) -> [u8; 12] {
    [0; 12].map(|_| {
        let first = if random.unit() < share { b'a' } else { b'n' };
        first + random.below(13) as u8
    })
}

fn keys(seed: u64, count: usize, share: f64) -> Vec<[u8; 12]> {
    let mut random = Generator::new(seed);
    (0..count).map(|_| key(&mut random, share)).collect()
}

/// F_n and F_p of the ideal rule "at least t letters in a–m".
fn ideal(t: u64) -> (f64, f64) {
    (tail::binomial_below(12, 0.75, t), tail::binomial_at_least(12, 0.25, t))
}

fn near(got: f64, want: f64, within: f64) {
    assert!((got / want - 1.0).abs() < within, "{got}, not {want}");
}

#[test]
fn b14_shares_and_rates_as_computed() {
    for (t, misses, mistakes) in
        [(7, 0.05440, 0.01425), (8, 0.15764, 0.002782), (9, 0.35122, 3.917e-4)]
    {
        near(ideal(t).0, misses, 1e-3);
        near(ideal(t).1, mistakes, 1e-3);
    }
    let alpha = bloom::fpr_best;
    near(alpha(8.0), 0.02142, 1e-3);
    let sandwich = |b: f64, (misses, mistakes): (f64, f64)| {
        let (before, behind) = best_split(b, misses, mistakes);
        (before, behind, alpha(before) * rate_at(mistakes, alpha(behind / misses)))
    };
    let learned = |b: f64, (misses, mistakes)| rate_at(mistakes, alpha(b / misses));
    near(learned(8.0, ideal(8)), 0.002782, 1e-3);
    for (shares, before, behind, rate) in
        [(ideal(8), 5.520, 2.480, 2.328e-4), (ideal(7), 7.197, 0.803, 4.748e-4)]
    {
        let found = sandwich(8.0, shares);
        near(found.0, before, 1e-3);
        near(found.1, behind, 1e-3);
        near(found.2, rate, 2e-3);
    }
    let textbook = (0.5, 0.01);
    near(sandwich(8.0, textbook).1, 4.782, 1e-3);
    near(sandwich(8.0, textbook).2, 0.004262, 1e-3);
    near(learned(8.0, textbook), 0.010454, 1e-3);
}

#[test]
fn b14_trained_weights_and_thresholds_between_the_steps() {
    let (members, others) = (keys(1, 5000, 0.75), keys(2, 10_000, 0.25));
    for (form, threshold) in [("naive-bayes", 843u64), ("naive-bayes", 1124)] {
        let built = Learned::builder().form(form).rate(0.01).set("threshold", threshold);
        let filter = built.build_against(&members, &others).unwrap();
        for letter in b'a'..=b'z' {
            let weight = filter.weight(letter);
            assert!((255..=310).contains(&weight.abs()), "{}: {weight}", letter as char);
            assert_eq!(weight > 0, letter <= b'm');
        }
        // On fresh keys: the shares of the ideal rule between steps, others on a step.
        let share = |keys: &[[u8; 12]]| {
            let above = keys.iter().filter(|key| filter.score(*key) >= filter.threshold());
            above.count() as f64 / keys.len() as f64
        };
        let misses = 1.0 - share(&keys(3, 50_000, 0.75));
        let mistakes = share(&keys(4, 200_000, 0.25));
        if threshold == 843 {
            assert!((misses - 0.1576).abs() < 0.008 && (mistakes - 0.00278).abs() < 6e-4);
        } else {
            assert!(
                (misses - 0.242).abs() < 0.05 && (mistakes - 0.0018).abs() < 8e-4,
                "{misses} {mistakes}"
            );
        }
    }
}

/// Eight bits a key beside the model: a hundredth of a standard filter's rate, on queries never seen before.
#[test]
fn b14_a_sandwich_of_eight_bits_a_key() {
    const N: usize = 20_000;
    let (members, others) = (keys(5, N, 0.75), keys(6, 200_000, 0.25));
    let model = 257 * 4;
    let built = Learned::builder().memory(N as u64 + model).set("threshold", 843);
    let filter = built.build_against(&members, &others).unwrap();
    assert!(members.iter().all(|key| filter.contains(key)), "whatever the model says");
    near(filter.misses(), 0.15764, 0.05);
    near(filter.mistakes(), 0.002782, 0.15);
    let (before, behind) = filter.filter_bits();
    near(before as f64 / N as f64, 5.520, 0.03);
    near(behind as f64 / N as f64, 2.480, 0.05);
    assert!(filter.memory().cells <= 8 * (N as u64 + model));
    let queries = 1_000_000;
    let mut random = Generator::new(7);
    let passed = (0..queries).filter(|_| filter.contains(&key(&mut random, 0.25))).count() as u64;
    let predicted = filter.now().fpr.unwrap();
    assert!((2.0e-4..2.8e-4).contains(&predicted), "{predicted}");
    let (low, _) = tail::binomial_bounds(queries, 0.85 * predicted, 1e-9);
    let (_, high) = tail::binomial_bounds(queries, 1.15 * predicted, 1e-9);
    assert!((low..=high).contains(&passed), "{passed}, predicted {predicted}");

    // Without the front filter, what the model lets pass stays.
    let built =
        Learned::builder().memory(N as u64 + model).set("threshold", 843).set("front", "no");
    let alone = built.build_against(&members, &others).unwrap();
    near(alone.now().fpr.unwrap(), 0.002782, 0.15);
}

/// Queries that look like members: the model is no help, and the front filter caps the rate.
#[test]
fn b14_hostile_queries_are_left_to_the_front_filter() {
    let (members, others) = (keys(8, 10_000, 0.75), keys(9, 20_000, 0.25));
    let filter = Learned::builder().rate(1e-4).build_against(&members, &others).unwrap();
    assert!(filter.has_model());
    let foreign = keys(10, 20_000, 1.0);
    let accepted = foreign.iter().filter(|key| filter.score(*key) >= filter.threshold()).count();
    assert!(accepted > 19_900, "F_p near 1");
    let passed = foreign.iter().filter(|key| filter.contains(*key)).count() as f64;
    let (before, _) = filter.filter_bits();
    let cap = bloom::fpr_best(before as f64 / 10_000.0) * 20_000.0;
    assert!(passed < 1.3 * cap && passed > 0.5 * cap, "{passed}, at most {cap}");
}

/// Both models, both features: no false negatives, fewer bits than a standard filter of equal rate on queries kept
/// from training, and the same bytes every time.
#[test]
fn b14_models_pay_for_themselves_on_held_out_queries() {
    let (members, others) = (keys(11, 20_000, 0.75), keys(12, 40_000, 0.25));
    for form in ["naive-bayes", "logistic"] {
        for features in ["bytes", "pairs"] {
            let build = || {
                let built = Learned::builder().rate(0.001).form(form).set("features", features);
                built.build_against(&members, &others).unwrap()
            };
            let filter = build();
            assert_eq!(everbloom::to_bytes(&filter), everbloom::to_bytes(&build()));
            assert!(members.iter().all(|key| filter.contains(key)), "{form} {features}");
            let standard = bloom::bits_for(20_000, 0.001);
            let bits = filter.memory().cells;
            assert!(filter.has_model() && bits < standard * 4 / 5, "{form} {features}: {bits}");
            let queries = keys(13, 200_000, 0.25);
            let passed = queries.iter().filter(|key| filter.contains(*key)).count();
            assert!(passed < 260, "{form} {features}: {passed} of 200000 at a rate of 0.001");
        }
    }
}

#[test]
fn b14_keys_inserted_later_are_found() {
    let (members, others) = (keys(14, 5000, 0.75), keys(15, 5000, 0.25));
    let mut filter = Learned::from_keys(&members, &others, 0.001).unwrap();
    let later = keys(16, 500, 0.25);
    later.iter().for_each(|key| {
        filter.insert(key);
    });
    assert!(later.iter().chain(&members).all(|key| filter.contains(key)));
}

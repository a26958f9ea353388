//! I14, the pipelined filter.

use everbloom::Kind;
use everbloom::hardware::pipelined::Asked;
use everbloom::hardware::pipelined::{
    Pipelined, VARIANT, best_first, saved_by_all_stages, saved_by_two_stages, second_stage,
};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{HashId, Hasher};
use everbloom::internals::plan::{Goal, Load};
use everbloom::membership::Bloom;

fn filter(m: u64, k: u32, k1: Option<u32>, n: u64, seed: u64) -> Pipelined {
    let mut filter = Pipelined::with_shape(m, k, k1, Hasher::seeded(seed)).unwrap();
    (0..n).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

#[test]
fn i14_savings_by_formula() {
    for (k, k1, saved) in [(10, 2, 0.6), (10, 3, 0.6125), (8, 4, 0.46875)] {
        assert!((saved_by_two_stages(k, k1, 0.5) - saved).abs() < 1e-12, "{k}, {k1}");
    }
    for (k, saved) in [(4, 0.53125), (8, 0.750977), (10, 0.800195)] {
        assert!((saved_by_all_stages(k, 0.5) - saved).abs() < 5e-7, "{k}");
        let closed = 1.0 - (1.0 - 0.3f64.powi(k as i32)) / (f64::from(k) * 0.7);
        assert!((saved_by_all_stages(k, 0.3) - closed).abs() < 1e-12, "{k}");
    }
    assert!((second_stage(0.5, 3) - 0.125).abs() < 1e-15);
    // Full filters save nothing, whatever the stages.
    assert_eq!(saved_by_two_stages(7, 2, 1.0), 0.0);
    assert!(saved_by_all_stages(7, 1.0).abs() < 1e-12);
    assert_eq!(best_first(10, 0.5), 3);
    for k in 1..30 {
        for fill in [0.1, 0.5, 0.9] {
            let best = saved_by_two_stages(k, best_first(k, fill), fill);
            assert!((1..=k).all(|k1| saved_by_two_stages(k, k1, fill) <= best), "{k}, {fill}");
        }
    }
}

#[test]
fn i14_evaluations_match_the_equations() {
    let (n, queries) = (1000u64, 100_000u64);
    for (m, k, k1) in [
        (14_427, 10, Some(2)),
        (14_427, 10, Some(3)),
        (14_427, 10, Some(10)),
        (11_541, 8, Some(4)),
        (8000, 8, Some(1)),
        (5771, 4, None),
        (11_541, 8, None),
        (14_427, 10, None),
        (30_000, 5, None),
    ] {
        let filter = filter(m, k, k1, n, 1);
        let fill = filter.fill().unwrap();
        let saved = match k1 {
            Some(k1) => saved_by_two_stages(k, k1, fill),
            None => saved_by_all_stages(k, fill),
        };
        assert!((filter.saved() - saved).abs() < 1e-12);
        let spent: u64 = (n..n + queries).map(|key| u64::from(filter.ask(&key).evaluations)).sum();
        let predicted = f64::from(k) * (1.0 - saved);
        let measured = spent as f64 / queries as f64;
        assert!((measured / predicted - 1.0).abs() < 0.01, "{k}, {k1:?}: {measured}, {predicted}");
    }
}

#[test]
fn i14_second_stages_run_as_often_as_predicted() {
    let (n, queries) = (1000u64, 200_000u64);
    for k1 in [1, 2, 4] {
        let filter = filter(11_541, 8, Some(k1), n, 2);
        let runs = (n..n + queries).filter(|key| filter.ask(key).evaluations == 8).count() as f64;
        let predicted = queries as f64 * second_stage(filter.fill().unwrap(), k1);
        assert!((runs - predicted).abs() < 5.0 * predicted.sqrt(), "{k1}: {runs}, {predicted}");
    }
}

#[test]
fn i14_answers_are_those_of_the_standard_filter() {
    for (m, k) in [(2000, 7), (100_000, 9)] {
        let n = m / 10;
        let hasher = Hasher::with_id(HashId::Xxh3_128, 4).unwrap();
        let mut standard = Bloom::with_shape(m, k, hasher).unwrap();
        (0..n).for_each(|key| {
            standard.insert(&key);
        });
        for k1 in [None, Some(1), Some(3), Some(k)] {
            let staged = filter(m, k, k1, n, 4);
            assert_eq!(staged.now(), standard.now());
            for key in 0..20 * n {
                assert_eq!(staged.ask(&key).present, standard.contains(&key), "{k1:?}: {key}");
            }
        }
    }
}

#[test]
fn i14_members_cost_everything() {
    for k1 in [None, Some(2), Some(10)] {
        let filter = filter(14_427, 10, k1, 1000, 3);
        for key in 0..1000u64 {
            assert_eq!(filter.ask(&key), Asked { present: true, evaluations: 10 }, "{k1:?}");
            assert_eq!(filter.trace(&key.to_le_bytes()).len(), 10);
        }
        for key in 1000..2000u64 {
            let asked = filter.ask(&key);
            assert_eq!(filter.trace(&key.to_le_bytes()).len() as u32, asked.evaluations);
            assert!(k1.is_none_or(|k1| [k1, 10].contains(&asked.evaluations)), "{asked:?}");
        }
    }
}

#[test]
fn i14_an_empty_filter_needs_one_stage() {
    let empty = |k1| Pipelined::with_shape(1000, 9, k1, Hasher::default()).unwrap();
    assert_eq!(empty(None).ask("x").evaluations, 1);
    assert_eq!(empty(Some(4)).ask("x").evaluations, 4);
}

#[test]
fn i14_plans() {
    let k1 = |goal: &Goal| {
        let facts = VARIANT.build_from(goal, &[]).unwrap().describe();
        facts.iter().find(|f| f.name == "k1").unwrap().value.to_string()
    };
    let goal = Goal::new(1000, 0.001);
    assert_eq!(k1(&goal), "3", "the best for ten functions at half");
    assert_eq!(k1(&goal.clone().set("first", 5)), "5");
    assert_eq!(k1(&goal.clone().set("form", "full")), "1");
    assert_eq!(VARIANT.expect(&goal, &Load::items(1000)).unwrap().unwrap().bits, 14_378);
    for bad in [goal.clone().set("first", 11), goal.set("form", "full").set("first", 2)] {
        assert_eq!(VARIANT.build_from(&bad, &[]).unwrap_err().kind(), Kind::BadParameter);
    }
}

//! I15, the energy-efficient adaptive filter.

use std::collections::HashMap;

use everbloom::Kind;
use everbloom::hardware::adaptive::{
    Adaptive, Pipeline, Policy, VARIANT, evaluations, serial_evaluations,
};
use everbloom::internals::filter::Filter;
use everbloom::internals::hash::{Generator, HashId, Hasher};
use everbloom::internals::plan::Goal;
use everbloom::membership::Bloom;

const N: u64 = 1000;

/// Half full, with eight functions.
fn filter(policy: Policy) -> Adaptive {
    let mut filter = Adaptive::with_shape(11_541, 8, policy, Hasher::seeded(1)).unwrap();
    (0..N).for_each(|key| {
        filter.insert(&key);
    });
    filter
}

fn rest(pipeline: &mut Pipeline<'_>, ticks: u64) {
    (0..ticks).for_each(|_| {
        pipeline.tick::<u64>(None);
    });
}

#[test]
fn i15_evaluations_by_formula() {
    for (a, expected) in [(2, 3.5), (3, 3.625), (4, 4.25), (8, 8.0)] {
        assert!((evaluations(8, a, 0.5) - expected).abs() < 1e-12, "a = {a}");
    }
    assert!((serial_evaluations(8, 2, 0.5) - (2.0 + 0.5 - 1.0 / 128.0)).abs() < 1e-12);
    assert_eq!(serial_evaluations(8, 8, 0.5), 8.0);
}

#[test]
fn i15_costs_match_the_formula() {
    let filter = filter(Policy::new(2));
    let (fill, queries) = (filter.fill().unwrap(), 100_000);
    for a in [1, 2, 3, 4, 8] {
        let spent: u64 = (N..N + queries).map(|key| u64::from(filter.cost(&key, a))).sum();
        let (measured, predicted) = (spent as f64 / queries as f64, evaluations(8, a, fill));
        assert!((measured / predicted - 1.0).abs() < 0.01, "a = {a}: {measured}, {predicted}");
        assert!((0..N).all(|key| filter.cost(&key, a) == 8), "members cost everything");
    }
}

#[test]
fn i15_a_pipeline_spends_what_one_function_a_tick_takes() {
    // Non-members far apart: nothing waits, so that a stays at k1.
    let filter = filter(Policy { high: 60, ..Policy::new(2) });
    let mut pipeline = filter.pipeline();
    let queries = 50_000u64;
    for key in N..N + queries {
        assert!(pipeline.tick(Some(&key)).ticket.is_some());
        pipeline.flush();
    }
    assert_eq!(pipeline.active(), 2);
    let measured = pipeline.evaluations() as f64 / queries as f64;
    let predicted = serial_evaluations(8, 2, filter.fill().unwrap());
    assert!((measured / predicted - 1.0).abs() < 0.01, "{measured}, {predicted}");
}

#[test]
fn i15_a_rush_of_members_makes_it_a_standard_filter_and_rest_unmakes_it() {
    let filter = filter(Policy::new(2));
    let mut pipeline = filter.pipeline();
    let mut reached = None;
    let mut answered = 0;
    for key in 0..200u64 {
        let tick = pipeline.tick(Some(&key));
        assert_eq!(tick.ticket, Some(key), "nothing stalls");
        assert!(tick.answers.iter().all(|(_, present)| *present));
        answered += tick.answers.len() as u64;
        assert!(pipeline.active() >= 2);
        if pipeline.active() == 8 {
            reached.get_or_insert(key);
        }
        if reached.is_some() {
            assert!(pipeline.active() >= 7, "tick {key}: a = {}", pipeline.active());
        }
        if key >= 100 {
            assert_eq!(tick.answers.len(), 1, "tick {key}");
        }
    }
    assert!(reached.is_some_and(|tick| tick < 20), "{reached:?}");
    assert_eq!(pipeline.active(), 7, "one function rests, and one key waits for it");
    assert_eq!(answered + pipeline.waiting() as u64, 200);
    // One function every eight ticks, and never below k1.
    pipeline.flush();
    let before = pipeline.active();
    rest(&mut pipeline, 8);
    assert_eq!(pipeline.active(), before - 1);
    rest(&mut pipeline, 200);
    assert_eq!(pipeline.active(), 2);
    assert!(!pipeline.control(2) && pipeline.control(3) && pipeline.control(8));
}

#[test]
fn i15_functions_change_stages_above_the_high_mark_and_not_before() {
    for high in [0usize, 2, 5, 10] {
        let filter = filter(Policy { high: high as u64, ..Policy::new(2) });
        let mut pipeline = filter.pipeline();
        let mut longest = 0;
        // Members wait, each for six more functions, while another one comes every tick.
        while pipeline.active() == 2 {
            pipeline.tick(Some(&(longest as u64)));
            longest = pipeline.waiting();
        }
        assert_eq!(longest, high + 1, "the queue when the first function moves");
    }
}

#[test]
fn i15_answers_are_those_of_the_standard_filter_in_every_state() {
    let hasher = Hasher::with_id(HashId::Xxh3_128, 1).unwrap();
    let mut standard = Bloom::with_shape(11_541, 8, hasher).unwrap();
    (0..N).for_each(|key| {
        standard.insert(&key);
    });
    let mut random = Generator::new(5);
    for (first, high, patience, room) in [(1, 0, 1, 1), (2, 2, 8, 64), (3, 1, 2, 4), (8, 2, 8, 3)] {
        let filter = filter(Policy { first, high, patience, room });
        let mut pipeline = filter.pipeline();
        let (mut asked, mut answers) = (HashMap::new(), Vec::new());
        let mut states = [false; 9];
        for _ in 0..20_000 {
            // Bursts of members and non-members, and rests between them.
            let key = random.below(2 * N + 1 + random.state() % 3 * 4 * N);
            if random.below(4) == 0 {
                answers.extend(pipeline.tick::<u64>(None).answers);
            } else {
                let tick = pipeline.tick(Some(&key));
                answers.extend(tick.answers);
                if let Some(ticket) = tick.ticket {
                    assert_eq!(asked.insert(ticket, key), None, "a ticket is given once");
                }
            }
            states[pipeline.active() as usize] = true;
            assert!(pipeline.active() >= first);
        }
        answers.extend(pipeline.finish());
        assert_eq!(answers.len(), asked.len(), "every query that was taken is answered, once");
        for (ticket, present) in answers {
            let key = asked.remove(&ticket).expect("a ticket is answered once");
            assert_eq!(present, standard.contains(&key), "{key}");
        }
        assert!(first == 8 || states.iter().filter(|s| **s).count() >= 2, "{states:?}");
    }
}

#[test]
fn i15_a_full_queue_stalls_and_drops_nothing() {
    // A queue of two that never calls for help beyond one: members stall.
    let filter = filter(Policy { first: 1, high: 1, patience: 1 << 20, room: 2 });
    let mut pipeline = filter.pipeline();
    let (mut key, mut stalls, mut answered) = (0u64, 0, 0);
    while key < 50 {
        let tick = pipeline.tick(Some(&key));
        answered += tick.answers.len();
        match tick.ticket {
            Some(_) => key += 1,
            None => stalls += 1,
        }
        assert!(pipeline.waiting() <= 2);
    }
    assert!(stalls > 0, "two keys of seven functions each are too much at one a tick");
    answered += pipeline.finish().len();
    assert_eq!(answered, 50);
}

#[test]
fn i15_functions_that_move_are_still_evaluated() {
    // Non-members whose first functions find ones and a later one a zero: while they wait, the rush of
    // members moves that function into stage 1.
    let filter = filter(Policy::new(2));
    let tricky: Vec<u64> =
        (N..200_000).filter(|key| !filter.contains(key) && filter.cost(key, 5) == 8).collect();
    assert!(tricky.len() > 100);
    let mut pipeline = filter.pipeline();
    let mut answers = Vec::new();
    let mut taken = Vec::new();
    for (member, non_member) in (0..40u64).zip(&tricky) {
        for key in [*non_member, member, member] {
            let tick = pipeline.tick(Some(&key));
            answers.extend(tick.answers);
            taken.push((tick.ticket.expect("room"), key));
        }
    }
    answers.extend(pipeline.finish());
    answers.sort_unstable();
    let expected: Vec<(u64, bool)> = taken.iter().map(|(t, key)| (*t, *key < N)).collect();
    assert_eq!(answers, expected);
}

#[test]
fn i15_plans_and_policies() {
    let goal = Goal::new(1000, 0.001);
    let facts = |goal: &Goal| VARIANT.build_from(goal, &[]).unwrap().describe();
    let value = |goal: &Goal, name: &str| {
        facts(goal).iter().find(|f| f.name == name).unwrap().value.to_string()
    };
    assert_eq!((value(&goal, "k1"), value(&goal, "high mark")), ("3".into(), "2".into()));
    assert_eq!((value(&goal, "patience"), value(&goal, "queue")), ("8".into(), "64".into()));
    let set = goal.clone().set("first", 10).set("high", 5).set("patience", 3).set("room", 6);
    assert_eq!((value(&set, "k1"), value(&set, "queue")), ("10".into(), "6".into()));
    for bad in [goal.clone().set("first", 11), goal.clone().set("room", 2), goal.set("high", 64)] {
        assert_eq!(
            VARIANT.build_from(&bad, &[]).unwrap_err().kind(),
            Kind::BadParameter,
            "{bad:?}"
        );
    }
    assert!(Adaptive::with_shape(100, 3, Policy::new(4), Hasher::default()).is_err());
    assert!(Adaptive::with_shape(100, 3, Policy::new(0), Hasher::default()).is_err());
}

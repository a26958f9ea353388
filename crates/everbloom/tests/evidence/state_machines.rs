//! §42, approximate concurrent state machines.

use std::collections::BTreeMap;

use everbloom::internals::filter::{Face, Filter, fact};
use everbloom::internals::hash::Generator;
use everbloom::keyvalue::state_machines::{Flow, StateMachines, foreign_rates, unknown_rate};
use everbloom::{Kind, Record, Value, Verdict};

const FORMS: [&str; 3] = ["fingerprint", "stateful", "direct"];

fn stateful(m: u64, k: u32, states: u64, seed: u64) -> StateMachines {
    let builder = StateMachines::builder().set("form", "stateful").set("states", states).seed(seed);
    builder.set("m", m).set("k", k).set("width", 8).build().unwrap()
}

fn planned(form: &'static str, items: u64, rate: f64) -> StateMachines {
    StateMachines::builder().items(items).rate(rate).set("form", form).build().unwrap()
}

fn name(state: u64) -> Vec<u8> {
    format!("state {state}").into_bytes()
}

/// m = 8n, k = 4, n = 1000: members that get "don't know", others that get some state.
#[test]
fn s42_rates_of_the_stateful_form() {
    for (states, unknown, foreign) in [(5u64, 0.01177, 0.0017), (2, 0.00239, 0.0048)] {
        let formula = unknown_rate(8000.0, 1000.0, 4.0, states as f64);
        assert!((formula - unknown).abs() < 5e-6, "{formula}");
        let (some, dont_know) = foreign_rates(8000.0, 1000.0, 4.0, states as f64);
        assert!((some - foreign).abs() < 6e-5, "{some}");
        assert!(states == 2 || (dont_know - 3e-5).abs() < 5e-6, "{dont_know}");
        let filters = 30;
        let (mut lost, mut modified, mut passed, mut now) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..filters {
            let mut f = stateful(8000, 4, states, seed);
            let mut random = Generator::new(seed);
            let mut truth: Vec<u64> = (0..1000).map(|_| random.below(states)).collect();
            for (flow, state) in (0u64..).zip(&truth) {
                f.insert(&flow, &name(*state)).unwrap();
            }
            let unsure = |f: &StateMachines, truth: &[u64]| {
                let check = |(flow, state): (u64, &u64)| match f.lookup(&flow) {
                    Flow::State(found) => {
                        assert_eq!(found, name(*state), "never a wrong state");
                        0.0
                    }
                    Flow::DontKnow => 1.0,
                    Flow::None => panic!("a flow that is there"),
                };
                (0u64..).zip(truth).map(check).sum::<f64>() / 1000.0
            };
            lost += unsure(&f, &truth) / f64::from(filters as u32);
            let others = (1u64 << 40..).take(10_000);
            let states_of = others.filter(|flow| matches!(f.lookup(flow), Flow::State(_)));
            passed += states_of.count() as f64 / 10_000.0 / f64::from(filters as u32);
            now += f.now().fpr.unwrap() * states as f64 / f64::from(filters as u32);
            for _ in 0..4 {
                for flow in 0..1000u64 {
                    let state = random.below(states);
                    f.modify(&flow, &name(state)).unwrap();
                    truth[flow as usize] = state;
                }
            }
            modified += unsure(&f, &truth) / f64::from(filters as u32);
        }
        assert!((lost - unknown).abs() < 0.1 * unknown + 0.0006, "{states}: {lost}");
        assert!((passed - foreign).abs() < 0.15 * foreign, "{states}: {passed}");
        assert!((now / passed - 1.0).abs() < 0.1, "{states}: {now} {passed}");
        assert!(modified > 1.3 * lost, "{states}: {modified} after four changes per flow");
        assert!(states == 2 || (modified - 0.025).abs() < 0.008, "{modified}");
    }
}

/// d = 3, a load of 6, 14 bits: 1.1e-3.
#[test]
fn s42_rate_of_fingerprints() {
    let builder = StateMachines::builder().items(6000).rate(0.01).set("print", 14);
    let mut f = builder.build().unwrap();
    (0..6000u64).for_each(|flow| _ = f.insert(&flow, b"open").unwrap());
    let passed =
        (1u64 << 40..).take(1_000_000).filter(|flow| f.contains(flow)).count() as f64 / 1e6;
    assert!((passed - 0.0011).abs() < 0.0001, "{passed}");
    let planned = planned("fingerprint", 1000, 0.0011);
    assert!(planned.describe().contains(&fact("print", 14u64)));
}

/// Random operations beside the truth: a flow that is there has its state, or the filter does not know.
#[test]
fn s42_no_form_is_wrong_about_a_member() {
    for form in FORMS {
        let mut f = planned(form, 300, 0.02);
        let mut random = Generator::new(1);
        let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
        let (mut unsure, mut asked) = (0, 0);
        for step in 0..20_000u64 {
            let (flow, state) = (random.below(400), random.below(5));
            let there = truth.contains_key(&flow);
            match random.below(3) {
                0 if !there && truth.len() < 250 => {
                    f.insert(&flow, &name(state)).unwrap();
                    truth.insert(flow, state);
                }
                1 if there && f.modify(&flow, &name(state)).is_ok() => {
                    truth.insert(flow, state);
                }
                2 if there && f.remove(&flow).is_ok() => {
                    truth.remove(&flow);
                }
                _ => {}
            }
            if let Some((flow, state)) = truth.range(random.below(400)..).next() {
                asked += 1;
                match f.lookup(flow) {
                    Flow::State(found) => assert_eq!(found, name(*state), "{form}, step {step}"),
                    Flow::DontKnow => unsure += 1,
                    Flow::None => panic!("{form}, step {step}: lost"),
                }
            }
        }
        assert!(unsure * 10 < asked, "{form}: {unsure} of {asked}");
        let flows: Vec<u64> = truth.keys().copied().collect();
        let gone = flows.iter().filter(|flow| f.remove(*flow).is_ok()).count();
        assert!(gone * 10 > flows.len() * 8, "{form}");
        // A state is cleared with its counter: nothing is left of what is gone.
        if gone == flows.len() {
            assert_eq!(f.fill(), Some(0.0), "{form}");
        }
    }
}

#[test]
fn s42_a_state_is_cleared_with_its_counter() {
    let mut f = stateful(1000, 3, 4, 1);
    f.insert("x", b"old").unwrap();
    f.remove("x").unwrap();
    // The decoder refuses states where nothing is counted.
    assert!(everbloom::Opener::new().decode(&everbloom::to_bytes(&f)).is_ok());
    f.insert("x", b"new").unwrap();
    assert_eq!(f.lookup("x"), Flow::State(b"new".to_vec()));
}

#[test]
fn s42_time_outs_by_epoch() {
    for form in FORMS {
        let mut f = planned(form, 100, 1e-4);
        for flow in ["idle", "busy", "changed"] {
            f.insert(flow, b"open").unwrap();
        }
        f.age(1);
        f.touch("busy");
        f.modify("changed", b"shut").unwrap();
        f.age(1);
        let found = ["idle", "busy", "changed"].map(|flow| f.contains(flow));
        assert_eq!(found, [false, true, true], "{form}");
        f.age(1);
        assert!(!f.contains("busy") && f.fill() == Some(0.0), "{form}");
        f.insert("late", b"open").unwrap();
        f.age(u64::MAX);
        assert!(!f.contains("late"), "{form}");
    }
}

#[test]
fn s42_refusals_change_nothing() {
    for form in FORMS {
        let builder = StateMachines::builder().items(100).rate(1e-6).set("form", form);
        let mut f = builder.set("states", 2).build().unwrap();
        f.insert("x", b"a").unwrap();
        f.insert("y", b"b").unwrap();
        let before = f.clone();
        assert_eq!(f.insert("z", b"c").unwrap_err().kind(), Kind::CapacityExceeded, "{form}");
        assert_eq!(f.remove("z").unwrap_err().kind(), Kind::NotDeletable, "{form}");
        assert_eq!(f.modify("z", b"a").unwrap_err().kind(), Kind::NotDeletable, "{form}");
        assert!(f.modify("x", b"c").is_err(), "{form}");
        assert_eq!(f, before, "{form}");
    }
    // Buckets that are full refuse, and a state that only the refused flow had is not remembered.
    let mut f = StateMachines::with_rate(1, 0.01).unwrap();
    let refused = (0..1000u64).find_map(|flow| f.insert(&flow, &name(flow % 4)).err()).unwrap();
    assert_eq!(refused.kind(), Kind::CapacityExceeded);
    let full = |flow: &u64| f.clone().insert(flow, &name(0)).is_err();
    let flow = (2000..4000u64).find(full).expect("a flow whose buckets are full");
    let before = f.clone();
    assert!(f.insert(&flow, b"new state").is_err());
    assert_eq!(f, before);
}

#[test]
fn s42_queries_name_a_state_or_get_it() {
    for form in FORMS {
        let mut f = planned(form, 100, 1e-6);
        f.insert("x", b"a").unwrap();
        f.insert("y", b"b").unwrap();
        let ask = |state: &'static [u8]| {
            f.query(Record::key(b"x").with(Value::Label(state))).unwrap().verdict
        };
        assert_eq!(
            [ask(b"a"), ask(b"b"), ask(b"c")].map(|v| v == Verdict::Present),
            [true, false, false]
        );
        let answer = f.query(Record::key(b"x")).unwrap();
        assert_eq!(answer.detail, everbloom::Detail::Value(b"a".to_vec()), "{form}");
        assert_eq!(f.as_lookup().unwrap().get(b"x"), Some(b"a".to_vec()));
        assert_eq!(f.as_lookup().unwrap().get(b"z"), None);
        f.as_assign().unwrap().set(b"x", b"b").unwrap();
        assert_eq!(f.lookup("x"), Flow::State(b"b".to_vec()), "{form}");
        assert!(f.as_assign().unwrap().set(b"z", b"b").is_err());
    }
}

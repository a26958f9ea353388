//! What a ranking promises, over the whole list.

use super::*;
use crate::filter::{Ability, Form};
use crate::plan::Load;
use crate::sample::{self, Sample, Style};

fn ranked(goal: &Goal, needs: &[&str]) -> Ranking {
    rank(goal, needs).unwrap_or_else(|e| panic!("{needs:?}: {e}"))
}

fn slug<'a>(ranking: &'a Ranking, slug: &str) -> &'a Candidate {
    ranking.candidates.iter().find(|c| c.variant.slug == slug).unwrap_or_else(|| panic!("{slug}"))
}

fn goals() -> [Goal; 4] {
    let open = Goal::default();
    [
        Goal::new(1000, 0.01),
        Goal { items: Some(1000), bits: Some(20_000), ..open.clone() },
        Goal { bits: Some(20_000), fpr: Some(0.001), ..open.clone() },
        Goal { bits: Some(20_000), ..open },
    ]
}

#[test]
fn every_variant_that_serves_is_ranked_or_refused() {
    let needs = NEEDS.iter().map(|(need, _)| (Goal::new(1000, 0.01), Some(*need)));
    let cases = needs.chain(goals().map(|goal| (goal, None)));
    for (goal, need) in cases {
        let serving = serving(need.as_slice()).expect("a need of the list");
        assert!(!serving.is_empty(), "nobody serves {need:?}");
        let ranking = ranked(&goal, need.as_slice());
        let mut ids: Vec<u16> = ranking.candidates.iter().map(|c| c.variant.id).collect();
        ids.extend(ranking.refused.iter().map(|r| r.variant.id));
        ids.extend(ranking.open_ended.iter().map(|v| v.id));
        ids.sort_unstable();
        let mut all: Vec<u16> = serving.iter().map(|v| v.id).collect();
        all.sort_unstable();
        assert_eq!(ids, all, "{need:?}");
    }
}

#[test]
fn what_the_goal_leaves_open_is_what_is_compared() {
    let aims = [Aim::FewestBits, Aim::LowestRate, Aim::MostItems, Aim::MostItems];
    for (goal, aim) in goals().iter().zip(aims) {
        let ranking = ranked(goal, &[]);
        assert_eq!(ranking.aim, aim);
        let rank = |c: &Candidate| (c.misses(), c.is_built_once(), aim.cost(c));
        assert!(ranking.candidates.len() > 10);
        assert!(ranking.candidates.windows(2).all(|pair| rank(&pair[0]) <= rank(&pair[1])));
    }
}

#[test]
fn what_is_built_once_comes_first_where_the_set_never_changes() {
    let goal = Goal::new(1000, 0.01);
    let any = ranked(&goal, &[]);
    assert!(!any.candidates[0].is_built_once());
    assert!(any.better_if_fixed().is_some_and(Candidate::is_built_once));
    let fixed = ranked(&goal, &["static"]);
    assert!(fixed.candidates[0].is_built_once() && fixed.better_if_fixed().is_none());
}

#[test]
fn candidates_build_as_predicted() {
    for goal in goals() {
        for candidate in ranked(&goal, &[]).candidates {
            let variant = candidate.variant;
            let sample = Sample::new(&variant.input, Style::Short, 0..candidate.items);
            let filter = sample::build(variant, &candidate.goal, &sample.records());
            let filter = filter.unwrap_or_else(|e| panic!("{}: {e}", variant.slug));
            assert_eq!(filter.head().form, candidate.form.name, "{}", variant.slug);
            let again = variant.expect(&candidate.goal, &Load::items(candidate.items));
            assert_eq!(again.ok().flatten(), Some(candidate.expect), "{}", variant.slug);
        }
    }
}

#[test]
fn the_most_items_are_the_most() {
    let ranking = ranked(&Goal { bits: Some(9_585_060), ..Goal::default() }, &[]);
    let bloom = slug(&ranking, "bloom");
    let bits = |n: u64| {
        let goal = Goal { items: Some(n), ..bloom.goal.clone() };
        bloom.variant.expect(&goal, &Load::items(n)).ok().flatten().map_or(0, |e| e.bits)
    };
    assert!((999_990..1_000_010).contains(&bloom.items), "{}", bloom.items);
    assert!(bits(bloom.items) <= 9_585_060 && bits(bloom.items + 1) > 9_585_060);
    assert!(ranking.candidates.iter().all(|c| c.expect.bits <= 9_585_060));
}

#[test]
fn needs_choose_the_form_and_a_named_form_is_kept() {
    let able = |form: &Form| form.abilities.contains(&Ability::Lookup);
    for candidate in ranked(&Goal::new(100, 0.01), &["values"]).candidates {
        let any = candidate.variant.forms.iter().any(able);
        assert_eq!(able(candidate.form), any, "{}", candidate.variant.slug);
    }
    let goal = Goal::new(1000, 0.01).set("form", "patterns");
    let ranking = ranked(&goal, &[]);
    let named: Vec<_> = ranking.candidates.iter().map(|c| (c.variant.slug, c.form.name)).collect();
    assert_eq!(named, [("blocked", "patterns")], "others have no such form");
    let ranking = ranked(&Goal::new(1000, 0.01).set("k", 3), &[]);
    assert_eq!(slug(&ranking, "bloom").probes, Some(3));
    assert!(ranking.refused.iter().any(|r| r.variant.slug == "golomb"));
}

#[test]
fn bloom_is_the_textbook_filter() {
    let ranking = ranked(&Goal::new(1_000_000, 0.01), &[]);
    let bloom = slug(&ranking, "bloom");
    assert_eq!((bloom.probes, bloom.misses()), (Some(7), false));
    assert!((bloom.bits_per_item() - 9.585).abs() < 0.001);
    assert!((bloom.times_bound().expect("a bound") - 1.0 / std::f64::consts::LN_2).abs() < 0.01);
    let rate = bloom.rate_at(1000, 10_000).expect("a formula");
    assert!((rate - 0.00819).abs() < 1e-4, "{rate}");
}

#[test]
fn reasons_say_what_puts_one_before_the_next() {
    let [bits, rate, items, _] = goals().map(|goal| ranked(&goal, &[]));
    let two = |r: &Ranking| (r.candidates[0].clone(), r.candidates[1].clone());
    let lead = |r: &Ranking| r.reason(0).and_then(|reason| reason.lead);
    let (first, second) = two(&bits);
    let share = second.bits_per_item() / first.bits_per_item() - 1.0;
    assert_eq!(lead(&bits), Some(Lead::Bits(share)));
    assert_eq!(lead(&rate), Some(Lead::Rate(two(&rate).1.expect.fpr)));
    assert_eq!(lead(&items), Some(Lead::Items(two(&items).1.items)));
    let last = bits.candidates.len() - 1;
    assert!(bits.reason(last).is_some_and(|reason| reason.lead.is_none()));
    assert!(bits.reason(last + 1).is_none());
    let misses = bits.candidates.iter().position(Candidate::misses);
    let before = misses.expect("a filter with false negatives") - 1;
    let reason = bits.reason(before).and_then(|reason| reason.lead);
    assert_eq!(reason, Some(Lead::NoFalseNegatives));
}

#[test]
fn what_cannot_be_planned_is_refused() {
    assert!(rank(&Goal::new(10, 0.01), &["flying"]).is_err());
    assert!(rank(&Goal { fpr: Some(0.01), ..Goal::default() }, &[]).is_err());
    let tiny = ranked(&Goal { bits: Some(1), ..Goal::default() }, &["fast"]);
    assert!(tiny.candidates.is_empty());
    assert!(tiny.refused.iter().any(|r| matches!(r.why, Why::TooFewBits { least } if least > 1)));
    let wrong = ranked(&Goal::new(10, 2.0), &[]);
    assert!(wrong.candidates.is_empty());
    assert!(wrong.refused.iter().all(|r| matches!(r.why, Why::Refused(_))));
    let sizes = ranked(&Goal { bits: Some(20_000), ..Goal::default() }, &["known-queries"]);
    assert!(!sizes.open_ended.is_empty());
}

#[test]
fn what_is_made_for_so_many_comes_before_what_is_not() {
    let order = |n| -> Vec<_> {
        let ranking = ranked(&Goal::new(n, 0.01), &["exact"]);
        ranking.open_ended.iter().map(|variant| variant.slug).collect()
    };
    assert_eq!(order(100), ["multistage", "complement"]);
    assert_eq!(order(1_000_000), ["complement", "multistage"]);
}

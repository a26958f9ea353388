//! What the library says when it refuses: in its own words, since it does not know how its caller is typed to.

use everbloom::catalog::VARIANTS;
use everbloom::internals::filter::{Preset, Range};
use everbloom::{Error, Goal, Kind, Load, Record};

/// Words that only a command line has.
fn has_flag(text: &str) -> bool {
    let mut words = text.split(|c: char| c.is_whitespace() || "`'\"(),;:".contains(c));
    words.any(|word| {
        let short =
            word.len() == 2 && word.starts_with('-') && word.as_bytes()[1].is_ascii_lowercase();
        short || word.starts_with("--") && word.len() > 2
    })
}

/// Goals that some variant refuses, each for a reason of its own.
fn bad_goals() -> Vec<Goal> {
    let sizes =
        [(Some(0), Some(0.01), None), (Some(100), Some(0.0), None), (Some(100), Some(1.5), None)];
    let rooms = [
        (None, None, None),
        (None, Some(0.01), None),
        (Some(100), None, Some(0)),
        (Some(1_000_000), Some(1e-9), Some(64)),
        (Some(1_000_000), None, Some(8)),
        (None, Some(1e-12), Some(8)),
        (Some(u64::MAX), Some(1e-300), None),
        (Some(1 << 50), Some(0.01), None),
    ];
    let goals = sizes.into_iter().chain(rooms);
    goals.map(|(items, fpr, bits)| Goal { items, fpr, bits, ..Goal::default() }).collect()
}

/// Every way in which a goal's errors can be shown.
fn shown(error: &Error) -> [String; 2] {
    [error.to_string(), error.render(|field, _| field.to_owned())]
}

#[test]
fn no_error_of_the_library_names_a_flag() {
    let mut refused = 0;
    for variant in VARIANTS.iter().filter(|v| v.type_name().is_some()) {
        for goal in bad_goals() {
            let outcomes = [
                variant.expect(&goal, &Load::default()).err(),
                variant.build_from(&goal, &[Record::key(b"apple")]).err(),
            ];
            for error in outcomes.iter().flatten() {
                refused += 1;
                for text in shown(error) {
                    assert!(!has_flag(&text), "{}: {goal:?}: {text}", variant.slug);
                }
            }
        }
    }
    assert!(refused > 100, "only {refused} goals were refused");
}

#[test]
fn no_setting_out_of_range_is_refused_by_a_flag() {
    let goal = Goal::new(100, 0.01);
    for variant in VARIANTS.iter().filter(|v| v.type_name().is_some()) {
        for param in variant.params {
            let beyond = match param.range {
                Range::Integer(low, high) => {
                    [low.wrapping_sub(1), high.saturating_add(1)].map(|v| v.to_string())
                }
                Range::Real(low, high) => [low - 1.0, high + 1.0].map(|v| v.to_string()),
                Range::Choice(_) => ["no such word", ""].map(str::to_owned),
            };
            for value in beyond.into_iter().chain(["nonsense".to_owned()]) {
                let goal = goal.clone().set(param.name, value.as_str());
                let Err(error) = variant.check(&goal) else { continue };
                assert_eq!(error.kind(), Kind::BadParameter);
                assert_eq!((error.field(), error.value()), (Some(param.name), Some(&*value)));
                assert!(
                    shown(&error).iter().all(|text| !has_flag(text)),
                    "{}: {error}",
                    variant.slug
                );
            }
            assert!(!has_flag(param.help), "{}: {}", variant.slug, param.help);
        }
        for name in ["form", "hash", "no-such-parameter"] {
            let error = variant.check(&goal.clone().set(name, "nonsense")).expect_err("refused");
            assert_eq!(error.field(), Some(name));
            assert!(!has_flag(&error.to_string()), "{}: {error}", variant.slug);
        }
    }
}

/// m without k, one half of a pair, and settings that exclude each other: refused in the library's words.
#[test]
fn settings_that_do_not_go_together_are_refused_in_plain_words() {
    for variant in VARIANTS.iter().filter(|v| v.type_name().is_some()) {
        let bare = Goal { fpr: Some(0.01), ..Goal::default() };
        for param in variant.params.iter().filter(|p| p.default == Preset::Planned) {
            let value = match param.range {
                Range::Integer(low, high) => (low + 3).min(high).to_string(),
                Range::Real(low, high) => (low + (high - low) / 3.0).to_string(),
                Range::Choice(words) => words[0].to_owned(),
            };
            for goal in [bare.clone(), Goal::new(10, 0.01), bare.clone().bits(1)] {
                let goal = goal.set(param.name, value.as_str());
                if let Err(error) = variant.expect(&goal, &Load::default()) {
                    assert!(!has_flag(&error.to_string()), "{}: {goal:?}: {error}", variant.slug);
                }
            }
        }
    }
}

#[test]
fn the_test_itself_knows_a_flag_when_it_sees_one() {
    for text in ["give -n", "--set m=3", "ask (`--memory`)", "-p 0.01: no"] {
        assert!(has_flag(text), "{text}");
    }
    for text in ["a - b", "1e-9", "--", "n − 1", "siphash-2-4", "-1"] {
        assert!(!has_flag(text), "{text}");
    }
}

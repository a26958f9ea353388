//! How keys were read when a filter was built: its file remembers it, so that it is asked in the same way or
//! not at all.

use everbloom::internals::filter::{Time, ValueKind};
use everbloom::membership::ancestors::Hierarchy;
use everbloom::{Facts, Filter, Reading};
use everbloom_records::{Case, Field, Grammar, KeyType};

use crate::args::Text;
use crate::talk::say;
use crate::{Result, Stop, input};

/// What a file remembers of keys that are read by these options.
pub fn remembered(text: &Text, ancestors: Option<Hierarchy>, case: Case) -> Reading {
    let mut reading = Reading::default();
    reading.fold_case = case == Case::Folded;
    if let Some(key) = text.key_type.filter(|key| *key != KeyType::default()) {
        reading.key_type = key.name().to_owned();
    }
    if let Some(hierarchy) = ancestors {
        reading.ancestors = hierarchy.name().into_owned();
    }
    reading
}

/// How keys for a filter are read: as its file says. Options that contradict it are refused.
pub fn grammar(filter: &dyn Filter, text: &Text) -> Result<Grammar> {
    let (facts, reading) = (filter.facts(), &filter.head().reading);
    timed(facts, text)?;
    let key = key_type(reading, text.key_type)?;
    if reading.key_type.is_empty() && key != KeyType::default() && !facts.input.key.is_integer() {
        say!(
            "the filter does not state that its keys are of type {}; if they were read as text, none will be found",
            key.name()
        );
    }
    let text = Text { key_type: Some(key), ..text.clone() };
    let case = if reading.fold_case { Case::Folded } else { Case::Kept };
    Ok(Grammar { case, ..input::grammar(&text)?.with_input(&facts.input) })
}

/// The same records with a prior behind each key, for variants whose records have no values of their own.
pub fn with_priors(grammar: Grammar, facts: &Facts) -> Result<Grammar> {
    if matches!(grammar.field, Field::Csv { .. }) {
        let message = "--priors: does not work with --csv; write key<TAB>prior";
        return Err(Stop::Error(message.to_owned()));
    }
    if grammar.value == ValueKind::None {
        return Ok(Grammar { value: ValueKind::Weight, ..grammar });
    }
    Err(Stop::Error(format!(
        "--priors: records of {} filters already have a value after the TAB",
        facts.slug
    )))
}

/// Refuses times for variants that know none.
pub fn timed(facts: &Facts, text: &Text) -> Result<()> {
    if text.time && facts.input.time == Time::No {
        return Err(Stop::Error(format!(
            "--time: {} filters do not use times; `everbloom plan --need decay` lists those that do",
            facts.slug
        )));
    }
    Ok(())
}

/// The type of a filter's keys, given what was typed.
pub fn key_type(reading: &Reading, typed: Option<KeyType>) -> Result<KeyType> {
    if reading.key_type.is_empty() {
        return Ok(typed.unwrap_or_default());
    }
    let known = KeyType::ALL.into_iter().find(|key| key.name() == reading.key_type);
    let known = known.ok_or_else(|| {
        let name = &reading.key_type;
        Stop::Error(format!("the filter's keys are of type {name}: update everbloom"))
    })?;
    match typed {
        Some(typed) if typed != known => Err(Stop::Error(format!(
            "--key-type {}: the filter was built from keys of type {}; omit the option",
            typed.name(),
            known.name()
        ))),
        _ => Ok(known),
    }
}

/// The hierarchy of a filter that holds the ancestors of its keys, given what was typed.
pub fn ancestors(filter: &dyn Filter, typed: Option<Hierarchy>) -> Result<Option<Hierarchy>> {
    let name = &filter.head().reading.ancestors;
    let held = match Hierarchy::named(name) {
        None if !name.is_empty() => {
            let message = format!("the filter holds ancestors by {name}: update everbloom");
            return Err(Stop::Error(message));
        }
        held => held,
    };
    match (held, typed) {
        (None, Some(_)) => Err(Stop::Error(
            "--ancestors: the filter was built without it, so it does not contain the ancestors of its keys; \
             omit the option, or build the filter again with it"
                .to_owned(),
        )),
        (Some(held), Some(typed)) if held != typed => Err(Stop::Error(format!(
            "--ancestors: the filter holds the ancestors of {}, not of {}; omit the option",
            held.name(),
            typed.name()
        ))),
        _ => Ok(held),
    }
}

//! `--mergeable`: sizes that follow from each other by halving, so that a larger filter folds onto a smaller one.

use everbloom::internals::filter::{Ability, FactValue, Filter, Form};
use everbloom::internals::plan::Goal;
use everbloom::internals::variant::Variant;
use everbloom_report::number::bytes_text;

use crate::report::unable::unable;
use crate::talk::say;
use crate::{Result, Stop};

/// A size to try folding with.
const TRIAL: u64 = 1 << 16;

/// Refuses variants and forms that do not merge, and a size that would follow from the number of keys where filters of
/// unequal size do not.
pub fn check(variant: &'static Variant, goal: &Goal) -> Result<()> {
    let form = form(variant, goal);
    let can = |ability| form.is_some_and(|form| form.abilities.contains(&ability));
    if !can(Ability::Merge) {
        return Err(unable(&variant.facts, "merged", "merge").into());
    }
    if goal.items.is_some() || goal.bits.is_some() || sized(goal) || can(Ability::Fold) {
        return Ok(());
    }
    Err(Stop::Error(format!(
        "--mergeable: {} filters can be merged only if they have the same size: give -n, the number of keys of all \
         filters together, the same for each",
        variant.slug
    )))
}

fn form(variant: &'static Variant, goal: &Goal) -> Option<&'static Form> {
    let named = goal.settings.iter().rev().find(|(name, _)| name == "form");
    match named {
        Some((_, form)) => variant.forms.iter().find(|f| f.name == form.to_string()),
        None => variant.forms.first(),
    }
}

/// Whether a size was set by hand.
fn sized(goal: &Goal) -> bool {
    goal.settings.iter().any(|(name, _)| name == "m")
}

/// A power of two cells in place of the size planned, where the variant folds: above it if that follows from a rate,
/// below it if it is the memory there is. Says what that costs.
pub fn rounded(variant: &'static Variant, goal: Goal) -> Result<Goal> {
    let folds = form(variant, &goal).is_some_and(|form| form.abilities.contains(&Ability::Fold));
    if !folds || sized(&goal) {
        return Ok(goal);
    }
    let planned = variant.build_from(&goal, &[])?;
    let (Some(m), k) = (cells(&*planned), number(&*planned, "k").unwrap_or(1)) else {
        return Ok(goal);
    };
    let has = |name: &str| variant.params.iter().any(|param| param.name == name);
    let set = |name: &str| goal.settings.iter().any(|(there, _)| there == name);
    let shaped = |m: u64| {
        let mut goal = goal.clone().set("m", m);
        if has("k") {
            goal = goal.set("k", k);
        }
        // Which scheme is the fastest depends on the size; this one does for all of them.
        if has("scheme") && !set("scheme") {
            goal = goal.set("scheme", "mixed");
        }
        goal
    };
    // Some are cut into k slices, each of which is halved.
    let unit = [1, k].into_iter().find(|unit| {
        let trial = variant.build_from(&shaped(unit * TRIAL), &[]);
        trial.is_ok_and(|trial| halves(&*trial, unit * TRIAL))
    });
    let Some(unit) = unit else { return Ok(goal) };
    let power = match goal.bits {
        Some(_) => 1 << (m / unit).max(1).ilog2(),
        None => m.div_ceil(unit).next_power_of_two(),
    };
    let goal = shaped(unit * power);
    let bits = |filter: &dyn Filter| filter.memory().total();
    let (before, after) = (bits(&*planned), bits(&*variant.build_from(&goal, &[])?));
    if before != after {
        say!(
            "--mergeable: {} instead of {}, so that it can be merged with larger and smaller filters of the same -p",
            bytes_text(after.div_ceil(8)),
            bytes_text(before.div_ceil(8)),
        );
    }
    Ok(goal)
}

/// Whether a filter can be halved several times, to what a filter of that size is.
fn halves(filter: &dyn Filter, m: u64) -> bool {
    let half = |filter: &dyn Filter| filter.as_fold().and_then(|fold| fold.fold().ok());
    let eighth = half(filter).and_then(|half_| half(&*half_)).and_then(|quarter| half(&*quarter));
    cells(filter) == Some(m) && eighth.is_some_and(|eighth| cells(&*eighth) == Some(m / 8))
}

/// Two filters of one size: the larger one folded as often as it takes, if that is possible. Says what was folded.
pub fn level(a: Box<dyn Filter>, b: Box<dyn Filter>) -> [Box<dyn Filter>; 2] {
    let (Some(m_a), Some(m_b)) = (cells(&*a), cells(&*b)) else { return [a, b] };
    let (large, small) = if m_a > m_b { (&a, m_b) } else { (&b, m_a) };
    let mut folded: Option<Box<dyn Filter>> = None;
    loop {
        let now = folded.as_deref().unwrap_or(&**large);
        match cells(now) {
            Some(m) if m > small => {}
            Some(m) if m == small => break,
            _ => return [a, b],
        }
        let Some(Ok(half)) = now.as_fold().map(|fold| fold.fold()) else { return [a, b] };
        folded = Some(half);
    }
    let Some(folded) = folded else { return [a, b] };
    say!(
        "folded a filter of {} to {}, the size of the smaller one",
        bytes_text(large.memory().total().div_ceil(8)),
        bytes_text(folded.memory().total().div_ceil(8)),
    );
    if m_a > m_b { [folded, b] } else { [a, folded] }
}

fn cells(filter: &dyn Filter) -> Option<u64> {
    number(filter, "m")
}

/// A figure of a filter's shape.
pub fn number(filter: &dyn Filter, name: &str) -> Option<u64> {
    let fact = filter.describe().into_iter().find(|fact| fact.name == name)?;
    match fact.value {
        FactValue::Integer(number) => Some(number),
        _ => None,
    }
}

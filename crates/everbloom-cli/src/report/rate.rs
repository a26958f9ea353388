//! The share of non-members that `check` prints.

use everbloom::internals::filter::{FactValue, Filter, ValueKind};

/// Figures of a shape that tell how many sets a filter holds.
const SETS: [&str; 7] = ["sets", "groups", "classes", "regions", "states", "stages", "depth"];

/// What a filter lets pass: what is undecided, too, and for a filter of several sets whatever one of them lets pass, since
/// queries need not name a set.
pub fn passing(filter: &dyn Filter) -> Option<f64> {
    let each = filter.now().passing()?;
    // 1 − (1 − f)^sets.
    Some(-(sets(filter) as f64 * (-each).ln_1p()).exp_m1())
}

/// What each of several sets lets pass.
pub fn of_each_set(filter: &dyn Filter) -> Option<f64> {
    filter.now().passing().filter(|_| sets(filter) > 1)
}

/// The number of sets that a filter holds.
fn sets(filter: &dyn Filter) -> u64 {
    if filter.facts().input.value == ValueKind::None {
        return 1;
    }
    let facts = filter.describe();
    let count = facts.iter().find(|fact| SETS.contains(&fact.name)).map(|fact| &fact.value);
    if let Some(FactValue::Integer(count)) = count { (*count).max(1) } else { 1 }
}

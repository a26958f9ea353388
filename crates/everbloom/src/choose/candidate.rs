//! One variant, sized for a goal.

use super::Why;
use crate::filter::{Ability, Form};
use crate::plan::{DEFAULT_FPR, Expect, Goal, Load};
use crate::theory::bound;
use crate::variant::Variant;

/// A variant that fits a goal, and what it would cost.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// The variant.
    pub variant: &'static Variant,
    /// The form that serves the needs.
    pub form: &'static Form,
    /// What builds it: the goal it was planned for, with the form among its settings, and the items
    /// where only bits were given.
    pub goal: Goal,
    /// The items it holds.
    pub items: u64,
    /// Its predicted rates and bits.
    pub expect: Expect,
    /// Its probes per key, if it has a fixed number: [`Expect::probes`].
    pub probes: Option<u64>,
}

impl Candidate {
    /// Bits of all that it holds, for each item.
    pub fn bits_per_item(&self) -> f64 {
        self.expect.total() as f64 / self.items as f64
    }

    /// Whether false negatives are expected.
    pub fn misses(&self) -> bool {
        self.expect.fnr > 0.0
    }

    /// Whether it is built from all its keys at once: it takes none later, or not at the planned rate.
    pub fn is_built_once(&self) -> bool {
        let fixed = self.variant.needs.contains(&"static");
        fixed || !self.form.abilities.contains(&Ability::Insert)
    }

    /// Its bits as a multiple of the lower bound; `None` for filters with false negatives or without
    /// false positives, of which the bound says nothing.
    pub fn times_bound(&self) -> Option<f64> {
        if self.misses() {
            return None;
        }
        let passing = self.expect.fpr + self.expect.undecided;
        bound::times_bound(self.expect.total() as f64, self.items as f64, passing)
    }

    /// The false-positive rate it would have with `items` items in `bits` bits; `None` where there is
    /// no such filter or no formula.
    pub fn rate_at(&self, items: u64, bits: u64) -> Option<f64> {
        let goal = Goal { items: Some(items), fpr: None, bits: Some(bits), ..self.goal.clone() };
        let expect = self.variant.expect(&goal, &Load::items(items));
        expect.ok().flatten().map(|expect| expect.fpr)
    }
}

/// Sizes a variant for a goal that names items, bits or both.
pub(super) fn plan(
    variant: &'static Variant,
    goal: &Goal,
    needs: &[&str],
) -> Result<Candidate, Why> {
    let (form, named) = form_for(variant, goal, needs);
    let mut goal = if named { goal.clone() } else { goal.clone().set("form", form.name) };
    let sized = goal.settings.iter().any(|(name, _)| name == "m");
    let items = match (goal.items, goal.bits) {
        (Some(items), _) => items,
        (None, None) if sized => {
            let wanted = goal.fpr.take().unwrap_or(DEFAULT_FPR);
            let fpr = |n: u64| {
                goal.items = Some(n);
                expect(variant, &goal, n).map(|expect| expect.fpr)
            };
            most_items_at(wanted, fpr)?
        }
        (None, room) => {
            goal.fpr = goal.fpr.or(Some(DEFAULT_FPR));
            goal.bits = None;
            let bits = |n: u64| {
                goal.items = Some(n);
                expect(variant, &goal, n).map(|expect| expect.total())
            };
            most_items(room.unwrap_or(0), bits)?
        }
    };
    goal.items = Some(items);
    let expect = expect(variant, &goal, items)?;
    // What passes is what `check` prints, so undecided answers are in it.
    let passing = expect.fpr + expect.undecided;
    let judged = !form.abilities.contains(&Ability::Reconcile) && !sized_by_error(variant, &goal);
    if passing > USELESS && judged {
        let roomy = Goal { bits: None, fpr: Some(DEFAULT_FPR), ..goal.clone() };
        let enough = self::expect(variant, &roomy, items).ok().map(|expect| expect.total());
        return Err(Why::Useless { fpr: passing, enough });
    }
    Ok(Candidate { variant, form, goal, items, expect, probes: expect.probes })
}

/// Whether the goal sizes counts by how far they may be off: then keys that never came may all have counts.
fn sized_by_error(variant: &Variant, goal: &Goal) -> bool {
    let rows = |(name, _): &(String, _)| ["epsilon", "delta", "w", "d"].contains(&&**name);
    let errs = variant.params.iter().any(|param| param.name == "delta");
    errs && goal.settings.iter().any(rows)
}

/// From this share of non-members on that pass, a filter is not worth its name.
const USELESS: f64 = 0.5;

/// The largest number of items at which the rate stays within `wanted`.
fn most_items_at(wanted: f64, mut fpr: impl FnMut(u64) -> Result<f64, Why>) -> Result<u64, Why> {
    fpr(1)?;
    most_items((wanted * 1e18) as u64, |n| fpr(n).map(|fpr| (fpr * 1e18) as u64))
}

fn expect(variant: &'static Variant, goal: &Goal, items: u64) -> Result<Expect, Why> {
    variant.expect(goal, &Load::items(items))?.ok_or(Why::NoFormula)
}

/// The form that the goal names, or the first that is able to do what the needs ask for, or the
/// default one; and whether the goal names one.
fn form_for(variant: &'static Variant, goal: &Goal, needs: &[&str]) -> (&'static Form, bool) {
    let named = goal.settings.iter().rev().find(|(name, _)| name == "form").map(|(_, form)| form);
    let able = |form: &&Form| match named {
        Some(name) => form.name == name.to_string(),
        None => needs.iter().filter_map(|n| ability(n)).all(|a| form.abilities.contains(&a)),
    };
    (variant.forms.iter().find(able).unwrap_or(&variant.forms[0]), named.is_some())
}

/// The ability that a need asks of a form; the other needs are served by the variant as such.
fn ability(need: &str) -> Option<Ability> {
    match need {
        "delete" => Some(Ability::Remove),
        "count" => Some(Ability::Count),
        "merge" => Some(Ability::Merge),
        "decay" => Some(Ability::Age),
        "values" => Some(Ability::Lookup),
        "reconcile" => Some(Ability::Reconcile),
        _ => None,
    }
}

/// The largest number of items whose filter fits into `room` bits.
fn most_items(room: u64, mut bits: impl FnMut(u64) -> Result<u64, Why>) -> Result<u64, Why> {
    let least = bits(1)?;
    if least > room {
        return Err(Why::TooFewBits { least });
    }
    let mut fits = |n: u64| bits(n).is_ok_and(|bits| bits <= room);
    let (mut low, mut high) = (1u64, 2u64);
    while fits(high) && high < 1 << 48 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(low)
}

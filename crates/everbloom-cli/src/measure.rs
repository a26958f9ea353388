//! Prediction against measurement, on records made on the spot.

use everbloom::internals::filter::{Filter, Verdict};
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;

use crate::Result;

/// The rate that filters are planned for here.
pub const RATE: f64 = 0.01;

/// What was predicted of a filter, and what it did.
pub struct Measured {
    /// Words inside: as many as asked for, or as the variant's purpose allows.
    pub items: u64,
    pub filter: Box<dyn Filter>,
    pub bits_per_item: f64,
    /// By the formulas, before it was built.
    pub predicted: Option<f64>,
    /// By itself, from its real fill.
    pub now: Option<f64>,
    /// Share of non-members answered "present".
    pub measured: f64,
    /// Share of non-members answered "undecided".
    pub undecided: f64,
    /// Share of members answered "absent".
    pub missed: f64,
}

/// Builds a filter of `items` words at 1 %, or of as many as the variant's purpose allows, and asks it
/// for them and for `queries` others.
pub fn measure(
    variant: &'static Variant,
    form: &str,
    items: u64,
    queries: u64,
) -> Result<Measured> {
    let items = items.min(variant.reach);
    let goal = Goal::new(items, RATE).set("form", form);
    let (filter, members, style) = built(variant, &goal, items)?;
    let non_members = Sample::new(&variant.input, style, items..items + queries);
    let predicted = variant.expect(&goal, &Load::items(items))?.map(|e| e.fpr);
    let verdicts = |sample: &Sample| -> Result<Vec<Verdict>> {
        sample.records().iter().map(|record| Ok(filter.query(*record)?.verdict)).collect()
    };
    let share = |verdicts: &[Verdict], verdict: Verdict| {
        verdicts.iter().filter(|v| **v == verdict).count() as f64 / verdicts.len() as f64
    };
    let (inside, outside) = (verdicts(&members)?, verdicts(&non_members)?);
    Ok(Measured {
        items,
        bits_per_item: filter.memory().total() as f64 / items as f64,
        predicted,
        now: filter.now().fpr,
        measured: share(&outside, Verdict::Present),
        undecided: share(&outside, Verdict::Undecided),
        missed: share(&inside, Verdict::Absent),
        filter,
    })
}

/// A filter of `items` words, with the words and their style.
pub fn built(
    variant: &'static Variant,
    goal: &Goal,
    items: u64,
) -> Result<(Box<dyn Filter>, Sample, Style)> {
    let build = |style| {
        let members = Sample::new(&variant.input, style, 0..items);
        let filter = sample::build(variant, goal, &members.records())?;
        Ok((filter, members, style))
    };
    // Some forms take short keys alone.
    build(Style::Words).or_else(|_: everbloom::Error| build(Style::Short)).map_err(Into::into)
}

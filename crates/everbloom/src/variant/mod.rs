//! An entry of the list: what it says of itself, and what it can do.

mod builder;
mod face;
pub(crate) mod many;
pub(crate) mod prelude;
mod structure;

pub use builder::Builder;
pub(crate) use face::{ability, built, by_part, face, headed, keyed, planned, shaped};
pub use structure::{Create, Inputs, Listed, Mapped, Ops, Plan, Source, Stream};
pub(crate) use structure::{OpenPages, digests, empty, mapped, settle};

use std::ops::Deref;

use crate::error::{Error, Result};
use crate::filter::{Facts, Filter, Negatives, Record};
use crate::plan::{Expect, Goal, Load, Request};

/// One entry of the list.
#[derive(Debug)]
pub struct Variant {
    /// What it says of itself.
    pub facts: Facts,
    /// How to build and load it; none for a technique or a theory.
    pub(crate) ops: Option<Ops>,
}

impl Deref for Variant {
    type Target = Facts;

    fn deref(&self) -> &Facts {
        &self.facts
    }
}

impl Variant {
    /// The entry of the type `T`.
    pub(crate) const fn of<T: Create>(facts: Facts) -> Self {
        Self { facts, ops: Some(Ops::of::<T>(None)) }
    }

    /// The entry of the type `T`, which can be kept as a folder of pages.
    pub(crate) const fn paged<T: Create>(facts: Facts, pages: OpenPages) -> Self {
        Self { facts, ops: Some(Ops::of::<T>(Some(pages))) }
    }

    /// The entry of what is no filter.
    pub(crate) const fn untyped(facts: Facts) -> Self {
        Self { facts, ops: None }
    }

    fn ops(&self) -> Result<&Ops> {
        self.ops.as_ref().ok_or_else(|| {
            let kind = self.kind.name();
            Error::unsupported(format!("{} is a {kind}, not a filter", self.slug))
        })
    }

    /// The name of its type within its family, such as `Bloom`; none for a technique or a theory.
    pub fn type_name(&self) -> Option<&'static str> {
        (self.ops.as_ref()?.name)().rsplit("::").next()
    }

    /// Whether its filters can be kept as a folder of pages.
    pub fn has_pages(&self) -> bool {
        self.ops.as_ref().is_some_and(|ops| ops.pages.is_some())
    }

    /// Checks a goal against this variant without building anything.
    pub fn check(&'static self, goal: &Goal) -> Result<()> {
        self.ops()?;
        Request::new(&self.facts, goal).map(drop)
    }

    /// Builds a filter of this variant.
    pub fn build(&'static self, goal: &Goal, inputs: &mut Inputs<'_>) -> Result<Box<dyn Filter>> {
        let ops = self.ops()?;
        self.check_negatives(inputs)?;
        (ops.build)(&Request::new(&self.facts, goal)?, inputs)
    }

    /// Refuses known non-members that the variant has no use for, and a build that cannot do without.
    fn check_negatives(&self, inputs: &Inputs<'_>) -> Result<()> {
        let what = match (self.input.negatives, &inputs.negatives) {
            (Negatives::Required, None) => "needs known non-members: give {negatives}",
            (Negatives::No, Some(_)) => "does not use known non-members: omit {negatives}",
            _ => return Ok(()),
        };
        Err(Error::parameter(format!("{} {what}", self.slug)))
    }

    /// Builds a filter of this variant from records in memory.
    pub fn build_from(
        &'static self,
        goal: &Goal,
        mut records: &[Record<'_>],
    ) -> Result<Box<dyn Filter>> {
        self.build(goal, &mut Inputs { records: &mut records, negatives: None })
    }

    /// What the formulas predict of a filter of this variant, if there are formulas.
    pub fn expect(&'static self, goal: &Goal, load: &Load) -> Result<Option<Expect>> {
        (self.ops()?.expect)(&Request::new(&self.facts, goal)?, load)
    }
}

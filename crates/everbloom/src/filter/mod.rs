//! What every filter can do, and one small trait per further ability.
//!
//! These traits are the dynamic face, for code that picks a variant at run time (the command line, a
//! server). Code that knows its variant uses the type's own methods, which take any
//! [`Key`](crate::hash::Key) and are not dispatched.

mod ability;
mod answer;
mod face;
mod facts;
mod head;
mod operation;
pub(crate) mod paged;
mod param;
mod part;
mod reading;
mod record;

pub use ability::{
    Age, Assign, Bulk, BulkInsert, Count, Difference, Differences, Estimate, Fold, Insert,
    Intersect, Lent, LentCells, List, Lookup, Merge, MergeLaw, Reconcile, Remove,
};
pub use answer::{
    Answer, Bound, Counted, Detail, Fact, FactValue, Number, Rates, Seen, Touched, Verdict, fact,
    real, text,
};
pub(crate) use answer::{compared, touched};
pub use face::Face;
pub(crate) use face::can;
pub(crate) use facts::FORM;
pub use facts::{
    Ability, Build, Counts, EntryKind, Example, Facts, FalseNegatives, Form, Input, KeyKind, NEEDS,
    Negatives, Time, ValueKind,
};
pub use head::Child;
pub use head::Head;
pub(crate) use head::Headed;
pub(crate) use head::{Children, Loader, Lock, Origin};
pub use operation::{Given, Operation, Takes};
pub(crate) use operation::{Run, altered, change, operation, tell};
pub use param::{Param, Preset, Range, Setting};
pub use part::Part;
pub use reading::Reading;
pub use record::{Parts, Record, Value};
pub(crate) use record::{number, range};

use std::any::Any;
use std::fmt;
use std::path::Path;

use crate::error::{Error, Kind, Result};
use crate::state::{Encoder, Memory, State};

/// Object-safe access to a filter's state; every [`State`] has it.
pub trait Saved {
    /// Writes the whole state.
    fn save_state<'a>(&'a self, out: &mut Encoder<'a>);
}

impl<T: State> Saved for T {
    fn save_state<'a>(&'a self, out: &mut Encoder<'a>) {
        self.save("filter", out);
    }
}

/// A filter of any variant. Sealed: the variants of this crate implement it.
pub trait Filter: Any + Face + Saved + Send + Sync + fmt::Debug {
    /// The cells that answer, describe and predict for the filter; one without such a part does all of it
    /// itself.
    fn part(&self) -> Option<&dyn Part> {
        None
    }

    /// Answers a query. Never writes. A record the variant cannot take is an error.
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        match self.part() {
            Some(part) => Ok(part.answer(self.head().hasher.digest(record.key))),
            None => by_bulk(self.facts(), self.head(), self.as_bulk(), record.key),
        }
    }

    /// Fraction of cells in use, where that means something.
    fn fill(&self) -> Option<f64> {
        self.part().map(Part::fill)
    }

    /// The rates predicted from the real fill.
    fn now(&self) -> Rates {
        rates_of(self.part(), self.head())
    }

    /// The shape, in a few facts.
    fn describe(&self) -> Vec<Fact> {
        self.part().map_or_else(Vec::new, Part::describe)
    }

    /// The cells a query for the key looks at, for explaining an answer; empty where a variant has no
    /// cells of its own to show.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        self.part().map_or_else(Vec::new, |part| part.trace(self.head().hasher.digest(key)))
    }

    /// Standard deviation of the bits of cells among sets of one size: zero where the shape fixes them,
    /// as it does unless they are coded.
    fn bits_sd(&self) -> f64 {
        0.0
    }

    /// Bits used by cells and by everything else.
    fn memory(&self) -> Memory {
        let mut encoder = Encoder::measuring();
        self.save_state(&mut encoder);
        encoder.memory()
    }

    /// Whether huge pages back all the cells that are large enough for them.
    fn huge_pages(&self) -> bool {
        let mut encoder = Encoder::measuring();
        self.save_state(&mut encoder);
        encoder.huge_pages()
    }

    /// Writes the filter as a folder of pages, where its variant has any.
    fn save_pages(&self, folder: &Path) -> Result<()> {
        Err(no_pages(self.facts(), folder))
    }

    /// Writes the answer to each record, or why there is none; `answers` is as long as `records`.
    fn query_many(&self, records: &[Record<'_>], answers: &mut [Result<Answer>]) {
        for (record, answer) in records.iter().zip(answers) {
            *answer = self.query(*record);
        }
    }
}

#[cold]
fn no_pages(facts: &Facts, folder: &Path) -> Error {
    Error::unsupported(format!(
        "{} is a folder, and a {} filter has no pages: give a file",
        folder.display(),
        facts.slug
    ))
}

/// The answer of a filter that has no part of its own, by its digests.
fn by_bulk(facts: &Facts, head: &Head, bulk: Option<&dyn Bulk>, key: &[u8]) -> Result<Answer> {
    if facts.kind == EntryKind::Sketch {
        return Err(Error::unsupported(format!(
            "{} is a sketch and has no members: it estimates, counts or lists",
            facts.slug
        )));
    }
    let bulk = bulk.ok_or_else(|| Error::unsupported("this filter answers no queries"))?;
    let mut found = [false];
    bulk.contains_digests(&[head.hasher.digest(key)], &mut found);
    Ok(Answer::of(found[0]))
}

/// The rates of a filter that leaves them to a part: those of its cells and of its digests.
fn rates_of(part: Option<&dyn Part>, head: &Head) -> Rates {
    let Some(part) = part else { return Rates::default() };
    let rates = part.rates();
    let fpr = rates.fpr.map(|fpr| (fpr + head.collisions()).min(1.0));
    Rates { fpr, ..rates }
}

impl dyn Filter {
    /// Whether the key may be a member. A key the variant cannot take is not one.
    pub fn contains(&self, key: &[u8]) -> bool {
        self.query(Record::key(key)).is_ok_and(|answer| answer.verdict != Verdict::Absent)
    }

    /// Whether it errs more often than planned, for more than chance can explain: around its capacity the rate
    /// scatters from filter to filter, by 1.4/√n of itself in flat filters and twice that in blocked ones.
    pub fn past_capacity(&self) -> bool {
        // The rate planned for a reconciling filter is that of failed decoding.
        let target = self.head().fpr.filter(|_| self.as_reconcile().is_none());
        let spread = 8.0 / (self.len().max(1) as f64).sqrt();
        target.zip(self.now().fpr).is_some_and(|(target, now)| now > (1.1 + spread) * target)
    }

    /// Items held; what an item is, the variant says.
    pub fn len(&self) -> u64 {
        self.head().items
    }

    /// The number of different keys, where the cells show that it is well below `len`: some were inserted more
    /// than once.
    pub fn fewer_keys(&self) -> Option<f64> {
        let different = self.as_estimate()?.cardinality()?;
        // Estimates scatter by a percent or two, in small filters by more.
        let items = self.len() as f64;
        (different < 0.9 * items - 6.0 * items.sqrt()).then_some(different)
    }

    /// Whether nothing was inserted.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// This filter as a `T`, or an error that names the two variants.
    pub fn as_same<T: Filter>(&self) -> Result<&T> {
        let any: &dyn Any = self;
        any.downcast_ref::<T>().ok_or_else(|| other_variant(self.facts()))
    }

    /// [`Self::as_same`], to change it.
    pub(crate) fn as_same_mut<T: Filter>(&mut self) -> Result<&mut T> {
        let facts = self.facts();
        let any: &mut dyn Any = self;
        any.downcast_mut::<T>().ok_or_else(|| other_variant(facts))
    }
}

fn other_variant(facts: &Facts) -> Error {
    Error::new(
        Kind::Incompatible { what: "variant" },
        format!("the other filter is a {} filter", facts.slug),
    )
}

//! Keys with priors: those that are worth inserting, since a "yes" for them is more often right than wrong.

use everbloom::internals::filter::{FactValue, Filter, Record, Value};
use everbloom::internals::plan::{Flat, Goal};
use everbloom::internals::variant::{Source, Variant};
use everbloom::weighted::bloom_paradox::select;
use everbloom::{Error, Kind};
use everbloom_records::Lines;

use crate::output::integer_text;
use crate::talk::say;
use crate::{Result, Stop};

/// The prior that stands beside a key, or the one for keys that have none.
pub fn prior(record: &Record<'_>, otherwise: Option<f64>) -> everbloom::Result<f64> {
    let own = if let Some(Value::Weight(prior)) = record.value { Some(prior) } else { None };
    let none = || Error::new(Kind::BadRecord, "the line has no prior; write key<TAB>prior");
    own.or(otherwise).ok_or_else(none)
}

/// The lines whose keys are worth inserting, without their priors.
pub struct Selected {
    lines: Lines,
    wanted: Vec<bool>,
}

impl Selected {
    /// Reads the priors and selects, for the filter that the goal has planned; without a number of items for one of
    /// all keys, and the goal is told.
    pub fn new(
        mut lines: Lines,
        variant: &'static Variant,
        goal: &mut Goal,
        cost: f64,
    ) -> Result<Self> {
        let mut priors = Vec::new();
        lines.each(|_, records| {
            for record in records {
                priors.push(prior(record, None)?);
            }
            Ok(())
        })?;
        goal.items.get_or_insert((priors.len() as u64).max(1));
        let empty = variant.build_from(goal, &[])?;
        let shape = shape(&*empty).ok_or_else(|| {
            let slug = variant.slug;
            Stop::Error(format!("--priors: works with standard filters, not with {slug}"))
        })?;
        let mut wanted = vec![false; priors.len()];
        let selected = select(&priors, shape, cost)?;
        selected.iter().for_each(|i| wanted[*i] = true);
        say!(
            "{} of {} keys are likely enough to be inserted",
            integer_text(selected.len() as u64),
            integer_text(priors.len() as u64)
        );
        Ok(Self { lines, wanted })
    }
}

/// Cells and probes of a standard filter.
fn shape(filter: &dyn Filter) -> Option<Flat> {
    let facts = filter.describe();
    let fact = |name| match facts.iter().find(|fact| fact.name == name)?.value {
        FactValue::Integer(value) => Some(value),
        _ => None,
    };
    let standard = filter.facts().slug == "bloom";
    Some(Flat { m: fact("m")?, k: u32::try_from(fact("k")?).ok()? }).filter(|_| standard)
}

impl Source for Selected {
    fn batches(
        &mut self,
        f: &mut dyn FnMut(&[Record<'_>]) -> everbloom::Result<()>,
    ) -> everbloom::Result<()> {
        let mut wanted = self.wanted.iter();
        Ok(self.lines.each(|_, records| {
            let mut wants = || wanted.next() == Some(&true);
            let selected: Vec<Record<'_>> =
                records.iter().filter(|_| wants()).map(|r| Record::key(r.key)).collect();
            f(&selected)
        })?)
    }
}

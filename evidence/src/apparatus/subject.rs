//! A form of a variant as capability checks handle it: through the faces every filter has.

use everbloom::internals::filter::ValueKind;
use everbloom::internals::filter::{Filter, Record, Value, Verdict};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::variant::Variant;
use everbloom::{Error, Kind, Result};

/// What every filter is planned for.
pub const PLANNED: u64 = 200;
pub const RATE: f64 = 0.01;

/// Groups of the planned keys, where a variant takes labels.
const GROUPS: u64 = 16;

/// The first key that is never inserted; below the least universe of a variant whose keys are numbers.
const NON_MEMBERS: u64 = 500_000;

/// A variant with a goal for [`PLANNED`] keys.
pub struct Subject {
    pub variant: &'static Variant,
    pub goal: Goal,
}

/// Keys with their labels, where there are any.
pub struct Keys {
    sample: Sample,
    labels: Vec<Vec<u8>>,
}

impl Keys {
    pub fn records(&self) -> Vec<Record<'_>> {
        let mut records = self.sample.records();
        for (record, label) in records.iter_mut().zip(&self.labels) {
            record.value = Some(Value::Label(label));
        }
        records
    }
}

impl Subject {
    /// The form `form`, or the default where it is empty, of the variant `slug`, with settings of its own.
    pub fn new(slug: &str, form: &str, settings: &[(&str, &str)], seed: u64) -> Result<Self> {
        let variant = everbloom::catalog::by_slug(slug)
            .ok_or_else(|| Error::new(Kind::Unsupported, format!("no variant is called {slug}")))?;
        let form =
            if form.is_empty() { variant.forms.first().map_or("", |f| f.name) } else { form };
        let goal = Goal::new(PLANNED, RATE).set("form", form).seed(seed);
        let goal = settings.iter().fold(goal, |goal, (name, value)| goal.set(name, *value));
        Ok(Self { variant, goal })
    }

    /// Whether its keys come with labels.
    pub fn labels(&self) -> bool {
        self.variant.input.value == ValueKind::Label
    }

    fn keys(&self, range: std::ops::Range<u64>, label: impl Fn(u64) -> u64) -> Keys {
        let numbers = range.clone().filter(|_| self.labels());
        let labels = numbers.map(|i| label(i).to_string().into_bytes()).collect();
        Keys { sample: Sample::new(&self.variant.input, Style::Random, range), labels }
    }

    /// The first `count` members, in sixteen groups.
    pub fn members(&self, count: u64) -> Keys {
        self.keys(0..count, |i| i % GROUPS)
    }

    /// The first `count` members in groups of a sixteenth of the planned ones: the more there are, the
    /// more groups.
    pub fn in_more_groups(&self, count: u64) -> Keys {
        self.keys(0..count, |i| i * GROUPS / PLANNED)
    }

    /// Keys that are never inserted, with the label of the first group.
    pub fn non_members(&self, count: u64) -> Keys {
        self.keys(NON_MEMBERS..NON_MEMBERS + count, |_| 0)
    }

    /// A filter with these members.
    pub fn build(&self, records: &[Record<'_>]) -> Result<Box<dyn Filter>> {
        sample::build(self.variant, &self.goal, records)
    }
}

/// Whether the filter takes the record for a member, or at least does not deny it.
pub fn passes(filter: &dyn Filter, record: Record<'_>) -> Result<bool> {
    Ok(filter.query(record)?.verdict != Verdict::Absent)
}

/// The numbers of the records that the filter denies.
pub fn missed(filter: &dyn Filter, records: &[Record<'_>]) -> Result<Vec<usize>> {
    let mut missed = Vec::new();
    for (i, record) in records.iter().enumerate() {
        if !passes(filter, *record)? {
            missed.push(i);
        }
    }
    Ok(missed)
}

//! Operations of single variants: what a filter can do that no ability covers.

use super::{Detail, Filter, Param, Preset, Record, Setting};
use crate::error::{Error, Result};

/// An operation of one variant, reached by its name: a change, or a question that no query asks.
///
/// ```
/// use everbloom::catalog::{self, Given};
///
/// let mut filter = everbloom::fingerprints::Quotient::with_rate(100, 0.01)?;
/// let before = filter.slots();
/// let double = catalog::by_slug("quotient").and_then(|entry| entry.operation("double"));
/// double.expect("an operation").change(&mut filter, &Given::default())?;
/// assert_eq!(filter.slots(), 2 * before);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Operation {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub help: &'static str,
    /// The numbers it is given.
    pub params: &'static [Param],
    /// What else it is given.
    pub takes: &'static [Takes],
    pub(crate) run: Run,
}

/// What an operation is given beside numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Records; the operation is called for each of them.
    Keys,
    /// Other filters of the same variant.
    Filters,
}

/// What an operation does, and the function that does it.
#[derive(Debug)]
pub(crate) enum Run {
    /// Changes the filter; returns whether anything changed.
    Change(fn(&mut dyn Filter, &Given<'_>) -> Result<bool>),
    /// Tells what the filter knows.
    Tell(fn(&dyn Filter, &Given<'_>) -> Result<Detail>),
}

/// What one call of an operation is given.
#[derive(Clone, Debug)]
pub struct Given<'a> {
    /// The values of its parameters, in their order.
    numbers: Vec<Preset>,
    /// The other filters.
    pub filters: &'a [&'a dyn Filter],
    /// The record.
    pub record: Record<'a>,
}

impl Default for Given<'_> {
    fn default() -> Self {
        Self { numbers: Vec::new(), filters: &[], record: Record::key(b"") }
    }
}

impl<'a> Given<'a> {
    /// The same for another record.
    #[must_use]
    pub fn with(&self, record: Record<'a>) -> Self {
        Self { record, ..self.clone() }
    }

    /// The value of parameter `at`, if it is a whole number.
    pub(crate) fn whole(&self, at: usize) -> u64 {
        match self.numbers.get(at) {
            Some(Preset::Integer(value)) => *value,
            _ => 0,
        }
    }

    /// The value of parameter `at`, if it is a real number.
    pub(crate) fn real(&self, at: usize) -> f64 {
        match self.numbers.get(at) {
            Some(Preset::Real(value)) => *value,
            _ => 0.0,
        }
    }

    /// The other filters as filters of type `T`.
    pub(crate) fn filters_of<T: Filter>(&self) -> Result<Vec<&'a T>> {
        self.filters.iter().map(|filter| filter.as_same()).collect()
    }
}

impl Operation {
    /// Whether it changes the filter; else it tells what the filter knows.
    pub fn changes(&self) -> bool {
        matches!(self.run, Run::Change(_))
    }

    /// What a call is given: these settings, and defaults for the other parameters.
    pub fn given<'a>(
        &self,
        settings: &[(String, Setting)],
        filters: &'a [&'a dyn Filter],
    ) -> Result<Given<'a>> {
        if let Some((name, _)) = settings.iter().find(|(name, _)| !self.takes_number(name)) {
            let known: Vec<&str> = self.params.iter().map(|param| param.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let message =
                format!("no parameter {name} of {}; its parameters are: {known}", self.name);
            return Err(Error::parameter(message));
        }
        let number = |param: &Param| match settings.iter().rfind(|(name, _)| name == param.name) {
            Some((_, setting)) => param.accept(setting),
            None if matches!(param.default, Preset::Planned) => {
                let (operation, name, help) = (self.name, param.name, param.help);
                Err(Error::parameter(format!("{operation} needs {{{name}}}: {help}")))
            }
            None => Ok(param.default),
        };
        let numbers = self.params.iter().map(number).collect::<Result<_>>()?;
        Ok(Given { numbers, filters, ..Given::default() })
    }

    fn takes_number(&self, name: &str) -> bool {
        self.params.iter().any(|param| param.name == name)
    }

    /// Changes the filter; returns whether anything changed.
    pub fn change(&self, filter: &mut dyn Filter, given: &Given<'_>) -> Result<bool> {
        match self.run {
            Run::Change(run) => run(filter, given),
            Run::Tell(_) => Err(Error::unsupported(format!("{} changes nothing", self.name))),
        }
    }

    /// Tells what the filter knows.
    pub fn tell(&self, filter: &dyn Filter, given: &Given<'_>) -> Result<Detail> {
        match self.run {
            Run::Tell(run) => run(filter, given),
            Run::Change(_) => Err(Error::unsupported(format!("{} answers nothing", self.name))),
        }
    }
}

/// Does something to a filter; returns whether it is another one now.
pub(crate) fn altered<T: Clone + PartialEq>(
    filter: &mut T,
    change: impl FnOnce(&mut T),
) -> Result<bool> {
    let before = filter.clone();
    change(filter);
    Ok(*filter != before)
}

/// `change!(Forgetful, "keep", "Set …", [PAST], [], |filter, given| …)`: an operation that changes a filter of the type,
/// with its parameters and what else it takes.
macro_rules! change {
    ($type:ident, $name:expr, $help:expr, [$($param:expr),*], [$($takes:ident),*], $run:expr $(,)?) => {
        $crate::filter::operation!($name, $help, [$($param),*], [$($takes),*],
            $crate::filter::Run::Change(|filter, given| {
                let run: fn(&mut $type, &$crate::filter::Given<'_>) -> $crate::error::Result<bool> = $run;
                run(filter.as_same_mut()?, given)
            })
        )
    };
}

/// `tell!(BloomingTree, "number", "The number …", [], [Keys], |tree, given| …)`: an operation that tells what a filter
/// of the type knows.
macro_rules! tell {
    ($type:ident, $name:expr, $help:expr, [$($param:expr),*], [$($takes:ident),*], $run:expr $(,)?) => {
        $crate::filter::operation!($name, $help, [$($param),*], [$($takes),*],
            $crate::filter::Run::Tell(|filter, given| {
                let run: fn(
                    &$type,
                    &$crate::filter::Given<'_>,
                ) -> $crate::error::Result<$crate::filter::Detail> = $run;
                run(filter.as_same()?, given)
            })
        )
    };
}

/// An operation of these parts.
macro_rules! operation {
    ($name:expr, $help:expr, [$($param:expr),*], [$($takes:ident),*], $run:expr) => {
        $crate::filter::Operation {
            name: $name,
            help: $help,
            params: &[$($param),*],
            takes: &[$($crate::filter::Takes::$takes),*],
            run: $run,
        }
    };
}
pub(crate) use {change, operation, tell};

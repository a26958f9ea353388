//! The parameters of a list entry, and what a goal sets them to.

use std::borrow::Cow;
use std::fmt;

use crate::error::{Error, Result};

/// A parameter that a goal may set.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Param {
    /// Its name.
    pub name: &'static str,
    /// What it may be.
    pub range: Range,
    /// What it is when not set.
    pub default: Preset,
    /// One line for people.
    pub help: &'static str,
}

/// What a parameter is when not set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// Derived from the goal.
    Planned,
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Choice(&'static str),
}

impl Param {
    /// A whole number from `low` to `high`.
    pub const fn integer(name: &'static str, low: u64, high: u64, help: &'static str) -> Self {
        Self { name, range: Range::Integer(low, high), default: Preset::Planned, help }
    }

    /// A real number from `low` to `high`.
    pub const fn real(name: &'static str, low: f64, high: f64, help: &'static str) -> Self {
        Self { name, range: Range::Real(low, high), default: Preset::Planned, help }
    }

    /// One of some words.
    pub const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, range: Range::Choice(words), default: Preset::Planned, help }
    }

    /// One of some words, by default the first.
    pub const fn first_of(
        name: &'static str,
        words: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self::choice(name, words, help).or(Preset::Choice(words[0]))
    }

    /// The same with a default that does not depend on the goal.
    #[must_use]
    pub const fn or(self, default: Preset) -> Self {
        Self { default, ..self }
    }

    /// Whether a number is in the range.
    pub(crate) fn takes(&self, value: impl Into<Setting>) -> bool {
        self.range.contains(&value.into())
    }

    /// The value that a setting gives this parameter.
    pub(crate) fn accept(&self, setting: &Setting) -> Result<Preset> {
        let text = setting.to_string();
        let bad =
            |want: String| Error::setting(self.name, &text, format!("{want} ({})", self.help));
        match self.range {
            Range::Integer(low, high) => match text.parse::<u64>() {
                Ok(v) if (low..=high).contains(&v) => Ok(Preset::Integer(v)),
                _ => Err(bad(format!("must be a whole number from {low} to {high}"))),
            },
            Range::Real(low, high) => match text.parse::<f64>() {
                // A NaN is in no range.
                Ok(v) if (low..=high).contains(&v) => Ok(Preset::Real(v)),
                _ => Err(bad(format!("must be a number from {low} to {high}"))),
            },
            Range::Choice(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Preset::Choice(word)),
                None => Err(bad(format!("must be one of {}", words.join(", ")))),
            },
        }
    }
}

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// A whole number between the two, both included.
    Integer(u64, u64),
    /// A real number between the two, both included.
    Real(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
}

impl Range {
    fn contains(self, value: &Setting) -> bool {
        match (self, value) {
            (Range::Integer(low, high), Setting::Integer(v)) => (low..=high).contains(v),
            (Range::Real(low, high), Setting::Real(v)) => (low..=high).contains(v),
            _ => false,
        }
    }
}

/// The value that a caller gives a parameter. Words may also spell numbers, as they do on a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// A whole number.
    Integer(u64),
    /// A real number.
    Real(f64),
    /// A word.
    Word(Cow<'static, str>),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Integer(v) => v.fmt(f),
            Setting::Real(v) => v.fmt(f),
            Setting::Word(v) => v.fmt(f),
        }
    }
}

impl From<u64> for Setting {
    fn from(value: u64) -> Self {
        Setting::Integer(value)
    }
}

impl From<u32> for Setting {
    fn from(value: u32) -> Self {
        Setting::Integer(value.into())
    }
}

impl From<i32> for Setting {
    /// What an integer literal is; no parameter is below zero.
    fn from(value: i32) -> Self {
        u64::try_from(value).map_or(Setting::Real(value.into()), Setting::Integer)
    }
}

impl From<usize> for Setting {
    fn from(value: usize) -> Self {
        Setting::Integer(value as u64)
    }
}

impl From<f64> for Setting {
    fn from(value: f64) -> Self {
        Setting::Real(value)
    }
}

impl From<&str> for Setting {
    fn from(word: &str) -> Self {
        Setting::Word(Cow::Owned(word.to_owned()))
    }
}

impl From<String> for Setting {
    fn from(word: String) -> Self {
        Setting::Word(Cow::Owned(word))
    }
}

impl fmt::Display for Preset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preset::Planned => f.write_str("planned"),
            Preset::Integer(v) => v.fmt(f),
            Preset::Real(v) => v.fmt(f),
            Preset::Choice(v) => v.fmt(f),
        }
    }
}

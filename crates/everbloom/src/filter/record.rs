//! What builds and queries are given.

/// One record: a key, and beside it whatever the variant takes. Builds and queries share the grammar.
///
/// ```
/// use everbloom::{Record, Value};
///
/// let plain = Record::key(b"apple");
/// let labeled = Record::key(b"apple").with(Value::Label(b"fruit")).at(1_700_000_000);
/// assert_eq!(plain.key, labeled.key);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The key's bytes.
    pub key: &'a [u8],
    /// The value that came with the key.
    pub value: Option<Value<'a>>,
    /// When it came, in the caller's unit: no filter reads a clock.
    pub time: Option<u64>,
    /// What the key is made of, for variants that look inside it.
    pub parts: Parts<'a>,
}

impl<'a> Record<'a> {
    /// A key and nothing else.
    pub const fn key(key: &'a [u8]) -> Self {
        Self { key, value: None, time: None, parts: Parts::Whole }
    }

    /// The same record with a value, or without one.
    #[must_use]
    pub fn with(self, value: impl Into<Option<Value<'a>>>) -> Self {
        Self { value: value.into(), ..self }
    }

    /// The same record with a time.
    #[must_use]
    pub fn at(self, time: u64) -> Self {
        Self { time: Some(time), ..self }
    }

    /// The same record with its key taken apart.
    #[must_use]
    pub fn of(self, parts: Parts<'a>) -> Self {
        Self { parts, ..self }
    }
}

/// What may stand beside a key.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A class, group or short value.
    Label(&'a [u8]),
    /// A weight, prior or frequency.
    Weight(f64),
    /// A multiplicity.
    Count(u64),
    /// Arbitrary bytes.
    Bytes(&'a [u8]),
}

/// What a key is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Parts<'a> {
    /// One byte string.
    Whole,
    /// Several attributes; an empty one in a query stands for any.
    Attributes(&'a [&'a [u8]]),
    /// The values from `low` up to, but not including, `high`.
    Range {
        /// The first value inside.
        low: i64,
        /// The first value beyond.
        high: i64,
    },
    /// Coordinates.
    Point(&'a [f64]),
}

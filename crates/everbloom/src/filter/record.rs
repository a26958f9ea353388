//! What builds and queries are given.
//!
//! A key that has parts comes with them, or as text that is taken apart here: a point is its decimal coordinates
//! with commas, attributes are separated by TABs, a range is `LOW..HIGH`, half open.

use std::borrow::Cow;

use crate::error::{Error, Result};

/// One record: a key, and the value that the variant takes. Builds and queries share the grammar.
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

    /// Bytes of the key and of its value, if that is bytes.
    pub fn stored_bytes(&self) -> usize {
        let value = match self.value {
            Some(Value::Label(value) | Value::Bytes(value)) => value.len(),
            _ => 0,
        };
        self.key.len() + value
    }

    /// The coordinates of a key that is a point or a vector: at least one, all of them finite.
    ///
    /// ```
    /// use everbloom::{Parts, Record};
    ///
    /// assert_eq!(*Record::key(b"1.5,-2").point()?, [1.5, -2.0]);
    /// assert_eq!(*Record::key(b"").of(Parts::Point(&[3.0])).point()?, [3.0]);
    /// assert!(Record::key(b"1.5;2").point().is_err());
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn point(&self) -> Result<Cow<'a, [f64]>> {
        let point = match self.parts {
            Parts::Point(point) => Cow::Borrowed(point),
            Parts::Whole => {
                let fields = self.key.split(|byte| *byte == b',');
                Cow::Owned(fields.map(number).collect::<Result<Vec<f64>>>()?)
            }
            _ => {
                return Err(Error::record("the key must be a point: its coordinates, with commas"));
            }
        };
        if point.is_empty() || !point.iter().all(|x| x.is_finite()) {
            return Err(Error::record("a point needs at least one coordinate, all of them finite"));
        }
        Ok(point)
    }

    /// The attributes of a key; an empty one in a query matches any.
    ///
    /// ```
    /// use everbloom::Record;
    ///
    /// assert_eq!(*Record::key(b"Ann\tRome").attributes()?, [&b"Ann"[..], b"Rome"]);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn attributes(&self) -> Result<Cow<'a, [&'a [u8]]>> {
        match self.parts {
            Parts::Attributes(attributes) => Ok(Cow::Borrowed(attributes)),
            Parts::Whole => Ok(Cow::Owned(self.key.split(|byte| *byte == b'\t').collect())),
            _ => Err(Error::record("the key must be attributes, separated by TABs")),
        }
    }

    /// The range that a key is: from the first value inside to the first beyond.
    ///
    /// ```
    /// use everbloom::Record;
    ///
    /// assert_eq!(Record::key(b"250..450").range()?, 250.0..450.0);
    /// assert!(Record::key(b"250").range().is_err());
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn range(&self) -> Result<std::ops::Range<f64>> {
        match self.parts {
            Parts::Range { low, high } => Ok(low as f64..high as f64),
            Parts::Whole => range(self.key)?
                .ok_or_else(|| Error::record("the key must be a range, written LOW..HIGH")),
            _ => Err(Error::record("the key must be a range, written LOW..HIGH")),
        }
    }
}

/// A finite decimal number.
pub(crate) fn number(text: &[u8]) -> Result<f64> {
    let parsed = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse::<f64>().ok());
    parsed.filter(|x| x.is_finite()).ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        let short: String = text.chars().take(40).collect();
        Error::record(format!("{short:?} is not a decimal number"))
    })
}

/// The range `LOW..HIGH`; `None` where there are no two dots.
pub(crate) fn range(text: &[u8]) -> Result<Option<std::ops::Range<f64>>> {
    let Some(dots) = text.windows(2).position(|pair| pair == b"..") else { return Ok(None) };
    Ok(Some(number(&text[..dots])?..number(&text[dots + 2..])?))
}

/// The possible values of a key.
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
    /// Several attributes; an empty one in a query matches any.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_are_given_count_and_text_is_taken_apart_without_them() {
        let fields: [&[u8]; 2] = [b"x", b""];
        let given = Record::key(b"unread").of(Parts::Attributes(&fields));
        assert_eq!(*given.attributes().unwrap(), fields);
        assert_eq!(*Record::key(b"x\t").attributes().unwrap(), fields);
        assert!(given.point().is_err() && given.range().is_err());
        let range = Record::key(b"").of(Parts::Range { low: -1, high: 4 });
        assert_eq!(range.range().unwrap(), -1.0..4.0);
        assert!(range.attributes().is_err());
        assert_eq!(Record::key(b"-1e3..0.5").range().unwrap(), -1000.0..0.5);
        for bad in [&b"..5"[..], b"1..", b"1..x", b"1.5"] {
            assert!(Record::key(bad).range().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn coordinates_are_finite_numbers() {
        for bad in [&b""[..], b"1,,2", b"NaN", b"1,inf", b"1 2", b"\xFF"] {
            assert!(Record::key(bad).point().is_err(), "{bad:?}");
        }
        assert!(Record::key(b"").of(Parts::Point(&[])).point().is_err());
        assert!(Record::key(b"").of(Parts::Point(&[f64::NAN])).point().is_err());
    }
}

//! How a record is written: where it ends, where its key stands in it, and what follows the key.

use everbloom::internals::filter::Value;
use everbloom::internals::filter::{Input, KeyKind, ValueKind};

use crate::error::Fault;
use crate::key::KeyType;

/// How a line becomes a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grammar {
    /// What the text of a key spells.
    pub key: KeyType,
    /// What stands behind the last TAB of a line, if anything does.
    pub value: ValueKind,
    /// The byte that ends a record.
    pub end: u8,
    /// What becomes of a CR before the end.
    pub cr: Cr,
    /// What of a line is its key.
    pub field: Field,
    /// What becomes of capital letters in keys.
    pub case: Case,
}

/// What becomes of a CR at the end of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cr {
    /// It belongs to the line.
    #[default]
    Kept,
    /// It is cut off.
    Cut,
}

/// What becomes of capital letters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Case {
    /// They stay.
    #[default]
    Kept,
    /// Those of ASCII become small ones.
    Folded,
}

/// What of a line is its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Field {
    /// All of it.
    #[default]
    Line,
    /// One column.
    Column {
        /// Which one, counted from 1.
        number: u32,
        /// The byte that separates columns.
        delimiter: u8,
    },
}

impl Default for Grammar {
    /// Whole lines as bytes, without values.
    fn default() -> Self {
        let (key, field) = (KeyType::default(), Field::default());
        let (cr, case) = (Cr::default(), Case::default());
        Self { key, value: ValueKind::None, end: b'\n', cr, field, case }
    }
}

impl Grammar {
    /// The same for records of a variant that takes this input.
    #[must_use]
    pub fn with_input(self, input: &Input) -> Self {
        let key = if input.key == KeyKind::Integer { KeyType::U64 } else { self.key };
        Self { key, value: input.value, ..self }
    }

    /// Whether a line is a key as it stands.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self { end: self.end, ..Self::default() }
    }

    /// The text of a line's key.
    pub fn key_text<'a>(&self, line: &'a [u8]) -> Result<&'a [u8], Fault> {
        self.cut(line).map(|(key, _)| key)
    }

    /// Cuts a line into the text of its key and its value.
    #[inline]
    pub(crate) fn cut<'a>(&self, line: &'a [u8]) -> Result<(&'a [u8], Option<Value<'a>>), Fault> {
        let line = match self.cr {
            Cr::Kept => line,
            Cr::Cut => line.strip_suffix(b"\r").unwrap_or(line),
        };
        let (rest, value) = cut_value(line, self.value)?;
        Ok((self.field.cut(rest)?, value))
    }
}

impl Field {
    #[inline]
    fn cut(self, line: &[u8]) -> Result<&[u8], Fault> {
        match self {
            Field::Line => Ok(line),
            Field::Column { number, delimiter } => {
                let mut columns = line.split(|byte| *byte == delimiter);
                let index = (number as usize).checked_sub(1);
                let column = index.and_then(|index| columns.nth(index));
                column.ok_or(Fault::NoColumn { number })
            }
        }
    }
}

/// Cuts off what stands behind the last TAB, where a value of this kind is taken.
#[inline]
fn cut_value(line: &[u8], kind: ValueKind) -> Result<(&[u8], Option<Value<'_>>), Fault> {
    if kind == ValueKind::None {
        return Ok((line, None));
    }
    let Some(tab) = memchr::memrchr(b'\t', line) else { return Ok((line, None)) };
    let (key, text) = (&line[..tab], &line[tab + 1..]);
    let number = std::str::from_utf8(text).unwrap_or("");
    let bad = || Fault::BadValue { text: String::from_utf8_lossy(text).into_owned(), want: kind };
    let value = match kind {
        ValueKind::Weight => {
            let weight = number.parse::<f64>().ok().filter(|w| w.is_finite());
            Value::Weight(weight.ok_or_else(bad)?)
        }
        ValueKind::Count => Value::Count(number.parse().map_err(|_| bad())?),
        ValueKind::Bytes => Value::Bytes(text),
        ValueKind::Label | ValueKind::None => Value::Label(text),
    };
    Ok((key, Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_behind_the_last_tab() {
        let label = Grammar { value: ValueKind::Label, ..Grammar::default() };
        assert_eq!(label.cut(b"a\tb\tc").ok(), Some((&b"a\tb"[..], Some(Value::Label(b"c")))));
        assert_eq!(label.cut(b"d").ok(), Some((&b"d"[..], None)));
        let weight = Grammar { value: ValueKind::Weight, ..Grammar::default() };
        assert_eq!(weight.cut(b"a\t1").ok(), Some((&b"a"[..], Some(Value::Weight(1.0)))));
        for bad in [&b"a\tx"[..], b"a\tNaN", b"a\t"] {
            assert!(matches!(weight.cut(bad), Err(Fault::BadValue { .. })), "{bad:?}");
        }
        assert_eq!(Grammar::default().cut(b"a\tb").ok(), Some((&b"a\tb"[..], None)));
    }

    #[test]
    fn columns_are_counted_from_one() {
        let column = |number| Grammar {
            field: Field::Column { number, delimiter: b',' },
            ..Grammar::default()
        };
        let cut = |number, line| column(number).cut(line).ok().map(|(key, _)| key);
        assert_eq!(cut(2, b"a,b,c"), Some(&b"b"[..]));
        assert_eq!(cut(2, b"d,"), Some(&b""[..]));
        assert_eq!((cut(2, b"c"), cut(0, b"c")), (None, None));
    }

    #[test]
    fn a_column_is_cut_from_what_stands_before_the_value() {
        let field = Field::Column { number: 2, delimiter: b'\t' };
        let grammar = Grammar { field, value: ValueKind::Count, ..Grammar::default() };
        assert_eq!(grammar.cut(b"a\tb\t3").ok(), Some((&b"b"[..], Some(Value::Count(3)))));
        assert!(grammar.cut(b"a\t3").is_err());
    }
}

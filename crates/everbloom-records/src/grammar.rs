//! How a record is written: where it ends, where its key stands in it, and what follows the key.

use std::borrow::Cow;

use everbloom::internals::filter::Value;
use everbloom::internals::filter::{Input, KeyKind, ValueKind};

use crate::csv;
use crate::error::{self, Fault};
use crate::key::KeyType;

/// How a line becomes a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grammar {
    /// What the text of a key spells.
    pub key: KeyType,
    /// The text after the last TAB of a line, if any.
    pub value: ValueKind,
    /// The byte that ends a record.
    pub end: u8,
    /// What becomes of a CR before the end.
    pub cr: Cr,
    /// What of a line is its key.
    pub field: Field,
    /// What becomes of capital letters in keys.
    pub case: Case,
    /// The position of a record's time.
    pub time: Time,
    /// What becomes of a line that spells no record.
    pub bad: Bad,
}

/// The position of a record's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Time {
    /// Nowhere.
    #[default]
    None,
    /// In the first column of the line, a whole number; where the key is the line, it is what follows.
    First,
}

/// What becomes of a line that spells no record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bad {
    /// It ends the reading.
    #[default]
    Ends,
    /// It is left out, and named by [`Lines::skipping`](crate::Lines::skipping).
    Skipped,
}

/// A line, taken apart.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cut<'a> {
    pub key: Cow<'a, [u8]>,
    pub value: Option<Value<'a>>,
    pub time: Option<u64>,
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
    /// A column of CSV, without the quotes around it. The first row names the columns and is no record; an end inside
    /// of quotes belongs to its row.
    Csv {
        /// Which one.
        column: Column,
        /// The byte that separates columns.
        delimiter: u8,
    },
}

/// A column of CSV.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The whole row, as it is written.
    All,
    /// The one with this number, counted from 1.
    Number(u32),
    /// The one that the first row calls so.
    Named(&'static str),
}

/// Where lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// The byte behind a line.
    pub byte: u8,
    /// The delimiter of CSV, whose rows end outside of quotes alone.
    pub csv: Option<u8>,
}

impl Default for Grammar {
    /// Whole lines as bytes, without values.
    fn default() -> Self {
        let (key, field) = (KeyType::default(), Field::default());
        let (cr, case) = (Cr::default(), Case::default());
        let (time, bad) = (Time::default(), Bad::default());
        Self { key, value: ValueKind::None, end: b'\n', cr, field, case, time, bad }
    }
}

impl Grammar {
    /// The same for records of a variant that takes this input.
    #[must_use]
    pub fn with_input(self, input: &Input) -> Self {
        let key = if input.key == KeyKind::Integer { KeyType::U64 } else { self.key };
        // A row of CSV has no place for a value.
        let value = if self.ends().csv.is_some() { ValueKind::None } else { input.value };
        Self { key, value, ..self }
    }

    /// The same for rows under this first row of CSV: a column that was named has its number. `input` is what an error
    /// calls them.
    pub fn under(self, header: &[u8], input: &str) -> error::Result<Self> {
        let Field::Csv { column: Column::Named(name), delimiter } = self.field else {
            return Ok(self);
        };
        let number = csv::named(header, name, delimiter).map_err(|fault| fault.at(1).of(input))?;
        let field = Field::Csv { column: Column::Number(number), delimiter };
        Ok(Self { field, ..self })
    }

    /// Where lines end.
    pub(crate) fn ends(&self) -> Ends {
        let csv = match self.field {
            Field::Csv { delimiter, .. } => Some(delimiter),
            Field::Line | Field::Column { .. } => None,
        };
        Ends { byte: self.end, csv }
    }

    /// Whether a line is a key as it stands.
    pub(crate) fn is_plain(&self) -> bool {
        *self == Self { end: self.end, bad: self.bad, ..Self::default() }
    }

    /// The text of a line's key.
    pub fn key_text<'a>(&self, line: &'a [u8]) -> Result<Cow<'a, [u8]>, Fault> {
        self.cut(line).map(|cut| cut.key)
    }

    /// Cuts a line into the text of its key, its value and its time.
    #[inline]
    pub(crate) fn cut<'a>(&self, line: &'a [u8]) -> Result<Cut<'a>, Fault> {
        let line = match self.cr {
            Cr::Kept => line,
            Cr::Cut => line.strip_suffix(b"\r").unwrap_or(line),
        };
        let (time, line) = match (self.time, self.field) {
            (Time::None, _) => (None, line),
            (Time::First, Field::Line) => cut_time(line, b'\t')?,
            (Time::First, Field::Column { delimiter, .. } | Field::Csv { delimiter, .. }) => {
                (cut_time(line, delimiter)?.0, line)
            }
        };
        let (rest, value) = cut_value(line, self.value)?;
        Ok(Cut { key: self.field.cut(rest)?, value, time })
    }

    /// Whether a line spells a record.
    pub(crate) fn check(&self, line: &[u8]) -> Result<(), Fault> {
        self.key.read(&self.cut(line)?.key, |_| ())
    }
}

impl Field {
    #[inline]
    fn cut(self, line: &[u8]) -> Result<Cow<'_, [u8]>, Fault> {
        match self {
            Field::Line | Field::Csv { column: Column::All, .. } => Ok(Cow::Borrowed(line)),
            Field::Csv { column: Column::Number(number), delimiter } => {
                csv::column(line, number, delimiter)
            }
            // A name becomes a number when the first row is read.
            Field::Csv { column: Column::Named(name), .. } => {
                Err(Fault::NoColumnNamed { name: name.to_owned(), there: Vec::new() })
            }
            Field::Column { number, delimiter } => {
                let mut columns = line.split(|byte| *byte == delimiter);
                let index = (number as usize).checked_sub(1);
                let column = index.and_then(|index| columns.nth(index));
                column.map(Cow::Borrowed).ok_or(Fault::NoColumn { number })
            }
        }
    }
}

/// The whole number before the first delimiter, and what follows it.
fn cut_time(line: &[u8], delimiter: u8) -> Result<(Option<u64>, &[u8]), Fault> {
    let end = memchr::memchr(delimiter, line).unwrap_or(line.len());
    let text = std::str::from_utf8(&line[..end]).unwrap_or("");
    let bad = || Fault::BadTime { text: String::from_utf8_lossy(&line[..end]).into_owned() };
    let time = text.trim().parse().map_err(|_| bad())?;
    Ok((Some(time), &line[(end + 1).min(line.len())..]))
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

    fn pair(grammar: Grammar, line: &[u8]) -> Option<(&[u8], Option<Value<'_>>)> {
        let cut = grammar.cut(line).ok()?;
        match cut.key {
            Cow::Borrowed(key) => Some((key, cut.value)),
            Cow::Owned(_) => None,
        }
    }

    #[test]
    fn values_stand_behind_the_last_tab() {
        let label = Grammar { value: ValueKind::Label, ..Grammar::default() };
        assert_eq!(pair(label, b"a\tb\tc"), Some((&b"a\tb"[..], Some(Value::Label(b"c")))));
        assert_eq!(pair(label, b"d"), Some((&b"d"[..], None)));
        let weight = Grammar { value: ValueKind::Weight, ..Grammar::default() };
        assert_eq!(pair(weight, b"a\t1"), Some((&b"a"[..], Some(Value::Weight(1.0)))));
        for bad in [&b"a\tx"[..], b"a\tNaN", b"a\t"] {
            assert!(matches!(weight.cut(bad), Err(Fault::BadValue { .. })), "{bad:?}");
        }
        assert_eq!(pair(Grammar::default(), b"a\tb"), Some((&b"a\tb"[..], None)));
    }

    #[test]
    fn a_time_is_the_first_column() {
        let timed = Grammar { time: Time::First, value: ValueKind::Count, ..Grammar::default() };
        let cut = timed.cut(b"17\tkey\t3").expect("a record");
        assert_eq!(
            (cut.time, &*cut.key, cut.value),
            (Some(17), &b"key"[..], Some(Value::Count(3)))
        );
        // Columns are those of the whole line.
        let field = Field::Column { number: 2, delimiter: b',' };
        let column = Grammar { field, time: Time::First, ..Grammar::default() };
        let cut = column.cut(b"17,key").expect("a record");
        assert_eq!((cut.time, &*cut.key), (Some(17), &b"key"[..]));
        for bad in [&b"key"[..], b"\tkey", b"-1\tkey", b"1.5\tkey", b""] {
            assert!(matches!(timed.cut(bad), Err(Fault::BadTime { .. })), "{bad:?}");
        }
        assert_eq!(timed.cut(b"5").ok().map(|cut| cut.key), Some(Cow::Borrowed(&b""[..])));
    }

    #[test]
    fn columns_are_counted_from_one() {
        let column = |number| Grammar {
            field: Field::Column { number, delimiter: b',' },
            ..Grammar::default()
        };
        let cut = |number, line| pair(column(number), line).map(|(key, _)| key);
        assert_eq!(cut(2, b"a,b,c"), Some(&b"b"[..]));
        assert_eq!(cut(2, b"d,"), Some(&b""[..]));
        assert_eq!((cut(2, b"c"), cut(0, b"c")), (None, None));
    }

    #[test]
    fn a_column_is_cut_from_what_stands_before_the_value() {
        let field = Field::Column { number: 2, delimiter: b'\t' };
        let grammar = Grammar { field, value: ValueKind::Count, ..Grammar::default() };
        assert_eq!(pair(grammar, b"a\tb\t3"), Some((&b"b"[..], Some(Value::Count(3)))));
        assert!(grammar.cut(b"a\t3").is_err());
    }
}

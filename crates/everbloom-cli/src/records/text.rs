//! From text to keys: lines, columns, values, integers.

use everbloom::error::{Error, Kind, Result};
use everbloom::filter::{Record, Value};
use everbloom::variant::ValueKind;

use super::scan::each_place;
use super::{Grammar, Visit};
use crate::args::KeyType;

/// Calls `f` with the lines of a text: what stands before each `end`, and what stands behind the last if
/// anything does.
#[inline]
fn each_line<'a>(text: &'a [u8], end: u8, mut f: impl FnMut(&'a [u8])) {
    let mut start = 0;
    each_place(text, end, |place| {
        f(&text[start..place]);
        start = place + 1;
    });
    if start < text.len() {
        f(&text[start..]);
    }
}

/// Calls `f` with every line and its key, for grammars without values; `before` lines came earlier.
pub fn each_key(
    text: &[u8],
    grammar: Grammar,
    before: u64,
    mut f: impl FnMut(&[u8], &[u8]),
) -> Result<()> {
    if grammar.key == KeyType::Bytes && grammar.column.is_none() {
        each_line(text, grammar.end, |line| f(line, line));
        return Ok(());
    }
    let mut number = before;
    let mut failed = None;
    each_line(text, grammar.end, |line| {
        number += 1;
        if failed.is_some() {
            return;
        }
        if let Err(e) = with_key(line, grammar, |key| f(line, key)) {
            failed = Some(e.context(format!("line {number}")));
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Cuts the key out of a line.
fn with_key(line: &[u8], grammar: Grammar, f: impl FnOnce(&[u8])) -> Result<()> {
    let key = match grammar.column {
        Some((number, delimiter)) => column(line, number, delimiter)?,
        None => line,
    };
    match grammar.key {
        KeyType::Bytes => f(key),
        KeyType::U64 => f(&parse_integer(key)?),
    }
    Ok(())
}

/// Calls `f` with all lines of a text and the records they spell; `before` lines came earlier.
pub(super) fn batch(text: &[u8], grammar: Grammar, before: u64, f: &mut Visit<'_>) -> Result<()> {
    let mut lines: Vec<&[u8]> = Vec::new();
    each_line(text, grammar.end, |line| lines.push(line));

    let at = |i: usize| move |e: Error| e.context(format!("line {}", before + i as u64 + 1));
    let mut split = Vec::with_capacity(lines.len());
    for (i, line) in lines.iter().enumerate() {
        let (key, value) = parse_value(line, grammar.value).map_err(at(i))?;
        let key = match grammar.column {
            Some((number, delimiter)) => column(key, number, delimiter).map_err(at(i))?,
            None => key,
        };
        split.push((key, value));
    }
    let mut integers = Vec::new();
    if grammar.key == KeyType::U64 {
        for (i, (key, _)) in split.iter().enumerate() {
            integers.push(parse_integer(key).map_err(at(i))?);
        }
        split.iter_mut().zip(&integers).for_each(|((key, _), integer)| *key = integer);
    }
    let records: Vec<Record<'_>> =
        split.into_iter().map(|(key, value)| Record { key, value }).collect();
    f(&lines, &records)
}

fn parse_value(line: &[u8], kind: ValueKind) -> Result<(&[u8], Option<Value<'_>>)> {
    if kind == ValueKind::None {
        return Ok((line, None));
    }
    let Some(tab) = memchr::memrchr(b'\t', line) else { return Ok((line, None)) };
    let (key, text) = (&line[..tab], &line[tab + 1..]);
    let number = std::str::from_utf8(text).unwrap_or("");
    let bad = |want: &str| {
        let shown = String::from_utf8_lossy(text).into_owned();
        Error::new(Kind::BadRecord, format!("the value {shown:?} is not {want}"))
    };
    let value = match kind {
        ValueKind::Weight => {
            let weight = number.parse::<f64>().ok().filter(|w| w.is_finite());
            Value::Weight(weight.ok_or_else(|| bad("a number"))?)
        }
        ValueKind::Count => Value::Count(number.parse().map_err(|_| bad("a whole number"))?),
        ValueKind::Bytes => Value::Bytes(text),
        ValueKind::Label | ValueKind::None => Value::Label(text),
    };
    Ok((key, Some(value)))
}

/// The column of a line, counted from 1.
pub fn column(line: &[u8], number: u32, delimiter: u8) -> Result<&[u8]> {
    line.split(|byte| *byte == delimiter).nth(number as usize - 1).ok_or_else(|| {
        let message = format!("there is no column {number}: name another with -f or -d");
        Error::new(Kind::BadRecord, message)
    })
}

fn parse_integer(text: &[u8]) -> Result<[u8; 8]> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let value =
        std::str::from_utf8(text).ok().filter(|_| digits).and_then(|t| t.parse::<u64>().ok());
    value.map(u64::to_le_bytes).ok_or_else(|| {
        let shown = String::from_utf8_lossy(text).into_owned();
        Error::new(Kind::BadRecord, format!("{shown:?} is not a decimal integer below 2^64"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_that_splitting_gives() {
        let mut random = everbloom::hash::Generator::new(1);
        for length in (0..300).chain([1000, 4096, 5000]) {
            let text: Vec<u8> = (0..length).map(|_| b"ab\n\0"[random.below(4) as usize]).collect();
            for end in [b'\n', 0, b'b'] {
                let mut expected: Vec<&[u8]> = text.split(|byte| *byte == end).collect();
                if text.is_empty() || text.ends_with(&[end]) {
                    expected.pop();
                }
                let mut found = Vec::new();
                each_line(&text, end, |line| found.push(line));
                assert_eq!(found, expected, "{length} {end}");
            }
        }
    }
}

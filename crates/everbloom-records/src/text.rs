//! From text to keys and records, a block of whole lines at a time.

use std::borrow::Cow;

use everbloom::internals::filter::Record;

use crate::csv;
use crate::error::{Error, Fault, Result};
use crate::grammar::{Case, Ends, Grammar};
use crate::key::{KeyType, integer};
use crate::scan::each_place;

/// Calls `f` with where each line starts and where it ends: before its end, or with the text.
#[inline]
pub fn each_line(text: &[u8], ends: Ends, mut f: impl FnMut(usize, usize)) {
    if let Some(delimiter) = ends.csv {
        return csv::each_row(text, delimiter, f);
    }
    let mut start = 0;
    each_place(text, ends.byte, |place| {
        f(start, place);
        start = place + 1;
    });
    if start < text.len() {
        f(start, text.len());
    }
}

/// Calls `f` with every line and its key.
#[inline]
pub fn each_key<'t>(
    text: &'t [u8],
    grammar: Grammar,
    mut f: impl FnMut(&'t [u8], &[u8]),
) -> Result<()> {
    if grammar.is_plain() {
        each_line(text, grammar.ends(), |start, end| f(&text[start..end], &text[start..end]));
        return Ok(());
    }
    let mut failed = None;
    let mut folded = Vec::new();
    each_line(text, grammar.ends(), |start, end| {
        if failed.is_some() {
            return;
        }
        let line = &text[start..end];
        let read = grammar.cut(line).and_then(|cut| match grammar.case {
            Case::Kept => grammar.key.read(&cut.key, |key| f(line, key)),
            Case::Folded => grammar.key.read(fold(&cut.key, &mut folded), |key| f(line, key)),
        });
        if let Err(fault) = read {
            failed = Some(fault.at(number(text, grammar, start)));
        }
    });
    failed.map_or(Ok(()), Err)
}

/// The number of the line that starts there, counted from 1: a row of CSV may be several lines.
fn number(text: &[u8], grammar: Grammar, start: usize) -> u64 {
    memchr::memchr_iter(grammar.end, &text[..start]).count() as u64 + 1
}

/// The same of line `i` of the text.
#[cold]
fn number_of(text: &[u8], grammar: Grammar, i: usize) -> u64 {
    let mut starts = Vec::new();
    each_line(text, grammar.ends(), |start, _| starts.push(start));
    number(text, grammar, starts.get(i).copied().unwrap_or(0))
}

/// The key with small letters, in a buffer.
fn fold<'a>(key: &[u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
    buffer.clear();
    buffer.extend(key.iter().map(u8::to_ascii_lowercase));
    buffer
}

/// The lines that are records, with their ends; `bad` is called with the others.
pub fn good_lines<'a>(
    text: &'a [u8],
    grammar: Grammar,
    mut bad: impl FnMut(Error),
) -> Cow<'a, [u8]> {
    if grammar.is_plain() {
        return Cow::Borrowed(text);
    }
    let (mut good, mut kept) = (Vec::new(), 0);
    each_line(text, grammar.ends(), |start, end| {
        if let Err(fault) = grammar.check(&text[start..end]) {
            good.extend_from_slice(&text[kept..start]);
            kept = (end + 1).min(text.len());
            bad(fault.at(number(text, grammar, start)));
        }
    });
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    good.extend_from_slice(&text[kept..]);
    Cow::Owned(good)
}

/// Calls `f` with all lines of a text and the records they spell.
pub fn batch(
    text: &[u8],
    grammar: Grammar,
    f: impl FnOnce(&[&[u8]], &[Record<'_>]) -> everbloom::Result<()>,
) -> Result<()> {
    let mut lines: Vec<&[u8]> = Vec::new();
    each_line(text, grammar.ends(), |start, end| lines.push(&text[start..end]));

    let at = |i: usize| move |fault: Fault| fault.at(number_of(text, grammar, i));
    let mut records = Vec::with_capacity(lines.len());
    let mut unquoted = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let cut = grammar.cut(line).map_err(at(i))?;
        let key = match cut.key {
            Cow::Borrowed(key) => key,
            Cow::Owned(key) => {
                unquoted.push((i, key));
                b""
            }
        };
        let record = Record::key(key).with(cut.value);
        records.push(cut.time.map_or(record, |time| record.at(time)));
    }
    unquoted.iter().for_each(|(i, key)| records[*i].key = key);
    let mut folded = Vec::new();
    if grammar.case == Case::Folded {
        folded.extend(records.iter().map(|record| record.key.to_ascii_lowercase()));
        records.iter_mut().zip(&folded).for_each(|(record, key)| record.key = key);
    }
    let mut integers = Vec::new();
    if grammar.key == KeyType::U64 {
        for (i, record) in records.iter().enumerate() {
            integers.push(integer(record.key).map_err(at(i))?);
        }
        records.iter_mut().zip(&integers).for_each(|(record, integer)| record.key = integer);
    }
    Ok(f(&lines, &records)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{Column, Field};

    #[test]
    fn lines_are_those_that_splitting_gives() {
        let mut random = everbloom::internals::hash::Generator::new(1);
        for length in (0..300).chain([1000, 4096, 5000]) {
            let text: Vec<u8> = (0..length).map(|_| b"ab\n\0"[random.below(4) as usize]).collect();
            for end in [b'\n', 0, b'b'] {
                let mut expected: Vec<&[u8]> = text.split(|byte| *byte == end).collect();
                if text.is_empty() || text.ends_with(&[end]) {
                    expected.pop();
                }
                let mut found = Vec::new();
                let ends = Ends { byte: end, csv: None };
                each_line(&text, ends, |start, end| found.push(&text[start..end]));
                assert_eq!(found, expected, "{length} {end}");
            }
        }
    }

    /// The keys alone and the records agree, and both name the line of a fault.
    #[test]
    fn keys_are_those_of_the_records() {
        let plain = Grammar::default();
        let column = Field::Column { number: 2, delimiter: b',' };
        let row = Field::Csv { column: Column::Number(2), delimiter: b',' };
        let value = everbloom::internals::filter::ValueKind::Label;
        for grammar in [
            plain,
            Grammar { field: column, ..plain },
            Grammar { key: KeyType::U64, ..plain },
            Grammar { value, ..plain },
            Grammar { field: row, ..plain },
        ] {
            for text in [&b"1,2\n3,4"[..], b"5\n\n6\tx\n", b"7\n8\n", b"1,\"2\n\"\"\"\n3\n"] {
                let (mut keys, mut others) = (Vec::new(), Vec::new());
                let one = each_key(text, grammar, |_, key| keys.push(key.to_vec()));
                let other = batch(text, grammar, |_, records| {
                    others.extend(records.iter().map(|record| record.key.to_vec()));
                    Ok(())
                });
                let lines = [one, other].map(|result| result.err().and_then(|e| e.line()));
                assert_eq!(lines[0], lines[1], "{grammar:?}");
                assert!(lines[0].is_some() || keys == others, "{grammar:?}");
            }
        }
        let integers = Grammar { key: KeyType::U64, ..plain };
        let failed = each_key(b"7\nx\ny\n", integers, |_, _| {}).err().and_then(|e| e.line());
        assert_eq!(failed, Some(2));
        // A row of three lines comes before the one that lacks the column.
        let rows = Grammar { field: row, ..plain };
        let failed = each_key(b"a,\"1\n2\n3\"\nb\n", rows, |_, _| {}).err().and_then(|e| e.line());
        assert_eq!(failed, Some(4));
    }
}

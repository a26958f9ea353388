//! Rows of CSV (RFC 4180): columns between delimiters, quotes around what has delimiters, quotes or ends of lines in
//! it, and a first row that names the columns.
//!
//! A parser that copies every column would be the slowest part of a build. All that is wanted of a row is where it
//! ends and one of its columns, so rows are only scanned, and quotes are taken off the one column. Tests compare it with
//! the crate `csv`. As there, quotes inside of a column that does not begin with one mean nothing, and empty lines are
//! no rows.

use std::borrow::Cow;
use std::io::{self, Cursor, Read as _};

use crate::error::{self, Fault};
use crate::input::Input;

/// The longest first row: names of columns are not long.
const HEADER: usize = 1 << 20;

/// Where the first row of a text ends: at its LF, if that has come.
pub fn end_of_row(text: &[u8], delimiter: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        at = behind_quotes(text, at)?;
        at += memchr::memchr2(delimiter, b'\n', &text[at..])?;
        if text[at] == b'\n' {
            return Some(at);
        }
        at += 1;
    }
}

/// Where the quotes end that open a column here; here, if there are none.
fn behind_quotes(text: &[u8], start: usize) -> Option<usize> {
    if text.get(start) != Some(&b'"') {
        return Some(start);
    }
    let mut at = start + 1;
    loop {
        at += memchr::memchr(b'"', &text[at..])? + 1;
        // Two of them are one that belongs to the column.
        if text.get(at) != Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// Calls `f` with where each row starts and where it ends: before its LF, or with the text.
pub fn each_row(text: &[u8], delimiter: u8, mut f: impl FnMut(usize, usize)) {
    let mut start = 0;
    while start < text.len() {
        let end = end_of_row(&text[start..], delimiter).map_or(text.len(), |end| start + end);
        if !matches!(&text[start..end], b"" | b"\r") {
            f(start, end);
        }
        start = end + 1;
    }
}

/// Where the last row of a text ends whose end has come; 0 if none has.
pub fn whole_rows(text: &[u8], delimiter: u8) -> usize {
    let mut whole = 0;
    while let Some(end) = end_of_row(&text[whole..], delimiter) {
        whole += end + 1;
    }
    whole
}

/// The columns of a row, as they are written, quotes and all.
fn columns(row: &[u8], delimiter: u8) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(row);
    std::iter::from_fn(move || {
        let row = rest.take()?;
        let behind = behind_quotes(row, 0).unwrap_or(row.len());
        let end = memchr::memchr(delimiter, &row[behind..]).map(|end| behind + end);
        rest = end.map(|end| &row[end + 1..]);
        Some(&row[..end.unwrap_or(row.len())])
    })
}

/// What a column holds: without its quotes.
fn unquoted(column: &[u8]) -> Cow<'_, [u8]> {
    let Some(inside) = column.strip_prefix(b"\"") else { return Cow::Borrowed(column) };
    match memchr::memchr(b'"', inside) {
        Some(end) if end + 1 == inside.len() => return Cow::Borrowed(&inside[..end]),
        // The text ends inside of the quotes.
        None => return Cow::Borrowed(inside),
        Some(_) => {}
    }
    let end = behind_quotes(column, 0).map_or(inside.len(), |end| end - 2);
    let (quoted, rest) = inside.split_at(end);
    let mut text = Vec::with_capacity(inside.len());
    let mut kept = false;
    for byte in quoted {
        kept = *byte == b'"' && !kept;
        if !kept {
            text.push(*byte);
        }
    }
    text.extend_from_slice(rest.strip_prefix(b"\"").unwrap_or(rest));
    Cow::Owned(text)
}

/// What the column with this number holds, counted from 1.
pub fn column(row: &[u8], number: u32, delimiter: u8) -> Result<Cow<'_, [u8]>, Fault> {
    let index = (number as usize).checked_sub(1);
    let column = index.and_then(|index| columns(row, delimiter).nth(index));
    column.map(unquoted).ok_or(Fault::NoColumn { number })
}

/// The number of the column that the first row calls so.
pub fn named(header: &[u8], name: &str, delimiter: u8) -> Result<u32, Fault> {
    // Spreadsheets write a mark of UTF-8 before everything else.
    let header = header.strip_prefix(b"\xef\xbb\xbf").unwrap_or(header);
    let header = header.strip_suffix(b"\n").unwrap_or(header);
    let header = header.strip_suffix(b"\r").unwrap_or(header);
    let names: Vec<_> = columns(header, delimiter).map(unquoted).collect();
    let found = (1..).zip(&names).find(|(_, there)| &***there == name.as_bytes());
    found.map(|(number, _)| number).ok_or_else(|| Fault::NoColumnNamed {
        name: name.to_owned(),
        there: names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect(),
    })
}

/// The first row of a text with its end, and what follows it.
pub fn header(mut text: Input<'static>, delimiter: u8) -> error::Result<(Vec<u8>, Input<'static>)> {
    let (mut start, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        if let Some(end) = end_of_row(&start, delimiter) {
            let rest = start.split_off(end + 1);
            return Ok((start, Box::new(Cursor::new(rest).chain(text))));
        }
        match text.read(&mut buffer) {
            // A row that has an end of a line in it and none of its own.
            Ok(0) if start.contains(&b'\n') => {
                let message = "the quotes around a name in the first row of CSV are never closed";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message).into());
            }
            Ok(0) => return Ok((start, text)),
            Ok(_) if start.len() > HEADER => {
                let message =
                    "the first row of CSV is longer than 1 MiB: it has to name the columns";
                return Err(io::Error::new(io::ErrorKind::InvalidData, message).into());
            }
            Ok(read) => start.extend_from_slice(&buffer[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8], delimiter: u8) -> Vec<Vec<Vec<u8>>> {
        let mut rows = Vec::new();
        each_row(text, delimiter, |start, end| {
            let row = &text[start..end];
            let row = row.strip_suffix(b"\r").unwrap_or(row);
            rows.push(
                columns(row, delimiter).map(|column| unquoted(column).into_owned()).collect(),
            );
        });
        rows
    }

    #[test]
    fn rows_and_columns_are_those_of_the_crate_csv() {
        let mut random = everbloom::internals::hash::Generator::new(5);
        for trial in 0..20_000u64 {
            let length = random.below(24);
            let text: Vec<u8> =
                (0..length).map(|_| b"ab,;\n\"\""[random.below(7) as usize]).collect();
            let mut reader = csv::ReaderBuilder::new();
            reader.has_headers(false).flexible(true).delimiter(b',');
            let reader = reader.from_reader(&text[..]);
            let expected: Vec<Vec<Vec<u8>>> = reader
                .into_byte_records()
                .map(|row| row.expect("memory").iter().map(<[u8]>::to_vec).collect())
                .collect();
            assert_eq!(
                rows(&text, b','),
                expected,
                "{trial}: {:?}",
                String::from_utf8_lossy(&text)
            );
        }
    }

    #[test]
    fn whole_rows_end_outside_of_quotes() {
        assert_eq!(whole_rows(b"a,b\n\"c\nd\",e\n\"f\n", b','), 12);
        assert_eq!((whole_rows(b"a", b','), whole_rows(b"\"a\n", b',')), (0, 0));
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let header = b"\xef\xbb\xbfid;\"the \"\"name\"\"\";town\r\n";
        assert_eq!(named(header, "id", b';').ok(), Some(1));
        assert_eq!(named(header, "the \"name\"", b';').ok(), Some(2));
        assert_eq!(named(header, "town", b';').ok(), Some(3));
        let fault = named(header, "city", b';').expect_err("no such column").to_string();
        assert_eq!(fault, "there is no column \"city\"; there are id, the \"name\", town");
    }
}

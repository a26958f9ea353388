//! From text to keys: lines, columns, values, integers.

use everbloom::error::{Error, Kind, Result};
use everbloom::filter::{Record, Value};
use everbloom::variant::ValueKind;

use super::{Grammar, Visit};
use crate::args::KeyType;

/// The lines of a text: what stands before each `end`, and what stands behind the last if anything does.
fn lines(text: &[u8], end: u8) -> impl Iterator<Item = &[u8]> {
    let body = text.strip_suffix(&[end]).unwrap_or(text);
    let mut start = 0;
    let ends = Ends { text: body, end, at: 0, mask: None };
    ends.chain([body.len()]).filter(move |_| !text.is_empty()).map(move |end| {
        let line = &body[start..end];
        start = end + 1;
        line
    })
}

/// Where the byte `end` stands in a text, 64 bytes at a time. Keys are short, and a search that starts
/// anew behind every line, as memchr's does, takes longer than hashing the line.
struct Ends<'a> {
    text: &'a [u8],
    end: u8,
    /// First byte of the present 64.
    at: usize,
    /// Which of them are `end` and still to be told; none before the first look.
    mask: Option<u64>,
}

impl Iterator for Ends<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        let mut mask = match self.mask {
            Some(mask) => mask,
            None => mask_at(self.text, self.at, self.end)?,
        };
        while mask == 0 {
            self.at += 64;
            mask = mask_at(self.text, self.at, self.end)?;
        }
        self.mask = Some(mask & (mask - 1));
        Some(self.at + mask.trailing_zeros() as usize)
    }
}

/// Which of the 64 bytes from `at` on are `byte`; `None` behind the end of the text.
#[inline]
fn mask_at(text: &[u8], at: usize, byte: u8) -> Option<u64> {
    let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
    Some(match rest.first_chunk() {
        Some(chunk) => mask(chunk, byte),
        None => {
            let mut last = [!byte; 64];
            last[..rest.len()].copy_from_slice(rest);
            mask(&last, byte)
        }
    })
}

/// A bit for each of 64 bytes that is `byte`, eight at a time in the lanes of a word.
#[inline]
fn mask(chunk: &[u8; 64], byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([0x7F; 8]);
    let wanted = u64::from_le_bytes([byte; 8]);
    (0..).zip(chunk.as_chunks().0).fold(0, |mask, (i, bytes)| {
        let other = u64::from_le_bytes(*bytes) ^ wanted;
        // The top bit of a lane stays zero if all of the lane is; no carry leaves a lane.
        let equal = !(((other & LOW) + LOW) | other | LOW);
        // Gathers the eight top bits in one byte.
        let gathered = (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        mask | gathered << (8 * i)
    })
}

/// Calls `f` with every line and its key, for grammars without values; `before` lines came earlier.
pub fn each_key(
    text: &[u8],
    grammar: Grammar,
    before: u64,
    mut f: impl FnMut(&[u8], &[u8]),
) -> Result<()> {
    for (number, line) in (before + 1..).zip(lines(text, grammar.end)) {
        let at = |e: Error| e.context(format!("line {number}"));
        let key = match grammar.column {
            Some((number, delimiter)) => column(line, number, delimiter).map_err(at)?,
            None => line,
        };
        match grammar.key {
            KeyType::Bytes => f(line, key),
            KeyType::U64 => f(line, &parse_integer(key).map_err(at)?),
        }
    }
    Ok(())
}

/// Calls `f` with all lines of a text and the records they spell; `before` lines came earlier.
pub(super) fn batch(text: &[u8], grammar: Grammar, before: u64, f: &mut Visit<'_>) -> Result<()> {
    let lines: Vec<&[u8]> = lines(text, grammar.end).collect();

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
                assert_eq!(lines(&text, end).collect::<Vec<_>>(), expected, "{length} {end}");
            }
        }
    }
}

//! Reading records: lines of a file or of stdin, in batches, again if need be.
//!
//! Split at LF only (or at NUL, where asked), so a CR belongs to its key; an empty line is an empty key;
//! where the variant takes a value it stands behind the last TAB. Input packed by gzip or zstd is
//! recognized by its first bytes and unpacked.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use everbloom::error::{Error, Kind, Result};
use everbloom::filter::{Record, Value};
use everbloom::hash::SecretKey;
use everbloom::structure::Source;
use everbloom::variant::{KeyKind, ValueKind, Variant};

use crate::args::{KeyType, Text};

/// Bytes read at once; also the longest batch, unless a single line is longer.
const CHUNK: usize = 1 << 20;

/// What stdin is kept in when it has to be read again: memory up to here, then a temporary file.
const SPOOL: usize = 64 << 20;

/// What is done with a batch: the lines, and the records they spell.
pub type Visit<'a> = dyn FnMut(&[&[u8]], &[Record<'_>]) -> Result<()> + 'a;

/// How a line becomes a record.
#[derive(Clone, Copy)]
pub struct Grammar {
    pub key: KeyType,
    pub value: ValueKind,
    /// What ends a record.
    pub end: u8,
    /// Which column is the key, counted from 1, and what separates columns; else the whole line.
    pub column: Option<(u32, u8)>,
}

impl Grammar {
    /// Keys without values.
    pub fn keys(text: &Text) -> Self {
        Self {
            key: text.key_type,
            value: ValueKind::None,
            end: if text.null { 0 } else { b'\n' },
            column: text.field.map(|field| (field, text.delimiter.unwrap_or(b'\t'))),
        }
    }

    /// The grammar of a variant's records.
    pub fn of(variant: &Variant, text: &Text) -> Self {
        let mut grammar = Self { value: variant.input.value, ..Self::keys(text) };
        if variant.input.key == KeyKind::Integer {
            grammar.key = KeyType::U64;
        }
        grammar
    }
}

/// Where lines come from.
enum Origin {
    /// A file, opened anew for each pass.
    File(PathBuf),
    /// Stdin, passed through once.
    Stdin,
    /// Stdin, kept.
    Spool(tempfile::SpooledTempFile),
}

/// Lines as records.
pub struct Lines {
    origin: Origin,
    grammar: Grammar,
}

/// How often the lines are gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Passes {
    Once,
    Several,
}

impl Lines {
    /// The lines of the file at `path`, or of stdin for `-`.
    pub fn new(path: &Path, grammar: Grammar, passes: Passes) -> Result<Self> {
        let origin = if path != Path::new("-") {
            Origin::File(path.to_path_buf())
        } else if passes == Passes::Once {
            Origin::Stdin
        } else {
            let mut spool = tempfile::SpooledTempFile::new(SPOOL);
            io::copy(&mut io::stdin().lock(), &mut spool)
                .map_err(|e| Error::from(e).context("cannot keep stdin for a second pass"))?;
            Origin::Spool(spool)
        };
        Ok(Self { origin, grammar })
    }

    /// Calls `f` with batches of lines and the records they spell.
    pub fn each(&mut self, f: &mut Visit<'_>) -> Result<()> {
        let grammar = self.grammar;
        match &mut self.origin {
            Origin::File(path) => {
                let named = |e: io::Error| Error::from(e).context(path.display());
                let file = File::open(&path).map_err(named)?;
                if file.metadata().map_err(named)?.is_dir() {
                    let message = format!("{}: is a folder, not a file of keys", path.display());
                    return Err(Error::new(Kind::Io, message));
                }
                read(file, grammar, f).map_err(|e| e.context(path.display()))
            }
            Origin::Stdin => read(io::stdin().lock(), grammar, f).map_err(|e| e.context("stdin")),
            Origin::Spool(spool) => {
                spool.rewind()?;
                read(spool, grammar, f).map_err(|e| e.context("stdin"))
            }
        }
    }
}

impl Source for Lines {
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()> {
        self.each(&mut |_, records| f(records))
    }
}

/// Unpacks what gzip or zstd packed, and hands everything else through.
fn unpacked<'a>(mut input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut start = Vec::with_capacity(4);
    input.by_ref().take(4).read_to_end(&mut start)?;
    let magic: [u8; 4] = start.as_slice().try_into().unwrap_or_default();
    let whole = io::Cursor::new(start).chain(input);
    Ok(match magic {
        [0x1f, 0x8b, 8, _] => Box::new(flate2::read::MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            Box::new(ruzstd::decoding::StreamingDecoder::new(whole).map_err(io::Error::other)?)
        }
        _ => Box::new(whole),
    })
}

fn read(input: impl Read, grammar: Grammar, f: &mut Visit<'_>) -> Result<()> {
    let mut input = unpacked(input)?;
    let mut buffer: Vec<u8> = Vec::with_capacity(2 * CHUNK);
    let mut line_number = 0;
    loop {
        let got = input.by_ref().take(CHUNK as u64).read_to_end(&mut buffer)?;
        let complete = match memchr::memrchr(grammar.end, &buffer) {
            Some(last) => last + 1,
            None => 0,
        };
        let complete = if got == 0 { buffer.len() } else { complete };
        line_number += batch(&buffer[..complete], grammar, line_number, f)?;
        if got == 0 {
            return Ok(());
        }
        buffer.drain(..complete);
    }
}

fn batch(text: &[u8], grammar: Grammar, before: usize, f: &mut Visit<'_>) -> Result<usize> {
    if text.is_empty() {
        return Ok(0);
    }
    let body = text.strip_suffix(&[grammar.end]).unwrap_or(text);
    let mut lines: Vec<&[u8]> = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(grammar.end, body) {
        lines.push(&body[start..end]);
        start = end + 1;
    }
    lines.push(&body[start..]);

    let at = |i: usize| move |e: Error| e.context(format!("line {}", before + i + 1));
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
    f(&lines, &records)?;
    Ok(lines.len())
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

/// The secret key in `--key-file`, if one was given.
pub fn secret_key(file: &Option<PathBuf>) -> Result<Option<SecretKey>> {
    let Some(path) = file else { return Ok(None) };
    let text = std::fs::read_to_string(path).map_err(|e| {
        Error::from(e).context(format!("cannot read the key file {}", path.display()))
    })?;
    SecretKey::from_hex(&text).map(Some).map_err(|e| e.context(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8], grammar: Grammar) -> Result<Vec<(Vec<u8>, Option<String>)>> {
        let mut out = Vec::new();
        // One byte at a time: batches may end anywhere.
        read(OneByte(text), grammar, &mut |_, records| {
            out.extend(records.iter().map(|r| (r.key.to_vec(), r.value.map(|v| format!("{v:?}")))));
            Ok(())
        })?;
        Ok(out)
    }

    struct OneByte<'a>(&'a [u8]);

    impl Read for OneByte<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = out.len().min(1);
            self.0.read(&mut out[..n])
        }
    }

    const PLAIN: Grammar =
        Grammar { key: KeyType::Bytes, value: ValueKind::None, end: b'\n', column: None };

    fn keys(text: &[u8]) -> Vec<Vec<u8>> {
        lines(text, PLAIN).unwrap_or_default().into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn lines_split_at_lf_only() {
        assert!(keys(b"").is_empty());
        assert_eq!(keys(b"a\nb"), [b"a", b"b"]);
        assert_eq!(keys(b"a\nb\n"), [b"a", b"b"]);
        assert_eq!(keys(b"a\r\n\n\xff\tx\n"), [&b"a\r"[..], b"", b"\xff\tx"]);
        assert_eq!(keys(b"\n"), [b""]);
    }

    #[test]
    fn values_stand_behind_the_last_tab() {
        let label = Grammar { value: ValueKind::Label, ..PLAIN };
        let got = lines(b"a\tb\tc\nd\n", label).unwrap_or_default();
        assert_eq!(got[0], (b"a\tb".to_vec(), Some("Label([99])".to_owned())));
        assert_eq!(got[1], (b"d".to_vec(), None));
        let weight = Grammar { value: ValueKind::Weight, ..PLAIN };
        let error = lines(b"a\t1\nb\tx\n", weight).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.starts_with("line 2: "), "{error}");
        assert!(lines(b"a\tNaN\n", weight).is_err());
    }

    #[test]
    fn columns_and_nul_ends_are_cut() {
        let csv = Grammar { column: Some((2, b',')), ..PLAIN };
        let got = lines(b"a,b,c\nd,\n", csv).unwrap_or_default();
        assert_eq!((got[0].0.as_slice(), got[1].0.as_slice()), (&b"b"[..], &b""[..]));
        let error = lines(b"a,b\nc\n", csv).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.starts_with("line 2: there is no column 2"), "{error}");
        let nul = Grammar { end: 0, ..PLAIN };
        let got = lines(b"a\nb\0c\0", nul).unwrap_or_default();
        assert_eq!((got[0].0.as_slice(), got[1].0.as_slice()), (&b"a\nb"[..], &b"c"[..]));
    }

    #[test]
    fn packed_input_is_unpacked() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gz, b"a\nb\n").unwrap_or_default();
        let zstd = ruzstd::encoding::compress_to_vec(
            &b"a\nb\n"[..],
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        for packed in [gz.finish().unwrap_or_default(), zstd] {
            assert_eq!(keys(&packed), [b"a", b"b"]);
            assert!(lines(&packed[..packed.len() - 5], PLAIN).is_err(), "cut off");
        }
    }

    #[test]
    fn integers_are_eight_little_endian_bytes() {
        let u64s = Grammar { key: KeyType::U64, ..PLAIN };
        let got = lines(b"42\n18446744073709551615\n", u64s).unwrap_or_default();
        assert_eq!(got[0].0, 42u64.to_le_bytes());
        assert_eq!(got[1].0, u64::MAX.to_le_bytes());
        for bad in [&b"-1\n"[..], b"+1\n", b" 1\n", b"\n", b"18446744073709551616\n", b"1\r\n"] {
            assert!(lines(bad, u64s).is_err(), "{bad:?}");
        }
    }
}

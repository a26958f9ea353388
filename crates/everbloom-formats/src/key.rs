//! Keys as the other software hashes them.

use std::borrow::Cow;

use everbloom::{Error, Kind, Result};

/// A key, before the other software's rules make bytes of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Key<'a> {
    /// Bytes; a string is its UTF-8.
    Bytes(Cow<'a, [u8]>),
    /// A 32-bit integer.
    Int(i32),
    /// A 64-bit integer.
    Long(i64),
    /// A 32-bit number.
    Float(f32),
    /// A 64-bit number.
    Double(f64),
}

impl Key<'_> {
    /// Its kind; bytes are those of a string.
    pub(crate) fn kind(&self) -> KeyAs {
        match self {
            Key::Bytes(_) => KeyAs::String,
            Key::Int(_) => KeyAs::Int,
            Key::Long(_) => KeyAs::Long,
            Key::Float(_) => KeyAs::Float,
            Key::Double(_) => KeyAs::Double,
        }
    }

    /// Calls `f` with the key's bytes; numbers are little-endian.
    #[inline]
    pub(crate) fn little<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Key::Bytes(bytes) => f(bytes),
            Key::Int(v) => f(&v.to_le_bytes()),
            Key::Long(v) => f(&v.to_le_bytes()),
            Key::Float(v) => f(&v.to_le_bytes()),
            Key::Double(v) => f(&v.to_le_bytes()),
        }
    }

    /// Calls `f` with the key's bytes; numbers are big-endian.
    #[inline]
    pub(crate) fn big<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Key::Bytes(bytes) => f(bytes),
            Key::Int(v) => f(&v.to_be_bytes()),
            Key::Long(v) => f(&v.to_be_bytes()),
            Key::Float(v) => f(&v.to_be_bytes()),
            Key::Double(v) => f(&v.to_be_bytes()),
        }
    }
}

impl<'a> From<&'a [u8]> for Key<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Key::Bytes(bytes.into())
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(text: &'a str) -> Self {
        text.as_bytes().into()
    }
}

impl From<i64> for Key<'_> {
    fn from(value: i64) -> Self {
        Key::Long(value)
    }
}

/// How a line of text becomes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyAs {
    /// The bytes of the line.
    String,
    /// The characters of the line in UTF-16, big-endian behind a byte order mark, as some Java software has it.
    Utf16,
    /// Bytes, written as hex digits.
    Hex,
    /// A 32-bit decimal integer.
    Int,
    /// A 64-bit decimal integer.
    Long,
    /// A 32-bit decimal number.
    Float,
    /// A 64-bit decimal number.
    Double,
}

impl KeyAs {
    /// Every one, in the order of the documentation.
    pub const ALL: [KeyAs; 7] = [
        KeyAs::String,
        KeyAs::Utf16,
        KeyAs::Hex,
        KeyAs::Int,
        KeyAs::Long,
        KeyAs::Float,
        KeyAs::Double,
    ];

    /// Whether keys are numbers, and not bytes.
    pub fn is_number(self) -> bool {
        matches!(self, KeyAs::Int | KeyAs::Long | KeyAs::Float | KeyAs::Double)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            KeyAs::String => "string",
            KeyAs::Utf16 => "utf16",
            KeyAs::Hex => "hex",
            KeyAs::Int => "int",
            KeyAs::Long => "long",
            KeyAs::Float => "float",
            KeyAs::Double => "double",
        }
    }

    /// What a key of that kind is.
    pub fn meaning(self) -> &'static str {
        match self {
            KeyAs::String => "the bytes of the line",
            KeyAs::Utf16 => "the characters of the line in UTF-16",
            KeyAs::Hex => "bytes, written as hex digits",
            KeyAs::Int => "a 32-bit decimal integer",
            KeyAs::Long => "a 64-bit decimal integer",
            KeyAs::Float => "a 32-bit decimal number",
            KeyAs::Double => "a 64-bit decimal number",
        }
    }

    /// The key of a line of text.
    pub fn parse(self, line: &[u8]) -> Result<Key<'_>> {
        let key = match self {
            KeyAs::String => Some(Key::Bytes(line.into())),
            KeyAs::Utf16 => wide(line).map(|bytes| Key::Bytes(bytes.into())),
            KeyAs::Hex => unhex(line).map(|bytes| Key::Bytes(bytes.into())),
            KeyAs::Int => number(line).map(Key::Int),
            KeyAs::Long => number(line).map(Key::Long),
            KeyAs::Float => number(line).map(Key::Float),
            KeyAs::Double => number(line).map(Key::Double),
        };
        key.ok_or_else(|| {
            let line = String::from_utf8_lossy(line);
            Error::new(Kind::BadRecord, format!("{line:?} is not {}", self.meaning()))
        })
    }
}

fn number<T: std::str::FromStr>(line: &[u8]) -> Option<T> {
    std::str::from_utf8(line).ok()?.trim().parse().ok()
}

fn wide(line: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(line).ok()?;
    let mark = "\u{feff}".encode_utf16();
    Some(mark.chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect())
}

fn unhex(line: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    if !line.len().is_multiple_of(2) {
        return None;
    }
    line.chunks_exact(2).map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

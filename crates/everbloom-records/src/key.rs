//! What a key is, once its text is cut out.

use crate::error::Fault;

/// What the text of a key spells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyType {
    /// The bytes of the text.
    #[default]
    Bytes,
    /// A decimal integer below 2^64, as 8 little-endian bytes.
    U64,
}

impl KeyType {
    /// Every type of key.
    pub const ALL: [KeyType; 2] = [KeyType::Bytes, KeyType::U64];

    /// The name that users choose it by.
    pub fn name(self) -> &'static str {
        match self {
            KeyType::Bytes => "bytes",
            KeyType::U64 => "u64",
        }
    }

    /// What it is, in a few words.
    pub fn meaning(self) -> &'static str {
        match self {
            KeyType::Bytes => "The bytes of the line",
            KeyType::U64 => "A decimal integer below 2^64, as 8 little-endian bytes",
        }
    }

    /// Calls `f` with the key that a text spells.
    #[inline]
    pub fn read<T>(self, text: &[u8], f: impl FnOnce(&[u8]) -> T) -> Result<T, Fault> {
        match self {
            KeyType::Bytes => Ok(f(text)),
            KeyType::U64 => integer(text).map(|key| f(&key)),
        }
    }
}

/// The key that decimal digits spell: no sign, no blanks.
pub(crate) fn integer(text: &[u8]) -> Result<[u8; 8], Fault> {
    let digits = text.iter().all(u8::is_ascii_digit);
    let text = String::from_utf8_lossy(text);
    let value = text.parse::<u64>().ok().filter(|_| digits);
    value.map(u64::to_le_bytes).ok_or_else(|| Fault::NotInteger { text: text.into_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_eight_little_endian_bytes() {
        let read = |text: &[u8]| KeyType::U64.read(text, <[u8]>::to_vec).ok();
        assert_eq!(read(b"42"), Some(42u64.to_le_bytes().to_vec()));
        assert_eq!(read(b"007"), Some(7u64.to_le_bytes().to_vec()));
        assert_eq!(read(b"18446744073709551615"), Some(u64::MAX.to_le_bytes().to_vec()));
        for bad in [&b"-1"[..], b"+1", b" 1", b"", b"18446744073709551616", b"1\r", b"\xff"] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn names_are_unique() {
        let [one, other] = KeyType::ALL.map(KeyType::name);
        assert_ne!(one, other);
    }
}

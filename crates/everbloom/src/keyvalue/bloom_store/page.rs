//! Pairs in a page: a count, and then for each pair the lengths of key and value, key and value, in order of the keys.
//!
//! A length of 0 in place of the value's is a tombstone; others are one more than the value is long.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::state::{Decoder, Encoder, State, u16_at, u64_at};

/// What a key was last said to be: a value, or deleted.
pub(super) type Latest = Option<Vec<u8>>;

/// Bytes of the count.
const COUNT: usize = 8;
/// Bytes of the two lengths.
const LENGTHS: usize = 4;
pub(super) const MAX_LENGTH: usize = u16::MAX as usize - 1;

/// Bytes that pairs may take in a page of so many words.
pub(super) fn payload(words: u64) -> usize {
    (8 * words as usize).saturating_sub(COUNT)
}

/// Bytes that a pair takes.
pub(super) fn size(key: &[u8], value: Option<&[u8]>) -> usize {
    LENGTHS + key.len() + value.map_or(0, <[u8]>::len)
}

/// Pairs on their way into a page, each key once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Pairs {
    pub(super) pairs: BTreeMap<Vec<u8>, Latest>,
    /// Bytes that they take.
    pub(super) bytes: usize,
}

impl Pairs {
    /// Puts a pair; a key's newest value is the one that counts.
    pub(super) fn put(&mut self, key: &[u8], value: Option<&[u8]>) {
        self.bytes += size(key, value);
        if let Some(before) = self.pairs.insert(key.to_vec(), value.map(<[u8]>::to_vec)) {
            self.bytes -= size(key, before.as_deref());
        }
    }

    /// Whether the pair fits a page of so many bytes and pairs, in place of the key's pair if there is one.
    pub(super) fn fits(&self, key: &[u8], value: Option<&[u8]>, bytes: usize, most: u64) -> bool {
        let before = self.pairs.get(key);
        let freed = before.map_or(0, |before| size(key, before.as_deref()));
        let count = self.pairs.len() as u64 + u64::from(before.is_none());
        count <= most && self.bytes - freed + size(key, value) <= bytes
    }

    /// The pairs as they stand in a page.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let mut out = (self.pairs.len() as u64).to_le_bytes().to_vec();
        for (key, value) in &self.pairs {
            let length = value.as_ref().map_or(0, |value| value.len() as u16 + 1);
            out.extend_from_slice(&(key.len() as u16).to_le_bytes());
            out.extend_from_slice(&length.to_le_bytes());
            out.extend_from_slice(key);
            out.extend_from_slice(value.as_deref().unwrap_or_default());
        }
        out
    }

    /// The pairs of a page; refuses whatever no page holds.
    pub(super) fn decoded(bytes: &[u8]) -> Result<Self> {
        let mut pairs = Self::default();
        let mut last: Option<&[u8]> = None;
        let end = walk(bytes, |key, value| {
            if last.is_some_and(|last| last >= key) {
                return Err(damaged());
            }
            last = Some(key);
            pairs.put(key, value);
            Ok(true)
        })?;
        if bytes[end..].iter().any(|byte| *byte != 0) {
            return Err(damaged());
        }
        Ok(pairs)
    }
}

/// What a page says of a key, if anything.
pub(super) fn find(words: &[u64], wanted: &[u8]) -> Result<Option<Latest>> {
    let mut found = None;
    walk(&bytes_of(words), |key, value| {
        if key == wanted {
            found = Some(value.map(<[u8]>::to_vec));
        }
        // Keys are in order.
        Ok(key < wanted)
    })?;
    Ok(found)
}

/// The bytes of a page.
pub(super) fn bytes_of(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Calls `f` with one pair after another until it says that it has seen enough; where it ended.
fn walk<'a>(
    bytes: &'a [u8],
    mut f: impl FnMut(&'a [u8], Option<&'a [u8]>) -> Result<bool>,
) -> Result<usize> {
    if bytes.len() < COUNT {
        return Err(damaged());
    }
    let mut at = COUNT;
    for _ in 0..u64_at(bytes, 0) {
        let lengths = bytes.get(at..at + LENGTHS).ok_or_else(damaged)?;
        let (key, value) = (usize::from(u16_at(lengths, 0)), usize::from(u16_at(lengths, 2)));
        let (start, middle) = (at + LENGTHS, at + LENGTHS + key);
        at = middle + value.saturating_sub(1);
        let pair = bytes.get(start..at).ok_or_else(damaged)?;
        let (key, rest) = pair.split_at(key);
        if !f(key, (value > 0).then_some(rest))? {
            break;
        }
    }
    Ok(at)
}

fn damaged() -> Error {
    Error::corrupt(0, "corrupt page: its pairs do not add up")
}

impl State for Pairs {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.bytes(name, &self.encoded());
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        Self::decoded(src.bytes(name)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_come_back_from_a_page() {
        let mut pairs = Pairs::default();
        for (key, value) in [("b", Some("2")), ("a", None), ("", Some("")), ("b", Some("long"))] {
            pairs.put(key.as_bytes(), value.map(str::as_bytes));
        }
        let mut bytes = pairs.encoded();
        assert_eq!(bytes.len(), 8 + pairs.bytes);
        bytes.resize(64, 0);
        assert_eq!(Pairs::decoded(&bytes).unwrap(), pairs);
        let words: Vec<u64> = bytes.chunks_exact(8).map(|word| u64_at(word, 0)).collect();
        assert_eq!(find(&words, b"b").unwrap(), Some(Some(b"long".to_vec())));
        assert_eq!(find(&words, b"a").unwrap(), Some(None));
        assert_eq!(find(&words, b"").unwrap(), Some(Some(Vec::new())));
        assert_eq!(find(&words, b"aa").unwrap(), None);
    }

    #[test]
    fn damaged_pages_are_refused() {
        let mut pairs = Pairs::default();
        (0..5u8).for_each(|i| pairs.put(&[i], Some(&[i; 3])));
        let mut bytes = pairs.encoded();
        bytes.resize(64, 0);
        for (at, value) in [(0, 6), (0, 4), (0, 255), (8, 200), (10, 0), (12, 9), (63, 1)] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            assert!(Pairs::decoded(&damaged).is_err(), "{at} {value}");
        }
        assert!(Pairs::decoded(&[]).is_err());
    }
}

//! Whole numbers held exactly, each with a number above zero beside it: flags or a count. The small exact side of
//! filters that cannot do without one.

use std::collections::HashMap;

use crate::error::Result;
use crate::state::{Decoder, Encoder, Role, State};

/// A table from numbers to numbers above zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exact {
    map: HashMap<u128, u64>,
}

/// Words per entry in a file: the key's two, and the value.
const WORDS: usize = 3;
/// Bits per entry in memory, at most: a table is a power of two and an eighth of it is empty.
const MOST_BITS: u64 = 8 * 80;

impl Exact {
    /// Bits of `keys` keys, in a file.
    pub(crate) fn bits_of(keys: u64) -> u64 {
        keys.saturating_mul(64 * WORDS as u64)
    }

    /// Number of keys.
    pub(crate) fn len(&self) -> u64 {
        self.map.len() as u64
    }

    /// What stands beside `key`; zero if it is not there.
    #[inline]
    pub(crate) fn get(&self, key: u128) -> u64 {
        self.map.get(&key).copied().unwrap_or(0)
    }

    /// Puts `change(old)` beside `key`; with zero, the key is gone.
    pub(crate) fn change(&mut self, key: u128, change: impl FnOnce(u64) -> u64) {
        match change(self.get(key)) {
            0 => drop(self.map.remove(&key)),
            value => drop(self.map.insert(key, value)),
        }
    }

    /// Every key with its value, in no order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u128, u64)> + '_ {
        self.map.iter().map(|(key, value)| (*key, *value))
    }

    /// Forgets every key.
    #[cfg(test)]
    pub(crate) fn clear(&mut self) {
        self.map.clear();
    }
}

impl State for Exact {
    /// In order of keys, so that equal tables have equal bytes.
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.coded(name, Role::Auxiliary, WORDS * self.map.len(), || {
            let mut entries: Vec<(u128, u64)> = self.iter().collect();
            entries.sort_unstable();
            let words = |(key, value): &(u128, u64)| [*key as u64, (*key >> 64) as u64, *value];
            (self.len(), entries.iter().flat_map(words).collect())
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let (len, words) = src.array(name)?;
        if len.checked_mul(WORDS as u64) != Some(words.len() as u64) {
            return Err(src.corrupt(format!("{name}: {len} entries in {} words", words.len())));
        }
        src.expand(len * MOST_BITS)?;
        let mut map = HashMap::new();
        let mut before = None;
        for entry in words.chunks_exact(WORDS) {
            let key = u128::from(entry[0]) | u128::from(entry[1]) << 64;
            if entry[2] == 0 || before.is_some_and(|before| before >= key) {
                return Err(src.corrupt(format!("{name}: entries out of order or of nothing")));
            }
            before = Some(key);
            map.insert(key, entry[2]);
        }
        Ok(Self { map })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_zero_is_no_entry() {
        let mut table = Exact::default();
        table.change(7, |old| old + 2);
        table.change(u128::MAX, |old| old | 4);
        assert_eq!((table.len(), table.get(7), table.get(u128::MAX), table.get(8)), (2, 2, 4, 0));
        table.change(7, |old| old - 2);
        table.change(8, |old| old);
        assert_eq!((table.len(), table.get(7)), (1, 0));
        let mut other = Exact::default();
        other.change(u128::MAX, |_| 4);
        assert_eq!(table, other);
    }
}

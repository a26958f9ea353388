//! What is exactly known of each key beside the cells: without it a filter whose cells hold a number for each
//! key could not tell which cells to change.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::hash::Digest;
use crate::state::{Decoder, Encoder, Role, State};

/// A number for every key, by its digest.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exact {
    entries: BTreeMap<(u64, u64), u64>,
}

impl Exact {
    /// Bits of `keys` keys, in a file.
    pub(crate) fn bits_of(keys: u64) -> u64 {
        keys.saturating_mul(3 * 64)
    }

    pub(crate) fn get(&self, digest: Digest) -> u64 {
        self.entries.get(&(digest.h1, digest.h2)).copied().unwrap_or(0)
    }

    /// Sets a key's number; 0 takes the key out.
    pub(crate) fn set(&mut self, digest: Digest, number: u64) {
        let key = (digest.h1, digest.h2);
        if number == 0 {
            self.entries.remove(&key);
        } else {
            self.entries.insert(key, number);
        }
    }

    /// Every key with its number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Digest, u64)> {
        self.entries.iter().map(|(&(h1, h2), number)| (Digest { h1, h2 }, *number))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

impl State for Exact {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        let len = self.entries.len();
        out.coded(name, Role::Auxiliary, 3 * len, || {
            let words = self.entries.iter().flat_map(|((h1, h2), number)| [*h1, *h2, *number]);
            (len as u64, words.collect())
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let (len, words) = src.array(name)?;
        // A tree takes a few times the room of its file.
        src.expand(512u64.saturating_mul(words.len() as u64))?;
        let mut table = Self::default();
        let mut last = None;
        for entry in words.chunks(3) {
            let &[h1, h2, number] = entry else { return Err(src.corrupt("half an entry")) };
            if number == 0 || last.is_some_and(|last| last >= (h1, h2)) {
                return Err(src.corrupt(format!("{name}: entries out of order")));
            }
            last = Some((h1, h2));
            table.entries.insert((h1, h2), number);
        }
        if table.entries.len() as u64 != len {
            return Err(src.corrupt(format!("{name}: not {len} entries")));
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_takes_three_words() {
        let bits = |entries: u64| {
            let mut exact = Exact::default();
            (0..entries).for_each(|i| exact.set(Digest { h1: i, h2: 7 }, i + 1));
            let mut encoder = Encoder::measuring();
            exact.save("exact", &mut encoder);
            encoder.memory().total()
        };
        assert_eq!(bits(10) - bits(0), 10 * 3 * 64);
    }
}

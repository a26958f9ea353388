//! The exact table behind a filter: whole keys, with what belongs to them, by the place where each is kept.
//!
//! The filter is what is asked first, and what would be in fast memory; the ledger is the slow memory that a
//! query reaches only where the filter sends it.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::state::{Decoder, Encoder, Role, State, u32_at, u64_at};

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) key: Box<[u8]>,
    pub(crate) value: Box<[u8]>,
}

/// Lists of items by place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    lists: BTreeMap<u64, Vec<Item>>,
    bytes: u64,
}

/// Bytes in front of the key and value of an item, in a file: its place, and their lengths.
const HEADER: usize = 16;

/// Bits of `items` items, whose keys and values have `bytes` bytes together.
pub(crate) fn bits_of(items: u64, bytes: u64) -> u64 {
    items.saturating_mul((HEADER as u64).saturating_add(bytes).saturating_mul(8))
}

fn size(item: &Item) -> u64 {
    (HEADER + item.key.len() + item.value.len()) as u64
}

impl Ledger {
    /// The items at a place, in the order in which they came.
    pub(crate) fn at(&self, place: u64) -> &[Item] {
        self.lists.get(&place).map_or(&[], Vec::as_slice)
    }

    /// The item with this key at a place.
    pub(crate) fn find(&self, place: u64, key: &[u8]) -> Option<&Item> {
        self.at(place).iter().find(|item| *item.key == *key)
    }

    /// Adds an item at a place.
    pub(crate) fn push(&mut self, place: u64, item: Item) {
        self.bytes += size(&item);
        self.lists.entry(place).or_default().push(item);
    }

    /// Takes the item with this key from a place.
    pub(crate) fn take(&mut self, place: u64, key: &[u8]) -> Option<Item> {
        let list = self.lists.get_mut(&place)?;
        let at = list.iter().position(|item| *item.key == *key)?;
        let item = list.remove(at);
        if list.is_empty() {
            self.lists.remove(&place);
        }
        self.bytes -= size(&item);
        Some(item)
    }

    /// Takes all items from a place.
    pub(crate) fn take_all(&mut self, place: u64) -> Vec<Item> {
        let items = self.lists.remove(&place).unwrap_or_default();
        self.bytes -= items.iter().map(size).sum::<u64>();
        items
    }

    /// Gives the item with this key at a place another value.
    pub(crate) fn set(&mut self, place: u64, key: &[u8], value: &[u8]) {
        let list = self.lists.get_mut(&place).into_iter().flatten();
        for item in list.filter(|item| *item.key == *key) {
            self.bytes = self.bytes - item.value.len() as u64 + value.len() as u64;
            item.value = value.into();
        }
    }

    /// All items, in order of their places.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Item)> {
        self.lists.iter().flat_map(|(place, items)| items.iter().map(|item| (*place, item)))
    }

    /// Places that have items, and how many each has.
    pub(crate) fn lists(&self) -> impl Iterator<Item = (u64, usize)> {
        self.lists.iter().map(|(place, items)| (*place, items.len()))
    }

    /// The first place from `from` on that has more than one item.
    pub(crate) fn next_shared(&self, from: u64) -> Option<u64> {
        self.lists.range(from..).find(|(_, items)| items.len() > 1).map(|(place, _)| *place)
    }

    /// Number of items.
    pub(crate) fn len(&self) -> u64 {
        self.lists.values().map(|items| items.len() as u64).sum()
    }

    fn encode(&self) -> (u64, Vec<u64>) {
        let mut bytes = Vec::new();
        for (place, Item { key, value }) in self.iter() {
            bytes.extend_from_slice(&place.to_le_bytes());
            bytes.extend_from_slice(&(key.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
            bytes.extend_from_slice(key);
            bytes.extend_from_slice(value);
        }
        let len = bytes.len() as u64;
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        (len, bytes.chunks_exact(8).map(word).collect())
    }

    /// What [`Ledger::encode`] wrote; `None` if items do not follow each other in order of their places.
    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let (mut ledger, mut last) = (Self::default(), 0);
        while !bytes.is_empty() {
            let (header, rest) = bytes.split_at_checked(HEADER)?;
            let place = u64_at(header, 0);
            let [key, value] = [8, 12].map(|at| u32_at(header, at) as usize);
            let (key, rest) = rest.split_at_checked(key)?;
            let (value, rest) = rest.split_at_checked(value)?;
            if place < last {
                return None;
            }
            ledger.push(place, Item { key: key.into(), value: value.into() });
            (last, bytes) = (place, rest);
        }
        Some(ledger)
    }
}

impl State for Ledger {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        let held = self.bytes.div_ceil(8) as usize;
        out.coded(name, Role::Auxiliary, held, || self.encode());
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let (len, words) = src.array(name)?;
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let used = bytes.get(..usize::try_from(len).unwrap_or(usize::MAX));
        let Some(used) = used.filter(|_| len.div_ceil(8) == words.len() as u64) else {
            return Err(src.corrupt(format!("{name}: {len} bytes in {} words", words.len())));
        };
        if bytes[used.len()..].iter().any(|byte| *byte != 0) {
            return Err(src.corrupt(format!("{name}: padding is set")));
        }
        // An item of sixteen bytes takes up to eight times as much in memory, with its place in the tree.
        src.expand(len.saturating_mul(64))?;
        Self::decode(used)
            .ok_or_else(|| src.corrupt(format!("{name}: items that are not in order")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(key: &str, value: &str) -> Item {
        Item { key: key.as_bytes().into(), value: value.as_bytes().into() }
    }

    #[test]
    fn items_are_kept_by_place_and_come_back() {
        let mut ledger = Ledger::default();
        for (place, key) in [(9, "nine"), (3, ""), (9, "again"), (7, "seven")] {
            ledger.push(place, item(key, "value"));
        }
        ledger.set(9, b"again", b"another");
        assert_eq!((ledger.next_shared(0), ledger.next_shared(10)), (Some(9), None));
        assert_eq!(&*ledger.find(9, b"again").unwrap().value, b"another");
        assert_eq!((ledger.len(), ledger.at(9).len(), ledger.at(8).len()), (4, 2, 0));
        assert_eq!(ledger.take(7, b"seven"), Some(item("seven", "value")));
        assert_eq!((ledger.take(7, b"seven"), ledger.take(3, b"seven")), (None, None));
        let (len, words) = ledger.encode();
        assert_eq!(len, ledger.bytes);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let bytes = &bytes[..len as usize];
        assert_eq!(Ledger::decode(bytes).as_ref(), Some(&ledger));
        // Anything shorter ends inside an item or has fewer of them, and places are in order.
        for cut in 1..bytes.len() {
            assert_ne!(Ledger::decode(&bytes[..cut]).as_ref(), Some(&ledger), "{cut}");
        }
        let reversed = [&bytes[21..], &bytes[..21]].concat();
        assert_eq!(Ledger::decode(&reversed), None);
        assert_eq!(ledger.take_all(9).len(), 2);
        assert_eq!((ledger.len(), ledger.bytes), (1, 21));
    }
}

//! From a few words to a filter of a known type.

use std::marker::PhantomData;

use super::structure::{Create, Inputs, Source, Stream, empty, settle};
use crate::error::Result;
use crate::filter::{Record, Setting};
use crate::hash::{HashId, Key, SecretKey};
use crate::plan::Goal;

/// Plans a filter of type `T`: any two of items, rate and memory, and anything else that differs from the defaults.
///
/// ```
/// use everbloom::Bloom;
///
/// let mut seen = Bloom::builder().items(1_000_000).rate(0.001).seed(7).build()?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build` or `build_from` is called"]
pub struct Builder<T> {
    goal: Goal,
    of: PhantomData<fn() -> T>,
}

impl<T> Builder<T> {
    pub(crate) fn new() -> Self {
        Self { goal: Goal::default(), of: PhantomData }
    }

    /// How many items to plan for.
    pub fn items(mut self, items: u64) -> Self {
        self.goal.items = Some(items);
        self
    }

    /// The false-positive rate to stay below; 0.01 unless something else follows from items and memory.
    pub fn rate(mut self, rate: f64) -> Self {
        self.goal.fpr = Some(rate);
        self
    }

    /// The bytes to fit in.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.goal.bits = Some(bytes.saturating_mul(8));
        self
    }

    /// The seed of the hash; filters merge only under equal seeds.
    pub fn seed(mut self, seed: u64) -> Self {
        self.goal = self.goal.seed(seed);
        self
    }

    /// A secret key for the hash, for keys that others choose. Only its id is ever stored.
    pub fn key(mut self, key: SecretKey) -> Self {
        self.goal = self.goal.key(key);
        self
    }

    /// A hash other than the variant's own.
    pub fn hash(self, hash: HashId) -> Self {
        self.set("hash", hash.name())
    }

    /// A form other than the first.
    pub fn form(self, form: &str) -> Self {
        self.set("form", form)
    }

    /// A parameter of the variant.
    pub fn set(mut self, name: &str, value: impl Into<Setting>) -> Self {
        self.goal = self.goal.set(name, value);
        self
    }
}

impl<T: Stream> Builder<T> {
    /// The empty filter.
    pub fn build(self) -> Result<T> {
        empty(&self.goal)
    }
}

impl<T: Create> Builder<T> {
    /// The filter of these keys; as many items as there are keys, unless said otherwise.
    pub fn build_from<I: IntoIterator<Item: Key>>(self, keys: I) -> Result<T> {
        self.build_with(keys, None)
    }

    /// The filter of these keys that is built against known non-members.
    pub fn build_against<I, N>(self, keys: I, negatives: N) -> Result<T>
    where
        I: IntoIterator<Item: Key>,
        N: IntoIterator<Item: Key>,
    {
        self.build_with(keys, Some(negatives.into_iter().collect()))
    }

    fn build_with<I>(mut self, keys: I, mut negatives: Option<KeyList>) -> Result<T>
    where
        I: IntoIterator<Item: Key>,
    {
        let mut keys: KeyList = keys.into_iter().collect();
        if self.goal.items.is_none() && self.goal.bits.is_none() {
            self.goal.items = Some((keys.ends.len() as u64).max(1));
        }
        let (shape, head) = settle::<T>(&self.goal)?;
        let negatives = negatives.as_mut().map(|list| list as &mut dyn Source);
        let mut inputs = Inputs { records: &mut keys, negatives };
        T::entry().check_negatives(&inputs)?;
        T::create(&shape, head, &mut inputs)
    }
}

/// Keys held as bytes, so that a build can go through them again.
#[derive(Debug, Default)]
pub(crate) struct KeyList {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<K: Key> FromIterator<K> for KeyList {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut list = Self::default();
        for key in keys {
            key.with_bytes(|bytes| list.bytes.extend_from_slice(bytes));
            list.ends.push(list.bytes.len());
        }
        list
    }
}

impl Source for KeyList {
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()> {
        let mut start = 0;
        self.ends.chunks(4096).try_for_each(|ends| {
            let record = |end: &usize| {
                let key = &self.bytes[start..*end];
                start = *end;
                Record::key(key)
            };
            let records: Vec<Record<'_>> = ends.iter().map(record).collect();
            f(&records)
        })
    }
}

//! What the caller wants, before it is known which variant serves it.

use crate::filter::{Reading, Setting};
use crate::hash::{Hasher, SecretKey};

/// Items, rate, memory, hash and settings. Any two of items, rate and memory are enough.
#[derive(Clone, Debug, Default)]
pub struct Goal {
    /// Items to hold.
    pub items: Option<u64>,
    /// Rate of false positives to stay below.
    pub fpr: Option<f64>,
    /// Bits to fit in.
    pub bits: Option<u64>,
    /// Hash with its seed or key; the variant's own unless it is named.
    pub hasher: Hasher,
    /// How the text of the keys is read.
    pub reading: Reading,
    /// Parameters and their values, in order; `form` and `hash` are known to every variant.
    pub settings: Vec<(String, Setting)>,
}

impl Goal {
    /// `items` items at a rate of `fpr`.
    pub fn new(items: u64, fpr: f64) -> Self {
        Self { items: Some(items), fpr: Some(fpr), ..Self::default() }
    }

    /// A goal of settings alone, under this hasher.
    pub(crate) fn of(hasher: Hasher) -> Self {
        Self::default().hasher(hasher)
    }

    /// The same goal with one more setting.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Setting>) -> Self {
        self.settings.push((name.to_owned(), value.into()));
        self
    }

    /// The same goal under another seed.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.hasher = Hasher::seeded(seed);
        self
    }

    /// The same goal under this hasher.
    #[must_use]
    pub fn hasher(mut self, hasher: Hasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// The same goal, keyed.
    #[must_use]
    pub fn key(self, key: SecretKey) -> Self {
        self.hasher(Hasher::keyed(key))
    }

    /// The same goal in at most this many bits.
    #[must_use]
    pub fn bits(mut self, bits: u64) -> Self {
        self.bits = Some(bits);
        self
    }
}

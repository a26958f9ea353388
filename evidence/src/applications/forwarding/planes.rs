//! A filter in two planes, as switches have it: counters in large, slow memory, bits in small, fast memory.
//!
//! ```text
//!   control   0 2 0 1 0 0 1 0   counts, so that keys can be removed
//!   data       0 1 │ 1 1        its bits, folded as often as the fast memory requires
//! ```

use everbloom::internals::theory;
use everbloom::{Bloom, Counting, Hasher, Key, Result};

/// A set that changes, with counters behind and bits in front.
pub(super) struct Planes {
    control: Counting,
    data: Bloom,
    /// How often the bits are folded in half.
    folds: u32,
    items: u64,
    hasher: Hasher,
}

impl Planes {
    /// A data plane of `m` bits, asked with `k` probes, whose control plane is 2^`folds` times as large.
    pub(super) fn new(m: u64, k: u32, folds: u32, hasher: Hasher) -> Result<Self> {
        let control = Counting::with_shape(m << folds, k, 4, hasher.clone())?;
        let mut planes = Self {
            data: Bloom::with_shape(m, k, hasher.clone())?,
            control,
            folds,
            items: 0,
            hasher,
        };
        // The data plane hashes as the control plane does.
        planes.publish()?;
        Ok(planes)
    }

    /// Room for `items` keys at so many bits each, with the best number of probes.
    pub(super) fn for_items(items: u64, bits_per_item: f64) -> Result<Self> {
        let m = ((items as f64 * bits_per_item).ceil() as u64).max(64);
        Self::new(m, theory::bloom::best_k(m, items.max(1)), 0, Hasher::default())
    }

    /// Inserts a key that is not inside, in both planes.
    pub(super) fn insert<K: Key + ?Sized>(&mut self, key: &K) {
        self.control.insert(key);
        self.data.insert(key);
        self.items += 1;
    }

    /// Removes a key that is inside from the control plane; the data plane follows with [`Planes::publish`].
    pub(super) fn take<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.control.remove(key)?;
        self.items = self.items.saturating_sub(1);
        Ok(())
    }

    /// Removes a key that is inside from both planes.
    pub(super) fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.take(key)?;
        self.publish()
    }

    /// Writes the data plane anew: its bits are those of the counters that are left.
    pub(super) fn publish(&mut self) -> Result<()> {
        let (k, hasher) = (self.data.k(), self.hasher.clone());
        let mut data = Bloom::from_bits(self.control.to_bits(), k, hasher, self.items)?;
        for _ in 0..self.folds {
            data = data.fold()?;
        }
        self.data = data;
        Ok(())
    }

    /// Folds the data plane `folds` times: another size, the same keys, and none of them is hashed again.
    pub(super) fn resize(&mut self, folds: u32) -> Result<()> {
        self.folds = folds;
        self.publish()
    }

    /// Whether the data plane may hold the key.
    pub(super) fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.data.contains(key)
    }

    /// Bits of the data plane.
    pub(super) fn bits(&self) -> u64 {
        self.data.m()
    }

    /// The data plane.
    pub(super) fn data(&self) -> &Bloom {
        &self.data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_change_and_keys_stay() {
        let mut planes = Planes::new(1024, 5, 2, Hasher::default()).unwrap();
        (0..100u64).for_each(|key| planes.insert(&key));
        for folds in [2, 1, 0, 2] {
            planes.resize(folds).unwrap();
            assert_eq!(planes.bits(), 4096 >> folds);
            assert!((0..100u64).all(|key| planes.contains(&key)));
        }
        (0..100u64).for_each(|key| planes.take(&key).unwrap());
        planes.publish().unwrap();
        assert!((0..100u64).all(|key| !planes.contains(&key)));
        assert_eq!(planes.items, 0);
    }
}

//! Maps whose keys are hashes already.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::hash::mix64;

/// Mixes a word with a secret of the map's own: whoever chooses keys whose hashes are alike does not know which of them
/// share a place in the map. Far less work than what a map does for keys of any kind.
#[derive(Clone, Debug)]
pub(super) struct Mixed(u64);

impl Default for Mixed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0u64))
    }
}

impl BuildHasher for Mixed {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(self.0)
    }
}

pub(super) struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64((*byte).into()));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = mix64(self.0 ^ word);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

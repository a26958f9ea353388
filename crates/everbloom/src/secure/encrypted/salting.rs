//! Queries: the cells of a word among dummies, and which of them count.

use std::fmt;

use super::{Field, digest};
use crate::parts::flat_bits::FlatBits;
use crate::secure::Secret;
use crate::variant::prelude::*;

/// The requested cells: those of a word, among dummies.
#[derive(Clone)]
pub struct Salted {
    /// In ascending order, so that dummies do not stand out.
    pub cells: Vec<u64>,
    /// Which of them are the word's.
    pub real: Real,
}

impl Salted {
    /// The cells of a word under Bob's key, and this many dummies, which follow from a secret and the word: anyone
    /// who sees two queries for the word sees the same dummies, and learns nothing by comparing. The secret is
    /// Alice's and
    /// beside it stands the word as it is, or T's with the word under Bob's key.
    pub fn new<F: Field>(
        flat: Flat,
        word: &F::Number,
        dummies: u32,
        (secret, named): (&Secret, &[u8]),
    ) -> Result<Self> {
        let (mut cells, probe) = (Vec::new(), FlatBits::new(flat)?.probe);
        probe.each(digest::<F>(word), |cell| cells.push(cell));
        cells.sort_unstable();
        cells.dedup();
        let own = cells.clone();
        for i in 0..dummies {
            let output = secret.prf("dummies", &[named, &i.to_le_bytes()]);
            let word = u64::from_le_bytes(std::array::from_fn(|i| output[i]));
            cells.push(crate::hash::multiply_shift(word, flat.m));
        }
        cells.sort_unstable();
        cells.dedup();
        let real = cells.iter().map(|cell| own.binary_search(cell).is_ok()).collect();
        Ok(Self { cells, real: Real(real) })
    }

    /// Whether a document with these bits may have the word: dummies are dropped.
    pub fn matches(&self, bits: &[bool]) -> bool {
        self.real.matches(bits)
    }
}

impl fmt::Debug for Salted {
    /// Says how many cells there are, and not which are the word's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salted({} cells)", self.cells.len())
    }
}

/// Which of the requested cells belong to the word: enough to read an answer, but not to query again.
#[derive(Clone)]
pub struct Real(pub(crate) Vec<bool>);

impl Real {
    /// Whether a document with these bits may have the word: dummies are dropped.
    pub fn matches(&self, bits: &[bool]) -> bool {
        bits.len() == self.0.len() && bits.iter().zip(&self.0).all(|(bit, real)| *bit || !real)
    }
}

impl fmt::Debug for Real {
    /// Says how many cells there are, and not which are the word's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Real({} cells)", self.0.len())
    }
}

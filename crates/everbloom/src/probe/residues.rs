//! Remainders of one hash by many lengths (catalogue I1): index i is H mod m_i, in part i.

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::state::{Decoder, Encoder, State};
use crate::theory::prime::pairwise_coprime;

/// Most parts: 64 that are half full have a rate of 5·10⁻²⁰, and emptier ones any rate below.
pub const MAX_PARTS: u32 = 64;

/// Parts of pairwise coprime lengths, and one 64-bit hash for all of them.
///
/// By the Chinese remainder theorem remainders by coprime lengths are as good as independent. They have
/// to be remainders: the multiply-shift of the other schemes would scale one number to each part, so
/// that a key stood at the same relative place in all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residues {
    parts: Vec<u64>,
    m: u64,
}

impl Residues {
    /// One to [`MAX_PARTS`] parts of these lengths: 2 or more each, no two with a common factor, 2⁶² at
    /// most in all.
    pub fn new(parts: Vec<u64>) -> Result<Self> {
        let m = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(*part));
        let Some(m) = m.filter(|m| *m <= 1 << 62) else {
            return Err(Error::parameter("the parts take more than 2^62 cells: make them shorter"));
        };
        if !(1..=MAX_PARTS as usize).contains(&parts.len()) || parts.iter().any(|part| *part < 2) {
            return Err(Error::parameter(format!(
                "{} parts: there must be 1 to {MAX_PARTS}, of two cells or more",
                parts.len()
            )));
        }
        if !pairwise_coprime(&parts) {
            return Err(Error::parameter(
                "two parts have a common factor, so that their indices depend on each other: use different primes",
            ));
        }
        Ok(Self { parts, m })
    }

    /// Number of cells in all parts.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// Number of parts, and of indices per key.
    pub fn k(&self) -> u32 {
        self.parts.len() as u32
    }

    /// The lengths of the parts.
    pub fn parts(&self) -> &[u64] {
        &self.parts
    }

    /// The first cell of every part, and its length.
    pub fn spans(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut start = 0;
        self.parts.iter().map(move |&part| {
            start += part;
            (start - part, part)
        })
    }

    /// The key's indices, part by part.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + '_ {
        self.spans().map(move |(start, part)| start + digest.h1 % part)
    }
}

impl State for Residues {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        self.parts.save(name, out);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        let parts = Vec::load(name, src)?;
        Self::new(parts).map_err(|e| src.corrupt(e.to_string()))
    }
}

//! Enhanced double hashing (Dillinger and Manolios, FMCAD 2004; catalogue F4):
//! g_i = h1 + i·h2 + (i³ − i)/6 mod m, stepped as x += y, then y += i.
//!
//! The cubic term keeps two keys whose progressions share a step or run in opposite directions from
//! meeting in many cells, which is most of what plain double hashing loses in small ranges.

use super::double::add_mod;
use crate::hash::Digest;

/// Scheme 2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enhanced {
    m: u64,
    k: u32,
}

impl Enhanced {
    /// `k` indices into `0..m`, m > 0.
    pub fn new(m: u64, k: u32) -> Self {
        Self { m, k }
    }

    /// Number of cells.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// Number of indices per key.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The key's indices.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let m = self.m;
        let mut x = digest.h1 % m;
        let mut y = digest.h2 % m;
        (1..=u64::from(self.k)).map(move |i| {
            let index = x;
            x = add_mod(x, y, m);
            y = add_mod(y, i % m, m);
            index
        })
    }
}

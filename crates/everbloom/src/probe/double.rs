//! Double hashing (Kirsch and Mitzenmacher, ESA 2006; catalogue F3): g_i = (h1 + i·h2) mod m.
//!
//! Both words are reduced first, then the sum is kept below m: the stream is that of the formula over
//! the integers. The step is made odd, so that for even m it never vanishes and for m a power of two
//! it visits every cell; for odd m a step of 0 becomes 1.

use super::half;
use crate::error::{Error, Result};
use crate::hash::Digest;

/// Scheme 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Double {
    m: u64,
    k: u32,
}

impl Double {
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
        let mut y = (digest.h2 | 1) % m;
        if y == 0 && m > 1 {
            y = 1;
        }
        (0..self.k).map(move |_| {
            let index = x;
            x = add_mod(x, y, m);
            index
        })
    }

    /// Half the cells. The half must be even too: with an odd m a step of 0 is replaced, and the
    /// folded filter would look for keys where the whole one did not put them.
    pub(super) fn fold(&self) -> Result<Self> {
        let m = half(self.m, "m")?;
        if m.is_multiple_of(2) {
            Ok(Self { m, k: self.k })
        } else {
            Err(Error::parameter(format!(
                "cannot fold: double hashing needs m divisible by 4, and m is {}",
                self.m
            )))
        }
    }
}

/// x + y mod m for x, y < m, without overflow.
#[inline]
pub(super) fn add_mod(x: u64, y: u64, m: u64) -> u64 {
    let room = m - y;
    if x >= room { x - room } else { x + y }
}

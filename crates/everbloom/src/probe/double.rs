//! Double hashing, or "less hashing" (Kirsch and Mitzenmacher, ESA 2006; catalogue F3; S0 §II-C2, S3 §V-A).
//!
//! Two hash values do the work of k: a key's indices are an arithmetic progression on a circle of m cells,
//!
//! ```text
//!   g_i = (h1 + i·h2) mod m            m = 16, h1 = 13, h2 = 5:   13 → 2 → 7 → 12
//!
//!        0         4         8        12
//!    ┌─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┐
//!    │ │ │█│ │ │ │ │█│ │ │ │ │█│█│ │ │
//!    └─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┴─┘
//! ```
//!
//! (Extended double hashing adds some f(i): with (i³ − i)/6 it is [`enhanced`](super::enhanced).)
//!
//! In large ranges that is as good as k independent hashes. In small ones it is not: two keys that agree
//! in both values mod m meet in all k cells (about n/m² of all non-members), and progressions overlap in
//! long runs. At c = 10 and k = 7 the rate is 10 % too high in 1000 cells, and twice what it should be
//! in 128. No formula of the fill sees that: a filter of so few cells that is made to use the scheme
//! passes more than it predicts of itself.
//!
//! *What is pinned.* S3 prints h1 + i×h2 mod m; the mod applies to the whole sum. Both words are reduced
//! first and the sum is kept below m, so that the stream is that of the formula over the integers; a sum
//! that wraps at 2⁶⁴ before it is reduced is another stream. The step is made odd, so that for even m it
//! never vanishes and for m a power of two it visits every cell; for odd m a step of 0 becomes 1. Where
//! the step shares a factor with m, only m/gcd cells are in reach; and k > m repeats indices in any case.
//!
//! **Use it** through the parameter `scheme` of `bloom`, to match another program's filters index by index.
//! **Don't** otherwise: `ring`, the default of large filters, does the same without a division, and small ranges
//! use `mixed`.

use super::flat::flat;
use crate::error::{Error, Result};
use crate::hash::Digest;

flat!(
    /// Scheme 1.
    Double
);

impl Double {
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

    /// [`Double::fold`], where the half is even too: with an odd m a step of 0 is replaced, and the
    /// folded filter would look for keys where the whole one did not put them.
    pub(super) fn fold_evenly(&self) -> Result<Self> {
        let folded = self.fold()?;
        if folded.m.is_multiple_of(2) {
            return Ok(folded);
        }
        Err(Error::parameter(format!(
            "cannot fold: double hashing needs m divisible by 4, and m is {}",
            self.m
        )))
    }
}

/// x + y mod m for x, y < m, without overflow.
#[inline]
pub(super) fn add_mod(x: u64, y: u64, m: u64) -> u64 {
    let room = m - y;
    if x >= room { x - room } else { x + y }
}

//! Enhanced double hashing (Dillinger and Manolios, FMCAD 2004; catalogue F4).
//!
//! The step of double hashing grows as it goes: x += y, then y += i,
//!
//! ```text
//!   m = 1000, h1 = 7, h2 = 13      x   7 ─13─▶ 20 ─14─▶ 34 ─16─▶ 50 ─19─▶ 69 ─23─▶ 92
//!                                  y     +1       +2       +3       +4
//!
//!   g_i = h1 + i·h2 + (i³ − i)/6 mod m
//! ```
//!
//! Two keys whose steps are equal or opposite no longer run along with each other, which is most of what
//! plain double hashing loses in small ranges: in 1000 cells it is 2 % above independent hashes instead
//! of 10 %. Keys that agree in both values mod m still meet in every cell.
//!
//! *What is pinned.* y grows *after* it was added; the other order is another stream. (i³ − i)/6 is a whole
//! number, to be taken before the mod. A step of h2 = 0 is harmless, since it does not stay 0.
//!
//! **Use it** through the parameter `scheme` of `bloom`. The default of large filters, `ring`, is the same
//! recurrence on 2⁶⁴ with a single reduction at the end.

use super::double::add_mod;
use super::flat::flat;
use crate::hash::Digest;

flat!(
    /// Scheme 2.
    Enhanced
);

impl Enhanced {
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

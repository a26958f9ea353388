//! What other software does with two hash values, for filters that it made: all of it is double hashing, and all of it
//! differs in where sums wrap and what becomes of a sign.

use super::{Scheme, half};
use crate::error::Result;
use crate::hash::Digest;

/// How indices come from a digest. a and b are the low and the high half of H1, as signed numbers of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// a + i·b in 32 bits, i from 1, complemented if it is negative: Spark's first version, Guava's `MITZ_32`.
    Signed32,
    /// a·(2³¹ − 1) + i·b in 64 bits, i from 1, complemented if it is negative: Spark's second version.
    Signed64,
    /// H1 + i·H2 in 64 bits, i from 0: RedisBloom.
    Wrapped,
    /// H1 + i·H2 in 64 bits without the highest, i from 0: Guava's `MITZ_64`.
    Positive,
}

/// Schemes 9 to 12.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    rule: Rule,
    m: u64,
    k: u32,
}

impl Foreign {
    /// `k` indices into `0..m`, m > 0.
    pub fn new(rule: Rule, m: u64, k: u32) -> Self {
        Self { rule, m, k }
    }

    /// Number of cells.
    pub fn m(&self) -> u64 {
        self.m
    }

    /// Number of indices per key.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// The permanent number of the scheme.
    pub fn scheme(&self) -> Scheme {
        match self.rule {
            Rule::Signed32 => Scheme::Signed32,
            Rule::Signed64 => Scheme::Signed64,
            Rule::Wrapped => Scheme::Wrapped,
            Rule::Positive => Scheme::Positive,
        }
    }

    /// Half the cells: what is taken mod m can be taken mod m/2.
    pub(super) fn fold(&self) -> Result<Self> {
        Ok(Self { m: half(self.m, "m")?, ..*self })
    }

    /// The key's indices.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let Self { rule, m, k } = *self;
        let (a, b) = (digest.h1 as i32, (digest.h1 >> 32) as i32);
        let spread = i64::from(a).wrapping_mul(i64::from(i32::MAX));
        // Rules that count from 1 take the number after this one.
        (0..u64::from(k)).map(move |i| {
            let along = digest.h1.wrapping_add(i.wrapping_mul(digest.h2));
            let sum = match rule {
                Rule::Signed32 => {
                    let sum = a.wrapping_add((i as i32 + 1).wrapping_mul(b));
                    (sum ^ (sum >> 31)) as u64
                }
                Rule::Signed64 => {
                    let sum = spread.wrapping_add((i as i64 + 1).wrapping_mul(b.into()));
                    (sum ^ (sum >> 63)) as u64
                }
                Rule::Wrapped => along,
                Rule::Positive => along & i64::MAX as u64,
            };
            sum % m
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a = −5, b = 3, so that sums change their sign.
    #[test]
    fn signs_and_wraps_are_those_of_the_rule() {
        let h1 = 3 << 32 | u64::from((-5i32) as u32);
        let digest = Digest { h1, h2: u64::MAX };
        let of = |rule| Foreign::new(rule, 1000, 3).indices(digest).collect::<Vec<_>>();
        assert_eq!(of(Rule::Signed32), [1, 1, 4]);
        let flipped = |sum: i64| (!sum as u64) % 1000;
        let first = -5 * i64::from(i32::MAX) + 3;
        assert_eq!(of(Rule::Signed64), [flipped(first), flipped(first + 3), flipped(first + 6)]);
        assert_eq!(of(Rule::Wrapped), [h1 % 1000, (h1 - 1) % 1000, (h1 - 2) % 1000]);
        let high = Digest { h1: 1 << 63 | 7, h2: 1 << 63 };
        let positive = Foreign::new(Rule::Positive, 1000, 2).indices(high);
        assert_eq!(positive.collect::<Vec<_>>(), [7, 7]);
    }
}

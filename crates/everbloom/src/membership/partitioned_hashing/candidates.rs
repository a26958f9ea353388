//! The sets of hash functions that a group of keys chooses from: k fresh ones each, or k of H.

use crate::error::Result;
use crate::hash::Digest;
use crate::probe::Probe;
use crate::state::{Decoder, Encoder, State};

/// The sets of k hash functions to choose from.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidates {
    /// k probes, under a salt for each candidate; or H > k of which a candidate takes k.
    pub(super) probe: Probe,
    pub(super) k: u32,
    pub(super) count: u64,
    /// Which of the H probes each candidate takes, derived from the rest; empty for fresh functions.
    masks: Vec<u64>,
}

impl Candidates {
    /// `None` for numbers that do not go together.
    pub(super) fn new(probe: Probe, k: u32, count: u64) -> Option<Self> {
        let base = probe.k();
        let (most, masks) = if base == k {
            (MAX_CANDIDATES, 0)
        } else if k >= 1 && k < base && base <= MAX_BASE {
            (choose(base, k).min(MAX_CANDIDATES), count)
        } else {
            return None;
        };
        if !(1..=most).contains(&count) {
            return None;
        }
        let masks = (0..masks).map(|candidate| subset(base, k, candidate, count)).collect();
        Some(Self { probe, k, count, masks })
    }

    /// Whether `f` holds for every cell of a key under one candidate.
    #[inline]
    pub(super) fn all(
        &self,
        digest: Digest,
        candidate: u64,
        mut f: impl FnMut(u64) -> bool,
    ) -> bool {
        if self.masks.is_empty() {
            return self.probe.all(digest.salted(candidate), f);
        }
        let mut taken = self.masks[candidate as usize];
        self.probe.all(digest, |i| {
            let skip = taken & 1 == 0;
            taken >>= 1;
            skip || f(i)
        })
    }
}

impl State for Candidates {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.probe.save("probe", out);
            self.k.save("k", out);
            self.count.save("count", out);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let probe = Probe::load("probe", src)?;
            let (k, count) = (u32::load("k", src)?, u64::load("count", src)?);
            let base = probe.k();
            Self::new(probe, k, count)
                .ok_or_else(|| src.corrupt(format!("{count} candidates of {k} of {base} hashes")))
        })
    }
}

/// The most candidates a group may choose from.
pub(super) const MAX_CANDIDATES: u64 = 1 << 16;

/// The most base functions: one bit each in a word.
pub(super) const MAX_BASE: u32 = 64;

/// Number of k-subsets of `base` functions, base ≤ 64.
pub(super) fn choose(base: u32, k: u32) -> u64 {
    // C(64, 32) is below 2⁶¹; the product before the division below 2⁶⁷.
    let step = |c: u128, i: u32| c * u128::from(base - i) / u128::from(i + 1);
    if k > base { 0 } else { (0..k).fold(1, step) as u64 }
}

/// The subset that is candidate number `candidate` of `count`, as a mask. Of all k-subsets in
/// lexicographic order every (C/count)-th is one: the first `count` would all share most functions and
/// gain little (k = 7, H = 14, t = 16: a rate of 0.0062 instead of 0.0053).
fn subset(base: u32, k: u32, candidate: u64, count: u64) -> u64 {
    let all = u128::from(choose(base, k));
    let mut rank = (u128::from(candidate) * all / u128::from(count)) as u64;
    let (mut mask, mut left) = (0, k);
    for i in 0..base {
        if left == 0 {
            break;
        }
        // So many subsets of what is left take function i; they come first.
        let with = choose(base - i - 1, left - 1);
        if rank < with {
            mask |= 1 << i;
            left -= 1;
        } else {
            rank -= with;
        }
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subsets_are_different_and_spread() {
        assert_eq!(
            (choose(14, 7), choose(64, 32), choose(3, 4)),
            (3432, 1_832_624_140_942_590_534, 0)
        );
        for (base, k, count) in [(8, 7, 8), (9, 7, 36), (14, 7, 16), (64, 32, 1000), (2, 1, 2)] {
            let mut masks: Vec<u64> = (0..count).map(|c| subset(base, k, c, count)).collect();
            assert!(masks.iter().all(|m| m.count_ones() == k && m >> (base - 1) <= 1));
            // Every function serves some candidate, and no candidate is there twice.
            assert_eq!(masks.iter().fold(0, |a, m| a | m), u64::MAX >> (64 - base));
            masks.sort_unstable();
            masks.dedup();
            assert_eq!(masks.len() as u64, count);
        }
    }
}

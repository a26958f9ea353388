//! A minimal perfect hash: every key of a fixed set gets a number of its own, 0 to n − 1.
//!
//! By peeling (Botelho, Pagh, Ziviani 2007, "BDZ"). Every key has three cells, one in each of three segments;
//! peeled, it owns one of them. A cell holds two bits, and those of a key's three cells add up mod 3 to
//! *which* of the three is its own; cells that nobody owns hold 3, which is 0 mod 3. A key's number is
//! then how many owned cells come before its own:
//!
//! ```text
//!   cells   2 3 0 │ 3 1 3 │ 0 3 2      x: cells 0, 4, 7: 2 + 1 + 3 = 0 mod 3, so its own is cell 0
//!           ↑         ↑       ↑        y: cells 2, 4, 6: 0 + 1 + 0 = 1 mod 3, so its own is cell 4
//!   owned   1 0 1   0 1 0   1 0 1      the number of cell 4: two owned ones come before it
//! ```
//!
//! 1.23 cells per key are enough to peel, so it takes 2.46 bits per key, and 0.1 more for the counts of
//! owned cells before each line of 256. The information bound is log2 e = 1.44. The keys are not stored:
//! a key of another set gets the number of one of the members.

use super::{Peeled, peel};
use crate::cells::Packed;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::probe::Partitioned;
use crate::state::state;

/// Every key has a cell in each of three segments.
const SEGMENTS: u64 = 3;
/// A cell that nobody owns.
const NOBODY: u64 = 3;
/// Cells between two counts: what a cache line holds.
const LINE: u64 = 256;
/// Nine of ten salts peel, so not one in 64 does if the keys are at fault.
const ATTEMPTS: u64 = 64;

/// Numbers 0 to n − 1 for the keys of a fixed set.
#[derive(Clone, Debug, PartialEq)]
pub struct Mphf {
    keys: u64,
    /// Salts the digests: the first under which the keys peel.
    salt: u64,
    /// What is added up, two bits a cell.
    cells: Packed,
    /// Owned cells before each line.
    counts: Packed,
}

state!(Mphf { keys, salt, cells, counts });

impl Mphf {
    /// Numbers for keys of these digests, no two of which are equal.
    ///
    /// Fails if they do not peel under any of 64 salts, as equal digests never do.
    pub fn new(digests: &[Digest]) -> Result<Self> {
        let keys = digests.len() as u64;
        let cells = cells_for(keys);
        for salt in 0..ATTEMPTS {
            let around = digests.iter().map(|digest| cells_of(digest.salted(salt), cells));
            // Half the memory, for all sets but the very largest.
            let solved = if cells <= u64::from(u32::MAX) {
                solve::<u32>(cells, around.map(|cells| cells.map(|cell| cell as u32)))
            } else {
                solve::<u64>(cells, around)
            };
            if let Some(cells) = solved {
                return Ok(Self { keys, salt, counts: count(&cells, keys), cells });
            }
        }
        Err(Error::parameter(format!(
            "the keys do not peel under {ATTEMPTS} salts, which does not happen by chance: build with another seed, \
            or with a secret key if somebody chose them"
        )))
    }

    /// The number of a member; some number of 0..n for any other key. `None` for the empty set.
    #[inline]
    pub fn index(&self, digest: Digest) -> Option<u64> {
        let around = cells_of(digest.salted(self.salt), self.cells.len());
        let sum: u64 = around.iter().map(|&cell| self.cells.get(cell)).sum();
        // A foreign key may be led to a cell without owner, behind all that have one.
        Some(self.owned_before(around[(sum % SEGMENTS) as usize]).min(self.keys.checked_sub(1)?))
    }

    /// Number of keys.
    pub fn keys(&self) -> u64 {
        self.keys
    }

    /// How many salts were tried until the keys peeled.
    pub fn attempts(&self) -> u64 {
        self.salt.saturating_add(1)
    }

    /// Bits that the numbers of `n` keys take.
    pub fn bits_for(n: u64) -> u64 {
        let cells = cells_for(n);
        let counts = cells.div_ceil(LINE).saturating_mul(width_for(n).into());
        cells.saturating_mul(2).saturating_add(counts)
    }

    fn owned_before(&self, cell: u64) -> u64 {
        let line = cell / LINE;
        let words = &self.cells.words()[(line * LINE / 32) as usize..];
        let (full, rest) = ((cell % LINE / 32) as usize, cell % 32);
        let partial = if rest == 0 { 0 } else { owned(words[full] | u64::MAX << (2 * rest)) };
        let before: u64 = words[..full].iter().map(|&word| owned(word)).sum();
        self.counts.get(line) + before + partial
    }

    /// Counts are compared with the cells, so that every number is below n and no two members of an
    /// honest file share one.
    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if self.cells.width() != 2 || self.cells.len() != cells_for(self.keys) {
            return wrong("not the cells of so many keys");
        }
        // Padding reads as owned.
        let padding = self.cells.len().next_multiple_of(32) - self.cells.len();
        let owned: u64 = self.cells.words().iter().map(|&word| owned(word)).sum();
        if owned != self.keys + padding || self.counts != count(&self.cells, self.keys) {
            return wrong("counts and cells of the perfect hash differ");
        }
        Ok(())
    }
}

/// Cells for `n` keys: ⌈1.23 n⌉ and a few more for small sets, a multiple of three.
fn cells_for(n: u64) -> u64 {
    let cells = (u128::from(n) * 123).div_ceil(100) + 32;
    u64::try_from(cells.next_multiple_of(u128::from(SEGMENTS))).unwrap_or(u64::MAX / 3 * 3)
}

/// Bits of a count up to `n`.
fn width_for(n: u64) -> u32 {
    (u64::BITS - n.leading_zeros()).max(1)
}

/// The three cells of a key, one in each segment of `cells`.
#[inline]
fn cells_of(digest: Digest, cells: u64) -> [u64; SEGMENTS as usize] {
    let mut out = [0; SEGMENTS as usize];
    let indices = Partitioned::new(cells / SEGMENTS, SEGMENTS as u32).indices(digest);
    out.iter_mut().zip(indices).for_each(|(slot, i)| *slot = i);
    out
}

/// Owned cells among the 32 of a word.
#[inline]
fn owned(word: u64) -> u64 {
    let nobody = word & word >> 1 & 0x5555_5555_5555_5555;
    32 - u64::from(nobody.count_ones())
}

/// Peels keys with these cells, and sets in reverse order every key's own cell so that the sum names it. No cell of a later
/// key is anybody's own then, so that sums once right stay right.
fn solve<I: Copy + Into<u64>>(
    cells: u64,
    around: impl Iterator<Item = [I; SEGMENTS as usize]>,
) -> Option<Packed> {
    let around: Vec<[I; SEGMENTS as usize]> = around.collect();
    let order = peel(&around, cells as usize)?;
    let mut out = Packed::new(cells, 2);
    (0..cells).for_each(|cell| out.set(cell, NOBODY));
    for &Peeled { key, slot } in order.iter().rev() {
        let around = around[key].map(I::into);
        // The own cell is nobody's yet, which is 0 mod 3.
        let sum: u64 = around.iter().map(|&cell| out.get(cell)).sum();
        out.set(around[slot], (slot as u64 + 9 - sum) % SEGMENTS);
    }
    Some(out)
}

/// Owned cells before each line.
fn count(cells: &Packed, keys: u64) -> Packed {
    let mut counts = Packed::new(cells.len().div_ceil(LINE), width_for(keys));
    let mut before = 0;
    for (line, words) in (0..).zip(cells.words().chunks((LINE / 32) as usize)) {
        counts.set(line, before);
        before += words.iter().map(|&word| owned(word)).sum::<u64>();
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Hasher;

    fn digests(keys: std::ops::Range<u64>) -> Vec<Digest> {
        keys.map(|key| Hasher::default().digest(&key)).collect()
    }

    #[test]
    fn members_get_all_numbers_and_others_one_of_them() {
        for n in [1u64, 2, 3, 10, 31, 32, 100, 255, 256, 1000, 54_321] {
            let (members, others) = (digests(0..n), digests(1 << 40..(1 << 40) + 5000));
            let mphf = Mphf::new(&members).unwrap();
            let mut seen = vec![false; n as usize];
            for digest in members {
                let number = mphf.index(digest).unwrap() as usize;
                assert!(!std::mem::replace(&mut seen[number], true), "{n}: {number} twice");
            }
            assert!(others.iter().all(|d| mphf.index(*d).unwrap() < n));
            mphf.check().unwrap();
            let bits = 2 * mphf.cells.len() + mphf.counts.len() * u64::from(mphf.counts.width());
            assert_eq!(bits, Mphf::bits_for(n));
        }
    }

    #[test]
    fn the_empty_set_has_no_numbers_and_equal_keys_no_solution() {
        let empty = Mphf::new(&[]).unwrap();
        assert_eq!(empty.index(digests(0..1)[0]), None);
        empty.check().unwrap();
        let twice = [digests(0..1), digests(0..1)].concat();
        assert!(Mphf::new(&twice).is_err());
    }

    #[test]
    fn bits_per_key() {
        // 2·1.23 + 1.23/256·20 for a million.
        let bits = Mphf::bits_for(1_000_000) as f64 / 1e6;
        assert!((2.55..2.57).contains(&bits), "{bits}");
    }
}

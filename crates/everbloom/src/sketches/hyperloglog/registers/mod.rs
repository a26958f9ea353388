//! Registers of six bits, and what the estimator has to know of them.

#[cfg(target_arch = "x86_64")]
mod avx512;

use super::WIDTH;
use crate::cells::Packed;
use crate::error::Result;
#[cfg(target_arch = "x86_64")]
use crate::hash::{Batch, CHUNK, Digests, HashId};
use crate::hash::{Hasher, Key};
use crate::state::{Decoder, Encoder, State};
use crate::theory::cardinality::Ranks;

/// Once all registers have this rank, one key in 64 needs a look at its register.
const SELDOM: u32 = 6;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Registers {
    cells: Packed,
    ranks: Ranks,
    /// The least rank of all, and how many registers are there.
    least: u64,
    lowest: u64,
    /// Bits of a hash that are all zero if its rank is above the least one; none while that is no rare case.
    above: u64,
    /// Number of index bits, which every insertion takes.
    p: u32,
}

impl Registers {
    /// 2^p empty registers.
    pub(super) fn try_new(p: u32) -> Result<Self> {
        Packed::try_new(1 << p, WIDTH).map(Self::of)
    }

    /// These registers, counted.
    pub(super) fn of(cells: Packed) -> Self {
        let p = cells.len().trailing_zeros();
        let mut ranks = Ranks::new(64 - p);
        cells.iter().for_each(|rank| ranks.add(rank, 1));
        let mut registers = Self { cells, ranks, least: 0, lowest: 0, above: 0, p };
        registers.find_lowest();
        registers
    }

    #[cold]
    fn find_lowest(&mut self) {
        self.least = self.cells.iter().min().unwrap_or(0);
        self.lowest = self.cells.iter().filter(|rank| *rank == self.least).count() as u64;
        // A rank is one more than the zeros behind the index; the last one has no zeros left to tell.
        let bits = self.least.min(u64::from(self.q())) as u32;
        // A branch that is taken now and then costs more than a look at the register.
        let bits = if bits < SELDOM { 0 } else { bits };
        let ones = 1u64.checked_shl(bits).unwrap_or(0).wrapping_sub(1);
        self.above = ones.checked_shl(self.p()).unwrap_or(0);
    }

    /// Number of index bits.
    #[inline]
    pub(super) fn p(&self) -> u32 {
        self.p
    }

    /// Bits of a hash beyond the index.
    fn q(&self) -> u32 {
        64 - self.p()
    }

    /// Whether no register is below the rank of a hash, as far as that is known without a look at its own.
    #[inline]
    pub(super) fn are_above(&self, hash: u64) -> bool {
        hash & self.above != 0
    }

    #[inline]
    pub(super) fn cells(&self) -> &Packed {
        &self.cells
    }

    /// The register of a hash, and its rank there.
    #[inline]
    pub(super) fn place(&self, hash: u64) -> (u64, u64) {
        // The guard ends a rank where the hash does.
        let rest = hash >> self.p | 1 << (64 - self.p);
        (hash & ((1 << self.p) - 1), u64::from(rest.trailing_zeros()) + 1)
    }

    /// The rank of a register.
    #[inline]
    pub(super) fn rank(&self, register: u64) -> u64 {
        self.cells.get_of_width(WIDTH, register)
    }

    /// Raises a register to a rank, if it is lower; true if it was.
    #[inline(always)]
    pub(super) fn raise(&mut self, register: u64, rank: u64) -> bool {
        let old = self.rank(register);
        if rank > old {
            self.change(register, old, rank);
        }
        rank > old
    }

    /// Raises the registers of as many keys as are hashed several at once, where the processor can; those that are left
    /// are for the caller.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn raise_many<'k, K: Key>(&mut self, hasher: &Hasher, keys: &'k [K]) -> &'k [K] {
        let mut batch = Batch::<K, { HashId::Fold64 as u16 }>::new(hasher, keys);
        let (mut done, mut room) = (0, [0; CHUNK]);
        while avx512::can(self)
            && let Some(words) = batch.words(HashId::Fold64, &mut room)
        {
            avx512::raise(self, words.keys, words.seed);
            done += words.keys.len();
        }
        &keys[done..]
    }

    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn raise_many<'k, K: Key>(&mut self, _: &Hasher, keys: &'k [K]) -> &'k [K] {
        keys
    }

    /// Seldom, so that it is not in everybody's loop.
    #[inline(never)]
    fn change(&mut self, register: u64, old: u64, rank: u64) {
        self.cells.set_of_width(WIDTH, register, rank);
        self.ranks.change(old, rank);
        if old == self.least {
            self.lowest -= 1;
            if self.lowest == 0 {
                self.find_lowest();
            }
        }
    }

    /// The number of different keys, about.
    pub(super) fn estimate(&self) -> f64 {
        self.ranks.estimate()
    }
}

impl State for Registers {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        self.cells.save(name, out);
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        Packed::load(name, src).map(Self::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Generator;

    #[test]
    fn what_is_kept_up_to_date_is_what_counting_finds() {
        let (mut registers, mut random) = (Registers::try_new(4).unwrap(), Generator::new(1));
        for _ in 0..200 {
            registers.raise(random.below(16), random.below(62));
            assert_eq!(Registers::of(registers.cells.clone()), registers);
        }
        assert!(registers.estimate() > 1e15, "{}", registers.estimate());
    }
}

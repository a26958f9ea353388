//! Registers of six bits, and what the estimator has to know of them.

use super::WIDTH;
use crate::cells::Packed;
use crate::error::Result;
use crate::state::{Decoder, Encoder, State};
use crate::theory::cardinality::Ranks;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Registers {
    cells: Packed,
    ranks: Ranks,
}

impl Registers {
    /// 2^p empty registers.
    pub(super) fn try_new(p: u32) -> Result<Self> {
        Packed::try_new(1 << p, WIDTH).map(Self::of)
    }

    /// These registers, counted.
    pub(super) fn of(cells: Packed) -> Self {
        let mut ranks = Ranks::new(64 - cells.len().trailing_zeros());
        cells.iter().for_each(|rank| ranks.add(rank, 1));
        Self { cells, ranks }
    }

    #[inline]
    pub(super) fn cells(&self) -> &Packed {
        &self.cells
    }

    /// Raises a register to a rank, if it is lower; true if it was.
    #[inline]
    pub(super) fn raise(&mut self, register: u64, rank: u64) -> bool {
        let old = self.cells.get_of_width(WIDTH, register);
        if rank > old {
            self.cells.set_of_width(WIDTH, register, rank);
            self.ranks.change(old, rank);
        }
        rank > old
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

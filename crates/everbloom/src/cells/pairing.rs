//! Which cells become one when an array is halved.

/// Which cells become one when a filter is folded to half its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// Cell j with cell j + m/2: reductions by mod and by mask.
    Halves,
    /// Runs of this many cells: run 2j with run 2j+1 (1 is the multiply-shift reduction of cells).
    Neighbors(u64),
}

impl Pairing {
    /// Where cell `i` goes when `half` of the cells remain.
    #[inline]
    pub fn joined(self, i: u64, half: u64) -> u64 {
        match self {
            Pairing::Halves => i % half,
            Pairing::Neighbors(run) => i / (2 * run) * run + i % run,
        }
    }
}

//! A row of bits, and the number of keys that came to it.

use crate::cells::Bits;
use crate::error::Result;
use crate::state::state;
use crate::theory::bloom as theory;

/// The bits of a standard filter, without its probes: rows of one filter share them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub(crate) items: u64,
    pub(crate) bits: Bits,
}

state!(plain Row { items, bits });

impl Row {
    /// `m` zero bits.
    pub(crate) fn blank(m: u64) -> Result<Self> {
        Ok(Self { items: 0, bits: Bits::try_new(m)? })
    }

    /// The row of both sets. Nobody knows how many keys they share, so their number is estimated from the
    /// zeros, where there are any.
    pub(crate) fn union(&mut self, other: &Row, k: u32) {
        self.bits.union(&other.bits);
        let most = self.items.saturating_add(other.items);
        let size = theory::cardinality(self.bits.zeros(), self.bits.len(), k);
        self.items = size.map_or(most, |n| n.round() as u64).min(most);
    }
}

//! Multisets: types whose part can be added to another.

use super::own::Owns;
use crate::error::Result;
use crate::filter::{Filter, Merge, MergeLaw};

/// A part that counts keys and can be added to another.
pub(crate) trait SumPart {
    /// Refuses a part that cannot be added, and names the difference.
    fn agree(&self, other: &Self) -> Result<()>;

    /// Adds what the other holds.
    fn add(&mut self, other: &Self);
}

impl<T: Owns<Part: SumPart>> Merge for T {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let (other_head, other) = other.as_same::<Self>()?.own();
        let (head, part) = self.own_mut();
        head.agree(other_head)?;
        part.agree(other)?;
        part.add(other);
        head.count(other_head.items);
        Ok(())
    }
}

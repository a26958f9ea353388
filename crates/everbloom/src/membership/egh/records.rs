//! What an EGH filter does with keys of 8 bytes, and with other filters.

use super::Egh;
use super::cells::Cells;
use crate::error::agree;
use crate::filter::List;
use crate::variant::prelude::*;

/// The integer that a key is.
pub(super) fn integer(key: &[u8]) -> Result<u64> {
    let bytes = key.try_into().map_err(|_| {
        Error::record(format!(
            "a key of {} bytes: keys must be integers of 8 bytes, little-endian",
            key.len()
        ))
    })?;
    Ok(u64::from_le_bytes(bytes))
}

impl Insert for Egh {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        Egh::insert(self, integer(record.key)?)
    }
}

impl Remove for Egh {
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        Egh::remove(self, integer(record.key)?)
    }
}

impl Count for Egh {
    fn count(&self, key: &[u8]) -> Counted {
        Counted::about(integer(key).map_or(0, |x| Egh::count(self, x)))
    }
}

impl List for Egh {
    fn list(&self, f: &mut dyn FnMut(&[u8], Answer)) -> Result<()> {
        for x in Egh::list(self)? {
            let key = x.to_le_bytes();
            f(&key, self.query(Record::key(&key))?);
        }
        Ok(())
    }
}

impl Merge for Egh {
    fn law(&self) -> MergeLaw {
        match self.cells {
            Cells::Bits(_) => MergeLaw::Set,
            Cells::Counters(_) => MergeLaw::Multiset,
        }
    }

    /// Items of two sets add up to a bound only, unless the other set is inside this one.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Egh = other.as_same()?;
        self.head.agree(&other.head)?;
        agree("universe", self.slices.universe, other.slices.universe)?;
        agree("zone", self.slices.zone, other.slices.zone)?;
        match (&mut self.cells, &other.cells) {
            (Cells::Bits(a), Cells::Bits(b)) if a.ones_in_both(b) < b.ones() => {
                a.union(b);
                self.head.count(other.head.items);
            }
            (Cells::Counters(a), Cells::Counters(b)) => {
                agree("counter width", a.width(), b.width())?;
                a.add(b);
                self.head.count(other.head.items);
            }
            _ => {}
        }
        Ok(())
    }
}

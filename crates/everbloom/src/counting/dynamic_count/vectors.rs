//! Counters in two vectors, the second as wide as the largest counter needs.

use crate::cells::Packed;
use crate::error::{Error, Result, agree};
use crate::filter::{Fact, fact};
use crate::parts::tally::{Cells, Tally};
use crate::state::{MAX_ITEMS, state};

/// The bits that a counter's first part may have.
const X_BITS: std::ops::RangeInclusive<u32> = 1..=16;

/// m counters in two vectors, the second as wide as the largest counter needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    base: Packed,
    /// Not there while y is 0.
    overflow: Option<Packed>,
    /// Overflow counters that keep the vector from becoming narrower.
    high: u64,
    /// Times that y changed.
    rebuilds: u64,
}

state!(Vectors { base, overflow, high, rebuilds });

/// The largest overflow counter that lets a vector of `y` bits become narrower: a quarter of its range,
/// and nothing at all at the last bit.
fn low_line(y: u32) -> u64 {
    if y < 2 { 0 } else { 1 << (y - 2) }
}

impl Vectors {
    pub(super) fn new(m: u64, x: u32) -> Result<Self> {
        Ok(Self { base: Packed::try_new(m, x)?, overflow: None, high: 0, rebuilds: 0 })
    }

    /// Number of counters.
    pub fn len(&self) -> u64 {
        self.base.len()
    }

    /// Whether there are no counters at all.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty()
    }

    /// Bits of a counter's first part.
    pub fn x(&self) -> u32 {
        self.base.width()
    }

    /// Bits of its overflow part.
    pub fn y(&self) -> u32 {
        self.overflow.as_ref().map_or(0, Packed::width)
    }

    /// Both parts of the counter at `i`: OF and C.
    pub fn parts(&self, i: u64) -> (u64, u64) {
        (self.overflow.as_ref().map_or(0, |of| of.get(i)), self.base.get(i))
    }

    /// How often the overflow vector was rebuilt, one bit wider or narrower.
    pub fn rebuilds(&self) -> u64 {
        self.rebuilds
    }

    /// Every counter, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }

    fn set(&mut self, i: u64, value: u64) {
        let x = self.x();
        let carry = value >> x;
        while self.y() < u64::BITS - carry.leading_zeros() {
            self.rebuild(self.y() + 1);
        }
        self.base.set(i, value);
        let line = low_line(self.y());
        if let Some(of) = &mut self.overflow {
            let before = of.get(i);
            of.set(i, carry);
            self.high = self.high + u64::from(carry > line) - u64::from(before > line);
        }
    }

    /// Makes the overflow vector `y` bits wide, which all its counters fit.
    #[cold]
    fn rebuild(&mut self, y: u32) {
        let line = low_line(y);
        let mut wider = (y > 0).then(|| Packed::new(self.len(), y));
        self.high = 0;
        if let (Some(new), Some(old)) = (&mut wider, &self.overflow) {
            for (i, carry) in (0..).zip(old.iter()).filter(|(_, carry)| *carry > 0) {
                new.set(i, carry);
                self.high += u64::from(carry > line);
            }
        }
        self.overflow = wider;
        self.rebuilds = self.rebuilds.saturating_add(1);
    }

    fn check(&self) -> Result<()> {
        let high = |of: &Packed| of.iter().filter(|c| *c > low_line(of.width())).count() as u64;
        let fits = |of: &Packed| of.len() == self.len() && of.width() + self.x() < 64;
        let sound = X_BITS.contains(&self.x())
            && self.overflow.as_ref().is_none_or(fits)
            && self.overflow.as_ref().map_or(0, high) == self.high;
        if sound {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: the two vectors of counters do not fit each other"))
    }
}

impl Cells for Vectors {
    const NAME: &'static str = "counters";

    fn facts(&self) -> Vec<Fact> {
        vec![fact("x", self.x()), fact("y", self.y()), fact("rebuilds", self.rebuilds())]
    }

    fn len(&self) -> u64 {
        self.base.len()
    }

    fn get(&self, i: u64) -> u64 {
        let (carry, low) = self.parts(i);
        carry << self.x() | low
    }
}

impl Tally for Vectors {
    fn raise(&mut self, i: u64, by: u64) -> bool {
        let value = self.get(i);
        self.set(i, value.saturating_add(by).min(MAX_ITEMS).max(value));
        value == 0
    }

    fn lower(&mut self, i: u64, by: u64) {
        self.set(i, self.get(i).saturating_sub(by));
        while self.y() > 0 && self.high == 0 {
            self.rebuild(self.y() - 1);
        }
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("x", self.x(), other.x())
    }
}

#[cfg(test)]
mod tests {
    use super::super::DynamicCount;
    use super::*;
    use crate::{Hasher, Opener, to_bytes};

    #[test]
    fn files_whose_vectors_do_not_fit_are_refused() {
        let mut filter = DynamicCount::with_shape(50, 3, 2, Hasher::default()).unwrap();
        (0..40).for_each(|_| {
            filter.insert("a");
        });
        let back: DynamicCount = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let whole = filter.counters().clone();
        for vectors in [
            Vectors { high: whole.high + 1, ..whole.clone() },
            Vectors { high: 0, ..whole.clone() },
            Vectors { overflow: None, ..whole.clone() },
            Vectors { overflow: Some(Packed::new(49, 4)), high: 0, ..whole.clone() },
            Vectors { overflow: Some(Packed::new(50, 62)), high: 0, ..whole.clone() },
            Vectors { base: Packed::new(50, 17), ..whole.clone() },
            Vectors { base: Packed::new(49, 2), overflow: None, high: 0, rebuilds: 0 },
        ] {
            filter.tallies.cells = vectors;
            let bytes = to_bytes(&filter);
            assert!(Opener::new().decode(&bytes).is_err(), "{:?}", filter.counters());
        }
    }
}

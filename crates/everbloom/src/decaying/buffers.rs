//! What double buffering and A² buffering share: two filters that take turns whenever the active one is full.

use super::no_items;
use crate::error::{Error, Result};
use crate::filter::{Answer, Fact, Part, Rates, Touched, fact};
use crate::hash::Digest;
use crate::parts::generations::Generations;
use crate::plan::{Flat, Request};
use crate::state::state;

/// Two filters, of which a query looks at the `ASKED` oldest.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Buffers<const ASKED: usize> {
    pub(super) buffers: Generations,
    /// c, the keys that the active filter takes.
    pub(super) capacity: u64,
}

state!(inline Buffers<1> { buffers, capacity });
state!(inline Buffers<2> { buffers, capacity });

impl<const ASKED: usize> Buffers<ASKED> {
    /// The filter that is full at some time: the newest of those that are queried.
    pub(super) const ACTIVE: usize = 2 - ASKED;
    pub(super) const OTHER: usize = 1 - Self::ACTIVE;
    /// A filter that warms up takes half of the keys.
    const LEAST: u64 = if ASKED == 1 { 2 } else { 1 };
    const NAMES: [&str; 2] =
        if ASKED == 1 { ["active", "warm-up"] } else { ["active 1", "active 2"] };

    pub(super) fn new(shape: &Shape) -> Result<Self> {
        Ok(Self { buffers: Generations::new(shape.flat, 2)?, capacity: shape.capacity })
    }

    #[inline]
    pub(super) fn contains(&self, digest: Digest) -> bool {
        (Self::ACTIVE..2).any(|i| self.buffers.contains(i, digest))
    }

    /// Lets the filters take turns when the active one is full, or the one that warms up is half full.
    #[inline]
    pub(super) fn turn(&mut self) {
        // An old file may hold a filter that warmed up until it was full: it cannot be the active one.
        while self.is_due() {
            self.buffers.shift();
        }
    }

    fn is_due(&self) -> bool {
        let (active, other) = self.counts();
        let warm = ASKED == 1 && other >= self.capacity.div_ceil(2);
        warm || active >= self.capacity
    }

    /// The distinct keys that the active filter and the other one have counted.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.buffers.items(Self::ACTIVE), self.buffers.items(Self::OTHER))
    }

    fn check(&self) -> Result<()> {
        self.buffers.check_len(|len| len == 2)?;
        if self.capacity >= Self::LEAST && self.counts().0 < self.capacity {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: an active filter that should have been swapped"))
    }
}

/// The rate of two filters, if a key may pass either.
pub fn overall_rate(young: f64, old: f64) -> f64 {
    young + old - young * old
}

impl<const ASKED: usize> Part for Buffers<ASKED> {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::of(self.contains(digest))
    }

    fn fill(&self) -> f64 {
        self.buffers.fill()
    }

    /// Members are the keys that are always found.
    fn rates(&self) -> Rates {
        let each = (Self::ACTIVE..2).map(|i| self.buffers.fpr(i));
        Rates::one_sided(each.fold(0.0, overall_rate))
    }

    fn describe(&self) -> Vec<Fact> {
        let ([first, second], (active, other)) = (Self::NAMES, self.counts());
        let mut facts = self.buffers.describe();
        facts.extend([fact("capacity", self.capacity), fact(first, active), fact(second, other)]);
        facts
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        self.buffers.trace(Self::ACTIVE..2, digest)
    }
}

/// One filter's bits and probes, and the keys it takes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub(super) flat: Flat,
    pub(super) capacity: u64,
}

impl Shape {
    /// A shape made by hand for [`Buffers`] of which `ASKED` are queried.
    pub(super) fn new<const ASKED: usize>(m: u64, k: u32, capacity: u64) -> Result<Self> {
        let least = Buffers::<ASKED>::LEAST;
        if !(least..=1 << 48).contains(&capacity) {
            let message = format!("{capacity} keys per filter: at least {least}, at most 2^48");
            return Err(Error::parameter(message));
        }
        Ok(Self { flat: Flat::new(m, k)?, capacity })
    }

    /// Two filters that take `held(n, p)` keys at such a rate each, for n keys at a rate of p in all.
    pub(super) fn plan(
        request: &Request<'_>,
        held: impl Fn(u64, f64) -> (u64, f64),
    ) -> Result<Self> {
        let (flat, items) = Flat::plan_held(request, &held, |m, _| 2.0 * m)?;
        let flat = flat.checked()?;
        Ok(Self { flat, capacity: held(items.ok_or_else(no_items)?, request.fpr()).0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decaying::{ActiveActive, DoubleBuffer};
    use crate::{Filter, Hasher, Opener, to_bytes};

    /// Opens the file of a filter that is about to swap, then of some that should have.
    fn refused<F: Filter + Clone, const ASKED: usize>(
        filter: &F,
        buffers: fn(&mut F) -> &mut Buffers<ASKED>,
    ) {
        assert!(Opener::new().decode(&to_bytes(filter)).is_ok());
        let lies: [fn(&mut Buffers<ASKED>); 4] = [
            |b| b.capacity = 3,
            |b| b.capacity = 0,
            |b| b.buffers.resize(1).unwrap(),
            |b| b.buffers.resize(3).unwrap(),
        ];
        for (i, lie) in lies.into_iter().enumerate() {
            let mut liar = filter.clone();
            lie(buffers(&mut liar));
            assert!(Opener::new().decode(&to_bytes(&liar)).is_err(), "lie {i}");
        }
    }

    #[test]
    fn files_that_should_have_swapped_are_refused() {
        let mut one = DoubleBuffer::with_shape(100, 3, 4, Hasher::default()).unwrap();
        one.extend(["a", "b", "c"]);
        refused(&one, |f| &mut f.both);
        let mut two = ActiveActive::with_shape(100, 3, 4, Hasher::default()).unwrap();
        two.extend(["a", "b", "c"]);
        refused(&two, |f| &mut f.both);
    }
}

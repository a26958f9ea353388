//! The EGH filter (Kiss, Hosszu, Tapolcai, Rónyai, Rottenstreich 2018; catalogue R14; S3 §IV-D).
//!
//! No false positives at all while a finite universe of integers sends at most n_t of them. The k-th
//! "hash" of x is its remainder by the k-th prime, in a slice of that many cells:
//!
//! ```text
//!   insert 10    mod 2 → 0    mod 3 → 1     mod 5 → 0         mod 7 → 3
//!                1 0          0 1 0         1 0 0 0 0         0 0 0 1 0 0 0
//! ```
//!
//! A non-member x that passes shares each remainder with some member, so every prime divides the product
//! of the differences Π(x − y). That is not zero, and below |U|^n_t: if the primes multiply to as
//! much, it cannot be. (S3 prints n_t^|U|; |U|^n_t is right.) Beyond n_t members false positives come.
//!
//! Inside this zone the filter can even list its members, by putting remainders together again.
//! Two forms: `bits` takes keys, and drops one by listing, leaving it out and building anew;
//! `counters` removes and counts.
//!
//! Keys are integers below `universe`. Others are never members, and refused as such; there is no hash,
//! so the seed has no say.
//!
//! **Use it** when no false positive is acceptable and the members are few, from a small universe; the alternative
//! is a bit array over U. **Don't** for more than a few hundred: space grows with the square of n_t, to 106 bits
//! per key for 20 of 562 and ten thousand bits per key for a thousand of a million.

mod cells;
mod listing;
mod records;
mod slices;

use cells::{Cells, width_for};
use records::integer;
use slices::MAX_UNIVERSE;
pub use slices::Slices;

use crate::cells::Bits;
use crate::variant::prelude::*;

/// A small set of integers without false positives.
#[derive(Clone, Debug, PartialEq)]
pub struct Egh {
    head: Head,
    slices: Slices,
    cells: Cells,
}

state!(Egh { head, slices, cells });

impl Egh {
    /// A filter of the form `bits` for up to `zone` integers below `universe`.
    ///
    /// ```
    /// let mut ports = everbloom::membership::Egh::new(65_536, 20)?;
    /// ports.insert(443)?;
    /// assert!((0..65_536).all(|port| ports.contains(port) == (port == 443)));
    /// assert_eq!(ports.list()?, [443]);
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn new(universe: u64, zone: u64) -> Result<Self> {
        Self::empty(&(Slices::new(universe, zone)?, None), Head::new(Hasher::default(), BITS))
    }

    /// The same with counters, wide enough not to overflow inside the zone.
    pub fn counting(universe: u64, zone: u64) -> Result<Self> {
        let shape = (Slices::new(universe, zone)?, Some(width_for(zone)?));
        Self::empty(&shape, Head::new(Hasher::default(), COUNTERS))
    }

    /// Inserts an integer of the universe.
    pub fn insert(&mut self, x: u64) -> Result<Seen> {
        if x >= self.slices.universe {
            return Err(Error::record(format!(
                "{x} is outside the universe, which ends at {}: plan with a larger {{universe}}",
                self.slices.universe
            )));
        }
        let there = self.contains(x);
        self.slices.cells(x).for_each(|i| self.cells.put(i));
        // Inside the zone the filter knows its members, and a set takes none twice.
        if !(there && self.exact() && self.head.form == BITS) {
            self.head.count(1);
        }
        Ok(Seen::new_if(!there))
    }

    /// Whether the integer may be a member: for certain, inside the zone.
    #[inline]
    pub fn contains(&self, x: u64) -> bool {
        x < self.slices.universe && self.slices.cells(x).all(|i| self.cells.get(i) != 0)
    }

    /// Removes a member. The form `bits` can do so only inside the zone, and rebuilds itself.
    pub fn remove(&mut self, x: u64) -> Result<()> {
        let absent = || Error::new(Kind::NotDeletable, format!("{x} is not in the filter"));
        if !self.contains(x) {
            return Err(absent());
        }
        match &mut self.cells {
            Cells::Counters(counters) => {
                self.slices.cells(x).for_each(|i| counters.decrement(i));
            }
            Cells::Bits(_) => {
                let members = self.list()?;
                let others = members.into_iter().filter(|y| *y != x);
                let ones = others.flat_map(|y| self.slices.cells(y));
                self.cells = Cells::Bits(Bits::with_ones(self.slices.m(), ones));
            }
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// How often the integer was inserted, or 1 for a member of the form `bits`.
    pub fn count(&self, x: u64) -> u64 {
        if x >= self.slices.universe {
            return 0;
        }
        self.slices.cells(x).map(|i| self.cells.get(i)).min().unwrap_or(0)
    }

    /// Whether so few members are inside that none of the others passes.
    pub fn exact(&self) -> bool {
        self.head.items <= self.slices.zone
    }

    /// The primes and what they promise.
    pub fn slices(&self) -> &Slices {
        &self.slices
    }

    fn check(&self) -> Result<()> {
        if self.cells.len() == self.slices.m() && self.cells.form() == self.head.form {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: the cells do not fit the slices or the form"))
    }
}

impl Plan for Egh {
    /// The slices, and bits per counter where there are counters.
    type Shape = (Slices, Option<u32>);

    /// The items are n_t. There is no rate to choose: inside the zone it is zero.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let universe = request.whole("universe");
        let width = |n| match (request.form(), request.integer("width")) {
            (BITS, _) => Ok(None),
            (_, Some(width)) => Ok(Some(width as u32)),
            (_, None) => width_for(n).map(Some),
        };
        let bits = |n: u64, _: f64| match (n, Slices::new(universe, n), width(n)) {
            (0, ..) => 0.0,
            (_, Ok(slices), Ok(width)) => slices.m() as f64 * f64::from(width.unwrap_or(1)),
            _ => f64::INFINITY,
        };
        let (n, _) = request.items_and_rate(bits)?;
        Ok((Slices::new(universe, n)?, width(n)?))
    }

    /// Beyond the zone there is no formula: remainders of one integer are not independent, and their
    /// product of chances is more than twice too high in small universes.
    fn expect((slices, width): &Self::Shape, load: &Load) -> Option<Expect> {
        let bits = slices.m() * u64::from(width.unwrap_or(1));
        let expect = Expect::one_sided(0.0, bits, None).probing(slices.primes.len() as u64);
        (load.distinct <= slices.zone).then_some(expect)
    }
}

impl Stream for Egh {
    fn empty((slices, width): &Self::Shape, head: Head) -> Result<Self> {
        Ok(Self { head, cells: Cells::new(slices.m(), *width)?, slices: slices.clone() })
    }
}

face!(Egh: Insert, Merge, Remove, Count, List);

impl Filter for Egh {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let x = integer(record.key)?;
        let detail = match self.cells {
            Cells::Bits(_) => Detail::None,
            Cells::Counters(_) => Detail::Count(Counted::about(self.count(x))),
        };
        Ok(Answer::of(self.contains(x)).with(detail))
    }

    /// None: what remainders a set leaves depends on the set, not on chance.
    fn fill(&self) -> Option<f64> {
        None
    }

    /// Zero inside the zone; beyond it what a look at the whole universe finds, if it is small.
    fn now(&self) -> Rates {
        let (universe, items) = (self.slices.universe, self.head.items);
        let fpr = if self.exact() {
            Some(0.0)
        } else if universe <= LOOK_AT_ALL && items < universe {
            let passing = (0..universe).filter(|x| self.contains(*x)).count() as u64;
            Some(passing.saturating_sub(items) as f64 / (universe - items) as f64)
        } else {
            None
        };
        Rates { fpr, fnr: Some(0.0), undecided: None }
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.slices.m()),
            fact("k", self.slices.primes.len() as u64),
            fact("universe", self.slices.universe),
            fact("zone", self.slices.zone),
        ]
    }

    /// A cell for each prime.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let inside = integer(key).ok().filter(|x| *x < self.slices.universe);
        let cells: Vec<u64> = inside.iter().flat_map(|x| self.slices.cells(*x)).collect();
        touched(&cells, |i| self.cells.get(i))
    }
}

const BITS: &str = "bits";
const COUNTERS: &str = "counters";
/// The largest universe that is looked at integer by integer.
const LOOK_AT_ALL: u64 = 1 << 24;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Egh>(Facts {
    id: 24,
    slug: "egh",
    entry: "R14",
    question: "Is it in the set, without any false positive, in a known universe?",
    name: "EGH filter: false-positive free zone",
    paper: "S. Z. Kiss, É. Hosszu, J. Tapolcai, L. Rónyai, O. Rottenstreich, Bloom filter with a false positive free zone, INFOCOM 2018",
    family: "membership",
    needs: &["membership", "delete", "exact"],
    input: Input::of(KeyKind::Integer),
    meaning: "items are the members up to which there are no false positives; the rate is zero there",
    forms: &[
        Form::exact(BITS, &[Ability::Insert, Ability::Remove, Ability::Merge, Ability::List]),
        Form::exact_while(
            COUNTERS,
            &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge, Ability::List],
            "only keys that were inserted are removed",
        ),
    ],
    params: &[
        Param::integer("universe", 2, MAX_UNIVERSE, "keys are integers below this")
            .or(Preset::Integer(1 << 20)),
        Param::integer("width", 1, 16, "counters: bits each"),
    ],
    reach: 1000,
    ..Facts::FILTER
});

//! The dynamic count filter, DCF (Aguilar-Saborit, Trancoso, Muntés-Mulero, Larriba-Pey 2006; catalogue C4;
//! S4).
//!
//! A counting filter in two vectors: m counters of x bits, and m overflow counters of y bits, where y is
//! no more than the largest counter needs. A counter is both together, OF·2^x + C:
//!
//! ```text
//!   C    x = 2   3 0 1 2 0 …        a key that comes often carries into the overflow vector; when OF needs
//!   OF   y = 3   0 0 5 0 1 …        a bit more, all of OF is rebuilt one bit wider, and one bit narrower
//!                ↑ 3   ↑ 5·4 + 1    when those who needed it are gone
//! ```
//!
//! Every counter is at the same place in both vectors, so that reading one is two accesses, and none ever
//! overflows. Only a change of y costs more, O(m) for all counters at once (S4 says that every update does).
//! A vector becomes narrower only at a quarter of its range, so that keys that come and go at a power of
//! two do not rebuild it each time.
//!
//! **Use it** where keys come often and about equally often, and must be counted exactly and fast. **Don't**
//! where a single key is hot: it alone widens all m counters. `spectral` gives each counter its own bits.

use crate::cells::Packed;
use crate::parts::tally::{self, Tally};
use crate::probe::{Coincide, Probe};
use crate::state::MAX_ITEMS;
use crate::theory::counting::expected_saturated;
use crate::variant::prelude::*;

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
    fn new(m: u64, x: u32) -> Self {
        Self { base: Packed::new(m, x), overflow: None, high: 0, rebuilds: 0 }
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

impl Tally for Vectors {
    fn get(&self, i: u64) -> u64 {
        let (carry, low) = self.parts(i);
        carry << self.x() | low
    }

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
}

/// A multiset in m counters that never overflow.
///
/// ```
/// let mut words = everbloom::counting::DynamicCount::with_rate(1000, 0.01)?;
/// (0..500).for_each(|_| { words.insert("the"); });
/// assert_eq!(words.count("the"), 500);
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicCount {
    head: Head,
    probe: Probe,
    counters: Vectors,
}

state!(DynamicCount { head, probe, counters });

impl DynamicCount {
    /// A filter of `m` counters with `x` bits (1 to 16) before they overflow, and `k` probes.
    pub fn with_shape(m: u64, k: u32, x: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { flat: Flat { m: m.max(1), k: k.max(1) }, x: x.clamp(1, 16) };
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// Inserts a key, once more if it is there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        self.head.count(1);
        tally::insert(&mut self.counters, &self.probe, digest, 1)
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless every counter holds at
    /// least as much as the key would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        tally::remove(&mut self.counters, &self.probe, digest)?;
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        tally::contains(&self.counters, &self.probe, self.head.hasher.digest(key))
    }

    /// How often the key was inserted: never too low while only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        tally::count(&self.counters, &self.probe, self.head.hasher.digest(key))
    }

    /// The counters.
    pub fn counters(&self) -> &Vectors {
        &self.counters
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.counters.len())
    }

    fn used(&self) -> f64 {
        let used = self.counters.iter().filter(|c| *c > 0).count();
        used as f64 / self.counters.len() as f64
    }
}

/// The bits before a counter overflows, x = max(1, ⌊log₂(M/n)⌋) for M insertions of n distinct keys
/// (catalogue C4).
pub fn base_bits(repeats: f64) -> u32 {
    libm::log2(repeats.max(1.0)).floor().clamp(1.0, 16.0) as u32
}

/// Number of counters and probes, and bits of a counter's first part.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    x: u32,
}

impl Shape {
    /// The bits m(x + y) that a filter hardly ever exceeds, with every distinct key inserted equally often:
    /// in one of a thousand some counter is larger.
    fn bits(&self, load: &Load) -> u64 {
        let Flat { m, k } = self.flat;
        let repeats = load.items as f64 / load.distinct.max(1) as f64;
        let beyond = |y: u32| {
            // c hashes of keys that came `repeats` times each: c·repeats reaches 2^{x+y}.
            let hashes = libm::ceil(libm::exp2(f64::from(self.x + y)) / repeats.max(1.0));
            expected_saturated(m, load.distinct, k, (hashes as u64).max(1)) > 1e-3
        };
        let y = (0..63 - self.x).find(|y| !beyond(*y)).unwrap_or(63 - self.x);
        m.saturating_mul((self.x + y).into())
    }
}

impl Plan for DynamicCount {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let x = match (request.integer("x"), request.real("repeats")) {
            (Some(x), _) => x as u32,
            (None, Some(repeats)) => base_bits(repeats),
            (None, None) => UNKNOWN_X,
        };
        let repeats = request.real("repeats").unwrap_or(1.0);
        let bits = |m: f64, n: u64, k: u32| {
            if m > crate::plan::MAX_CELLS as f64 {
                return f64::INFINITY;
            }
            let flat = Flat { m: (m.ceil() as u64).max(1), k };
            let load = Load { items: (n as f64 * repeats) as u64, ..Load::items(n) };
            Shape { flat, x }.bits(&load) as f64
        };
        Ok(Shape { flat: Flat::plan_sized(request, bits)?, x })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct;
        let fill = shape.flat.fill(n);
        Some(Expect::one_sided(shape.flat.fpr(n), shape.bits(load), Some(fill)))
    }
}

impl Stream for DynamicCount {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, x } = *shape;
        Ok(Self { head, probe: Probe::over(m, k), counters: Vectors::new(m, x) })
    }
}

face!(DynamicCount: Insert, Remove, Count, Merge);
planned!(DynamicCount);

impl Filter for DynamicCount {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        Ok(Answer::of(self.contains(record.key)).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.used())
    }

    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.used(), f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.counters.len()),
            fact("k", self.probe.k()),
            fact("x", self.counters.x()),
            fact("y", self.counters.y()),
            fact("rebuilds", self.counters.rebuilds()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.counters.get(i))
    }
}

keyed!(DynamicCount: Insert, Remove, Count);

impl Merge for DynamicCount {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &DynamicCount = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        crate::error::agree("x", self.counters.x(), other.counters.x())?;
        for (i, count) in (0..).zip(other.counters.iter()).filter(|(_, count)| *count > 0) {
            self.counters.raise(i, count);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

const FORM: &str = "standard";
const X_BITS: std::ops::RangeInclusive<u32> = 1..=16;
/// x where nobody says how often keys come (catalogue part D).
const UNKNOWN_X: u32 = 2;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 53,
        slug: "dynamic-count",
        entry: "C4",
        name: "Dynamic count filter (DCF)",
        paper: "J. Aguilar-Saborit, P. Trancoso, V. Muntés-Mulero, J.-L. Larriba-Pey, Dynamic count filters, \
                SIGMOD Record 35(1), 2006",
        family: "counting",
        needs: &["membership", "delete", "count", "merge"],
        meaning: "items are distinct keys to plan for, and insertions minus removals when counted; the rate is \
                  that of false positives",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
            false_negatives: FalseNegatives::NeverWhile("only keys that were inserted are removed"),
        }],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "x",
                range: Range::Integer(1, 16),
                default: Preset::Planned,
                help: "bits of a counter before it overflows; by default from the repeats, else 2",
            },
            Param {
                name: "repeats",
                range: Range::Real(1.0, 1e15),
                default: Preset::Planned,
                help: "how often a key comes on average, to choose x",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<DynamicCount>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_vectors_do_not_fit_are_refused() {
        let mut filter = DynamicCount::with_shape(50, 3, 2, Hasher::default()).unwrap();
        (0..40).for_each(|_| {
            filter.insert("a");
        });
        let back: DynamicCount = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let whole = &filter.counters;
        for counters in [
            Vectors { high: whole.high + 1, ..whole.clone() },
            Vectors { high: 0, ..whole.clone() },
            Vectors { overflow: None, ..whole.clone() },
            Vectors { overflow: Some(Packed::new(49, 4)), high: 0, ..whole.clone() },
            Vectors { overflow: Some(Packed::new(50, 62)), high: 0, ..whole.clone() },
            Vectors { base: Packed::new(50, 17), ..whole.clone() },
            Vectors { base: Packed::new(49, 2), overflow: None, high: 0, rebuilds: 0 },
        ] {
            let alien = DynamicCount { counters, ..filter.clone() };
            assert!(Opener::new().decode(&to_bytes(&alien)).is_err(), "{:?}", alien.counters);
        }
    }
}

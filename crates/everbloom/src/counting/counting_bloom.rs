//! The counting Bloom filter (Fan, Cao, Almeida, Broder 1998; catalogue C1; S0 §III-A, S1 §2.5, S4).
//!
//! The standard filter with a small counter where it has a bit: inserting increments the k counters,
//! removing decrements them, and a key may be a member while all of its counters are above zero.
//!
//! ```text
//!   0 1 0 2 0 1 1 0     insert x: +1 +1 +1     0 1 0 3 0 2 2 0
//!         ↑   ↑ ↑       remove x: −1 −1 −1     0 1 0 2 0 1 1 0
//! ```
//!
//! Four bits are enough: at the best k a counter reaches 16 with probability below 1.37·10⁻¹⁵ (S1 §2.5).
//! One that does reach the maximum sticks there, since its count is lost; that costs false positives,
//! never false negatives.
//!
//! Hashes of one key that meet in one cell count once each, in insertion, removal and counting alike.
//!
//! **Use it** when keys come and go and the caller knows what is inside: only keys that were inserted
//! may be removed. Removing a key that was not, but that the filter takes for a member, takes counts
//! from others and makes them false negatives; nothing in the filter can tell. **Don't** when keys only
//! come (`bloom` is a quarter of the size) or when multiplicities must be exact.

use crate::cells::{Bits, Counters};
use crate::parts::tally::{self, Tally};
use crate::probe::{Coincide, Probe};
use crate::variant::prelude::*;

/// A multiset in m saturating counters with k probes per key.
///
/// ```
/// let mut open = everbloom::counting::Counting::with_rate(1000, 0.01)?;
/// open.insert("file");
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// assert!(open.remove("file").is_err());
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    head: Head,
    probe: Probe,
    counters: Counters,
}

state!(Counting { head, probe, counters });

impl Counting {
    /// A filter of `m` counters of `width` bits (1 to 16) and `k` probes.
    pub fn with_shape(m: u64, k: u32, width: u32, hasher: Hasher) -> Result<Self> {
        let shape = Shape { flat: Flat { m: m.max(1), k: k.max(1) }, width: width.clamp(1, 16) };
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    fn digest<K: Key + ?Sized>(&self, key: &K) -> Digest {
        self.head.hasher.digest(key)
    }

    /// Inserts a key, once more if it is there.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.digest(key);
        self.head.count(1);
        tally::insert(&mut self.counters, &self.probe, digest, 1)
    }

    /// Removes a key that was inserted. Refused, with nothing changed, unless every counter holds at
    /// least as much as the key would take; a saturated counter keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.digest(key);
        tally::remove(&mut self.counters, &self.probe, digest)?;
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        tally::contains(&self.counters, &self.probe, self.digest(key))
    }

    /// How often the key was inserted: never too low while no counter saturates and only members are
    /// removed. Cells that several of the key's hashes share are divided by their number.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        tally::count(&self.counters, &self.probe, self.digest(key))
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The bits of the standard filter over the same keys: one where a counter is above zero.
    pub fn to_bits(&self) -> Bits {
        let mut bits = Bits::new(self.counters.len());
        let set = self.counters.iter().enumerate().filter(|(_, c)| *c != 0);
        set.for_each(|(i, _)| {
            bits.set(i as u64);
        });
        bits
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.counters.len())
    }

    fn used(&self) -> f64 {
        self.counters.nonzero() as f64 / self.counters.len() as f64
    }
}

impl Tally for Counters {
    #[inline]
    fn get(&self, i: u64) -> u64 {
        Counters::get(self, i)
    }

    #[inline]
    fn raise(&mut self, i: u64, by: u64) -> bool {
        let new = Counters::get(self, i) == 0;
        Counters::raise(self, i, by);
        new
    }

    fn lower(&mut self, i: u64, by: u64) {
        Counters::lower(self, i, by);
    }
}

/// Number of counters and probes, and bits per counter.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    width: u32,
}

impl Plan for Counting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let width = request.integer("width").unwrap_or(4);
        Ok(Shape { flat: Flat::plan(request, width)?, width: width as u32 })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, width } = shape;
        let n = load.distinct;
        let bits = flat.m * u64::from(*width);
        Some(Expect::one_sided(flat.fpr(n), bits, Some(flat.fill(n))))
    }
}

impl Stream for Counting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, width } = *shape;
        Ok(Self { head, probe: Probe::over(m, k), counters: Counters::new(m, width) })
    }
}

face!(Counting: Insert, Remove, Count, Merge);
planned!(Counting);

impl Filter for Counting {
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
            fact("width", self.counters.width()),
            fact("saturated", self.counters.saturated()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.counters.get(i))
    }
}

keyed!(Counting: Insert, Remove, Count);

impl Merge for Counting {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &Counting = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        crate::error::agree("counter width", self.counters.width(), other.counters.width())?;
        self.counters.add(&other.counters);
        self.head.count(other.head.items);
        Ok(())
    }
}

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 4,
        slug: "counting",
        entry: "C1",
        name: "Counting Bloom filter",
        paper: "L. Fan, P. Cao, J. Almeida, A. Broder, Summary cache, SIGCOMM 1998 and IEEE/ACM ToN 8(3), 2000",
        family: "counting",
        needs: &["membership", "delete", "count", "merge"],
        meaning: "items are insertions minus removals, the rate is that of false positives",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Remove, Ability::Count, Ability::Merge],
            false_negatives: FalseNegatives::NeverWhile("only keys that were inserted are removed"),
        }],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "width",
                range: Range::Integer(1, 16),
                default: Preset::Integer(4),
                help: "bits per counter",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<Counting>(),
};

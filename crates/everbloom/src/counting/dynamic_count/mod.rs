//! The dynamic count filter, DCF (Aguilar-Saborit, Trancoso, Muntés-Mulero, Larriba-Pey 2006; catalogue C4;
//! S4).
//!
//! A counting filter in two vectors: m counters of x bits, and m overflow counters of y bits, where y is
//! no more than the largest counter needs. A counter is both together, OF·2^x + C:
//!
//! ```text
//!   C    x = 2   3 0 1 2 0 …        a frequent key carries into the overflow vector; when OF needs
//!   OF   y = 3   0 0 5 0 1 …        a bit more, all of OF is rebuilt one bit wider, and one bit narrower
//!                ↑ 3   ↑ 5·4 + 1    when the large counts are gone
//! ```
//!
//! Every counter is at the same place in both vectors, so that reading one is two accesses, and none ever
//! overflows. Only a change of y costs more, O(m) for all counters at once (S4 says that every update does).
//! A vector becomes narrower only at a quarter of its range, so that keys that are inserted and removed at a power
//! of two do not rebuild it each time.
//!
//! **Use it** for keys of about equal frequency that must be counted exactly and fast. **Don't** if a single key is
//! hot: it alone widens all m counters. `spectral` gives each counter its own bits.

mod vectors;

pub use vectors::Vectors;

use crate::parts::owns;
use crate::parts::tally::Tallies;
use crate::probe::Probe;
use crate::theory::counting::expected_saturated;
use crate::variant::prelude::*;

/// A multiset in m counters that never overflow.
///
/// ```
/// let mut words = everbloom::counting::DynamicCount::with_rate(1000, 0.01)?;
/// (0..500).for_each(|_| { words.insert("the"); });
/// assert_eq!(words.count("the"), 500);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DynamicCount {
    head: Head,
    tallies: Tallies<Vectors>,
}

state!(DynamicCount { head, ..tallies });

impl DynamicCount {
    /// A filter of `m` counters with `x` bits (1 to 16) before they overflow, and `k` probes.
    pub fn with_shape(m: u64, k: u32, x: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("x", x))
    }

    /// The counters.
    pub fn counters(&self) -> &Vectors {
        &self.tallies.cells
    }

    /// Inserts a key, again if already present.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        self.head.count_one();
        Seen::new_if(self.tallies.insert(digest))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.tallies.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if one of its counters is lower than the removal
    /// would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.tallies.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted: never too low while only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.tallies.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        self.tallies.check_flat()
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
        Some(shape.flat.expect(load, shape.bits(load)))
    }
}

impl Stream for DynamicCount {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, x } = *shape;
        let cells = Vectors::new(m, x)?;
        Ok(Self { head, tallies: Tallies { probe: Probe::over(m, k), cells } })
    }
}

face!(DynamicCount: Insert, Remove, Count, Merge);
planned!(DynamicCount);
owns!(DynamicCount { tallies: Tallies<Vectors> });
keyed!(DynamicCount: Insert, Remove);

impl Count for DynamicCount {
    fn count(&self, key: &[u8]) -> Counted {
        self.tallies.count(self.head.hasher.digest(key))
    }
}

by_part!(DynamicCount: tallies);

/// x where it is not known how often keys are inserted (catalogue part D).
const UNKNOWN_X: u32 = 2;

/// The list entry.
pub static VARIANT: Variant = Variant::of::<DynamicCount>(Facts {
    id: 53,
    slug: "dynamic-count",
    entry: "C4",
    question: "How often was it added, without a limit and with constant-time access?",
    name: "Dynamic count filter (DCF)",
    paper: "J. Aguilar-Saborit, P. Trancoso, V. Muntés-Mulero, J.-L. Larriba-Pey, Dynamic count filters, \
            SIGMOD Record 35(1), 2006",
    family: "counting",
    needs: &["membership", "delete", "count", "merge"],
    meaning: "items are distinct keys to plan for, and insertions minus removals when counted; the rate is \
              that of false positives",
    forms: &[Form::COUNTING],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "x",
            1,
            16,
            "bits of a counter before it overflows; by default computed from the repeats, or 2",
        ),
        Param::real("repeats", 1.0, 1e15, "how often a key is inserted on average, to choose x"),
    ],
    ..Facts::FILTER
});

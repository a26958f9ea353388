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
//! **Use it** when keys are inserted and removed and the caller knows what is inside: only keys that were inserted
//! may be removed. Removing a false positive decrements counters of other keys and turns them into false negatives;
//! the filter cannot detect it. **Don't** when keys are only inserted (`bloom` is a quarter of the size) or when
//! multiplicities must be exact.

use crate::cells::{Bits, Counters};
use crate::parts::owns;
use crate::parts::tally::Tallies;
use crate::plan::{PARAM_WIDTH, Wide};
use crate::variant::prelude::*;

/// A multiset in m saturating counters with k probes per key.
///
/// ```
/// let mut open = everbloom::Counting::with_rate(1000, 0.01)?;
/// open.insert("file");
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// assert!(open.remove("file").is_err());
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Counting {
    head: Head,
    tallies: Tallies<Counters>,
}

state!(Counting { head, ..tallies });

impl Counting {
    /// A filter of `m` counters of `width` bits (1 to 16) and `k` probes.
    pub fn with_shape(m: u64, k: u32, width: u32, hasher: Hasher) -> Result<Self> {
        empty(&Goal::of(hasher).set("m", m).set("k", k).set("width", width))
    }

    /// The counters.
    pub fn counters(&self) -> &Counters {
        &self.tallies.cells
    }

    /// The bits of the standard filter over the same keys: one where a counter is above zero.
    pub fn to_bits(&self) -> Bits {
        let set = (0..).zip(self.counters().iter()).filter(|(_, count)| *count != 0);
        Bits::with_ones(self.tallies.m(), set.map(|(i, _)| i))
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
    /// would take. A counter that is stuck keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.tallies.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted: never too low while no counter is stuck and only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.tallies.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        self.tallies.check_flat()
    }
}

impl Plan for Counting {
    type Shape = Wide;

    fn plan(request: &Request<'_>) -> Result<Wide> {
        Wide::plan(request, 0)
    }

    fn expect(shape: &Wide, load: &Load) -> Option<Expect> {
        Some(shape.expect(load, 0))
    }
}

impl Stream for Counting {
    fn empty(shape: &Wide, head: Head) -> Result<Self> {
        let cells = Counters::try_new(shape.flat.m, shape.width)?;
        Ok(Self { head, tallies: Tallies::over(shape.flat, cells) })
    }
}

face!(Counting: Insert, Remove, Count, Merge);
planned!(Counting);
owns!(Counting { tallies: Tallies<Counters> });
keyed!(Counting: Insert, Remove);

impl Count for Counting {
    fn count(&self, key: &[u8]) -> Counted {
        self.tallies.count(self.head.hasher.digest(key))
    }
}

by_part!(Counting: tallies);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Counting>(Facts {
    id: 4,
    slug: "counting",
    entry: "C1",
    question: "Is it in the set, when keys are removed again? How often was it added?",
    name: "Counting Bloom filter",
    paper: "L. Fan, P. Cao, J. Almeida, A. Broder, Summary cache, SIGCOMM 1998 and IEEE/ACM ToN 8(3), 2000",
    family: "counting",
    needs: &["membership", "delete", "count", "merge", "hostile"],
    forms: &[Form::COUNTING],
    params: &[PARAM_M, PARAM_K, PARAM_WIDTH],
    ..Facts::MULTISET
});

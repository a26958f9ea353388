//! The perfect-hashing filter: a fingerprint at a slot of its own (catalogue F6; S1 §2.2, S0 §II-C1).
//!
//! If the set is known beforehand, a minimal perfect hash sends its n keys to n slots without collision,
//! and a slot has only to tell its key from non-members: with a fingerprint φ of j bits.
//!
//! ```text
//!   members      slots, j bits each        non-member y
//!     a  ─────▶ ┌──────┐
//!     b  ──╲ ╱─▶│ φ(c) │◀────────────────── P(y): whose slot it is, the perfect hash cannot tell
//!     c  ──╱ ╲─▶│ φ(b) │                    φ(y) = φ(c)?  with probability 2^−j
//!               └──────┘
//! ```
//!
//! The rate is 2^−j whatever n is, and j = ⌈log2(1/ε)⌉ bits a key are the lower bound; on top comes the
//! perfect hash, for which log2 e = 1.44 bits a key are necessary and 2.57 are taken here ([`Mphf`]). At
//! a rate of 1/256 that makes 10.6 bits, where a Bloom filter takes 11.5; at 2^−20 it is 22.6 against 28.9.
//! (S0 has a fingerprint of 1/ε bits; it is log2(1/ε).)
//!
//! **Use it** for sets that never change, at low rates: a query reads one slot. **Don't** if keys are added or
//! removed, which needs a new build, or for rates above 2 %, where `bloom` is smaller.

use crate::cells::Packed;
use crate::filter::compared;
use crate::parts::static_set::{self, StaticSet, static_set};
use crate::plan::fingerprint::{Fingerprints, MAX_FINGERPRINT, MEANING, PARAM_FINGERPRINT};
use crate::solve::Mphf;
use crate::threads::Cores;
use crate::variant::prelude::*;

pub use crate::theory::fingerprint::{false_positives, fingerprint_bits_for};

/// A fixed set as a table of fingerprints.
///
/// ```
/// use everbloom::compact::PerfectHash;
///
/// let filter = PerfectHash::from_keys(["apple", "pear", "apple"], 0.000001)?;
/// assert!(filter.contains("pear"));
/// assert!(!filter.contains("plum"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PerfectHash {
    head: Head,
    slots: Mphf,
    fingerprints: Packed,
}

state!(PerfectHash { head, slots, fingerprints });

/// The salt of fingerprints: of the digest itself, where the perfect hash uses salted ones.
const FINGERPRINT: u64 = 1 << 32;

impl PerfectHash {
    /// The filter of these keys, with fingerprints of `fingerprint_bits` bits, 1 to 64.
    pub fn with_bits<I>(keys: I, fingerprint_bits: u32, hasher: Hasher) -> Result<Self>
    where
        I: IntoIterator<Item: Key>,
    {
        let shape = Shape { bits: Fingerprints::of(fingerprint_bits, MAX_FINGERPRINT) };
        static_set::shaped(&shape, FORM, hasher, keys)
    }

    /// The slot that the key is looked for in; `None` in an empty filter.
    pub fn slot<K: Key + ?Sized>(&self, key: &K) -> Option<u64> {
        self.slots.index(self.head.hasher.digest(key))
    }

    /// Bits per fingerprint.
    pub fn fingerprint_bits(&self) -> u32 {
        self.fingerprints.width()
    }

    /// The fingerprints, slot by slot.
    pub fn fingerprints(&self) -> &Packed {
        &self.fingerprints
    }

    fn check(&self) -> Result<()> {
        let keys = self.slots.keys();
        if self.fingerprints.len() == keys && self.head.items == keys {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not as many fingerprints as slots"))
    }
}

impl StaticSet for PerfectHash {
    type Word = Digest;

    fn assemble(shape: &Shape, head: Head, digests: Vec<Digest>, cores: Cores) -> Result<Self> {
        // Equal digests have no slots of their own. Two keys of one digest share one, and both are found.
        let (digests, items) = static_set::distinct(digests, cores);
        let (j, _) = shape.settle(items)?;
        let slots = Mphf::new(&digests)?;
        let fingerprints = static_set::fingerprints(&digests, j, FINGERPRINT, |d| slots.index(d))?;
        let head = shape.bits.head(head, items, false_positives(j));
        Ok(Self { head, slots, fingerprints })
    }

    #[inline]
    fn has(&self, digest: Digest) -> bool {
        let slot = self.slots.index(digest);
        static_set::is_at(&self.fingerprints, slot, digest.word(FINGERPRINT))
    }
}

/// What the goal says of the fingerprints; their number comes with the records.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    bits: Fingerprints,
}

impl Shape {
    /// Fingerprint bits and bits in all for `n` keys, if they fit.
    fn settle(&self, n: u64) -> Result<(u32, u64)> {
        let slots = Mphf::bits_for(n);
        let j = self.bits.settle(n, n as f64, slots as f64)?;
        Ok((j, n * u64::from(j) + slots))
    }
}

impl Plan for PerfectHash {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let bits = Fingerprints::plan(request, &PARAM_FINGERPRINT, MAX_FINGERPRINT, 1.0);
        let shape = Shape { bits };
        // What does not fit the keys that are announced is refused before they are read.
        shape.settle(request.goal_items().unwrap_or(0))?;
        Ok(shape)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (j, bits) = shape.settle(load.distinct).ok()?;
        let fpr = if load.distinct == 0 { 0.0 } else { false_positives(j) };
        Some(Expect::one_sided(fpr, bits, None))
    }
}

face!(PerfectHash: Bulk);
static_set!(PerfectHash);

impl Filter for PerfectHash {
    fn now(&self) -> Rates {
        let members = if self.head.items == 0 { 0.0 } else { 1.0 };
        Rates::one_sided(members * false_positives(self.fingerprint_bits()))
    }

    fn describe(&self) -> Vec<Fact> {
        let keys = self.slots.keys();
        vec![
            fact("slots", keys),
            fact("fingerprint bits", self.fingerprint_bits()),
            real("slot bits per key", Mphf::bits_for(keys) as f64 / keys.max(1) as f64),
            fact("attempts", self.slots.attempts()),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        compared(self.slot(key), |at| self.fingerprints.get(at), self.contains(key))
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant::of::<PerfectHash>(Facts {
    id: 31,
    slug: "perfect-hash",
    entry: "F6",
    question: "Is it in a fixed set, in few bits, with a number of its own for each key?",
    name: "Perfect-hashing filter",
    paper: "A. Broder, M. Mitzenmacher, Network applications of Bloom filters: a survey, Internet \
            Mathematics 1(4), 2004, §2.2; F. C. Botelho, R. Pagh, N. Ziviani, Simple and space-efficient \
            minimal perfect hash functions, WADS 2007",
    family: "compact",
    needs: &["membership", "static", "compact"],
    meaning: MEANING,
    forms: &[Form::exact(FORM, &[])],
    operations: &[tell!(
        PerfectHash,
        "number",
        "The number of a member, different for all members.",
        [],
        [Keys],
        |filter, given| Ok(filter
            .slot(given.record.key)
            .map_or(Detail::None, |at| Detail::Count(Counted::exactly(at))))
    )],
    params: &[PARAM_FINGERPRINT],
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_parts_differ_are_refused() {
        let good = PerfectHash::with_bits(0..100u64, 9, Hasher::default()).unwrap();
        assert_eq!(Opener::new().decode_as::<PerfectHash>(&to_bytes(&good)).unwrap(), good);
        let refused = |liar: PerfectHash| Opener::new().decode(&to_bytes(&liar)).is_err();
        let fewer = Packed::new(99, 9);
        assert!(refused(PerfectHash { fingerprints: fewer, ..good.clone() }));
        let other = PerfectHash::with_bits(0..101u64, 9, Hasher::default()).unwrap();
        assert!(refused(PerfectHash { slots: other.slots, ..good.clone() }));
        let head = Head { items: 7, ..good.head.clone() };
        assert!(refused(PerfectHash { head, ..good }));
    }
}

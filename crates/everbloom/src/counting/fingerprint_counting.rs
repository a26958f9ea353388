//! The fingerprint counting filter, FP-CBF (Pontarelli, Reviriego, Maestro 2016; catalogue R16; S3 §IV-E).
//!
//! A counting filter whose cells also hold the xor of their keys' fingerprints. Where a cell counts one,
//! that xor *is* the fingerprint of the one key in it, and a non-member with another one does not pass:
//!
//! ```text
//!   count        0   1   2   1   0        x, fingerprint 9, cells 1 and 3:
//!   fingerprint  ·   9   c   4   ·        cell 1 holds one key, with 9: passes
//!                    ↑       ↑            cell 3 holds one key, with 4: x is not there
//! ```
//!
//! An empty cell has a fingerprint of zero. A counter that reaches its maximum sticks, and its
//! fingerprint is forgotten: the cell says no more than that it is in use.
//!
//! Hashes of one key that meet in one cell count once each, in insertion and removal alike. Their
//! fingerprints cancel, but then the count is two and the fingerprint is not looked at; a count of one is always one hash
//! of one key.
//!
//! **Use it** instead of `counting`: at 40 bits per key it has a quarter of the false positives, and it still
//! counts. **Don't** for crowded filters: if hardly any cell has a count of one, the bits of the fingerprints are
//! better spent on more counters. `variable-increment` has fewer false positives in the same bits, but does not
//! count.

use crate::cells::{Counters, Mark, Marked, Xor};
use crate::parts::marks::{MarkCells, Marks};
use crate::parts::owns;
use crate::plan::PARAM_WIDTH;
use crate::probe::Probe;
use crate::theory::counting::cell_pmf;
use crate::theory::tail::poisson_pmf;
use crate::variant::prelude::*;

/// A multiset in m counters with fingerprints.
///
/// ```
/// let mut open = everbloom::counting::FingerprintCounting::with_rate(1000, 0.001)?;
/// open.insert("file");
/// open.insert("file");
/// assert_eq!(open.count("file"), 2);
/// open.remove("file")?;
/// assert!(open.contains("file"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FingerprintCounting {
    head: Head,
    marks: Marks<Marked<Xor>>,
}

state!(FingerprintCounting { head, ..marks });

impl FingerprintCounting {
    /// A filter of `m` cells and `k` probes, counters of `width` bits (1 to 16) and fingerprints of
    /// `fingerprint` bits (1 to 32).
    pub fn with_shape(
        m: u64,
        k: u32,
        width: u32,
        fingerprint: u32,
        hasher: Hasher,
    ) -> Result<Self> {
        let goal = Goal::of(hasher).set("m", m).set("k", k);
        empty(&goal.set("width", width).set("fingerprint", fingerprint))
    }

    /// The cells.
    pub fn cells(&self) -> &Marked<Xor> {
        &self.marks.cells
    }

    /// Inserts a key, again if already present.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest_usually(Self::HASH, key);
        self.head.count_one();
        Seen::new_if(self.marks.insert(digest))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.marks.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if one of its cells is empty or holds only
    /// another fingerprint. A counter that is stuck keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.marks.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }

    /// How often the key was inserted: never too low while no counter is stuck and only members are removed.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        self.marks.count(self.head.hasher.digest_usually(Self::HASH, key)).whole()
    }

    fn check(&self) -> Result<()> {
        if VARIANT.takes("fingerprint", self.cells().marks().width()) {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: fingerprints of more than 32 bits"))
    }
}

impl MarkCells for Marked<Xor> {
    const SALT: u64 = 0x16;
    const MISSING: &'static str =
        "the key is not in the filter: a cell is empty or holds another fingerprint";

    /// The key's fingerprint, in 0..2^a. (S3 prints 0..=2^a, one too many for a bits.)
    #[inline]
    fn mark(&self, salted: Digest, _j: u64) -> u64 {
        salted.h1 & self.marks().max()
    }

    #[inline]
    fn passes(&self, i: u64, fingerprint: u64) -> bool {
        match self.get(i) {
            Mark::Known { count: 0, .. } => false,
            Mark::Known { count: 1, mark } => mark == fingerprint,
            Mark::Known { .. } | Mark::Lost => true,
        }
    }

    fn put(&mut self, i: u64, fingerprint: u64) {
        Marked::put(self, i, fingerprint);
    }

    fn take(&mut self, i: u64, fingerprint: u64) -> bool {
        Marked::take(self, i, fingerprint)
    }

    fn share(&self) -> f64 {
        let (mut single, mut more) = (0u64, 0u64);
        for count in self.counts().iter() {
            // A counter of one bit is stuck at one.
            let known = count == 1 && self.counts().max() != 1;
            single += u64::from(known);
            more += u64::from(count > 0 && !known);
        }
        let alike = libm::exp2(-f64::from(self.marks().width()));
        (more as f64 + single as f64 * alike) / self.len() as f64
    }

    fn counters(&self) -> &Counters {
        self.counts()
    }

    /// Zero for a key that does not pass.
    ///
    /// The fingerprints help: were all hashes in a cell the key's own, their xor would be its fingerprint
    /// or zero; where it is not, at least one is another's. A count is then too high as rarely as a
    /// non-member passes. Cells that several of the key's hashes share are divided by their number.
    fn count(&self, hits: &[(u64, u64)]) -> Option<Counted> {
        if !hits.iter().all(|&(i, fingerprint)| self.passes(i, fingerprint)) {
            return Some(Counted::about(0));
        }
        let count = |&(i, fingerprint): &(u64, u64)| {
            let (own, stuck) = match self.get(i) {
                Mark::Lost => (self.counts().max(), true),
                Mark::Known { count, mark } => {
                    let alone = if count % 2 == 1 { fingerprint } else { 0 };
                    (count.saturating_sub(u64::from(mark != alone)), false)
                }
            };
            (own / hits.iter().filter(|hit| hit.0 == i).count() as u64, stuck)
        };
        // Of equal counts one that is not stuck comes first.
        hits.iter().map(count).min().map(|(count, stuck)| Counted::stuck_if(stuck, count))
    }

    fn agree(&self, other: &Self) -> Result<()> {
        Marked::agree(self, other)
    }

    fn add(&mut self, other: &Self) {
        Marked::add(self, other);
    }

    fn facts(&self) -> Vec<Fact> {
        vec![fact("width", self.counts().width()), fact("fingerprint", self.marks().width())]
    }
}

/// The chance that one probe of a foreign key passes, 1 − P₀ − P₁(1 − 2^−a), where P_j is the chance of j
/// hashes in a cell.
fn pass(p: impl Fn(u64) -> f64, fingerprint_bits: u32) -> f64 {
    1.0 - p(0) - p(1) * (1.0 - libm::exp2(-f64::from(fingerprint_bits)))
}

/// The rate with `n` keys in `m` cells, k probes and fingerprints of `a` bits,
/// f = (1 − P₀ − P₁(1 − 2^−a))^k (catalogue R16).
///
/// The non-member has one fingerprint for all its probes, but the keys it meets have one each, so that
/// the probes are as good as independent.
pub fn fpr(m: u64, n: u64, k: u32, a: u32) -> f64 {
    libm::pow(pass(|j| cell_pmf(m, n, k, j), a).clamp(0.0, 1.0), f64::from(k))
}

/// Number of cells and probes, and bits per counter and fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    width: u32,
    fingerprint: u32,
}

impl Plan for FingerprintCounting {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let number = |name| request.integer(name).unwrap_or(4) as u32;
        let (width, fingerprint) = (number("width"), number("fingerprint"));
        let pass = |load: f64| pass(|j| poisson_pmf(load, j), fingerprint);
        let flat = Flat::plan_for(request, u64::from(width + fingerprint), pass)?;
        Ok(Shape { flat, width, fingerprint })
    }

    /// For distinct keys: repeated ones leave fewer cells that count one than the formula says.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let Shape { flat, width, fingerprint } = *shape;
        let fpr = fpr(flat.m, load.distinct, flat.k, fingerprint);
        Some(Expect { fpr, ..flat.expect(load, flat.m * u64::from(width + fingerprint)) })
    }
}

impl Stream for FingerprintCounting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, width, fingerprint } = *shape;
        let cells = Marked::try_new(m, width, fingerprint)?;
        Ok(Self { head, marks: Marks { probe: Probe::over(m, k), cells } })
    }
}

face!(FingerprintCounting: Insert, Remove, Count, Merge);
planned!(FingerprintCounting);
owns!(FingerprintCounting { marks: Marks<Marked<Xor>> });
keyed!(FingerprintCounting: Insert, Remove);

impl Count for FingerprintCounting {
    fn count(&self, key: &[u8]) -> Counted {
        self.marks.count(self.head.hasher.digest(key))
    }
}

by_part!(FingerprintCounting: marks);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<FingerprintCounting>(Facts {
    id: 26,
    slug: "fingerprint-counting",
    entry: "R16",
    question: "Is it in the set, when keys are removed again and cells carry fingerprints?",
    name: "Fingerprint counting Bloom filter (FP-CBF)",
    paper: "S. Pontarelli, P. Reviriego, J. A. Maestro, Improving counting Bloom filter performance with fingerprints, Information Processing Letters 116(4), 2016",
    family: "counting",
    needs: &["membership", "delete", "count", "merge", "accurate"],
    forms: &[Form::COUNTING],
    params: &[
        PARAM_M,
        PARAM_K,
        PARAM_WIDTH,
        Param::integer("fingerprint", 1, 32, "bits per fingerprint").or(Preset::Integer(4)),
    ],
    ..Facts::MULTISET
});

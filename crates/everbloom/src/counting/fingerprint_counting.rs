//! The fingerprint counting filter, FP-CBF (Pontarelli, Reviriego, Maestro 2016; catalogue R16; S3 §IV-E).
//!
//! A counting filter whose cells also hold the xor of their keys' fingerprints. Where a cell counts one,
//! that xor *is* the fingerprint of the one key in it, and a stranger with another is turned away:
//!
//! ```text
//!   count        0   1   2   1   0        x, fingerprint 9, asks cells 1 and 3:
//!   fingerprint  ·   9   c   4   ·        cell 1 holds one key, with 9: passes
//!                    ↑       ↑            cell 3 holds one key, with 4: x is not there
//! ```
//!
//! An empty cell has a fingerprint of zero. A counter that reaches its maximum sticks, and its
//! fingerprint is forgotten: the cell says no more than that it is in use.
//!
//! Hashes of one key that meet in one cell count once each, in insertion and removal alike. Their
//! fingerprints cancel, but then the count is two and nobody looks; a count of one is always one hash
//! of one key.
//!
//! **Use it** in place of `counting` where keys come and go: at 40 bits a key it lets four times fewer
//! strangers pass, and it still counts. **Don't** for crowded filters: with hardly a cell that counts
//! one, the fingerprints' bits would be better spent on more counters. `variable-increment` tells more
//! from the same bits, but does not count.

use crate::cells::{Mark, Marked, Xor};
use crate::probe::{Coincide, Probe};
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
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FingerprintCounting {
    head: Head,
    probe: Probe,
    cells: Marked<Xor>,
}

state!(FingerprintCounting { head, probe, cells });

/// Salts the digest for the fingerprint, which must not depend on the cells.
const FINGERPRINT: u64 = 0x16;

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
        let shape = Shape {
            flat: Flat { m: m.max(1), k: k.max(1) },
            width: width.clamp(1, 16),
            fingerprint: fingerprint.clamp(1, MAX_FINGERPRINT),
        };
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// The key's fingerprint, in 0..2^a. (S3 prints 0..=2^a, one too many for a bits.)
    #[inline]
    fn fingerprint(&self, digest: Digest) -> u64 {
        digest.salted(FINGERPRINT).h1 & self.cells.marks().max()
    }

    /// Inserts a key, once more if it is there.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let there = self.passes(digest);
        let fingerprint = self.fingerprint(digest);
        let cells = &mut self.cells;
        self.probe.each(digest, |i| cells.put(i, fingerprint));
        self.head.count(1);
        if there { Seen::Maybe } else { Seen::New }
    }

    /// Removes a key that was inserted. Refused, with nothing changed, where a counter holds less than
    /// the key would take or an emptied cell would keep a fingerprint; what sticks keeps its value.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        let fingerprint = self.fingerprint(digest);
        let hits = self.probe.collect(digest, Coincide::PerHash);
        for (taken, &i) in hits.iter().enumerate() {
            if !self.cells.take(i, fingerprint) {
                hits[..taken].iter().for_each(|&i| self.cells.put(i, fingerprint));
                return Err(Error::new(
                    Kind::NotDeletable,
                    "the key is not in the filter: a cell is empty or holds another fingerprint",
                ));
            }
        }
        self.head.items = self.head.items.saturating_sub(1);
        Ok(())
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.passes(self.head.hasher.digest(key))
    }

    #[inline]
    fn passes(&self, digest: Digest) -> bool {
        let fingerprint = self.fingerprint(digest);
        self.probe.all(digest, |i| match self.cells.get(i) {
            Mark::Known { count: 0, .. } => false,
            Mark::Known { count: 1, mark } => mark == fingerprint,
            Mark::Known { .. } | Mark::Lost => true,
        })
    }

    /// How often the key was inserted: zero for a key that does not pass, and never too low while no
    /// counter saturates and only members are removed.
    ///
    /// The fingerprints help: were all hashes in a cell the key's own, their xor would be its fingerprint
    /// or zero; where it is not, at least one is another's. A count is then too high as rarely as a
    /// stranger passes. Cells that several of the key's hashes share are divided by their number.
    pub fn count<K: Key + ?Sized>(&self, key: &K) -> u64 {
        let digest = self.head.hasher.digest(key);
        if !self.passes(digest) {
            return 0;
        }
        let fingerprint = self.fingerprint(digest);
        let hits = self.probe.collect(digest, Coincide::PerHash);
        let count = |&i: &u64| {
            let own = match self.cells.get(i) {
                Mark::Lost => self.cells.counts().max(),
                Mark::Known { count, mark } => {
                    let alone = if count % 2 == 1 { fingerprint } else { 0 };
                    count.saturating_sub(u64::from(mark != alone))
                }
            };
            own / hits.iter().filter(|j| **j == i).count() as u64
        };
        hits.iter().map(count).min().unwrap_or(0)
    }

    /// The cells.
    pub fn cells(&self) -> &Marked<Xor> {
        &self.cells
    }

    fn check(&self) -> Result<()> {
        if self.cells.marks().width() > MAX_FINGERPRINT {
            return Err(Error::corrupt(0, "corrupt filter: fingerprints of more than 32 bits"));
        }
        self.probe.check(self.cells.len())
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
/// The stranger has one fingerprint for all its probes, but the keys it meets have one each, so that
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
        let n = load.distinct;
        let bits = flat.m * u64::from(width + fingerprint);
        let fpr = fpr(flat.m, n, flat.k, fingerprint);
        Some(Expect::one_sided(fpr, bits, Some(flat.fill(n))))
    }
}

impl Stream for FingerprintCounting {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, width, fingerprint } = *shape;
        Ok(Self { head, probe: Probe::over(m, k), cells: Marked::new(m, width, fingerprint) })
    }
}

face!(FingerprintCounting: Insert, Remove, Count, Merge);
planned!(FingerprintCounting);

impl Filter for FingerprintCounting {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        let count = self.count(record.key);
        Ok(Answer::of(self.contains(record.key)).with(Detail::Count(Counted::about(count))))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.cells.counts().nonzero() as f64 / self.cells.len() as f64)
    }

    fn now(&self) -> Rates {
        let (mut single, mut more) = (0u64, 0u64);
        for count in self.cells.counts().iter() {
            // A counter of one bit is stuck at one.
            let known = count == 1 && self.cells.counts().max() != 1;
            single += u64::from(known);
            more += u64::from(count > 0 && !known);
        }
        let alike = libm::exp2(-f64::from(self.cells.marks().width()));
        let pass = (more as f64 + single as f64 * alike) / self.cells.len() as f64;
        Rates::one_sided(libm::pow(pass, f64::from(self.probe.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.cells.len()),
            fact("k", self.probe.k()),
            fact("width", self.cells.counts().width()),
            fact("fingerprint", self.cells.marks().width()),
            fact("saturated", self.cells.counts().saturated()),
        ]
    }
}

keyed!(FingerprintCounting: Insert, Remove, Count);

impl Merge for FingerprintCounting {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &FingerprintCounting = other.as_same()?;
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        self.cells.agree(&other.cells)?;
        self.cells.add(&other.cells);
        self.head.count(other.head.items);
        Ok(())
    }
}

const FORM: &str = "standard";
const MAX_FINGERPRINT: u32 = 32;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 26,
        slug: "fingerprint-counting",
        entry: "R16",
        name: "Fingerprint counting Bloom filter (FP-CBF)",
        paper: "S. Pontarelli, P. Reviriego, J. A. Maestro, Improving counting Bloom filter performance with fingerprints, Information Processing Letters 116(4), 2016",
        family: "counting",
        needs: &["membership", "delete", "count", "merge", "accurate"],
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
            Param {
                name: "fingerprint",
                range: Range::Integer(1, MAX_FINGERPRINT as u64),
                default: Preset::Integer(4),
                help: "bits per fingerprint",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<FingerprintCounting>(),
};

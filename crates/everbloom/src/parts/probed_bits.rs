//! Bits, and where a key's bits are among them: a filter without its head.
//!
//! What filters of bits do differently is told by their [`Probes`]: which bits are a key's, how likely the bits
//! there are let a non-member pass, how many keys they speak of. The rest is the same for all of them.

use super::{BitsPart, KeyPart, SetPart};
use crate::cells::{Bits, Pairing};
use crate::error::{Error, Result};
use crate::filter::{Answer, Fact, LentCells, Part, Rates, Touched, touched};
use crate::hash::Digest;
use crate::probe::Indices;
use crate::state::{Decoder, Encoder, Inline, State};

/// Which bits are a key's, and what the bits say.
pub(crate) trait Probes: Clone + Inline {
    /// Number of bits.
    fn m(&self) -> u64;

    /// Whether `f` holds for every bit of a key; stops at the first for which it does not.
    fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool;

    /// P(a non-member passes), from the bits that are set.
    fn fpr(&self, bits: &Bits) -> f64;

    /// The shape, in a few facts.
    fn describe(&self) -> Vec<Fact>;

    /// Calls `f` with every bit of a key, coinciding ones included.
    #[inline]
    fn each(&self, digest: Digest, mut f: impl FnMut(u64)) {
        self.all(digest, |i| {
            f(i);
            true
        });
    }

    /// Sets the bits of a key; true if one was zero.
    #[inline]
    fn set(&self, bits: &mut Bits, digest: Digest) -> bool {
        let mut new = false;
        self.each(digest, |i| new |= bits.set(i));
        new
    }

    /// Whether all bits of a key are set.
    #[inline]
    fn has(&self, bits: &Bits, digest: Digest) -> bool {
        self.all(digest, |i| bits.get(i))
    }

    /// [`Probes::set`] for many keys.
    fn set_many(&self, bits: &mut Bits, digests: &[Digest]) {
        digests.iter().for_each(|digest| {
            self.set(bits, *digest);
        });
    }

    /// [`Probes::has`] for many keys.
    fn has_many(&self, bits: &Bits, digests: &[Digest], found: &mut [bool]) {
        for (digest, found) in digests.iter().zip(found) {
            *found = self.has(bits, *digest);
        }
    }

    /// Lends the bits to several threads; `None` where a key's bits depend on those that are set, or nobody has
    /// needed it.
    fn lend<'a>(&self, _bits: &'a mut Bits) -> Option<Box<dyn LentCells + 'a>> {
        None
    }

    /// Refuses probes that cannot be those of so many bits.
    fn check(&self, bits: u64) -> Result<()> {
        let m = self.m();
        if m == bits {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: probes into {m} of {bits} bits")))
    }

    /// Refuses probes that would send one digest to different bits.
    fn agree(&self, _other: &Self) -> Result<()> {
        Err(Error::unsupported("filters of this variant cannot be combined"))
    }

    /// The number of distinct keys, estimated from the bits; `None` where they cannot tell.
    fn cardinality(&self, _bits: &Bits) -> Option<f64> {
        None
    }

    /// The number of distinct keys in both of two filters: |A| + |B| − |A ∪ B|, unless the bits tell better.
    fn intersection_size(&self, a: &Bits, b: &Bits) -> Option<f64> {
        let mut both = a.clone();
        both.union(b);
        Some(self.cardinality(a)? + self.cardinality(b)? - self.cardinality(&both)?)
    }

    /// The probes into half the bits, and which bits become one.
    fn fold(&self) -> Result<(Self, Pairing)> {
        Err(Error::unsupported("filters of this variant cannot be folded"))
    }
}

/// Bits with probes into them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProbedBits<P> {
    pub(crate) probe: P,
    pub(crate) bits: Bits,
}

impl<P: Probes> ProbedBits<P> {
    /// Zero bits for these probes.
    pub(crate) fn probed(probe: P) -> Result<Self> {
        Ok(Self { bits: Bits::try_new(probe.m())?, probe })
    }

    /// Number of bits.
    pub(crate) fn m(&self) -> u64 {
        self.bits.len()
    }

    /// P(a non-member passes), from the real fill.
    pub(crate) fn fpr(&self) -> f64 {
        self.probe.fpr(&self.bits)
    }
}

impl<P: Probes> Inline for ProbedBits<P> {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.probe.save_fields(out);
        self.bits.save("bits", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let (probe, bits) = (P::load_fields(src)?, Bits::load("bits", src)?);
        probe.check(bits.len())?;
        Ok(Self { probe, bits })
    }
}

impl<P: Probes> Part for ProbedBits<P> {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::of(self.contains(digest))
    }

    fn fill(&self) -> f64 {
        self.bits.fill()
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(self.fpr())
    }

    fn describe(&self) -> Vec<Fact> {
        self.probe.describe()
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        let mut indices = Indices::new();
        self.probe.each(digest, |i| indices.push(i));
        touched(&indices, |i| self.bits.get(i).into())
    }
}

impl<P: Probes> KeyPart for ProbedBits<P> {
    #[inline]
    fn insert(&mut self, digest: Digest) -> bool {
        self.probe.set(&mut self.bits, digest)
    }

    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.probe.has(&self.bits, digest)
    }

    fn insert_all(&mut self, digests: &[Digest]) {
        self.probe.set_many(&mut self.bits, digests);
    }

    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        self.probe.has_many(&self.bits, digests, found);
    }

    fn lend(&mut self) -> Option<Box<dyn LentCells + '_>> {
        self.probe.lend(&mut self.bits)
    }

    fn clear(&mut self) {
        self.bits.clear();
    }
}

impl<P: Probes> SetPart for ProbedBits<P> {
    fn agree(&self, other: &Self) -> Result<()> {
        self.probe.agree(&other.probe)
    }

    fn union(&mut self, other: &Self) {
        self.bits.union(&other.bits);
    }

    fn intersect(&mut self, other: &Self) {
        self.bits.intersect(&other.bits);
    }

    fn fold(&self) -> Result<Self> {
        let (probe, pairing) = self.probe.fold()?;
        Ok(Self { probe, bits: self.bits.fold(pairing) })
    }

    fn cardinality(&self) -> Option<f64> {
        self.probe.cardinality(&self.bits)
    }

    fn intersection_size(&self, other: &Self) -> Option<f64> {
        self.probe.intersection_size(&self.bits, &other.bits)
    }
}

impl<P: Probes> BitsPart for ProbedBits<P> {
    fn bits_mut(&mut self) -> &mut Bits {
        &mut self.bits
    }
}

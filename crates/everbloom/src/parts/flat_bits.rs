//! Bits, with k probes per key that range over all of them: the standard filter without a head.
//!
//! It is a whole filter's part (`bloom`), or a standard filter inside another one: the main filter that is
//! checked, or the one that checks it. Parts of one filter are handed digests under different salts, so that
//! no two look at the same places of a key: parts that shared their hash functions would share their mistakes.

use super::{KeyPart, SetPart};
use crate::cells::Bits;
use crate::error::Result;
use crate::filter::{Answer, Fact, Part, Rates, Touched, fact, text, touched};
use crate::hash::Digest;
use crate::plan::Flat;
use crate::probe::{Coincide, Probe, bulk};
use crate::state::{Decoder, Encoder, Inline, State, state};
use crate::theory::bloom as theory;

/// m bits with k probes per digest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlatBits {
    pub(crate) probe: Probe,
    pub(crate) bits: Bits,
}

state!(inline FlatBits { probe, bits });

/// Inside another filter it is a group of its own, with the probes that [`FlatBits::new`] chooses.
impl State for FlatBits {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| self.save_fields(out));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let part = Self::load_fields(src)?;
            if part.probe == Probe::over(part.m(), part.k()) {
                return Ok(part);
            }
            Err(src.corrupt("a part has a probe scheme that is not its own"))
        })
    }
}

impl FlatBits {
    /// Bits for the best probes of that range.
    pub(crate) fn new(flat: Flat) -> Result<Self> {
        Self::probed(Probe::over(flat.m, flat.k))
    }

    /// Bits for these probes.
    pub(crate) fn probed(probe: Probe) -> Result<Self> {
        Ok(Self { bits: Bits::try_new(probe.m())?, probe })
    }

    pub(crate) fn m(&self) -> u64 {
        self.bits.len()
    }

    pub(crate) fn k(&self) -> u32 {
        self.probe.k()
    }

    /// P(a non-member passes), from the real fill.
    pub(crate) fn fpr(&self) -> f64 {
        libm::pow(self.fill(), f64::from(self.k()))
    }

    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.bits.len())
    }
}

impl Part for FlatBits {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::of(self.contains(digest))
    }

    fn fill(&self) -> f64 {
        self.bits.ones() as f64 / self.m() as f64
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(self.fpr())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.m()), fact("k", self.k()), text("scheme", self.probe.scheme().name())]
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        touched(&self.probe.collect(digest, Coincide::PerHash), |i| self.bits.get(i).into())
    }
}

impl KeyPart for FlatBits {
    #[inline]
    fn insert(&mut self, digest: Digest) -> bool {
        let mut new = false;
        self.probe.each(digest, |i| new |= self.bits.set(i));
        new
    }

    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.probe.all(digest, |i| self.bits.get(i))
    }

    fn insert_all(&mut self, digests: &[Digest]) {
        bulk::set_all(&mut self.bits, &self.probe, digests);
    }

    fn contains_all(&self, digests: &[Digest], found: &mut [bool]) {
        bulk::test_all(&self.bits, &self.probe, digests, found);
    }

    fn clear(&mut self) {
        self.bits.clear();
    }
}

impl SetPart for FlatBits {
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
        theory::cardinality(self.bits.zeros(), self.m(), self.k())
    }

    /// From the zeros of both and of their intersection (S1 §2.4).
    fn intersection_size(&self, other: &Self) -> Option<f64> {
        let (a, b) = (self.bits.zeros(), other.bits.zeros());
        let both = self.m() - self.bits.ones_in_both(&other.bits);
        theory::intersection_size(a, b, both, self.m(), self.k())
    }
}

//! Bits, with k probes per key that range over all of them: the standard filter without a head.
//!
//! It is a whole filter's part (`bloom`), or a standard filter inside another one: the main filter that is
//! checked, or the one that checks it. Parts of one filter are handed digests under different salts, so that
//! no two look at the same places of a key: parts that shared their hash functions would share their mistakes.

use super::lent::{Copies, Regions, Scattered, copies_are_small};
use super::probed_bits::{ProbedBits, Probes};
use crate::cells::{Bits, Pairing};
use crate::error::Result;
use crate::filter::{Fact, LentCells, fact, text};
use crate::hash::Digest;
use crate::plan::Flat;
use crate::probe::{Probe, bulk, scattered};
use crate::state::{Decoder, Encoder, Inline, State, state};
use crate::theory::bloom as theory;

/// m bits with k probes per digest.
pub(crate) type FlatBits = ProbedBits<Probe>;

state!(inline Probe as probe);

/// Inside another filter it is a group of its own, with the probes that [`FlatBits::new`] chooses.
impl State for FlatBits {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| self.save_fields(out));
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let part = Self::load_fields(src)?;
            if part.probe.is_planned() {
                return Ok(part);
            }
            Err(src.corrupt("a part has the wrong probe scheme"))
        })
    }
}

impl FlatBits {
    /// Bits for the best probes of that range.
    pub(crate) fn new(flat: Flat) -> Result<Self> {
        let Flat { m, k } = flat.checked()?;
        Self::probed(Probe::over(m, k))
    }

    /// Number of probes per key.
    pub(crate) fn k(&self) -> u32 {
        self.probe.k()
    }
}

/// The shape of probes that have a number of their own beside it.
pub(crate) fn described(probe: &Probe, own: Fact) -> Vec<Fact> {
    let mut facts = Probes::describe(probe);
    facts.insert(2, own);
    facts
}

impl Probes for Probe {
    fn m(&self) -> u64 {
        Probe::m(self)
    }

    #[inline]
    fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        Probe::all(self, digest, f)
    }

    #[inline]
    fn each(&self, digest: Digest, f: impl FnMut(u64)) {
        Probe::each(self, digest, f);
    }

    #[inline]
    fn set(&self, bits: &mut Bits, digest: Digest) -> bool {
        scattered::set(bits.words_mut(), self, digest)
    }

    #[inline]
    fn has(&self, bits: &Bits, digest: Digest) -> bool {
        scattered::has(bits.words(), self, digest)
    }

    fn set_many(&self, bits: &mut Bits, digests: &[Digest]) {
        bulk::set_all(bits, self, digests);
    }

    fn has_many(&self, bits: &Bits, digests: &[Digest], found: &mut [bool]) {
        bulk::test_all(bits, self, digests, found);
    }

    fn lend<'a>(&self, bits: &'a mut Bits) -> Option<Box<dyn LentCells + 'a>> {
        if copies_are_small(bits) {
            let probe = *self;
            return Some(Box::new(Copies::new(bits, move |own, digests| {
                probe.set_many(own, digests)
            })));
        }
        Some(Box::new(Regions::new(bits.words_mut(), Scattered(*self))))
    }

    fn fpr(&self, bits: &Bits) -> f64 {
        let fill = bits.fill();
        let n = Probes::cardinality(self, bits).unwrap_or(self.m() as f64);
        (libm::pow(fill, f64::from(self.k())) + self.floor(n, fill)).min(1.0)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.m()), fact("k", self.k()), text("scheme", self.scheme().name())]
    }

    fn check(&self, bits: u64) -> Result<()> {
        self.check_flat(bits)
    }

    fn agree(&self, other: &Self) -> Result<()> {
        Probe::agree(self, other)
    }

    fn cardinality(&self, bits: &Bits) -> Option<f64> {
        theory::cardinality(bits.zeros(), self.m(), self.k())
    }

    /// From the zeros of both and of their intersection (S1 §2.4).
    fn intersection_size(&self, a: &Bits, b: &Bits) -> Option<f64> {
        let both = self.m() - a.ones_in_both(b);
        theory::intersection_size(a.zeros(), b.zeros(), both, self.m(), self.k())
    }

    fn fold(&self) -> Result<(Self, Pairing)> {
        Probe::fold(self)
    }
}

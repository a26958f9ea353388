//! A standard filter inside another filter: the main filter that is checked, or the one that checks it.
//!
//! A part has no head and hashes nothing: its owner hands it digests, salted so that no two parts look
//! at the same places of a key. Parts that shared their hash functions would share their mistakes.

use crate::cells::Bits;
use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::memory::check_room;
use crate::plan::{Flat, MAX_CELLS};
use crate::probe::{MAX_K, Probe};
use crate::state::state;
use crate::theory::bloom as theory;

/// m bits with k probes per digest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Part {
    probe: Probe,
    bits: Bits,
}

state!(Part { probe, bits });

impl Part {
    pub(crate) fn new(flat: Flat) -> Self {
        Self { probe: Probe::over(flat.m, flat.k), bits: Bits::new(flat.m) }
    }

    /// Inserts a key; true if it was certainly not there.
    #[inline]
    pub(crate) fn insert(&mut self, digest: Digest) -> bool {
        let mut new = false;
        self.probe.each(digest, |i| new |= self.bits.set(i));
        new
    }

    #[inline]
    pub(crate) fn contains(&self, digest: Digest) -> bool {
        self.probe.all(digest, |i| self.bits.get(i))
    }

    pub(crate) fn m(&self) -> u64 {
        self.bits.len()
    }

    pub(crate) fn k(&self) -> u32 {
        self.probe.k()
    }

    pub(crate) fn probe(&self) -> &Probe {
        &self.probe
    }

    pub(crate) fn bits(&self) -> &Bits {
        &self.bits
    }

    pub(crate) fn bits_mut(&mut self) -> &mut Bits {
        &mut self.bits
    }

    /// Share of ones.
    pub(crate) fn fill(&self) -> f64 {
        self.bits.ones() as f64 / self.m() as f64
    }

    /// P(a stranger passes), from the real fill.
    pub(crate) fn fpr(&self) -> f64 {
        libm::pow(self.fill(), f64::from(self.k()))
    }

    pub(crate) fn agree(&self, other: &Part) -> Result<()> {
        self.probe.agree(&other.probe)
    }

    /// The filter of both sets.
    pub(crate) fn union(&mut self, other: &Part) {
        self.bits.union(&other.bits);
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.bits.len())?;
        if self.probe == Probe::over(self.m(), self.k()) {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: a part has a probe scheme that is not its own"))
        }
    }
}

/// The least standard filter for `n` keys at rate `p`, with its best k.
pub(crate) fn flat_for(n: u64, p: f64) -> Flat {
    let m = theory::bits_for(n, p);
    Flat { m, k: theory::best_k(m, n) }
}

/// The bits of all parts; refuses shapes that cannot be, and more bits than there is room for, before
/// anything is allocated.
pub(crate) fn check_parts(parts: impl IntoIterator<Item = Flat>) -> Result<u64> {
    let mut total = 0u128;
    for Flat { m, k } in parts {
        if m == 0 || !(1..=MAX_K).contains(&k) {
            return Err(Error::parameter(format!(
                "{k} probes into {m} bits: at least one of each, and at most {MAX_K} probes"
            )));
        }
        total += u128::from(m);
    }
    match u64::try_from(total) {
        Ok(total) if total <= MAX_CELLS => check_room(total).map(|()| total),
        _ => Err(Error::parameter(format!(
            "the parts of the filter need {total} bits, more than {MAX_CELLS}: \
             ask for fewer items or a higher rate"
        ))),
    }
}

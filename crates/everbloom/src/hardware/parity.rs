//! Bits in words, with one parity bit for each: flips of the memory are noticed, and a word in which one
//! happened reads as ones until it is repaired.

use crate::cells::Bits;
use crate::error::{Error, Result, agree};
use crate::filter::{Answer, Fact, Part, Rates, Touched, fact, real, touched};
use crate::hash::Digest;
use crate::parts::{KeyPart, SetPart};
use crate::probe::{Coincide, Probe};
use crate::state::state;
use crate::theory::bloom as theory;

/// The widest word.
pub(super) const MAX_WORD: u32 = 1 << 16;

/// m bits with k probes per digest, and a parity bit for each word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParityBits {
    pub(super) probe: Probe,
    /// Bits per word; the last word may be shorter.
    word: u32,
    /// Words that were set to ones, each once, as far as they still are. (Of narrow words that are nearly
    /// full by themselves one cannot tell, and some are left out.)
    pub(super) repaired: u64,
    pub(super) bits: Bits,
    /// Whether the number of ones in each word is odd.
    parity: Bits,
}

state!(inline ParityBits { probe, word, repaired, bits, parity });

/// The share of non-members of whose k probes exactly one reads a zero, k(1 − ρ)ρ^{k−1} (catalogue I20).
pub fn retry_rate(fill: f64, k: u32) -> f64 {
    let k = f64::from(k);
    k * (1.0 - fill) * libm::pow(fill, k - 1.0)
}

impl ParityBits {
    pub(super) fn new(probe: Probe, word: u32) -> Result<Self> {
        let bits = Bits::try_new(probe.m())?;
        let parity = Bits::try_new(probe.m().div_ceil(u64::from(word)))?;
        Ok(Self { probe, word, repaired: 0, bits, parity })
    }

    pub(super) fn m(&self) -> u64 {
        self.bits.len()
    }

    pub(super) fn k(&self) -> u32 {
        self.probe.k()
    }

    /// Whether the key may be a member; words met on the way whose parity is wrong are repaired.
    pub(super) fn contains_and_repair(&mut self, digest: Digest) -> bool {
        let indices = self.probe.collect(digest, Coincide::PerHash);
        indices.into_iter().all(|i| {
            self.mend(self.word_of(i));
            self.bits.get(i)
        })
    }

    /// Flips a bit, of the filter's m or of the parity that follows them.
    pub(super) fn flip(&mut self, bit: u64) -> Result<()> {
        let (m, parity) = (self.m(), self.parity.len());
        match bit.checked_sub(m) {
            None => toggle(&mut self.bits, bit),
            Some(word) if word < parity => toggle(&mut self.parity, word),
            Some(_) => {
                return Err(Error::parameter(format!(
                    "bit {bit}: the filter has {m} bits and {parity} of parity, counted from 0"
                )));
            }
        }
        Ok(())
    }

    /// Repairs every word whose parity is wrong; returns how many there were.
    pub(super) fn scrub(&mut self) -> u64 {
        (0..self.parity.len()).map(|word| u64::from(self.mend(word))).sum()
    }

    /// How many words have the wrong parity now.
    pub(super) fn faults(&self) -> u64 {
        (0..self.parity.len()).filter(|&word| self.odd(word)).count() as u64
    }

    #[inline]
    fn word_of(&self, bit: u64) -> u64 {
        bit / u64::from(self.word)
    }

    /// The first bit of a word and its length; padding belongs to none.
    #[inline]
    fn span(&self, word: u64) -> (u64, u64) {
        let start = word * u64::from(self.word);
        (start, u64::from(self.word).min(self.m() - start))
    }

    /// Whether the parity of a word is wrong.
    #[inline]
    fn odd(&self, word: u64) -> bool {
        let (start, len) = self.span(word);
        (self.bits.ones_in(start, len) % 2 == 1) != self.parity.get(word)
    }

    /// The bit at `i` as a query sees it.
    #[inline]
    pub(super) fn reads(&self, i: u64) -> bool {
        self.bits.get(i) || self.odd(self.word_of(i))
    }

    /// Sets a word to ones if its parity is wrong, and says whether it was.
    ///
    /// A word that was ones before the flip, as far as one can tell, was repaired before and is not counted
    /// again: memory that fails in one place for ever must not use up the size estimate.
    fn mend(&mut self, word: u64) -> bool {
        let odd = self.odd(word);
        if odd {
            let (start, len) = self.span(word);
            let was_full = self.bits.ones_in(start, len) + 1 >= len;
            (start..start + len).for_each(|i| {
                self.bits.set(i);
            });
            if self.odd(word) {
                toggle(&mut self.parity, word);
            }
            self.repaired = self.repaired.saturating_add(u64::from(!was_full));
        }
        odd
    }

    /// The bits as queries see them.
    fn settled(&self) -> Bits {
        let mut scrubbed = self.clone();
        scrubbed.scrub();
        scrubbed.bits
    }

    /// Puts other bits in, with the parity they have.
    fn replace(&mut self, bits: Bits) {
        self.parity = Bits::new(bits.len().div_ceil(u64::from(self.word)));
        self.bits = bits;
        for word in 0..self.parity.len() {
            if self.odd(word) {
                self.parity.set(word);
            }
        }
    }

    /// Words of the wrong parity are no fault of the file: they flipped before it was written, and read
    /// as ones until they are repaired.
    fn check(&self) -> Result<()> {
        self.probe.check_flat(self.bits.len())?;
        let words = self.bits.len().checked_div(self.word.into()).is_some()
            && self.parity.len() == self.bits.len().div_ceil(self.word.into());
        if words && self.word <= MAX_WORD {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: not one parity bit for each word"))
    }
}

fn toggle(bits: &mut Bits, i: u64) {
    if !bits.set(i) {
        bits.reset(i);
    }
}

impl KeyPart for ParityBits {
    /// Repairs the words it meets before it writes to them.
    #[inline]
    fn insert(&mut self, digest: Digest) -> bool {
        let mut new = false;
        for i in self.probe.collect(digest, Coincide::PerHash) {
            let word = self.word_of(i);
            self.mend(word);
            if self.bits.set(i) {
                toggle(&mut self.parity, word);
                new = true;
            }
        }
        new
    }

    /// A word whose parity is wrong reads as ones.
    #[inline]
    fn contains(&self, digest: Digest) -> bool {
        self.probe.all(digest, |i| self.reads(i))
    }

    fn clear(&mut self) {
        self.bits.clear();
        self.parity.clear();
        self.repaired = 0;
    }
}

impl SetPart for ParityBits {
    fn agree(&self, other: &Self) -> Result<()> {
        self.probe.agree(&other.probe)?;
        agree("word size", self.word, other.word)
    }

    /// The parity of both is checked before it is computed anew.
    fn union(&mut self, other: &Self) {
        let faults = self.faults() + other.faults();
        let mut bits = self.settled();
        bits.union(&other.settled());
        self.replace(bits);
        self.repaired = self.repaired.saturating_add(other.repaired).saturating_add(faults);
    }

    fn intersect(&mut self, other: &Self) {
        let mut bits = self.settled();
        bits.intersect(&other.settled());
        self.replace(bits);
        // A word of ones on one side becomes the other side's word.
        self.repaired = 0;
    }

    fn fold(&self) -> Result<Self> {
        let (probe, pairing) = self.probe.fold()?;
        let bits = self.settled().fold(pairing);
        let mut half = Self { probe, ..self.clone() };
        // The pairs of bits that become one are neighbors, so a repaired word makes half a word of ones.
        half.repaired = self.repaired.saturating_add(self.faults()).div_ceil(2);
        half.replace(bits);
        Ok(half)
    }

    /// From the share of zeros in the words that were never repaired; `None` where there are none.
    fn cardinality(&self) -> Option<f64> {
        let lost = (self.repaired as f64 + self.faults() as f64) * f64::from(self.word);
        let sound = 1.0 - lost / self.m() as f64;
        if sound <= 0.0 {
            return None;
        }
        // 1 − ρ = (1 − ρ')/(1 − E·w/m), as so many zeros of all m bits.
        let zeros = ((1.0 - self.fill()) / sound).min(1.0) * self.m() as f64;
        theory::cardinality(zeros.round() as u64, self.m(), self.k())
    }

    fn intersection_size(&self, other: &Self) -> Option<f64> {
        let (a, b) = (self.settled(), other.settled());
        let both = self.m() - a.ones_in_both(&b);
        theory::intersection_size(a.zeros(), b.zeros(), both, self.m(), self.k())
    }
}

/// From the bits as queries see them: flipped words that were not repaired yet count as ones.
impl Part for ParityBits {
    fn answer(&self, digest: Digest) -> Answer {
        Answer::of(self.contains(digest))
    }

    fn fill(&self) -> f64 {
        let ones = |word: u64| {
            let (start, len) = self.span(word);
            if self.odd(word) { len } else { self.bits.ones_in(start, len) }
        };
        (0..self.parity.len()).map(ones).sum::<u64>() as f64 / self.m() as f64
    }

    fn rates(&self) -> Rates {
        Rates::one_sided(libm::pow(self.fill(), f64::from(self.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("word", self.word),
            fact("faults", self.faults()),
            fact("repaired", self.repaired),
            real("retry rate", retry_rate(self.fill(), self.k())),
        ]
    }

    fn trace(&self, digest: Digest) -> Vec<Touched> {
        touched(&self.probe.collect(digest, Coincide::PerHash), |i| self.reads(i).into())
    }
}

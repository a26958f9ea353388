//! A Bloom filter that survives flipped bits (Reviriego and others 2015, Sánchez-Macián and others 2017;
//! catalogue I20; S3 §VIII-C4, refs. 146 and 147).
//!
//! Radiation and weak cells flip bits of memory now and then. A 0 that becomes a 1 costs a few false
//! positives; a 1 that becomes a 0 makes members vanish, which a Bloom filter promises never to do. One
//! parity bit for each word of w bits tells that a flip happened, though not where, and setting the
//! whole word to ones is always safe:
//!
//! ```text
//!                word            parity
//!   written      0 1 1 0 0 1 0 0   1
//!   flipped      0 1 0 0 0 1 0 0   1     two ones, but the parity says odd: which bit was it?
//!   repaired     1 1 1 1 1 1 1 1   0     whichever: no member is missed
//! ```
//!
//! After E repairs the fill is ρ' = ρ + (E·w/m)(1 − ρ), and f' = ρ'^k: a single repair of 64 bits among 10⁴
//! raises 0.82 % to 0.86 %. Every read checks: a query takes an odd word for ones, and [`SoftError::scrub`],
//! insertions and [`SoftError::contains_and_repair`] repair it. An insertion must check *before* it writes:
//! parity computed anew over a flipped word would hide the flip for ever.
//!
//! Against errors of the logic instead of the memory, a "no" that hangs on one probe is asked for once
//! more, hashes and all ([`SoftError::ask_through`]). Of the non-members k(1 − ρ)ρ^{k−1} are asked twice. (S3
//! calls that "recompilation"; it is recomputation.)
//!
//! **Use it** where memory has no error correction of its own. **Don't** where two bits of a word may
//! flip between two reads, which one parity bit does not see: scrub often, or take narrower words.

use crate::cells::Bits;
use crate::error::agree;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, MAX_K, Probe};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A set in m bits with k probes per key and a parity bit for each word.
///
/// ```
/// let mut seen = everbloom::membership::SoftError::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// for bit in 0..seen.m() {
///     seen.flip(bit)?;
///     assert!(seen.contains("apple"));
///     seen.flip(bit)?;
/// }
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SoftError {
    head: Head,
    probe: Probe,
    /// Bits per word; the last word may be shorter.
    word: u32,
    /// Words that were set to ones, as far as they still are.
    repaired: u64,
    bits: Bits,
    /// Whether the number of ones in each word is odd.
    parity: Bits,
}

state!(SoftError { head, probe, word, repaired, bits, parity });

/// The answer to a query that is asked again before it says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Whether the key may be a member.
    pub present: bool,
    /// Whether exactly one probe read a zero at first, so that all were read again.
    pub retried: bool,
}

/// The share of ones after `repaired` words of `word` bits were set, ρ + (E·w/m)(1 − ρ) (catalogue I20).
pub fn fill_after_repairs(fill: f64, m: f64, word: f64, repaired: f64) -> f64 {
    fill + (repaired * word / m).min(1.0) * (1.0 - fill)
}

/// The share of non-members of whose k probes exactly one reads a zero, k(1 − ρ)ρ^{k−1} (catalogue I20).
pub fn retry_rate(fill: f64, k: u32) -> f64 {
    let k = f64::from(k);
    k * (1.0 - fill) * libm::pow(fill, k - 1.0)
}

impl SoftError {
    /// A filter of `m` bits in words of `word`, and `k` probes.
    pub fn with_shape(m: u64, k: u32, word: u32, hasher: Hasher) -> Result<Self> {
        let sane = (1..=MAX_CELLS).contains(&m) && (1..=MAX_K).contains(&k);
        if !sane || !(1..=MAX_WORD).contains(&word) {
            return Err(Error::parameter(format!(
                "{m} bits in words of {word}, {k} probes: there must be 1 to {MAX_CELLS} bits, \
                 1 to {MAX_WORD} in a word, and 1 to {MAX_K} probes"
            )));
        }
        Self::empty(&Shape { flat: Flat { m, k }, word }, Head::new(hasher, FORM))
    }

    /// Inserts a key, repairing the words it meets before it writes to them.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let mut new = false;
        for i in self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash) {
            let word = self.word_of(i);
            self.mend(word);
            if self.bits.set(i) {
                toggle(&mut self.parity, word);
                new = true;
            }
        }
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member; a word whose parity is wrong reads as ones.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest(key), |i| self.reads(i))
    }

    /// The same, and words met on the way whose parity is wrong are repaired.
    pub fn contains_and_repair<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        indices.into_iter().all(|i| {
            self.mend(self.word_of(i));
            self.bits.get(i)
        })
    }

    /// The answer of a circuit that may err for a moment (S3 ref. 147): if exactly one of the k bits reads
    /// zero, the hashes are computed and the bits read once more before it says no.
    pub fn ask<K: Key + ?Sized>(&self, key: &K) -> Asked {
        self.ask_through(key, |_, bit| bit)
    }

    /// [`SoftError::ask`] where `read(index, bit)` stands between memory and circuit: for injecting faults.
    pub fn ask_through<K: Key + ?Sized>(
        &self,
        key: &K,
        mut read: impl FnMut(u64, bool) -> bool,
    ) -> Asked {
        let mut zeros = || {
            let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
            indices.into_iter().filter(|&i| !read(i, self.reads(i))).count()
        };
        match zeros() {
            1 => Asked { present: zeros() == 0, retried: true },
            zeros => Asked { present: zeros == 0, retried: false },
        }
    }

    /// Flips a bit of the memory, as radiation would: bits 0 to m − 1 are the filter's, those from m on
    /// the words' parity. For injecting faults.
    pub fn flip(&mut self, bit: u64) -> Result<()> {
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
    pub fn scrub(&mut self) -> u64 {
        (0..self.parity.len()).map(|word| u64::from(self.mend(word))).sum()
    }

    /// How many words have the wrong parity now.
    pub fn faults(&self) -> u64 {
        (0..self.parity.len()).filter(|&word| self.odd(word)).count() as u64
    }

    /// Words that were set to ones by repairs.
    pub fn repaired(&self) -> u64 {
        self.repaired
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.parity.clear();
        (self.head.items, self.repaired) = (0, 0);
    }

    /// Number of bits, parity not counted.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.probe.k()
    }

    /// The bits as they are in memory, flipped ones included.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// Makes this the filter of the union of both sets. The parity of both is checked before it is
    /// computed anew.
    pub fn union(&mut self, other: &SoftError) -> Result<()> {
        self.agree(other)?;
        let faults = self.faults() + other.faults();
        let mut bits = self.settled();
        bits.union(&other.settled());
        self.replace(bits);
        self.repaired = self.repaired.saturating_add(other.repaired).saturating_add(faults);
        self.head.count(other.head.items);
        if let Some(n) = self.cardinality() {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    /// Keeps what both filters hold: every common key passes, and a few others.
    pub fn intersect(&mut self, other: &SoftError) -> Result<()> {
        let both = self.intersection_size(other)?;
        let mut bits = self.settled();
        bits.intersect(&other.settled());
        self.replace(bits);
        // A word of ones on one side becomes the other side's word.
        self.repaired = 0;
        let most = self.head.items.min(other.head.items);
        self.head.items = both.map_or(most, |n| n.max(0.0).round() as u64).min(most);
        Ok(())
    }

    /// Halves the filter: same keys, half the bits, a higher rate.
    pub fn fold(&self) -> Result<SoftError> {
        let (probe, pairing) = self.probe.fold()?;
        let bits = self.settled().fold(pairing);
        let mut half = Self { probe, ..self.clone() };
        // The pairs of bits that become one are neighbors, so a repaired word makes half a word of ones.
        half.repaired = self.repaired.saturating_add(self.faults()).div_ceil(2);
        half.replace(bits);
        Ok(half)
    }

    /// The number of distinct keys, from the share of zeros in the words that were never repaired; `None`
    /// where there are none.
    pub fn cardinality(&self) -> Option<f64> {
        let lost = (self.repaired as f64 + self.faults() as f64) * f64::from(self.word);
        let sound = 1.0 - lost / self.m() as f64;
        if sound <= 0.0 {
            return None;
        }
        // 1 − ρ = (1 − ρ')/(1 − E·w/m), as so many zeros of all m bits.
        let zeros = ((1.0 - self.share()) / sound).min(1.0) * self.m() as f64;
        theory::cardinality(zeros.round() as u64, self.m(), self.k())
    }

    /// The number of distinct keys in both filters, estimated from their zeros; `None` where one is too
    /// full to tell.
    pub fn intersection_size(&self, other: &SoftError) -> Result<Option<f64>> {
        self.agree(other)?;
        let (a, b) = (self.settled(), other.settled());
        let both = self.m() - a.ones_in_both(&b);
        Ok(theory::intersection_size(a.zeros(), b.zeros(), both, self.m(), self.k()))
    }

    fn agree(&self, other: &SoftError) -> Result<()> {
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)?;
        agree("word size", self.word, other.word)
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
    fn reads(&self, i: u64) -> bool {
        self.bits.get(i) || self.odd(self.word_of(i))
    }

    /// Sets a word to ones if its parity is wrong, and says whether it was.
    fn mend(&mut self, word: u64) -> bool {
        let odd = self.odd(word);
        if odd {
            let (start, len) = self.span(word);
            (start..start + len).for_each(|i| {
                self.bits.set(i);
            });
            if self.odd(word) {
                toggle(&mut self.parity, word);
            }
            self.repaired = self.repaired.saturating_add(1);
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

    /// The share of ones as queries see them.
    fn share(&self) -> f64 {
        let ones = |word: u64| {
            let (start, len) = self.span(word);
            if self.odd(word) { len } else { self.bits.ones_in(start, len) }
        };
        (0..self.parity.len()).map(ones).sum::<u64>() as f64 / self.m() as f64
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

/// Bits, probes and the width of words.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    word: u32,
}

impl Plan for SoftError {
    type Shape = Shape;

    /// m and k of the standard filter; parity counts towards the memory.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let word = request.integer("word").unwrap_or(64) as u32;
        let with_parity = |m: f64, _, _| m.ceil() + (m / f64::from(word)).ceil();
        Ok(Shape { flat: Flat::plan_sized(request, with_parity)?, word })
    }

    /// Of a filter in which nothing has flipped.
    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (flat, n) = (shape.flat, load.distinct);
        let bits = flat.m + flat.m.div_ceil(shape.word.into());
        Some(Expect::one_sided(flat.fpr(n), bits, Some(flat.fill(n))))
    }
}

impl Stream for SoftError {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { flat: Flat { m, k }, word } = *shape;
        let parity = Bits::new(m.div_ceil(u64::from(word)));
        Ok(Self { head, probe: Probe::over(m, k), word, repaired: 0, bits: Bits::new(m), parity })
    }
}

face!(SoftError: Insert, Merge, Estimate, Intersect, Fold);
planned!(SoftError);

impl Filter for SoftError {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.share())
    }

    /// From the bits as queries see them: flipped words that were not repaired yet count as ones.
    fn now(&self) -> Rates {
        Rates::one_sided(libm::pow(self.share(), f64::from(self.k())))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("word", self.word),
            fact("faults", self.faults()),
            fact("repaired", self.repaired),
            real("retry rate", retry_rate(self.share(), self.k())),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.reads(i).into())
    }
}

keyed!(SoftError: Insert, Union);

keyed!(SoftError: Estimate, Intersect, Fold);

const FORM: &str = "parity";
const MAX_WORD: u32 = 1 << 16;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 36,
        slug: "soft-error",
        entry: "I20",
        name: "Bloom filter protected against soft errors",
        paper: "P. Reviriego, S. Pontarelli, J. A. Maestro, M. Ottavi, A method to protect Bloom filters from soft \
                errors, DFT 2015; A. Sánchez-Macián, P. Reviriego, J. A. Maestro, S. Liu, Single event transient \
                tolerant Bloom filter implementations, IEEE Trans. Computers 66(10), 2017",
        family: "hardware",
        needs: &["membership", "merge", "estimate", "fold", "faults"],
        meaning: "items are keys, the rate is that of false positives while no bit has flipped",
        forms: &[Form {
            name: FORM,
            abilities: &[
                Ability::Insert,
                Ability::Merge,
                Ability::Intersect,
                Ability::Fold,
                Ability::Estimate,
            ],
            false_negatives: FalseNegatives::NeverWhile(
                "no two bits of a word flip between two reads of it",
            ),
        }],
        params: &[
            PARAM_M,
            PARAM_K,
            Param {
                name: "word",
                range: Range::Integer(1, MAX_WORD as u64),
                default: Preset::Integer(64),
                help: "bits per parity bit",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<SoftError>(),
};

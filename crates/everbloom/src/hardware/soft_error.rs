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
//! raises 0.82 % to 0.86 %. Every read checks: a query takes an odd word for ones, but repairs nothing, since
//! queries never write. [`SoftError::scrub`], insertions and [`SoftError::contains_and_repair`] repair it. An
//! insertion must check *before* it writes: parity computed anew over a flipped word would hide the flip for
//! ever. A second flip of the same word before it is repaired makes its parity right again, and members may
//! be missed: so scrub more often than that happens (`everbloom scrub` for files).
//!
//! Against errors of the logic instead of the memory, a "no" that hangs on one probe is computed once
//! more, hashes and all ([`SoftError::ask_through`]). Of the non-members k(1 − ρ)ρ^{k−1} are queried twice. (S3
//! calls that "recompilation"; it is recomputation.)
//!
//! **Use it** if memory has no error correction of its own. **Don't** if two bits of a word may flip between two
//! scrubs, which one parity bit cannot detect: scrub often, or use narrower words.

pub use super::parity::retry_rate;
use super::parity::{MAX_WORD, ParityBits};
use crate::cells::Bits;
use crate::parts::{methods, owns, sets};
use crate::probe::{Coincide, Probe};
use crate::variant::prelude::*;

/// A set in m bits with k probes per key and a parity bit for each word.
///
/// ```
/// let mut seen = everbloom::hardware::SoftError::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// for bit in 0..seen.m() {
///     seen.flip(bit)?;
///     assert!(seen.contains("apple"));
///     seen.flip(bit)?;
/// }
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SoftError {
    head: Head,
    part: ParityBits,
}

state!(plain SoftError { head, ..part });

/// The answer to a query that is repeated before it says no.
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

/// Repairs every word of a filter in which a bit flipped, and returns their number; `None` for a filter that cannot
/// detect it.
pub fn scrub(filter: &mut dyn Filter) -> Option<u64> {
    let any: &mut dyn std::any::Any = filter;
    any.downcast_mut::<SoftError>().map(SoftError::scrub)
}

impl SoftError {
    /// A filter of `m` bits in words of `word`, and `k` probes.
    pub fn with_shape(m: u64, k: u32, word: u32, hasher: Hasher) -> Result<Self> {
        if !(1..=MAX_WORD).contains(&word) {
            let message = format!("there must be 1 to {MAX_WORD} bits in a word");
            return Err(Error::setting("word", word, message));
        }
        Self::empty(&(Flat { m, k }.checked()?, word), Head::new(hasher, FORM))
    }

    /// Whether the key may be a member; words met on the way whose parity is wrong are repaired.
    pub fn contains_and_repair<K: Key + ?Sized>(&mut self, key: &K) -> bool {
        self.part.contains_and_repair(self.head.hasher.digest(key))
    }

    /// The answer of a circuit that may err for a moment (S3 ref. 147): if exactly one of the k bits reads
    /// zero, the hashes are computed and the bits are read again before it says no.
    pub fn ask<K: Key + ?Sized>(&self, key: &K) -> Asked {
        self.ask_through(key, |_, bit| bit)
    }

    /// [`SoftError::ask`] where `read(index, bit)` stands between memory and circuit: for injecting faults.
    pub fn ask_through<K: Key + ?Sized>(
        &self,
        key: &K,
        mut read: impl FnMut(u64, bool) -> bool,
    ) -> Asked {
        let part = &self.part;
        let mut zeros = || {
            let indices = part.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
            indices.into_iter().filter(|&i| !read(i, part.reads(i))).count()
        };
        match zeros() {
            1 => Asked { present: zeros() == 0, retried: true },
            zeros => Asked { present: zeros == 0, retried: false },
        }
    }

    /// Flips a bit of the memory, as radiation would: bits 0 to m − 1 are the filter's, those from m on
    /// the words' parity. For injecting faults.
    pub fn flip(&mut self, bit: u64) -> Result<()> {
        self.part.flip(bit)
    }

    /// Repairs every word whose parity is wrong; returns how many there were.
    pub fn scrub(&mut self) -> u64 {
        self.part.scrub()
    }

    /// How many words have the wrong parity now.
    pub fn faults(&self) -> u64 {
        self.part.faults()
    }

    /// Words that were set to ones by repairs.
    pub fn repaired(&self) -> u64 {
        self.part.repaired
    }

    /// Number of bits, parity not counted.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.part.k()
    }

    /// The bits as they are in memory, flipped ones included.
    pub fn bits(&self) -> &Bits {
        &self.part.bits
    }
}

impl Plan for SoftError {
    /// Bits, probes and the width of words.
    type Shape = (Flat, u32);

    /// m and k of the standard filter; parity counts towards the memory.
    fn plan(request: &Request<'_>) -> Result<Self::Shape> {
        let word = request.whole("word") as u32;
        let with_parity = |m: f64, _, _| m.ceil() + (m / f64::from(word)).ceil();
        Ok((Flat::plan_sized(request, with_parity)?, word))
    }

    /// Of a filter in which nothing has flipped.
    fn expect((flat, word): &Self::Shape, load: &Load) -> Option<Expect> {
        Some(flat.expect(load, flat.m + flat.m.div_ceil((*word).into())))
    }
}

impl Stream for SoftError {
    fn empty(&(Flat { m, k }, word): &Self::Shape, head: Head) -> Result<Self> {
        Ok(Self { head, part: ParityBits::new(Probe::over(m, k), word)? })
    }
}

face!(SoftError: Insert, Merge, Estimate, Intersect, Fold, Bulk, BulkInsert);
planned!(SoftError);
owns!(SoftError { part: ParityBits });
methods!(SoftError:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(SoftError: Insert);
sets!(SoftError: part);

by_part!(SoftError: part);

const FORM: &str = "parity";

/// The list entry.
pub static VARIANT: Variant = Variant::of::<SoftError>(Facts {
    id: 36,
    slug: "soft-error",
    entry: "I20",
    question: "Is it in the set, in memory whose bits may flip?",
    name: "Bloom filter protected against soft errors",
    paper: "P. Reviriego, S. Pontarelli, J. A. Maestro, M. Ottavi, A method to protect Bloom filters from soft \
            errors, DFT 2015; A. Sánchez-Macián, P. Reviriego, J. A. Maestro, S. Liu, Single event transient \
            tolerant Bloom filter implementations, IEEE Trans. Computers 66(10), 2017",
    family: "hardware",
    needs: &["membership", "merge", "estimate", "fold", "faults"],
    meaning: "items are keys, the rate is the false-positive rate while no bit has flipped",
    forms: &[Form::exact_while(
        FORM,
        Ability::OF_SETS,
        "no two bits of a word flip between two scrubs or writes of it",
    )],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer("word", 1, MAX_WORD as u64, "bits per parity bit").or(Preset::Integer(64)),
    ],
    ..Facts::FILTER
});

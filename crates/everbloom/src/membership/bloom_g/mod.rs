//! Bloom-1 and Bloom-g (Qiao, Li, Chen 2014; catalogue I5; S3 §V-B, ref. 92).
//!
//! The bits are words that memory delivers in one piece. Bloom-1 puts all k bits of a key into one word,
//! so that a query costs one access; Bloom-g spreads them over g words, k/g in each:
//!
//! ```text
//!              word 0     word 1     word 2     word 3     word 4     word 5
//!   Bloom-1  ┌──────────┬──────────┬──────────┬──────────┬──────────┬──────────┐
//!      k = 4 │          │          │ 1  1 1  1│          │          │          │   1 access
//!   Bloom-2  ├──────────┼──────────┼──────────┼──────────┼──────────┼──────────┤
//!      k = 4 │          │  1    1  │          │          │ 1      1 │          │   2 accesses
//!            └──────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
//! ```
//!
//! A word is a small filter, and crowded ones decide the rate. Over the number i of keys that met there,
//!
//! ```text
//!   f = [ Σ_i Bin(gn, i; 1/l) · f_in(w, i, k/g) ]^g
//! ```
//!
//! with f_in the exact rate of w bits, which the classic one misses by 3 to 7 % at w = 64. The best k is
//! below (m/n)·ln 2 (at 10 bits a key 5, not 7), and planning knows. The second word buys back most of
//! what the first loses: at 16 bits a key 0.41 %, 0.14 % and, for the standard filter, 0.05 %.
//!
//! Bloom-1 is a blocked filter with blocks of a word, and has its probes and formulas. Bits of a key may
//! coincide; the parameter `positions` keeps them apart, which lowers the rate by a tenth at w = 64 and
//! costs k² comparisons. The g words of a key may coincide too, and the formula knows that.
//!
//! **Use it** if memory is read in words and accesses are the cost. **Don't** behind a cache, which reads whole
//! lines: `blocked` gets 512 bits for the price of 64.

mod shape;

use shape::{BLOOM_1, BLOOM_G, MOST_G, MOST_K, positions};
pub use shape::{
    Shape, false_positives, false_positives_classic, false_positives_distinct, hash_bits,
};

use crate::cells::Bits;
use crate::error::agree;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{methods, owns, sets};
use crate::probe::{Blocked, subset};
use crate::variant::prelude::*;

/// A set in words of bits, all probes of a key in one or a few of them.
///
/// ```
/// let mut seen = everbloom::membership::BloomG::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BloomG {
    head: Head,
    part: ProbedBits<Words>,
}

state!(BloomG { head, ..part });

/// k/g bits in each of a key's g words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Words {
    /// Words per key.
    g: u32,
    /// Whether the bits of a key in one word are all different.
    distinct: u32,
    /// The probes into one word, k/g.
    probe: Blocked,
}

state!(inline Words { g, distinct, probe });

impl BloomG {
    /// A filter of this shape.
    pub fn with_shape(shape: Shape, hasher: Hasher) -> Result<Self> {
        let form = if shape.g == 1 { BLOOM_1 } else { BLOOM_G };
        Self::empty(&shape.checked()?, Head::new(hasher, form))
    }

    /// Number of bits in all words.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of probes per key, in all its words.
    pub fn k(&self) -> u32 {
        self.part.probe.shape().k
    }

    /// Words per key, which is memory accesses per query at most.
    pub fn g(&self) -> u32 {
        self.part.probe.g
    }

    /// Number of words.
    pub fn words(&self) -> u64 {
        self.part.probe.probe.blocks()
    }

    /// Bits per word.
    pub fn word(&self) -> u64 {
        self.part.probe.probe.block()
    }

    /// The bits, word after word.
    pub fn bits(&self) -> &Bits {
        &self.part.bits
    }

    fn check(&self) -> Result<()> {
        if self.g() == 1 || self.head.form != BLOOM_1 {
            return Ok(());
        }
        Err(Error::corrupt(0, "corrupt filter: form bloom-1 with more than one word per key"))
    }
}

/// The salt of places in a word, beyond those of the words.
const DISTINCT: u64 = 1 << 32;

impl Words {
    /// Whether `f` holds for the key's bits in the word that `part` of its digest points at.
    #[inline]
    fn all_in_word(&self, part: Digest, mut f: impl FnMut(u64) -> bool) -> bool {
        if self.distinct == 0 {
            return self.probe.indices(part).all(f);
        }
        let (word, start) = (self.probe.block(), self.probe.block_of(part) * self.probe.block());
        // The word comes from the plain digest, so the places in it take a salted one.
        subset(part.salted(DISTINCT), word, self.probe.k()).into_iter().all(|i| f(start + i))
    }

    fn shape(&self) -> Shape {
        let (words, word) = (self.probe.blocks(), self.probe.block());
        let k = self.probe.k().saturating_mul(self.g);
        Shape { words, word, k, g: self.g, distinct: self.distinct != 0 }
    }

    fn check(&self) -> Result<()> {
        if self.distinct > 1 || self.g.checked_mul(self.probe.k()).is_none() {
            return Err(Error::corrupt(0, "corrupt filter: impossible words"));
        }
        let checked = self.shape().checked().map(drop);
        checked.map_err(|e| Error::corrupt(0, format!("corrupt filter: {e}")))
    }
}

impl Probes for Words {
    fn m(&self) -> u64 {
        self.probe.m()
    }

    /// The g words are those of the key's own digest, then of salted ones.
    #[inline]
    fn all(&self, digest: Digest, mut f: impl FnMut(u64) -> bool) -> bool {
        let salted = |j: u32| if j == 0 { digest } else { digest.salted(u64::from(j)) };
        (0..self.g).all(|j| self.all_in_word(salted(j), &mut f))
    }

    /// The mean over the words of the chance that a part passes there, to the power g: the words of a
    /// key are drawn independently of each other.
    fn fpr(&self, bits: &Bits) -> f64 {
        let (words, word, inside) = (self.probe.blocks(), self.probe.block(), self.probe.k());
        let w = word as f64;
        let passes = |ones: f64| match self.distinct {
            0 => libm::pow(ones / w, f64::from(inside)),
            // All of k' different bits are ones: ones/w · (ones−1)/(w−1) ⋯
            _ => (0..inside).map(f64::from).map(|i| (ones - i).max(0.0) / (w - i)).product(),
        };
        let ones = |i: u64| bits.ones_in(i * word, word) as f64;
        let sum: f64 = (0..words).map(|i| passes(ones(i))).sum();
        libm::pow(sum / words as f64, f64::from(self.g))
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { words, word, k, g, distinct } = self.shape();
        vec![
            fact("m", self.probe.m()),
            fact("k", k),
            fact("words", words),
            fact("word", word),
            fact("accesses", g),
            text("positions", positions(distinct)),
            fact("hash bits", hash_bits(words, word, k, g).ceil() as u64),
        ]
    }

    fn agree(&self, other: &Self) -> Result<()> {
        let (ours, theirs) = (self.shape(), other.shape());
        agree("g", ours.g, theirs.g)?;
        agree("number of words", ours.words, theirs.words)?;
        agree("word size", ours.word, theirs.word)?;
        agree("k", ours.k, theirs.k)?;
        agree("positions", positions(ours.distinct), positions(theirs.distinct))
    }

    /// From the zeros of all words together: single words of 64 bits are often full.
    fn cardinality(&self, bits: &Bits) -> Option<f64> {
        let zeros = bits.zeros();
        // A key's part misses a given bit with probability 1 − h/l.
        let missed = libm::log1p(-self.shape().hit() / self.probe.blocks() as f64);
        let share = zeros as f64 / self.probe.m() as f64;
        (zeros > 0).then(|| libm::log(share) / (missed * f64::from(self.g)))
    }
}

shaped!(BloomG);

impl Stream for BloomG {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let probe = Blocked::new(shape.words, shape.word, shape.k / shape.g)?;
        let words = Words { g: shape.g, distinct: u32::from(shape.distinct), probe };
        Ok(Self { head, part: ProbedBits::probed(words)? })
    }
}

face!(BloomG: Insert, Merge, Bulk, BulkInsert);
planned!(BloomG);
owns!(BloomG { part: ProbedBits<Words> });
methods!(BloomG:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(BloomG: Insert);
sets!(@union BloomG: part);

by_part!(BloomG: part);

const ABILITIES: &[Ability] = &[Ability::Insert, Ability::Merge];

/// The list entry.
pub static VARIANT: Variant = Variant::of::<BloomG>(Facts {
    id: 34,
    slug: "bloom-g",
    entry: "I5",
    question: "Is it in the set, in one memory word per query, or a few?",
    name: "Bloom-1 and Bloom-g",
    paper: "Y. Qiao, T. Li, S. Chen, Fast Bloom filters and their generalization, IEEE Trans. Parallel and \
            Distributed Systems 25(1), 2014",
    family: "membership",
    needs: &["membership", "merge", "fast"],
    forms: &[Form::exact(BLOOM_1, ABILITIES), Form::exact(BLOOM_G, ABILITIES)],
    params: &[
        PARAM_M,
        Param::integer(
            "k",
            1,
            (MOST_K * MOST_G) as u64,
            "number of probes per key, a multiple of g",
        ),
        Param::integer("g", 1, MOST_G as u64, "words per key of form bloom-g, by default 2"),
        Param::integer("word", 8, 4096, "bits per word, a power of two").or(Preset::Integer(64)),
        Param::first_of(
            "positions",
            &[positions(false), positions(true)],
            "whether the bits of a key in one word may coincide",
        ),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_whose_fields_contradict_each_other_are_refused() {
        let shape = Shape { words: 10, word: 64, k: 6, g: 2, distinct: false };
        let good = BloomG::with_shape(shape, Hasher::default()).unwrap();
        let refused = |liar: BloomG| Opener::new().decode(&to_bytes(&liar)).is_err();
        assert!(!refused(good.clone()));
        let lies: [fn(&mut ProbedBits<Words>); 5] = [
            |part| part.probe.g = 0,
            |part| part.probe.g = u32::MAX,
            |part| part.probe.distinct = 2,
            |part| part.bits = Bits::new(641),
            |part| part.probe.probe = Blocked::new(10, 64, 65).unwrap(),
        ];
        for lie in lies {
            let mut liar = good.clone();
            lie(&mut liar.part);
            assert!(refused(liar));
        }
        let head = Head { form: BLOOM_1, ..good.head.clone() };
        assert!(refused(BloomG { head, ..good }));
    }
}

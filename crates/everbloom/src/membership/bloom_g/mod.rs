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
//! coincide; `--set positions=distinct` keeps them apart, which lowers the rate by a tenth at w = 64 and
//! costs k² comparisons. The g words of a key may coincide too, and the formula knows that.
//!
//! **Use it** where memory is read in words and an access is what counts. **Don't** in front of a cache,
//! which reads lines: `blocked` gets 512 bits for the price of 64.

use crate::cells::Bits;
use crate::error::agree;
use crate::plan::MAX_CELLS;
use crate::probe::{Blocked, Indices, subset};
use crate::theory::search::least_real;
use crate::theory::{blocked as theory, bloom};
use crate::variant::prelude::*;

/// A set in words of bits, all probes of a key in one or a few of them.
///
/// ```
/// let mut seen = everbloom::membership::BloomG::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BloomG {
    head: Head,
    /// Words per key.
    g: u32,
    /// Whether the bits of a key in one word are all different.
    distinct: u32,
    /// The probes into one word, k/g.
    probe: Blocked,
    bits: Bits,
}

state!(BloomG { head, g, distinct, probe, bits });

impl BloomG {
    /// A filter of this shape.
    pub fn with_shape(shape: Shape, hasher: Hasher) -> Result<Self> {
        let form = if shape.g == 1 { BLOOM_1 } else { BLOOM_G };
        Self::empty(&shape.checked()?, Head::new(hasher, form))
    }

    /// The key's bits in the word that `part` of its digest points at.
    #[inline]
    fn part(&self, part: Digest) -> Indices {
        if self.distinct == 0 {
            return self.probe.indices(part).collect();
        }
        let start = self.probe.block_of(part) * self.word();
        // The word comes from the plain digest, so the places in it take a salted one.
        let mut inside = subset(part.salted(DISTINCT), self.word(), self.probe.k());
        inside.iter_mut().for_each(|i| *i += start);
        inside
    }

    /// The digests that stand for the g words: the key's own, then salted ones.
    #[inline]
    fn parts(&self, digest: Digest) -> impl Iterator<Item = Digest> + use<> {
        let salted = move |j: u32| if j == 0 { digest } else { digest.salted(u64::from(j)) };
        (0..self.g).map(salted)
    }

    /// Inserts a key.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let mut new = false;
        for part in self.parts(self.head.hasher.digest(key)) {
            for i in self.part(part) {
                new |= self.bits.set(i);
            }
        }
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.parts(self.head.hasher.digest(key))
            .all(|part| self.part(part).into_iter().all(|i| self.bits.get(i)))
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.head.items = 0;
    }

    /// Number of bits in all words.
    pub fn m(&self) -> u64 {
        self.bits.len()
    }

    /// Number of probes per key, in all its words.
    pub fn k(&self) -> u32 {
        self.probe.k() * self.g
    }

    /// Words per key, which is memory accesses per query at most.
    pub fn g(&self) -> u32 {
        self.g
    }

    /// Number of words.
    pub fn words(&self) -> u64 {
        self.probe.blocks()
    }

    /// Bits per word.
    pub fn word(&self) -> u64 {
        self.probe.block()
    }

    /// The bits, word after word.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// Makes this the filter of the union of both sets, exactly. Items are then estimated from the
    /// zeros, since nobody knows how many keys the sets share.
    pub fn union(&mut self, other: &BloomG) -> Result<()> {
        self.head.agree(&other.head)?;
        agree("g", self.g, other.g)?;
        agree("number of words", self.words(), other.words())?;
        agree("word size", self.word(), other.word())?;
        agree("k", self.k(), other.k())?;
        agree("positions", positions(self.distinct != 0), positions(other.distinct != 0))?;
        self.bits.union(&other.bits);
        self.head.count(other.head.items);
        if let Some(n) = self.cardinality() {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    /// The number of distinct keys, from the zeros of all words together: single words of 64 bits are
    /// often full. `None` for a filter without zeros.
    pub fn cardinality(&self) -> Option<f64> {
        let zeros = self.bits.zeros();
        // A key's part misses a given bit with probability 1 − h/l.
        let missed = libm::log1p(-self.shape().hit() / self.words() as f64);
        let share = zeros as f64 / self.m() as f64;
        (zeros > 0).then(|| libm::log(share) / (missed * f64::from(self.g)))
    }

    fn shape(&self) -> Shape {
        let (words, word, k) = (self.words(), self.word(), self.k());
        Shape { words, word, k, g: self.g, distinct: self.distinct != 0 }
    }

    fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::corrupt(0, format!("corrupt filter: {what}")));
        if self.probe.m() != self.bits.len() || self.distinct > 1 {
            return wrong("words and bits do not fit each other");
        }
        if self.g != 1 && self.head.form == BLOOM_1 || self.g.checked_mul(self.probe.k()).is_none()
        {
            return wrong("the number of words per key does not fit the form");
        }
        self.shape().checked().map(drop).or_else(|e| wrong(&e.to_string()))
    }
}

/// The salt of places in a word, beyond those of the words.
const DISTINCT: u64 = 1 << 32;

/// Most probes per word, as in blocks; and words per key.
const MOST_K: u32 = 64;
const MOST_G: u32 = 16;

/// Hash bits a key takes if every bit is used once, g·log2 l + k·log2 w (S3 §V-B): beyond the digest's
/// 128 they come from re-mixed words.
pub fn hash_bits(words: u64, word: u64, k: u32, g: u32) -> f64 {
    f64::from(g) * libm::log2(words as f64) + f64::from(k) * libm::log2(word as f64)
}

/// The rate at `bits_per_item` bits per key with bits that may coincide (catalogue I5): g words that are
/// each a blocked filter with g times the keys. Exact inside the words.
pub fn false_positives(word: u64, bits_per_item: f64, k: u32, g: u32) -> f64 {
    let per_word = theory::fpr(word, bits_per_item / f64::from(g), k / g.max(1));
    libm::pow(per_word, f64::from(g))
}

/// [`false_positives`] with the classic rate inside the words, as the paper prints it.
pub fn false_positives_classic(word: u64, bits_per_item: f64, k: u32, g: u32) -> f64 {
    let per_word = theory::fpr_classic(word, bits_per_item / f64::from(g), k / g.max(1));
    libm::pow(per_word, f64::from(g))
}

/// [`false_positives`] with different bits in each word.
pub fn false_positives_distinct(word: u64, bits_per_item: f64, k: u32, g: u32) -> f64 {
    let per_word = theory::fpr_distinct(word, bits_per_item / f64::from(g), k / g.max(1));
    libm::pow(per_word, f64::from(g))
}

/// Number and size of the words, and how a key's probes lie in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of words.
    pub words: u64,
    /// Bits per word, a power of two from 8 to 4096.
    pub word: u64,
    /// Probes per key, a multiple of g.
    pub k: u32,
    /// Words per key.
    pub g: u32,
    /// Whether a key's bits in one word are all different.
    pub distinct: bool,
}

impl Shape {
    fn checked(self) -> Result<Self> {
        let Self { words, word, k, g, distinct } = self;
        if !word.is_power_of_two() || !(8..=4096).contains(&word) {
            return Err(Error::parameter(format!(
                "words of {word} bits: a word is a power of two from 8 to 4096 bits"
            )));
        }
        if !(1..=MOST_G).contains(&g) || k == 0 || !k.is_multiple_of(g) || k / g > MOST_K {
            return Err(Error::parameter(format!(
                "k = {k} bits in g = {g} words: k is a multiple of g, with 1 to {MOST_K} bits in \
                 each of 1 to {MOST_G} words"
            )));
        }
        if distinct && u64::from(k / g) > word {
            return Err(Error::parameter(format!(
                "{} different bits in a word of {word}: lower k or widen the words",
                k / g
            )));
        }
        if words == 0 || words > MAX_CELLS / word {
            return Err(Error::parameter(format!(
                "{words} words of {word} bits: there must be one at least, and no more than \
                 {MAX_CELLS} bits; change the items, the rate or the memory"
            )));
        }
        Ok(self)
    }

    fn rate(&self, bits_per_item: f64) -> f64 {
        let formula = if self.distinct { false_positives_distinct } else { false_positives };
        formula(self.word, bits_per_item, self.k, self.g)
    }

    /// The chance that a key's part hits a given bit of its word.
    fn hit(&self) -> f64 {
        let inside = f64::from(self.k / self.g);
        if self.distinct {
            inside / self.word as f64
        } else {
            bloom::fill(self.word as f64, inside)
        }
    }

    /// The same with the best k for that many bits per key.
    fn with_best_k(self, bits_per_item: f64) -> Self {
        // Whether bits may coincide hardly moves the best k, which is small.
        let inside = theory::best_k(self.word, bits_per_item / f64::from(self.g));
        let most = if self.distinct { self.word } else { MOST_K.into() };
        Self { k: self.g * inside.min(most as u32), ..self }
    }

    /// Least bits per key at which the rate is `p`, with the k it has or the best one.
    fn bits_per_item(self, p: f64, k_set: bool) -> Option<(f64, Self)> {
        let g = f64::from(self.g);
        if !k_set && !self.distinct {
            let (c, k) = theory::bits_per_item_for(self.word, libm::pow(p, 1.0 / g))?;
            return Some((c * g, Self { k: k * self.g, ..self }));
        }
        let at = |c: f64| if k_set { self } else { self.with_best_k(c) };
        let enough = |c: f64| at(c).rate(c) <= p;
        let most = 1000.0;
        // A thousandth of a bit is less than the rounding to whole words.
        enough(most).then(|| {
            let c = least_real(0.125, most, |c| enough((c * 1000.0).ceil() / 1000.0));
            let c = (c * 1000.0).ceil() / 1000.0;
            (c, at(c))
        })
    }
}

impl Plan for BloomG {
    type Shape = Shape;

    /// The least number of words with the best k or the given one, so that the rate stays below p.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let word = request.integer("word").unwrap_or(64);
        let g = match (request.form(), request.integer("g")) {
            (BLOOM_1, Some(g)) if g > 1 => {
                return Err(Error::parameter("--set g goes with --set form=bloom-g"));
            }
            (BLOOM_1, _) => 1,
            (_, g) => g.unwrap_or(2) as u32,
        };
        let k = request.integer("k").map(|k| k as u32);
        let distinct = request.choice("positions") == Some(positions(true));
        let one = Shape { words: 1, word, k: k.unwrap_or(g), g, distinct }.checked()?;
        let sized = |words: u64| match (k, request.goal_items()) {
            (Some(_), _) => Shape { words, ..one }.checked(),
            (None, Some(n)) => {
                let shape = Shape { words, ..one }.checked()?;
                Ok(shape.with_best_k((words * word) as f64 / n as f64))
            }
            (None, None) => {
                Err(Error::parameter("--set m without k needs -n, to choose the best k"))
            }
        };
        if let Some(m) = request.integer(PARAM_M.name) {
            return sized(m / word);
        }
        if let (Some(room), Some(_), None) =
            (request.goal_bits(), request.goal_items(), request.goal_fpr())
        {
            return sized(room / word);
        }
        let p = request.fpr();
        let (c, shape) = one.bits_per_item(p, k.is_some()).ok_or_else(|| {
            Error::parameter(format!(
                "a rate of {p} is out of reach of {g} words of {word} bits a key: widen them with \
                 --set word, take more with --set form=bloom-g --set g, or --kind bloom"
            ))
        })?;
        let words = |n: u64| (n as f64 * c / word as f64).ceil().max(1.0);
        let (n, _) = request.items_and_rate(|n, _| words(n) * word as f64)?;
        Shape { words: words(n) as u64, ..shape }.checked()
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, m) = (load.distinct, shape.words * shape.word);
        let fpr = if n == 0 { 0.0 } else { shape.rate(m as f64 / n as f64) };
        let [words, word, parts, inside] = [
            shape.words as f64,
            shape.word as f64,
            n as f64 * f64::from(shape.g),
            f64::from(shape.k / shape.g),
        ];
        let (mean, variance) = if shape.distinct {
            // Two bits of one word are both missed by a subset with (w−k)(w−k−1)/(w(w−1)).
            let both = 1.0 - (word - inside) * (word - inside - 1.0) / (word * (word - 1.0));
            theory::fill_of_hits(words, word, inside / word, both, parts)
        } else {
            theory::fill(words, word, inside, parts)
        };
        Some(Expect::one_sided(fpr, m, Some((mean, variance.sqrt()))))
    }
}

impl Stream for BloomG {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let probe = Blocked::new(shape.words, shape.word, shape.k / shape.g)?;
        let distinct = u32::from(shape.distinct);
        Ok(Self { head, g: shape.g, distinct, bits: Bits::new(probe.m()), probe })
    }
}

face!(BloomG: Insert, Merge);
planned!(BloomG);

impl Filter for BloomG {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.m() as f64)
    }

    /// The mean over the words of the chance that a part passes there, to the power g: the words of a
    /// key are drawn independently of each other.
    fn now(&self) -> Rates {
        let (w, inside) = (self.word() as f64, self.probe.k());
        let passes = |ones: f64| match self.distinct {
            0 => libm::pow(ones / w, f64::from(inside)),
            // All of k' different bits are ones: ones/w · (ones−1)/(w−1) ⋯
            _ => (0..inside).map(f64::from).map(|i| (ones - i).max(0.0) / (w - i)).product(),
        };
        let ones = |word: u64| self.bits.ones_in(word * self.word(), self.word()) as f64;
        let sum: f64 = (0..self.words()).map(|word| passes(ones(word))).sum();
        Rates::one_sided(libm::pow(sum / self.words() as f64, f64::from(self.g)))
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("words", self.words()),
            fact("word", self.word()),
            fact("accesses", self.g),
            text("positions", positions(self.distinct != 0)),
            fact("hash bits", hash_bits(self.words(), self.word(), self.k(), self.g).ceil() as u64),
        ]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let parts = self.parts(self.head.hasher.digest(key));
        let indices: Vec<u64> = parts.flat_map(|part| self.part(part)).collect();
        touched(&indices, |i| self.bits.get(i).into())
    }
}

keyed!(BloomG: Insert, Union);

const BLOOM_1: &str = "bloom-1";
const BLOOM_G: &str = "bloom-g";

/// The words of `--set positions`.
const fn positions(distinct: bool) -> &'static str {
    if distinct { "distinct" } else { "any" }
}

const fn form(name: &'static str) -> Form {
    Form {
        name,
        abilities: &[Ability::Insert, Ability::Merge],
        false_negatives: FalseNegatives::Never,
    }
}

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 34,
        slug: "bloom-g",
        entry: "I5",
        name: "Bloom-1 and Bloom-g",
        paper: "Y. Qiao, T. Li, S. Chen, Fast Bloom filters and their generalization, IEEE Trans. Parallel and \
                Distributed Systems 25(1), 2014",
        family: "membership",
        needs: &["membership", "merge", "fast"],
        forms: &[form(BLOOM_1), form(BLOOM_G)],
        params: &[
            PARAM_M,
            Param {
                name: "k",
                range: Range::Integer(1, (MOST_K * MOST_G) as u64),
                default: Preset::Planned,
                help: "number of probes per key, a multiple of g",
            },
            Param {
                name: "g",
                range: Range::Integer(1, MOST_G as u64),
                default: Preset::Planned,
                help: "words per key of form bloom-g, by default 2",
            },
            Param {
                name: "word",
                range: Range::Integer(8, 4096),
                default: Preset::Integer(64),
                help: "bits per word, a power of two",
            },
            Param {
                name: "positions",
                range: Range::Choice(&[positions(false), positions(true)]),
                default: Preset::Choice(positions(false)),
                help: "whether the bits of a key in one word may coincide",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<BloomG>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Shape> {
        BloomG::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn planned_words_meet_the_rate() {
        let n = 100_000;
        for (form, word, p, k) in [
            (BLOOM_1, 64, 0.05, None),
            (BLOOM_1, 512, 0.001, None),
            (BLOOM_1, 64, 0.05, Some(3)),
            (BLOOM_G, 64, 0.01, None),
            (BLOOM_G, 64, 0.001, Some(6)),
        ] {
            for positions in ["any", "distinct"] {
                let mut goal = Goal::new(n, p).set("form", form).set("word", word);
                goal = goal.set("positions", positions);
                goal = k.map_or(goal.clone(), |k| goal.set("k", k));
                let shape = plan(&goal).unwrap();
                let rate = BloomG::expect(&shape, &Load::items(n)).unwrap().fpr;
                assert!(rate <= p && rate > 0.99 * p, "{form} {word} {p} {positions}: {rate}");
                assert!(k.is_none_or(|k| k == shape.k));
            }
        }
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let goal = || Goal::new(1000, 0.01);
        for bad in [
            goal().set("word", 100),
            goal().set("g", 2),
            goal().set("form", BLOOM_G).set("k", 7),
            goal().set("k", 65),
            goal().set("word", 8).set("k", 9).set("positions", "distinct"),
            goal().set("m", 63),
            Goal::new(1000, 1e-12),
            Goal::new(u64::MAX, 0.1),
        ] {
            let error = plan(&bad).unwrap_err();
            assert_eq!(error.kind(), Kind::BadParameter, "{error}");
        }
    }

    #[test]
    fn files_whose_fields_contradict_each_other_are_refused() {
        let shape = Shape { words: 10, word: 64, k: 6, g: 2, distinct: false };
        let good = BloomG::with_shape(shape, Hasher::default()).unwrap();
        let refused = |liar: BloomG| Opener::new().decode(&to_bytes(&liar)).is_err();
        assert!(!refused(good.clone()));
        assert!(refused(BloomG { g: 0, ..good.clone() }));
        assert!(refused(BloomG { g: u32::MAX, ..good.clone() }));
        assert!(refused(BloomG { distinct: 2, ..good.clone() }));
        assert!(refused(BloomG { bits: Bits::new(641), ..good.clone() }));
        let many = Blocked::new(10, 64, 65).unwrap();
        assert!(refused(BloomG { probe: many, ..good.clone() }));
        let head = Head { form: BLOOM_1, ..good.head.clone() };
        assert!(refused(BloomG { head, ..good }));
    }
}

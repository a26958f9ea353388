//! The multi-partitioned counting filter, MPCBF (Huang, Zhang, Zhang, Xie et al. 2013; catalogue
//! R17; S3 §V-A).
//!
//! A counting filter in words of memory. One hash picks the word, k more pick positions in it, and the
//! word counts them in popcount-linked levels, which take one bit per increment instead of four per
//! counter, used or not:
//!
//! ```text
//!                 ┌ level 1: b1 positions ┐┌ level 2 ┐┌ 3 ┐
//!        word 0   1  0  0  1  0  1  0  1   1 1 0 0    0 0   free
//!   x ─▶ word 1   0  0  1  0  0  0  1  1   0 0 0      free
//!        word 2   …          ↑ a query reads k bits of level 1: one access to memory
//! ```
//!
//! Every key takes k bits beyond level 1, so b1 = w − k·n_max serves words of up to n_max keys. Words do
//! not get equally many, and one that gets more refuses the next key. The paper takes the n_max at which
//! less than one word overflows, and every third build fails; here the expected number of overflowing
//! words is a parameter, `overflow`, a millionth unless set. It costs little in words of 512 bits,
//! which are one cache line, and much in words of 64.
//!
//! With `g` > 1 a key's probes are split over g words: g accesses, and loads that differ less.
//!
//! Words are independent of each other and can be worked on in parallel; the levels of one word cannot.
//! (S3 says both, Table IV and §V-A.) Hashes of one key that meet count once each.
//!
//! **Use it** in place of `counting` where keys come and go, one memory access per query counts, and the
//! number of keys is known. **Don't** where more keys may come than planned: crowded words refuse them.

use smallvec::SmallVec;

use crate::cells::{Hierarchy, LEVEL_WIDTHS, Levels};
use crate::plan::MAX_CELLS;
use crate::probe::multiply_shift;
use crate::theory::{blocked as theory, tail};
use crate::variant::prelude::*;

/// A set with removals, in words that count in levels.
///
/// ```
/// let mut open = everbloom::counting::MultiPartitioned::with_rate(1000, 0.01)?;
/// open.insert("file")?;
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultiPartitioned {
    head: Head,
    k: u32,
    g: u32,
    levels: Levels,
}

state!(MultiPartitioned { head, k, g, levels });

/// Salts the digest for the choice of words, which must not depend on the positions.
const WORDS: u64 = 0x17;

/// The words that a key touches, each taken out once.
type Touched = SmallVec<[(u64, Hierarchy); 4]>;

impl MultiPartitioned {
    /// A filter of a shape made by hand.
    pub fn with_shape(shape: Shape, hasher: Hasher) -> Result<Self> {
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// The key's words and positions, one per hash.
    #[inline]
    fn hits(&self, digest: Digest) -> impl Iterator<Item = (u64, u64)> + use<> {
        let (l, b1, g) = (self.levels.len(), self.levels.first(), u64::from(self.g));
        let words = digest.salted(WORDS);
        (0..u64::from(self.k)).map(move |i| {
            (multiply_shift(words.word(i % g), l), multiply_shift(digest.word(i), b1))
        })
    }

    /// Applies `step` to every hit of a key on copies of its words; all of them, or `None`.
    fn touch(&self, digest: Digest, step: impl Fn(&mut Hierarchy, u64) -> bool) -> Option<Touched> {
        let mut touched = Touched::new();
        for (word, i) in self.hits(digest) {
            let at = touched.iter().position(|(w, _)| *w == word).unwrap_or_else(|| {
                touched.push((word, self.levels.load(word)));
                touched.len() - 1
            });
            if !step(&mut touched[at].1, i) {
                return None;
            }
        }
        Some(touched)
    }

    fn store(&mut self, touched: &Touched) {
        touched.iter().for_each(|(word, value)| self.levels.store(*word, value));
    }

    /// Inserts a key, once more if it is there. Refused, with nothing changed, if its word is full.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let digest = self.head.hasher.digest(key);
        let there = self.passes(digest);
        let touched = self.touch(digest, Hierarchy::increment).ok_or_else(|| {
            Error::new(
                Kind::CapacityExceeded,
                "the word of this key is full: plan for more items, or with a smaller overflow",
            )
        })?;
        self.store(&touched);
        self.head.count(1);
        Ok(if there { Seen::Maybe } else { Seen::New })
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if a position counts less than
    /// the key would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        let digest = self.head.hasher.digest(key);
        let touched = self.touch(digest, Hierarchy::decrement).ok_or_else(|| {
            Error::new(
                Kind::NotDeletable,
                "the key is not in the filter: a position counts less than its removal would take",
            )
        })?;
        self.store(&touched);
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
        self.hits(digest).all(|(word, i)| self.levels.get(word, i))
    }

    /// The words.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Bits in level 1, and how many of them are ones.
    fn first_level(&self) -> (u64, u64) {
        let ones = self.levels.iter().map(|word| word.in_use()).sum();
        (self.levels.len() * self.levels.first(), ones)
    }

    fn check(&self) -> Result<()> {
        let g_fits = (1..=MAX_G).contains(&self.g) && self.k.is_multiple_of(self.g);
        if !self.levels.is_empty() && (1..=MAX_PROBES).contains(&self.k) && g_fits {
            return Ok(());
        }
        Err(Error::corrupt(
            0,
            format!(
                "corrupt filter: {} probes over {} of {} words",
                self.k,
                self.g,
                self.levels.len()
            ),
        ))
    }
}

/// Words, bits per word and in level 1, probes, and words per key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    l: u64,
    w: u64,
    b1: u64,
    k: u32,
    g: u32,
}

impl Shape {
    /// `l` words of `w` bits with `b1` in level 1, for keys of `k` probes over `g` words.
    pub fn new(l: u64, w: u64, b1: u64, k: u32, g: u32) -> Result<Self> {
        let fits = LEVEL_WIDTHS.contains(&w)
            && (1..=w).contains(&b1)
            && l.checked_mul(w).is_some_and(|bits| (1..=MAX_CELLS).contains(&bits))
            && (1..=MAX_PROBES).contains(&k)
            && (1..=MAX_G).contains(&g)
            && k.is_multiple_of(g);
        if fits {
            return Ok(Self { l, w, b1, k, g });
        }
        Err(Error::parameter(format!(
            "{l} words of {w} bits, {b1} of them in level 1, with {k} probes over {g} words: w is a \
             power of two from 16 to 512, k a multiple of g up to {MAX_PROBES}, and level 1 not empty"
        )))
    }

    /// Bits in level 1.
    pub fn b1(&self) -> u64 {
        self.b1
    }

    /// Number of words.
    pub fn l(&self) -> u64 {
        self.l
    }

    /// The shape for `n` keys in `l` words: b1 = w − (k/g)·n_max. `None` if no bit is left for level 1.
    pub fn for_items(l: u64, w: u64, n: u64, k: u32, g: u32, overflow: f64) -> Option<Self> {
        let most = n_max(n.checked_mul(g.into())?, l, overflow);
        let b1 = w.checked_sub(u64::from(k / g).checked_mul(most)?)?;
        Self::new(l, w, b1, k, g).ok()
    }

    /// f = Σ_j P(j keys in a word)·f_in(b1, j, k) (catalogue R17), with the exact rate of a small filter
    /// inside the word (Bose et al.) and P Poisson: blocks of b1 bits. Over g words: g such factors.
    pub fn fpr(&self, n: u64) -> f64 {
        self.rate(n, theory::fpr)
    }

    /// The same with the classic rate (1 − (1 − 1/b1)^{jk})^k inside the word, as papers print it.
    pub fn fpr_classic(&self, n: u64) -> f64 {
        self.rate(n, theory::fpr_classic)
    }

    fn rate(&self, n: u64, in_blocks: impl Fn(u64, f64, u32) -> f64) -> f64 {
        if n == 0 {
            return 0.0;
        }
        let bits_per_item = (self.l * self.b1) as f64 / (n as f64 * f64::from(self.g));
        libm::pow(in_blocks(self.b1, bits_per_item, self.k / self.g), f64::from(self.g))
    }

    /// The fewest words for `n` keys at rate `p`, with the given k or the best.
    fn sized(w: u64, n: u64, p: f64, k: Option<u32>, g: u32, overflow: f64) -> Option<Self> {
        let mut best: Option<Self> = None;
        for k in probes(k, g) {
            let good =
                |l: u64| Self::for_items(l, w, n, k, g, overflow).filter(|shape| shape.fpr(n) <= p);
            // Only fewer words than the best so far are of interest.
            let limit = best.map_or(MAX_CELLS / w, |b| b.l - 1);
            let mut high = (n / w).clamp(1, limit.max(1));
            while high < limit && good(high).is_none() {
                high = high.saturating_mul(2).min(limit);
            }
            let Some(mut shape) = good(high).filter(|shape| shape.l <= limit) else { continue };
            let (mut low, mut high) = (high / 2, high);
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                match good(middle) {
                    Some(fewer) => (shape, high) = (fewer, middle),
                    None => low = middle,
                }
            }
            best = Some(shape);
        }
        best
    }
}

/// The numbers of probes to look at: more than sixteen a word are never best, since each costs a bit
/// of level 1 for every key that the fullest word may get.
fn probes(k: Option<u32>, g: u32) -> impl Iterator<Item = u32> {
    k.map_or(1..=16 * g, |k| k..=k).filter(move |k| k.is_multiple_of(g))
}

/// The least j such that fewer than `overflow` of `l` words are expected to get more than j of `n` keys.
/// With 1 that is the paper's rule, P(Bin(n, 1/l) > j) < 1/l.
pub fn n_max(n: u64, l: u64, overflow: f64) -> u64 {
    let enough = |j: u64| {
        tail::binomial_at_least(n, 1.0 / l as f64, j.saturating_add(1)) * (l as f64) < overflow
    };
    let (mut low, mut step) = (n / l, 1);
    if low > 0 && enough(low - 1) {
        low = 0;
    }
    let mut high = low;
    while high < n && !enough(high) {
        (low, high) = (high + 1, high.saturating_add(step).min(n));
        step *= 2;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if enough(middle) { high = middle } else { low = middle + 1 }
    }
    high
}

impl Plan for MultiPartitioned {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let w = request.choice("w").and_then(|w| w.parse().ok()).unwrap_or(512);
        let k = request.integer(PARAM_K.name).map(|k| k as u32);
        let g = request.integer("g").unwrap_or(1) as u32;
        let overflow = request.real("overflow").unwrap_or(1e-6);
        if let Some(l) = request.integer("l") {
            let n = request.goal_items().ok_or_else(|| {
                Error::parameter("--set l needs -n, to leave room for so many keys in a word")
            })?;
            let shapes = probes(k, g).filter_map(|k| Shape::for_items(l, w, n, k, g, overflow));
            let best = shapes.min_by(|a, b| a.fpr(n).total_cmp(&b.fpr(n)));
            return best.ok_or_else(|| {
                Error::parameter(format!(
                    "{l} words of {w} bits have no room for {n} keys: more words, or larger ones"
                ))
            });
        }
        let sized = |n, p| Shape::sized(w, n, p, k, g, overflow);
        let bits = |n, p| sized(n, p).map_or(f64::INFINITY, |s| (s.l * s.w) as f64);
        let (n, p) = request.items_and_rate(bits)?;
        sized(n, p).ok_or_else(|| {
            Error::parameter(format!(
                "{n} items at a rate of {p} are out of reach of words of {w} bits: larger words, \
                 fewer items or a higher rate"
            ))
        })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, g) = (load.distinct, f64::from(shape.g));
        // Split over g words, a key is g keys of k/g probes.
        let (mean, variance) =
            theory::fill(shape.l as f64, shape.b1 as f64, f64::from(shape.k) / g, n as f64 * g);
        let bits = shape.l * shape.w;
        Some(Expect::one_sided(shape.fpr(n), bits, Some((mean, variance.sqrt()))))
    }
}

impl Stream for MultiPartitioned {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Shape { l, w, b1, k, g } = *shape;
        Ok(Self { head, k, g, levels: Levels::new(l, w, b1) })
    }
}

face!(MultiPartitioned: Insert, Remove, Merge);
planned!(MultiPartitioned);

impl Filter for MultiPartitioned {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    /// The share of ones in the first levels.
    fn fill(&self) -> Option<f64> {
        let (bits, ones) = self.first_level();
        Some(ones as f64 / bits as f64)
    }

    /// The mean over the words of (ones/b1)^{k/g}, once for each of the g words of a key.
    fn now(&self) -> Rates {
        let (b1, probes) = (self.levels.first() as f64, f64::from(self.k / self.g));
        let one = |word: Hierarchy| libm::pow(word.in_use() as f64 / b1, probes);
        let mean = self.levels.iter().map(one).sum::<f64>() / self.levels.len() as f64;
        Rates::one_sided(libm::pow(mean, f64::from(self.g)))
    }

    fn describe(&self) -> Vec<Fact> {
        let fullest = self.levels.iter().map(|word| word.used()).max().unwrap_or(0);
        vec![
            fact("l", self.levels.len()),
            fact("w", self.levels.width()),
            fact("b1", self.levels.first()),
            fact("k", self.k),
            fact("g", self.g),
            fact("bits used in the fullest word", fullest),
        ]
    }
}

impl Insert for MultiPartitioned {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        MultiPartitioned::insert(self, record.key)
    }
}

keyed!(MultiPartitioned: Remove);

impl Merge for MultiPartitioned {
    fn law(&self) -> MergeLaw {
        MergeLaw::Multiset
    }

    /// Position by position; refused, with nothing changed, if a word has no room for both.
    fn merge(&mut self, other: &dyn Filter) -> Result<()> {
        let other: &MultiPartitioned = other.as_same()?;
        self.head.agree(&other.head)?;
        crate::error::agree("l", self.levels.len(), other.levels.len())?;
        crate::error::agree("w", self.levels.width(), other.levels.width())?;
        crate::error::agree("b1", self.levels.first(), other.levels.first())?;
        crate::error::agree("k", self.k, other.k)?;
        crate::error::agree("g", self.g, other.g)?;
        let (w, b1) = (self.levels.width(), self.levels.first());
        let fits = |(a, b): (Hierarchy, Hierarchy)| a.used() + b.used() <= w + b1;
        if !self.levels.iter().zip(other.levels.iter()).all(fits) {
            return Err(Error::new(
                Kind::CapacityExceeded,
                "a word has no room for the keys of both filters: plan both for all of them",
            ));
        }
        for word in 0..self.levels.len() {
            let (mut ours, theirs) = (self.levels.load(word), other.levels.load(word));
            for i in (0..b1).filter(|i| theirs.bit(*i)) {
                (0..theirs.count(i)).for_each(|_| {
                    ours.increment(i);
                });
            }
            self.levels.store(word, &ours);
        }
        self.head.count(other.head.items);
        Ok(())
    }
}

const FORM: &str = "standard";
const MAX_PROBES: u32 = 512;
const MAX_G: u32 = 8;

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 27,
        slug: "multi-partitioned-counting",
        entry: "R17",
        name: "Multi-partitioned counting Bloom filter (MPCBF)",
        paper: "K. Huang, J. Zhang, D. Zhang, G. Xie, K. Salamatian, A. X. Liu, W. Li, A multi-partitioning approach to building fast and accurate counting Bloom filters, IPDPS 2013",
        family: "counting",
        needs: &["membership", "delete", "merge", "fast", "accurate"],
        meaning: "items are insertions minus removals, the rate is that of false positives",
        forms: &[Form {
            name: FORM,
            abilities: &[Ability::Insert, Ability::Remove, Ability::Merge],
            false_negatives: FalseNegatives::NeverWhile("only keys that were inserted are removed"),
        }],
        params: &[
            PARAM_K,
            Param {
                name: "w",
                range: Range::Choice(&["16", "32", "64", "128", "256", "512"]),
                default: Preset::Choice("512"),
                help: "bits per word",
            },
            Param {
                name: "l",
                range: Range::Integer(1, 1 << 40),
                default: Preset::Planned,
                help: "number of words",
            },
            Param {
                name: "g",
                range: Range::Integer(1, MAX_G as u64),
                default: Preset::Integer(1),
                help: "words per key; k is a multiple of it",
            },
            Param {
                name: "overflow",
                range: Range::Real(1e-15, 1.0),
                default: Preset::Real(1e-6),
                help: "expected number of words that overflow; the paper's rule is 1",
            },
        ],
        ..Facts::FILTER
    },
    ops: Ops::of::<MultiPartitioned>(),
};

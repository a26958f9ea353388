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
//! **Use it** instead of `counting` if each query may take only one memory access and the number of keys is known.
//! **Don't** if more keys may be inserted than planned: crowded words refuse them.

mod shape;
mod words;

pub use shape::{Shape, n_max};

use shape::{MAX_G, probes};
use words::Words;

use crate::cells::Levels;
use crate::parts::owns;
use crate::theory::blocked as theory;
use crate::variant::prelude::*;

/// A set with removals, in words that count in levels.
///
/// ```
/// let mut open = everbloom::counting::MultiPartitioned::with_rate(1000, 0.01)?;
/// open.insert("file")?;
/// open.remove("file")?;
/// assert!(!open.contains("file"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MultiPartitioned {
    head: Head,
    words: Words,
}

state!(plain MultiPartitioned { head, ..words });

impl MultiPartitioned {
    /// A filter of a shape made by hand.
    pub fn with_shape(shape: Shape, hasher: Hasher) -> Result<Self> {
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// The words.
    pub fn levels(&self) -> &Levels {
        &self.words.levels
    }

    /// Inserts a key, again if already present. Refused, with nothing changed, if one of its words is full.
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen> {
        let new = self.words.insert(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count(1);
        Ok(Seen::new_if(new))
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.words.contains(self.head.hasher.digest_usually(Self::HASH, key))
    }

    /// Removes a key that was inserted. Refused, with nothing changed, if one of its positions counts less than the
    /// removal would take.
    pub fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.words.remove(self.head.hasher.digest_usually(Self::HASH, key))?;
        self.head.count_off();
        Ok(())
    }
}

impl Plan for MultiPartitioned {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        let w = request.choice("w").and_then(|w| w.parse().ok()).unwrap_or(512);
        let k = request.integer(PARAM_K.name).map(|k| k as u32);
        let g = request.whole("g") as u32;
        let overflow = request.number("overflow");
        if let Some(l) = request.integer("l") {
            let n = request.goal_items().ok_or_else(|| {
                Error::parameter("{l} needs {items}, to leave room for that many keys in a word")
            })?;
            let shapes = probes(k, g).filter_map(|k| Shape::for_items(l, w, n, k, g, overflow));
            let best = shapes.min_by(|a, b| a.fpr(n).total_cmp(&b.fpr(n)));
            let message =
                || format!("words of {w} bits have no room for {n} keys: set more or larger ones");
            return best.ok_or_else(|| Error::setting("l", l, message()));
        }
        let sized = |n, p| Shape::sized(w, n, p, k, g, overflow);
        let bits = |n, p| sized(n, p).map_or(f64::INFINITY, |s| (s.l * s.w) as f64);
        let (n, p) = request.items_and_rate(bits)?;
        sized(n, p).ok_or_else(|| {
            Error::parameter(format!(
                "{n} items at a rate of {p} are out of reach of words of {w} bits: set a larger \
                 {{w}}, fewer {{items}} or a higher {{rate}}"
            ))
        })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (n, g) = (load.distinct, f64::from(shape.g));
        // Split over g words, a key is g keys of k/g probes.
        let (mean, variance) =
            theory::fill(shape.l as f64, shape.b1 as f64, f64::from(shape.k) / g, n as f64 * g);
        let bits = shape.l * shape.w;
        Some(Expect::one_sided(shape.fpr(n), bits, Some((mean, variance.sqrt()))).probing(shape.k))
    }
}

impl Stream for MultiPartitioned {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, words: Words::new(*shape)? })
    }
}

face!(MultiPartitioned: Insert, Remove, Merge);
planned!(MultiPartitioned);
owns!(MultiPartitioned { words: Words });
keyed!(MultiPartitioned: TryInsert, Remove);

by_part!(MultiPartitioned: words);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<MultiPartitioned>(Facts {
    id: 27,
    slug: "multi-partitioned-counting",
    entry: "R17",
    question: "Is it in the set, when keys are removed again, in one memory access?",
    name: "Multi-partitioned counting Bloom filter (MPCBF)",
    paper: "K. Huang, J. Zhang, D. Zhang, G. Xie, K. Salamatian, A. X. Liu, W. Li, A multi-partitioning approach to building fast and accurate counting Bloom filters, IPDPS 2013",
    family: "counting",
    needs: &["membership", "delete", "merge", "fast", "accurate"],
    forms: &[Form::removing(FORM, &[Ability::Insert, Ability::Remove, Ability::Merge])],
    params: &[
        PARAM_K,
        Param::choice("w", &["16", "32", "64", "128", "256", "512"], "bits per word")
            .or(Preset::Choice("512")),
        Param::integer("l", 1, 1 << 40, "number of words"),
        Param::integer("g", 1, MAX_G as u64, "words per key; k is a multiple of it")
            .or(Preset::Integer(1)),
        Param::real(
            "overflow",
            1e-15,
            1.0,
            "expected number of words that overflow; the paper's rule is 1",
        )
        .or(Preset::Real(1e-6)),
    ],
    ..Facts::MULTISET
});

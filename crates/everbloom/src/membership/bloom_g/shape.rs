//! How many words, and how many bits of a key in each: formulas and planning of Bloom-g.

use crate::error::{Error, Result};
use crate::plan::{Expect, Load, MAX_CELLS, PARAM_K, PARAM_M, Request, k_for_m};
use crate::theory::blocked::{self as theory, Loads};
use crate::theory::bloom;
use crate::theory::search::least_for;

pub(super) const BLOOM_1: &str = "bloom-1";
pub(super) const BLOOM_G: &str = "bloom-g";

/// The words of the parameter `positions`.
pub(super) const fn positions(distinct: bool) -> &'static str {
    if distinct { "distinct" } else { "any" }
}

/// Most probes per word, as in blocks; and words per key.
pub(super) const MOST_K: u32 = 64;
pub(super) const MOST_G: u32 = 16;

/// Hash bits a key takes if every bit is used once, g·log2 l + k·log2 w (S3 §V-B): beyond the digest's
/// 128 they come from re-mixed words.
pub fn hash_bits(words: u64, word: u64, k: u32, g: u32) -> f64 {
    f64::from(g) * libm::log2(words as f64) + f64::from(k) * libm::log2(word as f64)
}

/// The rate with bits that may coincide (catalogue I5): g words that are
/// each a blocked filter with g times the keys. Exact inside the words.
pub fn false_positives(word: u64, loads: impl Into<Loads>, k: u32, g: u32) -> f64 {
    let per_word = theory::fpr(word, loads.into().times(g), k / g.max(1));
    libm::pow(per_word, f64::from(g))
}

/// [`false_positives`] with the classic rate inside the words, as the paper prints it.
pub fn false_positives_classic(word: u64, loads: impl Into<Loads>, k: u32, g: u32) -> f64 {
    let per_word = theory::fpr_classic(word, loads.into().times(g), k / g.max(1));
    libm::pow(per_word, f64::from(g))
}

/// [`false_positives`] with different bits in each word.
pub fn false_positives_distinct(word: u64, loads: impl Into<Loads>, k: u32, g: u32) -> f64 {
    let per_word = theory::fpr_distinct(word, loads.into().times(g), k / g.max(1));
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
    pub(super) fn checked(self) -> Result<Self> {
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
                "{} different bits in a word of {word}: set a smaller {{k}} or a larger {{word}}",
                k / g
            )));
        }
        if words == 0 || words > MAX_CELLS / word {
            return Err(Error::parameter(format!(
                "{words} words of {word} bits: there must be at least one, and at most {MAX_CELLS} bits; change \
                {{items}}, {{rate}} or {{memory}}"
            )));
        }
        Ok(self)
    }

    fn rate(&self, loads: Loads) -> f64 {
        if self.distinct {
            false_positives_distinct(self.word, loads, self.k, self.g)
        } else {
            false_positives(self.word, loads, self.k, self.g)
        }
    }

    /// The chance that a key's part hits a given bit of its word.
    pub(super) fn hit(&self) -> f64 {
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
        let c = least_for(0.125, 1000.0, p, |c| at(c).rate(c.into()))?;
        Some((c, at(c)))
    }

    /// The least number of words with the best k or the given one, so that the rate stays below p.
    pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
        let word = request.whole("word");
        let g = match (request.form(), request.integer("g")) {
            (BLOOM_1, Some(g)) if g > 1 => {
                return Err(Error::setting("g", g, "needs the {form} bloom-g"));
            }
            (BLOOM_1, _) => 1,
            (_, g) => g.unwrap_or(2) as u32,
        };
        let k = request.integer(PARAM_K.name).map(|k| k as u32);
        let distinct = request.choice("positions") == Some(positions(true));
        let one = Shape { words: 1, word, k: k.unwrap_or(g), g, distinct }.checked()?;
        let sized = |words: u64| {
            let shape = Shape { words, ..one }.checked()?;
            let best = |n| shape.with_best_k((words * word) as f64 / n as f64).k;
            Ok(Shape { k: k_for_m(request, best)?, ..shape })
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
                "a rate of {p} is out of reach of {g} words of {word} bits a key: set a larger {{word}}, more words \
                with {{form=bloom-g}} and {{g}}, or use the variant bloom"
            ))
        })?;
        let words = |n: u64| (n as f64 * c / word as f64).ceil().max(1.0);
        let (n, _) = request.items_and_rate(|n, _| words(n) * word as f64)?;
        Shape { words: words(n) as u64, ..shape }.checked()
    }

    /// What the formulas say of this shape.
    pub(super) fn expect(&self, load: &Load) -> Expect {
        let (n, m) = (load.distinct, self.words * self.word);
        let loads = Loads::Counted { blocks: self.words, items: n };
        let fpr = if n == 0 { 0.0 } else { self.rate(loads) };
        let [words, word, parts, inside] = [
            self.words as f64,
            self.word as f64,
            n as f64 * f64::from(self.g),
            f64::from(self.k / self.g),
        ];
        let (mean, variance) = if self.distinct {
            // Two bits of one word are both missed by a subset with (w−k)(w−k−1)/(w(w−1)).
            let both = 1.0 - (word - inside) * (word - inside - 1.0) / (word * (word - 1.0));
            theory::fill_of_hits(words, word, inside / word, both, parts)
        } else {
            theory::fill(words, word, inside, parts)
        };
        Expect::one_sided(fpr, m, Some((mean, variance.sqrt()))).probing(self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::super::VARIANT;
    use super::*;
    use crate::error::Kind;
    use crate::plan::Goal;

    fn plan(goal: &Goal) -> Result<Shape> {
        Shape::plan(&Request::new(&VARIANT, goal)?)
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
                let rate = shape.expect(&Load::items(n)).fpr;
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
}

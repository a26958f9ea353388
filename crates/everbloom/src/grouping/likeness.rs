//! How alike two documents are, as their rows of bits tell.

use crate::cells::{Bits, ones};
use crate::theory::bloom as theory;

/// How alike two documents are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Similarity {
    /// Ones that both rows have.
    pub common: u64,
    /// Ones that rows of these fills have in common if the documents share nothing: m·ρₐ·ρ_b.
    pub chance: f64,
    /// 0 for unrelated documents, 1 where one holds all of the other: how far `common` is from `chance`
    /// to the fewer ones of the two.
    pub score: f64,
    /// Chunks they share, estimated from the zeros (S1 §2.4); `None` for a row too full to estimate.
    pub shared: Option<f64>,
}

/// A row with what comparing it to many others needs: its ones, and where they are if they are few.
pub(super) struct Outline<'a> {
    bits: &'a Bits,
    ones: u64,
    /// The words that are not zero, with their numbers; `None` where most are not.
    used: Option<Vec<(usize, u64)>>,
}

impl<'a> Outline<'a> {
    pub(super) fn of(bits: &'a Bits) -> Self {
        let words = bits.words();
        let used = || words.iter().copied().enumerate().filter(|(_, word)| *word != 0);
        // A word that is looked up costs a few of those that are read in a row.
        let few = used().count() < words.len() / 8;
        Self { bits, ones: bits.ones(), used: few.then(|| used().collect()) }
    }

    fn common(&self, other: &Self) -> u64 {
        let length = |outline: &Self| outline.used.as_ref().map_or(usize::MAX, Vec::len);
        let (fewer, more) =
            if length(self) <= length(other) { (self, other) } else { (other, self) };
        let Some(used) = &fewer.used else { return self.bits.ones_in_both(other.bits) };
        let words = more.bits.words();
        used.iter().map(|(i, word)| u64::from(ones::count(word & words[*i]))).sum()
    }

    /// How alike two rows of one length are, with `k` probes per chunk.
    pub(super) fn compare(&self, other: &Self, k: u32) -> Similarity {
        let (common, m) = (self.common(other), self.bits.len());
        let (ones_a, ones_b) = (self.ones, other.ones);
        let chance = ones_a as f64 * ones_b as f64 / m as f64;
        let (above, most) = (common as f64 - chance, ones_a.min(ones_b) as f64 - chance);
        let score = if most > 0.0 { above / most } else { 0.0 };
        let shared = theory::intersection_size(m - ones_a, m - ones_b, m - common, m, k);
        Similarity { common, chance, score, shared }
    }
}

/// The common ones of two unrelated documents of `a` and `b` chunks, m(1 − q^{ka})(1 − q^{kb}).
pub fn chance_level(m: f64, k: f64, a: f64, b: f64) -> f64 {
    theory::inner_product(m, k, a, b, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from nearly empty to nearly full, compared in every combination of what is kept of them.
    #[test]
    fn few_words_tell_what_all_of_them_do() {
        let row = |step: u64| Bits::with_ones(5000, (0..5000 / step).map(|i| (i * i + i) % 5000));
        let rows: Vec<Bits> = [1, 3, 40, 500, 1500, 5000].map(row).into();
        let outlines: Vec<Outline> = rows.iter().map(Outline::of).collect();
        let few = outlines.iter().filter(|outline| outline.used.is_some()).count();
        assert!((2..=4).contains(&few), "{few}");
        for (a, x) in rows.iter().zip(&outlines) {
            for (b, y) in rows.iter().zip(&outlines) {
                assert_eq!(x.compare(y, 4).common, a.ones_in_both(b));
            }
        }
    }
}

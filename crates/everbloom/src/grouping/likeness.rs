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
    /// Ones of the emptier row.
    pub fewer: u64,
    /// Bits of a row.
    pub m: u64,
}

impl Similarity {
    /// Whether two documents that share this part of the shorter one's chunks may look like this: false only if the
    /// common ones are four standard deviations too few, and always true where the rows are too full to tell. It proves
    /// nothing: compare the documents.
    pub fn may_share(&self, part: f64) -> bool {
        let (m, fewer) = (self.m as f64, self.fewer as f64);
        if self.fewer == self.m {
            return true;
        }
        // Of the shorter one's ones, those of the shared chunks are in the other row; the rest are there by chance.
        let own = -m * libm::expm1(part * libm::log1p(-fewer / m));
        let fill = if fewer > 0.0 { self.chance / fewer } else { 0.0 };
        let others = (1.0 - (1.0 - fill) / (1.0 - own / m)).max(0.0);
        let expected = own + (fewer - own) * others;
        let spread = libm::sqrt(expected * (1.0 - expected / m));
        self.common as f64 >= (expected - 4.0 * spread).max(1.0)
    }
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
        Similarity { common, chance, score, shared, fewer: ones_a.min(ones_b), m }
    }
}

/// The common ones of two unrelated documents of `a` and `b` chunks, m(1 − q^{ka})(1 − q^{kb}).
pub fn chance_level(m: f64, k: f64, a: f64, b: f64) -> f64 {
    theory::inner_product(m, k, a, b, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies are never ruled out, whatever the fill; unrelated rows are while they are not full.
    #[test]
    fn what_may_share_is_what_does_or_cannot_be_told() {
        let mut random = crate::hash::Generator::new(5);
        let mut row = |count: u64, seed: u64| {
            let mut own = crate::hash::Generator::new(seed);
            let shared = (0..count / 2).map(|_| own.below(4096)).collect::<Vec<_>>();
            let others = (0..count / 2).map(|_| random.below(4096)).collect::<Vec<_>>();
            Bits::with_ones(4096, shared.into_iter().chain(others))
        };
        for (count, ruled_out) in [(300, true), (3000, true), (60_000, false)] {
            let (a, b, c) = (row(count, 1), row(count, 1), row(count, 2));
            let [a, b, c] = [&a, &b, &c].map(Outline::of);
            assert!(a.compare(&b, 3).may_share(0.5), "{count}");
            assert_eq!(!a.compare(&c, 3).may_share(0.5), ruled_out, "{count}");
        }
    }

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

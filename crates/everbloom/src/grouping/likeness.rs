//! How alike two documents are, as their rows of bits tell.

use crate::cells::Bits;
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
    /// Chunks they share, estimated from the zeros (S1 §2.4); `None` for a row too full to tell.
    pub shared: Option<f64>,
}

impl Similarity {
    /// That of two rows of one length, with `k` probes per chunk.
    pub(super) fn of(a: &Bits, b: &Bits, k: u32) -> Self {
        let (common, m) = (a.ones_in_both(b), a.len());
        let [ones_a, ones_b] = [a, b].map(Bits::ones);
        let chance = ones_a as f64 * ones_b as f64 / m as f64;
        let (above, most) = (common as f64 - chance, ones_a.min(ones_b) as f64 - chance);
        let score = if most > 0.0 { above / most } else { 0.0 };
        let shared = theory::intersection_size(a.zeros(), b.zeros(), m - common, m, k);
        Similarity { common, chance, score, shared }
    }
}

/// The common ones of two unrelated documents of `a` and `b` chunks, m(1 − q^{ka})(1 − q^{kb}).
pub fn chance_level(m: f64, k: f64, a: f64, b: f64) -> f64 {
    theory::inner_product(m, k, a, b, 0.0)
}

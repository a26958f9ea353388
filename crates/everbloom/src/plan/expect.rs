//! What formulas are asked and what they predict.

/// What a formula may need to know of the load on a filter.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Load {
    /// Items inserted, repetitions included.
    pub items: u64,
    /// Distinct items among them.
    pub distinct: u64,
    /// Classes, groups or sets of the items; 0 if not given.
    pub classes: u64,
    /// Queries so far, where answering changes what comes.
    pub queries: u64,
    /// Units of time since the items came.
    pub age: u64,
}

impl Load {
    /// `n` distinct items.
    pub fn items(n: u64) -> Self {
        Self { items: n, distinct: n, ..Self::default() }
    }
}

/// What a variant's formulas predict of a filter that is not built yet.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Expect {
    /// P(present | not a member).
    pub fpr: f64,
    /// P(absent | a member), averaged over the members.
    pub fnr: f64,
    /// P(undecided | not a member).
    pub undecided: f64,
    /// Bits of cells; their mean, where they depend on the keys ([`Filter::bits_sd`]).
    ///
    /// [`Filter::bits_sd`]: crate::filter::Filter::bits_sd
    pub bits: u64,
    /// Bits of tables beside the cells that grow with the items: whole keys, exact counts, digests.
    pub beside: u64,
    /// Fraction of cells in use, and its standard deviation from filter to filter.
    pub fill: Option<(f64, f64)>,
    /// Probes per key, as the filter's own description has them: its fact "k", or "k0" and "k1"
    /// together. `None` where it shows none.
    pub probes: Option<u64>,
}

impl Expect {
    /// One-sided error and nothing undecided.
    pub fn one_sided(fpr: f64, bits: u64, fill: Option<(f64, f64)>) -> Self {
        Self { fpr, fnr: 0.0, undecided: 0.0, bits, beside: 0, fill, probes: None }
    }

    /// Bits of all that the filter holds.
    pub fn total(&self) -> u64 {
        self.bits.saturating_add(self.beside)
    }

    /// With so many probes per key.
    pub(crate) fn probing(self, k: impl Into<u64>) -> Self {
        Self { probes: Some(k.into()), ..self }
    }
}

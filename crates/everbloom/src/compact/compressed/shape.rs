//! The trade between bits held in memory and bits sent (S1 §2.6).

use crate::probe::MAX_K;
use crate::theory::bloom as theory;

/// Bits that a coder spends on a symbol that has probability `p`, or is another: H(p).
pub fn entropy(p: f64) -> f64 {
    let term = |p: f64| if p > 0.0 { -p * libm::log2(p) } else { 0.0 };
    term(p) + term(1.0 - p)
}

/// Bits sent for each key, z/n = c·H(e^{−k/c}), of a filter with c = m/n bits of memory for each (S1 §2.6).
///
/// Grows with c, and with k up to the best one.
pub fn sent_per_key(c: f64, k: u32) -> f64 {
    c * entropy(libm::exp(-f64::from(k) / c))
}

/// The rate below which no filter gets that sends `z` bits for each key: ½^z, the limit of m → ∞.
pub fn rate_limit(z: f64) -> f64 {
    libm::exp2(-z)
}

/// Bits of memory for each key, and probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Design {
    /// c = m/n.
    pub per_key: f64,
    /// Probes.
    pub k: u32,
}

impl Design {
    /// The lowest rate that `z` bits sent for each key allow with at most `most` bits of memory for each:
    /// the least (1 − e^{−k/c})^k over c and k with c·H(e^{−k/c}) ≤ z.
    ///
    /// Only filters at most half full are looked at. To each there is one as full as this is empty that
    /// sends as much at the same rate, since z and ln f = −c·ln ρ·ln(1 − ρ) look alike from both sides; but
    /// it takes many more probes.
    pub fn for_sent(z: f64, most: f64) -> Self {
        // For each k the largest c is the best one.
        let designs = (1..=last_k(most.min(z))).map(|k| Self { per_key: widest(z, most, k), k });
        let best = designs.min_by(|a, b| a.rate().total_cmp(&b.rate()));
        best.unwrap_or(Self { per_key: most, k: 1 })
    }

    /// The fewest bits sent at a rate of `p`, with at most `most` bits of memory for each key; where even
    /// the standard filter needs more than that, the standard filter.
    pub fn for_rate(p: f64, most: f64) -> Self {
        let designs = || (1..=last_k(theory::bits(1.0, p))).map(|k| Self::with_k(p, k));
        let fitting = designs().filter(|d| d.per_key <= most);
        let best = fitting.min_by(|a, b| a.sent().total_cmp(&b.sent()));
        best.or_else(|| designs().min_by(|a, b| a.per_key.total_cmp(&b.per_key)))
            .unwrap_or_else(|| Self::with_k(p, 1))
    }

    /// The least memory for a rate of `p` with `k` probes.
    fn with_k(p: f64, k: u32) -> Self {
        let per_probe = libm::pow(p, 1.0 / f64::from(k));
        Self { per_key: f64::from(k) / -libm::log1p(-per_probe), k }
    }

    /// z/n.
    pub fn sent(&self) -> f64 {
        sent_per_key(self.per_key, self.k)
    }

    /// The rate of false positives.
    pub fn rate(&self) -> f64 {
        theory::fpr_asymptotic(self.per_key, 1.0, f64::from(self.k))
    }
}

/// The largest k worth looking at for `c` bits a key.
pub(super) fn last_k(c: f64) -> u32 {
    (theory::optimal_k(c, 1.0).ceil() + 1.0).clamp(1.0, f64::from(MAX_K)) as u32
}

/// The largest c up to `most` that sends no more than `z` bits a key.
fn widest(z: f64, most: f64, k: u32) -> f64 {
    if sent_per_key(most, k) <= z {
        return most;
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if sent_per_key(middle, k) <= z { low = middle } else { high = middle }
    }
    low
}

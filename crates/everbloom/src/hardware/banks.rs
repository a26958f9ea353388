//! Banks of memory: where probes go, what that costs, and how many banks there should be.

use crate::error::{Error, Result};
use crate::hash::Digest;
use crate::plan::{MAX_CELLS, PARAM_M, Request, k_for_m};
use crate::probe::{MAX_K, Partitioned, multiply_shift};
use crate::state::state;
use crate::theory::bloom;
use crate::theory::prime::gcd;

/// The banks, and how probes are sent to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of banks.
    pub banks: u32,
    /// Banks from one probe to the next; no factor in common with their number.
    pub stride: u32,
    /// Bits per bank.
    pub bank: u64,
    /// Probes per key, no more than banks.
    pub k: u32,
}

state!(Shape { banks, stride, bank, k });

/// The salt of the first bank, beyond the probes, which use the words 0..k.
const FIRST_BANK: u64 = 1 << 32;

pub(super) const MAX_BANKS: u32 = 1 << 16;

/// What a query costs in banks that answer one question a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Bits looked at.
    pub probes: u32,
    /// Probes that find their bank taken by an earlier one of the same key.
    pub conflicts: u32,
    /// The maximum number of probes in one bank.
    pub cycles: u32,
}

impl Cost {
    /// The cost of probes into these banks.
    pub fn of(banks: &[u64]) -> Self {
        let mut sorted = banks.to_vec();
        sorted.sort_unstable();
        let runs = sorted.chunk_by(|a, b| a == b);
        let cycles = runs.clone().map(|run| run.len() as u32).max().unwrap_or(0);
        let probes = banks.len() as u32;
        Self { probes, conflicts: probes - runs.count() as u32, cycles }
    }
}

/// Conflicts per key if probes chose among `banks` banks at random, k − B(1 − (1 − 1/B)^k).
pub fn random_conflicts(banks: u32, k: u32) -> f64 {
    f64::from(k) - f64::from(banks) * bloom::fill(f64::from(banks), f64::from(k))
}

/// The rate with `n` keys (catalogue I17), to second order in what banks have in common.
///
/// A given bit is a one with probability ρ = 1 − (1 − k/m)ⁿ, and k independent bits are with ρ^k. But bits
/// of banks d strides apart are not independent: o of the B places to start from reach both banks, so that
/// one key hits both bits with o/B·(B/m)² instead of (k/m)². Each pair of the k probes adds its covariance:
/// f ≈ ρ^k·(1 + Σ_{i<j} cov_ij/ρ²). With B = k all covariances vanish.
pub fn false_positives(shape: &Shape, n: u64) -> f64 {
    let (n, k) = (n as f64, f64::from(shape.k));
    let missed = n * libm::log1p(-shape.hit());
    let fill = -libm::expm1(missed);
    if fill == 0.0 || fill == 1.0 {
        return fill;
    }
    let odds = libm::exp(missed) / fill;
    let pairs = |d: u32| f64::from(shape.k - d);
    let excess: f64 = (1..shape.k).map(|d| pairs(d) * shape.together(d, n)).sum();
    (libm::pow(fill, k) * (1.0 + odds * odds * excess)).min(1.0)
}

impl Shape {
    /// Number of bits in all banks.
    pub fn m(&self) -> u64 {
        u64::from(self.banks) * self.bank
    }

    /// The key's bits, each in a bank of its own.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let Self { banks, stride, bank, k } = *self;
        let (banks, stride) = (u64::from(banks), u64::from(stride));
        let first = multiply_shift(digest.word(FIRST_BANK), banks);
        // The probes of a partitioned filter, each slice moved to the bank it has for this key.
        (0..).zip(Partitioned::new(bank, k).indices(digest)).map(move |(j, i)| {
            let offset = i - j * bank;
            (first + j * stride) % banks * bank + offset
        })
    }

    /// The chance that a key hits a given bit.
    pub(super) fn hit(&self) -> f64 {
        f64::from(self.k) / self.m() as f64
    }

    /// P(n keys miss two bits in banks d strides apart), over what it would be were they independent,
    /// less one.
    fn together(&self, d: u32, n: f64) -> f64 {
        let Self { banks, k, bank, .. } = *self;
        // Starts from which both are reached: going from the one to the other, or around.
        let reach = k.saturating_sub(d) + k.saturating_sub(banks - d);
        let both = f64::from(reach) / f64::from(banks) / (bank as f64 * bank as f64);
        let (hit, miss) = (self.hit(), 1.0 - self.hit());
        libm::expm1(n * libm::log1p((both - hit * hit) / (miss * miss)))
    }

    /// The share of ones after `n` keys, and its standard deviation from filter to filter: the sum over
    /// all pairs of bits, exactly.
    pub(super) fn fill(&self, n: u64) -> (f64, f64) {
        let (n, m, bank, hit) = (n as f64, self.m() as f64, self.bank as f64, self.hit());
        if hit >= 1.0 {
            return (f64::from(u8::from(n > 0.0)), 0.0);
        }
        let missed = libm::exp(n * libm::log1p(-hit));
        let odds = hit / (1.0 - hit);
        // Two bits of one bank are never hit by the same key.
        let same = libm::expm1(n * libm::log1p(-odds * odds));
        let others: f64 = (1..self.banks).map(|d| self.together(d, n)).sum();
        let pairs = (bank - 1.0) * same + bank * others;
        let variance = missed * ((1.0 - missed) + missed * pairs) / m;
        (1.0 - missed, variance.max(0.0).sqrt())
    }

    pub(super) fn valid(&self) -> Result<()> {
        let Self { banks, stride, bank, k } = *self;
        if !(1..=MAX_BANKS).contains(&banks) || !(1..=MAX_K.min(banks)).contains(&k) {
            return Err(Error::parameter(format!(
                "{k} probes in {banks} banks: each needs its own bank, so k is at most the number of banks (and to \
                {MAX_K}), and there are at most {MAX_BANKS} banks"
            )));
        }
        if gcd(stride.into(), banks.into()) != 1 || stride == 0 {
            return Err(Error::parameter(format!(
                "a stride of {stride} in {banks} banks returns to the first bank too early: use one without a common \
                factor with the number of banks"
            )));
        }
        if bank == 0 || bank > MAX_CELLS / u64::from(banks) {
            return Err(Error::parameter(format!(
                "{banks} banks of {bank} bits: there must be at least one bit, and at most {MAX_CELLS} bits in \
                total; change {{items}}, {{rate}} or {{memory}}"
            )));
        }
        Ok(())
    }

    fn check(&self) -> Result<()> {
        self.valid().map_err(|e| Error::corrupt(0, format!("corrupt filter: {e}")))
    }

    /// The smallest banks that reach the rate with the k that is set or takes the fewest bits; as many as
    /// are set, or the power of two that has room for k.
    pub(super) fn plan(request: &Request<'_>) -> Result<Shape> {
        let [k_set, banks] = ["k", "banks"].map(|name| request.integer(name).map(|v| v as u32));
        let stride = request.integer("stride").unwrap_or(1) as u32;
        let most = banks.unwrap_or(MAX_K).min(MAX_K);
        let cut = |k: u32, bank: f64| {
            let banks = banks.unwrap_or_else(|| k.next_power_of_two());
            Shape { banks, stride, bank: bank.clamp(1.0, 2.0 * MAX_CELLS as f64) as u64, k }
        };
        cut(k_set.unwrap_or(1), 1.0).valid()?;
        if let Some(m) = request.integer(PARAM_M.name) {
            let k = k_for_m(request, |n| bloom::best_k(m, n).min(most))?;
            let shape = cut(k, 1.0);
            let shape = Shape { bank: m / u64::from(shape.banks), ..shape };
            return shape.valid().map(|()| shape);
        }
        let least = |n: u64, p: f64, k: u32| {
            // Banks that had nothing in common would need this; then a little more until it is enough.
            let even = bloom::slice_for(n as f64, p, k) * f64::from(k);
            let mut shape = cut(k, 1.0);
            shape = cut(k, (even / f64::from(shape.banks)).ceil());
            while shape.valid().is_ok() && false_positives(&shape, n) > p {
                shape.bank += 1 + shape.bank / 2000;
            }
            shape
        };
        let sized = |n: u64, p: f64| {
            let best = ((-libm::log2(p)).floor().max(1.0) as u32).min(most);
            let ks = k_set.map_or(best..=(best + 1).min(most), |k| k..=k);
            let shapes = ks.map(|k| least(n, p, k));
            shapes.min_by_key(|shape| shape.bank.saturating_mul(shape.banks.into()))
        };
        let bits = |n: u64, p: f64| {
            sized(n, p).map_or(f64::INFINITY, |s| s.bank as f64 * f64::from(s.banks))
        };
        let (n, p) = request.items_and_rate(bits)?;
        let shape = sized(n, p).unwrap_or(cut(1, 0.0));
        shape.valid().map(|()| shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::hardware::banked::VARIANT;
    use crate::plan::Goal;

    fn plan(goal: &Goal) -> Result<Shape> {
        Shape::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn planned_banks_meet_the_rate() {
        for n in [1u64, 10, 1000, 1_000_000] {
            for p in [0.9, 0.3, 0.01, 1e-5, 1e-30] {
                for banks in [None, Some(8), Some(40)] {
                    let goal = Goal::new(n, p);
                    let goal = banks.map_or(goal.clone(), |b| goal.set("banks", b));
                    let shape = plan(&goal).unwrap();
                    assert!(false_positives(&shape, n) <= p, "{n} {p} {shape:?}");
                    let tight = Shape { bank: shape.bank * 99 / 100, ..shape };
                    assert!(n < 1000 || false_positives(&tight, n) > p, "{n} {p} {shape:?}");
                }
            }
        }
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        let goal = || Goal::new(1000, 0.01);
        for bad in [
            goal().set("banks", 4).set("k", 5),
            goal().set("banks", 12).set("stride", 9),
            goal().set("stride", 2),
            goal().set("m", 7).set("k", 8),
            Goal::default().set("m", 800),
            Goal::new(u64::MAX, 0.01),
        ] {
            let error = plan(&bad).unwrap_err();
            assert_eq!(error.kind(), Kind::BadParameter, "{error}");
        }
    }
}

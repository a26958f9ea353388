//! Which increments tell keys apart, and how often a foreign key passes for all that.

use std::fmt;

use crate::error::{Error, Result};
use crate::theory::counting::cell_pmf;

/// Which increments, and what a cell's value says of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// D_L = {L, …, 2L−1}: form `dl`.
    Least(u64),
    /// A B_ℓ sequence: form `bh`.
    Sequence(Sequence),
}

impl Rule {
    /// Bits of the counts (as C1 has them) and of the sums: nine of the largest increments fit, at the
    /// best loads enough for all but one cell in a million.
    pub(super) fn widths(&self) -> (u32, u32) {
        let largest = match self {
            Rule::Least(l) => 2 * l - 1,
            Rule::Sequence(s) => s.largest(),
        };
        (4, u64::BITS - (9 * largest).leading_zeros())
    }

    /// The chance that one probe of a foreign key passes, from P(j) = P(j keys' hashes in a cell).
    pub(super) fn pass(&self, p: impl Fn(u64) -> f64) -> f64 {
        match self {
            Rule::Least(l) => {
                let l = *l as f64;
                1.0 - p(0) - (l - 1.0) / l * p(1) - (l * l - 1.0) / (6.0 * l * l) * p(2)
            }
            Rule::Sequence(s) => {
                let other = 1.0 - 1.0 / s.values.len() as f64;
                let miss = |j| p(j) * libm::pow(other, j as f64);
                1.0 - p(0) - (1..=u64::from(s.order)).map(miss).sum::<f64>()
            }
        }
    }

    /// The rate with `n` keys in `m` cells and `k` probes: (catalogue R15, both formulas)
    ///
    /// - dl: f = (1 − P₀ − (L−1)/L·P₁ − (L²−1)/(6L²)·P₂)^k,
    /// - bh: f = (Σ_{j≤ℓ} P_j(1 − (1−1/u)^j) + P(j>ℓ))^k,
    ///
    /// with P_j the binomial chance of j increments in a cell.
    pub fn fpr(&self, m: u64, n: u64, k: u32) -> f64 {
        libm::pow(self.pass(|j| cell_pmf(m, n, k, j)).clamp(0.0, 1.0), f64::from(k))
    }
}

/// A B_ℓ sequence: increments of which all sums of ℓ, repetitions allowed, are different.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    pub(super) values: Vec<u64>,
    pub(super) order: u32,
    /// `sums[j − 1][s]`: whether j increments can come to s; follows from the rest.
    sums: Vec<Vec<bool>>,
}

/// Bounds on sequences, so that their tables stay small.
pub(super) const MAX_INCREMENTS: usize = 8;
pub(super) const MAX_ORDER: u32 = 4;
const MAX_INCREMENT: u64 = 1023;

impl Sequence {
    /// The sequence of these increments, refused unless they grow and are a B_ℓ sequence of this order.
    pub fn new(values: &[u64], order: u32) -> Result<Self> {
        let grow = values.windows(2).all(|w| w[0] < w[1]);
        let range = values.iter().all(|v| (1..=MAX_INCREMENT).contains(v));
        let size = (1..=MAX_INCREMENTS).contains(&values.len()) && (1..=MAX_ORDER).contains(&order);
        if !(grow && range && size) {
            return Err(Error::parameter(format!(
                "increments are 1 to {MAX_INCREMENTS} growing numbers up to {MAX_INCREMENT}, \
                 of order 1 to {MAX_ORDER}"
            )));
        }
        let mut sequence = Self { values: values.to_vec(), order, sums: Vec::new() };
        // Multisets in ascending order: each is extended by its last increment and those after it.
        let mut sets = vec![(0, 0)];
        for j in 1..=u64::from(order) {
            sets = sets
                .into_iter()
                .flat_map(|(sum, last)| (last..values.len()).map(move |i| (sum + values[i], i)))
                .collect();
            let mut sums = vec![false; (j * sequence.largest()) as usize + 1];
            for &(sum, _) in &sets {
                if std::mem::replace(&mut sums[sum as usize], true) {
                    return Err(Error::parameter(format!(
                        "{values:?} is not a B_{order} sequence: two sums of {j} are {sum}"
                    )));
                }
            }
            sequence.sums.push(sums);
        }
        Ok(sequence)
    }

    /// A sequence of `u` increments: the published {1, 4, 8, 13} where it will do, else the greedy one,
    /// which takes the least number that keeps all sums apart.
    pub fn of_size(u: usize, order: u32) -> Result<Self> {
        if u == 4 && order <= 3 {
            return Self::new(&[1, 4, 8, 13], order);
        }
        let mut values = vec![1];
        while values.len() < u {
            let last = values[values.len() - 1];
            let next = (last + 1..=MAX_INCREMENT)
                .find(|&v| Self::new(&[&values[..], &[v]].concat(), order).is_ok());
            values.push(next.ok_or_else(|| {
                Error::parameter("no such sequence: set a smaller {u} or {order}")
            })?);
        }
        Self::new(&values, order)
    }

    fn largest(&self) -> u64 {
        self.values.last().copied().unwrap_or(1)
    }

    /// Whether `count` increments that come to `sum` may have `v` among them: whether the others can come to
    /// the rest.
    pub(super) fn without(&self, count: u64, sum: u64, v: u64) -> bool {
        let others = count.checked_sub(1).zip(sum.checked_sub(v));
        others.is_some_and(|(count, sum)| self.possible(count, sum))
    }

    /// Whether `count` increments can come to `sum`; beyond the order nobody knows.
    fn possible(&self, count: u64, sum: u64) -> bool {
        match count.checked_sub(1) {
            None => sum == 0,
            Some(j) => match self.sums.get(j as usize) {
                Some(sums) => sums.get(sum as usize).copied().unwrap_or(false),
                None => true,
            },
        }
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of order {}", self.values, self.order)
    }
}

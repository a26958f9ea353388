//! Rates of classic filters, measured: several figures need them.

use everbloom::Result;
use everbloom::internals::hash::{Generator, Hasher};
use everbloom::internals::theory::bloom;
use everbloom::membership::Bloom;

use crate::{Bound, Lab, bound};

/// m bits, n elements, k hashes.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub m: u64,
    pub n: u64,
    pub k: u32,
}

/// A rate as it was predicted and measured.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    pub predicted: f64,
    pub measured: f64,
    pub bound: Bound,
}

/// Below this size the exact rate is cheap, and the classic formula too low (S3 eq. 3).
const SMALL: u64 = 1 << 12;

/// Queries per filter.
const QUERIES: u64 = 20_000;

impl Shape {
    /// The expected rate over filters of this shape.
    pub fn fpr(&self) -> f64 {
        if self.m <= SMALL {
            bloom::fpr_exact(self.m, self.n, self.k)
        } else {
            bloom::fpr_classic(self.m as f64, self.n as f64, f64::from(self.k))
        }
    }

    /// How much the rate differs from filter to filter, since their fills do (to first order).
    pub fn fpr_sd(&self) -> f64 {
        let (m, throws) = (self.m as f64, self.n as f64 * f64::from(self.k));
        let fill = bloom::fill(m, throws);
        f64::from(self.k) * fill.powi(self.k as i32 - 1) * bloom::fill_sd(m, throws)
    }

    /// A filter of this shape with n random elements.
    pub fn filled(&self, seed: u64) -> Bloom {
        let mut filter =
            Bloom::with_shape(self.m, self.k, Hasher::seeded(seed)).expect("a shape that can be");
        elements(self.n, seed).for_each(|key| {
            filter.insert(&key);
        });
        filter
    }
}

/// The elements of [`Shape::filled`], again.
pub fn elements(n: u64, seed: u64) -> impl Iterator<Item = u64> {
    let mut keys = Generator::new(seed);
    (0..n).map(move |_| keys.next_u64())
}

/// The share of `queries` random keys that the filter takes for members. The keys come from another
/// stream than those of [`Shape::filled`]; among 2^64, none is met twice but by a chance below 1e-9.
pub fn false_positives(filter: &Bloom, seed: u64, queries: u64) -> f64 {
    let mut keys = Generator::new(!seed);
    let hits = (0..queries).filter(|_| filter.contains(&keys.next_u64())).count();
    hits as f64 / queries as f64
}

/// The mean rate of `runs` filters of each shape.
pub fn rates(lab: &Lab, shapes: &[Shape], runs: u64) -> Result<Vec<Rate>> {
    shapes
        .iter()
        .map(|shape| {
            let measured = lab.runs(runs, |seed| {
                let filter = shape.filled(seed);
                lab.ask_members(elements(shape.n, seed), |key| filter.contains(key));
                Ok(false_positives(&filter, seed, QUERIES))
            })?;
            let predicted = shape.fpr();
            Ok(Rate {
                predicted,
                measured: measured.iter().sum::<f64>() / runs as f64,
                bound: bound::rate(predicted, shape.fpr_sd(), runs, QUERIES),
            })
        })
        .collect()
}

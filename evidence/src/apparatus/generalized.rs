//! Generalized filters, measured: the figures of S2 need them at a given fill, after insertions into bits
//! of any kind, and for keys that others have followed.

use everbloom::Result;
use everbloom::internals::cells::Bits;
use everbloom::internals::hash::{Generator, Hasher, mix64};
use everbloom::internals::theory::generalized as theory;
use everbloom::membership::Generalized;
use everbloom::membership::generalized::{fill_sd, fpr_at};

use super::classic::Rate;
use crate::{Lab, bound};

/// m bits, k0 hashes that reset, k1 that set.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub m: u64,
    pub k0: u32,
    pub k1: u32,
}

/// Queries per filter.
pub const QUERIES: u64 = 10_000;

/// Keys that a single run loses or keeps, each followed by others.
const TRIALS: u64 = 5_000;

impl Shape {
    pub fn new(m: u64, k0: u32, k1: u32) -> Self {
        Self { m, k0, k1 }
    }

    /// S2's expressions as derived, for this m.
    pub fn exact(&self) -> theory::Shape {
        theory::Shape { m: self.m as f64, k0: f64::from(self.k0), k1: f64::from(self.k1) }
    }

    /// The seed of a run of this shape, for the point `at`: points must not share their luck, or a whole
    /// curve is off to one side.
    fn seed(&self, run: u64, at: u64) -> u64 {
        [self.m, self.k0.into(), self.k1.into(), at]
            .iter()
            .fold(run, |seed, x| mix64(seed ^ mix64(*x)))
    }

    fn on(&self, bits: Bits, seed: u64) -> Result<Generalized> {
        Generalized::on(bits, self.k0, self.k1, Hasher::seeded(seed))
    }

    /// A filter on bits of which each is zero with a chance of `zeros`, with `n` random keys, and the
    /// generator of more.
    pub fn filled(&self, zeros: f64, n: u64, seed: u64) -> Result<(Generalized, Generator)> {
        let mut keys = Generator::new(seed);
        let mut bits = Bits::new(self.m);
        (0..self.m).filter(|_| keys.unit() >= zeros).for_each(|i| {
            bits.set(i);
        });
        let mut filter = self.on(bits, seed)?;
        for _ in 0..n {
            filter.insert(&keys.next_u64());
        }
        Ok((filter, keys))
    }
}

/// `m` bits of which exactly `ones` are set, anywhere.
fn exactly(m: u64, ones: u64, random: &mut Generator) -> Bits {
    let mut bits = Bits::new(m);
    let mut left = ones;
    for i in 0..m {
        if random.below(m - i) < left {
            bits.set(i);
            left -= 1;
        }
    }
    bits
}

fn passes(filter: &Generalized, keys: &mut Generator) -> u64 {
    (0..QUERIES).filter(|_| filter.contains(&keys.next_u64())).count() as u64
}

fn mean(values: &[u64], of: u64) -> f64 {
    values.iter().sum::<u64>() as f64 / (values.len() as u64 * of) as f64
}

/// The rate at which foreign keys pass where exactly `ones` bits are set.
///
/// The number of ones decides alone, so the queries of all filters are independent trials.
pub fn at_fill(lab: &Lab, shape: Shape, ones: u64, runs: u64) -> Result<Rate> {
    let passed = lab.runs(runs, |run| {
        let seed = shape.seed(run, ones);
        let mut random = Generator::new(seed);
        let filter = shape.on(exactly(shape.m, ones, &mut random), seed)?;
        Ok(passes(&filter, &mut random))
    })?;
    let zeros = (shape.m - ones) as f64 / shape.m as f64;
    let predicted = fpr_at(shape.m as f64, zeros, shape.k0, shape.k1);
    Ok(Rate {
        predicted,
        measured: mean(&passed, QUERIES),
        bound: bound::share(predicted, runs * QUERIES),
    })
}

/// The rate at which foreign keys pass after `n` keys in bits that were zero with a chance of `zeros`.
pub fn after(lab: &Lab, shape: Shape, zeros: f64, n: u64, runs: u64) -> Result<Rate> {
    let passed = lab.runs(runs, |run| {
        let seed = shape.seed(run, zeros.to_bits() ^ n);
        let (filter, mut keys) = shape.filled(zeros, n, seed)?;
        Ok(passes(&filter, &mut keys))
    })?;
    let exact = shape.exact();
    let share = exact.zeros_after(zeros, n as f64);
    let sd = fill_sd(&exact, zeros, n as f64);
    let rate = |zeros: f64| fpr_at(exact.m, zeros.clamp(0.0, 1.0), shape.k0, shape.k1);
    let (predicted, rate_sd) = over_normal(rate, share, sd);
    Ok(Rate {
        predicted,
        measured: mean(&passed, QUERIES),
        bound: bound::rate(predicted, rate_sd, runs, QUERIES),
    })
}

/// Mean and standard deviation of f(X) for X normal, by the three points of Gauss and Hermite: the rate's
/// slope vanishes at its maximum, where only the curvature tells filters apart.
fn over_normal(f: impl Fn(f64) -> f64, mean: f64, sd: f64) -> (f64, f64) {
    let off = 3.0f64.sqrt() * sd;
    let weighted = [(mean - off, 1.0 / 6.0), (mean, 2.0 / 3.0), (mean + off, 1.0 / 6.0)];
    let first: f64 = weighted.iter().map(|(x, w)| w * f(*x)).sum();
    let spread: f64 = weighted.iter().map(|(x, w)| w * (f(*x) - first) * (f(*x) - first)).sum();
    (first, spread.sqrt())
}

/// The share of keys that are missed once `later` others have followed.
///
/// What was in the filter before does not matter, since a key writes all the bits it is asked for; so
/// one filter serves for many keys, each with followers of its own: independent trials.
pub fn lost(lab: &Lab, shape: Shape, later: u64, runs: u64) -> Result<Rate> {
    let missed = lab.runs(runs, |run| {
        let (mut filter, mut keys) = shape.filled(1.0, 0, shape.seed(run, later))?;
        let mut missed = 0;
        for _ in 0..TRIALS {
            let key = keys.next_u64();
            filter.insert(&key);
            for _ in 0..later {
                filter.insert(&keys.next_u64());
            }
            missed += u64::from(!filter.contains(&key));
        }
        Ok(missed)
    })?;
    let predicted = shape.exact().fnr(later as f64);
    Ok(Rate {
        predicted,
        measured: mean(&missed, TRIALS),
        bound: bound::share(predicted, runs * TRIALS),
    })
}

/// The share of filters that miss the element inserted first, second, … of `n`.
pub fn lost_by_position(lab: &Lab, shape: Shape, n: u64, runs: u64) -> Result<Vec<Rate>> {
    let missed = lab.runs(runs, |run| {
        let mut seeds = Generator::new(shape.seed(run, n));
        let mut missed = vec![0u64; n as usize];
        for _ in 0..TRIALS {
            let mut keys = Generator::new(seeds.next_u64());
            let keys: Vec<u64> = (0..n).map(|_| keys.next_u64()).collect();
            let mut filter = shape.on(Bits::new(shape.m), seeds.next_u64())?;
            for key in &keys {
                filter.insert(key);
            }
            for (missed, key) in missed.iter_mut().zip(&keys) {
                *missed += u64::from(!filter.contains(key));
            }
        }
        Ok(missed)
    })?;
    let trials = runs * TRIALS;
    let rate = |position: u64| {
        let predicted = shape.exact().fnr((n - 1 - position) as f64);
        let missed: u64 = missed.iter().map(|run| run[position as usize]).sum();
        Rate {
            predicted,
            measured: missed as f64 / trials as f64,
            bound: bound::share(predicted, trials),
        }
    };
    Ok((0..n).map(rate).collect())
}

/// Equal steps from `from` to `to` for a smooth curve.
pub fn steps(from: f64, to: f64) -> impl Iterator<Item = f64> {
    (0..=100).map(move |i| from + (to - from) * f64::from(i) / 100.0)
}

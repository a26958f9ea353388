//! Best of N (Jimeno, Christensen, Roginsky 2007; catalogue R13; S0 §IV on ref. 126).
//!
//! Build the whole filter N times, each time with other hash functions, and keep the one that happens
//! to have the fewest ones. Which one it was is the only thing to remember, ⌈log2 N⌉ bits:
//!
//! ```text
//!   seed 0   1 0 1 1 0 1 1 0 0 1   6 ones
//!   seed 1   0 1 1 0 0 1 0 0 1 0   4 ones  ← kept, with its seed
//!   seed 2   1 1 0 1 0 0 1 0 1 0   5 ones
//! ```
//!
//! The number of ones varies by σ = √(m(e^{−λ} − (1+λ)e^{−2λ})) from seed to seed, λ = kn/m, and the
//! least of N lies E\[max of N normals\] of those below the mean: 1.5 for ten seeds, 2.5 for a hundred. At
//! 1000 bits for 100 keys that turns a rate of 0.83 % into 0.68 % or 0.60 %. But σ grows with √m only, so
//! of a filter ten thousand times as large the same search takes off a hundredth of that.
//!
//! **Use it** for small sets that are fixed, sent often and queried more often: a few hundred to a few thousand
//! keys. **Don't** for large ones, where N builds gain nothing, nor if more keys are inserted later: they are
//! found, but each reduces what the search has gained. Two filters cannot be merged, because their hash functions
//! differ.

use crate::cells::Bits;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{KeyPart, flat_bits, methods, owns};
use crate::probe::{Probe, check_search};
use crate::theory::search::least_real;
use crate::theory::{bloom as theory, choice};
use crate::variant::prelude::*;

/// A set in m bits under the luckiest of N hash functions. A key that is inserted later is found from then
/// on, but the functions were not chosen for it.
#[derive(Clone, Debug, PartialEq)]
pub struct BestOfN {
    head: Head,
    part: ProbedBits<Seeded>,
}

state!(plain BestOfN { head, ..part });

/// Probes of the standard filter, under a seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seeded {
    probe: Probe,
    /// Which of the N won: it salts every digest.
    seed: u64,
}

state!(plain inline Seeded { probe, seed });

impl BestOfN {
    /// The best of `n` filters of `m` bits and `k` probes for these keys; m, k and n at least 1.
    ///
    /// ```
    /// use everbloom::{Hasher, membership::BestOfN};
    ///
    /// let filter = BestOfN::of(&["apple", "pear"], 24, 8, 100, Hasher::default())?;
    /// assert!(filter.contains("apple") && filter.contains("pear"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn of<K: Key>(keys: &[K], m: u64, k: u32, n: u64, hasher: Hasher) -> Result<Self> {
        let flat = Flat { m, k }.checked()?;
        if n == 0 {
            return Err(Error::setting(PARAM_N.name, n, "at least one filter is built"));
        }
        let digests: Vec<Digest> = keys.iter().map(|key| hasher.digest(key)).collect();
        Self::search(&Shape { flat, tries: n }, Head::new(hasher, FORM), &digests)
    }

    /// Tries every seed and keeps the first with the fewest ones.
    fn search(shape: &Shape, mut head: Head, digests: &[Digest]) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        // A trial also clears and counts the bits, word by word.
        let probes = (digests.len() as u64).saturating_mul(k.into()).saturating_add(m / 64);
        check_search(PARAM_N.name, shape.tries, probes)?;
        head.count(digests.len() as u64);
        let mut best = ProbedBits::probed(Seeded { probe: Probe::over(m, k), seed: 0 })?;
        best.insert_all(digests);
        let mut fewest = best.bits.ones();
        let mut trial = best.clone();
        for seed in 1..shape.tries {
            trial.probe.seed = seed;
            trial.clear();
            trial.insert_all(digests);
            let ones = trial.bits.ones();
            if ones < fewest {
                fewest = ones;
                std::mem::swap(&mut best, &mut trial);
            }
        }
        Ok(Self { head, part: best })
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of probes per key.
    pub fn k(&self) -> u32 {
        self.part.probe.probe.k()
    }

    /// The number of the seed that won.
    pub fn seed(&self) -> u64 {
        self.part.probe.seed
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.part.bits
    }
}

impl Probes for Seeded {
    fn m(&self) -> u64 {
        self.probe.m()
    }

    #[inline]
    fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        self.probe.all(digest.salted(self.seed), f)
    }

    fn fpr(&self, bits: &Bits) -> f64 {
        self.probe.fpr(bits)
    }

    fn describe(&self) -> Vec<Fact> {
        flat_bits::described(&self.probe, fact("seed", self.seed))
    }

    fn check(&self, bits: u64) -> Result<()> {
        self.probe.check_flat(bits)
    }
}

/// Share of ones in the best of `tries` filters of `m` bits after `throws` throws, with its spread:
/// the mean less σ·E\[max of N normals\] (R13).
///
/// A filter so small that its ones are no longer normal has a few more than that, at least one.
pub fn best_fill(m: f64, throws: f64, tries: u64) -> (f64, f64) {
    Luck::of(tries).fill(m, throws)
}

/// Mean and standard deviation of the largest of N normals: what the search gains, in σ.
#[derive(Clone, Copy)]
struct Luck(f64, f64);

impl Luck {
    fn of(tries: u64) -> Self {
        let (mean, sd) = choice::largest_normal(tries);
        Self(mean, sd)
    }

    fn fill(self, m: f64, throws: f64) -> (f64, f64) {
        let sigma = theory::fill_sd(m, throws);
        let least = f64::min(1.0, throws) / m;
        ((theory::fill(m, throws) - self.0 * sigma).max(least), self.1 * sigma)
    }

    fn fpr(self, flat: Flat, n: u64) -> f64 {
        let k = f64::from(flat.k);
        libm::pow(self.fill(flat.m as f64, n as f64 * k).0, k)
    }
}

/// Bits, probes, and how many filters are tried.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    tries: u64,
}

/// The most filters that are tried.
const MAX_TRIES: u64 = 1 << 20;

impl Plan for BestOfN {
    type Shape = Shape;

    /// The fewest bits in which the best of N, not the mean, meets the rate.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let tries = request.integer(PARAM_N.name).unwrap_or(1);
        let luck = Luck::of(tries);
        let cells = |n: u64, p: f64, k: u32| {
            let (throws, wanted) = (n as f64 * f64::from(k), libm::pow(p, 1.0 / f64::from(k)));
            let standard = throws / -libm::log1p(-wanted);
            least_real(0.5 * standard, standard, |m| luck.fill(m, throws).0 <= wanted)
        };
        let index_bits = u64::BITS - (tries - 1).leading_zeros();
        let rate = |flat, n| luck.fpr(flat, n);
        let (flat, _) = Flat::search(request, |_| index_bits.into(), cells, rate)?;
        Ok(Shape { flat, tries })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (Flat { m, k }, n) = (shape.flat, load.distinct);
        let luck = Luck::of(shape.tries);
        let fill = luck.fill(m as f64, n as f64 * f64::from(k));
        Some(Expect::one_sided(luck.fpr(shape.flat, n), m, Some(fill)).probing(k))
    }
}

impl Create for BestOfN {
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let digests = digests(&head.hasher, inputs.records)?;
        Self::search(shape, head, &digests)
    }
}

face!(BestOfN: Insert, Bulk, BulkInsert);
built!(BestOfN);
owns!(BestOfN { part: ProbedBits<Seeded> });
methods!(BestOfN:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(BestOfN: Insert);

by_part!(BestOfN: part);

const PARAM_N: Param = Param::integer("n", 1, MAX_TRIES, "filters to build; the best one is kept")
    .or(Preset::Integer(16));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<BestOfN>(Facts {
    id: 23,
    slug: "best-of-n",
    entry: "R13",
    question: "Is it in the set, with the best of several hash functions for these keys?",
    name: "Best-of-N Bloom filter",
    paper: "M. Jimeno, K. Christensen, A. Roginsky, A power management proxy with a new best-of-N \
            Bloom filter design to reduce false positives, IEEE IPCCC 2007",
    family: "membership",
    needs: &["membership", "accurate", "static"],
    forms: &[Form::exact(FORM, &[Ability::Insert])],
    params: &[PARAM_M, PARAM_K, PARAM_N],
    reach: 100_000,
    ..Facts::COLLECTED
});

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(goal: &Goal) -> Shape {
        BestOfN::plan(&Request::new(&VARIANT, goal).unwrap()).unwrap()
    }

    #[test]
    fn luck_is_planned_with() {
        for p in [0.1, 0.01, 1e-4] {
            let sizes = [1, 10, 100].map(|n| plan(&Goal::new(1000, p).set("n", n)).flat);
            let classic = theory::bits_for(1000, p);
            // Whole k: up to 3 % more than the formula for real k.
            assert!(sizes[0].m >= classic && sizes[0].m < classic + classic / 30, "{p}: {sizes:?}");
            assert!(sizes[2].m < sizes[1].m && sizes[1].m < sizes[0].m, "{p}: {sizes:?}");
            for (flat, n) in sizes.into_iter().zip([1, 10, 100]) {
                let rate = Luck::of(n).fpr(flat, 1000);
                assert!((rate / p - 1.0).abs() < 0.01, "{p}, {n}: {rate}");
            }
        }
    }

    #[test]
    fn the_seed_index_counts_towards_the_memory() {
        let goal = Goal { items: Some(100), bits: Some(1000), ..Goal::default() };
        let m = plan(&goal.set("n", 100)).flat.m;
        assert!((991..=993).contains(&m), "{m} bits and 7 of the seed");
    }

    #[test]
    fn endless_searches_are_refused() {
        let keys: Vec<u64> = (0..10_000).collect();
        let refused = BestOfN::of(&keys, 100_000, 7, MAX_TRIES, Hasher::default()).unwrap_err();
        assert_eq!(refused.kind(), Kind::BadParameter);
        assert!(
            refused.to_string().contains("lower n so that there are at most 240069 "),
            "{refused}"
        );
        assert!(BestOfN::of(&keys[..10], 100, 7, 1000, Hasher::default()).is_ok());
    }
}

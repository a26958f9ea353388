//! The power of two choices (Lumetta, Mitzenmacher 2007; catalogue R11; S0 §II-C4, S3 §IV-B).
//!
//! The standard filter with d groups of k hashes, d = 2 as a rule. A key is inserted by whichever group
//! finds most of its bits set already; a query does not know which one that was and tries them all:
//!
//! ```text
//!   bits     0 1 1 0 0 1 0 0 1 0
//!   group 0  ↑   ↑       ↑          insert x: 2 zeros to set
//!   group 1    ↑     ↑     ↑                  1 zero to set: chosen
//!
//!   x?       group 0 finds only ones, or group 1 does
//! ```
//!
//! Fewer ones, but d chances to pass: f = 1 − (1 − ρ^k)^d. What the choice saves grows with k, what the
//! second chance costs is always a factor of two, so there is a break-even, between 8 and 16 bits a key:
//!
//! | bits a key | 8 | 16 | 24 | 32 |
//! |---|---|---|---|---|
//! | standard | 0.0217 | 4.59e-4 | 9.99e-6 | 2.10e-7 |
//! | two choices | 0.0257 | 3.94e-4 | 6.95e-6 | 1.29e-7 |
//!
//! **Use it** for low rates in fixed space, if keys arrive one by one and reading d·k bits is affordable. **Don't**
//! above a rate of about 0.1 %, where it is worse than `bloom` in every respect, nor for sets that are known in
//! advance: `partitioned-hashing` chooses without giving non-members a second chance. Filters cannot be merged
//! exactly: the choice for a key depends on the keys before it.
//!
//! A key that is inserted again adds nothing: the group that holds it has no zero left, so it, or
//! another such group, is the choice. (The catalogue warns of further ones here; fewest-new-bits has none.)

use crate::cells::Bits;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{flat_bits, methods, owns};
use crate::probe::{Coincide, Probe, place_fewest};
use crate::theory::choice;
use crate::variant::prelude::*;

/// A set in m bits, each key by the best of d groups of k probes.
///
/// ```
/// let mut seen = everbloom::membership::TwoChoices::with_rate(1000, 1e-5)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TwoChoices {
    head: Head,
    part: ProbedBits<Groups>,
}

state!(plain TwoChoices { head, ..part });

/// d groups of k probes, told apart by salts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Groups {
    probe: Probe,
    d: u64,
}

state!(inline Groups { probe, d });

/// The most groups a key may choose from: a query reads up to d·k bits.
const MAX_D: u64 = 64;

impl TwoChoices {
    /// A filter of `m` bits and `d` groups of `k` probes, all at least 1, and d at most 64.
    pub fn with_shape(m: u64, k: u32, d: u64, hasher: Hasher) -> Result<Self> {
        if !(1..=MAX_D).contains(&d) {
            return Err(Error::setting("d", d, format!("there must be 1 to {MAX_D} groups")));
        }
        Self::empty(&Shape { flat: Flat { m, k }.checked()?, d }, Head::new(hasher, FORM))
    }

    /// Number of bits.
    pub fn m(&self) -> u64 {
        self.part.m()
    }

    /// Number of probes of one group.
    pub fn k(&self) -> u32 {
        self.part.probe.probe.k()
    }

    /// Number of groups.
    pub fn d(&self) -> u64 {
        self.part.probe.d
    }

    /// The bits.
    pub fn bits(&self) -> &Bits {
        &self.part.bits
    }
}

impl Groups {
    fn check(&self) -> Result<()> {
        if (1..=MAX_D).contains(&self.d) {
            return Ok(());
        }
        Err(Error::corrupt(0, format!("corrupt filter: {} groups to choose from", self.d)))
    }
}

impl Probes for Groups {
    fn m(&self) -> u64 {
        self.probe.m()
    }

    /// Whether `f` holds for every bit of a group, whichever it is.
    #[inline]
    fn all(&self, digest: Digest, mut f: impl FnMut(u64) -> bool) -> bool {
        (0..self.d).any(|group| self.probe.all(digest.salted(group), &mut f))
    }

    /// By the group that adds the fewest ones, of equals the lowest. A key that was there before has a group
    /// without zeros, which adds nothing.
    #[inline]
    fn set(&self, bits: &mut Bits, digest: Digest) -> bool {
        let (_, added) = place_fewest(bits, self.d, |group, mark| {
            self.probe.each(digest.salted(group), mark);
        });
        added > 0
    }

    fn fpr(&self, bits: &Bits) -> f64 {
        rate_at(bits.fill(), self.probe.k(), self.d)
    }

    fn describe(&self) -> Vec<Fact> {
        flat_bits::described(&self.probe, fact("d", self.d))
    }

    fn check(&self, bits: u64) -> Result<()> {
        self.probe.check_flat(bits)
    }
}

/// The rate at a fill: a non-member passes by one of `d` independent groups, f = 1 − (1 − ρ^k)^d (R11).
pub fn rate_at(fill: f64, k: u32, d: u64) -> f64 {
    -libm::expm1(d as f64 * libm::log1p(-libm::pow(fill, f64::from(k))))
}

/// The fill at which the rate is `fpr`: [`rate_at`] solved for ρ.
pub fn fill_at(fpr: f64, k: u32, d: u64) -> f64 {
    let one_group = -libm::expm1(libm::log1p(-fpr) / d as f64);
    libm::pow(one_group, 1.0 / f64::from(k))
}

/// Bits, probes of a group, groups.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    flat: Flat,
    d: u64,
}

impl Shape {
    /// Fill after `n` keys and its spread, by the equation of large filters (see [`choice`]).
    fn fill(&self, n: u64) -> (f64, f64) {
        let Flat { m, k } = self.flat;
        let m = m as f64;
        choice::fill_after(n as f64 / m, m, |z| choice::fewest(k.into(), z, self.d))
    }

    fn fpr(&self, n: u64) -> f64 {
        rate_at(self.fill(n).0, self.flat.k, self.d)
    }
}

impl Plan for TwoChoices {
    type Shape = Shape;

    /// The fewest bits over all k: the fill that the rate allows says how many keys a bit can take.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let d = request.integer(PARAM_D.name).unwrap_or(2);
        let cells = |n: u64, p: f64, k: u32| {
            let added = |z| choice::fewest(k.into(), z, d);
            n as f64 / choice::steps_for(fill_at(p, k, d), added)
        };
        let rate = |flat, n| Shape { flat, d }.fpr(n);
        let (flat, _) = Flat::search(request, |_| 0, cells, rate)?;
        Ok(Shape { flat, d })
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        // Repetitions add nothing.
        let n = load.distinct;
        Some(
            Expect::one_sided(shape.fpr(n), shape.flat.m, Some(shape.fill(n)))
                .probing(shape.flat.k),
        )
    }
}

impl Stream for TwoChoices {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let Flat { m, k } = shape.flat;
        let probe = Groups { probe: Probe::over(m, k), d: shape.d };
        Ok(Self { head, part: ProbedBits::probed(probe)? })
    }
}

// Not `BulkInsert`, which may take keys in any order: what a key chooses depends on those before it.
face!(TwoChoices: Insert, Bulk);
planned!(TwoChoices);
owns!(TwoChoices { part: ProbedBits<Groups> });
methods!(TwoChoices:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(TwoChoices: Insert);

impl Filter for TwoChoices {
    fn part(&self) -> Option<&dyn Part> {
        Some(&self.part)
    }

    /// The cells of the group that lets the key pass, or else of the first.
    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let (digest, bits) = (self.head.hasher.digest(key), self.bits());
        let Groups { probe, d } = self.part.probe;
        let passes = |group: &u64| probe.all(digest.salted(*group), |i| bits.get(i));
        let group = (0..d).find(passes).unwrap_or(0);
        touched(&probe.collect(digest.salted(group), Coincide::PerHash), |i| bits.get(i).into())
    }
}

const PARAM_D: Param =
    Param::integer("d", 1, MAX_D, "groups of hashes a key chooses from").or(Preset::Integer(2));

/// The list entry.
pub static VARIANT: Variant = Variant::of::<TwoChoices>(Facts {
    id: 21,
    slug: "two-choices",
    entry: "R11",
    question: "Is it in the set, with fewer false positives at equal bits, for two queries per key?",
    name: "Power-of-two-choices Bloom filter",
    paper: "S. Lumetta, M. Mitzenmacher, Using the power of two choices to improve Bloom filters, \
            Internet Mathematics 4(1), 2007",
    family: "membership",
    needs: &["membership", "accurate"],
    forms: &[Form::exact(FORM, &[Ability::Insert])],
    params: &[PARAM_M, PARAM_K, PARAM_D],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn plans_meet_the_rate_and_not_by_far() {
        for d in [1, 2, 3, 8] {
            for p in [0.5, 0.01, 1e-5, 1e-12] {
                let goal = Goal::new(100_000, p).set("d", d);
                let shape = TwoChoices::plan(&Request::new(&VARIANT, &goal).unwrap()).unwrap();
                let rate = shape.fpr(100_000);
                assert!((rate / p - 1.0).abs() < 0.002, "d = {d}, p = {p}: {rate} by {shape:?}");
                // One probe more or fewer needs more room.
                for k in [shape.flat.k - 1, shape.flat.k + 1].into_iter().filter(|k| *k > 0) {
                    let goal = goal.clone().set("k", k);
                    let other = TwoChoices::plan(&Request::new(&VARIANT, &goal).unwrap()).unwrap();
                    assert!(other.flat.m >= shape.flat.m, "d = {d}, p = {p}, k = {k}");
                }
            }
        }
    }

    #[test]
    fn rate_and_fill_are_inverse() {
        for (p, k, d) in [(0.3, 1, 2), (1e-9, 30, 2), (1e-300, 900, 5), (0.01, 7, 1)] {
            assert!((rate_at(fill_at(p, k, d), k, d) / p - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_file_with_too_many_groups_is_refused() {
        let mut filter = TwoChoices::with_shape(100, 3, 2, Hasher::default()).unwrap();
        filter.insert("a");
        let back: TwoChoices = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        for d in [0, MAX_D + 1, u64::MAX] {
            let mut alien = filter.clone();
            alien.part.probe.d = d;
            assert!(Opener::new().decode(&to_bytes(&alien)).is_err());
        }
    }
}

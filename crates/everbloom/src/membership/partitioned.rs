//! The partitioned Bloom filter (catalogue F2; S0 §II-C3, S1 §2.1, S3 §VIII-C3).
//!
//! The standard filter cut into k slices of m' = ⌊m/k⌋ bits, one for each hash. Every key sets one bit
//! in every slice, so k banks of memory can be read at once, and no two hashes of a key can meet:
//!
//! ```text
//!    slice 1     slice 2     slice 3
//!  ┌─────────┐ ┌─────────┐ ┌─────────┐
//!  │0 0 1 0 0│ │1 0 0 0 1│ │0 1 0 1 0│     z? slice 2 says no
//!  └─────────┘ └─────────┘ └─────────┘
//!       ↑       ↑                 ↑
//!      h₁(x)   h₂(x)             h₃(x)
//! ```
//!
//! With n keys inside, f = (1 − (1 − 1/m')ⁿ)^k of all other keys pass. That is exact, since slices are
//! independent of each other, and a trifle above the standard filter, whose bits are shared: at 10⁴
//! bits 0.1 to 0.3 %, at 10⁶ nothing that can be seen.
//!
//! **Use it** where probes run in parallel or in separate memories, and where the rate has to be known
//! exactly. **Don't** in a single memory, where `bloom` does the same with one array.

use crate::cells::Bits;
use crate::plan::MAX_CELLS;
use crate::probe::{Coincide, MAX_K, Partitioned, Probe, Scheme};
use crate::theory::bloom as theory;
use crate::variant::prelude::*;

/// A set in k slices of bits, with one probe into each.
///
/// ```
/// let mut seen = everbloom::membership::PartitionedBloom::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedBloom {
    head: Head,
    probe: Probe,
    bits: Bits,
}

state!(PartitionedBloom { head, probe, bits });

impl PartitionedBloom {
    /// A filter of `k` slices that share `m` bits; the remainder of m/k is not used.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        Self::empty(&Shape::cut(m, k)?, Head::new(hasher, FORM))
    }

    /// Inserts a key.
    #[inline]
    pub fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Seen {
        let digest = self.head.hasher.digest(key);
        let bits = &mut self.bits;
        let mut new = false;
        self.probe.each(digest, |i| new |= bits.set(i));
        self.head.count(1);
        if new { Seen::New } else { Seen::Maybe }
    }

    /// Whether the key may be a member.
    #[inline]
    pub fn contains<K: Key + ?Sized>(&self, key: &K) -> bool {
        self.probe.all(self.head.hasher.digest(key), |i| self.bits.get(i))
    }

    /// Forgets every key.
    pub fn clear(&mut self) {
        self.bits.clear();
        self.head.items = 0;
    }

    /// Number of bits in all slices.
    pub fn m(&self) -> u64 {
        self.probe.m()
    }

    /// Number of slices, and of probes per key.
    pub fn k(&self) -> u32 {
        self.probe.k()
    }

    /// Bits per slice.
    pub fn slice(&self) -> u64 {
        self.m() / u64::from(self.k())
    }

    /// The bits, slice after slice.
    pub fn bits(&self) -> &Bits {
        &self.bits
    }

    /// Makes this the filter of the union of both sets, exactly. Items are then estimated from the
    /// zeros, since nobody knows how many keys the sets share.
    pub fn union(&mut self, other: &PartitionedBloom) -> Result<()> {
        self.agree(other)?;
        self.bits.union(&other.bits);
        self.head.count(other.head.items);
        if let Some(n) = self.cardinality() {
            self.head.items = n.round() as u64;
        }
        Ok(())
    }

    /// Keeps what both filters hold: every common key passes, and a few others that the filter of the
    /// true intersection would not let pass (S0 theorem 2).
    pub fn intersect(&mut self, other: &PartitionedBloom) -> Result<()> {
        let both = self.intersection_size(other)?;
        self.bits.intersect(&other.bits);
        let most = self.head.items.min(other.head.items);
        self.head.items = both.map_or(most, |n| n.max(0.0).round() as u64).min(most);
        Ok(())
    }

    /// Halves every slice: same keys, half the bits, a higher rate (S1 §2.4).
    pub fn fold(&self) -> Result<PartitionedBloom> {
        // Slices have an even length here, so the pairs of neighbors never straddle two of them.
        let (probe, pairing) = self.probe.fold()?;
        Ok(PartitionedBloom { head: self.head.clone(), probe, bits: self.bits.fold(pairing) })
    }

    /// The number of distinct keys: an estimate from the zeros of each slice, averaged. `None` if a
    /// slice has no zero left.
    ///
    /// The zeros of all slices together would not do: a bit of a slice is missed by n throws into m'
    /// cells, not by kn throws into m.
    pub fn cardinality(&self) -> Option<f64> {
        let slice = self.slice();
        self.mean_of_slices(|start| theory::cardinality(zeros(&self.bits, start, slice), slice, 1))
    }

    /// The number of distinct keys in both filters, estimated slice by slice (S1 §2.4); `None` where a
    /// slice is too full to tell.
    pub fn intersection_size(&self, other: &PartitionedBloom) -> Result<Option<f64>> {
        self.agree(other)?;
        let slice = self.slice();
        let mut both = self.bits.clone();
        both.intersect(&other.bits);
        Ok(self.mean_of_slices(|start| {
            let [a, b, ab] = [&self.bits, &other.bits, &both].map(|x| zeros(x, start, slice));
            theory::intersection_size(a, b, ab, slice, 1)
        }))
    }

    /// The first bit of every slice.
    fn starts(&self) -> impl Iterator<Item = u64> {
        let slice = self.slice();
        (0..u64::from(self.k())).map(move |i| i * slice)
    }

    fn mean_of_slices(&self, estimate: impl FnMut(u64) -> Option<f64>) -> Option<f64> {
        let sum: f64 = self.starts().map(estimate).sum::<Option<f64>>()?;
        Some(sum / f64::from(self.k()))
    }

    fn agree(&self, other: &PartitionedBloom) -> Result<()> {
        self.head.agree(&other.head)?;
        self.probe.agree(&other.probe)
    }

    fn check(&self) -> Result<()> {
        self.probe.check(self.bits.len())?;
        if self.probe.scheme() == Scheme::Partitioned {
            Ok(())
        } else {
            Err(Error::corrupt(0, "corrupt filter: the probes are not partitioned"))
        }
    }
}

fn zeros(bits: &Bits, start: u64, slice: u64) -> u64 {
    slice - bits.ones_in(start, slice)
}

/// The least slice in which `n` keys leave at most a share `fpr^{1/k}` of ones, so that k of them meet
/// `fpr`: m' = 1/(1 − (1 − p^{1/k})^{1/n}), the exact rate of F2 solved for m'.
///
/// For large n that is n/−ln(1 − p^{1/k}), the slice of the standard filter's formula, plus one half.
pub fn slice_for(n: f64, fpr: f64, k: u32) -> f64 {
    let fill = libm::pow(fpr, 1.0 / f64::from(k));
    (-1.0 / libm::expm1(libm::log1p(-fill) / n)).ceil().max(1.0)
}

/// Bits per slice, and slices.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    slice: u64,
    k: u32,
}

impl Shape {
    /// `m` bits cut into `k` slices.
    pub(crate) fn cut(m: u64, k: u32) -> Result<Self> {
        if !(1..=MAX_K).contains(&k) || u64::from(k) > m || m > MAX_CELLS {
            return Err(Error::parameter(format!(
                "{m} bits cannot be cut into {k} slices: k goes from 1 to {MAX_K} and not above m, \
                 m up to {MAX_CELLS}"
            )));
        }
        Ok(Self { slice: m / u64::from(k), k })
    }

    /// The probes of this shape.
    pub(crate) fn probe(&self) -> Probe {
        Probe::Partitioned(Partitioned::new(self.slice, self.k))
    }

    fn fpr(&self, n: u64) -> f64 {
        theory::fpr_partitioned(self.slice as f64, n as f64, f64::from(self.k))
    }

    /// The best way to cut `m` bits for `n` keys: with slices rounded down the optimum may lie one
    /// beside the standard filter's.
    fn best_cut(m: u64, n: u64) -> Result<Self> {
        let near = u64::from(theory::best_k(m, n)).min(u64::from(MAX_K)).min(m) as u32;
        let mut best = Self::cut(m, near)?;
        for k in [near.saturating_sub(1), near + 1] {
            if let Ok(cut) = Self::cut(m, k)
                && cut.fpr(n) < best.fpr(n)
            {
                best = cut;
            }
        }
        Ok(best)
    }
}

impl Plan for PartitionedBloom {
    type Shape = Shape;

    /// The least m with the best k or the given one, so that the exact rate stays below p. Slices are
    /// even, so that the filter folds.
    fn plan(request: &Request<'_>) -> Result<Shape> {
        let k_set = request.integer(PARAM_K.name).map(|k| k as u32);
        if let Some(m) = request.integer(PARAM_M.name) {
            return match (k_set, request.goal_items()) {
                (Some(k), _) => Shape::cut(m, k),
                (None, Some(n)) => Shape::best_cut(m, n),
                (None, None) => {
                    Err(Error::parameter("--set m without k needs -n, to choose the best k"))
                }
            };
        }
        let sized = |n: u64, p: f64| {
            // Half full is best, which takes log2(1/p) slices; of its neighbors the smaller filter.
            let best = (-libm::log2(p)).floor().max(1.0) as u32;
            let ks = k_set.map_or(best..=best + 1, |k| k..=k);
            let even = |k: u32| (slice_for(n as f64, p, k) / 2.0).ceil() * 2.0;
            let sizes = ks.map(|k| (even(k), k));
            sizes.min_by(|a, b| bits_of(*a).total_cmp(&bits_of(*b))).unwrap_or((f64::INFINITY, 1))
        };
        let (n, p) = request.items_and_rate(|n, p| bits_of(sized(n, p)))?;
        let (slice, k) = sized(n, p);
        let wanted = bits_of((slice, k));
        if wanted <= MAX_CELLS as f64 {
            return Ok(Shape { slice: slice as u64, k });
        }
        Err(Error::parameter(format!(
            "{n} items at a rate of {p} need {wanted:e} bits, more than {MAX_CELLS}: \
             ask for fewer items or a higher rate"
        )))
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let (slice, k, n) = (shape.slice as f64, f64::from(shape.k), load.distinct);
        // Every slice takes n throws, independently of the others.
        let fill = (theory::fill(slice, n as f64), theory::fill_sd(slice, n as f64) / k.sqrt());
        Some(Expect::one_sided(shape.fpr(n), shape.slice * u64::from(shape.k), Some(fill)))
    }
}

impl Stream for PartitionedBloom {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        let probe = shape.probe();
        Ok(Self { head, bits: Bits::new(probe.m()), probe })
    }
}

fn bits_of((slice, k): (f64, u32)) -> f64 {
    slice * f64::from(k)
}

face!(PartitionedBloom: Insert, Merge, Estimate, Intersect, Fold);
planned!(PartitionedBloom);

impl Filter for PartitionedBloom {
    fn query(&self, record: Record<'_>) -> Result<Answer> {
        Ok(Answer::of(self.contains(record.key)))
    }

    fn fill(&self) -> Option<f64> {
        Some(self.bits.ones() as f64 / self.m() as f64)
    }

    /// The product of the fills of the slices: the probes are independent.
    fn now(&self) -> Rates {
        let slice = self.slice();
        let fill = |start| self.bits.ones_in(start, slice) as f64 / slice as f64;
        Rates::one_sided(self.starts().map(fill).product())
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.m()), fact("k", self.k()), fact("slice", self.slice())]
    }

    fn trace(&self, key: &[u8]) -> Vec<Touched> {
        let indices = self.probe.collect(self.head.hasher.digest(key), Coincide::PerHash);
        touched(&indices, |i| self.bits.get(i).into())
    }
}

keyed!(PartitionedBloom: Insert, Union);

keyed!(PartitionedBloom: Estimate, Intersect, Fold);

const FORM: &str = "standard";

/// The list entry.
pub static VARIANT: Variant = Variant {
    facts: Facts {
        id: 2,
        slug: "partitioned",
        entry: "F2",
        name: "Partitioned Bloom filter",
        paper: "S. Tarkoma, C. E. Rothenberg, E. Lagerspetz, Theory and practice of Bloom filters for \
                distributed systems, IEEE Comm. Surveys & Tutorials 14(1), 2012, §II-C3",
        family: "membership",
        needs: &["membership", "merge", "estimate", "fold", "parallel"],
        forms: &[Form::exact(
            FORM,
            &[
                Ability::Insert,
                Ability::Merge,
                Ability::Intersect,
                Ability::Fold,
                Ability::Estimate,
            ],
        )],
        params: &[PARAM_M, PARAM_K],
        ..Facts::FILTER
    },
    ops: Ops::of::<PartitionedBloom>(),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Shape> {
        PartitionedBloom::plan(&Request::new(&VARIANT, goal)?)
    }

    #[test]
    fn planned_slices_meet_the_rate_exactly_and_fold() {
        for n in [1u64, 2, 3, 10, 1000, 123_457, 1 << 30] {
            for p in [0.9, 0.5, 0.3, 0.01, 1e-5, 1e-30, 1e-300] {
                let shape = plan(&Goal::new(n, p)).unwrap();
                assert!(shape.fpr(n) <= p * (1.0 + 1e-12), "{n} {p} {shape:?}");
                assert!(shape.slice.is_multiple_of(2));
                // Two cells fewer per slice would not do.
                let tight = Shape { slice: shape.slice - 2, ..shape };
                assert!(shape.slice == 2 || tight.fpr(n) > p, "{n} {p} {shape:?}");
            }
        }
        let by_hand = plan(&Goal::new(1000, 0.01).set("k", 3)).unwrap();
        assert_eq!(by_hand.k, 3);
        assert!(by_hand.fpr(1000) <= 0.01);
    }

    #[test]
    fn memory_is_kept() {
        for bytes in [1000u64, 1250, 99_999] {
            let goal = Goal { items: Some(1000), bits: Some(8 * bytes), ..Goal::default() };
            let Shape { slice, k } = plan(&goal).unwrap();
            let used = slice * u64::from(k);
            assert!(used <= 8 * bytes && used + 4 * u64::from(k) >= 8 * bytes, "{bytes}: {used}");
            let goal = Goal { bits: Some(8 * bytes), fpr: Some(0.01), ..Goal::default() };
            let Shape { slice, k } = plan(&goal).unwrap();
            assert!(slice * u64::from(k) <= 8 * bytes);
        }
    }

    #[test]
    fn cuts_that_leave_no_bit_to_a_slice_are_refused() {
        let refused = |goal: Goal| plan(&goal).unwrap_err().kind() == Kind::BadParameter;
        assert!(refused(Goal::default().set("m", 6).set("k", 7)));
        assert!(PartitionedBloom::with_shape(6, 7, Hasher::default()).is_err());
        assert!(PartitionedBloom::with_shape(6, 0, Hasher::default()).is_err());
        assert!(refused(Goal::default().set("m", 600)));
        assert!(refused(Goal::new(u64::MAX, 1e-9)));
        // With one key for 3 bits the standard filter would like k = 2; slices of one bit are useless.
        assert!(plan(&Goal::new(1, 0.01).set("m", 3)).unwrap().fpr(1) < 1.0);
    }

    #[test]
    fn a_file_with_other_probes_is_refused() {
        let mut filter = PartitionedBloom::with_shape(140, 7, Hasher::default()).unwrap();
        filter.insert("a");
        let back: PartitionedBloom = Opener::new().decode_as(&to_bytes(&filter)).unwrap();
        assert_eq!(back, filter);
        let alien = PartitionedBloom { probe: Probe::over(140, 7), ..filter };
        assert!(Opener::new().decode(&to_bytes(&alien)).is_err());
    }
}

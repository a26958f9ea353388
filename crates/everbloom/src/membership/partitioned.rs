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
//! independent of each other. It is slightly above the standard filter, whose bits are shared: by 0.1 to
//! 0.3 % at 10⁴ bits, by nothing that can be seen at 10⁶.
//!
//! **Use it** if probes run in parallel or in separate memories, and if the rate has to be known exactly. **Don't**
//! in a single memory, where `bloom` does the same with one array.

use crate::cells::Bits;
use crate::parts::slices::EvenSlices;
use crate::parts::{methods, owns, sets};
use crate::plan::Slices;
use crate::variant::prelude::*;

/// A set in k slices of bits, with one probe into each.
///
/// ```
/// let mut seen = everbloom::membership::PartitionedBloom::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionedBloom {
    head: Head,
    slices: EvenSlices,
}

state!(plain PartitionedBloom { head, ..slices });

impl PartitionedBloom {
    /// A filter of `k` slices that share `m` bits; the remainder of m/k is not used.
    pub fn with_shape(m: u64, k: u32, hasher: Hasher) -> Result<Self> {
        Self::empty(&Slices::cut(m, k)?, Head::new(hasher, FORM))
    }

    /// Number of bits in all slices.
    pub fn m(&self) -> u64 {
        self.slices.m()
    }

    /// Number of slices, and of probes per key.
    pub fn k(&self) -> u32 {
        self.slices.probe.k()
    }

    /// Bits per slice.
    pub fn slice(&self) -> u64 {
        self.slices.probe.slice()
    }

    /// The bits, slice after slice.
    pub fn bits(&self) -> &Bits {
        &self.slices.bits
    }
}

impl Plan for PartitionedBloom {
    type Shape = Slices;

    fn plan(request: &Request<'_>) -> Result<Slices> {
        Slices::plan(request)
    }

    fn expect(shape: &Slices, load: &Load) -> Option<Expect> {
        Some(shape.expect(load))
    }
}

impl Stream for PartitionedBloom {
    fn empty(shape: &Slices, head: Head) -> Result<Self> {
        Ok(Self { head, slices: EvenSlices::probed(shape.probe())? })
    }
}

face!(PartitionedBloom: Insert, Merge, Estimate, Intersect, Fold, Bulk, BulkInsert);
planned!(PartitionedBloom);
owns!(PartitionedBloom { slices: EvenSlices });
methods!(PartitionedBloom:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(PartitionedBloom: Insert);
sets!(PartitionedBloom: slices);

by_part!(PartitionedBloom: slices);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<PartitionedBloom>(Facts {
    id: 2,
    slug: "partitioned",
    entry: "F2",
    question: "Is it in the set, with one slice of memory per hash?",
    name: "Partitioned Bloom filter",
    paper: "S. Tarkoma, C. E. Rothenberg, E. Lagerspetz, Theory and practice of Bloom filters for \
            distributed systems, IEEE Comm. Surveys & Tutorials 14(1), 2012, §II-C3",
    family: "membership",
    needs: &["membership", "merge", "estimate", "fold", "parallel"],
    forms: &[Form::exact(FORM, Ability::OF_SETS)],
    params: &[PARAM_M, PARAM_K],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    fn plan(goal: &Goal) -> Result<Slices> {
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
                let tight = Slices { slice: shape.slice - 2, ..shape };
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
            let Slices { slice, k } = plan(&goal).unwrap();
            let used = slice * u64::from(k);
            assert!(used <= 8 * bytes && used + 4 * u64::from(k) >= 8 * bytes, "{bytes}: {used}");
            let goal = Goal { bits: Some(8 * bytes), fpr: Some(0.01), ..Goal::default() };
            let Slices { slice, k } = plan(&goal).unwrap();
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
        let other = crate::probe::Partitioned::new(21, 7);
        let alien = EvenSlices { probe: other, ..filter.slices.clone() };
        let alien = PartitionedBloom { slices: alien, ..filter };
        assert!(Opener::new().decode(&to_bytes(&alien)).is_err());
    }
}

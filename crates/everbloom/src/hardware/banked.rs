//! The banked Bloom filter (Breternitz and others 2008; catalogue I17; S0 §IV-D, ref. 125).
//!
//! Memory with one port answers one read a cycle. A filter cut into B banks answers k at once, if no
//! two of a key's probes fall into the same bank; so they are sent to banks one stride s apart,
//! bank_j = (b₀ + j·s) mod B:
//!
//! ```text
//!              bank 0     bank 1     bank 2     bank 3     bank 4     bank 5     bank 6     bank 7
//!            ┌──────────┬──────────┬──────────┬──────────┬──────────┬──────────┬──────────┬──────────┐
//!   k = 3    │          │       1  │          │   1      │          │          │ 1        │          │
//!   s = 3    └──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
//!                          b₀ + 2s                b₀                              b₀ + s
//! ```
//!
//! A stride that has no factor in common with B repeats no bank before all were visited: with k ≤ B every
//! query takes one cycle, where a plain filter spread over the banks would have k − B(1 − (1 − 1/B)^k) of
//! its probes wait for another ([`Cost`]).
//!
//! A key sets a given bit with probability k/m, so f ≈ (1 − (1 − k/m)ⁿ)^k. With B = k this is the
//! partitioned filter, and exact. With more banks than probes, banks get unequally many keys, and those of
//! a key are neighbors that fill up together: that costs 0.5 % of the rate at B = 16 and 2 % at B = 40
//! (k = 5, 8 bits a key), and [`false_positives`] knows.
//!
//! **Use it** if memory comes in banks: in hardware, or spread over machines. **Don't** in a single memory, where
//! `bloom` does the same with one array.

use super::banks::MAX_BANKS;
pub use super::banks::{Cost, Shape, false_positives, random_conflicts};
use crate::cells::Bits;
use crate::error::agree;
use crate::parts::probed_bits::{ProbedBits, Probes};
use crate::parts::{methods, owns, sets};
use crate::variant::prelude::*;

/// A set in banks of bits, with no two probes of a key in the same one.
///
/// ```
/// let mut seen = everbloom::hardware::Banked::with_rate(1000, 0.01)?;
/// seen.insert("apple");
/// assert!(seen.contains("apple"));
/// assert!(!seen.contains("pear"));
/// assert_eq!(seen.cost("pear").cycles, 1);
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Banked {
    head: Head,
    part: ProbedBits<Shape>,
}

state!(plain Banked { head, ..part });
state!(inline Shape as shape);

impl Banked {
    /// A filter of this shape.
    pub fn with_shape(shape: Shape, hasher: Hasher) -> Result<Self> {
        shape.valid()?;
        Self::empty(&shape, Head::new(hasher, FORM))
    }

    /// What a query for the key costs: one cycle, always.
    pub fn cost<K: Key + ?Sized>(&self, key: &K) -> Cost {
        let (digest, shape) = (self.head.hasher.digest(key), self.shape());
        let banks: Vec<u64> = shape.indices(digest).map(|i| i / shape.bank).collect();
        Cost::of(&banks)
    }

    /// Number and size of the banks, and how probes are sent to them.
    pub fn shape(&self) -> Shape {
        self.part.probe
    }

    /// The bits, bank after bank.
    pub fn bits(&self) -> &Bits {
        &self.part.bits
    }
}

impl Probes for Shape {
    fn m(&self) -> u64 {
        Shape::m(self)
    }

    #[inline]
    fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
        self.indices(digest).all(f)
    }

    /// The mean over the banks to start from of the product of the fills along the stride.
    fn fpr(&self, bits: &Bits) -> f64 {
        let Shape { banks, stride, bank, k } = *self;
        let fill = |b: u32| bits.ones_in(u64::from(b) * bank, bank) as f64 / bank as f64;
        let fills: Vec<f64> = (0..banks).map(fill).collect();
        let from = |first: u32| -> f64 {
            let along = |j: u32| (u64::from(first) + u64::from(j) * u64::from(stride)) as usize;
            (0..k).map(|j| fills[along(j) % banks as usize]).product()
        };
        (0..banks).map(from).sum::<f64>() / f64::from(banks)
    }

    fn describe(&self) -> Vec<Fact> {
        let Shape { banks, stride, bank, k } = *self;
        vec![
            fact("m", self.m()),
            fact("k", k),
            fact("banks", banks),
            fact("bank", bank),
            fact("stride", stride),
            fact("cycles per query", 1u32),
            real("conflicts spared per query", random_conflicts(banks, k)),
        ]
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("number of banks", self.banks, other.banks)?;
        agree("bits per bank", self.bank, other.bank)?;
        agree("k", self.k, other.k)?;
        agree("stride", self.stride, other.stride)
    }

    /// ln(Z/m)/ln(1 − k/m); `None` without zeros, and where every bank has but one bit, which tells nothing.
    fn cardinality(&self, bits: &Bits) -> Option<f64> {
        let (zeros, hit) = (bits.zeros(), self.hit());
        let share = zeros as f64 / self.m() as f64;
        (zeros > 0 && hit < 1.0).then(|| libm::log(share) / libm::log1p(-hit))
    }
}

impl Plan for Banked {
    type Shape = Shape;

    fn plan(request: &Request<'_>) -> Result<Shape> {
        Shape::plan(request)
    }

    fn expect(shape: &Shape, load: &Load) -> Option<Expect> {
        let n = load.distinct;
        Some(
            Expect::one_sided(false_positives(shape, n), shape.m(), Some(shape.fill(n)))
                .probing(shape.k),
        )
    }
}

impl Stream for Banked {
    fn empty(shape: &Shape, head: Head) -> Result<Self> {
        Ok(Self { head, part: ProbedBits::probed(*shape)? })
    }
}

face!(Banked: Insert, Merge, Bulk, BulkInsert);
planned!(Banked);
owns!(Banked { part: ProbedBits<Shape> });
methods!(Banked:
    insert, contains, clear, insert_many, contains_many, contains_many_into, contains_iter);
keyed!(Banked: Insert);
sets!(@union Banked: part);

by_part!(Banked: part);

/// The list entry.
pub static VARIANT: Variant = Variant::of::<Banked>(Facts {
    id: 35,
    slug: "banked",
    entry: "I17",
    question: "Is it in the set, in memory banks that are read at the same time?",
    name: "Banked (segmented) Bloom filter",
    paper: "M. Breternitz, G. Loh, B. Black, J. Rupley, P. Sassone, W. Attrot, Y. Wu, A segmented Bloom \
            filter algorithm for efficient predictors, SBAC-PAD 2008",
    family: "hardware",
    needs: &["membership", "merge", "parallel"],
    forms: &[Form::exact(FORM, &[Ability::Insert, Ability::Merge])],
    params: &[
        PARAM_M,
        PARAM_K,
        Param::integer(
            "banks",
            1,
            MAX_BANKS as u64,
            "number of banks, at least k; by default the next power of two",
        ),
        Param::integer(
            "stride",
            1,
            MAX_BANKS as u64,
            "banks from one probe to the next, without a factor in common with their number",
        )
        .or(Preset::Integer(1)),
    ],
    ..Facts::FILTER
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Opener, to_bytes};

    #[test]
    fn files_with_impossible_banks_are_refused() {
        let shape = Shape { banks: 8, stride: 3, bank: 10, k: 5 };
        let good = Banked::with_shape(shape, Hasher::default()).unwrap();
        let refused = |shape| {
            let part = ProbedBits { probe: shape, ..good.part.clone() };
            let liar = Banked { part, ..good.clone() };
            Opener::new().decode(&to_bytes(&liar)).is_err()
        };
        assert!(!refused(shape));
        assert!(refused(Shape { k: 9, ..shape }));
        assert!(refused(Shape { stride: 4, ..shape }));
        assert!(refused(Shape { stride: 0, banks: 1, bank: 80, k: 1 }));
        assert!(refused(Shape { bank: 11, ..shape }));
        assert!(refused(Shape { bank: u64::MAX / 8, ..shape }));
        assert!(refused(Shape { banks: 0, ..shape }));
    }
}

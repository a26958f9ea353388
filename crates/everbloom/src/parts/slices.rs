//! Slices of bits with one probe of a key into each, of one length or of several.
//!
//! Slices are independent of each other, so that f is the product of their fills, exactly; and each tells by
//! itself how many keys it holds.

use super::probed_bits::{ProbedBits, Probes};
use crate::cells::{Bits, Pairing};
use crate::error::{Result, agree};
use crate::filter::{Fact, fact};
use crate::hash::Digest;
use crate::probe::{Partitioned, Residues};
use crate::state::state;
use crate::theory::bloom as theory;

/// k slices of one length.
pub(crate) type EvenSlices = ProbedBits<Partitioned>;
/// Slices of coprime lengths.
pub(crate) type CoprimeSlices = ProbedBits<Residues>;

state!(inline Partitioned as probe);
state!(inline Residues as parts);

/// What slices of one length and of several share.
macro_rules! slices {
    () => {
        fn m(&self) -> u64 {
            Self::m(self)
        }

        #[inline]
        fn all(&self, digest: Digest, f: impl FnMut(u64) -> bool) -> bool {
            self.indices(digest).all(f)
        }

        fn fpr(&self, bits: &Bits) -> f64 {
            passing(bits, self.spans())
        }

        fn cardinality(&self, bits: &Bits) -> Option<f64> {
            cardinality(bits, self.spans())
        }
    };
}

impl Probes for Partitioned {
    slices!();

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.m()), fact("k", self.k()), fact("slice", self.slice())]
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("m", self.m(), other.m())?;
        agree("k", self.k(), other.k())
    }

    /// Slice by slice (S1 §2.4).
    fn intersection_size(&self, a: &Bits, b: &Bits) -> Option<f64> {
        let mut both = a.clone();
        both.intersect(b);
        mean(self.spans().map(|(start, slice)| {
            let [a, b, ab] = [a, b, &both].map(|bits| slice - bits.ones_in(start, slice));
            theory::intersection_size(a, b, ab, slice, 1)
        }))
    }

    fn fold(&self) -> Result<(Self, Pairing)> {
        Ok((Partitioned::fold(self)?, Pairing::Neighbors(1)))
    }
}

impl Probes for Residues {
    slices!();

    fn describe(&self) -> Vec<Fact> {
        let (first, last) = (self.parts()[0], self.parts()[self.parts().len() - 1]);
        vec![
            fact("m", self.m()),
            fact("k", self.k()),
            fact("first part", first),
            fact("last part", last),
        ]
    }

    fn agree(&self, other: &Self) -> Result<()> {
        agree("k", self.k(), other.k())?;
        let mut pairs = self.parts().iter().zip(other.parts());
        pairs.try_for_each(|(ours, theirs)| agree("length of a part", *ours, *theirs))
    }
}

/// The product of the fills.
fn passing(bits: &Bits, spans: impl Iterator<Item = (u64, u64)>) -> f64 {
    spans.map(|(start, slice)| bits.ones_in(start, slice) as f64 / slice as f64).product()
}

/// An estimate from the zeros of each slice, averaged; `None` if a slice has no zero left.
///
/// The zeros of all slices together would not do: a bit of a slice is missed by n throws into m' cells, not
/// by kn throws into m.
fn cardinality(bits: &Bits, spans: impl Iterator<Item = (u64, u64)>) -> Option<f64> {
    mean(
        spans.map(|(start, slice)| {
            theory::cardinality(slice - bits.ones_in(start, slice), slice, 1)
        }),
    )
}

fn mean(estimates: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let mut count = 0.0;
    let sum: f64 = estimates.inspect(|_| count += 1.0).sum::<Option<f64>>()?;
    Some(sum / count)
}

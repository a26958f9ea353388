//! The ring of buckets: whose a point is, and how that changes when a bucket comes or goes.

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::error::Result;
use crate::hash::mix64;
use crate::state::{Decoder, Encoder, Role, State};

pub(super) const MAX_POINTS: u32 = 64;
pub(super) const MAX_CHOICES: u32 = 8;

/// Buckets on a ring of 64-bit points. A point belongs to the bucket of the first ring point that is not below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ring {
    /// v, points of a bucket.
    pub(super) points: u32,
    /// k, buckets that a fingerprint may be in.
    pub(super) choices: u32,
    /// The name of the next bucket: names are never used again.
    next: u64,
    /// The name of each bucket, from which its points derive.
    names: Vec<u64>,
    /// All points in order, with the number of their bucket.
    circle: Vec<(u64, u32)>,
}

/// What tells points of buckets from points of fingerprints.
const POINT: u64 = 0xB11;

impl Ring {
    pub(super) fn new(buckets: u64, points: u32, choices: u32) -> Self {
        Self::of(points, choices, buckets, (0..buckets).collect())
    }

    fn of(points: u32, choices: u32, next: u64, names: Vec<u64>) -> Self {
        let point = |name: u64, i: u32| mix64(mix64(name ^ POINT << 48).wrapping_add(i.into()));
        let numbered = (0..).zip(&names);
        let all =
            numbered.flat_map(|(bucket, name)| (0..points).map(move |i| (point(*name, i), bucket)));
        let mut circle: Vec<(u64, u32)> = all.collect();
        circle.sort_unstable();
        Self { points, choices, next, names, circle }
    }

    /// Number of buckets.
    pub(super) fn len(&self) -> u64 {
        self.names.len() as u64
    }

    /// The bucket of the first ring point that is not below `point`; behind the last comes the first.
    fn owner(&self, point: u64) -> u64 {
        let at = self.circle.partition_point(|(p, _)| *p < point);
        let owner = self.circle.get(at).or(self.circle.first());
        owner.map_or(0, |(_, bucket)| u64::from(*bucket))
    }

    /// The buckets that a fingerprint may be in, each once.
    pub(super) fn candidates(&self, fingerprint: u64) -> SmallVec<[u64; 4]> {
        let mut candidates = SmallVec::new();
        for choice in 1..=u64::from(self.choices) {
            // A fingerprint has at most 56 bits.
            let bucket = self.owner(mix64(fingerprint | choice << 56));
            if !candidates.contains(&bucket) {
                candidates.push(bucket);
            }
        }
        candidates
    }

    /// The ring with one more bucket, the last, and the buckets that lose a part of their arcs to it.
    pub(super) fn with_another(&self) -> (Self, BTreeSet<u64>) {
        let mut names = self.names.clone();
        names.push(self.next);
        let grown = Self::of(self.points, self.choices, self.next + 1, names);
        let new = grown.circle.iter().filter(|(_, bucket)| u64::from(*bucket) == self.len());
        let cut = new.map(|(point, _)| self.owner(*point)).collect();
        (grown, cut)
    }

    /// The ring without a bucket, whose number goes to the last.
    pub(super) fn without(&self, bucket: u64) -> Self {
        let mut names = self.names.clone();
        names.swap_remove(bucket as usize);
        Self::of(self.points, self.choices, self.next, names)
    }
}

impl State for Ring {
    fn save<'a>(&'a self, name: &'static str, out: &mut Encoder<'a>) {
        out.group(name, |out| {
            self.points.save("points", out);
            self.choices.save("choices", out);
            self.next.save("next", out);
            let names = || (self.len(), self.names.clone());
            out.coded("names", Role::Auxiliary, self.names.len() + 2 * self.circle.len(), names);
        });
    }

    fn load(name: &'static str, src: &mut Decoder<'_>) -> Result<Self> {
        src.group(name, |src| {
            let (points, choices) = (u32::load("points", src)?, u32::load("choices", src)?);
            let next = src.u64("next")?;
            let (len, names) = src.array("names")?;
            let mut sorted = names.to_vec();
            sorted.sort_unstable();
            let sound = (1..=MAX_POINTS).contains(&points)
                && (1..=MAX_CHOICES).contains(&choices)
                && (1..1 << 32).contains(&len)
                && len == names.len() as u64
                && sorted.is_sorted_by(|a, b| a < b)
                && sorted.last().is_some_and(|last| *last < next)
                && next < u64::MAX;
            if !sound {
                return Err(src.corrupt(format!("{name}: a ring of {len} buckets cannot be so")));
            }
            src.expand(len.saturating_mul(u64::from(points) * 128))?;
            Ok(Self::of(points, choices, next, names.to_vec()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_belong_to_the_next_one_on_the_ring() {
        let ring = Ring::new(5, 3, 2);
        assert_eq!(ring.circle.len(), 15);
        for (i, (point, bucket)) in ring.circle.iter().enumerate() {
            assert_eq!(ring.owner(*point), u64::from(*bucket), "its own point");
            let next = ring.circle[(i + 1) % 15].1;
            assert_eq!(ring.owner(point.wrapping_add(1)), u64::from(next));
        }
        assert_eq!(ring.owner(u64::MAX), ring.owner(0), "the ring is closed");
    }

    /// A bucket that comes takes points only for itself; one that goes gives its own away.
    #[test]
    fn only_arcs_that_are_cut_change_hands() {
        let ring = Ring::new(40, 4, 3);
        let (grown, cut) = ring.with_another();
        let smaller = grown.without(40);
        let mut taken = 0;
        for i in 0..5000 {
            let point = mix64(i);
            let (before, after) = (ring.owner(point), grown.owner(point));
            assert!(after == before || after == 40 && cut.contains(&before));
            taken += u64::from(after == 40);
            assert_eq!(smaller.owner(point), before);
        }
        assert!(taken > 20 && (1..=4).contains(&cut.len()), "{taken} {cut:?}");
        assert_ne!(smaller, ring, "names are not used again");
        assert_eq!(smaller.names, ring.names);
    }
}

//! Enhanced double hashing on the ring of 64-bit integers, reduced by multiply-shift.
//!
//! The same recurrence as [`Enhanced`](super::Enhanced), but x and y live in 2⁶⁴ and only the index
//! is reduced: two additions and one multiplication per index, no division. The increment of y has
//! to be large on the ring (a plain +1 would move the index by m/2⁶⁴ cells, which is nothing), hence
//! the golden-ratio constant.

use super::flat::flat;
use super::multiply_shift;
use crate::hash::Digest;

/// 2⁶⁴/φ, odd.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

flat!(
    /// Scheme 3.
    Ring
);

impl Ring {
    /// The key's indices.
    #[inline]
    pub fn indices(&self, digest: Digest) -> impl Iterator<Item = u64> + use<> {
        let (ring, mut walk) = (*self, self.walk(digest));
        (0..self.k).map(move |_| ring.step(&mut walk))
    }

    /// Where a key's indices begin.
    #[inline]
    pub(crate) fn walk(&self, digest: Digest) -> Walk {
        Walk { x: digest.h1, y: digest.h2, step: STEP }
    }

    /// Where a key's way stands after `steps` steps: y has grown by STEP, 2·STEP and so on, and x by the
    /// sums of that.
    #[inline]
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn walk_after(&self, digest: Digest, steps: u64) -> Walk {
        let (x, y) = (digest.h1, digest.h2);
        Walk {
            x: x.wrapping_add(y.wrapping_mul(steps)).wrapping_add(grown(steps)),
            y: y.wrapping_add((steps * (steps + 1) / 2).wrapping_mul(STEP)),
            step: (steps + 1).wrapping_mul(STEP),
        }
    }

    /// The next index of a walk.
    #[inline]
    pub(crate) fn step(&self, walk: &mut Walk) -> u64 {
        let index = multiply_shift(walk.x, self.m);
        walk.x = walk.x.wrapping_add(walk.y);
        walk.y = walk.y.wrapping_add(walk.step);
        walk.step = walk.step.wrapping_add(STEP);
        index
    }
}

/// (i+1 choose 3)·STEP: what the growing of the step has added to x after i steps.
#[cfg(target_arch = "x86_64")]
pub(crate) const fn grown(i: u64) -> u64 {
    ((i + 1) * i * i.saturating_sub(1) / 6).wrapping_mul(STEP)
}

/// A key's way through its indices, one at a time.
#[derive(Clone, Copy, Default)]
pub(crate) struct Walk {
    x: u64,
    y: u64,
    step: u64,
}

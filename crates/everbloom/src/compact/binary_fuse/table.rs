//! What is solved for, and where it lies.

use super::lookup::agree_on_three;
use super::reseeded;
use super::shape::Geometry;
use crate::cells::{Packed, View};
use crate::error::Result;
use crate::state::{Decoder, Encoder, Inline, State};

/// The cells, and under what they were found. They stay as they are: what is known of them here holds for ever.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    geometry: Geometry,
    /// Under which the keys peel.
    seed: u64,
    /// How many seeds were tried.
    attempts: u64,
    cells: Packed,
    usual: Usual,
}

/// Whether there is nothing to ask of a table with three cells a key that peeled under the first seed: all cells of any
/// hash are there.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Usual {
    /// In one part.
    Whole,
    /// In several.
    Parted,
    /// There is.
    No,
}

impl Table {
    pub(super) fn new(mut geometry: Geometry, seed: u64, attempts: u64, cells: Packed) -> Self {
        geometry.fit(cells.len());
        let usual = geometry.arity == 3 && seed == 0 && geometry.is_within(cells.len());
        let usual = match usual {
            false => Usual::No,
            true if geometry.gap == 0 => Usual::Whole,
            true => Usual::Parted,
        };
        Self { geometry, seed, attempts, cells, usual }
    }

    #[inline]
    pub(super) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline]
    pub(super) fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn attempts(&self) -> u64 {
        self.attempts
    }

    #[inline]
    pub(super) fn cells(&self) -> &Packed {
        &self.cells
    }

    /// Whether the cells of a digest add up to its fingerprint; `None` but for the common cases, three cells a key that peeled
    /// under the first seed and have 8 or 16 bits, by a hash that is `known` to be the usual one.
    ///
    /// Each case is one condition, and none is asked for twice: then a loop over keys asks before it begins.
    #[inline(always)]
    pub(super) fn usually_has(&self, known: bool, digest: impl FnOnce() -> u64) -> Option<bool> {
        let whole = known & (self.usual == Usual::Whole);
        match self.cells.view() {
            View::Bytes(cells) if whole => Some(self.agree::<false, u8>(cells, digest(), 8)),
            View::Shorts(cells) if whole => Some(self.agree::<false, u16>(cells, digest(), 16)),
            View::Bytes(cells) if known & (self.usual == Usual::Parted) => {
                Some(self.agree::<true, u8>(cells, digest(), 8))
            }
            View::Shorts(cells) if known & (self.usual == Usual::Parted) => {
                Some(self.agree::<true, u16>(cells, digest(), 16))
            }
            _ => None,
        }
    }

    /// [`agree_on_three`], for a digest under the first seed.
    #[inline(always)]
    #[allow(unsafe_code)]
    fn agree<const PARTED: bool, T: Copy + Into<u64>>(
        &self,
        cells: &[T],
        digest: u64,
        r: u32,
    ) -> bool {
        // SAFETY: only called where `usual` says that all cells of any hash are there, and neither they nor the geometry
        // change.
        unsafe { agree_on_three::<PARTED, T>(&self.geometry, cells, reseeded(digest, 0), r) }
    }
}

/// Not by `state!`, since the number of cells tells more of the geometry than it tells itself.
impl Inline for Table {
    fn save_fields<'a>(&'a self, out: &mut Encoder<'a>) {
        self.geometry.save("geometry", out);
        self.seed.save("seed", out);
        self.attempts.save("attempts", out);
        self.cells.save("cells", out);
    }

    fn load_fields(src: &mut Decoder<'_>) -> Result<Self> {
        let geometry = State::load("geometry", src)?;
        let (seed, attempts) = (State::load("seed", src)?, State::load("attempts", src)?);
        Ok(Self::new(geometry, seed, attempts, State::load("cells", src)?))
    }
}

//! What is solved for, and where it lies.

use super::geometry::Geometry;
use super::lookup::agree_on_three;
use super::reseeded;
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
    usual: bool,
}

impl Table {
    pub(super) fn new(mut geometry: Geometry, seed: u64, attempts: u64, cells: Packed) -> Self {
        geometry.fit(cells.len());
        let usual = geometry.arity == 3 && seed == 0 && geometry.is_within(cells.len());
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
    /// under the first seed and have 8 or 16 bits.
    #[inline(always)]
    #[allow(unsafe_code)]
    pub(super) fn usually_has(&self, digest: impl FnOnce() -> u64) -> Option<bool> {
        if !self.usual {
            return None;
        }
        let hash = || reseeded(digest(), 0);
        match self.cells.view() {
            // SAFETY: `usual` says that all cells of any hash are there, and neither they nor the geometry change.
            View::Bytes(cells) => Some(unsafe { agree_on_three(&self.geometry, cells, hash(), 8) }),
            // SAFETY: as above.
            View::Shorts(cells) => {
                Some(unsafe { agree_on_three(&self.geometry, cells, hash(), 16) })
            }
            View::Any(_) => None,
        }
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

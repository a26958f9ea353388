//! Set difference at the cost of the difference, from the first byte (catalogue §37; Yang, Gilad, Alizadeh 2024): the
//! seeker learns what the two sets do not share, the holder nothing.
//!
//! ```text
//!   Seeker                                          Holder
//!      │ ── OPEN: a seed, its keys and bytes ───────▶ │
//!      │ ◀── SIZES: likewise, and its least ids ───── │   how alike are they?
//!      │ ── GRANT: so many cells ───────────────────▶ │   ╮
//!      │ ◀───────────── CELLS: the next of its set ── │   ╯ until they decode
//!      │ ── WANT: ids ──────────────────────────────▶ │   or ALL: send everything
//!      │ ◀──────────── KEYS: the keys behind them ─── │
//!      │ ◀───────────────────────────────────── END ─ │
//!      │ ◀─────────── or AGAIN, in place of SIZES ─── │   ids collide: OPEN with the next seed
//! ```
//!
//! Let the side with the smaller set be the holder: what crosses is then never more than 1.1 times its keys and 256
//! bytes. Where the sets are small, or so unlike that cells would cost more, the keys are simply sent. How unlike they
//! are is estimated from the least 256 ids of both (bottom-k sketch, Broder 1997), which only large sets send.
//!
//! A peer that lies can make the exchange fail, or hide keys it has. It cannot make up differences: what is reported as
//! the other side's hashes to an id that its cells hold and that this side has not.

mod holder;
mod seeker;
mod wire;

pub use super::reconcile::{Found, Set};
pub use holder::Holder;
pub use seeker::Seeker;

/// Seed, keys and bytes of the seeker.
const OPEN: u8 = 0x60;
/// Keys and bytes of the holder, then its least ids.
const SIZES: u8 = 0x61;
/// Nothing: the seed does not do.
const AGAIN: u8 = 0x62;
/// A number of cells.
const GRANT: u8 = 0x63;
/// Cells.
const CELLS: u8 = 0x64;
/// Ids.
const WANT: u8 = 0x65;
/// Nothing: all keys are wanted.
const ALL: u8 = 0x66;
/// A list of keys.
const KEYS: u8 = 0x67;
/// Nothing.
const END: u8 = 0x68;

/// Seeds that are tried, from 0. Honest keys need a second one about never.
const SEEDS: u64 = 8;
/// Ids in a sketch of a set.
const SKETCH: usize = 256;
/// Sets of fewer bytes than this send no sketch: it would cost more than a tenth of them.
const SKETCHED: u64 = 40_000;
/// Bytes of a cell: sum, hash and a count that nearly always fits a byte.
const CELL: u64 = 17;

#[cfg(test)]
mod tests;

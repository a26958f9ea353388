//! Set difference at the cost of the difference, from the first byte (catalogue §37; Yang, Gilad, Alizadeh 2024): the
//! seeker learns what the two sets do not share, the holder nothing.
//!
//! ```text
//!   Seeker                                                      Holder
//!      │ ── OPEN: a salt; keys, bytes and a sum of its set ─────▶ │
//!      │ ◀── SIZES: likewise of its own, and its least ids ────── │   how alike are they?
//!      │ ── GRANT: so many cells ───────────────────────────────▶ │   ╮
//!      │ ◀───────────────────────── CELLS: the next of its set ── │   ╯ until they decode
//!      │ ── WANT: ids ──────────────────────────────────────────▶ │   or ALL: send everything
//!      │ ◀──────────────────────── KEYS: the keys behind them ─── │
//!      │ ◀───────────────────────────────────────────────── END ─ │   the sums must agree now
//!      │ ── GIVE: keys that only it has, if they are to be kept ▶ │
//!      │ ── LAST: whether they are ─────────────────────────────▶ │
//!      │ ◀────────────────────────────────────────────── CLOSED ─ │   both know that it is over
//!      │ ◀─────────────────────── or AGAIN, in place of SIZES ─── │   ids collide: OPEN with the next salt
//! ```
//!
//! Ids are 64 bits of a hash under the salt. A salt of its own for every exchange keeps anybody from choosing keys whose
//! ids collide, and two keys that share an id by chance from doing so for ever.
//!
//! The seeker learns the holder's keys, so they travel. Beyond them, what crosses is never more than 1.1 times the
//! smaller set and 256 bytes: where the sets are small, or so unlike that cells would cost more, all keys are simply
//! sent. How unlike they are is estimated from the least 256 ids of both (bottom-k sketch, Broder 1997), which only large
//! sets send. Whoever knows both sets lets the one with the smaller set be the holder, and sends the fewest bytes.
//!
//! A beginning of the holder's stream can be kept in a file, too: a [`Sketch`].
//!
//! A peer that lies can make the exchange fail, or hide keys it has. It cannot make up differences: what is reported as
//! the other side's is not held here, and together with what is shared it has the sum that was announced.

mod holder;
mod seeker;
mod sketch;
mod wire;

use super::reconcile::Sum;
pub use super::reconcile::{Found, Named, Set};
pub use holder::Holder;
pub use seeker::{Cells, Seeker};
pub use sketch::{MAGIC, Sketch, TooFew};

/// Salt, keys, bytes, allowance and sum of the seeker.
const OPEN: u8 = 0x60;
/// Keys, bytes and sum of the holder, then its least ids.
const SIZES: u8 = 0x61;
/// Nothing: the salt does not do.
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
/// A list of keys that the holder has not.
const GIVE: u8 = 0x69;
/// A byte: 1 if the keys given are to be kept, 0 if none were given.
const LAST: u8 = 0x6A;
/// Nothing.
const CLOSED: u8 = 0x6B;

/// Salts that are tried, one after the other. Honest keys need a second one about never.
const SALTS: u64 = 8;
/// Ids in a sketch of a set.
const SKETCH: usize = 256;
/// Bytes that may be spent beyond what the difference needs, unless told otherwise.
const ALLOWANCE: u64 = 256;

/// Whether a sketch is sent: where it costs no more than a twentieth of the smaller set, or half of the allowance.
fn sketched(smaller: u64, allowance: u64) -> bool {
    smaller.saturating_add(allowance.saturating_mul(9)) >= 42_304
}

/// Bytes of a cell: sum, hash and a count that nearly always fits a byte.
const CELL: u64 = 17;
/// Bytes of a cell whose count is as long as can be.
const LONGEST_CELL: u64 = 26;

#[cfg(test)]
mod tests;

//! What the indices point at: bits, counters, packed fields, sums.
//!
//! Every array is built on [`Words`](crate::memory::Words), is checked when it is loaded, and is stored word for word, so
//! that a file can be used in place.

mod bits;
mod coded;
mod counters;
mod elias;
mod layers;
mod levels;
mod marked;
mod packed;
mod pairing;
mod rows;
mod stream;
mod sums;

pub use bits::{AtomicBits, Bits};
pub(crate) use bits::{has_mask, set_bit, set_mask};
pub use counters::Counters;
pub use elias::{Code, Elias};
pub use layers::Layers;
pub use levels::{Hierarchy, LEVEL_WIDTHS, Levels};
pub use marked::{Join, Mark, Marked, Sum, Xor};
pub use packed::Packed;
pub(crate) use packed::{Fields, View};
pub use pairing::Pairing;
pub use rows::{Row, Rows};
pub use stream::{BitReader, BitWriter, truncated};
pub use sums::{Cell, Sums};

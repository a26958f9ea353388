//! What the indices point at: bits, counters, packed fields, sums.
//!
//! Every array is built on [`Words`], is checked when it is loaded, and is stored word for word, so
//! that a file can be used in place.

mod bits;
mod coded;
mod counters;
mod layers;
mod levels;
mod marked;
mod packed;
mod rows;
mod sums;
mod words;

pub use bits::{AtomicBits, Bits};
pub use coded::{Code, Coded};
pub use counters::Counters;
pub use layers::Layers;
pub use levels::{Hierarchy, LEVEL_WIDTHS, Levels};
pub use marked::{Join, Mark, Marked, Sum, Xor};
pub use packed::Packed;
pub use rows::{Row, Rows};
pub use sums::{Cell, Sums};
pub(crate) use words::check_room;
pub use words::{HUGE_FROM, Words};

//! What the indices point at: bits, counters, packed fields, buckets of slots, sums.
//!
//! Every array is built on [`Words`](crate::memory::Words), is checked when it is loaded, and is stored word for word, so
//! that a file can be used in place.

mod bits;
#[cfg(feature = "families")]
mod buckets;
#[cfg(feature = "everyday")]
mod coded;
#[cfg(feature = "everyday")]
mod counters;
#[cfg(feature = "families")]
mod elias;
#[cfg(feature = "families")]
mod elias_fano;
#[cfg(feature = "families")]
mod exact;
#[cfg(feature = "everyday")]
mod fading;
#[cfg(feature = "families")]
mod layers;
#[cfg(feature = "families")]
mod levels;
#[cfg(feature = "families")]
mod marked;
pub(crate) mod ones;
#[cfg(feature = "everyday")]
mod packed;
mod pairing;
#[cfg(feature = "families")]
mod quotient;
#[cfg(feature = "families")]
mod rank;
#[cfg(feature = "families")]
mod rows;
#[cfg(feature = "families")]
mod signed;
#[cfg(feature = "everyday")]
mod slots;
#[cfg(feature = "families")]
mod stream;
#[cfg(feature = "families")]
mod sums;

pub use bits::{AtomicBits, Bits};
pub(crate) use bits::{has_mask, set_bit, set_mask};
#[cfg(feature = "families")]
pub use buckets::Buckets;
#[cfg(feature = "everyday")]
pub use counters::Counters;
#[cfg(feature = "families")]
pub use elias::{Code, Elias};
#[cfg(feature = "families")]
pub use elias_fano::EliasFano;
#[cfg(feature = "families")]
pub(crate) use exact::Exact;
#[cfg(feature = "everyday")]
pub use fading::Fading;
#[cfg(feature = "everyday")]
pub(crate) use fading::width_of;
#[cfg(feature = "families")]
pub use layers::Layers;
#[cfg(feature = "families")]
pub use levels::{Hierarchy, LEVEL_WIDTHS, Levels};
#[cfg(feature = "families")]
pub use marked::{Join, Mark, Marked, Sum, Xor};
#[cfg(feature = "everyday")]
pub use packed::Packed;
#[cfg(feature = "everyday")]
pub(crate) use packed::{Fields, Part as PackedPart, View};
pub use pairing::Pairing;
#[cfg(feature = "families")]
pub use quotient::{Marks, Run, Runs};
#[cfg(feature = "families")]
pub(crate) use rank::Ranked;
#[cfg(feature = "families")]
pub use rows::{Row, Rows};
#[cfg(feature = "families")]
pub use signed::Signed;
#[cfg(feature = "everyday")]
pub use slots::{Layout, Slots};
#[cfg(feature = "families")]
pub use stream::{BitReader, BitWriter, truncated};
#[cfg(feature = "families")]
pub use sums::{Cell, Sums};

use crate::error::Result;
use crate::memory::Words;
use crate::state::Decoder;

/// An array of `len` elements of `width` bits each from a file: refused if it has another number of words than
/// they take, or ones behind the last element.
fn array(name: &'static str, width: u64, src: &mut Decoder<'_>) -> Result<(u64, Words)> {
    let (len, words) = src.array(name)?;
    let bits = len.checked_mul(width).filter(|bits| bits.div_ceil(64) == words.len() as u64);
    let Some(bits) = bits else {
        let wide = format!("{name}: {len} elements of {width} bits in {} words", words.len());
        return Err(src.corrupt(wide));
    };
    if !bits.is_multiple_of(64) && words.last().is_some_and(|w| w >> (bits % 64) != 0) {
        return Err(src.corrupt(format!("{name}: padding bits are set")));
    }
    Ok((len, words))
}

//! What the indices point at: bits, counters, packed fields, buckets of slots, sums.
//!
//! Every array is built on [`Words`](crate::memory::Words), is checked when it is loaded, and is stored word for word, so
//! that a file can be used in place.

mod bits;
mod buckets;
mod coded;
mod counters;
mod elias;
mod elias_fano;
mod exact;
mod fading;
mod layers;
mod levels;
mod marked;
pub(crate) mod ones;
mod packed;
mod pairing;
mod quotient;
mod rank;
mod rows;
mod signed;
mod slots;
mod stream;
mod sums;

pub use bits::{AtomicBits, Bits};
pub(crate) use bits::{has_mask, set_bit, set_mask};
pub use buckets::Buckets;
pub use counters::Counters;
pub use elias::{Code, Elias};
pub use elias_fano::EliasFano;
pub(crate) use exact::Exact;
pub use fading::Fading;
pub(crate) use fading::width_of;
pub use layers::Layers;
pub use levels::{Hierarchy, LEVEL_WIDTHS, Levels};
pub use marked::{Join, Mark, Marked, Sum, Xor};
pub use packed::Packed;
pub(crate) use packed::{Fields, Part as PackedPart, View};
pub use pairing::Pairing;
pub use quotient::{Marks, Run, Runs};
pub(crate) use rank::Ranked;
pub use rows::{Row, Rows};
pub use signed::Signed;
pub use slots::{Layout, Slots};
pub use stream::{BitReader, BitWriter, truncated};
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

//! The Python package `pybloomfiltermmap3`: a file that is mapped into memory, little-endian.
//!
//! ```text
//!   "MBITARRAY" · u64 m · i32 bytes of the header (1200) · header · zeros up to a multiple of 256 · ⌈m/8⌉ bytes
//!   the header:  u64 capacity · f64 p · u32 k · u32 seed × 256 · (4) · a pointer · u8 version (1) · u8 (1) · (6)
//!                u64 items · u32 0 × 32
//! ```
//!
//! Hash i is MurmurHash3 x64 128 under seed i, its two words combined by exclusive or, mod m.

use everbloom::internals::filter::{fact, real};
use everbloom::{Fact, Result};

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme, checked_k};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "pybloomfiltermmap3",
    writer: "the Python package pybloomfiltermmap3",
    versions: "0.5 and 0.6, on 64-bit machines",
    recognized: "MBITARRAY at the start",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "murmur3-x64-128, with a seed per probe stored in the file",
    limits: "no integers, which Python hashes first",
    fit: Some(|bytes| Fit::Magic.when(bytes.starts_with(MAGIC))),
    open,
    ..Format::USUAL
};

const MAGIC: &[u8] = b"MBITARRAY";
/// Where the header starts.
const HEADER: usize = 21;
const HEADER_LEN: u32 = 1200;
/// Where the number of items is, from the start of the file.
const ITEMS: usize = HEADER + 1064;
/// Where the bits are.
const BITS: u64 = 1280;
const MOST_SEEDS: u64 = 256;

/// All that stands before the bits, as it is.
#[derive(Clone)]
struct Preamble {
    bytes: Vec<u8>,
    seeds: Vec<u32>,
    capacity: u64,
    fpr: f64,
    items: u64,
}

impl Scheme for Preamble {
    fn all(&self, key: &Key<'_>, m: u64, _k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        key.little(|bytes| {
            self.seeds.iter().all(|seed| {
                let [h1, h2] = hashes::murmur3_x64_128(bytes, (*seed).into());
                probe((h1 ^ h2) % m)
            })
        })
    }

    fn write(&self, _k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = self.bytes.clone();
        out[ITEMS..ITEMS + 8].copy_from_slice(&self.items.to_le_bytes());
        out.extend_from_slice(bits.bytes());
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("items", self.items),
            fact("capacity", self.capacity),
            real("planned_fpr", self.fpr),
        ]
    }

    fn inserted(&mut self, new: bool) {
        self.items = self.items.saturating_add(new.into());
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let preamble = src.take(BITS)?;
    let mut head = Reader::new(preamble);
    if head.take(MAGIC.len() as u64)? != MAGIC {
        return Err(unsupported("the file does not start with MBITARRAY"));
    }
    let (m, len) = (head.u64_le()?, head.u32_le()?);
    if len != HEADER_LEN {
        return Err(unsupported(format!("a header of {len} bytes is not known")));
    }
    let (capacity, fpr, k) = (head.u64_le()?, head.f64_le()?, u64::from(head.u32_le()?));
    if k > MOST_SEEDS {
        return Err(head.corrupt(format!("{k} seeds")));
    }
    let seeds: Vec<u32> = (0..checked_k(k)?).map(|_| head.u32_le()).collect::<Result<_>>()?;
    let items = u64::from_le_bytes(preamble[ITEMS..ITEMS + 8].try_into().unwrap_or_default());
    let bits = Bits::new(src.take(m.div_ceil(8))?, m)?;
    src.finish()?;
    let preamble = Preamble { bytes: preamble.to_vec(), seeds, capacity, fpr, items };
    Ok(vec![Foreign::new(&FORMAT, Flat::new(preamble, k, bits)?).into()])
}

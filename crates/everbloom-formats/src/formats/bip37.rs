//! Bitcoin's `filterload` message (BIP 37), little-endian.
//!
//! ```text
//!   compact size · bytes · u32 k · u32 tweak · u8 flags
//! ```
//!
//! Hash i is MurmurHash3 x86 32 of the key under the seed i·0xFBA4C795 + tweak, mod the number of bits. A filter of
//! no bytes matches everything.

use everbloom::internals::filter::fact;
use everbloom::{Fact, Result};

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme, best_bits, best_probes};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "bip37",
    writer: "Bitcoin Core and light clients, filterload (BIP 37)",
    versions: "BIP 37",
    recognized: "no magic; a consistent length, at most 50 hashes and flags up to 2",
    keys: &[KeyAs::Hex, KeyAs::String],
    hash: "murmur3-x86-32, a seed per probe",
    limits: "empty filters, which match everything, are refused; the protocol allows at most 36,000 bytes and 50 \
             hashes",
    open,
    create: Some(create),
    ..Format::USUAL
};

const MOST_BYTES: u64 = 36_000;
const MOST_HASHES: u32 = 50;

#[derive(Clone, Copy, Debug)]
struct Load {
    tweak: u32,
    flags: u8,
}

impl Scheme for Load {
    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        key.little(|bytes| {
            (0..k).all(|i| {
                let seed = i.wrapping_mul(0xfba4_c795).wrapping_add(self.tweak);
                probe(u64::from(hashes::murmur3_x86_32(bytes, seed)) % m)
            })
        })
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        push_compact_size(bits.bytes().len() as u64, &mut out);
        out.extend_from_slice(bits.bytes());
        out.extend_from_slice(&k.to_le_bytes());
        out.extend_from_slice(&self.tweak.to_le_bytes());
        out.push(self.flags);
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("tweak", self.tweak), fact("flags", self.flags)]
    }
}

/// A length as Bitcoin writes it; only the shortest form counts.
pub(super) fn compact_size(src: &mut Reader<'_>) -> Result<u64> {
    let (value, least) = match src.u8()? {
        0xfd => (src.u16_le()?.into(), 0xfd),
        0xfe => (src.u32_le()?.into(), 1 << 16),
        0xff => (src.u64_le()?, 1 << 32),
        small => (small.into(), 0),
    };
    if value < least { Err(src.corrupt("a length in a long form")) } else { Ok(value) }
}

/// Writes a length as [`compact_size`] reads it.
pub(super) fn push_compact_size(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0xfd => out.push(value as u8),
        0xfd..=0xffff => {
            out.push(0xfd);
            out.extend_from_slice(&(value as u16).to_le_bytes());
        }
        0x1_0000..=0xffff_ffff => {
            out.push(0xfe);
            out.extend_from_slice(&(value as u32).to_le_bytes());
        }
        _ => {
            out.push(0xff);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let len = compact_size(&mut src)?;
    if len > MOST_BYTES {
        return Err(src.corrupt(format!("{len} bytes, beyond the protocol's {MOST_BYTES}")));
    }
    let bits = Bits::new(src.take(len)?, 8 * len)?;
    let (k, tweak, flags) = (src.u32_le()?, src.u32_le()?, src.u8()?);
    if k > MOST_HASHES || flags > 2 {
        return Err(src.corrupt(format!("{k} hashes and flags {flags}")));
    }
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(Load { tweak, flags }, k.into(), bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let len = ((best_bits(items, fpr) / 8.0) as u64).clamp(1, MOST_BYTES);
    // The reference client divides whole numbers first: 88 bits for 10 items are 8 an item, and 5 hashes.
    let k = best_probes(8 * len / items, 1).clamp(1.0, MOST_HASHES.into());
    let bits = Bits::zeros(8 * len, 1)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Load { tweak: 0, flags: 1 }, k as u64, bits)?))
}

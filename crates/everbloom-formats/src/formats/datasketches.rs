//! Apache DataSketches' Bloom filter, little-endian.
//!
//! ```text
//!   u8 longs of the preamble (4; 3 if empty) · u8 version (1) · u8 family (21) · u8 flags (4: empty)
//!   u16 k · u16 0 · u64 seed · i32 words · i32 0 · i64 ones (−1: not counted; absent if empty) · u64 × words
//! ```
//!
//! h0 is XXH64 of the key under the seed, h1 XXH64 under h0, and index i = 1 … k is ((h0 + i·h1) >>> 1) mod m. An
//! empty string is never inserted, and never found.

use everbloom::internals::filter::fact;
use everbloom::internals::hash::Digest;
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Bloom, Fact, Filter, HashId, Hasher, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{
    COUNTED_WORDS, Flat, Scheme, adopt, adopted, best_bits, best_probes, probing,
};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "datasketches",
    writer: "Apache DataSketches (Java, C++), BloomFilter",
    versions: "serialization version 1",
    recognized: "family 21, version 1, and as many words as stated",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Long, KeyAs::Double],
    hash: "xxh64, with a seed stored in the file",
    limits: "empty strings are never in a filter",
    open,
    create: Some(create),
    adopt: Some(|filter| adopt(&FORMAT, filter, [Head::of(filter)?])),
    ..Format::USUAL
};

const FAMILY: u8 = 21;
const EMPTY: u8 = 4;
const NOT_COUNTED: u64 = u64::MAX;

/// What stands before the bits.
#[derive(Clone, Debug)]
struct Head {
    seed: u64,
    flags: u8,
    /// Ones, or [`NOT_COUNTED`]; `None` in the short form of an empty filter.
    ones: Option<u64>,
}

impl Scheme for Head {
    const MOST_BITS: u64 = COUNTED_WORDS;

    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        probing(Probes::Halved, HashId::Xxh64Twice, self.seed)
    }

    fn digest(&self, hasher: &Hasher, key: &Key<'_>) -> Option<Digest> {
        match key {
            Key::Bytes(bytes) if bytes.is_empty() => None,
            // Both zeros are one key, and so is whatever is not a number.
            Key::Double(v) if *v == 0.0 => Some(hasher.digest(&0f64.to_le_bytes())),
            Key::Double(v) if v.is_nan() => {
                Some(hasher.digest(&0x7ff8_0000_0000_0000u64.to_le_bytes()))
            }
            key => Some(key.little(|bytes| hasher.digest(bytes))),
        }
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = vec![if self.ones.is_some() { 4 } else { 3 }, 1, FAMILY, self.flags];
        out.extend_from_slice(&(k as u16).to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&self.seed.to_le_bytes());
        out.extend_from_slice(&((bits.m() / 64) as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        if let Some(ones) = self.ones {
            out.extend_from_slice(&ones.to_le_bytes());
            bits.push(Order::Little, &mut out);
        }
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("seed", self.seed)]
    }

    fn inserted(&mut self, _new: bool) {
        (self.flags, self.ones) = (self.flags & !EMPTY, Some(NOT_COUNTED));
    }
}

impl Head {
    fn of(filter: &dyn Filter) -> Result<Self> {
        let empty = adopted::<Bloom>(&FORMAT, filter)?.bits().ones() == 0;
        let (flags, ones) = if empty { (EMPTY, None) } else { (0, Some(NOT_COUNTED)) };
        Ok(Head { seed: filter.head().hasher.seed(), flags, ones })
    }
}

/// Words of the largest empty filter that is opened: its file holds no bits, and a few bytes must not become much
/// memory.
const MOST_EMPTY: u64 = 1 << 17;

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let [longs, version, family, flags] = src.array()?;
    if (version, family) != (1, FAMILY) {
        return Err(unsupported(format!("version {version} of family {family} is not known")));
    }
    let (k, zero, seed) = (src.u16_le()?, src.u16_le()?, src.u64_le()?);
    let (words, zeros) = (src.u32_le()?, src.u32_le()?);
    if (zero, zeros) != (0, 0) || words > i32::MAX as u32 {
        return Err(src.corrupt("fields that are always zero are not"));
    }
    let (ones, bits) = match (longs, flags & EMPTY != 0) {
        (3, true) if u64::from(words) <= MOST_EMPTY => {
            (None, Bits::zeros(64 * u64::from(words), 8)?)
        }
        (3, true) => return Err(unsupported(format!("{words} words in an empty filter"))),
        (4, _) => (Some(src.u64_le()?), Bits::words(&mut src, words.into(), Order::Little)?),
        _ => return Err(src.corrupt(format!("a preamble of {longs} longs"))),
    };
    src.finish()?;
    let head = Head { seed, flags, ones };
    Ok(vec![Foreign::new(&FORMAT, Flat::new(head, k.into(), bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = best_probes(m, items).ceil().clamp(1.0, 1024.0);
    let head = Head { seed: 9001, flags: EMPTY, ones: None };
    let bits = Bits::zeros(m.next_multiple_of(64), 8)?;
    Ok(Foreign::new(&FORMAT, Flat::new(head, k as u64, bits)?))
}

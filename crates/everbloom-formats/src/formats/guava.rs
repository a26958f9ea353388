//! Guava's `BloomFilter.writeTo`: strategy, k, words, all big-endian.
//!
//! ```text
//!   i8 strategy (0, 1) · u8 k · i32 words · u64 × words
//! ```
//!
//! Keys go through MurmurHash3 x64 128, seed 0. Strategy 0 (`MURMUR128_MITZ_32`) takes the two 32-bit halves of the
//! first word, strategy 1 (`MURMUR128_MITZ_64`) both words. How a key becomes bytes is the `Funnel`'s affair: the
//! UTF-8 string funnel and the byte funnel give the bytes as they are, those of integers 4 or 8 little-endian bytes.

use everbloom::internals::filter::text;
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Fact, HashId, Hasher, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{COUNTED_WORDS, Flat, Scheme, adopt, best_bits, best_probes, probing};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Fit, Foreign, Format, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "guava",
    writer: "Google Guava, BloomFilter.writeTo",
    versions: "both strategies, MURMUR128_MITZ_32 and MURMUR128_MITZ_64",
    recognized: "no magic; a strategy of 0 or 1, and as many words as stated",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Int, KeyAs::Long],
    hash: "murmur3-x64-128, seed 0",
    limits: "keys of the UTF-8, byte, integer and long funnels",
    fit: Some(fit),
    open,
    create: Some(create),
    adopt: Some(|filter| adopt(&FORMAT, filter, [Strategy::Mitz32, Strategy::Mitz64])),
    ..Format::USUAL
};

/// A value of the first byte.
#[derive(Clone, Copy, Debug)]
enum Strategy {
    Mitz32,
    Mitz64,
}

impl Scheme for Strategy {
    const MOST_K: u32 = 255;
    const MOST_BITS: u64 = COUNTED_WORDS;

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = vec![*self as u8, k as u8];
        out.extend_from_slice(&((bits.m() / 64) as u32).to_be_bytes());
        bits.push(Order::Big, &mut out);
        Some(out)
    }

    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        let probes = match self {
            Strategy::Mitz32 => Probes::Signed32,
            Strategy::Mitz64 => Probes::Positive,
        };
        probing(probes, HashId::Murmur3_128, 0)
    }

    fn describe(&self) -> Vec<Fact> {
        let name = match self {
            Strategy::Mitz32 => "MURMUR128_MITZ_32",
            Strategy::Mitz64 => "MURMUR128_MITZ_64",
        };
        vec![text("strategy", name)]
    }
}

fn fit(bytes: &[u8]) -> Fit {
    let Some((&[strategy, k, a, b, c, d], words)) = bytes.split_first_chunk() else {
        return Fit::No;
    };
    let agrees = words.len() as u64 == 8 * u64::from(u32::from_be_bytes([a, b, c, d]));
    Fit::Fields.when(strategy < 2 && k > 0 && agrees && !words.is_empty())
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let strategy = match src.u8()? {
        0 => Strategy::Mitz32,
        1 => Strategy::Mitz64,
        other => return Err(unsupported(format!("strategy {other} is not known"))),
    };
    let (k, words) = (src.u8()?, src.count_be()?);
    let bits = Bits::words(&mut src, words, Order::Big)?;
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(strategy, k.into(), bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr) as u64;
    let k = best_probes(m, items).round().clamp(1.0, 255.0);
    let bits = Bits::zeros(m.max(1).next_multiple_of(64), 8)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Strategy::Mitz64, k as u64, bits)?))
}

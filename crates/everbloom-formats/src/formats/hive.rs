//! Hive's `BloomKFilter.serialize`, big-endian: a filter in blocks of eight words.
//!
//! ```text
//!   u8 k · i32 words · u64 × words
//! ```
//!
//! Hive's 64-bit MurmurHash3 (integers: Thomas Wang's mix) gives two 32-bit halves. h1 + h2 picks the block, and
//! h1 + (i + 1)·h2 for i = 1 … k a word of it by its low 3 bits and a bit by the next 6; sums below zero have all
//! bits flipped.

use everbloom::internals::probe::{Foreign as Indices, Scheme as Probes};
use everbloom::{Hasher, Result};

use super::orc;
use crate::bits::{Bits, Order};
use crate::format::foreign::{COUNTED_WORDS, Flat, Scheme, best_bits, best_probes};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "hive",
    writer: "Apache Hive, BloomKFilter.serialize",
    versions: "hive-storage-api 2.8",
    recognized: "no magic; whole blocks of eight words, as many as stated",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Long, KeyAs::Double],
    hash: "Hive's variant of murmur3-64; integers by Thomas Wang's mix",
    limits: "none known",
    open,
    create: Some(create),
    ..Format::USUAL
};

/// Bits of a block.
const BLOCK: u64 = 512;

#[derive(Clone, Copy, Debug)]
struct Blocks;

impl Scheme for Blocks {
    const MOST_BITS: u64 = COUNTED_WORDS;

    fn all(&self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        let (hash, seed) = orc::hash(key.kind());
        let Ok(hasher) = Hasher::with_id(hash, seed) else { return false };
        // The numbers themselves, which are below 2³¹.
        let Ok(sums) = Indices::new(Probes::Signed32, 1 << 31, k + 1) else { return false };
        let mut sums = sums.indices(orc::digest(&hasher, key));
        let block = sums.next().unwrap_or(0) % (m / BLOCK) * BLOCK;
        sums.all(|sum| probe(block + (sum & 7) * 64 + (sum >> 3 & 63)))
    }

    fn block(&self) -> Option<u64> {
        Some(BLOCK)
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = vec![k as u8];
        out.extend_from_slice(&((bits.m() / 64) as u32).to_be_bytes());
        bits.push(Order::Big, &mut out);
        Some(out)
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let (k, words) = (src.u8()?, src.count_be()?);
    if words == 0 || !words.is_multiple_of(8) {
        return Err(src.corrupt(format!("{words} words are not whole blocks of eight")));
    }
    let bits = Bits::words(&mut src, words, Order::Big)?;
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(Blocks, k.into(), bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = best_probes(m, items).round().clamp(1.0, 255.0);
    let bits = Bits::zeros(m.next_multiple_of(BLOCK), 8)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Blocks, k as u64, bits)?))
}

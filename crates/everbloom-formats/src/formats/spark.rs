//! Spark's `BloomFilter.writeTo`, big-endian.
//!
//! ```text
//!   V1:  i32 1 · i32 k ·            i32 words · u64 × words
//!   V2:  i32 2 · i32 k · i32 seed · i32 words · u64 × words
//! ```
//!
//! Keys go through Spark's MurmurHash3 x86 32, which gives each byte after the last whole word, sign-extended, a
//! round of its own; the second hash is the first with the first as its seed. V1 adds up in 32 bits, V2 in 64. All
//! integers are hashed as 8 little-endian bytes, which is what `putLong` does.

use everbloom::internals::filter::{fact, text};
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Fact, HashId, Hasher, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{COUNTED_WORDS, Flat, Scheme, adopt, best_bits, best_probes, probing};
use crate::format::{Hints, Part};
use crate::read::{Reader, unsupported};
use crate::{Foreign, Format, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "spark",
    writer: "Apache Spark, BloomFilter.writeTo and df.stat.bloomFilter",
    versions: "V1 and V2",
    recognized: "version 1 or 2, and as many words as stated",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Long],
    hash: "Spark's variant of murmur3-x86-32",
    limits: "none known",
    open,
    create: Some(create),
    adopt: Some(|filter| {
        let seed = filter.head().hasher.seed() as u32;
        adopt(&FORMAT, filter, [Version::V1, Version::V2 { seed }])
    }),
    ..Format::USUAL
};

/// Which version, with the seed of the second.
#[derive(Clone, Copy, Debug)]
enum Version {
    V1,
    V2 { seed: u32 },
}

impl Scheme for Version {
    const MOST_BITS: u64 = COUNTED_WORDS;

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let words = (bits.m() / 64) as u32;
        let head = match self {
            Version::V1 => vec![1, k, words],
            Version::V2 { seed } => vec![2, k, *seed, words],
        };
        head.iter().for_each(|word| out.extend_from_slice(&word.to_be_bytes()));
        bits.push(Order::Big, &mut out);
        Some(out)
    }

    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        let (probes, seed) = match self {
            Version::V1 => (Probes::Signed32, 0),
            Version::V2 { seed } => (Probes::Signed64, u64::from(*seed)),
        };
        probing(probes, HashId::SparkMurmur3, seed)
    }

    fn describe(&self) -> Vec<Fact> {
        match self {
            Version::V1 => vec![text("version", "V1")],
            Version::V2 { seed } => vec![text("version", "V2"), fact("seed", *seed)],
        }
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let (version, k) = (src.u32_be()?, src.count_be()?);
    let version = match version {
        1 => Version::V1,
        2 => Version::V2 { seed: src.u32_be()? },
        other => return Err(unsupported(format!("version {other} is not known"))),
    };
    let words = src.count_be()?;
    let bits = Bits::words(&mut src, words, Order::Big)?;
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(version, k, bits)?).into()])
}

/// V1, which every version of Spark reads.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr) as u64;
    let k = best_probes(m, items).round().max(1.0);
    let bits = Bits::zeros(m.max(1).next_multiple_of(64), 8)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Version::V1, k as u64, bits)?))
}

//! Cassandra's `Filter.db`.
//!
//! ```text
//!   i32 k · i32 words, big-endian · 8 bytes × words, the lowest bit of the first byte first
//! ```
//!
//! MurmurHash3 x64 128 of the partition key, whose bytes after the last whole block are sign-extended: for ASCII it
//! is the standard function. Index i is |(h2 + i·h1) mod m|, with Java's signs. Cassandra's own types give the bytes
//! of a partition key; integers are big-endian.

use everbloom::internals::hash::Digest;
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{HashId, Hasher, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{COUNTED_WORDS, Flat, Scheme, adopt, best_bits, best_probes, probing};
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "cassandra",
    writer: "Apache Cassandra, Filter.db",
    versions: "the layout of 3.0 and later (SSTable versions ma, da and later)",
    recognized: "no magic; as many words as stated",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Int, KeyAs::Long, KeyAs::Float, KeyAs::Double],
    hash: "murmur3-x64-128 with sign-extended final bytes",
    limits: "files of older versions have big-endian words: they look the same, but give wrong answers",
    open,
    create: Some(create),
    adopt: Some(|filter| adopt(&FORMAT, filter, [Cassandra])),
    ..Format::USUAL
};

#[derive(Clone, Copy, Debug)]
struct Cassandra;

impl Scheme for Cassandra {
    const MOST_BITS: u64 = COUNTED_WORDS;

    fn probes(&self, _: KeyAs) -> Option<(Probes, Hasher)> {
        probing(Probes::Absolute, HashId::CassandraMurmur3, 0)
    }

    fn digest(&self, hasher: &Hasher, key: &Key<'_>) -> Option<Digest> {
        Some(key.big(|bytes| hasher.digest(bytes)))
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = k.to_be_bytes().to_vec();
        out.extend_from_slice(&((bits.m() / 64) as u32).to_be_bytes());
        bits.push(Order::Little, &mut out);
        Some(out)
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let mut src = Reader::new(bytes);
    let (k, words) = (src.count_be()?, src.count_be()?);
    let bits = Bits::words(&mut src, words, Order::Little)?;
    src.finish()?;
    Ok(vec![Foreign::new(&FORMAT, Flat::new(Cassandra, k, bits)?).into()])
}

fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = best_probes(m, items).round().max(1.0);
    let bits = Bits::zeros(m.next_multiple_of(64), 8)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Cassandra, k as u64, bits)?))
}

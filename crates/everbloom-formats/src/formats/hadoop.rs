//! Hadoop's four filters (`org.apache.hadoop.util.bloom`), big-endian. They share their first fields, and their
//! lengths tell them apart.
//!
//! ```text
//!   i32 −1 · i32 k · u8 hash (0 Jenkins, 1 Murmur) · i32 m · then
//!   BloomFilter           ⌈m/8⌉ bytes
//!   CountingBloomFilter   ⌈m/16⌉ longs of 4-bit counters, the first in the lowest bits
//!   DynamicBloomFilter    i32 keys a row · i32 keys in the last row · i32 rows · as many BloomFilters
//!   RetouchedBloomFilter  ⌈m/8⌉ bytes · 2·m lists (i32 length or −1; each key: i32 length · bytes · f64) · f64 × m
//! ```
//!
//! Hash i takes hash i − 1 as its seed (the first takes 0); the index is |hash mod m| with Java's 32-bit signs.

use everbloom::internals::filter::{fact, text};
use everbloom::{Fact, Result};

use crate::bits::{Bits, Order};
use crate::format::foreign::{
    Flat, Layout, Scheme, best_bits, best_probes, cardinality, checked_k,
};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "hadoop",
    writer: "Apache Hadoop, BloomFilter, CountingBloomFilter, DynamicBloomFilter and RetouchedBloomFilter",
    versions: "-1, the only one since 2009",
    recognized: "version -1, a hash of 0 or 1, and a length that fits one of the four",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "jenkins-lookup3 or Hadoop's variant of murmur2-32, chained",
    limits: "only the plain filter takes keys",
    fit: Some(|bytes| Fit::Magic.when(bytes.starts_with(&[255; 4]) && read(bytes).is_ok())),
    open: |bytes, _: &Hints| Ok(vec![Part::from(read(bytes)?)]),
    create: Some(create),
    ..Format::USUAL
};

const VERSION: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Jenkins,
    Murmur,
}

/// What all four begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    k: u32,
    hash: Hash,
    m: u64,
}

impl Head {
    fn read(src: &mut Reader<'_>) -> Result<Self> {
        let version = src.u32_be()?;
        if version != VERSION {
            return Err(unsupported(format!("version {} is not known", version as i32)));
        }
        let k = checked_k(src.count_be()?)?;
        let hash = match src.u8()? {
            0 => Hash::Jenkins,
            1 => Hash::Murmur,
            other => return Err(unsupported(format!("hash {other} is not known"))),
        };
        let m = src.count_be()?;
        if m == 0 { Err(src.corrupt("a filter of no bits")) } else { Ok(Self { k, hash, m }) }
    }

    fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&VERSION.to_be_bytes());
        out.extend_from_slice(&self.k.to_be_bytes());
        out.push(self.hash as u8);
        out.extend_from_slice(&(self.m as u32).to_be_bytes());
    }

    fn describe(&self, kind: &str) -> Vec<Fact> {
        let hash = if self.hash == Hash::Jenkins { "jenkins" } else { "murmur" };
        vec![fact("m", self.m), fact("k", self.k), text("type", kind), text("hash", hash)]
    }
}

impl Hash {
    fn all(self, key: &Key<'_>, m: u64, k: u32, mut probe: impl FnMut(u64) -> bool) -> bool {
        key.little(|bytes| {
            let mut hash = 0u32;
            (0..k).all(|_| {
                hash = match self {
                    Hash::Jenkins => hashes::jenkins_lookup3(bytes, hash),
                    Hash::Murmur => hashes::murmur2_hadoop(bytes, hash),
                };
                probe((i64::from(hash as i32) % m as i64).unsigned_abs())
            })
        })
    }
}

/// The bits of a plain filter, or of a retouched one, and what follows them.
#[derive(Clone, Debug)]
struct Plain {
    hash: Hash,
    kind: &'static str,
    rest: Vec<u8>,
}

impl Scheme for Plain {
    fn all(&self, key: &Key<'_>, m: u64, k: u32, probe: impl FnMut(u64) -> bool) -> bool {
        self.hash.all(key, m, k, probe)
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        Head { k, hash: self.hash, m: bits.m() }.push(&mut out);
        bits.push(Order::Little, &mut out);
        out.extend_from_slice(&self.rest);
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        Head { k: 0, hash: self.hash, m: 0 }.describe(self.kind).split_off(2)
    }
}

fn plain(head: Head, src: &mut Reader<'_>) -> Result<Flat<Plain>> {
    let bits = Bits::new(src.take(head.m.div_ceil(8))?, head.m)?;
    let scheme = Plain { hash: head.hash, kind: "BloomFilter", rest: Vec::new() };
    Flat::new(scheme, head.k.into(), bits)
}

fn read(bytes: &[u8]) -> Result<Foreign> {
    let mut src = Reader::new(bytes);
    let head = Head::read(&mut src)?;
    let rest = src.len() as u64;
    if rest == head.m.div_ceil(8) {
        return Ok(Foreign::new(&FORMAT, plain(head, &mut src)?));
    }
    if rest == 8 * head.m.div_ceil(16) {
        let counters = Bits::words(&mut src, head.m.div_ceil(16), Order::Big)?;
        return Ok(Foreign::new(&FORMAT, Counting { head, counters }));
    }
    if let Some(dynamic) = Dynamic::read(head, src)? {
        return Ok(Foreign::new(&FORMAT, dynamic));
    }
    let mut flat = plain(head, &mut src)?;
    (flat.scheme.kind, flat.scheme.rest) = ("RetouchedBloomFilter", src.rest().to_vec());
    retouched(head.m, &flat.scheme.rest)?;
    Ok(Foreign::new(&FORMAT, flat))
}

/// Goes through the lists of keys that a retouched filter keeps for its bits, and refuses what is none.
fn retouched(m: u64, rest: &[u8]) -> Result<()> {
    let mut src = Reader::new(rest);
    for _ in 0..2 * m {
        let len = src.u32_be()?;
        let keys = if len == u32::MAX { 0 } else { len };
        for _ in 0..keys {
            let len = src.count_be()?;
            src.take(len)?;
            src.take(8)?;
        }
    }
    src.take(8 * m)?;
    src.finish()
}

/// A filter of 4-bit counters.
struct Counting {
    head: Head,
    counters: Bits,
}

impl Counting {
    fn used(&self) -> u64 {
        let nibbles = self.counters.bytes().iter().flat_map(|byte| [byte & 15, byte >> 4]);
        nibbles.filter(|counter| *counter > 0).count() as u64
    }
}

impl Layout for Counting {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        let Head { k, hash, m } = self.head;
        let used = |i: u64| (4 * i..4 * i + 4).any(|bit| self.counters.get(bit));
        Ok(hash.all(key, m, k, used))
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.head.push(&mut out);
        self.counters.push(Order::Big, &mut out);
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        self.head.describe("CountingBloomFilter")
    }

    fn fill(&self) -> f64 {
        (self.used() as f64 / self.head.m as f64).min(1.0)
    }

    fn fpr(&self) -> f64 {
        self.fill().powi(self.head.k as i32)
    }

    fn cardinality(&self) -> Option<f64> {
        cardinality(self.head.m, self.head.k, self.used())
    }

    fn bits(&self) -> u64 {
        4 * self.head.m
    }
}

/// Rows of plain filters.
struct Dynamic {
    head: Head,
    /// Keys a row takes, and keys in the last one.
    records: [u32; 2],
    rows: Vec<Flat<Plain>>,
}

impl Dynamic {
    /// The rows, or `None` if these are not rows.
    fn read(head: Head, mut src: Reader<'_>) -> Result<Option<Self>> {
        let records = [src.u32_be()?, src.u32_be()?];
        let count = u64::from(src.u32_be()?);
        // A row is a header of 13 bytes and its bits.
        let row = 13 + head.m.div_ceil(8);
        if count == 0 || count.checked_mul(row) != Some(src.len() as u64) {
            return Ok(None);
        }
        let mut rows = Vec::new();
        for _ in 0..count {
            if Head::read(&mut src)? != head {
                return Err(corrupt("a row whose shape is not that of all"));
            }
            rows.push(plain(head, &mut src)?);
        }
        Ok(Some(Self { head, records, rows }))
    }
}

impl Layout for Dynamic {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        Ok(self.rows.iter().any(|row| row.has(key)))
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        self.head.push(&mut out);
        for number in self.records.into_iter().chain([self.rows.len() as u32]) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        for row in &self.rows {
            out.extend_from_slice(&row.write()?);
        }
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        let mut facts = self.head.describe("DynamicBloomFilter");
        facts.push(fact("rows", self.rows.len() as u64));
        facts.push(fact("keys_a_row", self.records[0]));
        facts
    }

    fn fill(&self) -> f64 {
        self.rows.iter().map(|row| row.bits.fill()).sum::<f64>() / self.rows.len() as f64
    }

    fn fpr(&self) -> f64 {
        1.0 - self.rows.iter().map(|row| 1.0 - row.fpr()).product::<f64>()
    }

    fn cardinality(&self) -> Option<f64> {
        self.rows.iter().map(Layout::cardinality).sum()
    }

    fn bits(&self) -> u64 {
        self.rows.iter().map(|row| row.bits.m()).sum()
    }
}

/// A plain filter by Murmur, Hadoop's default.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = (best_bits(items, fpr).ceil().max(1.0) as u64).min(i32::MAX as u64);
    let k = best_probes(m, items).round().max(1.0);
    let scheme = Plain { hash: Hash::Murmur, kind: "BloomFilter", rest: Vec::new() };
    Ok(Foreign::new(&FORMAT, Flat::new(scheme, k as u64, Bits::zeros(m, 1)?)?))
}

//! RedisBloom's `CF` filters: cuckoo filters of 8-bit fingerprints.
//!
//! ```text
//!   the chunks of CF.SCANDUMP, one after the other, little-endian:
//!   u64 items · u64 buckets · u64 deleted · u64 filters · u16 slots a bucket · u16 iterations · u16 growth
//!   the buckets of all filters; filter i has buckets · growth^i of them; an empty slot is 0
//! ```
//!
//! h is MurmurHash64A of the key, seed 0; the fingerprint h mod 255 + 1; the buckets h and
//! h ⊕ fingerprint·0x5bd1e995, mod their number.

use everbloom::fingerprints;
use everbloom::internals::filter::fact;
use everbloom::{Fact, Filter, Result};

use crate::format::foreign::Layout;
use crate::format::{Hints, Part};
use crate::read::Reader;
use crate::{Fit, Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "redis-cuckoo",
    writer: "RedisBloom, CF.SCANDUMP (concatenated chunks)",
    versions: "2.x and later",
    recognized: "buckets that match the length",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "murmur2-64a, seed 0",
    limits: "no insertion or deletion; no DUMP payloads",
    fit: Some(|bytes| Fit::Fields.when(Cuckoo::read(bytes).is_ok())),
    open: |bytes, _: &Hints| Ok(vec![Part::from(Foreign::new(&FORMAT, Cuckoo::read(bytes)?))]),
    adopt: Some(adopt),
    ..Format::USUAL
};

struct Cuckoo {
    head: Head,
    filters: Vec<Vec<u8>>,
}

struct Head {
    items: u64,
    buckets: u64,
    deleted: u64,
    slots: u16,
    iterations: u16,
    growth: u16,
}

impl Cuckoo {
    fn read(bytes: &[u8]) -> Result<Self> {
        let mut src = Reader::new(bytes);
        let (items, buckets, deleted) = (src.u64_le()?, src.u64_le()?, src.u64_le()?);
        let filters = src.u64_le()?;
        let (slots, iterations, growth) = (src.u16_le()?, src.u16_le()?, src.u16_le()?);
        // Every filter has a byte at least, so that the number of filters is bounded, too.
        if buckets == 0 || slots == 0 || filters == 0 || filters > src.len() as u64 {
            return Err(src.corrupt(format!("{filters} filters of {buckets} buckets of {slots}")));
        }
        let mut all = Vec::new();
        let mut len = buckets.checked_mul(slots.into());
        for _ in 0..filters {
            let bytes = len.ok_or_else(|| src.corrupt("more slots than there can be"))?;
            all.push(src.take(bytes)?.to_vec());
            len = bytes.checked_mul(growth.max(1).into());
        }
        src.finish()?;
        let head = Head { items, buckets, deleted, slots, iterations, growth };
        Ok(Self { head, filters: all })
    }

    /// Whether one of the two buckets of the hash has its fingerprint.
    fn has(&self, filter: &[u8], hash: u64) -> bool {
        let print = (hash % 255 + 1) as u8;
        let other = hash ^ u64::from(print).wrapping_mul(0x5bd1_e995);
        let slots = usize::from(self.head.slots);
        let buckets = (filter.len() / slots) as u64;
        [hash, other].into_iter().any(|hash| {
            let at = (hash % buckets) as usize * slots;
            filter[at..at + slots].contains(&print)
        })
    }

    fn used(filter: &[u8]) -> f64 {
        filter.iter().filter(|slot| **slot != 0).count() as f64 / filter.len() as f64
    }
}

impl Layout for Cuckoo {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        let hash = key.little(|bytes| hashes::murmur2_64a(bytes, 0));
        Ok(self.filters.iter().any(|filter| self.has(filter, hash)))
    }

    fn write(&self) -> Option<Vec<u8>> {
        let head = &self.head;
        let mut out = Vec::new();
        for number in [head.items, head.buckets, head.deleted, self.filters.len() as u64] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [head.slots, head.iterations, head.growth] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        self.filters.iter().for_each(|filter| out.extend_from_slice(filter));
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("items", self.head.items),
            fact("filters", self.filters.len() as u64),
            fact("buckets", self.head.buckets),
            fact("slots_a_bucket", self.head.slots),
            fact("deleted", self.head.deleted),
        ]
    }

    fn fill(&self) -> f64 {
        let used: f64 = self.filters.iter().map(|f| Self::used(f) * f.len() as f64).sum();
        used / self.filters.iter().map(Vec::len).sum::<usize>() as f64
    }

    /// Each used slot of two buckets has the fingerprint with probability 1/255.
    fn fpr(&self) -> f64 {
        let slots = 2.0 * f64::from(self.head.slots);
        let misses = |f: &Vec<u8>| (1.0 - Self::used(f) / 255.0).powf(slots);
        1.0 - self.filters.iter().map(misses).product::<f64>()
    }

    fn cardinality(&self) -> Option<f64> {
        Some(self.head.items as f64)
    }

    fn bits(&self) -> u64 {
        8 * self.filters.iter().map(Vec::len).sum::<usize>() as u64
    }

    fn to_filter(&self, _: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        let filter = fingerprints::Cuckoo::from_redis(&self.write()?);
        Some(filter.map(|filter| -> Box<dyn Filter> { Box::new(filter) }))
    }
}

fn adopt(filter: &dyn Filter) -> Result<Foreign> {
    let cuckoo: &fingerprints::Cuckoo = filter.as_same().map_err(|_| {
        let slug = filter.facts().slug;
        FORMAT.cannot(&format!("hold the fingerprints of a {slug} filter"))
    })?;
    Ok(Foreign::new(&FORMAT, Cuckoo::read(&cuckoo.to_redis()?)?))
}

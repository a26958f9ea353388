//! RocksDB's FastLocalBloom: in a table file (SST), or the filter block alone.
//!
//! ```text
//!   a filter:  lines of 64 bytes · ff 00 k 00 00                        (little-endian throughout)
//!   a table:   blocks, each with 5 bytes after it · footer of 53 bytes, the last 12 of which are u32 version and
//!              the magic 0x88e241b785f4cff7
//! ```
//!
//! The footer leads to the metaindex block, whose entry `fullfilter.rocksdb.BuiltinBloomFilter` leads to the filter.
//! Keys go through a preview of XXH3. The low 32 bits of the hash pick the line by multiplication, the high 32 bits
//! the bits in it: the top 9 bits of h, and h is multiplied by 0x9e3779b9 each time.

use everbloom::internals::probe::{Blocked, Scheme as Probes};
use everbloom::{BlockedBloom, Filter, HashId, Hasher, Result};

use crate::bits::Bits;
use crate::format::foreign::{
    Flat, Scheme, adopted, best_bits, best_probes, bytes_of, other_probes,
};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, corrupt_at, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "rocksdb",
    writer: "RocksDB, full Bloom filters of format version 5 and later",
    versions: "tables of versions 3 to 7 with an uncompressed index, or only the filter block",
    recognized: "the magic of a block-based table at the end; or whole lines and a final marker",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "a preview of xxh3-64",
    limits: "no Ribbon or partitioned filters, and none of older versions; filters in tables are read, but written \
             alone; whole keys, no prefixes",
    fit: Some(fit),
    open,
    create: Some(create),
    adopt: Some(adopt),
    ..Format::USUAL
};

const MAGIC: [u8; 8] = 0x88e2_41b7_85f4_cff7_u64.to_le_bytes();
const FOOTER: usize = 53;
/// What follows a block: how it is packed, and a checksum.
const TRAILER: u64 = 5;
const NAME: &[u8] = b"fullfilter.rocksdb.BuiltinBloomFilter";
/// Bits of a line.
const LINE: u64 = Blocked::LINE;
/// The most probes that a filter can state, in five bits.
const MOST_PROBES: u32 = 31;
/// The hash of the keys.
const HASH: HashId = HashId::Xxh3Preview;

#[derive(Clone, Copy, Debug)]
struct Lines;

impl Scheme for Lines {
    #[inline]
    fn all(&self, key: &Key<'_>, m: u64, k: u32, probe: impl FnMut(u64) -> bool) -> bool {
        let Ok(hasher) = Hasher::with_id(HASH, 0) else { return false };
        let Ok(lines) = Blocked::by_products(m / LINE, k) else { return false };
        lines.indices(key.little(|bytes| hasher.digest(bytes))).all(probe)
    }

    fn block(&self) -> Option<u64> {
        Some(LINE)
    }

    fn to_filter(&self, k: u32, bits: &Bits, _: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        Some(BlockedBloom::from_foreign(bits.bytes(), k).map(|filter| Box::new(filter) as _))
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = bits.bytes().to_vec();
        out.extend_from_slice(&[0xff, 0, k as u8, 0, 0]);
        Some(out)
    }
}

fn fit(bytes: &[u8]) -> Fit {
    if bytes.len() >= FOOTER && bytes.ends_with(&MAGIC) {
        return Fit::Magic;
    }
    Fit::Fields.when(filter(bytes).is_ok())
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let flat = if fit(bytes) == Fit::Magic { filter(table(bytes)?)? } else { filter(bytes)? };
    Ok(vec![Foreign::new(&FORMAT, flat).into()])
}

/// The filter in a block.
fn filter(block: &[u8]) -> Result<Flat<Lines>> {
    let Some((lines, [marker, kind, k, 0, 0])) = block.split_last_chunk() else {
        return Err(corrupt("a filter without the marker at its end"));
    };
    match (*marker as i8, kind, k >> 5) {
        (-1, 0, 0) => {}
        (-2, ..) => return Err(unsupported("a Ribbon filter, which is not supported")),
        _ => return Err(unsupported("a filter of another kind than FastLocalBloom")),
    }
    if lines.is_empty() || !lines.len().is_multiple_of(64) {
        return Err(corrupt(format!("{} bytes are not whole lines of 64", lines.len())));
    }
    if lines.len() as u64 / 64 > u64::from(u32::MAX) {
        return Err(corrupt("more lines than 32 bits can address"));
    }
    Flat::new(Lines, u64::from(k & 31), Bits::new(lines, 8 * lines.len() as u64)?)
}

/// The filter block of a table.
fn table(bytes: &[u8]) -> Result<&[u8]> {
    let (blocks, footer) = bytes.split_at(bytes.len() - FOOTER);
    let mut src = Reader::new(footer);
    src.u8()?;
    let mut version = Reader::new(&footer[FOOTER - 12..]);
    let handle = match version.u32_le()? {
        3..=5 => handle(&mut src)?,
        6 | 7 => {
            // Another magic, two checksums, and the length of the metaindex, which is the last block.
            src.take(12)?;
            let len = u64::from(src.u32_le()?);
            let end = (blocks.len() as u64).checked_sub(TRAILER + len);
            (end.ok_or_else(|| corrupt("a metaindex longer than the file"))?, len)
        }
        other => return Err(unsupported(format!("a table of version {other}"))),
    };
    let metaindex = block(blocks, handle)?;
    match find(metaindex, NAME)? {
        Some(value) => block(blocks, self::handle(&mut Reader::new(value))?),
        None => Err(unsupported("the table has no full Bloom filter")),
    }
}

/// Where a block is, and how long.
fn handle(src: &mut Reader<'_>) -> Result<(u64, u64)> {
    Ok((src.varint()?, src.varint()?))
}

/// The bytes of a block that is not packed.
fn block(bytes: &[u8], (offset, len): (u64, u64)) -> Result<&[u8]> {
    let end =
        offset.checked_add(len).filter(|end| end.saturating_add(TRAILER) <= bytes.len() as u64);
    let end = end.ok_or_else(|| corrupt_at(offset, format!("a block of {len} bytes")))? as usize;
    if bytes[end] != 0 {
        return Err(unsupported("a compressed metaindex or filter"));
    }
    Ok(&bytes[offset as usize..end])
}

/// The value of `name` among the entries of a block, each of which shares the start of its key with the one before.
fn find<'a>(block: &'a [u8], name: &[u8]) -> Result<Option<&'a [u8]>> {
    let Some((_, restarts)) = block.split_last_chunk() else {
        return Err(corrupt("a block without an end"));
    };
    let end = u64::from(u32::from_le_bytes(*restarts)).saturating_mul(4).saturating_add(4);
    let end = (block.len() as u64).checked_sub(end);
    let end = end.ok_or_else(|| corrupt("more restarts than bytes"))? as usize;
    let mut src = Reader::new(&block[..end]);
    let mut key = Vec::new();
    while src.len() > 0 {
        let (shared, rest, len) = (src.varint()?, src.varint()?, src.varint()?);
        if shared > key.len() as u64 {
            return Err(src.corrupt("a key that shares more than there is"));
        }
        key.truncate(shared as usize);
        key.extend_from_slice(src.take(rest)?);
        let value = src.take(len)?;
        if key == name {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// As many lines as RocksDB's `bits_per_key` would give, which here follow from the rate of a plain filter.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr).ceil().max(1.0) as u64;
    let k = best_probes(m, items).round().clamp(1.0, 30.0);
    let bits = Bits::zeros(m.next_multiple_of(LINE), 64)?;
    Ok(Foreign::new(&FORMAT, Flat::new(Lines, k as u64, bits)?))
}

fn adopt(filter: &dyn Filter) -> Result<Foreign> {
    let blocked: &BlockedBloom = adopted(&FORMAT, filter)?;
    if blocked.scheme() != Probes::Products || filter.head().hasher.id() != HASH {
        return Err(other_probes(&FORMAT, filter));
    }
    if blocked.k() > MOST_PROBES {
        return Err(FORMAT.cannot(&format!("have more than {MOST_PROBES} probes")));
    }
    let bits = Bits::new(&bytes_of(blocked.bits()), blocked.m())?;
    Ok(Foreign::new(&FORMAT, Flat::new(Lines, blocked.k().into(), bits)?))
}

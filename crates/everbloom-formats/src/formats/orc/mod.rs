//! ORC's Bloom filters: all of a file's, one per column and row group, or one message alone.
//!
//! ```text
//!   a file:     ORC · stripes · metadata · footer · postscript · u8 length of the postscript
//!   a stripe:   index streams, those of kind 8 (BLOOM_FILTER_UTF8) among them · data · stripe footer
//!   a message:  { 1: k, 3: bits as little-endian 64-bit words }
//! ```
//!
//! Hive's 64-bit MurmurHash3 of the bytes of a string, or Thomas Wang's mix of an integer (of its bits, for a
//! floating-point number), is cut into two 32-bit halves: h1 + i·h2, flipped where it is below zero, mod m.

use std::io::Read;

use everbloom::internals::hash::Digest;
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{HashId, Hasher, Limits, Result};
use flate2::read::DeflateDecoder;

use super::protobuf::{fields, numbers};
use crate::bits::{Bits, Order};
use crate::format::foreign::{Flat, Scheme, adopt, best_bits, best_probes, probing};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, corrupt_at, push_varint, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "orc",
    writer: "Apache ORC: Java, C++ (pyarrow), Hive, Spark",
    versions: "BLOOM_FILTER_UTF8 streams in uncompressed or zlib files; a lone message",
    recognized: "ORC at the start and in the postscript; a message with consistent fields",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Long, KeyAs::Double],
    hash: "Hive's variant of murmur3-64; integers by Thomas Wang's mix",
    limits: "no older BLOOM_FILTER streams; filters in whole files are read, not written; no snappy, lzo, lz4, zstd",
    fit: Some(fit),
    open,
    create: Some(create),
    adopt: Some(|filter| adopt(&FORMAT, filter, [Orc])),
    ..Format::USUAL
};

const MAGIC: &[u8] = b"ORC";

/// The hash that ORC and Hive give keys of a kind.
pub(super) fn hash(keys: KeyAs) -> (HashId, u64) {
    if keys.is_number() { (HashId::Wang64, 0) } else { (HashId::HiveMurmur3, 104_729) }
}

/// The digest of a key by that hash; numbers have 64 bits.
pub(super) fn digest(hasher: &Hasher, key: &Key<'_>) -> Digest {
    match key {
        Key::Bytes(bytes) => hasher.digest(&bytes[..]),
        Key::Int(v) => hasher.digest(&i64::from(*v)),
        Key::Float(v) => hasher.digest(&f64::from(*v).to_le_bytes()),
        key => key.little(|bytes| hasher.digest(bytes)),
    }
}

#[derive(Clone, Copy, Debug)]
struct Orc;

impl Scheme for Orc {
    fn probes(&self, keys: KeyAs) -> Option<(Probes, Hasher)> {
        let (hash, seed) = hash(keys);
        probing(Probes::Signed32, hash, seed)
    }

    fn digest(&self, hasher: &Hasher, key: &Key<'_>) -> Option<Digest> {
        Some(digest(hasher, key))
    }

    fn write(&self, k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = vec![0x08];
        push_varint(k.into(), &mut out);
        out.push(0x1a);
        push_varint(bits.bytes().len() as u64, &mut out);
        bits.push(Order::Little, &mut out);
        Some(out)
    }
}

fn fit(bytes: &[u8]) -> Fit {
    if bytes.starts_with(MAGIC) && tail(bytes).is_ok() {
        return Fit::Magic;
    }
    Fit::Fields.when(message(bytes).is_ok())
}

fn open(bytes: &[u8], hints: &Hints) -> Result<Vec<Part>> {
    if bytes.starts_with(MAGIC) {
        return file(bytes, &hints.limits);
    }
    Ok(vec![Foreign::new(&FORMAT, message(bytes)?).into()])
}

/// The filter in one message.
fn message(bytes: &[u8]) -> Result<Flat<Orc>> {
    let (mut k, mut bits) = (0, &[][..]);
    fields(bytes, |id, value| {
        match id {
            1 => k = value.number(),
            3 => bits = value.bytes(),
            2 => return Err(unsupported("the older form of a filter, of 64-bit numbers")),
            _ => {}
        }
        Ok(())
    })?;
    if !bits.len().is_multiple_of(8) {
        return Err(corrupt("bits that are not whole words"));
    }
    Flat::new(Orc, k, Bits::new(bits, 8 * bits.len() as u64)?)
}

/// What the postscript says.
struct Tail {
    /// Where the footer ends.
    end: usize,
    footer: u64,
    compression: u64,
}

fn tail(bytes: &[u8]) -> Result<Tail> {
    let len = *bytes.last().ok_or_else(|| corrupt("an empty file"))?;
    let end = bytes.len().checked_sub(1 + usize::from(len));
    let end = end.ok_or_else(|| corrupt("a postscript longer than the file"))?;
    let mut tail = Tail { end, footer: 0, compression: 0 };
    let mut magic = false;
    fields(&bytes[end..bytes.len() - 1], |id, value| {
        match id {
            1 => tail.footer = value.number(),
            2 => tail.compression = value.number(),
            8000 => magic = value.bytes() == MAGIC,
            _ => {}
        }
        Ok(())
    })?;
    if magic { Ok(tail) } else { Err(corrupt("a postscript without ORC in it")) }
}

/// A file, and how much memory its filters may still take.
struct File<'a> {
    bytes: &'a [u8],
    compression: u64,
    room: u64,
}

impl<'a> File<'a> {
    /// The bytes at `start`, unpacked.
    fn section(&mut self, start: u64, len: u64) -> Result<std::borrow::Cow<'a, [u8]>> {
        let end = start.checked_add(len).filter(|end| *end <= self.bytes.len() as u64);
        let end = end.ok_or_else(|| corrupt_at(start, format!("a section of {len} bytes")))?;
        let bytes = &self.bytes[start as usize..end as usize];
        match self.compression {
            0 => {
                self.spend(len)?;
                Ok(bytes.into())
            }
            1 => self.inflated(bytes).map(Into::into),
            other => {
                let names = ["snappy", "lzo", "lz4", "zstd"];
                let name = names.get(other as usize - 2).unwrap_or(&"an unknown method");
                Err(unsupported(format!(
                    "the file is compressed by {name}, which is not supported"
                )))
            }
        }
    }

    /// Refuses sections that together are longer than the limits allow.
    fn spend(&mut self, len: u64) -> Result<()> {
        self.room = self.room.checked_sub(len).ok_or_else(|| {
            let message = "the footers and filters expand to more than the limit";
            everbloom::Error::new(everbloom::Kind::LimitExceeded { what: "expanded" }, message)
        })?;
        Ok(())
    }

    /// Chunks, each behind three bytes that say its length and whether it is packed.
    fn inflated(&mut self, bytes: &[u8]) -> Result<Vec<u8>> {
        let mut src = Reader::new(bytes);
        let mut out = Vec::new();
        while src.len() > 0 {
            let [a, b, c] = src.array()?;
            let head = u32::from_le_bytes([a, b, c, 0]);
            let chunk = src.take(u64::from(head >> 1))?;
            let before = out.len();
            if head & 1 == 1 {
                out.extend_from_slice(chunk);
            } else {
                let most = self.room.saturating_add(1);
                let read = DeflateDecoder::new(chunk).take(most).read_to_end(&mut out);
                read.map_err(|e| corrupt(format!("a packed chunk: {e}")))?;
            }
            self.spend((out.len() - before) as u64)?;
        }
        Ok(out)
    }
}

#[derive(Default)]
struct Stripe {
    offset: u64,
    index: u64,
    data: u64,
    footer: u64,
    rows: u64,
}

/// What the footer says.
#[derive(Default)]
struct Footer {
    stripes: Vec<Stripe>,
    /// Kind of each column.
    kinds: Vec<u64>,
    /// Columns and names of the root's fields.
    names: Vec<(u64, String)>,
    stride: u64,
}

fn footer(bytes: &[u8]) -> Result<Footer> {
    let mut footer = Footer::default();
    fields(bytes, |id, value| {
        match id {
            3 => {
                let mut stripe = Stripe::default();
                fields(value.bytes(), |id, value| {
                    match id {
                        1 => stripe.offset = value.number(),
                        2 => stripe.index = value.number(),
                        3 => stripe.data = value.number(),
                        4 => stripe.footer = value.number(),
                        5 => stripe.rows = value.number(),
                        _ => {}
                    }
                    Ok(())
                })?;
                footer.stripes.push(stripe);
            }
            4 => {
                let (mut kind, mut columns, mut names) = (0, Vec::new(), Vec::new());
                fields(value.bytes(), |id, value| {
                    match id {
                        1 => kind = value.number(),
                        2 => columns.extend(numbers(value)?),
                        3 => names.push(String::from_utf8_lossy(value.bytes()).into_owned()),
                        _ => {}
                    }
                    Ok(())
                })?;
                if footer.kinds.is_empty() {
                    footer.names = columns.into_iter().zip(names).collect();
                }
                footer.kinds.push(kind);
            }
            8 => footer.stride = value.number(),
            _ => {}
        }
        Ok(())
    })?;
    Ok(footer)
}

/// A stream of filters.
const BLOOM_FILTER_UTF8: u64 = 8;

fn file(bytes: &[u8], limits: &Limits) -> Result<Vec<Part>> {
    let tail = tail(bytes)?;
    let len = bytes.len() as u64;
    let room = if tail.compression == 0 { 2 * len } else { limits.expanded_for(len) };
    let mut file = File { bytes, compression: tail.compression, room };
    let start = (tail.end as u64).checked_sub(tail.footer);
    let start = start.ok_or_else(|| corrupt("a footer longer than the file"))?;
    let footer = footer(&file.section(start, tail.footer)?)?;
    let (mut parts, mut group) = (Vec::new(), 0);
    for stripe in &footer.stripes {
        let streams = stripe.offset.checked_add(stripe.index);
        let at = streams.and_then(|at| at.checked_add(stripe.data));
        let at = at.ok_or_else(|| corrupt("a stripe beyond all bounds"))?;
        let directory = file.section(at, stripe.footer)?;
        let mut at = stripe.offset;
        let mut groups = 0;
        fields(&directory, |id, value| {
            if id != 1 {
                return Ok(());
            }
            let (mut kind, mut column, mut len) = (0, 0, 0);
            fields(value.bytes(), |id, value| {
                match id {
                    1 => kind = value.number(),
                    2 => column = value.number(),
                    3 => len = value.number(),
                    _ => {}
                }
                Ok(())
            })?;
            if kind == BLOOM_FILTER_UTF8 {
                let stream = file.section(at, len)?;
                let found = column_filters(&stream, &footer, column, stripe, group, &mut parts)?;
                groups = groups.max(found);
            }
            at = at.checked_add(len).ok_or_else(|| corrupt("a stream beyond all bounds"))?;
            Ok(())
        })?;
        group += groups;
    }
    Ok(parts)
}

/// The filters of a column's row groups in one stripe; how many there are.
fn column_filters(
    stream: &[u8],
    footer: &Footer,
    column: u64,
    stripe: &Stripe,
    first: u64,
    parts: &mut Vec<Part>,
) -> Result<u64> {
    let named = footer.names.iter().find(|(id, _)| *id == column);
    let name = named.map_or_else(|| format!("column {column}"), |(_, name)| name.clone());
    let keys = match footer.kinds.get(column as usize) {
        Some(1..=4 | 15) => Some(KeyAs::Long),
        Some(5 | 6) => Some(KeyAs::Double),
        Some(7 | 16 | 17) => Some(KeyAs::String),
        Some(8) => Some(KeyAs::Hex),
        _ => None,
    };
    let mut groups = 0;
    fields(stream, |id, value| {
        if id != 1 {
            return Ok(());
        }
        let flat = message(value.bytes())?;
        let rows = stripe.rows.saturating_sub(footer.stride.saturating_mul(groups));
        let rows = Some(if footer.stride > 0 { rows.min(footer.stride) } else { rows });
        let filter = Foreign::new(&FORMAT, flat);
        parts.push(Part { column: name.clone(), row_group: first + groups, rows, keys, filter });
        groups += 1;
        Ok(())
    })?;
    Ok(groups)
}

/// One message; the sizes are those of ORC's `BloomFilter(n, p)`.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let m = best_bits(items, fpr) as u64;
    let k = best_probes(m, items).round().max(1.0);
    let bits = Bits::zeros(m.max(1).next_multiple_of(64), 8)?;
    let flat = Flat::new(Orc, k as u64, bits)?;
    Ok(Foreign::new(&FORMAT, flat))
}

//! ClickHouse's skip indexes of the kind `bloom_filter`: a packed file of a part's indexes, one index, or a granule.
//!
//! ```text
//!   packed:     u8 1 · u64 files · per file: name (length · bytes) · u64 offset · u64 bytes · u64 bytes unpacked
//!   an index:   blocks, each 16 bytes of checksum · u8 method (0x82 LZ4, 0x02 none) · u32 length from here − 16 ·
//!               u32 length unpacked · data; unpacked they are granules, one after the other
//!   a granule:  rows, 7 bits a byte · ⌈rows·b/8⌉ bytes, b bits a row                            (little-endian)
//! ```
//!
//! A string goes through CityHash64 1.0.2, an integer (and the bits of a floating-point number) through MurmurHash3's
//! last step; index i is that hash and the seed number i as one word, mod m. Neither b nor k is in the file: b is the
//! number from 1 to 20 with which the granules end where the file does, and k has to be given. It is the least one
//! that keeps the index's rate with b bits: 5 for 0.01, where b is 10.

use everbloom::internals::filter::fact;
use everbloom::internals::hash::Digest;
use everbloom::internals::probe::Scheme as Probes;
use everbloom::{Bloom, Error, Fact, Filter, HashId, Hasher, Kind, Result};

use crate::bits::Bits;
use crate::format::foreign::{Flat, Scheme, adopt, adopted, probing};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, push_varint, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "clickhouse",
    writer: "ClickHouse, skip indexes of type bloom_filter over one column",
    versions: "packed files of version 1, index files with LZ4 or uncompressed blocks, and single granules",
    recognized: "a packed file by its directory; the others by consistent lengths",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Long, KeyAs::Double],
    hash: "cityhash-64 1.0.2, 15 seeds; integers by murmur3's last step",
    limits: "k must be given; no indexes of tokens, n-grams or several columns; no ZSTD blocks; only single granules \
             are written",
    fit: Some(|bytes| {
        let found = granules(bytes, 32 * bytes.len() as u64).is_ok_and(|found| !found.is_empty());
        let length = if directory(bytes).is_ok() { Fit::Fields } else { Fit::Length };
        length.when(found)
    }),
    open,
    adopt: Some(|filter| adopt(&FORMAT, filter, [Granule { rows: rows_of(filter)? }])),
    ..Format::USUAL
};

/// There are as many seeds.
const MOST_PROBES: u32 = 15;

/// The most bits that a row has.
const MOST_BITS: u64 = 20;

struct Granule {
    rows: u64,
}

impl Scheme for Granule {
    const WHOLE: u64 = 8;
    const MOST_K: u32 = MOST_PROBES;

    fn probes(&self, keys: KeyAs) -> Option<(Probes, Hasher)> {
        let hash = if keys.is_number() { HashId::Murmur3Last } else { HashId::City64 };
        probing(Probes::Seeded, hash, 0)
    }

    fn digest(&self, hasher: &Hasher, key: &Key<'_>) -> Option<Digest> {
        Some(match key {
            Key::Int(v) => hasher.digest(&i64::from(*v)),
            key => key.little(|bytes| hasher.digest(bytes)),
        })
    }

    fn plan(&self) -> (Option<u64>, Option<f64>) {
        (Some(self.rows), None)
    }

    fn write(&self, _k: u32, bits: &Bits) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        push_varint(self.rows, &mut out);
        out.extend_from_slice(bits.bytes());
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("rows", self.rows)]
    }
}

/// As many rows as keys, or the next number above for which a reader finds that these are the bits of so many.
fn rows_of(filter: &dyn Filter) -> Result<u64> {
    let (bytes, items) = (adopted::<Bloom>(&FORMAT, filter)?.m() / 8, filter.len().max(1));
    let fits = |rows: u64, bits: u64| Some(bytes) == rows.checked_mul(bits).map(|m| m.div_ceil(8));
    if (1..=MOST_BITS).any(|bits| fits(items, bits)) {
        return Ok(items);
    }
    let mut fewest = (1..=MOST_BITS).rev().map(|bits| (8 * bytes / bits, bits));
    let rows = fewest.find(|(rows, bits)| *rows >= items && fits(*rows, *bits));
    rows.map(|(rows, _)| rows).ok_or_else(|| FORMAT.cannot("have fewer bits than rows"))
}

/// An index, the number of a granule, its rows and its bits.
type Found = (String, u64, u64, Vec<u8>);

fn open(bytes: &[u8], hints: &Hints) -> Result<Vec<Part>> {
    let found = granules(bytes, hints.limits.expanded_for(bytes.len() as u64))?;
    let k = hints.k.ok_or_else(|| {
        let message = "the file does not state the number of probes: give {probes}, 5 for an index of rate 0.01";
        Error::new(Kind::BadParameter, message)
    })?;
    if k > MOST_PROBES {
        return Err(corrupt(format!("{k} probes, and there are {MOST_PROBES} seeds")));
    }
    let part = |(column, row_group, rows, bits): Found| {
        let bits = Bits::new(&bits, 8 * bits.len() as u64)?;
        let filter = Foreign::new(&FORMAT, Flat::new(Granule { rows }, k.into(), bits)?);
        Ok(Part { column, row_group, rows: Some(rows), keys: None, filter })
    };
    found.into_iter().map(part).collect()
}

/// All granules of a packed file, of an index, or of unpacked bytes.
fn granules(bytes: &[u8], mut room: u64) -> Result<Vec<Found>> {
    let mut out = Vec::new();
    if let Ok(files) = directory(bytes) {
        for (name, data) in files {
            let index = name.strip_prefix("skp_idx_").and_then(|name| name.strip_suffix(".idx"));
            let Some(index) = index else { continue };
            let unpacked = unpacked(data, &mut room)?;
            // An index of another kind does not end where its granules would.
            if let Ok(found) = split(&unpacked) {
                out.extend(
                    found.into_iter().map(|(i, rows, bits)| (index.to_owned(), i, rows, bits)),
                );
            }
        }
        return Ok(out);
    }
    let found = match unpacked(bytes, &mut room) {
        Ok(unpacked) => split(&unpacked)?,
        Err(_) => split(bytes)?,
    };
    // Several granules are those of an index whose name is that of the file.
    let column = if found.len() > 1 { "index" } else { "" };
    Ok(found.into_iter().map(|(i, rows, bits)| (column.to_owned(), i, rows, bits)).collect())
}

/// Names and bytes of the files in a packed file.
fn directory(bytes: &[u8]) -> Result<Vec<(String, &[u8])>> {
    let mut src = Reader::new(bytes);
    let (version, count) = (src.u8()?, src.u64_le()?);
    if version != 1 || count == 0 {
        return Err(unsupported("not a packed file of version 1"));
    }
    let mut files = Vec::new();
    let mut total = 0u64;
    for _ in 0..count {
        let len = src.varint()?;
        let name = String::from_utf8_lossy(src.take(len)?).into_owned();
        let (offset, len, _unpacked) = (src.u64_le()?, src.u64_le()?, src.u64_le()?);
        let end = offset.checked_add(len).filter(|end| *end <= bytes.len() as u64);
        let end = end.ok_or_else(|| src.corrupt(format!("a file of {len} bytes")))?;
        total = total.saturating_add(len);
        files.push((name, &bytes[offset as usize..end as usize]));
    }
    // Files lie side by side.
    if total > bytes.len() as u64 { Err(corrupt("files that overlap")) } else { Ok(files) }
}

/// The blocks of an index, unpacked, as far as there is room.
fn unpacked(bytes: &[u8], room: &mut u64) -> Result<Vec<u8>> {
    let mut src = Reader::new(bytes);
    let mut out = Vec::new();
    while src.len() > 0 {
        src.take(16)?;
        let (method, packed, len) = (src.u8()?, src.u32_le()?, u64::from(src.u32_le()?));
        let packed = packed.checked_sub(9).ok_or_else(|| src.corrupt("a block of no length"))?;
        let data = src.take(packed.into())?;
        // No byte of LZ4 stands for more than 255.
        if len > 255 * data.len() as u64 || len > *room {
            let message = format!("{len} bytes in a block of {}", data.len());
            return Err(Error::new(Kind::LimitExceeded { what: "expanded" }, message));
        }
        *room -= len;
        match method {
            0x02 if len == data.len() as u64 => out.extend_from_slice(data),
            0x82 => {
                let start = out.len();
                out.resize(start + len as usize, 0);
                let written = lz4_flex::block::decompress_into(data, &mut out[start..]);
                if written.ok() != Some(len as usize) {
                    return Err(corrupt("a block that cannot be decompressed"));
                }
            }
            other => return Err(unsupported(format!("blocks compressed by method {other:#x}"))),
        }
    }
    Ok(out)
}

/// The granules, by the number of bits a row with which they end where the bytes do; where several numbers do, by the
/// one with the fewest granules.
fn split(bytes: &[u8]) -> Result<Vec<(u64, u64, Vec<u8>)>> {
    let count = |bits: u64| {
        let (mut src, mut count) = (Reader::new(bytes), 0usize);
        while src.len() > 0 {
            let (_, len) = granule(&mut src, bits)?;
            src.take(len).ok()?;
            count += 1;
        }
        (count > 0).then_some((count, bits))
    };
    let found = (1..=MOST_BITS).filter_map(count).min();
    let (count, bits) = found.ok_or_else(|| corrupt("no granules that end where the file does"))?;
    // Each is a filter with its own few hundred bytes; those of ClickHouse are kilobytes long, but for the last.
    if count > 16 + bytes.len() / 64 {
        return Err(unsupported("more granules than an index has"));
    }
    let mut src = Reader::new(bytes);
    let mut out = Vec::new();
    while let Some((rows, len)) = granule(&mut src, bits) {
        out.push((out.len() as u64, rows, src.take(len)?.to_vec()));
    }
    Ok(out)
}

/// The next granule's rows, if there are any, and the length of its bits.
fn granule(src: &mut Reader<'_>, bits: u64) -> Option<(u64, u64)> {
    let rows = src.varint().ok().filter(|rows| *rows > 0)?;
    Some((rows, rows.checked_mul(bits)?.div_ceil(8)))
}

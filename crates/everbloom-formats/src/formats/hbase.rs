//! HBase's compound Bloom filters: in a store file (HFile), or the blocks of the filter alone.
//!
//! ```text
//!   a file:    blocks · trailer of 4096 bytes (version 3) or 212 (version 2), big-endian throughout
//!   a block:   8 bytes type · i32 length here · i32 length of the data · i64 offset of the one before ·
//!              u8 checksum · i32 bytes each checksum is for · i32 length without checksums · data · checksums
//!   trailer:   TRABLK"$ · a message { 2: offset of the blocks that are read first, 12: packing, 13: key } behind its length ·
//!              zeros · u8 minor and u24 major version
//!   BLMFMET2:  i32 3 · i64 bytes of all chunks · i32 k · i32 hash (0 Jenkins, 1 Murmur, 2 Murmur3) · i64 keys ·
//!              i64 capacity · i32 chunks · comparator · per chunk: i64 offset · i32 length · first key
//!   BLMFBLK2:  the bits of a chunk, the lowest of a byte first
//! ```
//!
//! Comparator and first keys are bytes behind their number, which Hadoop writes in one byte up to 127. Keys of rows are
//! sorted as bytes, and a key is in the last chunk whose first key is not above it. h1 is the hash of the key under the
//! seed 0, h2 under the seed h1; index i = 0 … k − 1 is |(h1 + i·h2) mod m| with Java's 32-bit signs. DFBLMET2 is such a
//! filter of the rows in which whole families were deleted.
//!
//! All this is from HBase's sources; no file that HBase wrote was at hand. The filter alone, as it is written here, is
//! its chunks and the block BLMFMET2, with offsets from the first of them and without checksums.

use everbloom::internals::filter::{fact, text};
use everbloom::internals::hash::Digest;
use everbloom::internals::probe::{Foreign as Indices, Scheme as Probes};
use everbloom::{Fact, Result};

use super::protobuf::fields;
use crate::bits::Bits;
use crate::format::foreign::{Layout, cardinality, checked_k};
use crate::format::{Hints, Part};
use crate::read::{Reader, corrupt, corrupt_at, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs, hashes};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "hbase",
    writer: "Apache HBase, compound Bloom filters in HFiles",
    versions: "HFiles of versions 2 and 3, neither compressed nor encrypted; or only the filter's blocks",
    recognized: "the magic of the trailer, or that of a chunk",
    keys: &[KeyAs::String, KeyAs::Hex],
    hash: "jenkins-lookup3, HBase's variant of murmur2-32, or murmur3-x86-32, twice",
    limits: "based on HBase's sources, not compared with a file by HBase; keys are rows; filters over rows and \
             columns, and Ribbon filters, are refused; only the filter is written",
    fit: Some(|bytes| Fit::Magic.when(bytes.starts_with(CHUNK) || trailer(bytes).is_ok())),
    open,
    ..Format::USUAL
};

const CHUNK: &[u8; 8] = b"BLMFBLK2";
const ROWS: &[u8; 8] = b"BLMFMET2";
const DELETED: &[u8; 8] = b"DFBLMET2";
const TRAILER: &[u8; 8] = b"TRABLK\"$";
/// Bytes before the data of a block.
const HEADER: u64 = 33;
/// How files that are not packed say so.
const NOT_PACKED: u64 = 2;
/// The version of a compound filter.
const COMPOUND: u32 = 3;

#[derive(Clone, Copy)]
enum Hash {
    Jenkins,
    Murmur,
    Murmur3,
}

impl Hash {
    const ALL: [Hash; 3] = [Hash::Jenkins, Hash::Murmur, Hash::Murmur3];

    fn of(self, bytes: &[u8], seed: u32) -> u32 {
        match self {
            Hash::Jenkins => hashes::jenkins_lookup3(bytes, seed),
            Hash::Murmur => hashes::murmur2_hbase(bytes, seed),
            Hash::Murmur3 => hashes::murmur3_x86_32(bytes, seed),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Hash::Jenkins => "jenkins",
            Hash::Murmur => "murmur",
            Hash::Murmur3 => "murmur3",
        }
    }
}

/// Chunks, each for the keys from its first one up to the first of the next.
struct Compound {
    kind: &'static [u8; 8],
    k: u32,
    hash: Hash,
    keys: u64,
    capacity: u64,
    comparator: Vec<u8>,
    chunks: Vec<Chunk>,
}

struct Chunk {
    first: Vec<u8>,
    bits: Bits,
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    let (start, end) =
        if bytes.starts_with(CHUNK) { (0, bytes.len() as u64) } else { first_blocks(bytes)? };
    let mut parts = Vec::new();
    let mut at = start;
    while at < end {
        let (kind, data, next) = block(bytes, at)?;
        let found = [(ROWS, "rows"), (DELETED, "deleted families")];
        if let Some((kind, column)) = found.into_iter().find(|(magic, _)| kind == *magic) {
            let compound = Compound::read(kind, data, bytes)?;
            let part = Part::from(Foreign::new(&FORMAT, compound));
            parts.push(Part { column: column.to_owned(), ..part });
        }
        at = next;
    }
    match &mut parts[..] {
        [] => return Err(unsupported("the file has no Bloom filter")),
        [one] => one.column.clear(),
        // More than those two would be many filters of few bytes.
        [_, _] => {}
        _ => return Err(corrupt("more filters than a file has")),
    }
    Ok(parts)
}

/// Where the trailer of a file is, and what stands in it before the version.
fn trailer(bytes: &[u8]) -> Result<(u64, Reader<'_>)> {
    let version = bytes.last_chunk().map_or(0, |version| u32::from_be_bytes(*version));
    let len = match (version & 0xff_ffff, version >> 24) {
        (3, _) => 4096,
        // Before minor version 2 a trailer is no message.
        (2, 2..) => 212,
        (major, minor) => return Err(unsupported(format!("version {major}.{minor} of an HFile"))),
    };
    let end = bytes.len().checked_sub(len).ok_or_else(|| corrupt("a trailer without a file"))?;
    let mut src = Reader::new(&bytes[end..bytes.len() - 4]);
    if src.take(8)? == TRAILER { Ok((end as u64, src)) } else { Err(unsupported("not an HFile")) }
}

/// Where the blocks are that are read first, and where they end.
fn first_blocks(bytes: &[u8]) -> Result<(u64, u64)> {
    let (end, mut src) = trailer(bytes)?;
    let len = src.varint()?;
    let (mut start, mut packing) = (0, NOT_PACKED);
    fields(src.take(len)?, |id, value| {
        match id {
            2 => start = value.number(),
            12 => packing = value.number(),
            13 => return Err(unsupported("an HFile that is encrypted")),
            _ => {}
        }
        Ok(())
    })?;
    if packing != NOT_PACKED {
        return Err(unsupported(format!("a compressed HFile (codec {packing})")));
    }
    Ok((start, end))
}

/// The type and the data of the block at an offset, and where the next one is.
fn block(bytes: &[u8], at: u64) -> Result<(&[u8], &[u8], u64)> {
    let rest = usize::try_from(at).ok().and_then(|at| bytes.get(at..));
    let mut src = Reader::new(rest.ok_or_else(|| corrupt_at(at, "a block behind the end"))?);
    let (kind, here, len) = (src.take(8)?, src.count_be()?, src.count_be()?);
    src.take(HEADER - 16)?;
    let mut body = Reader::new(src.take(here)?);
    Ok((kind, body.take(len)?, at + HEADER + here))
}

/// Bytes behind their number.
fn counted<'a>(src: &mut Reader<'a>) -> Result<&'a [u8]> {
    let len = match src.u8()? as i8 {
        len @ 0.. => len as u64,
        // The number of bytes that hold it, the highest first.
        first @ -120..=-113 => {
            let bytes = src.take((-112 - i64::from(first)) as u64)?;
            bytes.iter().fold(0, |len, byte| len << 8 | u64::from(*byte))
        }
        _ => return Err(src.corrupt("a length below zero")),
    };
    src.take(len)
}

/// Writes bytes behind their number.
fn push_counted(bytes: &[u8], out: &mut Vec<u8>) {
    let len = bytes.len() as u64;
    if len < 128 {
        out.push(len as u8);
    } else {
        let zeros = (len.leading_zeros() / 8) as usize;
        out.push((-112 - (8 - zeros) as i8) as u8);
        out.extend_from_slice(&len.to_be_bytes()[zeros..]);
    }
    out.extend_from_slice(bytes);
}

/// Writes a block without checksums.
fn push_block(kind: &[u8; 8], data: &[u8], out: &mut Vec<u8>) {
    let len = data.len() as u32;
    out.extend_from_slice(kind);
    out.extend_from_slice(&[len.to_be_bytes(); 2].concat());
    out.extend_from_slice(&u64::MAX.to_be_bytes());
    out.push(0);
    for number in [0, len + HEADER as u32] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(data);
}

impl Compound {
    fn read(kind: &'static [u8; 8], meta: &[u8], file: &[u8]) -> Result<Self> {
        let mut src = Reader::new(meta);
        let version = src.u32_be()?;
        if version != COMPOUND {
            return Err(unsupported(format!(
                "a filter of version {version}, which is another kind"
            )));
        }
        let (total, k, hash) = (src.u64_be()?, checked_k(src.count_be()?)?, src.u32_be()?);
        let hash = Hash::ALL.get(hash as usize).copied();
        let hash = hash.ok_or_else(|| src.corrupt("a hash that is not known"))?;
        let (keys, capacity, count) = (src.u64_be()?, src.u64_be()?, src.count_be()?);
        let comparator = counted(&mut src)?.to_vec();
        // Older versions name the comparison of bytes, newer ones leave it out.
        let by_bytes = [&b"$RawBytesComparator"[..], b"$ByteArrayComparator"];
        if !comparator.is_empty() && !by_bytes.iter().any(|name| comparator.ends_with(name)) {
            return Err(unsupported(
                "a filter over rows and columns, whose keys have their own order",
            ));
        }
        let (mut chunks, mut sum) = (Vec::<Chunk>::new(), 0u64);
        for _ in 0..count {
            let (at, _len, first) = (src.u64_be()?, src.u32_be()?, counted(&mut src)?.to_vec());
            let (kind, data, _) = block(file, at)?;
            // Chunks lie side by side, so that all of them are no longer than the file.
            sum = sum.saturating_add(data.len() as u64);
            if kind != CHUNK || sum > file.len() as u64 || data.len() > i32::MAX as usize / 8 {
                return Err(corrupt_at(at, "no chunk of a Bloom filter"));
            }
            if chunks.last().is_some_and(|before| before.first > first) {
                return Err(src.corrupt("chunks out of order"));
            }
            chunks.push(Chunk { first, bits: Bits::new(data, 8 * data.len() as u64)? });
        }
        src.finish()?;
        if sum != total || chunks.is_empty() {
            return Err(corrupt(format!("chunks of {sum} bytes where {total} are stated")));
        }
        Ok(Self { kind, k, hash, keys, capacity, comparator, chunks })
    }

    /// The chunk that a key would be in.
    fn chunk(&self, key: &[u8]) -> Option<&Chunk> {
        let after = self.chunks.partition_point(|chunk| chunk.first[..] <= *key);
        self.chunks[..after].last()
    }

    fn rate(&self, chunk: &Chunk) -> f64 {
        chunk.bits.fill().powi(self.k as i32)
    }
}

impl Layout for Compound {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        key.little(|key| {
            let Some(chunk) = self.chunk(key) else { return Ok(false) };
            let first = self.hash.of(key, 0);
            let both = u64::from(self.hash.of(key, first)) << 32 | u64::from(first);
            let indices = Indices::new(Probes::Absolute32, chunk.bits.m(), self.k)?;
            let digest = Digest { h1: both, h2: 0 };
            Ok(indices.indices(digest).all(|i| chunk.bits.get(i)))
        })
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        let mut index = Vec::new();
        for chunk in &self.chunks {
            let start = out.len() as u64;
            push_block(CHUNK, chunk.bits.bytes(), &mut out);
            index.extend_from_slice(&start.to_be_bytes());
            index.extend_from_slice(&((out.len() as u64 - start) as u32).to_be_bytes());
            push_counted(&chunk.first, &mut index);
        }
        let mut meta = COMPOUND.to_be_bytes().to_vec();
        meta.extend_from_slice(&(self.bits() / 8).to_be_bytes());
        for number in [self.k, self.hash as u32] {
            meta.extend_from_slice(&number.to_be_bytes());
        }
        for number in [self.keys, self.capacity] {
            meta.extend_from_slice(&number.to_be_bytes());
        }
        meta.extend_from_slice(&(self.chunks.len() as u32).to_be_bytes());
        push_counted(&self.comparator, &mut meta);
        meta.extend_from_slice(&index);
        push_block(self.kind, &meta, &mut out);
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![
            fact("k", self.k),
            fact("chunks", self.chunks.len() as u64),
            fact("items", self.keys),
            fact("capacity", self.capacity),
            text("hash", self.hash.name()),
        ]
    }

    fn fill(&self) -> f64 {
        let ones: u64 = self.chunks.iter().map(|chunk| chunk.bits.ones()).sum();
        (ones as f64 / self.bits() as f64).min(1.0)
    }

    /// The mean over the chunks.
    fn fpr(&self) -> f64 {
        let rates = self.chunks.iter().map(|chunk| self.rate(chunk));
        rates.sum::<f64>() / self.chunks.len() as f64
    }

    fn cardinality(&self) -> Option<f64> {
        let chunks = self.chunks.iter();
        chunks.map(|chunk| cardinality(chunk.bits.m(), self.k, chunk.bits.ones())).sum()
    }

    fn bits(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.bits.m()).sum()
    }
}

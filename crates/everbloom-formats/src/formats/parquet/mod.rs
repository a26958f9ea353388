//! Parquet's split-block Bloom filters: a bare bitset, one behind its header, or all of a file's.
//!
//! ```text
//!   a file:      PAR1 · pages · [header · bitset] … · footer · u32 length of the footer · PAR1
//!   a header:    Thrift compact { 1: bytes of the bitset, 2: {1: BLOCK}, 3: {1: XXHASH}, 4: {1: UNCOMPRESSED} }
//!   a bitset:    blocks of eight little-endian 32-bit words
//! ```
//!
//! Keys go through XXH64, seed 0, in their plain encoding: integers and floating-point numbers are 4 or 8
//! little-endian bytes, strings their bytes without a length. The bits are those of the library's variant
//! `split-block`, so these filters become filters of the library and back.
//!
//! The footer says in `row_groups[].columns[].meta_data` where a column chunk's filter is (fields 14 and 15).

mod thrift;

use everbloom::internals::filter::fact;
use everbloom::{Error, Fact, Filter, Kind, Result, SplitBlock};

use crate::format::foreign::Layout;
use crate::format::{Hints, Part};
use crate::read::{corrupt, corrupt_at, push_varint, unsupported};
use crate::{Fit, Foreign, Format, Key, KeyAs};
use thrift::{Thrift, Type};

/// The list entry.
pub static FORMAT: Format = Format {
    name: "parquet",
    writer: "Apache Parquet: pyarrow, DuckDB, parquet-mr, arrow-rs and others",
    versions: "uncompressed split-block filters: in files, after a header, or bare",
    recognized: "PAR1 at both ends; a header with a consistent length; a bare bitset of whole 32-byte blocks",
    keys: &[KeyAs::String, KeyAs::Hex, KeyAs::Int, KeyAs::Long, KeyAs::Float, KeyAs::Double],
    hash: "xxh64, seed 0",
    limits: "filters in whole files are read, not written; encrypted footers are refused",
    fit: Some(fit),
    open,
    create: Some(create),
    adopt: Some(adopt),
    ..Format::USUAL
};

const MAGIC: &[u8; 4] = b"PAR1";

fn fit(bytes: &[u8]) -> Fit {
    if bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC) && bytes.len() >= 12 {
        Fit::Magic
    } else if header(bytes).is_ok_and(|(head, len)| (head + len) as usize == bytes.len()) {
        Fit::Fields
    } else {
        Fit::Length.when(!bytes.is_empty() && bytes.len().is_multiple_of(32))
    }
}

fn open(bytes: &[u8], _: &Hints) -> Result<Vec<Part>> {
    match fit(bytes) {
        Fit::Magic => file(bytes),
        Fit::Fields => Ok(vec![filter(bytes, bytes.len() as u64)?.into()]),
        _ => Ok(vec![Foreign::new(&FORMAT, Split::new(Vec::new(), bytes)?).into()]),
    }
}

/// The filter whose header is at the start of `bytes`, and whose bitset has at most `most` bytes.
fn filter(bytes: &[u8], most: u64) -> Result<Foreign> {
    let (head, len) = header(bytes)?;
    if len > most {
        return Err(corrupt("filters that overlap"));
    }
    let (head, rest) = bytes.split_at(head as usize);
    let bitset = rest.get(..len as usize).ok_or_else(|| {
        let message = format!("a bitset of {len} bytes, and {} there", rest.len());
        Error::new(Kind::Truncated, message)
    })?;
    Ok(Foreign::new(&FORMAT, Split::new(head.to_vec(), bitset)?))
}

/// The lengths of a header and of the bitset after it.
fn header(bytes: &[u8]) -> Result<(u64, u64)> {
    let mut thrift = Thrift::new(bytes);
    let (mut len, mut plain) = (None, 0);
    thrift.root(|thrift, id, of| match id {
        1 => {
            len = u64::try_from(thrift.integer(of)?).ok();
            Ok(())
        }
        2..=4 => thrift.fields(of, |thrift, choice, of| {
            plain += u32::from(choice == 1);
            thrift.skip(of)
        }),
        _ => thrift.skip(of),
    })?;
    let head = (bytes.len() - thrift.src.len()) as u64;
    match (len, plain) {
        (Some(len), 3) => Ok((head, len)),
        (Some(_), _) => Err(unsupported("an algorithm, hash or compression that is not known")),
        (None, _) => Err(corrupt("a header without a length")),
    }
}

/// What the footer says of a column chunk.
#[derive(Default)]
struct Chunk {
    column: String,
    keys: Option<KeyAs>,
    offset: Option<u64>,
}

/// All the filters of a file.
fn file(bytes: &[u8]) -> Result<Vec<Part>> {
    let end = bytes.len() - 8;
    let len = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap_or_default());
    let start = end.checked_sub(len as usize).filter(|start| *start >= 4).ok_or_else(|| {
        corrupt_at(end as u64, format!("a footer of {len} bytes in a file of {}", bytes.len()))
    })?;
    let mut parts = Vec::new();
    let mut group = 0;
    // Filters lie side by side, so that together they are shorter than the file.
    let mut room = bytes.len() as u64;
    Thrift::new(&bytes[start..end]).root(|thrift, id, of| match id {
        4 => thrift.list(of, |thrift, of| {
            let first = parts.len();
            let mut rows = None;
            thrift.fields(of, |thrift, id, of| match id {
                1 => thrift.list(of, |thrift, of| {
                    let chunk = chunk(thrift, of)?;
                    let Some(offset) = chunk.offset else { return Ok(()) };
                    let at = bytes.get(offset as usize..start).ok_or_else(|| {
                        corrupt_at(offset, format!("a filter at {offset}, beyond the footer"))
                    })?;
                    let filter = filter(at, room)?;
                    room -= filter.bits() / 8;
                    let (column, keys) = (chunk.column, chunk.keys);
                    parts.push(Part { column, row_group: group, rows: None, keys, filter });
                    Ok(())
                }),
                3 => {
                    rows = u64::try_from(thrift.integer(of)?).ok();
                    Ok(())
                }
                _ => thrift.skip(of),
            })?;
            parts[first..].iter_mut().for_each(|part| part.rows = rows);
            group += 1;
            Ok(())
        }),
        _ => thrift.skip(of),
    })?;
    Ok(parts)
}

fn chunk(thrift: &mut Thrift<'_>, of: Type) -> Result<Chunk> {
    let mut chunk = Chunk::default();
    thrift.fields(of, |thrift, id, of| {
        if id != 3 {
            return thrift.skip(of);
        }
        thrift.fields(of, |thrift, id, of| match id {
            1 => {
                chunk.keys = keys(thrift.integer(of)?);
                Ok(())
            }
            3 => thrift.list(of, |thrift, of| {
                if !chunk.column.is_empty() {
                    chunk.column.push('.');
                }
                chunk.column += &String::from_utf8_lossy(thrift.binary(of)?);
                Ok(())
            }),
            14 => {
                chunk.offset = u64::try_from(thrift.integer(of)?).ok();
                Ok(())
            }
            _ => thrift.skip(of),
        })
    })?;
    Ok(chunk)
}

/// How lines become values of a physical type.
fn keys(physical: i64) -> Option<KeyAs> {
    match physical {
        1 => Some(KeyAs::Int),
        2 => Some(KeyAs::Long),
        4 => Some(KeyAs::Float),
        5 => Some(KeyAs::Double),
        6 => Some(KeyAs::String),
        7 => Some(KeyAs::Hex),
        _ => None,
    }
}

/// A filter of the library, and the header that stood before it.
struct Split {
    header: Vec<u8>,
    filter: SplitBlock,
}

impl Split {
    fn new(header: Vec<u8>, bitset: &[u8]) -> Result<Self> {
        Ok(Self { header, filter: SplitBlock::from_parquet(bitset)? })
    }

    /// A filter behind the header that every reader knows.
    fn with_header(filter: SplitBlock) -> Self {
        let mut header = vec![0x15];
        // The length, as a zigzag number of 7 bits a byte; then three unions whose first choice is an empty structure.
        push_varint(filter.blocks() * 64, &mut header);
        header.extend_from_slice(&[0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0]);
        Self { header, filter }
    }

    fn dynamic(&self) -> &dyn Filter {
        &self.filter
    }
}

impl Layout for Split {
    fn contains(&self, key: &Key<'_>) -> Result<bool> {
        Ok(key.little(|bytes| self.filter.contains(bytes)))
    }

    fn insert(&mut self, key: &Key<'_>) -> Option<Result<bool>> {
        Some(Ok(key.little(|bytes| self.filter.insert(bytes)) == everbloom::Seen::New))
    }

    fn write(&self) -> Option<Vec<u8>> {
        let mut out = self.header.clone();
        out.extend_from_slice(&self.filter.to_parquet().ok()?);
        Some(out)
    }

    fn describe(&self) -> Vec<Fact> {
        vec![fact("m", self.bits()), fact("k", 8u64), fact("blocks", self.filter.blocks())]
    }

    fn fill(&self) -> f64 {
        self.dynamic().fill().unwrap_or(0.0)
    }

    fn fpr(&self) -> f64 {
        self.dynamic().now().fpr.unwrap_or(1.0)
    }

    fn cardinality(&self) -> Option<f64> {
        use everbloom::prelude::Face as _;
        self.filter.as_estimate()?.cardinality()
    }

    fn bits(&self) -> u64 {
        self.filter.blocks() * 256
    }

    fn to_filter(&self, _: KeyAs) -> Option<Result<Box<dyn Filter>>> {
        Some(Ok(Box::new(self.filter.clone())))
    }
}

/// A power of two of blocks, as all writers have it; some readers take no other.
fn create(items: u64, fpr: f64) -> Result<Foreign> {
    let blocks = SplitBlock::with_rate(items, fpr)?.blocks().next_power_of_two();
    let hasher = everbloom::Hasher::with_id(everbloom::HashId::Xxh64, 0)?;
    let filter = SplitBlock::with_shape(blocks, hasher)?;
    Ok(Foreign::new(&FORMAT, Split::with_header(filter)))
}

fn adopt(filter: &dyn Filter) -> Result<Foreign> {
    let split: &SplitBlock = filter.as_same().map_err(|_| {
        let slug = filter.facts().slug;
        FORMAT.cannot(&format!("hold the bits of a {slug} filter: use the variant split-block"))
    })?;
    let reading = &filter.head().reading;
    if !reading.key_type.is_empty() || !reading.ancestors.is_empty() {
        return Err(FORMAT.cannot("give the type of the filter's keys"));
    }
    split.to_parquet()?;
    Ok(Foreign::new(&FORMAT, Split::with_header(split.clone())))
}

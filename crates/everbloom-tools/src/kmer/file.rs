//! The file of an index: a header, the rows of each group, and a checksum for every page of them.
//!
//! ```text
//!   0     magic 89 "EVK" CR LF 1A LF · u32 version · u32 length of the header
//!   16    u32 K · u32 probes · f64 rate · u32 groups
//!         for each group: u64 rows · u32 samples
//!             for each sample: u16 length · name · u64 K-mers · u64 ones
//!         u32 CRC32C of all before; zeros up to a page
//!         for each group: rows of ⌈samples/64⌉ words of 64 bits; zeros up to a page
//!         for each page of rows: u32 CRC32C
//! ```
//!
//! All numbers are little-endian; a page has 4096 bytes. A row is read by the pages it lies in, each checked when
//! it is read first, so an index may be far larger than memory.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use everbloom::internals::cells::Bits;
use everbloom::internals::disk;
use everbloom::{Error, Kind, Result};

use super::{Group, Sample, Shape};

/// The first bytes of an index.
pub const MAGIC: [u8; 8] = *b"\x89EVK\r\n\x1a\n";
const VERSION: u32 = 1;
const PREFIX: usize = 16;
pub(super) const PAGE: u64 = 4096;
/// More would be no index of samples: a header claims it, nothing is allocated for it.
const MOST_SAMPLES: u64 = 1 << 24;

fn corrupt(what: &str) -> Error {
    Error::new(Kind::Corrupt { offset: 0 }, format!("corrupt index: {what}"))
}

fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE)
}

/// Bytes of a group's rows, if that is a number.
fn payload(group: &Group) -> Option<u64> {
    group.rows.checked_mul(group.words())?.checked_mul(8)
}

fn header(shape: &Shape, groups: &[Group]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(u32::from(shape.length).to_le_bytes());
    bytes.extend(shape.probes.to_le_bytes());
    bytes.extend(shape.rate.to_le_bytes());
    bytes.extend((groups.len() as u32).to_le_bytes());
    for group in groups {
        bytes.extend(group.rows.to_le_bytes());
        bytes.extend((group.samples.len() as u32).to_le_bytes());
        for sample in &group.samples {
            bytes.extend((sample.name.len() as u16).to_le_bytes());
            bytes.extend(sample.name.as_bytes());
            bytes.extend(sample.kmers.to_le_bytes());
            bytes.extend(sample.ones.to_le_bytes());
        }
    }
    let length = (bytes.len() + 4) as u32;
    bytes[12..16].copy_from_slice(&length.to_le_bytes());
    let sum = crc32c::crc32c(&bytes);
    bytes.extend(sum.to_le_bytes());
    bytes
}

/// Writes an index in place of the file at `path`, whole or not at all. `row` gives the words of a row of a group.
pub(super) fn write(
    path: &Path,
    shape: &Shape,
    groups: &[Group],
    mut row: impl FnMut(usize, u64, &mut [u64]) -> std::io::Result<()>,
) -> Result<()> {
    let filled = disk::replace(path, |out| {
        let header = header(shape, groups);
        let padding = pages(header.len() as u64) * PAGE - header.len() as u64;
        out.write_all(&header)?;
        out.write_all(&vec![0; padding as usize])?;
        let mut sums = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            let mut words = vec![0; group.words() as usize];
            let mut page: Vec<u8> = Vec::with_capacity(PAGE as usize);
            for at in 0..group.rows {
                row(number, at, &mut words)?;
                for word in &words {
                    page.extend(word.to_le_bytes());
                    if page.len() as u64 == PAGE {
                        flush(out, &mut page, &mut sums)?;
                    }
                }
            }
            if !page.is_empty() {
                page.resize(PAGE as usize, 0);
                flush(out, &mut page, &mut sums)?;
            }
        }
        sums.iter().try_for_each(|sum: &u32| out.write_all(&sum.to_le_bytes()))
    });
    filled.map_err(|e| Error::from(e).context(path.display()))
}

fn flush(out: &mut dyn Write, page: &mut Vec<u8>, sums: &mut Vec<u32>) -> std::io::Result<()> {
    sums.push(crc32c::crc32c(page));
    out.write_all(page)?;
    page.clear();
    Ok(())
}

/// An index that is open for reading.
pub(super) struct Rows {
    file: File,
    /// Where the first page is, and how many there are.
    start: u64,
    pages: u64,
    /// Pages whose checksum was seen to fit.
    checked: Bits,
}

/// Opens an index: its shape, its groups, and its rows to be read.
pub(super) fn open(path: &Path) -> Result<(Shape, Vec<Group>, Rows)> {
    let read = || -> Result<_> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut prefix = [0; PREFIX];
        file.read_exact(&mut prefix).map_err(|_| not_ours())?;
        if prefix[..8] != MAGIC {
            return Err(not_ours());
        }
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|i| prefix[at + i]));
        if word(8) != VERSION {
            return Err(Error::new(Kind::UnsupportedVersion, "an index of a newer version"));
        }
        let header = u64::from(word(12));
        if header > length || header < PREFIX as u64 + 4 {
            return Err(Error::new(Kind::Truncated, "the index ends inside its header"));
        }
        let mut bytes = prefix.to_vec();
        (&file).take(header - PREFIX as u64).read_to_end(&mut bytes)?;
        let (shape, groups) = parsed(&bytes)?;
        let rows = groups.iter().try_fold(0u64, |sum, g| sum.checked_add(pages(payload(g)?)));
        let (start, rows) = (pages(header) * PAGE, rows.ok_or_else(|| corrupt("its size"))?);
        let expected = rows.checked_mul(PAGE + 4).and_then(|n| n.checked_add(start));
        if expected != Some(length) {
            return Err(Error::new(Kind::Truncated, "the index has not the length it should have"));
        }
        let checked = Bits::try_new(rows.max(1))?;
        Ok((shape, groups, Rows { file, start, pages: rows, checked }))
    };
    read().map_err(|e| e.context(path.display()))
}

fn not_ours() -> Error {
    Error::new(Kind::NotOurs, "not an index of K-mers: build one with `kmer build`")
}

/// The fields of a header whose checksum fits.
fn parsed(bytes: &[u8]) -> Result<(Shape, Vec<Group>)> {
    let (fields, sum) = bytes.split_at(bytes.len() - 4);
    if crc32c::crc32c(fields).to_le_bytes() != sum {
        return Err(corrupt("the checksum of its header"));
    }
    let mut rest = &fields[PREFIX..];
    let mut take = |n: usize| -> Result<&[u8]> {
        let (taken, after) = rest.split_at_checked(n).ok_or_else(|| corrupt("its header"))?;
        rest = after;
        Ok(taken)
    };
    let mut number = |n: usize| -> Result<u64> {
        let taken = take(n)?;
        let mut word = [0; 8];
        word[..n].copy_from_slice(taken);
        Ok(u64::from_le_bytes(word))
    };
    let (length, probes) = (number(4)?, number(4)?);
    let rate = f64::from_bits(number(8)?);
    let count = number(4)?;
    let mut groups = Vec::new();
    for _ in 0..count {
        let (rows, samples) = (number(8)?, number(4)?);
        let mut group = Group { rows, samples: Vec::new() };
        for _ in 0..samples.min(MOST_SAMPLES) {
            let long = number(2)? as usize;
            let mut name = Vec::with_capacity(long);
            for _ in 0..long {
                name.push(number(1)? as u8);
            }
            let name = String::from_utf8(name).map_err(|_| corrupt("a sample's name"))?;
            group.samples.push(Sample { name, kmers: number(8)?, ones: number(8)? });
        }
        let sound = |s: &Sample| s.ones <= rows;
        if rows == 0 || group.samples.is_empty() || !group.samples.iter().all(sound) {
            return Err(corrupt("a group"));
        }
        groups.push(group);
    }
    let shape = Shape { length: length as u8, probes: probes as u32, rate };
    if !rest.is_empty() || length > 32 || probes > 64 {
        return Err(corrupt("its header"));
    }
    Ok((shape.checked().map_err(|_| corrupt("its shape"))?, groups))
}

impl Rows {
    /// Reads a row of a group. Its pages are checked.
    pub(super) fn read(
        &mut self,
        groups: &[Group],
        group: usize,
        at: u64,
        out: &mut [u64],
    ) -> Result<()> {
        let before: u64 = groups[..group].iter().map(|g| pages(payload(g).unwrap_or(0))).sum();
        let (start, length) = (before * PAGE + at * out.len() as u64 * 8, out.len() * 8);
        let (first, last) = (start / PAGE, (start + length as u64 - 1) / PAGE);
        for page in first..=last {
            if !self.checked.get(page) {
                self.check(page)?;
            }
        }
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(self.start + start))?;
        self.file.read_exact(&mut bytes)?;
        for (word, bytes) in out.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        Ok(())
    }

    fn check(&mut self, page: u64) -> Result<()> {
        let (mut bytes, mut sum) = ([0; PAGE as usize], [0; 4]);
        self.file.seek(SeekFrom::Start(self.start + page * PAGE))?;
        self.file.read_exact(&mut bytes)?;
        self.file.seek(SeekFrom::Start(self.start + self.pages * PAGE + page * 4))?;
        self.file.read_exact(&mut sum)?;
        if crc32c::crc32c(&bytes).to_le_bytes() != sum {
            let offset = self.start + page * PAGE;
            let message = format!("corrupt index: the page at byte {offset}; build it again");
            return Err(Error::new(Kind::Corrupt { offset }, message));
        }
        self.checked.set(page);
        Ok(())
    }
}

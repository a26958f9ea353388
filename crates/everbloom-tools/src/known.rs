//! Which files, and which parts of files, are known (catalogue A51; S0 §IV-E \[109\], md5bloom).
//!
//! ```text
//!   reference files ──▶ chunks ──▶ Bloom filter ──┐
//!   target file     ──▶ chunks ───────────────────┴──▶ how much of it is known
//! ```
//!
//! A part that is in a reference file is always found; another one at the filter's rate. Filters of two versions of
//! a library, laid over each other, tell how many blocks they share (S1 §2.4). Chunks end where the content says
//! ([`Known`]); the form of the paper cuts blocks of one length and takes the four words of their MD5, mod m, as
//! the places of the bits ([`Md5Blocks`]).
//!
//! Whole files are known by lists as `sha256sum` prints them ([`Digests`]): a filter of the digests tells nearly
//! all unknown files at once, and a second look at the list confirms the others.

use std::io::{BufRead, Read};
use std::path::Path;

use everbloom::internals::cells::Bits;
use everbloom::internals::theory::bloom as theory;
use everbloom::{Bloom, Error, Kind, Result, open_as, save};
use md5::{Digest as _, Md5};
use sha2::Sha256;

use crate::chunks::Cut;

/// How much of a file is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Its chunks, and those that are known.
    pub chunks: u64,
    /// Of them, those that are known.
    pub known_chunks: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The bytes of known chunks.
    pub known_bytes: u64,
}

/// Chunks of reference files.
///
/// ```
/// use everbloom_tools::chunks::Cut;
/// use everbloom_tools::known::Known;
///
/// let library: Vec<u8> = (0..50_000u32).flat_map(|i| (i * i).to_le_bytes()).collect();
/// let mut known = Known::new(10_000, 0.001, Cut::Content)?;
/// known.add(&library[..])?;
///
/// let patched = [&b"a new beginning"[..], &library[1000..]].concat();
/// let parts = known.parts(&patched[..])?;
/// assert!(parts.known_bytes as f64 > 0.95 * parts.bytes as f64 && parts.known_chunks < parts.chunks);
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Known {
    blocks: Blocks,
    cut: Cut,
}

/// What holds the chunks.
enum Blocks {
    Bloom(Bloom),
    Md5(Md5Blocks),
}

impl Blocks {
    fn insert(&mut self, chunk: &[u8]) {
        match self {
            Blocks::Bloom(filter) => _ = filter.insert(chunk),
            Blocks::Md5(filter) => filter.insert(chunk),
        }
    }

    fn contains(&self, chunk: &[u8]) -> bool {
        match self {
            Blocks::Bloom(filter) => filter.contains(chunk),
            Blocks::Md5(filter) => filter.contains(chunk),
        }
    }
}

impl Known {
    /// Room for so many chunks; other chunks seem known at the rate.
    pub fn new(chunks: u64, rate: f64, cut: Cut) -> Result<Self> {
        Ok(Self { blocks: Blocks::Bloom(Bloom::with_rate(chunks, rate)?), cut })
    }

    /// The paper's form: blocks of `block` bytes by their MD5, in `m` bits.
    pub fn md5(m: u64, block: u32) -> Result<Self> {
        Ok(Self { blocks: Blocks::Md5(Md5Blocks::new(m)?), cut: Cut::Fixed(block) })
    }

    /// Adds a reference file; how many chunks it has.
    pub fn add(&mut self, file: impl Read) -> Result<u64> {
        let (blocks, mut chunks) = (&mut self.blocks, 0);
        self.cut.each(file, |chunk| {
            blocks.insert(chunk);
            chunks += 1;
            Ok(())
        })?;
        Ok(chunks)
    }

    /// Whether a chunk may be known.
    pub fn contains(&self, chunk: &[u8]) -> bool {
        self.blocks.contains(chunk)
    }

    /// How much of a file is known.
    pub fn parts(&self, file: impl Read) -> Result<Parts> {
        let mut parts = Parts::default();
        self.cut.each(file, |chunk| {
            let (known, bytes) = (self.blocks.contains(chunk), chunk.len() as u64);
            parts.chunks += 1;
            parts.bytes += bytes;
            parts.known_chunks += u64::from(known);
            parts.known_bytes += if known { bytes } else { 0 };
            Ok(())
        })?;
        Ok(parts)
    }

    /// Writes the filter, which `estimate` compares with those of other versions.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        match &self.blocks {
            Blocks::Bloom(filter) => save(filter, path),
            Blocks::Md5(_) => {
                let message = "blocks by MD5 have no file format: leave that form out";
                Err(Error::new(Kind::Unsupported, message))
            }
        }
    }

    /// The filter that [`Known::save`] wrote of files that were cut in this way.
    pub fn open(path: impl AsRef<Path>, cut: Cut) -> Result<Self> {
        Ok(Self { blocks: Blocks::Bloom(open_as(path)?), cut })
    }
}

/// Blocks by the four words of their MD5, mod m.
///
/// ```
/// use everbloom_tools::known::Md5Blocks;
///
/// let mut blocks = Md5Blocks::new(8192)?;
/// blocks.insert(b"a block");
/// assert!(blocks.contains(b"a block") && !blocks.contains(b"another"));
/// # Ok::<(), everbloom::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Md5Blocks {
    bits: Bits,
}

impl Md5Blocks {
    /// Bits of a block: the words of its MD5.
    const PROBES: u32 = 4;

    /// A filter of `m` bits, 1 to 2^32.
    pub fn new(m: u64) -> Result<Self> {
        if !(1..=1 << 32).contains(&m) {
            let message = "a word of MD5 finds one of 2^32 bits at most";
            return Err(Error::new(Kind::BadParameter, message));
        }
        Ok(Self { bits: Bits::try_new(m)? })
    }

    /// The four places of a block.
    fn places(&self, block: &[u8]) -> [u64; 4] {
        let digest: [u8; 16] = Md5::digest(block).into();
        let word = |i: usize| u32::from_be_bytes([0, 1, 2, 3].map(|j| digest[4 * i + j]));
        std::array::from_fn(|i| u64::from(word(i)) % self.bits.len())
    }

    /// Adds a block.
    pub fn insert(&mut self, block: &[u8]) {
        for place in self.places(block) {
            self.bits.set(place);
        }
    }

    /// Whether the block may be known.
    pub fn contains(&self, block: &[u8]) -> bool {
        self.places(block).iter().all(|place| self.bits.get(*place))
    }

    /// Takes in the blocks of another filter of the same size.
    pub fn union(&mut self, other: &Md5Blocks) -> Result<()> {
        self.agree(other)?;
        self.bits.union(&other.bits);
        Ok(())
    }

    /// The ones, and those that another filter has, too.
    pub fn common_ones(&self, other: &Md5Blocks) -> Result<(u64, u64)> {
        self.agree(other)?;
        Ok((self.bits.ones(), self.bits.ones_in_both(&other.bits)))
    }

    /// How many blocks two filters share, estimated from their zeros (S1 §2.4); none for filters too full to tell.
    pub fn common(&self, other: &Md5Blocks) -> Result<Option<f64>> {
        let (_, both) = self.common_ones(other)?;
        let (m, zeros) = (self.bits.len(), [self.bits.zeros(), other.bits.zeros()]);
        Ok(theory::intersection_size(zeros[0], zeros[1], m - both, m, Self::PROBES))
    }

    fn agree(&self, other: &Md5Blocks) -> Result<()> {
        if self.bits.len() == other.bits.len() {
            return Ok(());
        }
        let what = Kind::Incompatible { what: "m" };
        Err(Error::new(what, "filters of different sizes cannot be compared"))
    }
}

/// The digests of a list as `sha256sum` prints it.
///
/// ```
/// use everbloom_tools::known::{Digests, sha256};
///
/// let list = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty\n";
/// let digests = Digests::read(list.as_bytes(), 1)?;
/// assert!(digests.may_hold(&sha256(&b""[..])?) && !digests.may_hold(&sha256(&b"a"[..])?));
/// # Ok::<(), everbloom::Error>(())
/// ```
pub struct Digests {
    filter: Bloom,
}

/// A digest of SHA-256.
pub type Sum = [u8; 32];

/// The digest of a file.
pub fn sha256(mut file: impl Read) -> Result<Sum> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(hash.finalize().into()),
            Ok(count) => hash.update(&buffer[..count]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

impl Digests {
    /// The digests of a list of about so many lines.
    pub fn read(list: impl BufRead, lines: u64) -> Result<Self> {
        let mut filter = Bloom::with_rate(lines.max(1), 1e-6)?;
        each_sum(list, |sum, _| {
            filter.insert(&sum[..]);
        })?;
        Ok(Self { filter })
    }

    /// Whether the list may hold the digest: all that do, and one in a million others.
    pub fn may_hold(&self, sum: &Sum) -> bool {
        self.filter.contains(&sum[..])
    }
}

/// The longest line of a list: a digest and a name.
const LINE: u64 = 64 << 10;

/// Calls `f` with every digest of a list as `sha256sum` prints it, and the name beside it.
pub fn each_sum(mut list: impl BufRead, mut f: impl FnMut(&Sum, &[u8])) -> Result<()> {
    let mut line = Vec::new();
    for number in 0.. {
        line.clear();
        // A line that goes on behind that has a digest at its beginning, or is none.
        if (&mut list).take(LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        // A name with a line break or a backslash is marked by one in front of its digest.
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let text = text.strip_prefix(b"\\").unwrap_or(text);
        if text.is_empty() || text.starts_with(b"#") {
            continue;
        }
        let sum =
            text.get(..64).and_then(parse).filter(|_| matches!(text.get(64), None | Some(b' ')));
        let Some(sum) = sum else {
            let message = format!(
                "line {}: not a SHA-256 and a name, as sha256sum prints them",
                number + 1u64
            );
            return Err(Error::new(Kind::BadRecord, message));
        };
        f(&sum, text.get(66..).unwrap_or_default());
    }
    Ok(())
}

fn parse(hex: &[u8]) -> Option<Sum> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut sum = [0; 32];
    for (byte, pair) in sum.iter_mut().zip(hex.chunks_exact(2)) {
        *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_md5_are_the_places() {
        let mut blocks = Md5Blocks::new(1 << 16).unwrap();
        // MD5 of "a" is 0cc175b9 c0f1b6a8 31c399e2 69772661.
        blocks.insert(b"a");
        for place in [0x75b9, 0xb6a8, 0x99e2, 0x2661] {
            assert!(blocks.bits.get(place), "{place:x}");
        }
        assert_eq!(blocks.bits.ones(), 4);
        let other = Md5Blocks::new(100).unwrap();
        assert!(blocks.union(&other).is_err() && blocks.common(&other).is_err());
        let mut twin = Md5Blocks::new(1 << 16).unwrap();
        twin.union(&blocks).unwrap();
        assert!(twin.contains(b"a"));
        assert!(Md5Blocks::new(0).is_err());
    }

    #[test]
    fn lists_are_read_as_sha256sum_writes_them() {
        let sum = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
        let list = format!("# comment\n{sum}  a file\n\\{sum} *a\\nb\r\n{}\n", sum.to_uppercase());
        let mut names = Vec::new();
        each_sum(list.as_bytes(), |found, name| {
            assert_eq!(*found, sha256(&b"a"[..]).unwrap());
            names.push(String::from_utf8_lossy(name).into_owned());
        })
        .unwrap();
        assert_eq!(names, ["a file", "a\\nb", ""]);
        for bad in ["hello\n", &sum[1..], &format!("{sum}x\n")] {
            assert!(each_sum(bad.as_bytes(), |_, _| ()).is_err(), "{bad}");
        }
    }
}

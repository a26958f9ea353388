//! The file around the tree: prefix, checksums, opening, saving. FORMAT.md draws it.

use std::borrow::Cow;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use memmap2::{MmapMut, MmapOptions};

use super::pages::{self, Pages};
use super::tree::{Decoder, Encoder, Payload};
use crate::error::{Error, Kind, Result};
use crate::filter::{Filter, Head, MAX_ITEMS};
use crate::hash::{HashId, Hasher, SecretKey};
use crate::structure::Ops;
use crate::variant::Variant;

/// The first eight bytes. 0x89 is not ASCII, CR LF and the lone LF show text conversion, 0x1A stops a
/// terminal listing.
pub const MAGIC: [u8; 8] = *b"\x89EVB\r\n\x1a\n";
/// Files of another major version are refused.
pub const MAJOR: u16 = 1;
/// Files of a newer minor version are read.
pub const MINOR: u16 = 0;

const PREFIX: usize = 80;
/// Bytes of payload under one checksum.
const CHUNK: usize = 64 << 10;
/// The bits of an absent target rate.
const NO_RATE: u64 = u64::MAX;

/// Upper bounds on what a decoder accepts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest file, in bytes.
    pub bytes: u64,
    /// Most bytes that coded arrays, which are longer in memory than in the file, may expand to.
    pub expanded: u64,
}

impl Limits {
    /// For files of one's own: whatever is there, and coded arrays up to 64 GiB.
    pub const LOCAL: Limits = Limits { bytes: u64::MAX, expanded: 64 << 30 };
    /// For bytes from a network: 128 MiB, coded or not.
    pub const NETWORK: Limits = Limits { bytes: 128 << 20, expanded: 128 << 20 };
}

/// How an opened file's cells are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read and verified, then independent of the file.
    Copy,
    /// Mapped and verified. A file truncated by someone else while mapped raises SIGBUS. The file itself is
    /// never changed: of what is written to the system makes copies, page by page.
    Map,
    /// Mapped without reading the payload: opens in no time, and a flipped bit goes unseen.
    MapUnverified,
}

/// Opens filters: the one way from bytes to a filter.
///
/// ```
/// use everbloom::codec::Opener;
/// use everbloom::membership::Bloom;
///
/// let mut filter = Bloom::with_rate(1000, 0.01)?;
/// filter.insert("apple");
/// let bytes = everbloom::codec::to_bytes(&filter);
/// let again: Bloom = Opener::new().decode_as(&bytes)?;
/// assert!(again.contains("apple"));
/// # Ok::<(), everbloom::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Opener {
    key: Option<SecretKey>,
    limits: Limits,
    access: Access,
}

impl Default for Opener {
    fn default() -> Self {
        Self { key: None, limits: Limits::LOCAL, access: Access::Copy }
    }
}

impl Opener {
    /// Opens unkeyed local files, copied into memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Uses `key` for keyed filters.
    #[must_use]
    pub fn key(mut self, key: Option<SecretKey>) -> Self {
        self.key = key;
        self
    }

    /// Refuses whatever exceeds `limits`.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Holds the cells of an opened file as `access` says.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// The filter in `bytes`.
    pub fn decode(&self, bytes: &[u8]) -> Result<Box<dyn Filter>> {
        let prefix = self.prefix(bytes)?;
        prefix.verify(bytes)?;
        self.finish(&prefix, bytes, Payload::Bytes(prefix.payload(bytes)), Lock::Closed)
    }

    /// The filter in `bytes`, which must be of type `T`.
    pub fn decode_as<T: Filter>(&self, bytes: &[u8]) -> Result<T> {
        downcast(self.decode(bytes)?)
    }

    /// The filter in the file at `path`.
    pub fn open(&self, path: &Path) -> Result<Box<dyn Filter>> {
        self.open_locked(path, Lock::Closed).map_err(|e| e.context(path.display()))
    }

    /// What the file at `path` says of itself; needs no key.
    pub fn inspect(&self, path: &Path) -> Result<Inspection> {
        let filter = self.open_locked(path, Lock::Open).map_err(|e| e.context(path.display()))?;
        Ok(Inspection { filter })
    }

    fn open_locked(&self, path: &Path, lock: Lock) -> Result<Box<dyn Filter>> {
        let mut file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return self.open_pages(path, lock);
        }
        // A pipe or a device has no length and cannot be mapped: it is read to its end.
        if self.access == Access::Copy || !meta.is_file() || meta.len() == 0 {
            let mut bytes = Vec::new();
            let cap = self.limits.bytes.saturating_add(1);
            io::Read::read_to_end(&mut io::Read::take(&mut file, cap), &mut bytes)?;
            let prefix = self.prefix(&bytes)?;
            prefix.verify(&bytes)?;
            return self.finish(&prefix, &bytes, Payload::Bytes(prefix.payload(&bytes)), lock);
        }
        let map = Arc::new(map(&file)?);
        let prefix = self.prefix(&map)?;
        if self.access == Access::Map {
            prefix.verify(&map)?;
        }
        self.finish(&prefix, &map, Payload::Map(&map, prefix.payload_start), lock)
    }

    /// The filter whose pages are in the folder at `path`, all of them read into memory.
    fn open_pages(&self, path: &Path, lock: Lock) -> Result<Box<dyn Filter>> {
        if !pages::is_store(path) {
            return Err(Error::new(Kind::NotOurs, "is a folder, but not a page store"));
        }
        let (pages, manifest) = Pages::open_locked(path, 1, self, lock)?;
        let variant = manifest.variant();
        let ops = variant.ops.as_ref().and_then(|ops| ops.pages.as_ref());
        let ops = ops.ok_or_else(|| {
            Error::corrupt(20, format!("corrupt manifest: a {} filter has no pages", variant.slug))
        })?;
        (ops.open)(&pages, &manifest)
    }

    /// Magic, major version, length, checksum of the prefix and the tree: in this order.
    fn prefix(&self, bytes: &[u8]) -> Result<Prefix> {
        if bytes.is_empty() {
            return Err(Error::new(
                Kind::Truncated,
                "the file is empty: no filter was written to it",
            ));
        }
        let common = bytes.len().min(MAGIC.len());
        if bytes[..common] != MAGIC[..common] {
            return Err(Error::new(
                Kind::NotOurs,
                "not an everbloom filter: the first bytes are not the .evb magic",
            ));
        }
        if bytes.len() as u64 > self.limits.bytes {
            return Err(Error::new(
                Kind::LimitExceeded { what: "bytes" },
                format!("the filter is longer than the limit of {} bytes", self.limits.bytes),
            ));
        }
        let short = || Error::new(Kind::Truncated, "the file ends inside its header");
        if bytes.len() < MAGIC.len() + 2 {
            return Err(short());
        }
        let major = u16_at(bytes, 8);
        if major != MAJOR {
            return Err(Error::new(
                Kind::UnsupportedVersion,
                format!(
                    "format version {major}, but this build reads version {MAJOR}: update everbloom"
                ),
            ));
        }
        if bytes.len() < PREFIX {
            return Err(short());
        }
        Prefix::parse(bytes)
    }

    fn finish(
        &self,
        prefix: &Prefix,
        bytes: &[u8],
        payload: Payload<'_>,
        lock: Lock,
    ) -> Result<Box<dyn Filter>> {
        let (variant, ops, head) = self.head(bytes, lock)?;
        let tree = &bytes[PREFIX..PREFIX + prefix.tree_len];
        let expanded = self.limits.expanded;
        let mut decoder =
            Decoder::new(tree, PREFIX as u64, payload, prefix.payload_len, expanded, variant, head);
        let filter = (ops.load)(&mut decoder)?;
        decoder.finish()?;
        Ok(filter)
    }

    /// What bytes 12 to 55 say, of a file and of a manifest alike: features, variant, hash, seed, items
    /// and targets.
    pub(super) fn head(
        &self,
        bytes: &[u8],
        lock: Lock,
    ) -> Result<(&'static Variant, &'static Ops, Head)> {
        let required = u32_at(bytes, 12);
        if required != 0 {
            return Err(Error::new(
                Kind::UnsupportedFeature,
                format!("the file needs features {required:#x}, which this build does not have"),
            ));
        }
        let variant_id = u16_at(bytes, 20);
        let variant = Variant::by_id(variant_id);
        let Some((variant, ops)) = variant.and_then(|v| Some((v, v.ops.as_ref()?))) else {
            return Err(Error::new(
                Kind::UnsupportedFeature,
                format!("variant {variant_id} is not in this build: update everbloom"),
            ));
        };
        let hash = u16_at(bytes, 22);
        let hash = HashId::from_number(hash).ok_or_else(|| {
            Error::new(Kind::UnsupportedFeature, format!("hash {hash} is not in this build"))
        })?;
        let seed = u64_at(bytes, 24);
        let hasher = match lock {
            Lock::Open if hash == HashId::SipHash24_128 => Hasher::locked(seed),
            _ => Hasher::restore(hash, seed, self.key.as_ref())?,
        };
        let items = u64_at(bytes, 32);
        if items > MAX_ITEMS {
            return Err(Error::corrupt(32, format!("corrupt filter: it claims {items} items")));
        }
        let head = Head {
            hasher,
            items,
            fpr: rate_at(bytes, 40)?,
            fnr: rate_at(bytes, 48)?,
            form: variant.forms[0].name,
        };
        Ok((variant, ops, head))
    }
}

/// Whether a keyed filter may be decoded without its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Closed,
    Open,
}

/// A filter that is only looked at: it may be keyed, and its key need not be at hand.
pub struct Inspection {
    filter: Box<dyn Filter>,
}

impl Inspection {
    /// Calls `look` with the filter, which must not be asked for keys.
    pub fn with<R>(&self, look: impl FnOnce(&dyn Filter) -> R) -> R {
        look(&*self.filter)
    }
}

/// Lengths and offsets, checked against the number of bytes that are there.
struct Prefix {
    tree_len: usize,
    payload_start: usize,
    payload_len: usize,
}

impl Prefix {
    fn parse(bytes: &[u8]) -> Result<Self> {
        let (tree_len, payload_len, file_len) =
            (u64_at(bytes, 56), u64_at(bytes, 64), u64_at(bytes, 72));
        let there = bytes.len() as u64;
        if file_len > there {
            return Err(Error::new(
                Kind::Truncated,
                format!("the file is cut off: {there} of {file_len} bytes are there"),
            ));
        }
        let lengths = Lengths::of(tree_len, payload_len)
            .filter(|l| l.file == file_len && file_len == there && payload_len.is_multiple_of(64));
        let Some(lengths) = lengths else {
            return Err(Error::corrupt(
                56,
                format!("corrupt filter: the lengths in the header do not add up to {there} bytes"),
            ));
        };
        let crc_at = PREFIX + tree_len as usize;
        if crc32c::crc32c(&bytes[..crc_at]) != u32_at(bytes, crc_at) {
            return Err(Error::corrupt(0, "corrupt filter: the header's checksum does not match"));
        }
        let payload_start = lengths.payload_start as usize;
        if bytes[crc_at + 4..payload_start].iter().any(|&b| b != 0) {
            let message = "corrupt filter: the padding after the header is not zero";
            return Err(Error::corrupt(crc_at as u64 + 4, message));
        }
        Ok(Self { tree_len: tree_len as usize, payload_start, payload_len: payload_len as usize })
    }

    fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.payload_start..self.payload_start + self.payload_len]
    }

    /// Every chunk of the payload against its checksum.
    fn verify(&self, bytes: &[u8]) -> Result<()> {
        let table = self.payload_start + self.payload_len;
        for (i, chunk) in self.payload(bytes).chunks(CHUNK).enumerate() {
            if crc32c::crc32c(chunk) != u32_at(bytes, table + 4 * i) {
                return Err(Error::corrupt(
                    (self.payload_start + i * CHUNK) as u64,
                    format!("corrupt filter: the checksum of payload chunk {i} does not match"),
                ));
            }
        }
        Ok(())
    }
}

/// Where the sections of a file lie, as 64-bit numbers without overflow.
struct Lengths {
    payload_start: u64,
    file: u64,
}

impl Lengths {
    fn of(tree: u64, payload: u64) -> Option<Self> {
        let header = tree.checked_add(PREFIX as u64 + 4)?;
        let payload_start = header.checked_next_multiple_of(64)?;
        let table = payload.div_ceil(CHUNK as u64).checked_mul(4)?;
        let file = payload_start.checked_add(payload)?.checked_add(table)?;
        Some(Self { payload_start, file })
    }
}

/// The file of a filter, as bytes.
pub fn to_bytes(filter: &dyn Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Writing into memory cannot fail.
    let _ = write(filter, &mut bytes);
    bytes
}

/// Writes the file of a filter at `path`, or leaves what was there.
///
/// The bytes go to a temporary file beside it, which is synced, renamed over `path`, and made durable
/// by syncing the folder. A path that is not a regular file (a pipe, a device) is written directly. A path
/// that is a folder, or ends with a slash, becomes a page store, where the variant has one.
pub fn save(filter: &dyn Filter, path: &Path) -> Result<()> {
    let slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if slash || path.is_dir() {
        let variant = filter.variant();
        return match variant.ops.as_ref().and_then(|ops| ops.pages.as_ref()) {
            Some(pages) => (pages.save)(filter, path),
            None => Err(Error::new(
                Kind::Unsupported,
                format!(
                    "{} is a folder, and a {} filter has no pages to put there: name a file",
                    path.display(),
                    variant.slug
                ),
            )),
        };
    }
    save_at(filter, path)
        .map_err(|e| Error::from(e).context(format!("cannot write {}", path.display())))
}

fn save_at(filter: &dyn Filter, path: &Path) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
        let mut device = fs::OpenOptions::new().write(true).open(path)?;
        write(filter, &mut device)?;
        return device.flush();
    }
    replace(path, |out| write(filter, out))
}

/// Puts what `fill` writes in place of the file at `path`, whole or not at all: a temporary file beside it
/// is synced, renamed over `path`, and made durable by syncing the folder.
pub(super) fn replace(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    // A symbolic link stays one: what it points to is replaced.
    let path = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".evb-");
    #[cfg(unix)]
    let builder = {
        use std::os::unix::fs::PermissionsExt;
        let mode = existing.as_ref().map_or(0o666, |meta| meta.permissions().mode());
        builder.permissions(fs::Permissions::from_mode(mode))
    };
    let mut temporary = builder.tempfile_in(folder)?;
    {
        let mut out = io::BufWriter::with_capacity(1 << 20, temporary.as_file_mut());
        fill(&mut out)?;
        out.flush()?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&path).map_err(|e| e.error)?;
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    Ok(())
}

fn write(filter: &dyn Filter, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = Encoder::default();
    filter.save_state(&mut encoder);
    let head = filter.head();
    let padded = |array: &Cow<'_, [u64]>| (array.len() as u64 * 8).next_multiple_of(64);
    let payload_len: u64 = encoder.arrays.iter().map(padded).sum();
    let tree_len = encoder.tree.len() as u64;
    let lengths = Lengths::of(tree_len, payload_len)
        .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the filter is too large"))?;

    let mut header = Vec::with_capacity(lengths.payload_start as usize);
    push_head(&mut header, MAGIC, filter.variant(), head);
    let words = [tree_len, payload_len, lengths.file];
    words.iter().for_each(|word| header.extend_from_slice(&word.to_le_bytes()));
    header.extend_from_slice(&encoder.tree);
    header.extend_from_slice(&crc32c::crc32c(&header).to_le_bytes());
    header.resize(lengths.payload_start as usize, 0);
    out.write_all(&header)?;

    let mut chunks = Chunks { out, crc: 0, filled: 0, table: Vec::new() };
    for array in &encoder.arrays {
        array.chunks(CHUNK / 8).try_for_each(|words| chunks.words(words))?;
        chunks.pad()?;
    }
    chunks.finish()
}

/// The first 56 bytes of a file or a manifest: all that [`Opener::head`] reads, and what stands before it.
pub(super) fn push_head(out: &mut Vec<u8>, magic: [u8; 8], variant: &Variant, head: &Head) {
    out.extend_from_slice(&magic);
    out.extend_from_slice(&MAJOR.to_le_bytes());
    out.extend_from_slice(&MINOR.to_le_bytes());
    out.extend_from_slice(&[0; 8]); // required and optional feature bits: none yet
    out.extend_from_slice(&variant.id.to_le_bytes());
    out.extend_from_slice(&(head.hasher.id() as u16).to_le_bytes());
    let rate = |rate: Option<f64>| rate.map_or(NO_RATE, f64::to_bits);
    let words = [head.hasher.seed(), head.items.min(MAX_ITEMS), rate(head.fpr), rate(head.fnr)];
    words.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

/// Passes the payload on and checksums it by chunks.
struct Chunks<'a> {
    out: &'a mut dyn Write,
    crc: u32,
    filled: usize,
    table: Vec<u8>,
}

impl Chunks<'_> {
    fn words(&mut self, words: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(words.len() * 8);
        words.iter().for_each(|w| bytes.extend_from_slice(&w.to_le_bytes()));
        self.bytes(&bytes)
    }

    fn pad(&mut self) -> io::Result<()> {
        let gap = self.filled.next_multiple_of(64) - self.filled;
        self.bytes(&[0; 64][..gap])
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.filled));
            self.crc = crc32c::crc32c_append(self.crc, now);
            self.filled += now.len();
            if self.filled == CHUNK {
                self.close();
            }
            bytes = later;
        }
        Ok(())
    }

    fn close(&mut self) {
        self.table.extend_from_slice(&self.crc.to_le_bytes());
        (self.crc, self.filled) = (0, 0);
    }

    fn finish(mut self) -> io::Result<()> {
        if self.filled > 0 {
            self.close();
        }
        self.out.write_all(&self.table)
    }
}

/// The filter inside the box, if it is a `T`.
pub(crate) fn downcast<T: Filter>(filter: Box<dyn Filter>) -> Result<T> {
    let slug = filter.variant().slug;
    let any: Box<dyn std::any::Any> = filter;
    any.downcast::<T>().map(|typed| *typed).map_err(|_| {
        Error::new(
            Kind::Incompatible { what: "variant" },
            format!("the file holds a {slug} filter, not the one asked for"),
        )
    })
}

/// The file's pages, as private ones: the system copies those that are written to, so that the file is never
/// changed. No swap is set aside for that, since most filters are only read.
#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<MmapMut> {
    let mut options = MmapOptions::new();
    #[cfg(any(target_os = "linux", target_os = "android"))]
    options.no_reserve_swap();
    // SAFETY: a file that another process truncates meanwhile raises SIGBUS, and one that it rewrites
    // changes answers; both are documented at `Access`.
    unsafe { options.map_copy(file) }
}

fn rate_at(bytes: &[u8], at: usize) -> Result<Option<f64>> {
    let bits = u64_at(bytes, at);
    let rate = f64::from_bits(bits);
    match bits {
        NO_RATE => Ok(None),
        _ if (0.0..=1.0).contains(&rate) => Ok(Some(rate)),
        _ => Err(Error::corrupt(at as u64, format!("corrupt filter: a target rate of {rate}"))),
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap_or_default())
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap_or_default())
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap_or_default())
}

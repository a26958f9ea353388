//! From bytes to a filter: the one decoder for every way in.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::layout::{MAGIC, PREFIX, Prefix};
use crate::catalog;
use crate::error::{Error, Kind, Result};
use crate::filter::{Children, Facts, Filter, Head, Loader, Lock, Origin};
use crate::hash::SecretKey;
use crate::memory::Mapping;
use crate::pages::{self, Pages, Purpose};
use crate::state::{Decoder, Limits, MAJOR, Payload, check_features, too_large, u16_at};
use crate::variant::{Listed, Ops, Variant};

/// How an opened file's cells are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Read and verified, then independent of the file.
    Copy,
    /// Mapped and verified. A file truncated by someone else while mapped raises SIGBUS. The file itself is
    /// never changed: of what is written to the system makes copies, page by page.
    Map,
    /// Mapped without reading the payload: opens in no time, and a flipped bit goes unseen.
    MapUnverified,
}

/// How often a store is read that writers keep changing.
const READ_AGAIN: u32 = 100;

/// Opens filters: the one way from bytes to a filter.
///
/// ```
/// use everbloom::Opener;
/// use everbloom::Bloom;
///
/// let mut filter = Bloom::with_rate(1000, 0.01)?;
/// filter.insert("apple");
/// let bytes = everbloom::to_bytes(&filter);
/// let again: Bloom = Opener::new().decode_as(&bytes)?;
/// assert!(again.contains("apple"));
/// # Ok::<(), everbloom::Error>(())
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

    /// Refuses files that exceed `limits`.
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
        self.decoded(bytes, Lock::Closed, &LISTED)
    }

    fn decoded(&self, bytes: &[u8], lock: Lock, entries: &Entries) -> Result<Box<dyn Filter>> {
        let prefix = self.prefix(bytes)?;
        prefix.verify(bytes)?;
        self.finish(&prefix, bytes, Payload::Bytes(prefix.payload(bytes)), lock, entries)
    }

    /// The filter in `bytes`, which must be of type `T`.
    pub fn decode_as<T: Filter + Listed>(&self, bytes: &[u8]) -> Result<T> {
        self.decoded(bytes, Lock::Closed, &Entries::of::<T>()).and_then(downcast)
    }

    /// The filter in the file at `path`.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Box<dyn Filter>> {
        let path = path.as_ref();
        self.open_locked(path, Lock::Closed, &LISTED).map_err(|e| e.context(path.display()))
    }

    /// The filter in the file at `path`, which must be of type `T`.
    pub fn open_as<T: Filter + Listed>(&self, path: impl AsRef<Path>) -> Result<T> {
        let path = path.as_ref();
        let opened = self.open_locked(path, Lock::Closed, &Entries::of::<T>());
        opened.and_then(downcast).map_err(|e| e.context(path.display()))
    }

    /// The filter that `from` gives up to its end, as far as the limits allow.
    pub fn read_from(&self, from: impl Read) -> Result<Box<dyn Filter>> {
        self.decode(&self.read(from)?)
    }

    fn read(&self, from: impl Read) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        from.take(self.limits.bytes.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// What the file at `path` says of itself; needs no key.
    pub fn inspect(&self, path: impl AsRef<Path>) -> Result<Inspection> {
        let path = path.as_ref();
        let opened = self.open_locked(path, Lock::Open, &LISTED);
        Ok(Inspection { filter: opened.map_err(|e| e.context(path.display()))? })
    }

    fn open_locked(&self, path: &Path, lock: Lock, entries: &Entries) -> Result<Box<dyn Filter>> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        if meta.is_dir() {
            return self.open_pages(path, lock, entries);
        }
        // A pipe or a device has no length and cannot be mapped: it is read to its end.
        let copied = self.access == Access::Copy || !meta.is_file() || meta.len() == 0;
        let map = if copied { None } else { Mapping::of(&file)? };
        let Some(map) = map else {
            return self.decoded(&self.read(file)?, lock, entries);
        };
        let prefix = self.prefix(map.bytes())?;
        if self.access == Access::Map {
            prefix.verify(map.bytes())?;
        }
        let payload = Payload::Map(&map, prefix.payload_start);
        self.finish(&prefix, map.bytes(), payload, lock, entries)
    }

    /// The filter whose pages are in the folder at `path`, all of them read into memory. Where a writer replaced some of
    /// them meanwhile, they are read again.
    fn open_pages(&self, path: &Path, lock: Lock, entries: &Entries) -> Result<Box<dyn Filter>> {
        if !pages::is_store(path) {
            return Err(Error::new(Kind::NotOurs, "is a folder, but not a page store"));
        }
        let mut tries = 1..READ_AGAIN;
        loop {
            let version = pages::version(path);
            let read = self.read_pages(path, lock, entries);
            let outdated = || version.is_some() && version != pages::version(path);
            if read.is_ok() || tries.next().is_none() || !outdated() {
                return read;
            }
        }
    }

    fn read_pages(&self, path: &Path, lock: Lock, entries: &Entries) -> Result<Box<dyn Filter>> {
        let (pages, manifest) = Pages::open(path, 1, Purpose::Read)?;
        let (variant, ops, head) = self.head(manifest.prefix(), lock, entries)?;
        let open = ops.pages.ok_or_else(|| {
            Error::corrupt(20, format!("corrupt manifest: a {} filter has no pages", variant.slug))
        })?;
        let bytes = pages.len().saturating_mul(8 * pages.words() as u64);
        let limit = self.limits.expanded_for(manifest.len());
        if bytes.max(manifest.len()) > limit.min(self.limits.bytes) {
            return Err(too_large(bytes, limit.min(self.limits.bytes)));
        }
        let filter = open(&pages, &manifest, head)?;
        self.explained(&*filter)?;
        Ok(filter)
    }

    /// Refuses a filter that is fuller than its items explain, where the limits ask for it.
    fn explained(&self, filter: &dyn Filter) -> Result<()> {
        if !self.limits.explained {
            return Ok(());
        }
        let items = filter.head().items as f64;
        let estimated = filter.as_estimate().map(|estimate| estimate.cardinality());
        // Six standard deviations of a Poisson count, and what an estimate from the fill is off by.
        let most = 1.1 * items + 6.0 * items.sqrt() + 16.0;
        match estimated {
            Some(Some(n)) if n <= most => Ok(()),
            None => Ok(()),
            Some(n) => {
                let found =
                    n.map_or("more keys than can be told".to_owned(), |n| format!("{n:.0} keys"));
                Err(Error::new(
                    Kind::LimitExceeded { what: "fill" },
                    format!("the filter claims {items} items, but is as full as with {found}"),
                ))
            }
        }
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
        entries: &Entries,
    ) -> Result<Box<dyn Filter>> {
        let (variant, ops, mut head) = self.head(bytes, lock, entries)?;
        let tree = &bytes[PREFIX..PREFIX + prefix.tree_len];
        let (expanded, nothing) = (self.limits.expanded_for(bytes.len() as u64), Box::new(()));
        let mut decoder =
            Decoder::new(tree, PREFIX as u64, payload, prefix.payload_len, expanded, nothing);
        head.load_before(bytes, &mut decoder)?;
        decoder.swap_context(Origin::context(&variant.facts, head, entries.children));
        let filter = (ops.load)(&mut decoder)?;
        decoder.finish()?;
        self.explained(&*filter)?;
        Ok(filter)
    }

    /// What bytes 12 to 55 say, of a file and of a manifest alike: features, variant, hash, seed, items
    /// and targets.
    fn head(
        &self,
        bytes: &[u8],
        lock: Lock,
        entries: &Entries,
    ) -> Result<(&'static Variant, &'static Ops, Head)> {
        check_features(bytes)?;
        let id = u16_at(bytes, 20);
        let known = (entries.find)(id)?;
        let (variant, ops) =
            known.ops.as_ref().map(|ops| (known, ops)).ok_or_else(|| left_out(id))?;
        let head = Head::from_prefix(bytes, &variant.facts, self.key.as_ref(), lock)?;
        Ok((variant, ops, head))
    }
}

/// Where the entry behind an id is looked up, for a file and for the filters inside its filter.
struct Entries {
    find: fn(u16) -> Result<&'static Variant>,
    children: Children,
}

/// In the list.
const LISTED: Entries =
    Entries { find: |id| catalog::by_id(id).ok_or_else(|| left_out(id)), children: child };

impl Entries {
    /// The entry of one type and no other, so that a program that names its type does not link the whole list.
    fn of<T: Listed>() -> Self {
        let find = |id| {
            let own = T::entry();
            if own.id == id {
                Ok(own)
            } else {
                Err(another(catalog::name(id).map_or("newer", |n| n.0)))
            }
        };
        Self { find, children: |_| None }
    }
}

/// The error of a file whose variant is not compiled in.
#[cold]
fn left_out(id: u16) -> Error {
    let message = match catalog::name(id) {
        Some((slug, feature)) => format!(
            "the file holds a {slug} filter, which this build does not include: compile everbloom with the feature \
            \"{feature}\""
        ),
        None => format!("variant {id} is not in this build: update everbloom"),
    };
    Error::new(Kind::UnsupportedFeature, message)
}

/// The error of a file that holds another variant than the one asked for.
#[cold]
fn another(slug: &str) -> Error {
    let message = format!("the file holds a {slug} filter, not the requested type");
    Error::new(Kind::Incompatible { what: "variant" }, message)
}

/// How a filter inside another one is loaded.
fn child(id: u16) -> Option<(&'static Facts, Loader)> {
    let variant = catalog::by_id(id)?;
    Some((&variant.facts, variant.ops.as_ref()?.load))
}

/// A filter to inspect only: it may be keyed, and its key is not needed.
pub struct Inspection {
    filter: Box<dyn Filter>,
}

impl Inspection {
    /// Calls `look` with the filter, which must not be queried.
    pub fn with<R>(&self, look: impl FnOnce(&dyn Filter) -> R) -> R {
        look(&*self.filter)
    }
}

/// The filter inside the box, if it is a `T`.
fn downcast<T: Filter>(filter: Box<dyn Filter>) -> Result<T> {
    let slug = filter.facts().slug;
    let any: Box<dyn std::any::Any> = filter;
    any.downcast::<T>().map(|typed| *typed).map_err(|_| another(slug))
}

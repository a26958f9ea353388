//! The publisher's folder.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use everbloom::internals::disk::replace;
use everbloom::{Bloom, Error, Result, to_bytes};
use everbloom_formats::Format;

use super::{Digest, Update, corrupt, digest};

pub(super) const LATEST: &str = "latest";
/// The format of filters of this system.
pub(super) const OURS: &str = "evb";
const FIRST_LINE: &str = "everbloom published 1";
/// Deltas that are kept: whoever is further behind takes the whole file.
const DELTAS: u64 = 100;

/// How a list becomes a filter: the same list and shape give the same bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// `evb`, or a foreign format that can be created, such as `squid`.
    pub format: String,
    /// Keys it is made for.
    pub capacity: u64,
    /// The false-positive rate at that number.
    pub rate: f64,
}

impl Shape {
    /// The filter of these keys.
    pub fn build<'a>(&self, keys: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
        if self.format == OURS {
            let mut filter = Bloom::with_rate(self.capacity.max(1), self.rate)?;
            keys.into_iter().for_each(|key| _ = filter.insert(key));
            return Ok(to_bytes(&filter));
        }
        let mut filter = Format::named(&self.format)?.create(self.capacity.max(1), self.rate)?;
        for key in keys {
            filter.insert(key)?;
        }
        filter.write()
    }
}

/// What stands in `LATEST`.
#[derive(Clone, Debug, PartialEq)]
pub struct Latest {
    /// The number of the latest version.
    pub version: u64,
    /// The digest of its file.
    pub digest: Digest,
    /// How it was made.
    pub shape: Shape,
}

impl Latest {
    /// As text.
    pub fn write(&self) -> String {
        let Self { version, digest, shape: Shape { format, capacity, rate } } = self;
        let mut hex = String::new();
        digest.iter().for_each(|byte| _ = write!(hex, "{byte:02x}"));
        format!(
            "{FIRST_LINE}\nversion {version}\ndigest {hex}\nformat {format}\ncapacity {capacity}\nrate {rate}\n"
        )
    }

    /// From text.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let wrong = || corrupt("not a list of published versions");
        let text = str::from_utf8(bytes.get(..bytes.len().min(4096)).unwrap_or(bytes));
        let mut lines = text.map_err(|_| wrong())?.lines();
        if lines.next() != Some(FIRST_LINE) {
            return Err(wrong());
        }
        let mut field = |name: &str| {
            let (found, value) = lines.next()?.split_once(' ')?;
            (found == name).then(|| value.to_owned())
        };
        let mut all = || -> Option<Self> {
            let version = field("version")?.parse().ok()?;
            let hex = field("digest")?;
            let byte = |i: usize| u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok();
            let digest: Vec<u8> = (0..32).map(byte).collect::<Option<_>>()?;
            let digest = digest.try_into().ok().filter(|_| hex.len() == 64)?;
            let (format, capacity) = (field("format")?, field("capacity")?.parse().ok()?);
            let rate = field("rate")?.parse().ok()?;
            Some(Self { version, digest, shape: Shape { format, capacity, rate } })
        };
        all().ok_or_else(wrong)
    }
}

/// The names of a version's files.
pub(super) fn whole_name(version: u64) -> String {
    format!("{version}.full")
}

pub(super) fn delta_name(version: u64) -> String {
    format!("{version}.delta")
}

/// A folder of published versions, as its publisher sees it.
pub struct Feed {
    folder: PathBuf,
}

impl Feed {
    /// The file that tells which version is the latest.
    pub const LATEST: &str = LATEST;

    /// The files of a version.
    pub fn names(version: u64) -> [String; 2] {
        [whole_name(version), delta_name(version)]
    }

    /// The feed in a folder, which the first version makes if it is not there.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf() }
    }

    /// The latest version; none in a new feed.
    pub fn latest(&self) -> Result<Option<Latest>> {
        match fs::read(self.folder.join(LATEST)) {
            Ok(bytes) => {
                Ok(Some(Latest::read(&bytes).map_err(|e| e.context(self.folder.display()))?))
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(Error::from(e).context(self.folder.display())),
        }
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        replace(&path, |out| out.write_all(bytes))
            .map_err(|e| Error::from(e).context(path.display()))
    }

    /// Publishes a file as the next version: the version, and the bytes of its delta where there is one. Nothing is
    /// published, and `None` returned, where nothing changed.
    pub fn publish(&self, shape: &Shape, bytes: &[u8]) -> Result<Option<(u64, Option<u64>)>> {
        let folder = &self.folder;
        fs::create_dir_all(folder).map_err(|e| Error::from(e).context(folder.display()))?;
        let latest = self.latest()?;
        let digest = digest(bytes);
        if latest.as_ref().is_some_and(|latest| latest.digest == digest) {
            return Ok(None);
        }
        let version = latest.as_ref().map_or(1, |latest| latest.version + 1);
        self.put(&whole_name(version), &Update::whole(version, bytes).write())?;
        let old = latest.as_ref().and_then(|latest| {
            let old = fs::read(self.folder.join(whole_name(latest.version))).ok()?;
            Update::read(&old).ok()?.0.apply(None).ok()
        });
        let delta =
            old.and_then(|old| Update::delta(version, &old, bytes)).map(|delta| delta.write());
        if let Some(delta) = &delta {
            self.put(&delta_name(version), delta)?;
        }
        // Last: a reader finds every file that this one speaks of.
        let latest = Latest { version, digest, shape: shape.clone() };
        self.put(LATEST, latest.write().as_bytes())?;
        // Of those before it one whole file is kept, for readers that are fetching it now.
        let old =
            [version.checked_sub(2).map(whole_name), version.checked_sub(DELTAS).map(delta_name)];
        for name in old.into_iter().flatten() {
            let _ = fs::remove_file(self.folder.join(name));
        }
        Ok(Some((version, delta.map(|delta| delta.len() as u64))))
    }
}

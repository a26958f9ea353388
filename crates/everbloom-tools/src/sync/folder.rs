//! The files of a folder, by name and content.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use everbloom::exchange::rateless::{Found, Set};
use everbloom::{Error, Kind, Result};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::wire::salt;

/// A file by its name, with `/` between folders, and the SHA-256 of its content.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Relative to the folder.
    pub name: String,
    /// Of the content.
    pub hash: [u8; 32],
}

impl Entry {
    /// As a key of a set: the hash, then the name.
    fn key(&self) -> Vec<u8> {
        [&self.hash[..], self.name.as_bytes()].concat()
    }

    /// The entry that a key is, if it is one with a name that stays inside a folder.
    pub(super) fn of_key(key: &[u8]) -> Result<Self> {
        let (hash, name) = key.split_first_chunk().ok_or_else(|| unsafe_name("a short entry"))?;
        let name = str::from_utf8(name).map_err(|_| unsafe_name("not UTF-8"))?;
        let parts = Path::new(name).components();
        let inside = parts.clone().all(|part| matches!(part, Component::Normal(_)));
        // What reads as one name must be written as one: no `//`, no `.`, nothing behind it.
        let plain = parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
        if name.is_empty() || !inside || plain.join("/") != name || name.contains(['\0', '\\']) {
            return Err(unsafe_name(name));
        }
        Ok(Self { name: name.to_owned(), hash: *hash })
    }
}

fn unsafe_name(name: &str) -> Error {
    Error::new(
        Kind::BadRecord,
        format!("the other side names a file {name:?}: not a name inside a folder"),
    )
}

/// A folder whose files are known.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    entries: BTreeMap<String, [u8; 32]>,
    /// Links, pipes and names that are not UTF-8: what is left alone.
    skipped: u64,
}

impl Folder {
    /// Reads all files of a folder and those below it.
    pub fn read(root: &Path) -> Result<Self> {
        let mut folder = Self { root: root.to_path_buf(), entries: BTreeMap::new(), skipped: 0 };
        let mut below = vec![PathBuf::new()];
        while let Some(inner) = below.pop() {
            let path = root.join(&inner);
            let named = |e: io::Error| Error::from(e).context(path.display());
            for entry in fs::read_dir(&path).map_err(named)? {
                let entry = entry.map_err(named)?;
                let kind = entry.file_type().map_err(named)?;
                let inner = inner.join(entry.file_name());
                match inner.to_str() {
                    _ if kind.is_dir() => below.push(inner),
                    Some(name) if kind.is_file() && !name.contains('\\') => {
                        let hash = hash(&entry.path())?;
                        folder.entries.insert(name.to_owned(), hash);
                    }
                    _ => folder.skipped += 1,
                }
            }
        }
        Ok(folder)
    }

    /// How many things in it are no files with a plain name.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Its entries, as keys of a set.
    pub fn set(&self) -> Set {
        let mut set = Set::seeded(salt());
        for (name, hash) in &self.entries {
            set.insert(&Entry { name: name.clone(), hash: *hash }.key());
        }
        set
    }

    /// What to do about a difference.
    pub fn plan(&self, found: &Found) -> Result<Plan> {
        let entries = |keys: &[Vec<u8>]| keys.iter().map(|key| Entry::of_key(key)).collect();
        let (here, there): (Result<Vec<Entry>>, Result<Vec<Entry>>) =
            (entries(&found.ours), entries(&found.theirs));
        let (mut here, mut there) = (here?, there?);
        here.sort();
        there.sort();
        let names: HashSet<&str> = there.iter().map(|entry| entry.name.as_str()).collect();
        if names.len() < there.len() {
            return Err(Error::new(Kind::BadRecord, "the other side has two files of one name"));
        }
        let both: HashSet<String> = here
            .iter()
            .filter(|e| names.contains(e.name.as_str()))
            .map(|e| e.name.clone())
            .collect();
        here.retain(|entry| !both.contains(&entry.name));
        there.retain(|entry| !both.contains(&entry.name));
        let mut differ: Vec<String> = both.into_iter().collect();
        differ.sort();
        Ok(Plan { here, there, differ })
    }

    /// The file of an entry, to be sent.
    pub(super) fn open(&self, name: &str) -> Result<(Entry, File)> {
        let hash = self.entries.get(name).ok_or_else(|| {
            Error::new(
                Kind::BadRecord,
                format!("the other side wants a file {name:?} that is not here"),
            )
        })?;
        let path = self.root.join(name);
        let file = File::open(&path).map_err(|e| Error::from(e).context(path.display()))?;
        Ok((Entry { name: name.to_owned(), hash: *hash }, file))
    }

    /// A place in the folder for files that are not complete yet; gone when it is dropped.
    pub(super) fn aside(&self) -> Result<TempDir> {
        let made = tempfile::Builder::new().prefix(".everbloom-").tempdir_in(&self.root);
        made.map_err(|e| Error::from(e).context(self.root.display()))
    }

    /// Whether a file may be put there: nothing is, and no link leads out of the folder.
    pub(super) fn free(&self, name: &str) -> Result<()> {
        let mut path = self.root.clone();
        for part in Path::new(name).components() {
            path.push(part);
            let last = path == self.root.join(name);
            match path.symlink_metadata() {
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
                Ok(found) if found.is_dir() && !last => {}
                _ => {
                    let message = format!("{}: something else is there", path.display());
                    return Err(Error::new(Kind::Unsupported, message));
                }
            }
        }
        Ok(())
    }

    /// Moves a complete file into place.
    pub(super) fn put(&self, name: &str, from: &Path) -> Result<()> {
        self.free(name)?;
        let path = self.root.join(name);
        let named = |e: io::Error| Error::from(e).context(path.display());
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(named)?;
        }
        fs::rename(from, &path).map_err(named)
    }
}

/// What two folders do not share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Files whose names only this side has.
    pub here: Vec<Entry>,
    /// Files whose names only the other side has.
    pub there: Vec<Entry>,
    /// Names of files that differ in content.
    pub differ: Vec<String>,
}

/// The SHA-256 of a file.
fn hash(path: &Path) -> Result<[u8; 32]> {
    let named = |e: io::Error| Error::from(e).context(path.display());
    let mut file = File::open(path).map_err(named)?;
    let (mut hasher, mut piece) = (Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece).map_err(named)? {
            0 => return Ok(hasher.finalize().into()),
            count => hasher.update(&piece[..count]),
        }
    }
}

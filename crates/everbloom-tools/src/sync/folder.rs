//! The files of a folder, by name and content, and the folders below it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use everbloom::exchange::rateless::{Found, Set};
use everbloom::{Error, Kind, Result};
use sha2::{Digest as _, Sha256};

use super::aside::{Aside, cleared, is_aside};
use super::stamp::Stamp;
use crate::wire::salt;

/// What stands for the content of a folder.
const FOLDER: [u8; 32] = [0; 32];

/// A file by its name, with `/` between folders, and the SHA-256 of its content; or a folder, by a name that ends in `/`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Relative to the folder.
    pub name: String,
    /// Of the content; zeros for a folder.
    pub hash: [u8; 32],
}

impl Entry {
    /// As a key of a set: the hash, then the name.
    pub(super) fn key(&self) -> Vec<u8> {
        [&self.hash[..], self.name.as_bytes()].concat()
    }

    /// The entry that a key is, if it is one with a name that stays inside a folder.
    pub(super) fn of_key(key: &[u8]) -> Result<Self> {
        let (hash, name) = key.split_first_chunk().ok_or_else(|| unsafe_name("a short entry"))?;
        let name = str::from_utf8(name).map_err(|_| unsafe_name("not UTF-8"))?;
        let entry = Self { name: name.to_owned(), hash: *hash };
        let path = plain(name);
        let parts = Path::new(path).components();
        let inside = parts.clone().all(|part| matches!(part, Component::Normal(_)));
        // What reads as one name must be written as one: no `//`, no `.`, nothing behind it.
        let whole = parts.map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>();
        let odd = path.is_empty() || is_aside(path) || name.contains(['\0', '\\']);
        if odd || !inside || whole.join("/") != path || entry.is_folder() && *hash != FOLDER {
            return Err(unsafe_name(name));
        }
        Ok(entry)
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.name.ends_with('/')
    }

    /// The name as it may be printed: on one line, and without characters that a terminal obeys.
    pub fn shown(&self) -> String {
        shown(&self.name)
    }
}

/// The name of an entry, without what tells that it is a folder.
fn plain(name: &str) -> &str {
    name.strip_suffix('/').unwrap_or(name)
}

/// A name as it may be printed: on one line, and without characters that a terminal obeys. Names in lists have no
/// backslashes, so that this can be read back.
pub fn shown(name: &str) -> String {
    // Marks that turn the direction of what follows hide an extension.
    let obeyed = |c: char| {
        c.is_control()
            || matches!(c, '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
    };
    let write = |c: char| match u32::from(c) {
        0x0A => "\\n".to_owned(),
        code if obeyed(c) && code < 0x100 => format!("\\x{code:02x}"),
        code if obeyed(c) => format!("\\u{code:04x}"),
        _ => c.to_string(),
    };
    name.chars().map(write).collect()
}

fn unsafe_name(name: &str) -> Error {
    let message = "the other side has a file of this name, which is none inside a folder";
    Error::new(Kind::BadRecord, message).context(shown(name))
}

/// A folder whose files are known.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    entries: BTreeMap<String, [u8; 32]>,
    /// Links, pipes and names that are not plain: what is left alone.
    skipped: u64,
}

/// What is sent of an entry before its content.
pub(super) struct Outgoing {
    pub entry: Entry,
    pub stamp: Stamp,
    pub size: u64,
    pub file: File,
}

impl Folder {
    /// Reads all files of a folder and those below it. What an interrupted transfer has left is removed.
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
                let name = inner.to_str().filter(|name| !name.contains('\\'));
                match name {
                    Some(name) if is_aside(name) => {
                        folder.skipped += u64::from(!kind.is_dir() || !cleared(&entry.path()));
                    }
                    Some(name) if kind.is_dir() => {
                        folder.entries.insert(format!("{name}/"), FOLDER);
                        below.push(inner);
                    }
                    Some(name) if kind.is_file() => {
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
        // A file on one side and a folder on the other differ, too.
        let names: HashSet<&str> = there.iter().map(|entry| plain(&entry.name)).collect();
        if names.len() < there.len() {
            return Err(Error::new(Kind::BadRecord, "the other side has two files of one name"));
        }
        let own = here.iter().map(|entry| plain(&entry.name));
        let differ: BTreeSet<String> =
            own.filter(|name| names.contains(name)).map(str::to_owned).collect();
        let beginnings = |name: &str| -> Vec<String> {
            plain(name).match_indices('/').map(|(end, _)| name[..end].to_owned()).collect()
        };
        let alone = |entry: &Entry| {
            let mut names =
                beginnings(&entry.name).into_iter().chain([plain(&entry.name).to_owned()]);
            !names.any(|name| differ.contains(&name))
        };
        here.retain(alone);
        there.retain(alone);
        Ok(Plan { here, there, differ: differ.into_iter().collect() })
    }

    /// How many entries it has, and the bytes of their names, a line each.
    pub(super) fn names(&self) -> (u64, u64) {
        let bytes = self.entries.keys().map(|name| name.len() as u64 + 1).sum();
        (self.entries.len() as u64, bytes)
    }

    /// An entry and its file, to be sent.
    pub(super) fn open(&self, name: &str) -> Result<Outgoing> {
        let hash = self.entries.get(name).ok_or_else(|| {
            let message = "the other side wants this file, which is not here";
            Error::new(Kind::BadRecord, message).context(shown(name))
        })?;
        let entry = Entry { name: name.to_owned(), hash: *hash };
        let open = || {
            let file = File::open(self.root.join(name))?;
            let metadata = file.metadata()?;
            let size = if entry.is_folder() { 0 } else { metadata.len() };
            Ok((Stamp::of(&metadata)?, size, file))
        };
        let (stamp, size, file) = open().map_err(|e| self.named(name, e))?;
        Ok(Outgoing { entry, stamp, size, file })
    }

    /// An error at a place in the folder.
    fn named(&self, name: &str, e: io::Error) -> Error {
        Error::from(e).context(self.shown(name))
    }

    /// A place in the folder, as it may be printed.
    fn shown(&self, name: &str) -> String {
        format!("{}/{}", self.root.display(), shown(name))
    }

    /// A place in the folder for files that are not complete yet.
    pub(super) fn aside(&self) -> Result<Aside> {
        Aside::new(&self.root)
    }

    /// Whether a file or folder may be put there: no file is, and no link leads out of the folder.
    pub(super) fn free(&self, name: &str) -> Result<()> {
        let mut path = self.root.clone();
        for part in Path::new(plain(name)).components() {
            path.push(part);
            let inner = path != self.root.join(plain(name)) || name.ends_with('/');
            match path.symlink_metadata() {
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
                Ok(found) if found.is_dir() && inner => {}
                _ => {
                    let error = Error::new(Kind::Unsupported, "something else is there");
                    return Err(error.context(self.shown(name)));
                }
            }
        }
        Ok(())
    }

    /// Moves a complete file into place.
    pub(super) fn put(&self, name: &str, from: &Path) -> Result<()> {
        self.free(name)?;
        let path = self.root.join(name);
        let put = || {
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::rename(from, &path)
        };
        put().map_err(|e| self.named(name, e))
    }

    /// Makes a folder, for its owner alone until it is stamped; whether it was not there.
    pub(super) fn make(&self, name: &str) -> Result<bool> {
        self.free(name)?;
        let path = self.root.join(name);
        let new = !path.exists();
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(&path).map_err(|e| self.named(name, e))?;
        Ok(new)
    }

    /// Gives a folder its mode and time, when all that came is in it.
    pub(super) fn stamp(&self, name: &str, stamp: Stamp) -> Result<()> {
        // Other systems open no folders.
        if !cfg!(unix) {
            return Ok(());
        }
        let stamped = File::open(self.root.join(name)).and_then(|folder| stamp.put(&folder));
        stamped.map_err(|e| self.named(name, e))
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

//! What a verb writes: the one place where files are replaced.
//!
//! A target is made before the inputs are read. Then nothing that is to be read is lost, nothing of another kind is
//! replaced by mistake, and whoever changes the file at the same time is done before it is read or begins after it was
//! replaced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use everbloom::exchange::HEADER;
use everbloom::exchange::rateless;
use everbloom::internals::disk::{self, Lock};
use everbloom::internals::file::{self as codec, MAGIC};
use everbloom::{Error, Filter, Kind};
use everbloom_formats::{FORMATS, Fit, Format};
use everbloom_tools::kmer;
use everbloom_tools::published::{self, Follower, Latest};
use everbloom_tools::revoked::{Proof, is_manifest};

use crate::args::{Machine, Replacing};
use crate::output::{is_stdout, print_bytes};
use crate::talk::say;
use crate::{Result, Stop};

/// What kind of file is written, and how one is recognized that is there.
#[derive(Clone, Copy)]
pub enum Form {
    /// One that begins with its magic.
    Begins(&'static str, &'static [u8]),
    /// One that is told by all of it.
    Looks(&'static str, fn(&Path) -> bool),
    /// A filter of other software.
    Foreign(&'static Format),
}

pub const FILTER: Form = Form::Begins("a filter", &MAGIC);
pub const SKETCH: Form = Form::Begins("a sketch", &rateless::MAGIC);
pub const KMERS: Form = Form::Begins("an index of K-mers", &kmer::MAGIC);
/// As roff pages begin that clap writes.
pub const MANUAL: Form = Form::Begins("a manual page", b".ie ");
const PICTURE: Form = Form::Begins("an SVG picture", b"<svg ");
pub const UPDATE: Form = Form::Begins("a published version", published::MAGIC);
pub const LATEST: Form = Form::Looks("a list of published versions", |path| {
    start(path, 4096).is_ok_and(|text| Latest::read(&text).is_ok())
});
pub const FOLLOWED: Form = Form::Looks("a filter", |path| Follower::keeps(path) || is_filter(path));
pub const REVOCATIONS: Form = Form::Looks("a set of revoked serials", |path| {
    start(path, 1 << 16).is_ok_and(|text| is_manifest(&text))
});
pub const PROOF: Form = Form::Looks("a proof", |path| {
    start(path, 1 << 24).is_ok_and(|text| Proof::from_json(&text).is_ok())
});
pub const MESSAGE: Form = Form::Looks("a message", |path| is_message(path).unwrap_or(false));

impl Form {
    /// What it is called.
    fn name(self) -> String {
        match self {
            Form::Begins(name, _) | Form::Looks(name, _) => name.to_owned(),
            Form::Foreign(format) => format!("a filter of the format {}", format.name),
        }
    }

    /// Whether the file is of this kind. An empty one is of every kind: nothing in it can be lost.
    fn is(self, path: &Path) -> bool {
        let is = || match self {
            Form::Begins(_, magic) => {
                start(path, magic.len() as u64).is_ok_and(|start| start == magic)
            }
            Form::Looks(_, looks) => looks(path),
            Form::Foreign(format) => {
                fs::read(path).is_ok_and(|bytes| format.fit(&bytes) > Fit::Length)
            }
        };
        fs::metadata(path).is_ok_and(|meta| meta.len() == 0) || is()
    }
}

/// The first bytes of a file.
fn start(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut start)?;
    Ok(start)
}

/// A filter of ours or of other software.
fn is_filter(path: &Path) -> bool {
    let foreign = |bytes: &[u8]| FORMATS.iter().any(|format| format.fit(bytes) > Fit::Length);
    FILTER.is(path) || fs::read(path).is_ok_and(|bytes| foreign(&bytes))
}

/// What begins with a whole frame of the exchanges behind `secure`: those of search and of private queries.
fn is_message(path: &Path) -> io::Result<bool> {
    let (start, length) = (start(path, HEADER as u64)?, fs::metadata(path)?.len());
    let [kind, a, b, c, d] = start[..] else { return Ok(false) };
    let body = u64::from(u32::from_le_bytes([a, b, c, d]));
    Ok((0x30..=0x4f).contains(&kind) && HEADER as u64 + body <= length)
}

/// A file that will be written, or replaced, or stdout.
pub struct Target {
    path: PathBuf,
    form: Form,
    replacing: Replacing,
    /// The right to replace what is there, if anything is.
    lock: Option<Lock>,
}

impl Target {
    /// The file at `path`, which must be none of the inputs, or `-` for stdout. Filters that are read whole before it is
    /// written are no inputs: `merge a b -o a` is meant.
    pub fn file<'a>(
        path: &Path,
        form: Form,
        (replacing, machine): (&Replacing, &Machine),
        inputs: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<Self> {
        let (path, replacing) = (path.to_owned(), replacing.clone());
        let mut this = Self { path, form, replacing, lock: None };
        if is_stdout(&this.path) {
            let taken = "--json: stdout is used by -o -; write to a file, or omit --json";
            return if machine.json { Err(Stop::Error(taken.to_owned())) } else { Ok(this) };
        }
        reachable(&this.path)?;
        if inputs.into_iter().any(|input| is_same(input, &this.path)) {
            return Err(this.refused("it is an input; write to another file"));
        }
        this.lock = this.claimed()?;
        Ok(this)
    }

    /// A filter, or a store of its pages where `pages` says that it has any: then it may be a folder.
    pub fn filter<'a>(
        path: &Path,
        pages: bool,
        how: (&Replacing, &Machine),
        inputs: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<Self> {
        if !(pages && path.is_dir()) {
            return Self::file(path, FILTER, how, inputs);
        }
        let (path, replacing) = (path.to_owned(), how.0.clone());
        let lock = codec::lock(&path, replacing.meant())?;
        Ok(Self { path, form: FILTER, replacing, lock })
    }

    /// A picture, where one is asked for.
    pub fn picture<'a>(
        path: Option<&Path>,
        how: (&Replacing, &Machine),
        inputs: impl IntoIterator<Item = &'a PathBuf>,
    ) -> Result<Option<Self>> {
        path.map(|path| Self::file(path, PICTURE, how, inputs)).transpose()
    }

    /// The files of these names and kinds in a folder, which may not be there yet.
    pub fn files<'a>(
        folder: &Path,
        files: &[(&str, Form)],
        how: (&Replacing, &Machine),
        inputs: impl IntoIterator<Item = &'a PathBuf> + Clone,
    ) -> Result<Vec<Self>> {
        if folder.exists() && !folder.is_dir() {
            let message = format!("cannot write {}: it is not a folder", folder.display());
            return Err(Stop::Error(message));
        }
        let there = files.iter().filter(|(name, _)| folder.join(name).exists());
        there
            .map(|(name, form)| Self::file(&folder.join(name), *form, how, inputs.clone()))
            .collect()
    }

    /// Locks what is there, if anything is, and refuses to replace what must stay.
    fn claimed(&self) -> Result<Option<Lock>> {
        let regular = fs::metadata(&self.path).is_ok_and(|meta| meta.is_file());
        if !regular {
            // Nothing is lost of pipes and devices.
            return Ok(None);
        }
        let lock = codec::lock(&self.path, self.replacing.meant())?;
        if !self.replacing.force && !self.form.is(&self.path) {
            return Err(self.refused(&format!(
                "it exists and is not recognized as {}; write to another file, or replace it with --force",
                self.form.name()
            )));
        }
        changeable(&self.path, &self.replacing)?;
        Ok(lock)
    }

    fn refused(&self, why: &str) -> Stop {
        Stop::Error(format!("cannot write {}: {why}", self.path.display()))
    }

    /// Writes it by `write`, which replaces the file whole or not at all.
    pub fn put<T>(&self, write: impl FnOnce(&Path) -> everbloom::Result<T>) -> Result<T> {
        // A file may have appeared since there was none to lock.
        let _late = if self.lock.is_none() { self.claimed()? } else { None };
        write(&self.path).map_err(full_disk)
    }

    /// Writes a picture, and says so.
    pub fn draw(&self, picture: &str) -> Result<()> {
        self.write(picture.as_bytes())?;
        say!("{}: drawn", self.path.display());
        Ok(())
    }

    /// Writes a filter.
    pub fn save(&self, filter: &dyn Filter) -> Result<()> {
        if is_stdout(&self.path) {
            return print_bytes(&codec::to_bytes(filter));
        }
        self.put(|path| codec::save(filter, path))
    }

    /// Writes bytes.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        if is_stdout(&self.path) {
            return print_bytes(bytes);
        }
        let place = |e| Error::from(e).context(format!("cannot write {}", self.path.display()));
        self.put(|path| disk::replace(path, |out| out.write_all(bytes)).map_err(place))
    }
}

/// Refuses what can't be written at all.
fn reachable(path: &Path) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let reason = if !folder.is_dir() {
        format!("there is no folder {}", folder.display())
    } else if path.is_dir() {
        "it is a folder; give a file in it".to_owned()
    } else {
        return Ok(());
    };
    Err(Stop::Error(format!("cannot write {}: {reason}", path.display())))
}

/// Refuses a file that may only be read, as editors do: replacing it would get around its permissions.
pub fn changeable(path: &Path, replacing: &Replacing) -> Result<()> {
    let file = if path.is_dir() { path.join("manifest") } else { path.to_owned() };
    let closed = |meta: fs::Metadata| {
        let denied = |e: io::Error| e.kind() == io::ErrorKind::PermissionDenied;
        // Administrators may open what nobody may write to.
        meta.permissions().readonly()
            || OpenOptions::new().write(true).open(&file).is_err_and(denied)
    };
    let regular = fs::metadata(&file).ok().filter(fs::Metadata::is_file);
    if replacing.force || !regular.is_some_and(closed) {
        return Ok(());
    }
    let message = format!("cannot write {}: it is read-only; --force replaces it", path.display());
    Err(Stop::Error(message))
}

/// Whether an input and an output are the same file, by whatever names.
fn is_same(input: &Path, output: &Path) -> bool {
    let regular = fs::metadata(output).is_ok_and(|meta| meta.is_file());
    regular && identity(input).is_some_and(|input| Some(input) == identity(output))
}

/// What tells a file from all others: where it is stored. Of stdin, where the shell has opened it.
#[cfg(unix)]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let meta = if path == Path::new("-") {
        File::from(io::stdin().as_fd().try_clone_to_owned().ok()?).metadata()
    } else {
        fs::metadata(path)
    };
    meta.ok().map(|meta| (meta.dev(), meta.ino()))
}

/// What tells a file from all others: its path without links.
#[cfg(not(unix))]
fn identity(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

fn full_disk(e: Error) -> Stop {
    match e.kind() {
        Kind::Io if e.to_string().contains("No space left") => {
            Stop::Error(format!("{e}; free some space, nothing was written"))
        }
        _ => e.into(),
    }
}

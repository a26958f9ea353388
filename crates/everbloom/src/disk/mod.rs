//! Everything that is written to a disk: files replaced whole or not at all, files written in place, locks.
//!
//! Every step is noted while a [`trial`] runs, so that a test can make any of them fail, or ask what a crash
//! behind any of them would leave.

mod ahead;
mod lock;
mod temporary;
pub mod trial;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ahead::Ahead;
pub use lock::{Lock, Wait};
use temporary::Temporary;
use trial::{Step, note};

use crate::sys;

/// What the names of temporary files begin with.
const TEMPORARY: &str = ".evb-";

/// Replaces the file at `path` atomically with what `fill` writes: a temporary file next to it is synced, renamed
/// over `path`, and made durable by syncing the folder. What is no regular file (a pipe, a device) is written directly.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|meta| !meta.is_file()) {
        let mut device = io::BufWriter::new(OpenOptions::new().write(true).open(path)?);
        return fill(&mut device).and_then(|()| device.flush());
    }
    let path = target(path)?;
    let folder = folder_of(&path);
    remove_orphans(folder, &path);
    let mut temporary = Temporary::create(folder, &temporary_prefix(&path))?;
    let name = temporary.path.clone();
    note(|| Step::Create(name.clone()))?;
    // Held as long as the writer lives. Where there are no locks, nothing is taken for an orphan.
    let _ = temporary.file.try_lock();
    if let Some(meta) = existing {
        fs::set_permissions(&name, meta.permissions())?;
    }
    let mut ahead = Ahead::default();
    let filled = {
        let file = &mut temporary.file;
        let file = Appended { file, path: &name, room: Room::new(), length: 0, ahead: &mut ahead };
        let mut out = io::BufWriter::with_capacity(1 << 20, file);
        fill(&mut out).and_then(|()| out.flush())
    };
    let synced = ahead.finish();
    filled.and(synced)?;
    note(|| Step::Sync(name.clone()))?;
    temporary.file.sync_all()?;
    note(|| Step::Rename(name.clone(), path.clone()))?;
    temporary.rename(&path)?;
    sync_folder(folder)
}

/// Makes the names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    note(|| Step::SyncFolder(folder.to_owned()))?;
    sys::sync_folder(folder)
}

/// The file that a path leads to: a symbolic link stays one, and what it points to is replaced, also if that
/// does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // As many links as systems follow.
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(link) => path = folder_of(&path).join(link),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// Temporary files say whose they are, so that the next writer of the same file can clear them away.
fn temporary_prefix(path: &Path) -> String {
    let name =
        path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    // Names have limits; the longest ones lose their end.
    let name: String = name.chars().take(100).collect();
    format!("{TEMPORARY}{name}-")
}

/// Younger temporary files are left alone: their writers may be about to lock them.
const ORPHAN_FROM: Duration = Duration::from_secs(60);

/// Removes what writers of this file left that were killed: a living one holds a lock. A file of that name that does not
/// begin as ours do may be anybody's.
fn remove_orphans(folder: &Path, path: &Path) {
    let prefix = temporary_prefix(path);
    let orphan = |path: &Path| -> io::Result<bool> {
        let mut file = File::open(path)?;
        let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
        Ok(age >= ORPHAN_FROM && file.try_lock().is_ok() && is_ours(&mut file)?)
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(&prefix);
        if ours && orphan(&entry.path()).unwrap_or(false) {
            // One that cannot be removed takes space and does no other harm.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a file begins as all files of ours do, or is empty: its writer was killed before it wrote anything.
fn is_ours(file: &mut File) -> io::Result<bool> {
    let mut start = Vec::new();
    file.take(8).read_to_end(&mut start)?;
    let kind = start.get(3).copied().unwrap_or_default();
    Ok(start.is_empty() || start == [0x89, b'E', b'V', kind, b'\r', b'\n', 0x1a, b'\n'])
}

/// How long files may be that this process writes. A system that has a limit kills the process that writes beyond it, which
/// could then remove nothing of what it has begun.
#[derive(Clone, Copy, Debug)]
struct Room(Option<u64>);

impl Room {
    fn new() -> Self {
        Self(sys::longest_file())
    }

    /// Refuses to write up to this byte of a file.
    fn check(self, end: u64) -> io::Result<()> {
        match self.0 {
            Some(most) if end > most => {
                let message =
                    format!("the file would exceed the limit of this process, {most} bytes");
                Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
            }
            _ => Ok(()),
        }
    }
}

/// A new file, written from its start to its end.
struct Appended<'a> {
    file: &'a mut File,
    path: &'a Path,
    room: Room,
    length: u64,
    ahead: &'a mut Ahead,
}

impl Write for Appended<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        note(|| Step::Write(self.path.to_owned(), self.length, bytes.to_vec()))?;
        self.room.check(self.length + bytes.len() as u64)?;
        for piece in bytes.chunks(ahead::PIECE) {
            self.file.write_all(piece)?;
            self.ahead.written(self.file, piece.len())?;
        }
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A file that is read and written in place.
#[derive(Debug)]
pub struct InPlace {
    file: File,
    path: PathBuf,
    room: Room,
}

impl InPlace {
    /// A file that is not there yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(path)?;
        note(|| Step::Create(path.to_owned())).inspect_err(|_| _ = fs::remove_file(path))?;
        Ok(Self { file, path: path.to_owned(), room: Room::new() })
    }

    /// A file that is there; one that may only be read can still be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path);
        let file = file.or_else(|_| File::open(path))?;
        Ok(Self { file, path: path.to_owned(), room: Room::new() })
    }

    /// Its length in bytes.
    pub fn length(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Fills `bytes` from an offset.
    pub fn read_at(&mut self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(bytes)
    }

    /// Writes bytes at an offset.
    pub fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        note(|| Step::Write(self.path.clone(), at, bytes.to_vec()))?;
        self.room.check(at + bytes.len() as u64)?;
        self.file.seek(SeekFrom::Start(at))?;
        self.file.write_all(bytes)
    }

    /// Makes what was written durable.
    pub fn sync(&self) -> io::Result<()> {
        note(|| Step::Sync(self.path.clone()))?;
        self.file.sync_all()
    }
}

/// Removes a file.
pub fn remove(path: &Path) -> io::Result<()> {
    note(|| Step::Remove(path.to_owned()))?;
    fs::remove_file(path)
}

//! One writer at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::trial::{Step, note};
use crate::error::{Error, Kind, Result};
use crate::sys;

/// What to do while another process changes a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Refuse, and say so.
    #[default]
    No,
    /// Wait until it is done.
    Yes,
}

/// The right to change a file, until it is dropped. Held by the operating system for the process, so that a
/// killed one leaves none behind.
#[derive(Debug)]
#[must_use = "a lock is released when it is dropped"]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks the file at `path`, which must be there.
    ///
    /// Writers rename a new file over the old one. A writer that waited for the old one then holds a useless lock,
    /// and tries again with the new one.
    pub fn of(path: &Path, wait: Wait) -> Result<Self> {
        loop {
            let file = File::open(path)?;
            lock(&file, wait)?;
            if sys::is_at(&file, path)? {
                return Ok(Self { file, path: path.to_owned() });
            }
        }
    }

    /// Locks a file of its own at `path`, made for the purpose: for what is more than one file.
    pub fn beside(path: &Path, wait: Wait) -> Result<Self> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        lock(&file, wait)?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// What a lock of its own says: a note of whoever held it before.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut note = Vec::new();
        self.file.rewind()?;
        self.file.read_to_end(&mut note)?;
        Ok(note)
    }

    /// Replaces that note.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        note(|| Step::Write(self.path.clone(), 0, bytes.to_vec()))?;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(bytes)?;
        note(|| Step::Sync(self.path.clone()))?;
        self.file.sync_data()
    }
}

/// Tries before another process is said to hold a lock, and the time between them. A program that another thread of this
/// process is about to start shares its open files, and their locks, for a moment: until it has begun.
const TRIES: u32 = 20;
const BETWEEN: Duration = Duration::from_millis(10);

fn lock(file: &File, wait: Wait) -> Result<()> {
    let mut tried = file.try_lock();
    for _ in 1..TRIES {
        if wait == Wait::Yes || !matches!(tried, Err(TryLockError::WouldBlock)) {
            break;
        }
        thread::sleep(BETWEEN);
        tried = file.try_lock();
    }
    match tried {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) if wait == Wait::Yes => Ok(file.lock()?),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            Kind::Busy,
            "another process is changing it: try again, or {wait} for it",
        )),
        // A file system without locks: nothing was promised there.
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(TryLockError::Error(e)) => Err(e.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A moment is not refused, and more than one is.
    #[test]
    fn who_lets_go_at_once_was_not_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("filter");
        std::fs::write(&path, "").expect("a file");
        let first = Lock::of(&path, Wait::No).expect("nobody else is there");
        assert_eq!(Lock::of(&path, Wait::No).expect_err("held").kind(), Kind::Busy);
        let gone = thread::spawn(move || {
            thread::sleep(BETWEEN);
            drop(first);
        });
        assert!(Lock::of(&path, Wait::No).is_ok());
        gone.join().expect("it ends");
    }

    #[test]
    fn whoever_waited_holds_the_file_that_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, new) = (folder.path().join("filter"), folder.path().join("new"));
        std::fs::write(&path, "old").expect("a file");
        let first = Lock::of(&path, Wait::No).expect("nobody else is there");
        let (starts, started) = channel();
        let waiting = thread::spawn({
            let path = path.clone();
            move || {
                starts.send(()).expect("it is heard");
                Lock::of(&path, Wait::Yes)
            }
        });
        started.recv().expect("it starts");
        // Time to open the old file; without it the test passes, too, and shows nothing.
        thread::sleep(Duration::from_millis(200));
        std::fs::write(&new, "new").expect("a file");
        std::fs::rename(&new, &path).expect("renamed");
        drop(first);
        let second = waiting.join().expect("no panic").expect("the lock");
        assert_eq!(Lock::of(&path, Wait::No).expect_err("it is held").kind(), Kind::Busy);
        drop(second);
        let _third = Lock::of(&path, Wait::No).expect("it was given back");
    }
}

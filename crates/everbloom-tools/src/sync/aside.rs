//! Where files wait until all have come: a folder of its own beside them, so that they need only be renamed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use everbloom::{Error, Result};
use tempfile::TempDir;

/// What its name begins with. Such names are in no list and are not accepted from others.
const PREFIX: &str = ".everbloom-";

/// The file in it that a living process has locked.
const LOCK: &str = "lock";

/// Younger ones are left alone: a process may be about to lock its own.
const ORPHAN_FROM: Duration = Duration::from_secs(1);

/// Gone when it is dropped; what a killed process leaves is removed by the next one.
#[derive(Debug)]
pub(super) struct Aside {
    _lock: File,
    place: TempDir,
}

impl Aside {
    /// An empty one in this folder.
    pub fn new(root: &Path) -> Result<Self> {
        let make = || -> io::Result<Self> {
            let place = tempfile::Builder::new().prefix(PREFIX).tempdir_in(root)?;
            let lock = File::create(place.path().join(LOCK))?;
            match lock.try_lock() {
                // Where there are no locks, nothing is taken for left behind.
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(e)) => return Err(e),
            }
            Ok(Self { _lock: lock, place })
        };
        make().map_err(|e| Error::from(e).context(root.display()))
    }

    /// The place of the file of this number.
    pub fn path(&self, number: usize) -> PathBuf {
        self.place.path().join(number.to_string())
    }
}

/// Whether a name in the root of a folder, or the beginning of one below, is that of such a place.
pub(super) fn is_aside(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Removes a place that no process uses any more; whether it is one at all.
pub(super) fn cleared(path: &Path) -> bool {
    let Ok(lock) = File::open(path.join(LOCK)) else { return false };
    let age = lock.metadata().and_then(|lock| lock.modified());
    let old = age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age >= ORPHAN_FROM));
    if old && lock.try_lock().is_ok() {
        // What cannot be removed takes space and does no other harm.
        let _ = fs::remove_dir_all(path);
    }
    true
}

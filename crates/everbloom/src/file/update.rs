//! Changing a file that other processes may want to change, too.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use super::{Opener, save};
use crate::disk::{Lock, Wait};
use crate::error::Result;
use crate::filter::Filter;

/// A filter that was opened to be changed, and the right to be the only one who does so. Readers are not kept
/// out: they see the file as it was until [`Update::save`] has put the new one in its place.
#[derive(Debug)]
pub struct Update {
    filter: Box<dyn Filter>,
    path: PathBuf,
    _lock: Lock,
}

impl Opener {
    /// Opens the filter at `path` to change it. While another process does so, this one waits or refuses.
    ///
    /// ```
    /// use everbloom::{Bloom, Opener, Record, Wait, save};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("seen.evb");
    /// save(&Bloom::with_rate(100, 0.01)?, &path)?;
    /// let mut update = Opener::new().update(&path, Wait::Yes)?;
    /// if let Some(insert) = update.as_insert() {
    ///     insert.insert(Record::key(b"apple"))?;
    /// }
    /// update.save()?;
    /// assert!(everbloom::open(&path)?.contains(b"apple"));
    /// # Ok::<(), everbloom::Error>(())
    /// ```
    pub fn update(&self, path: impl AsRef<Path>, wait: Wait) -> Result<Update> {
        let path = path.as_ref();
        let lock = match path.is_dir() {
            // Opening and saving a folder of pages takes a lock of its own.
            true => Lock::beside(&path.join("update"), wait),
            false => Lock::of(path, wait),
        };
        let lock = lock.map_err(|e| e.context(path.display()))?;
        Ok(Update { filter: self.open(path)?, path: path.to_owned(), _lock: lock })
    }
}

impl Update {
    /// Puts the changed filter in the place of the file, whole or not at all.
    pub fn save(&self) -> Result<()> {
        save(&*self.filter, &self.path)
    }
}

impl Deref for Update {
    type Target = dyn Filter;

    fn deref(&self) -> &Self::Target {
        &*self.filter
    }
}

impl DerefMut for Update {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut *self.filter
    }
}

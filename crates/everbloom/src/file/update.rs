//! Changing a file that other processes may want to change, too.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};

use super::{Opener, save};
use crate::disk::{Lock, Wait};
use crate::error::Result;
use crate::filter::Filter;
use crate::pages;

/// The right to replace the file or page store at `path`; none where there is nothing that a writer could have opened to
/// change it. It must be held from before the time when what will replace it is made.
pub fn lock(path: &Path, wait: Wait) -> Result<Option<Lock>> {
    let lock = match fs::metadata(path) {
        Ok(meta) if meta.is_file() => Lock::of(path, wait),
        // Opening and saving a folder of pages takes a lock of its own.
        Ok(_) if pages::is_store(path) => Lock::beside(&path.join("update"), wait),
        _ => return Ok(None),
    };
    lock.map(Some).map_err(|e| e.context(path.display()))
}

/// A filter that was opened to be changed, and the right to be the only one who does so. Readers are not kept
/// out: they see the file as it was until [`Update::save`] has put the new one in its place.
#[derive(Debug)]
pub struct Update {
    filter: Box<dyn Filter>,
    path: PathBuf,
    _lock: Option<Lock>,
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
        let lock = lock(path, wait)?;
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

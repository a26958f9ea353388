//! Every other system, by what the standard library and memmap2 have everywhere.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(feature = "mmap")]
use memmap2::{MmapMut, MmapOptions};

/// Asks for huge pages: there is no portable way to.
#[cfg(feature = "mmap")]
pub(crate) fn advise_huge(_map: &MmapMut) -> bool {
    false
}

/// Sets no swap aside for private mappings: there is no portable way to ask for that.
#[cfg(feature = "mmap")]
pub(crate) fn reserve_nothing(_options: &mut MmapOptions) {}

/// Whether an open file is the one that has this name now: as far as length and time of change tell.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let (open, named) = (file.metadata()?, std::fs::metadata(path)?);
    let changed = open.modified().ok() != named.modified().ok();
    Ok(open.len() == named.len() && !changed)
}

/// Makes the names in a folder durable, where the system lets a folder be opened and synced; Windows does not,
/// and makes a rename durable with the file.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    match File::open(folder) {
        Ok(folder) => folder.sync_all().or(Ok(())),
        Err(_) => Ok(()),
    }
}

/// The length that files of this process may have, if it is limited: nothing tells it everywhere.
pub(crate) fn longest_file() -> Option<u64> {
    None
}

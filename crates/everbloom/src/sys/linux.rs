//! Linux.

use std::fs::File;
use std::io;
use std::path::Path;

#[cfg(feature = "mmap")]
use memmap2::{Advice, MmapMut, MmapOptions};

/// Asks for huge pages; true if the system took the advice.
#[cfg(feature = "mmap")]
pub(crate) fn advise_huge(map: &MmapMut) -> bool {
    map.advise(Advice::HugePage).is_ok()
}

/// Sets no swap aside for private mappings, since most filters are only read.
#[cfg(feature = "mmap")]
pub(crate) fn reserve_nothing(options: &mut MmapOptions) {
    options.no_reserve_swap();
}

/// Whether an open file is the one that has this name now.
pub(crate) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata()?, std::fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The length that files of this process may have, if it is limited.
pub(crate) fn longest_file() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max file size"))?;
    // A number, or "unlimited".
    limit.split_whitespace().next()?.parse().ok()
}

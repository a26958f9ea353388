//! Files that are removed again unless they get a name of their own.
//!
//! A crate for it brings in all system calls there are, which take longer to compile than this library's standard filter.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// A new file beside the one it will replace.
#[derive(Debug)]
pub(super) struct Temporary {
    pub file: File,
    pub path: PathBuf,
    renamed: bool,
}

/// Names that are tried before the folder is said to be full of them.
const TRIES: u32 = 1 << 10;

impl Temporary {
    /// A new file in `folder`, whose name begins with `prefix`. Opened as any new file is, so that it gets the permissions
    /// that any new file gets.
    pub fn create(folder: &Path, prefix: &str) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        for number in 0..TRIES {
            // Keyed anew by the system with every call.
            let random = RandomState::new().hash_one(number);
            let path = folder.join(format!("{prefix}{random:016x}"));
            match options.open(&path) {
                Ok(file) => return Ok(Self { file, path, renamed: false }),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                // The path says which of the folders on the way is missing or closed.
                Err(e) => return Err(io::Error::new(e.kind(), format!("{e}: {}", path.display()))),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no name for a temporary file is free"))
    }

    /// Replaces the file at `path` by this one.
    pub fn rename(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.renamed = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // One that cannot be removed is taken for an orphan by the next writer.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_name_of_its_own_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (
            Temporary::create(folder.path(), ".evb-").expect("a file"),
            Temporary::create(folder.path(), ".evb-").expect("another file"),
        );
        let (gone, kept) = (one.path.clone(), folder.path().join("kept"));
        assert_ne!(gone, other.path);
        drop(one);
        other.rename(&kept).expect("a free name");
        assert!(kept.exists() && !gone.exists());
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("missing");
        let error = Temporary::create(&missing, ".evb-").expect_err("no folder");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(error.to_string().contains("missing"), "{error}");
    }
}

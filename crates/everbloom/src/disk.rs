//! Writing files so that nothing is half-written.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::sys;

/// Puts what `fill` writes in place of the file at `path`, whole or not at all: a temporary file beside it
/// is synced, renamed over `path`, and made durable by syncing the folder.
pub(crate) fn replace(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let existing = fs::metadata(path).ok();
    // A symbolic link stays one: what it points to is replaced.
    let path = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Opened by the standard library, so that a new file gets the permissions that any new file gets.
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let mut temporary =
        tempfile::Builder::new().prefix(".evb-").make_in(folder, |path| options.open(path))?;
    if let Some(meta) = existing {
        fs::set_permissions(temporary.path(), meta.permissions())?;
    }
    {
        let mut out = io::BufWriter::with_capacity(1 << 20, temporary.as_file_mut());
        fill(&mut out)?;
        out.flush()?;
    }
    temporary.as_file().sync_all()?;
    temporary.persist(&path).map_err(|e| e.error)?;
    sys::sync_folder(folder)
}

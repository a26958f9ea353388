//! Files that are written as they are.

use std::fs;
use std::path::Path;

use everbloom::Error;
use pyo3::prelude::*;

use crate::errors::raise;

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> PyResult<()> {
    fs::write(path, bytes).map_err(|e| raise(Error::from(e).context(path.display())))
}

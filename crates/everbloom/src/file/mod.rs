//! The `.evb` file around the state tree: prefix, checksums, opening, saving. FORMAT.md draws it.

mod layout;
mod open;
mod write;

pub use layout::MAGIC;
pub use open::{Access, Inspection, Opener};
pub use write::{save, to_bytes, write_to};

use std::path::Path;

use crate::error::Result;
use crate::filter::Filter;

/// The filter in the file at `path`, whatever its variant; [`Opener`] has keys, limits and mapping.
pub fn open(path: impl AsRef<Path>) -> Result<Box<dyn Filter>> {
    Opener::new().open(path)
}

/// The filter in the file at `path`, which must be of type `T`.
pub fn open_as<T: Filter>(path: impl AsRef<Path>) -> Result<T> {
    Opener::new().open_as(path)
}

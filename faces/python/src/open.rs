//! Files: our own, and those of other software.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use everbloom::internals::file::MAGIC;
use everbloom::{Access, Error, Limits, Opener};
use everbloom_formats::{Format, Hints};
use pyo3::prelude::*;

use crate::errors::{bad_argument, calm};
use crate::filter::{Filter, told};
use crate::foreign::Foreign;
use crate::{classes, goal};

/// The `.evb` file at a path.
pub fn filter(
    py: Python<'_>,
    path: PathBuf,
    hash_func: Option<Py<PyAny>>,
    key: Option<&Bound<'_, PyAny>>,
    (mmap, verify): (bool, bool),
) -> PyResult<Py<PyAny>> {
    let key = key.map(goal::secret).transpose()?;
    let access = match (mmap, verify) {
        (false, true) => Access::Copy,
        (true, true) => Access::Map,
        (true, false) => Access::MapUnverified,
        (false, false) => {
            return Err(bad_argument(
                "verify",
                "False",
                "a file is read without a check only by mmap=True",
            ));
        }
    };
    let opener = Opener::new().key(key).access(access);
    let opened = told(py.detach(|| calm(|| opener.open(path))))?;
    classes::wrap(py, Filter::new(opened, None, hash_func))
}

/// Opens a filter: an ``.evb`` file of any variant, or a file of other software.
///
/// An ``.evb`` file is mapped: its cells stay in the file until they are looked at, and processes share them. Changes stay
/// in memory until ``save``. ``verify=False`` leaves out the check of all bytes and opens a file of any size at once.
/// While a mapped file is in use, no other program may shorten it in place; ``save`` and the command never do.
///
/// Files of other software are recognized by their bytes where these have a mark, else named by ``format``; the result
/// is a ``Foreign``. ``column`` and ``row_group`` choose among several filters, ``probes`` and ``key`` say what some
/// formats leave out.
///
/// >>> import everbloom, tempfile, os
/// >>> seen = everbloom.Bloom(1000, 0.01)
/// >>> seen.add("apple")
/// >>> path = os.path.join(tempfile.mkdtemp(), "seen.evb")
/// >>> seen.save(path)
/// >>> "apple" in everbloom.open(path)
/// True
#[pyfunction]
#[pyo3(signature = (path, *, format=None, column=None, row_group=None, keys_as=None, probes=None, key=None, hash_func=None,
                    mmap=true, verify=true))]
#[allow(clippy::too_many_arguments)]
pub fn open(
    py: Python<'_>,
    path: PathBuf,
    format: Option<&str>,
    column: Option<&str>,
    row_group: Option<u64>,
    keys_as: Option<&str>,
    probes: Option<u32>,
    key: Option<&Bound<'_, PyAny>>,
    hash_func: Option<Py<PyAny>>,
    mmap: bool,
    verify: bool,
) -> PyResult<Py<PyAny>> {
    if format.is_none() && ours(&path) {
        return filter(py, path, hash_func, key, (mmap, verify));
    }
    let mut hints = Hints::new(Limits::LOCAL);
    hints.k = probes;
    if let Some(key) = key {
        let bytes = key.extract::<&[u8]>().ok().and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes
            .ok_or_else(|| bad_argument("key", "…", "a key of a foreign format is 16 bytes"))?;
        hints.key = Some(bytes);
    }
    let place = |e: Error| e.context(path.display());
    let parts = told(py.detach(|| {
        calm(|| {
            let bytes = fs::read(&path).map_err(|e| place(e.into()))?;
            let format = match format {
                Some(name) => Format::named(name)?,
                None => Format::recognized(&bytes).map_err(place)?,
            };
            format.open_with(&bytes, &hints).map_err(place)
        })
    }))?;
    Ok(Py::new(py, Foreign::of(parts, column, row_group, keys_as)?)?.into_any())
}

/// Whether a file is left to the opener of our own files: a folder, a pipe, what is not there, what begins as ours.
fn ours(path: &Path) -> bool {
    let Ok(meta) = fs::metadata(path) else { return true };
    let mut start = [0; MAGIC.len()];
    let mut read = || fs::File::open(path).and_then(|mut file| file.read_exact(&mut start));
    !meta.is_file() || read().is_err() || start == MAGIC
}

//! Files and bytes, and what a filter says of itself.

use std::path::PathBuf;

use everbloom::{Opener, to_bytes};
use everbloom_cli::internals::json;
use everbloom_formats::Format;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyFrozenSet, PyType};

use crate::catalog::{object, rates};
use crate::errors::raise;
use crate::filter::{Filter, told};
use crate::{classes, foreign, goal, open, picture};

#[pymethods]
impl Filter {
    /// Writes the filter to a file, which the command, Rust and other machines read. The old file is replaced whole, or
    /// not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        told(self.read_long(py, |held| everbloom::save(held.filter(), path)))
    }

    /// Opens a filter of this class: see ``everbloom.open``.
    #[classmethod]
    #[pyo3(signature = (path, *, hash_func=None, key=None, mmap=true, verify=true))]
    fn open(
        cls: &Bound<'_, PyType>,
        path: PathBuf,
        hash_func: Option<Py<PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
        mmap: bool,
        verify: bool,
    ) -> PyResult<Py<PyAny>> {
        let opened = open::filter(cls.py(), path, hash_func, key, (mmap, verify))?;
        classes::checked(cls, opened)
    }

    /// The filter's file as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.read_long(py, |held| to_bytes(held.filter()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// The filter in the bytes of a file.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.add("apple")
    /// >>> "apple" in everbloom.Bloom.from_bytes(seen.to_bytes())
    /// True
    #[classmethod]
    #[pyo3(signature = (data, *, hash_func=None, key=None))]
    fn from_bytes(
        cls: &Bound<'_, PyType>,
        data: &Bound<'_, PyAny>,
        hash_func: Option<Py<PyAny>>,
        key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let py = cls.py();
        let key = key.map(goal::secret).transpose()?;
        let bytes: Vec<u8> = match data.extract::<&[u8]>() {
            Ok(bytes) => bytes.to_vec(),
            Err(_) => py.import("builtins")?.call_method1("bytes", (data,))?.extract()?,
        };
        let decoded = py.detach(|| crate::errors::calm(|| Opener::new().key(key).decode(&bytes)));
        let made = classes::wrap(py, Filter::new(told(decoded)?, None, hash_func))?;
        classes::checked(cls, made)
    }

    /// Writes the filter in the format of other software: ``"guava"``, ``"parquet"``, …; ``everbloom.formats()`` lists
    /// them.
    fn export(&self, py: Python<'_>, format: &str, path: PathBuf) -> PyResult<()> {
        let format = Format::named(format).map_err(raise)?;
        let bytes = told(self.read_long(py, |held| format.adopt(held.filter())?.write()))?;
        foreign::write(&path, &bytes)
    }

    /// What the filter is, in the words of ``everbloom info --json``.
    ///
    /// >>> import everbloom
    /// >>> facts = everbloom.Bloom(1000, 0.01).describe()
    /// >>> facts["slug"], facts["shape"]["k"], facts["items"]
    /// ('bloom', 7, 0)
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let info = self.read(py, |held| json::info(held.filter()))?;
        object(py, &info)
    }

    /// The rates predicted from the filter's real fill: ``fpr``, ``fnr`` and ``undecided``, each None where there is no
    /// formula.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.update(range(1000))
    /// >>> 0.005 < seen.predict()["fpr"] < 0.015
    /// True
    fn predict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let now = self.read(py, |held| held.filter().now())?;
        rates(py, now)
    }

    /// The name of the variant in the catalog.
    #[getter]
    fn slug(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.read(py, |held| held.filter().facts().slug)
    }

    /// The form, one of the variant's.
    #[getter]
    fn form(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.read(py, |held| held.filter().head().form)
    }

    /// What the filter can do beyond answering queries.
    #[getter]
    fn abilities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        let names = self.read(py, |held| {
            let (facts, head) = (held.filter().facts(), held.filter().head());
            let abilities = facts.form(head.form).map_or(&[][..], |form| form.abilities);
            abilities.iter().map(|ability| ability.name()).collect::<Vec<_>>()
        })?;
        PyFrozenSet::new(py, names)
    }

    /// Items inside, as the variant counts them: insertions in most.
    #[getter]
    fn items(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |held| held.filter().len())
    }

    /// About how many different keys are inside; infinite if the filter is too full to tell.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.update(range(500))
    /// >>> 480 < seen.approx_items < 520
    /// True
    #[getter]
    fn approx_items(&self, py: Python<'_>) -> PyResult<f64> {
        self.read(py, |held| match held.filter().as_estimate() {
            Some(estimate) => estimate.cardinality().unwrap_or(f64::INFINITY),
            None => held.filter().len() as f64,
        })
    }

    /// The false-positive rate it was planned for, if it was.
    #[getter]
    fn false_positive_rate(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.read(py, |held| held.filter().head().fpr)
    }

    /// The share of its cells that are in use, where that means something.
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        self.read(py, |held| held.filter().fill())
    }

    /// Bits in memory.
    #[getter]
    fn size_in_bits(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, |held| held.filter().memory().total())
    }

    /// The function that makes a key of an object, if one was given.
    #[getter]
    fn hash_func(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.hash_func.as_ref().map(|function| function.clone_ref(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, |held| picture::line(held.filter()))
    }

    /// The picture that notebooks show: fill, and the rate as it grows with the keys.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let goal = self.goal();
        self.read(py, |held| picture::html(held.filter(), goal))
    }
}

/// The filter of a pickle.
#[pyfunction]
#[pyo3(name = "_restore")]
pub fn restore(py: Python<'_>, bytes: &[u8], hash_func: Option<Py<PyAny>>) -> PyResult<Py<PyAny>> {
    let decoded = py.detach(|| crate::errors::calm(|| Opener::new().decode(bytes)));
    classes::wrap(py, Filter::new(told(decoded)?, None, hash_func))
}

//! One key at a time.

use everbloom::{Record, Seen};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::answers::{Said, verdict};
use crate::errors::raise;
use crate::filter::{Filter, told};
use crate::rows::{OwnValue, value};

#[pymethods]
impl Filter {
    fn __contains__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self.key(key)?;
        told(self.read(py, |held| held.contains(&key)))
    }

    /// Whether a key may be a member: ``key in filter``.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.add("apple")
    /// >>> seen.contains("apple"), "pear" in seen
    /// (True, False)
    fn contains(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__contains__(py, key)
    }

    /// Adds a key.
    fn add(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.takes_keys()?;
        let key = self.key(key)?;
        told(self.write(py, |held| held.insert(&key).map(drop)))
    }

    /// Adds a key, with a value or a time where the variant takes them; True if it was certainly not there before.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.insert("apple"), seen.insert("apple")
    /// (True, False)
    #[pyo3(signature = (key, value=None, *, time=None))]
    fn insert(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
        time: Option<u64>,
    ) -> PyResult<bool> {
        self.takes_keys()?;
        let key = self.key(key)?;
        if value.is_none() && time.is_none() {
            return Ok(told(self.write(py, |held| held.insert(&key)))? == Seen::New);
        }
        let value = self.value(py, value)?;
        let seen = self
            .write(py, |held| key.with(|bytes| held.insert_record(record(bytes, &value, time))));
        Ok(told(seen)? == Seen::New)
    }

    /// Everything the filter knows of a key: verdict, count, value, groups.
    ///
    /// Some variants take a value in a query, too: a class, a weight.
    ///
    /// >>> import everbloom
    /// >>> open_files = everbloom.Counting(1000, 0.01)
    /// >>> open_files.update(["a", "a"])
    /// >>> open_files.query("a")
    /// Answer("present", count=2)
    #[pyo3(signature = (key, value=None, *, time=None))]
    fn query(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
        time: Option<u64>,
    ) -> PyResult<Said> {
        let key = self.key(key)?;
        let value = self.value(py, value)?;
        let said = self
            .read(py, |held| key.with(|bytes| held.filter().query(record(bytes, &value, time))));
        told(said).map(Said)
    }

    /// Adds every key of one or more lists, arrays, columns or iterators.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.update(["apple", "pear"], range(3))
    /// >>> 2 in seen
    /// True
    #[pyo3(signature = (*others))]
    fn update(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        for other in others {
            match other.cast::<Filter>() {
                Ok(other) => self.merged(py, other.get())?,
                Err(_) => self.take(py, &other, None)?,
            }
        }
        Ok(())
    }

    /// How a filter comes to its answer: the key's digest, and the cells it looks at.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.add("apple")
    /// >>> why = seen.explain("apple")
    /// >>> why["verdict"], all(cell["agrees"] for cell in why["cells"])
    /// ('present', True)
    fn explain<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let own = self.key(key)?;
        let (hash, digest, cells, answer, rate) = self.read(py, |held| {
            own.with(|bytes| {
                let filter = held.filter();
                let hasher = &filter.head().hasher;
                let answer = filter.query(Record::key(bytes));
                let rate = filter.now().passing();
                (hasher.id().name(), hasher.digest(bytes), filter.trace(bytes), answer, rate)
            })
        })?;
        let said = answer.map_err(raise)?;
        let cells = cells.iter().map(|cell| {
            let shown = PyDict::new(py);
            shown.set_item("index", cell.index)?;
            shown.set_item("value", cell.value)?;
            shown.set_item("agrees", cell.agrees)?;
            Ok(shown)
        });
        let why = PyDict::new(py);
        why.set_item("key", key)?;
        why.set_item("hash", hash)?;
        why.set_item("digest", format!("{:016x}{:016x}", digest.h1, digest.h2))?;
        why.set_item("cells", PyList::new(py, cells.collect::<PyResult<Vec<_>>>()?)?)?;
        why.set_item("verdict", verdict(said.verdict))?;
        why.set_item("answer", Said(said))?;
        why.set_item("fpr_now", rate)?;
        Ok(why)
    }
}

impl Filter {
    /// A value as the variant takes it.
    pub fn value(
        &self,
        py: Python<'_>,
        object: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<OwnValue>> {
        let Some(object) = object else { return Ok(None) };
        let facts = self.read(py, |held| held.filter().facts())?;
        value(facts, object).map(Some)
    }
}

fn record<'a>(key: &'a [u8], value: &'a Option<OwnValue>, time: Option<u64>) -> Record<'a> {
    let record = Record::key(key).with(value.as_ref().map(OwnValue::borrow));
    time.map_or(record, |time| record.at(time))
}

//! Filters of other software.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

use everbloom::Error;
use everbloom_cli::internals::json;
use everbloom_formats::{Foreign as Inner, Format, Key as ForeignKey, KeyAs, Part};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict, PyFloat, PyInt, PyList, PyString};

use crate::answers;
use crate::catalog::object;
use crate::classes::wrap;
use crate::columns::{Answers, Given, Nulls, is_null, null_refused};
use crate::errors::{bad_argument, bad_type, raise};
use crate::filter::Filter;
use crate::held::Chunk;
use crate::keys::{key, type_name};

/// A filter that other software wrote, as it is: its keys are hashed as that software does.
///
/// ``everbloom.open(path)`` returns one, ``everbloom.create_foreign(format, …)`` starts one. A file with filters of several
/// columns or row groups is one ``Foreign`` of several ``parts``.
#[pyclass(frozen, module = "everbloom")]
pub struct Foreign {
    parts: RwLock<Vec<Part>>,
    keys: KeyAs,
    format: &'static Format,
}

impl Foreign {
    /// The filters that are asked for, of those in a file.
    pub fn of(
        parts: Vec<Part>,
        column: Option<&str>,
        row_group: Option<u64>,
        keys_as: Option<&str>,
    ) -> PyResult<Self> {
        let mut columns: Vec<String> = parts.iter().map(|part| part.column.clone()).collect();
        columns.sort_unstable();
        columns.dedup();
        let wanted = |part: &Part| {
            column.is_none_or(|name| name == part.column)
                && row_group.is_none_or(|number| number == part.row_group)
        };
        let parts: Vec<Part> = parts.into_iter().filter(wanted).collect();
        let names = columns.join(", ");
        let Some(first) = parts.first() else {
            let shown = column.unwrap_or("None");
            return Err(bad_argument(
                "column",
                shown,
                format!("no such filter; there are filters of {names}"),
            ));
        };
        if column.is_none() && columns.len() > 1 {
            return Err(bad_argument(
                "column",
                "None",
                format!("the file has filters of several columns: {names}"),
            ));
        }
        let format = first.filter.format();
        let keys = chosen(format, keys_as, first.keys)?;
        Ok(Self { parts: RwLock::new(parts), keys, format })
    }
}

/// What keys are: as the caller says, as the file says, or as is usual.
fn chosen(format: &Format, said: Option<&str>, known: Option<KeyAs>) -> PyResult<KeyAs> {
    let Some(name) = said else {
        return Ok(known.filter(|keys| format.keys.contains(keys)).unwrap_or(format.keys[0]));
    };
    format.keys.iter().copied().find(|keys| keys.name() == name).ok_or_else(|| {
        let names: Vec<&str> = format.keys.iter().map(|keys| keys.name()).collect();
        bad_argument(
            "keys_as",
            name,
            format!("keys of the format {} are {}", format.name, names.join(", ")),
        )
    })
}

#[pymethods]
impl Foreign {
    fn __contains__(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(!self.found(&self.key(key)?)?.is_empty())
    }

    /// Whether a key may be a member.
    fn contains(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.__contains__(key)
    }

    /// The numbers of the row groups that may hold a key.
    fn row_groups(&self, key: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
        self.found(&self.key(key)?)
    }

    /// Whether each key may be a member: as a list for a list, a NumPy array for one, an Arrow column for one.
    #[pyo3(signature = (keys, *, nulls=None))]
    fn contains_many(&self, keys: &Bound<'_, PyAny>, nulls: Option<&str>) -> PyResult<Py<PyAny>> {
        let (mut found, mut valid) = (Vec::new(), Vec::new());
        let form = self.each(keys, nulls, |key| {
            valid.push(key.is_some());
            found.push(key.map_or(Ok(false), |key| self.found(&key).map(|all| !all.is_empty()))?);
            Ok(())
        })?;
        let bytes: Vec<u8> = found.into_iter().map(u8::from).collect();
        answers::truths(keys.py(), &PyByteArray::new(keys.py(), &bytes), Some(&valid), form)
    }

    /// Adds a key; True if it was certainly not there before.
    fn insert(&self, key: &Bound<'_, PyAny>) -> PyResult<bool> {
        let key = self.key(key)?;
        self.only(|filter| filter.insert(key))?.map_err(raise)
    }

    /// Adds a key.
    fn add(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        self.insert(key).map(drop)
    }

    /// Adds every key of a list, an iterator, an array or a column.
    #[pyo3(signature = (keys, *, nulls=None))]
    fn add_many(&self, keys: &Bound<'_, PyAny>, nulls: Option<&str>) -> PyResult<()> {
        self.each(keys, nulls, |key| match key {
            Some(key) => self.only(|filter| filter.insert(key))?.map(drop).map_err(raise),
            None => Ok(()),
        })
        .map(drop)
    }

    /// Writes the filter as that software does.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let bytes = self.only(|filter| filter.write())?.map_err(raise)?;
        write(&path, &bytes)
    }

    /// The same bits as a ``Filter`` of this library, where a variant finds keys at the same places. Its keys are the bytes
    /// that the other software hashes.
    fn to_filter(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let filter = self.only(|filter| filter.to_filter_of(self.keys))?.map_err(raise)?;
        wrap(py, Filter::new(filter, None, None))
    }

    /// The name of the format.
    #[getter]
    fn format(&self) -> &'static str {
        self.format.name
    }

    /// What keys are: ``"string"``, ``"long"``, ``"int"``, …
    #[getter]
    fn keys_as(&self) -> &'static str {
        self.keys.name()
    }

    /// The filters, one by one: their columns and row groups, sizes, fills and rates.
    #[getter]
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
        let all = parts.iter().map(|part| {
            let row = PyDict::new(py);
            let in_column = !part.column.is_empty();
            row.set_item("column", in_column.then_some(&part.column))?;
            row.set_item("row_group", in_column.then_some(part.row_group))?;
            row.set_item("rows", part.rows)?;
            row.set_item("shape", object(py, &json::facts(part.filter.describe()))?)?;
            row.set_item("bits", part.filter.bits())?;
            row.set_item("fill", part.filter.fill())?;
            row.set_item("fpr_now", part.filter.fpr())?;
            row.set_item("items_estimated", part.filter.cardinality())?;
            Ok(row)
        });
        PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.parts.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
        let bits: u64 = parts.iter().map(|part| part.filter.bits()).sum();
        let filters = if parts.len() == 1 { "filter" } else { "filters" };
        format!(
            "<everbloom.Foreign: {} {} {filters} of {bits} bits>",
            parts.len(),
            self.format.name
        )
    }
}

impl Foreign {
    /// The row groups that may hold a key.
    fn found(&self, key: &ForeignKey<'_>) -> PyResult<Vec<u64>> {
        let parts = self.parts.read().unwrap_or_else(PoisonError::into_inner);
        let mut groups = Vec::new();
        for part in parts.iter() {
            if part.filter.contains(key.clone()).map_err(raise)? {
                groups.push(part.row_group);
            }
        }
        Ok(groups)
    }

    /// Does something with the only filter there is.
    fn only<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> PyResult<R> {
        let mut parts = self.parts.write().unwrap_or_else(PoisonError::into_inner);
        match &mut parts[..] {
            [part] => Ok(f(&mut part.filter)),
            parts => Err(bad_type(format!(
                "the file has {} filters: open one of them with column= and row_group=",
                parts.len()
            ))),
        }
    }

    fn each(
        &self,
        keys: &Bound<'_, PyAny>,
        nulls: Option<&str>,
        mut f: impl FnMut(Option<ForeignKey<'_>>) -> PyResult<()>,
    ) -> PyResult<Answers> {
        let given = Given::of(keys)?;
        let nulls = Nulls::of(nulls, &given)?;
        match given {
            Given::Column(column) => {
                for piece in column.pieces()? {
                    piece.chunks((0, piece.len()), crate::held::CHUNK, |first, chunk| {
                        for i in 0..chunk.len() {
                            let valid = piece.valid.as_ref().is_none_or(|valid| valid[first + i]);
                            if !valid && nulls == Nulls::Refuse {
                                return Err(null_refused(first + i));
                            }
                            f(if !valid {
                                None
                            } else {
                                Some(match chunk {
                                    Chunk::Words(words) => self.word(words[i].cast_signed())?,
                                    Chunk::Slices(slices) => self.bytes(slices[i])?,
                                })
                            })?;
                        }
                        Ok(())
                    })?;
                }
                Ok(column.answers)
            }
            Given::Objects(objects, form) => {
                for (row, item) in objects.try_iter()?.enumerate() {
                    let item = item?;
                    if nulls == Nulls::Skip && is_null(&item) {
                        f(None)?;
                        continue;
                    }
                    if item.is_none() {
                        return Err(null_refused(row));
                    }
                    f(Some(self.key(&item)?))?;
                }
                Ok(form)
            }
        }
    }

    /// A key as the other software has it.
    fn key(&self, object: &Bound<'_, PyAny>) -> PyResult<ForeignKey<'static>> {
        match self.keys {
            KeyAs::Float => return Ok(ForeignKey::Float(object.extract()?)),
            KeyAs::Double => return Ok(ForeignKey::Double(object.extract()?)),
            _ => {}
        }
        if object.is_instance_of::<PyFloat>() {
            return Err(self.refused(&type_name(object)));
        }
        if object.is_instance_of::<PyInt>() {
            return self.word(object.extract().map_err(|_| {
                bad_argument("key", &object.to_string(), "must fit a signed integer of 64 bits")
            })?);
        }
        if self.keys == KeyAs::Utf16 && object.is_instance_of::<PyString>() {
            let text: String = object.extract()?;
            return Ok(owned(KeyAs::Utf16.parse(text.as_bytes()).map_err(raise)?));
        }
        key(object)?.with(|bytes| self.bytes(bytes))
    }

    fn word(&self, word: i64) -> PyResult<ForeignKey<'static>> {
        match self.keys {
            KeyAs::Long => Ok(ForeignKey::Long(word)),
            KeyAs::Int => i32::try_from(word).map(ForeignKey::Int).map_err(|_| {
                bad_argument("key", &word.to_string(), "must fit a signed integer of 32 bits")
            }),
            _ if self.format.keys.contains(&KeyAs::Long) => Ok(ForeignKey::Long(word)),
            _ => Err(self.refused("int")),
        }
    }

    fn bytes(&self, bytes: &[u8]) -> PyResult<ForeignKey<'static>> {
        if self.keys.is_number() && !self.format.keys.contains(&KeyAs::String) {
            return Err(self.refused("str"));
        }
        Ok(ForeignKey::Bytes(bytes.to_vec().into()))
    }

    fn refused(&self, kind: &str) -> PyErr {
        bad_type(format!(
            "{kind} is no key here: keys of this {} filter are {}",
            self.format.name,
            self.keys.meaning()
        ))
    }
}

fn owned(key: ForeignKey<'_>) -> ForeignKey<'static> {
    match key {
        ForeignKey::Bytes(bytes) => ForeignKey::Bytes(bytes.into_owned().into()),
        ForeignKey::Int(v) => ForeignKey::Int(v),
        ForeignKey::Long(v) => ForeignKey::Long(v),
        ForeignKey::Float(v) => ForeignKey::Float(v),
        ForeignKey::Double(v) => ForeignKey::Double(v),
    }
}

/// An empty filter that other software reads once it is saved, sized as that software does.
///
/// >>> import everbloom
/// >>> guava = everbloom.create_foreign("guava", 1000, 0.01)
/// >>> guava.add("apple")
/// >>> "apple" in guava
/// True
#[pyfunction]
#[pyo3(signature = (format, expected_items, false_positive_rate=0.01, *, keys_as=None))]
pub fn create_foreign(
    format: &str,
    expected_items: u64,
    false_positive_rate: f64,
    keys_as: Option<&str>,
) -> PyResult<Foreign> {
    let format = Format::named(format).map_err(raise)?;
    let filter = format.create(expected_items, false_positive_rate).map_err(raise)?;
    Foreign::of(vec![filter.into()], None, None, keys_as)
}

/// Writes a file.
pub fn write(path: &Path, bytes: &[u8]) -> PyResult<()> {
    fs::write(path, bytes).map_err(|e| raise(Error::from(e).context(path.display())))
}

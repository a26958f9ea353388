//! Many keys at once: whatever Python has for columns, as keys in memory.

mod arrow;
mod buffers;
mod cells;
mod ffi;

use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFloat, PyList, PyString};

pub use cells::Piece;
pub use ffi::give_array;

use crate::errors::{bad_argument, bad_type};
use crate::keys::{top_module, type_name};

/// What a caller gave for keys.
pub enum Given<'py> {
    /// A column in memory.
    Column(Column),
    /// Python objects, one by one.
    Objects(Bound<'py, PyAny>, Answers),
}

/// A column, and who keeps its memory.
pub struct Column {
    source: Source,
    pub answers: Answers,
}

enum Source {
    Arrow(arrow::Column),
    Buffer(buffers::Buffer),
}

/// What answers are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// A list.
    List,
    /// A NumPy array.
    Numpy,
    /// A view of bytes.
    Memory,
    /// An array of pyarrow's.
    Pyarrow,
    /// A series of Polars'.
    Polars,
    /// A column that any library takes by Arrow's interface.
    Arrow,
}

/// What is done with a value that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nulls {
    /// It is not inserted, and its answer is null or False.
    Skip,
    /// It is an error.
    Refuse,
}

impl Nulls {
    /// What the caller said; by default columns may have nulls, and lists may not have None.
    pub fn of(said: Option<&str>, given: &Given<'_>) -> PyResult<Self> {
        match said {
            Some("skip") => Ok(Nulls::Skip),
            Some("error") => Ok(Nulls::Refuse),
            Some(other) => {
                Err(bad_argument("nulls", &format!("{other:?}"), "must be 'skip' or 'error'"))
            }
            None => Ok(match given {
                Given::Column(_) | Given::Objects(_, Answers::Numpy) => Nulls::Skip,
                Given::Objects(..) => Nulls::Refuse,
            }),
        }
    }
}

/// The error of a null that is not wanted.
pub fn null_refused(row: usize) -> PyErr {
    bad_type(format!("row {row} is null, which is no key: drop it, or say nulls='skip'"))
}

impl<'py> Given<'py> {
    /// The keys that an object holds.
    pub fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if object.is_exact_instance_of::<PyList>() {
            return Ok(Given::Objects(object.clone(), Answers::List));
        }
        if object.is_instance_of::<PyString>()
            || object.is_instance_of::<PyBytes>()
            || object.is_instance_of::<PyByteArray>()
        {
            return Err(buffers::one_key(object));
        }
        match top_module(object).as_str() {
            "numpy" if object.hasattr("dtype")? => return numpy(object),
            "pandas" => return pandas(object),
            _ => {}
        }
        if let Some(column) = arrow::Column::of(object)? {
            return Ok(Given::Column(Column {
                source: Source::Arrow(column),
                answers: match top_module(object).as_str() {
                    "pyarrow" => Answers::Pyarrow,
                    "polars" => Answers::Polars,
                    _ => Answers::Arrow,
                },
            }));
        }
        if object.is_instance_of::<PyDict>() || object.hasattr("__iter__")? {
            return match buffers::Buffer::of(object)? {
                Some(buffer) => Ok(column(buffer, Answers::Memory)),
                None => Ok(Given::Objects(object.clone(), Answers::List)),
            };
        }
        match buffers::Buffer::of(object)? {
            Some(buffer) => Ok(column(buffer, Answers::Memory)),
            None => Err(bad_type(format!(
                "{} holds no keys: pass a list, an iterator, an array or a column of keys",
                type_name(object)
            ))),
        }
    }
}

fn column<'py>(buffer: buffers::Buffer, answers: Answers) -> Given<'py> {
    Given::Column(Column { source: Source::Buffer(buffer), answers })
}

fn numpy<'py>(array: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    if array.hasattr("mask")? {
        // What is masked comes as None.
        return Ok(Given::Objects(array.call_method0("tolist")?, Answers::Numpy));
    }
    match buffers::Buffer::of_numpy(array)? {
        Some(buffer) => Ok(column(buffer, Answers::Numpy)),
        None => Ok(Given::Objects(array.call_method0("tolist")?, Answers::Numpy)),
    }
}

/// A series or an index.
fn pandas<'py>(series: &Bound<'py, PyAny>) -> PyResult<Given<'py>> {
    let Some(dtype) = series.getattr_opt("dtype")? else {
        return Err(bad_type("a DataFrame has several columns: pass the one that holds the keys"));
    };
    if top_module(&dtype) == "numpy" {
        return numpy(&series.call_method0("to_numpy")?);
    }
    match arrow::Column::of(series) {
        Ok(Some(column)) => {
            Ok(Given::Column(Column { source: Source::Arrow(column), answers: Answers::Numpy }))
        }
        Ok(None) => Ok(Given::Objects(series.call_method0("tolist")?, Answers::Numpy)),
        // Its Arrow interface needs a package that is not installed.
        Err(e) if e.is_instance_of::<PyImportError>(series.py()) => {
            Ok(Given::Objects(series.call_method0("tolist")?, Answers::Numpy))
        }
        Err(e) => Err(e),
    }
}

impl Column {
    /// Its keys, in order.
    pub fn pieces(&self) -> PyResult<Vec<Piece<'_>>> {
        match &self.source {
            Source::Arrow(column) => column.pieces(),
            Source::Buffer(buffer) => Ok(vec![buffer.piece()?]),
        }
    }
}

/// Whether an object stands for a missing value.
pub fn is_null(object: &Bound<'_, PyAny>) -> bool {
    if object.is_none() {
        return true;
    }
    match object.cast::<PyFloat>() {
        Ok(float) => float.value().is_nan(),
        Err(_) => matches!(type_name(object).as_str(), "NAType" | "NaTType"),
    }
}

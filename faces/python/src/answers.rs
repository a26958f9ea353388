//! What comes back: answers as Python has them.

use everbloom::{Answer, Bound as Counts, Counted, Detail, Number, Verdict};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyList};

use crate::columns::{Answers, give_array};

/// The answer to one query.
#[pyclass(frozen, eq, module = "everbloom", name = "Answer")]
#[derive(PartialEq)]
pub struct Said(pub Answer);

#[pymethods]
impl Said {
    /// ``"present"``, ``"absent"`` or ``"undecided"``.
    #[getter]
    fn verdict(&self) -> &'static str {
        verdict(self.0.verdict)
    }

    /// How often the key occurred, where the filter counts.
    #[getter]
    fn count<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.0.detail {
            Detail::Count(count) => number(py, count).map(Some),
            _ => Ok(None),
        }
    }

    /// What the count says of the true one: ``"exact"``, ``"estimate"``, ``"at least"`` or ``"saturated"``.
    #[getter]
    fn bound(&self) -> Option<&'static str> {
        match &self.0.detail {
            Detail::Count(count) => Some(bound(count)),
            _ => None,
        }
    }

    /// The key's value, where the filter holds values.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        match &self.0.detail {
            Detail::Value(value) => Some(PyBytes::new(py, value)),
            _ => None,
        }
    }

    /// The groups the key may belong to.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.0.detail {
            Detail::Labels(labels) => list(py, labels),
            _ => Ok(PyList::empty(py)),
        }
    }

    /// Keys, ids or offsets that the query found.
    #[getter]
    fn found<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        match &self.0.detail {
            Detail::List(found) => list(py, found),
            _ => Ok(PyList::empty(py)),
        }
    }

    /// A degree of similarity or belief.
    #[getter]
    fn score(&self) -> Option<f64> {
        match &self.0.detail {
            Detail::Score(score) => Some(*score),
            _ => None,
        }
    }

    fn __bool__(&self) -> bool {
        self.0.verdict != Verdict::Absent
    }

    fn __repr__(&self) -> String {
        let verdict = verdict(self.0.verdict);
        let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
        let texts =
            |all: &[Vec<u8>]| all.iter().map(|one| text(one)).collect::<Vec<_>>().join(", ");
        match &self.0.detail {
            Detail::Count(count) => format!("Answer({verdict:?}, count={count})"),
            Detail::Value(value) => format!("Answer({verdict:?}, value={})", text(value)),
            Detail::Labels(labels) => format!("Answer({verdict:?}, labels=[{}])", texts(labels)),
            Detail::List(found) => format!("Answer({verdict:?}, found=[{}])", texts(found)),
            Detail::Score(score) => format!("Answer({verdict:?}, score={score})"),
            _ => format!("Answer({verdict:?})"),
        }
    }
}

fn list<'py>(py: Python<'py>, all: &[Vec<u8>]) -> PyResult<Bound<'py, PyList>> {
    PyList::new(py, all.iter().map(|one| PyBytes::new(py, one)))
}

/// The word for a verdict.
pub fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Absent => "absent",
        Verdict::Present => "present",
        Verdict::Undecided => "undecided",
    }
}

fn bound(count: &Counted) -> &'static str {
    match count.bound {
        Counts::Exact => "exact",
        Counts::AtLeast => "at least",
        Counts::Saturated => "saturated",
        _ => "estimate",
    }
}

/// A count as an int or a float.
pub fn number<'py>(py: Python<'py>, count: &Counted) -> PyResult<Bound<'py, PyAny>> {
    match count.value {
        Number::Whole(v) => v.into_bound_py_any(py),
        Number::Signed(v) => v.into_bound_py_any(py),
        Number::Real(v) => v.into_bound_py_any(py),
        _ => count.whole().into_bound_py_any(py),
    }
}

/// A column that any library takes by Arrow's data interface: ``pyarrow.array(column)``, ``polars.Series(column)``.
#[pyclass(frozen, module = "everbloom")]
pub struct Column {
    format: &'static std::ffi::CStr,
    len: usize,
    nulls: usize,
    buffers: Vec<Option<Vec<u8>>>,
}

#[pymethods]
impl Column {
    /// The column as the capsules of Arrow's data interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__(
        &self,
        py: Python<'_>,
        requested_schema: Option<Bound<'_, PyAny>>,
    ) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
        // A consumer that wants another type converts this one.
        drop(requested_schema);
        give_array(py, self.format, (self.len, self.nulls), self.buffers.clone())
    }

    fn __len__(&self) -> usize {
        self.len
    }

    fn __repr__(&self) -> String {
        format!("<everbloom.Column of {} values, {} of them null>", self.len, self.nulls)
    }
}

/// Bits, the lowest of a byte first.
fn bits(truths: impl ExactSizeIterator<Item = bool>) -> Vec<u8> {
    let mut bytes = vec![0; truths.len().div_ceil(8)];
    for (i, truth) in truths.enumerate() {
        bytes[i / 8] |= u8::from(truth) << (i % 8);
    }
    bytes
}

fn validity(valid: Option<&[bool]>) -> (usize, Option<Vec<u8>>) {
    let nulls = valid.map_or(0, |valid| valid.iter().filter(|valid| !**valid).count());
    (nulls, valid.filter(|_| nulls > 0).map(|valid| bits(valid.iter().copied())))
}

/// Hands an Arrow column to the library that asked.
fn handed(py: Python<'_>, column: Column, answers: Answers) -> PyResult<Py<PyAny>> {
    let column = Bound::new(py, column)?;
    let made = match answers {
        Answers::Pyarrow => py.import("pyarrow")?.call_method1("array", (column,))?,
        Answers::Polars => py.import("polars")?.call_method1("Series", ("", column))?,
        _ => column.into_any(),
    };
    Ok(made.unbind())
}

/// Truth values, a byte each, as the caller's library has them.
pub fn truths(
    py: Python<'_>,
    bytes: &Bound<'_, PyByteArray>,
    valid: Option<&[bool]>,
    answers: Answers,
) -> PyResult<Py<PyAny>> {
    match answers {
        Answers::Numpy => from_buffer(py, bytes, "bool"),
        Answers::Memory => {
            let view = py.import("builtins")?.getattr("memoryview")?.call1((bytes,))?;
            Ok(view.call_method1("cast", ("?",))?.unbind())
        }
        Answers::List => {
            let bytes = bytes.to_vec();
            Ok(PyList::new(py, bytes.iter().map(|byte| *byte != 0))?.into_any().unbind())
        }
        _ => {
            let bytes = bytes.to_vec();
            let (nulls, valid) = validity(valid);
            let values = bits(bytes.iter().map(|byte| *byte != 0));
            let buffers = vec![valid, Some(values)];
            handed(py, Column { format: c"b", len: bytes.len(), nulls, buffers }, answers)
        }
    }
}

fn from_buffer(py: Python<'_>, bytes: &Bound<'_, PyByteArray>, dtype: &str) -> PyResult<Py<PyAny>> {
    let keywords = PyDict::new(py);
    keywords.set_item("dtype", dtype)?;
    let made = py.import("numpy")?.call_method("frombuffer", (bytes,), Some(&keywords))?;
    Ok(made.unbind())
}

/// Counts as numbers of one type: whole ones unless one is below zero or a fraction.
pub fn counts(py: Python<'_>, counts: &[Option<Counted>], answers: Answers) -> PyResult<Py<PyAny>> {
    let all = || counts.iter().flatten();
    let real = all().any(|count| matches!(count.value, Number::Real(_)));
    let signed = all().any(|count| matches!(count.value, Number::Signed(v) if v < 0));
    if answers == Answers::List {
        let one = |count: &Option<Counted>| match count {
            Some(count) => number(py, count),
            None => Ok(py.None().into_bound(py)),
        };
        let all = counts.iter().map(one).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, all)?.into_any().unbind());
    }
    let bytes = |count: &Option<Counted>| -> [u8; 8] {
        match count.map(|count| (count.value, count.whole())) {
            None => [0; 8],
            Some((Number::Real(v), _)) => v.to_ne_bytes(),
            Some((_, v)) if real => (v as f64).to_ne_bytes(),
            Some((Number::Signed(v), _)) => v.to_ne_bytes(),
            Some((_, v)) => v.to_ne_bytes(),
        }
    };
    let values: Vec<u8> = counts.iter().flat_map(bytes).collect();
    let (format, dtype, code) = match (real, signed) {
        (true, _) => (c"g", "float64", "d"),
        (false, true) => (c"l", "int64", "q"),
        (false, false) => (c"L", "uint64", "Q"),
    };
    match answers {
        Answers::Numpy => from_buffer(py, &PyByteArray::new(py, &values), dtype),
        Answers::Memory => {
            let bytes = PyByteArray::new(py, &values);
            let view = py.import("builtins")?.getattr("memoryview")?.call1((bytes,))?;
            Ok(view.call_method1("cast", (code,))?.unbind())
        }
        _ => {
            let valid: Vec<bool> = counts.iter().map(Option::is_some).collect();
            let (nulls, valid) = validity(Some(&valid));
            let buffers = vec![valid, Some(values)];
            handed(py, Column { format, len: counts.len(), nulls, buffers }, answers)
        }
    }
}

/// Values as bytes, or None where there is none.
pub fn values(py: Python<'_>, values: &[Option<Vec<u8>>], answers: Answers) -> PyResult<Py<PyAny>> {
    if matches!(answers, Answers::List | Answers::Numpy | Answers::Memory) {
        let one = |value: &Option<Vec<u8>>| value.as_ref().map(|value| PyBytes::new(py, value));
        return Ok(PyList::new(py, values.iter().map(one))?.into_any().unbind());
    }
    let (mut ends, mut bytes) = (0i64.to_ne_bytes().to_vec(), Vec::new());
    for value in values {
        bytes.extend_from_slice(value.as_deref().unwrap_or_default());
        ends.extend_from_slice(&(bytes.len() as i64).to_ne_bytes());
    }
    let valid: Vec<bool> = values.iter().map(Option::is_some).collect();
    let (nulls, valid) = validity(Some(&valid));
    let buffers = vec![valid, Some(ends), Some(bytes)];
    handed(py, Column { format: c"Z", len: values.len(), nulls, buffers }, answers)
}

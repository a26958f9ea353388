//! The list of variants, plans, samples: what the library says before there is a filter.

use everbloom::choose::{self, Candidate, Why};
use everbloom::internals::sample::{Sample, Style};
use everbloom::{Goal, Rates, Value};
use everbloom_cli::internals::json;
use everbloom_formats::FORMATS;
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};

use crate::errors::{bad_argument, raise};
use crate::goal::{Wish, variant};

/// JSON as Python objects.
pub fn object<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    use serde_json::Value as Json;
    match value {
        Json::Null => Ok(py.None().into_bound(py)),
        Json::Bool(v) => v.into_bound_py_any(py),
        Json::Number(v) => match (v.as_u64(), v.as_i64()) {
            (Some(v), _) => v.into_bound_py_any(py),
            (_, Some(v)) => v.into_bound_py_any(py),
            _ => v.as_f64().into_bound_py_any(py),
        },
        Json::String(v) => v.into_bound_py_any(py),
        Json::Array(all) => {
            let all = all.iter().map(|one| object(py, one)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, all)?.into_any())
        }
        Json::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, object(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Rates by name.
pub fn rates(py: Python<'_>, rates: Rates) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("fpr", rates.fpr)?;
    dict.set_item("fnr", rates.fnr)?;
    dict.set_item("undecided", rates.undecided)?;
    Ok(dict)
}

/// Every variant of the list, in the words of ``everbloom catalog --json``: slug, name, paper, needs, forms with their
/// abilities, parameters with their ranges.
///
/// >>> import everbloom
/// >>> by_slug = {entry["slug"]: entry for entry in everbloom.catalog()}
/// >>> by_slug["bloom"]["forms"][0]["abilities"]
/// ['insert', 'merge', 'intersect', 'fold', 'estimate']
#[pyfunction]
pub fn catalog(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = everbloom::catalog::VARIANTS.iter();
    let all = all.map(|variant| object(py, &json::variant(variant)));
    PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

/// The formats of other software: name, writer, and whether files are written, built and converted.
///
/// >>> import everbloom
/// >>> [entry["name"] for entry in everbloom.formats()][:3]
/// ['parquet', 'guava', 'spark']
#[pyfunction]
pub fn formats(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let all = FORMATS.iter().map(|format| {
        let entry = PyDict::new(py);
        entry.set_item("name", format.name)?;
        entry.set_item("writer", format.writer)?;
        entry.set_item("versions", format.versions)?;
        entry.set_item("hash", format.hash)?;
        entry.set_item("keys", format.keys.iter().map(|keys| keys.name()).collect::<Vec<_>>())?;
        entry.set_item("limits", format.limits)?;
        entry.set_item("write", format.can_write())?;
        entry.set_item("build", format.can_create())?;
        entry.set_item("convert", format.can_convert())?;
        Ok(entry)
    });
    PyList::new(py, all.collect::<PyResult<Vec<_>>>()?)
}

/// The variants for a goal, ranked: what ``everbloom.plan`` makes its objects of.
#[pyfunction]
#[pyo3(name = "rank")]
#[pyo3(signature = (expected_items, false_positive_rate, memory, needs, kind, settings))]
pub fn plan<'py>(
    py: Python<'py>,
    expected_items: Option<&Bound<'py, PyAny>>,
    false_positive_rate: Option<f64>,
    memory: Option<&Bound<'py, PyAny>>,
    needs: Vec<String>,
    kind: Option<&str>,
    settings: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyList>, Vec<&'static str>, Bound<'py, PyDict>)> {
    let (items, rate) = (expected_items, false_positive_rate);
    let wish = Wish { items, rate, memory, seed: None, key: None, settings };
    let goal: Goal = wish.goal(kind.map(variant).transpose()?)?;
    let needs: Vec<&str> = needs.iter().map(String::as_str).collect();
    let ranking = py.detach(|| choose::rank_of(&goal, &needs, kind)).map_err(raise)?;
    let rows = ranking.candidates.iter().map(|candidate| row(py, candidate));
    let rows = PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?;
    let open_ended = ranking.open_ended.iter().map(|variant| variant.slug).collect();
    let refused = PyDict::new(py);
    for refusal in ranking.refused {
        let why = match refusal.why {
            Why::Refused(e) => raise(e).value(py).str()?.to_string(),
            why => why.to_string(),
        };
        refused.set_item(refusal.variant.slug, why)?;
    }
    Ok((rows, open_ended, refused))
}

fn row<'py>(py: Python<'py>, candidate: &Candidate) -> PyResult<Bound<'py, PyDict>> {
    let row = PyDict::new(py);
    row.set_item("slug", candidate.variant.slug)?;
    row.set_item("form", candidate.form.name)?;
    let abilities = candidate.form.abilities.iter().map(|ability| ability.name());
    row.set_item("abilities", abilities.collect::<Vec<_>>())?;
    row.set_item("items", candidate.items)?;
    row.set_item("bits", candidate.expect.bits)?;
    row.set_item("bits_per_item", candidate.bits_per_item())?;
    row.set_item("probes", candidate.probes)?;
    row.set_item("fpr", candidate.expect.fpr)?;
    row.set_item("fnr", candidate.expect.fnr)?;
    row.set_item("undecided", candidate.expect.undecided)?;
    row.set_item("times_bound", candidate.times_bound())?;
    row.set_item("built_once", candidate.is_built_once())?;
    Ok(row)
}

/// Valid records of a variant, as many as wanted: pairs of a key and its value, or None for one without a value.
///
/// Record i depends on i alone, so records from another ``start`` on are no members.
///
/// >>> import everbloom
/// >>> everbloom.sample("bloomier", 2)
/// [(b'0', b'12'), (b'1', b'11')]
#[pyfunction]
#[pyo3(signature = (slug, n, *, start=0))]
pub fn sample<'py>(
    py: Python<'py>,
    slug: &str,
    n: u64,
    start: u64,
) -> PyResult<Bound<'py, PyList>> {
    let variant = variant(slug)?;
    if variant.forms.is_empty() {
        let message = format!("is a {}, which takes no records", variant.kind.name());
        return Err(bad_argument("slug", slug, message));
    }
    let sample = Sample::new(&variant.input, Style::Short, start..start.saturating_add(n));
    let record = |record: everbloom::Record<'_>| {
        let value = match record.value {
            Some(Value::Label(value) | Value::Bytes(value)) => PyBytes::new(py, value).into_any(),
            Some(Value::Weight(weight)) => weight.into_bound_py_any(py)?,
            Some(Value::Count(count)) => count.into_bound_py_any(py)?,
            _ => py.None().into_bound(py),
        };
        PyTuple::new(py, [PyBytes::new(py, record.key).into_any(), value])
    };
    let records = sample.records().into_iter().map(record).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, records)
}

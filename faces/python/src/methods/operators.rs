//! What filters and sets share: operators, comparisons, copies.

use everbloom::{Ability, MergeLaw, to_bytes};
use pyo3::basic::CompareOp;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};

use crate::abilities::merging;
use crate::errors::unsupported;
use crate::filter::{Filter, told};
use crate::held::Held;

#[pymethods]
impl Filter {
    fn __or__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.joined(py, other, Self::merged)
    }

    fn __and__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.joined(py, other, Self::intersected)
    }

    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        match other.cast::<Filter>() {
            Ok(other) => self.minus(py, other),
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __ior__(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<()> {
        self.merged(py, other.get())
    }

    fn __iand__(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<()> {
        self.intersected(py, other.get())
    }

    /// The filter of the union: ``a | b | …``. Lists and arrays of keys may stand for filters.
    ///
    /// >>> import everbloom
    /// >>> monday, tuesday = everbloom.Bloom(1000, 0.01), everbloom.Bloom(1000, 0.01)
    /// >>> monday.add("ann"); tuesday.add("bob")
    /// >>> both = monday | tuesday
    /// >>> "ann" in both and "bob" in both and monday <= both
    /// True
    #[pyo3(signature = (*others))]
    fn union(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let copy = self.copy(py)?;
        for other in others {
            let own = copy.bind(py).cast::<Filter>()?.get();
            match other.cast::<Filter>() {
                Ok(other) => own.merged(py, other.get())?,
                Err(_) => own.take(py, &other, None)?,
            }
        }
        Ok(copy)
    }

    /// The filter of what is in all of them: ``a & b & …``.
    #[pyo3(signature = (*others))]
    fn intersection(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let copy = self.copy(py)?;
        copy.bind(py).cast::<Filter>()?.get().intersection_update(py, others)?;
        Ok(copy)
    }

    /// Keeps what is in all of the others, too: ``a &= b``. Lists and arrays of keys may stand for filters.
    #[pyo3(signature = (*others))]
    fn intersection_update(&self, py: Python<'_>, others: &Bound<'_, PyTuple>) -> PyResult<()> {
        for other in others {
            match other.cast::<Filter>() {
                Ok(other) => self.intersected(py, other.get())?,
                Err(_) => {
                    let keys = self.copy(py)?;
                    let keys = keys.bind(py).cast::<Filter>()?.get();
                    keys.clear(py)?;
                    keys.take(py, &other, None)?;
                    self.intersected(py, keys)?;
                }
            }
        }
        Ok(())
    }

    /// Whether every key of this filter is one of the other, as far as their cells tell: ``a <= b``.
    fn issubset(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<bool> {
        self.within(py, other.get())
    }

    /// Whether every key of the other is one of this filter: ``a >= b``. A list or an array of keys may stand for it.
    fn issuperset(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
        if let Ok(other) = other.cast::<Filter>() {
            return other.get().within(py, self);
        }
        let found = self.contains_many(other, None)?;
        py.import("builtins")?.call_method1("all", (found,))?.extract()
    }

    fn __richcmp__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        op: CompareOp,
    ) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Filter>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let answer = match op {
            CompareOp::Eq => self.same(py, other)?,
            CompareOp::Ne => !self.same(py, other)?,
            CompareOp::Le => self.within(py, other)?,
            CompareOp::Lt => self.within(py, other)? && !self.same(py, other)?,
            CompareOp::Ge => other.within(py, self)?,
            CompareOp::Gt => other.within(py, self)? && !self.same(py, other)?,
        };
        Ok(answer.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.read(py, |held| !held.filter().is_empty())
    }

    /// A copy that shares nothing with this filter.
    pub fn copy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let copied = self.copied(py)?;
        self.twin(py, copied)
    }

    fn __copy__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.copy(py)
    }

    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let _ = memo;
        self.copy(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let keyed = self.read(py, |held| held.filter().head().hasher.is_keyed())?;
        if keyed {
            return Err(unsupported(
                "a keyed filter cannot be pickled, since its key would be in the pickle: save it, and open it with key=",
            ));
        }
        let bytes = self.read_long(py, |held| to_bytes(held.filter()))?;
        let restore = py.import("everbloom._everbloom")?.getattr("_restore")?;
        let hash_func = self.hash_func.as_ref().map(|function| function.clone_ref(py));
        let given = (PyBytes::new(py, &bytes), hash_func).into_pyobject(py)?;
        (restore, given).into_pyobject(py)
    }
}

/// Where a file counts its items.
const ITEMS: std::ops::Range<usize> = 32..40;
/// Where the length of its tree is, and where the tree starts.
const TREE_LENGTH: std::ops::Range<usize> = 56..64;
const TREE: usize = 80;

/// The file of a filter, without the number of its items: an estimate after a union.
fn content(filter: &dyn everbloom::Filter) -> Vec<u8> {
    let mut bytes = to_bytes(filter);
    let tree = bytes.get(TREE_LENGTH).and_then(|word| word.try_into().ok());
    let checksum = TREE + tree.map_or(0, u64::from_le_bytes) as usize;
    for range in [ITEMS, checksum..checksum + 4] {
        if let Some(part) = bytes.get_mut(range) {
            part.fill(0);
        }
    }
    bytes
}

impl Filter {
    fn joined(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        join: impl FnOnce(&Filter, Python<'_>, &Filter) -> PyResult<()>,
    ) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Filter>() else { return Ok(py.NotImplemented()) };
        let copy = self.copy(py)?;
        join(copy.bind(py).cast::<Filter>()?.get(), py, other.get())?;
        Ok(copy)
    }

    /// Whether both answer alike: the same variant, shape, hash, seed and cells.
    fn same(&self, py: Python<'_>, other: &Filter) -> PyResult<bool> {
        if std::ptr::eq(self, other) {
            return Ok(true);
        }
        let own = self.read_long(py, |held| content(held.filter()))?;
        other.read_long(py, |held| content(held.filter()) == own)
    }

    /// Whether the other holds all that this filter holds: whether taking this one in changes nothing.
    fn within(&self, py: Python<'_>, other: &Filter) -> PyResult<bool> {
        self.must(py, Ability::Merge)?;
        let copy = self.copied(py)?;
        told(other.read_long(py, |held| {
            let mut union = Held::of(held.filter().boxed_clone());
            let merge = merging(union.filter_mut())?;
            if merge.law() != MergeLaw::Set {
                let slug = held.filter().facts().slug;
                return Err(everbloom::Error::new(
                    everbloom::Kind::Unsupported,
                    format!("{slug} filters hold multisets, which are not compared as sets"),
                ));
            }
            merge.merge(&*copy)?;
            Ok(content(union.filter()) == content(held.filter()))
        }))
    }
}

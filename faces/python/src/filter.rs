//! The class `Filter`: a filter of any variant, behind a lock that waits without Python's own.

use std::sync::{Mutex, RwLock, TryLockError};

use everbloom::catalog::KeyKind;
use everbloom::{Filter as AnyFilter, Goal, Reading};
use everbloom_records::KeyType;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::columns::{Column, Nulls, Piece};
use crate::errors::{bad_type, bad_value, calm, internal, raise, unsupported};
use crate::held::Held;
use crate::keys::{Key, hashed, key, key_of};
use crate::rows::{no_function, refuse_nulls};

/// A filter of any variant of the catalog.
///
/// ``everbloom.create(slug, …)``, ``everbloom.build(slug, records, …)`` and ``everbloom.open(path)`` return one; the
/// everyday variants have classes of their own. What a filter can do depends on its variant: ``abilities`` lists it, and
/// a method for something else raises ``UnsupportedError``.
///
/// Threads may share a filter: calls that change it wait for each other, and for those that ask.
#[pyclass(subclass, frozen, module = "everbloom")]
pub struct Filter {
    held: RwLock<Held>,
    /// What makes a key of an object, where the caller gave something for it.
    pub hash_func: Option<Py<PyAny>>,
    /// What it was made for, if it was made here.
    goal: Mutex<Option<Goal>>,
    /// What its keys are.
    kind: KeyKind,
    /// How the command read the text of its keys, if not as it is.
    reading: Option<Reading>,
    /// Whether keys are taken as they are.
    plain: bool,
}

impl Filter {
    pub fn new(
        filter: Box<dyn AnyFilter>,
        goal: Option<Goal>,
        hash_func: Option<Py<PyAny>>,
    ) -> Self {
        let kind = filter.facts().input.key;
        let reading = Some(filter.head().reading.clone()).filter(|reading| !reading.is_plain());
        let as_is = matches!(kind, KeyKind::Bytes | KeyKind::Integer);
        let plain = as_is && reading.is_none() && hash_func.is_none();
        let (held, goal) = (RwLock::new(Held::of(filter)), Mutex::new(goal));
        Self { held, hash_func, goal, kind, reading, plain }
    }

    /// What it was made for, if it was made here.
    pub fn goal(&self) -> Option<Goal> {
        self.goal.lock().ok().and_then(|goal| goal.clone())
    }

    /// Reads the filter. A panic becomes an exception on its way to Python.
    #[inline]
    pub fn read<R>(&self, py: Python<'_>, f: impl FnOnce(&Held) -> R) -> PyResult<R> {
        loop {
            match self.held.try_read() {
                Ok(held) => return Ok(f(&held)),
                Err(busy) => self.wait(py, matches!(busy, TryLockError::Poisoned(_)))?,
            }
        }
    }

    /// Changes the filter. A panic poisons the lock on its way out, so that nobody trusts what is half changed.
    #[inline]
    pub fn write<R>(&self, py: Python<'_>, f: impl FnOnce(&mut Held) -> R) -> PyResult<R> {
        loop {
            match self.held.try_write() {
                Ok(mut held) => return Ok(f(&mut held)),
                Err(busy) => self.wait(py, matches!(busy, TryLockError::Poisoned(_)))?,
            }
        }
    }

    /// Waits for the lock while other threads run Python.
    #[cold]
    #[inline(never)]
    fn wait(&self, py: Python<'_>, poisoned: bool) -> PyResult<()> {
        if poisoned {
            return Err(broken());
        }
        py.detach(|| drop(self.held.read()));
        Ok(())
    }

    /// Reads the filter while other threads run Python.
    pub fn read_long<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&Held) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| match self.held.read() {
            Ok(held) => calm(|| f(&held)),
            Err(_) => Err(broken()),
        })
    }

    /// Changes the filter while other threads run Python.
    pub fn write_long<R: Send>(
        &self,
        py: Python<'_>,
        f: impl FnOnce(&mut Held) -> R + Send,
    ) -> PyResult<R> {
        py.detach(|| match self.held.write() {
            Ok(mut held) => calm(move || f(&mut held)),
            Err(_) => Err(broken()),
        })
    }

    /// Changes this filter by another one, while other threads run Python. Never holds one lock while it waits for the
    /// other, so that two filters that take each other in do not stop each other.
    pub fn write_with<R: Send>(
        &self,
        py: Python<'_>,
        other: &Filter,
        f: impl FnOnce(&mut Held, &Held) -> R + Send,
    ) -> PyResult<R> {
        if std::ptr::eq(self, other) {
            let twin = self.read_long(py, |held| Held::of(held.filter().boxed_clone()))?;
            return self.write_long(py, |held| f(held, &twin));
        }
        py.detach(|| {
            loop {
                let mut held = self.held.write().map_err(|_| broken())?;
                match other.held.try_read() {
                    Ok(other) => return calm(move || f(&mut held, &other)),
                    Err(TryLockError::Poisoned(_)) => return Err(broken()),
                    Err(TryLockError::WouldBlock) => {
                        drop(held);
                        drop(other.held.read());
                    }
                }
            }
        })
    }

    /// The key that an object is to this filter.
    #[inline]
    pub fn key<'a>(&self, object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
        if self.plain { key(object) } else { self.other_key(object) }
    }

    #[cold]
    fn other_key<'a>(&self, object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
        if let Some(function) = &self.hash_func {
            return hashed(function.bind(object.py()), object);
        }
        let own = key_of(self.kind, object)?;
        match &self.reading {
            Some(reading) if object.is_instance_of::<PyString>() => read(reading, &own),
            _ => Ok(own),
        }
    }

    /// The pieces of a column of keys, unless keys are made one by one.
    pub fn pieces<'c>(
        &self,
        keys: &Bound<'_, PyAny>,
        column: &'c Column,
        nulls: Nulls,
    ) -> PyResult<Vec<Piece<'c>>> {
        if self.hash_func.is_some() {
            return Err(no_function(keys));
        }
        let pieces = column.pieces()?;
        if self.reading.is_some() && !pieces.iter().all(Piece::is_words) {
            return Err(bad_type(
                "the command read the text of this filter's keys in its own way: pass integers, or a list of texts",
            ));
        }
        if nulls == Nulls::Refuse {
            refuse_nulls(&pieces)?;
        }
        Ok(pieces)
    }

    /// Refuses insertions where the command adds more than the key.
    #[inline]
    pub fn takes_keys(&self) -> PyResult<()> {
        match &self.reading {
            Some(reading) if !reading.ancestors.is_empty() => Err(unsupported(
                "the filter holds the ancestors of its keys, too: add keys with the command, `everbloom add`",
            )),
            _ => Ok(()),
        }
    }

    /// A copy of what is inside.
    pub fn copied(&self, py: Python<'_>) -> PyResult<Box<dyn AnyFilter>> {
        self.read_long(py, |held| held.filter().boxed_clone())
    }
}

#[cold]
fn broken() -> PyErr {
    internal("a fault of everbloom itself broke this filter while it was changed: build it again")
}

/// What the library says, as Python's.
pub fn told<R>(result: PyResult<everbloom::Result<R>>) -> PyResult<R> {
    result?.map_err(raise)
}

/// The key that a text spells to the command.
fn read<'a>(reading: &Reading, text: &Key<'_>) -> PyResult<Key<'a>> {
    let kind = KeyType::ALL.into_iter().find(|kind| kind.name() == reading.key_type);
    let mut text = text.to_vec();
    if reading.fold_case {
        text.make_ascii_lowercase();
    }
    match kind.unwrap_or_default().read(&text, <[u8]>::to_vec) {
        Ok(bytes) => Ok(Key::Owned(bytes)),
        Err(fault) => Err(bad_value(fault.to_string())),
    }
}

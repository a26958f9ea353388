//! What of Python is a key, and its bytes: those that the library's `Key` gives the same value.

use everbloom::Key as _;
use everbloom::catalog::KeyKind;
use pyo3::exceptions::PyUnicodeEncodeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyFloat, PyInt, PyMemoryView, PyString, PyTuple};

use crate::errors::{bad_type, bad_value};

/// The bytes of a key.
pub enum Key<'a> {
    /// Those of an integer that fits 64 bits: eight, little-endian.
    Word(u64),
    /// Those of the object itself.
    Bytes(&'a [u8]),
    /// Those made for it.
    Owned(Vec<u8>),
}

impl Key<'_> {
    /// Calls `f` with the bytes.
    pub fn with<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Key::Word(word) => f(&word.to_le_bytes()),
            Key::Bytes(bytes) => f(bytes),
            Key::Owned(bytes) => f(bytes),
        }
    }

    /// The bytes, to keep.
    pub fn to_vec(&self) -> Vec<u8> {
        self.with(<[u8]>::to_vec)
    }
}

/// The key that an object is.
#[inline]
pub fn key<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    if object.is_exact_instance_of::<PyInt>() {
        return integer(object);
    }
    if object.is_exact_instance_of::<PyString>() {
        return text(object);
    }
    other(object)
}

/// The key that `hash_func` makes of an object.
pub fn hashed(function: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) -> PyResult<Key<'static>> {
    let made = function.call1((object,))?;
    if !made.is_instance_of::<PyInt>() {
        let kind = type_name(&made);
        return Err(bad_type(format!("hash_func must return an int, not {kind}")));
    }
    integer(&made).map(|key| match key {
        Key::Word(word) => Key::Word(word),
        key => Key::Owned(key.to_vec()),
    })
}

#[inline]
fn integer<'a>(object: &Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    match object.extract::<i64>() {
        Ok(value) => Ok(Key::Word(value.cast_unsigned())),
        Err(_) => wide(object),
    }
}

/// An integer beyond 64 bits with a sign.
#[cold]
fn wide<'a>(object: &Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    let owned = |bytes: &[u8]| match bytes.try_into().map(u64::from_le_bytes) {
        Ok(word) => Key::Word(word),
        Err(_) => Key::Owned(bytes.to_vec()),
    };
    if let Ok(value) = object.extract::<u128>() {
        return Ok(value.with_bytes(owned));
    }
    if let Ok(value) = object.extract::<i128>() {
        return Ok(value.with_bytes(owned));
    }
    Err(bad_value(
        "an integer beyond 128 bits is no key: give its bytes, such as key.to_bytes(32, 'little')",
    ))
}

#[inline]
fn text<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    let text = object.cast::<PyString>()?;
    match text.to_str() {
        Ok(text) => Ok(Key::Bytes(text.as_bytes())),
        Err(e) => Err(surrogates(object.py(), e)),
    }
}

#[cold]
fn surrogates(py: Python<'_>, e: PyErr) -> PyErr {
    if !e.is_instance_of::<PyUnicodeEncodeError>(py) {
        return e;
    }
    bad_value(
        "a text with a lone surrogate has no UTF-8 and is no key: give bytes, such as \
         key.encode('utf-8', 'surrogatepass')",
    )
}

/// Keys of the less common types.
#[cold]
fn other<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Key::Bytes(bytes.as_bytes()));
    }
    if object.is_instance_of::<PyString>() {
        return text(object);
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object);
    }
    if let Ok(parts) = object.cast::<PyTuple>() {
        return joined(parts).map(Key::Owned);
    }
    if let Ok(bytes) = object.cast::<PyByteArray>() {
        return Ok(Key::Owned(bytes.to_vec()));
    }
    if object.is_instance_of::<PyMemoryView>() {
        let bytes: Vec<u8> = object.call_method0("tobytes")?.extract()?;
        return Ok(Key::Owned(bytes));
    }
    if object.is_none() {
        return Err(bad_type("None is no key: leave it out"));
    }
    if object.is_instance_of::<PyFloat>() {
        return Err(float());
    }
    by_module(object)
}

fn float() -> PyErr {
    bad_type(
        "a float is no key, since NaN equals nothing and 1.0 is 1 in Python only: give int(key), or its bits, as \
         struct.pack('<d', key)",
    )
}

/// Every part's length, then its bytes.
fn joined(parts: &Bound<'_, PyTuple>) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    for part in parts {
        key(&part)?.with(|part| {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        });
    }
    Ok(bytes)
}

/// Keys of classes that are known by their names, so that their modules need not be imported.
fn by_module<'a>(object: &Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    let module = top_module(object);
    let attribute = match module.as_str() {
        "uuid" => Some("bytes"),
        "ipaddress" => Some("packed"),
        _ => None,
    };
    if let Some(bytes) = attribute.and_then(|name| object.getattr_opt(name).ok().flatten()) {
        return Ok(Key::Owned(bytes.extract()?));
    }
    if module == "numpy" {
        return scalar(object);
    }
    if let Some(path) = object.getattr_opt("__fspath__")? {
        let path = path.call0()?;
        let bytes = object.py().import("os")?.call_method1("fsencode", (path,))?;
        return Ok(Key::Owned(bytes.extract()?));
    }
    if object.hasattr("__index__")? {
        let whole = object.py().import("operator")?.call_method1("index", (object,))?;
        return integer(&whole);
    }
    Err(bad_type(format!(
        "{} is no key: keys are str, bytes, int, bool, UUID, IP addresses, paths, and tuples of these; for other \
         objects give the filter a hash_func",
        type_name(object)
    )))
}

/// The value of one element of a NumPy array.
fn scalar<'a>(object: &Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    let Some(dtype) = object.getattr_opt("dtype")? else {
        return Err(bad_type(format!("{} is no key", type_name(object))));
    };
    let kind: String = dtype.getattr("kind")?.extract()?;
    if object.getattr_opt("ndim")?.is_some_and(|ndim| ndim.extract::<usize>().is_ok_and(|n| n > 0))
    {
        return Err(bad_type(
            "an array is no key: ask for all its elements, as contains_many(array)",
        ));
    }
    let item = match kind.as_str() {
        "M" | "m" => object.call_method1("view", ("i8",))?.call_method0("item")?,
        _ => object.call_method0("item")?,
    };
    if item.is_instance_of::<PyFloat>() {
        return Err(float());
    }
    if top_module(&item) == "numpy" {
        return Err(bad_type(format!("{} is no key", type_name(object))));
    }
    Ok(match key(&item)? {
        Key::Word(word) => Key::Word(word),
        key => Key::Owned(key.to_vec()),
    })
}

/// The module an object's class comes from, up to the first dot.
pub fn top_module(object: &Bound<'_, PyAny>) -> String {
    let module = object.get_type().module().map(|name| name.to_string()).unwrap_or_default();
    module.split('.').next().unwrap_or_default().to_owned()
}

/// The name of an object's class.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "this object".to_owned(), |name| name.to_string())
}

/// The key that an object is to a variant that looks inside its keys: in the words that the command reads, so that
/// filters built here and there are the same.
pub fn key_of<'a>(kind: KeyKind, object: &'a Bound<'_, PyAny>) -> PyResult<Key<'a>> {
    match kind {
        KeyKind::Bytes | KeyKind::Integer => key(object),
        _ if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() => {
            key(object)
        }
        KeyKind::Attributes => attributes(object).map(Key::Owned),
        KeyKind::Range => range(object).map(Key::Owned),
        KeyKind::Point | KeyKind::Vector | KeyKind::Sequence => {
            numbers(kind, object).map(Key::Owned)
        }
    }
}

/// Columns with TABs between them.
fn attributes(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let mut bytes = Vec::new();
    for (i, part) in object.try_iter()?.enumerate() {
        if i > 0 {
            bytes.push(b'\t');
        }
        let part = part?;
        let part = spelled(&part)?;
        if part.contains(&b'\t') {
            return Err(bad_value("an attribute must not hold a TAB, which separates attributes"));
        }
        bytes.extend(part);
    }
    Ok(bytes)
}

/// `LOW..HIGH`, of a `range` or a pair.
fn range(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let ends = match (object.getattr_opt("start")?, object.getattr_opt("stop")?) {
        (Some(start), Some(stop)) => (start, stop),
        _ => object.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?,
    };
    Ok([spelled(&ends.0)?, b"..".to_vec(), spelled(&ends.1)?].concat())
}

/// Coordinates with commas between them; those of a vector are one byte each.
fn numbers(kind: KeyKind, object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    let parts: Vec<Vec<u8>> =
        object.try_iter()?.map(|part| spelled(&part?)).collect::<PyResult<_>>()?;
    let between: &[u8] = if kind == KeyKind::Point { b"," } else { b"" };
    Ok(parts.join(between))
}

/// Text, or a number as text.
pub fn spelled(object: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if object.is_instance_of::<PyBool>() {
        return Ok(if object.is_truthy()? { b"1".to_vec() } else { b"0".to_vec() });
    }
    if object.is_instance_of::<PyFloat>() || object.is_instance_of::<PyInt>() {
        return Ok(object.str()?.to_str()?.as_bytes().to_vec());
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return key(object).map(|key| key.to_vec());
    }
    if top_module(object) == "numpy" {
        return spelled(&object.call_method0("item")?);
    }
    Err(bad_type(format!("{} is neither text nor a number", type_name(object))))
}

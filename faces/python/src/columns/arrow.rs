//! Columns of other libraries by Arrow's data interface.

use std::borrow::Cow;

use pyo3::prelude::*;

use super::cells::{Cells, Piece};
use super::ffi::{Array, OwnArray, OwnSchema, Plain, Schema, take_array, take_stream};
use crate::errors::bad_type;

/// Arrays of one type.
pub struct Column {
    kind: Type,
    arrays: Vec<OwnArray>,
    _schema: OwnSchema,
}

/// What the values of a column are.
#[derive(Clone, Debug)]
enum Type {
    /// Nothing but nulls.
    Null,
    /// Truth values, a bit each.
    Bit,
    /// Integers of so many bytes.
    Integer { bytes: usize, signed: bool },
    /// Bytes between ends of 32 or 64 bits.
    Bytes { long: bool },
    /// Bytes behind views.
    View,
    /// So many bytes.
    Fixed(usize),
    /// Places in a dictionary.
    Dictionary { index: Box<Type>, values: Box<Type> },
    /// A table with one column.
    Only(Box<Type>),
}

impl Column {
    /// The column that an object exports; `None` if it exports none.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let (schema, arrays) = if let Some(export) = object.getattr_opt("__arrow_c_stream__")? {
            take_stream(&export.call0()?)?
        } else if let Some(export) = object.getattr_opt("__arrow_c_array__")? {
            let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) =
                export.call0()?.extract()?;
            let (schema, array) = take_array(&schema, &array)?;
            (schema, vec![array])
        } else {
            return Ok(None);
        };
        Ok(Some(Self { kind: type_of(&schema)?, arrays, _schema: schema }))
    }

    /// The cells of all arrays.
    pub fn pieces(&self) -> PyResult<Vec<Piece<'_>>> {
        let whole = |array: &OwnArray| usize::try_from(array.length).unwrap_or(0);
        self.arrays.iter().map(|array| piece(array, &self.kind, 0, whole(array))).collect()
    }
}

/// What a schema describes, if its values can be keys.
fn type_of(schema: &Schema) -> PyResult<Type> {
    let index = plain_type(schema)?;
    Ok(match schema.dictionary() {
        Some(values) => {
            Type::Dictionary { index: Box::new(index), values: Box::new(type_of(values)?) }
        }
        None => index,
    })
}

fn plain_type(schema: &Schema) -> PyResult<Type> {
    let integer = |bytes, signed| Ok(Type::Integer { bytes, signed });
    match schema.format() {
        "n" => Ok(Type::Null),
        "b" => Ok(Type::Bit),
        "c" => integer(1, true),
        "C" => integer(1, false),
        "s" => integer(2, true),
        "S" => integer(2, false),
        // Days, and seconds or milliseconds of a day.
        "i" | "tdD" | "tts" | "ttm" => integer(4, true),
        "I" => integer(4, false),
        "l" | "tdm" | "ttu" | "ttn" => integer(8, true),
        "L" => integer(8, false),
        "u" | "z" => Ok(Type::Bytes { long: false }),
        "U" | "Z" => Ok(Type::Bytes { long: true }),
        "vu" | "vz" => Ok(Type::View),
        // Points in time with a zone, and lengths of time.
        time if time.starts_with("ts") || time.starts_with("tD") => integer(8, true),
        fixed if fixed.starts_with("w:") => match fixed[2..].parse() {
            Ok(width) => Ok(Type::Fixed(width)),
            Err(_) => Err(refused(fixed)),
        },
        "+s" => match schema.only_child() {
            Some(child) => Ok(Type::Only(Box::new(type_of(child)?))),
            None => Err(bad_type(
                "a table has several columns: pass the one that holds the keys, such as table['id']",
            )),
        },
        "e" | "f" | "g" => Err(bad_type(
            "a column of floats holds no keys: cast it to integers, or to the bytes that you mean",
        )),
        other => Err(refused(other)),
    }
}

fn refused(format: &str) -> PyErr {
    bad_type(format!(
        "Arrow columns of format {format:?} hold no keys: keys are integers, text, bytes, dates and times, also in \
         dictionaries; cast the column"
    ))
}

fn missing() -> PyErr {
    bad_type("the Arrow array lacks a buffer that its type has")
}

/// `len` values of an array from its row `start` on.
fn piece<'a>(array: &'a Array, kind: &Type, start: usize, len: usize) -> PyResult<Piece<'a>> {
    if len == 0 {
        // Its buffers may be missing.
        return Ok(Piece::new(Cells::Words(Cow::Borrowed(&[])), None));
    }
    let offset = usize::try_from(array.offset).unwrap_or(0) + start;
    let valid = validity(array, offset, len);
    let cells = match kind {
        Type::Null => {
            let none = Cells::Fixed { bytes: Cow::Owned(Vec::new()), width: 0, padded: false, len };
            return Ok(Piece::new(none, Some(vec![false; len])));
        }
        Type::Only(kind) => {
            let child = array.only_child().ok_or_else(missing)?;
            let mut piece = piece(child, kind, offset, len)?;
            piece.valid = both(piece.valid, valid);
            return Ok(piece);
        }
        Type::Dictionary { index, values } => {
            let words = words(array, index, offset, len)?;
            let source = array.dictionary().ok_or_else(missing)?;
            let size = usize::try_from(source.length).unwrap_or(0);
            return looked_up(&words, valid, self::piece(source, values, 0, size)?);
        }
        Type::Bit | Type::Integer { .. } => Cells::Words(words(array, kind, offset, len)?),
        Type::Bytes { long: false } => {
            let ends: Cow<'_, [i32]> = values(array, 1, offset, len + 1)?;
            Cells::Short {
                bytes: bytes(array, 2, ends.last().map_or(0, |end| i64::from(*end)))?,
                ends,
            }
        }
        Type::Bytes { long: true } => {
            let ends: Cow<'_, [i64]> = values(array, 1, offset, len + 1)?;
            Cells::Long { bytes: bytes(array, 2, ends.last().copied().unwrap_or(0))?.into(), ends }
        }
        Type::View => views(array, offset, len)?,
        Type::Fixed(width) => {
            let bytes = values(array, 1, offset * width, len * width)?;
            Cells::Fixed { bytes, width: *width, padded: false, len }
        }
    };
    Ok(Piece::new(cells, valid))
}

/// Which of the values are not null, if some are.
fn validity(array: &Array, offset: usize, len: usize) -> Option<Vec<bool>> {
    if array.null_count == 0 {
        return None;
    }
    let bits: &[u8] = array.values(0, 0, (offset + len).div_ceil(8))?;
    let valid: Vec<bool> =
        (offset..offset + len).map(|i| bits[i / 8] >> (i % 8) & 1 == 1).collect();
    (!valid.iter().all(|valid| *valid)).then_some(valid)
}

fn both(one: Option<Vec<bool>>, other: Option<Vec<bool>>) -> Option<Vec<bool>> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.iter().zip(&other).map(|(a, b)| *a && *b).collect()),
        (one, other) => one.or(other),
    }
}

/// The values of a buffer, copied if they are not aligned.
fn values<T: Plain>(
    array: &Array,
    number: usize,
    start: usize,
    len: usize,
) -> PyResult<Cow<'_, [T]>> {
    match array.values(number, start, len) {
        Some(values) => Ok(Cow::Borrowed(values)),
        None => array.unaligned(number, start, len).map(Cow::Owned).ok_or_else(missing),
    }
}

fn bytes(array: &Array, number: usize, len: i64) -> PyResult<&[u8]> {
    let len = usize::try_from(len).map_err(|_| missing())?;
    array.values(number, 0, len).ok_or_else(missing)
}

/// Integers as words.
fn words<'a>(array: &'a Array, kind: &Type, offset: usize, len: usize) -> PyResult<Cow<'a, [u64]>> {
    macro_rules! widened {
        ($type:ty as $wide:ty) => {{
            let narrow: Cow<'a, [$type]> = values(array, 1, offset, len)?;
            Ok(Cow::Owned(narrow.iter().map(|v| <$wide>::from(*v) as u64).collect()))
        }};
    }
    match kind {
        Type::Bit => {
            let bits: &[u8] = array.values(1, 0, (offset + len).div_ceil(8)).ok_or_else(missing)?;
            Ok((offset..offset + len).map(|i| u64::from(bits[i / 8] >> (i % 8) & 1)).collect())
        }
        Type::Integer { bytes: 1, signed: true } => widened!(i8 as i64),
        Type::Integer { bytes: 2, signed: true } => widened!(i16 as i64),
        Type::Integer { bytes: 4, signed: true } => widened!(i32 as i64),
        Type::Integer { bytes: 1, signed: false } => widened!(u8 as u64),
        Type::Integer { bytes: 2, signed: false } => widened!(u16 as u64),
        Type::Integer { bytes: 4, signed: false } => widened!(u32 as u64),
        // A signed integer of 64 bits is the word with the same bits.
        Type::Integer { .. } => values(array, 1, offset, len),
        _ => Err(bad_type("the indices of an Arrow dictionary must be integers")),
    }
}

/// The views, and the buffers they show: between the views and the lengths of the buffers.
fn views(array: &Array, offset: usize, len: usize) -> PyResult<Cells<'_>> {
    let views = values(array, 1, offset, len)?;
    let last = array.buffers().checked_sub(1).filter(|last| *last >= 2).ok_or_else(missing)?;
    let lengths: Cow<'_, [i64]> = values(array, last, 0, last - 2)?;
    let buffer = |(i, len): (usize, &i64)| bytes(array, 2 + i, *len);
    let buffers = lengths.iter().enumerate().map(buffer).collect::<PyResult<_>>()?;
    Ok(Cells::Views { views, buffers })
}

/// The values of a dictionary at these places. A null place has no value, nor has a place of a null.
fn looked_up<'a>(
    words: &[u64],
    valid: Option<Vec<bool>>,
    values: Piece<'a>,
) -> PyResult<Piece<'a>> {
    let is_valid = |i: usize| valid.as_ref().is_none_or(|valid| valid[i]);
    let place = |i: usize| if is_valid(i) { words[i] as usize } else { usize::MAX };
    let indices: Vec<usize> = (0..words.len()).map(place).collect();
    let there = |index: &usize| {
        *index < values.len() && values.valid.as_ref().is_none_or(|valid| valid[*index])
    };
    let known: Vec<bool> = indices.iter().map(there).collect();
    let valid = (!known.iter().all(|known| *known)).then_some(known);
    let cells = match values.cells {
        Cells::Words(words) => {
            let word = |index: &usize| words.get(*index).copied().unwrap_or(0);
            Cells::Words(indices.iter().map(word).collect())
        }
        cells => Cells::Indexed { indices, values: Box::new(cells) },
    };
    Ok(Piece::new(cells, valid))
}

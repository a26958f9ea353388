//! The keys of a column where they lie in memory.

use std::borrow::Cow;

use pyo3::PyResult;

use crate::errors::bad_value;
use crate::held::Chunk;

/// Keys one after the other, all of one layout.
pub enum Cells<'a> {
    /// Integers as the words that the library makes of them.
    Words(Cow<'a, [u64]>),
    /// Byte strings of one length; trailing zeros are not part of them if `padded`.
    Fixed { bytes: Cow<'a, [u8]>, width: usize, padded: bool, len: usize },
    /// Byte strings between ends of 32 bits.
    Short { ends: Cow<'a, [i32]>, bytes: &'a [u8] },
    /// Byte strings between ends of 64 bits.
    Long { ends: Cow<'a, [i64]>, bytes: Cow<'a, [u8]> },
    /// Byte strings that are short enough for the view itself, or lie in one of several buffers.
    Views { views: Cow<'a, [[u8; 16]]>, buffers: Vec<&'a [u8]> },
    /// Byte strings of a dictionary.
    Indexed { indices: Vec<usize>, values: Box<Cells<'a>> },
}

impl Cells<'_> {
    pub fn len(&self) -> usize {
        match self {
            Cells::Words(words) => words.len(),
            Cells::Fixed { len, .. } => *len,
            Cells::Short { ends, .. } => ends.len().saturating_sub(1),
            Cells::Long { ends, .. } => ends.len().saturating_sub(1),
            Cells::Views { views, .. } => views.len(),
            Cells::Indexed { indices, .. } => indices.len(),
        }
    }

    /// The bytes of key number `i`; `None` where the layout contradicts itself. Words have none.
    fn slice(&self, i: usize) -> Option<&[u8]> {
        match self {
            Cells::Words(_) => None,
            Cells::Fixed { bytes, width, padded, .. } => {
                let slice = bytes.get(i * width..(i + 1) * width)?;
                let end = slice.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
                Some(if *padded { &slice[..end] } else { slice })
            }
            Cells::Short { ends, bytes } => between(bytes, ends[i], ends[i + 1]),
            Cells::Long { ends, bytes } => between(bytes, ends[i], ends[i + 1]),
            Cells::Views { views, buffers } => viewed(&views[i], buffers),
            Cells::Indexed { indices, values } => {
                let index = indices[i];
                if index < values.len() { values.slice(index) } else { None }
            }
        }
    }

    /// Appends the bytes of the keys from `start` to `end`; false where the layout contradicts itself. Loops are compiled
    /// for the usual layouts.
    fn slices<'s>(&'s self, (start, end): (usize, usize), out: &mut Vec<&'s [u8]>) -> bool {
        match self {
            Cells::Short { ends, bytes } => all_between(bytes, &ends[start..=end], out),
            Cells::Long { ends, bytes } => all_between(bytes, &ends[start..=end], out),
            cells => (start..end).all(|i| cells.slice(i).map(|slice| out.push(slice)).is_some()),
        }
    }
}

/// The bytes between two ends.
#[inline(always)]
fn between<T: TryInto<usize>>(bytes: &[u8], start: T, end: T) -> Option<&[u8]> {
    bytes.get(start.try_into().ok()?..end.try_into().ok()?)
}

#[inline]
fn all_between<'a, T: TryInto<usize> + Copy>(
    bytes: &'a [u8],
    ends: &[T],
    out: &mut Vec<&'a [u8]>,
) -> bool {
    let mut fine = true;
    out.extend(ends.windows(2).map(|ends| {
        let slice = between(bytes, ends[0], ends[1]);
        fine &= slice.is_some();
        slice.unwrap_or_default()
    }));
    fine
}

/// What a view shows: its length, then its bytes if these are at most twelve, else four of them, the buffer and the place.
fn viewed<'a>(view: &'a [u8; 16], buffers: &[&'a [u8]]) -> Option<&'a [u8]> {
    let word = |at: usize| {
        let bytes: [u8; 4] = view[at..at + 4].try_into().unwrap_or_default();
        usize::try_from(i32::from_ne_bytes(bytes)).ok()
    };
    let len = word(0)?;
    if len <= 12 {
        return Some(&view[4..4 + len]);
    }
    let (buffer, start) = (word(8)?, word(12)?);
    buffers.get(buffer)?.get(start..start + len)
}

/// Cells, some of which may be null.
pub struct Piece<'a> {
    pub cells: Cells<'a>,
    /// Which of them are not null, where some may be.
    pub valid: Option<Vec<bool>>,
}

impl<'a> Piece<'a> {
    pub fn new(cells: Cells<'a>, valid: Option<Vec<bool>>) -> Self {
        Self { cells, valid }
    }

    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// Whether its keys are integers.
    pub fn is_words(&self) -> bool {
        matches!(self.cells, Cells::Words(_))
    }

    fn is_valid(&self, i: usize) -> bool {
        self.valid.as_ref().is_none_or(|valid| valid[i])
    }

    pub fn nulls(&self) -> usize {
        self.valid.as_ref().map_or(0, |valid| valid.iter().filter(|valid| !**valid).count())
    }

    /// Calls `f` with the keys from `start` to `end`, up to `many` at a time, and the number of the first. A null is the
    /// key of no bytes, or zero.
    pub fn chunks(
        &self,
        (start, end): (usize, usize),
        many: usize,
        mut f: impl FnMut(usize, Chunk<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        if let Cells::Words(words) = &self.cells {
            let mut at = start;
            for words in words[start..end].chunks(many) {
                f(at, Chunk::Words(words))?;
                at += words.len();
            }
            return Ok(());
        }
        let mut slices: Vec<&[u8]> = Vec::with_capacity(many.min(end - start));
        for first in (start..end).step_by(many) {
            let last = end.min(first + many);
            slices.clear();
            if self.valid.is_none() {
                if !self.cells.slices((first, last), &mut slices) {
                    return Err(broken());
                }
            } else {
                for i in first..last {
                    let slice = if self.is_valid(i) { self.cells.slice(i) } else { Some(&[][..]) };
                    slices.push(slice.ok_or_else(broken)?);
                }
            }
            f(first, Chunk::Slices(&slices))?;
        }
        Ok(())
    }

    /// Calls `f` with all keys but the nulls, up to `many` at a time, and the rows they come from.
    pub fn keys(
        &self,
        many: usize,
        mut f: impl FnMut(&dyn Fn(usize) -> usize, Chunk<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let Some(valid) = &self.valid else {
            return self.chunks((0, self.len()), many, |first, keys| f(&|i| first + i, keys));
        };
        let rows: Vec<usize> = (0..valid.len()).filter(|i| valid[*i]).collect();
        for rows in rows.chunks(many) {
            let row = |i: usize| rows[i];
            if let Cells::Words(words) = &self.cells {
                let words: Vec<u64> = rows.iter().map(|i| words[*i]).collect();
                f(&row, Chunk::Words(&words))?;
                continue;
            }
            let slice = |i: &usize| self.cells.slice(*i).ok_or_else(broken);
            let slices: Vec<&[u8]> = rows.iter().map(slice).collect::<PyResult<_>>()?;
            f(&row, Chunk::Slices(&slices))?;
        }
        Ok(())
    }
}

#[cold]
fn broken() -> pyo3::PyErr {
    bad_value(
        "the Arrow array contradicts itself: a value ends before it starts, or beyond its buffer",
    )
}

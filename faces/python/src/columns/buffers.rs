//! Columns in memory that objects share by the buffer protocol: NumPy arrays, `array.array`, memory views.

use std::borrow::Cow;

use pyo3::buffer::{ElementType, PyUntypedBuffer};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::cells::{Cells, Piece};
use crate::errors::{bad_type, bad_value};
use crate::keys::type_name;

/// Values of one width.
pub struct Buffer {
    bytes: Bytes,
    layout: Layout,
    len: usize,
}

/// Where the values are.
enum Bytes {
    /// In the object's own memory, in one piece.
    Shared(PyUntypedBuffer),
    /// In a copy.
    Copied(Vec<u8>),
}

/// What the values are.
#[derive(Clone, Copy)]
enum Layout {
    Integers {
        width: usize,
        signed: bool,
    },
    /// Integers of 64 bits, the lowest of which stands for no time.
    Times,
    /// Byte strings that end before trailing zeros, as those of NumPy do.
    Padded {
        width: usize,
    },
    Fixed {
        width: usize,
    },
    /// UTF-32 of the machine's byte order, padded with zeros.
    Text {
        width: usize,
    },
}

/// What NumPy has in place of a missing time.
const NOT_A_TIME: u64 = 1 << 63;

impl Buffer {
    /// The values of an object with the buffer protocol; `None` if it has none, or if that is one key.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Ok(buffer) = PyUntypedBuffer::get(object) else { return Ok(None) };
        one_row(buffer.dimensions())?;
        let layout = match ElementType::from_format(buffer.format()) {
            ElementType::SignedInteger { bytes } => Layout::Integers { width: bytes, signed: true },
            ElementType::UnsignedInteger { bytes } => {
                Layout::Integers { width: bytes, signed: false }
            }
            ElementType::Bool => Layout::Integers { width: 1, signed: false },
            ElementType::Float { .. } => return Err(floats()),
            ElementType::Unknown => {
                let format = buffer.format().to_string_lossy().into_owned();
                return Err(bad_type(format!("a buffer of format {format:?} holds no keys")));
            }
        };
        let foreign = matches!(buffer.format().to_bytes().first(), Some(b'>' | b'!'));
        if foreign != cfg!(target_endian = "big") && foreign {
            return Err(bad_type(
                "a buffer in big-endian byte order: convert it, as with numpy's astype",
            ));
        }
        Self::new(object, buffer, layout).map(Some)
    }

    /// The values of a NumPy array; `None` if these are objects.
    pub fn of_numpy(array: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        one_row(array.getattr("ndim")?.extract()?)?;
        let dtype = array.getattr("dtype")?;
        let (kind, width): (String, usize) =
            (dtype.getattr("kind")?.extract()?, dtype.getattr("itemsize")?.extract()?);
        let native = match dtype.getattr("isnative")?.extract()? {
            true => array.clone(),
            false => {
                array.call_method1("astype", (dtype.call_method1("newbyteorder", ("=",))?,))?
            }
        };
        let layout = match kind.as_str() {
            "i" => Layout::Integers { width, signed: true },
            "u" | "b" => Layout::Integers { width, signed: false },
            "M" | "m" => Layout::Times,
            "S" => Layout::Padded { width },
            "V" if dtype.getattr("names")?.is_none() => Layout::Fixed { width },
            "U" => Layout::Text { width },
            "O" | "T" => return Ok(None),
            "f" | "c" => return Err(floats()),
            _ => return Err(bad_type(format!("an array of {} holds no keys", dtype.str()?))),
        };
        let mut whole = match layout {
            Layout::Times => native.call_method1("view", ("i8",))?,
            _ => native,
        };
        if !whole
            .getattr("flags")?
            .get_item("CARRAY_RO")
            .or_else(|_| carray(&whole))?
            .is_truthy()?
        {
            whole = whole.call_method1("copy", ("C",))?;
        }
        let len = whole.len()?;
        if len == 0 || width == 0 {
            return Ok(Some(Self { bytes: Bytes::Copied(Vec::new()), layout, len }));
        }
        let buffer = match PyUntypedBuffer::get(&whole) {
            Ok(buffer) => buffer,
            // Such as one of void.
            Err(_) => {
                let copied: Vec<u8> = whole.call_method0("tobytes")?.extract()?;
                return Ok(Some(Self { bytes: Bytes::Copied(copied), layout, len }));
            }
        };
        Self::new(&whole, buffer, layout).map(Some)
    }

    fn new(object: &Bound<'_, PyAny>, buffer: PyUntypedBuffer, layout: Layout) -> PyResult<Self> {
        let len = buffer.item_count();
        let bytes = if buffer.is_c_contiguous() {
            Bytes::Shared(buffer)
        } else {
            let view = object.py().import("builtins")?.getattr("memoryview")?.call1((object,))?;
            let copy = view.call_method0("tobytes")?;
            Bytes::Copied(copy.cast::<PyBytes>()?.as_bytes().to_vec())
        };
        Ok(Self { bytes, layout, len })
    }

    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Copied(bytes) => bytes,
            Bytes::Shared(buffer) if self.len == 0 => {
                debug_assert_eq!(buffer.len_bytes(), 0);
                &[]
            }
            // SAFETY: the buffer is in one piece of so many bytes, and the object cannot move or free it while it is
            // shared. Who writes to an array while another thread reads it gets the answers of the old or the new
            // values, as from any function of NumPy: no value is trusted, and none is read as an address or a length.
            Bytes::Shared(buffer) => unsafe {
                std::slice::from_raw_parts(buffer.buf_ptr().cast::<u8>(), buffer.len_bytes())
            },
        }
    }

    /// The keys.
    pub fn piece(&self) -> PyResult<Piece<'_>> {
        let (bytes, len) = (self.bytes(), self.len);
        let cells = match self.layout {
            Layout::Integers { width, signed } => Cells::Words(words(bytes, width, signed)),
            Layout::Times => {
                let words = words(bytes, 8, true);
                let valid: Vec<bool> = words.iter().map(|word| *word != NOT_A_TIME).collect();
                let valid = (!valid.iter().all(|valid| *valid)).then_some(valid);
                return Ok(Piece::new(Cells::Words(words), valid));
            }
            Layout::Padded { width } => {
                Cells::Fixed { bytes: Cow::Borrowed(bytes), width, padded: true, len }
            }
            Layout::Fixed { width } => {
                Cells::Fixed { bytes: Cow::Borrowed(bytes), width, padded: false, len }
            }
            Layout::Text { width } => texts(bytes, width, len)?,
        };
        Ok(Piece::new(cells, None))
    }
}

/// Whether an array is in one aligned piece, where NumPy has no flag of that name.
fn carray<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let flags = array.getattr("flags")?;
    let aligned = flags.getattr("aligned")?;
    if aligned.is_truthy()? { flags.getattr("c_contiguous") } else { Ok(aligned) }
}

fn one_row(dimensions: usize) -> PyResult<()> {
    if dimensions == 1 {
        return Ok(());
    }
    Err(bad_type(format!(
        "an array of {dimensions} dimensions: pass one row of keys, such as array.ravel(), or a single key to add"
    )))
}

pub fn floats() -> PyErr {
    bad_type(
        "an array of floats holds no keys, since NaN equals nothing: convert it, as array.astype('int64'), or take \
         its bits, as array.view('uint64')",
    )
}

/// Integers as words: as they are if they have eight bytes each and lie where such may lie.
fn words(bytes: &[u8], width: usize, signed: bool) -> Cow<'_, [u64]> {
    macro_rules! widened {
        ($type:ty as $wide:ty) => {{
            let (narrow, _) = bytes.as_chunks::<{ size_of::<$type>() }>();
            narrow.iter().map(|v| <$wide>::from(<$type>::from_ne_bytes(*v)) as u64).collect()
        }};
    }
    match (width, signed) {
        (1, true) => widened!(i8 as i64),
        (2, true) => widened!(i16 as i64),
        (4, true) => widened!(i32 as i64),
        (1, false) => widened!(u8 as u64),
        (2, false) => widened!(u16 as u64),
        (4, false) => widened!(u32 as u64),
        _ => {
            let pointer = bytes.as_ptr().cast::<u64>();
            if !pointer.is_aligned() || bytes.is_empty() {
                return widened!(u64 as u64);
            }
            // SAFETY: all bits are words, the pointer is aligned, and so many whole words are there.
            Cow::Borrowed(unsafe { std::slice::from_raw_parts(pointer, bytes.len() / 8) })
        }
    }
}

/// Texts as UTF-8.
fn texts(bytes: &[u8], width: usize, len: usize) -> PyResult<Cells<'static>> {
    let (mut utf8, mut ends) = (String::new(), vec![0]);
    let mut push = |text: &[u8]| -> PyResult<()> {
        let (points, _) = text.as_chunks::<4>();
        let last = points.iter().rposition(|point| *point != [0; 4]).map_or(0, |at| at + 1);
        for point in &points[..last] {
            let character = char::from_u32(u32::from_ne_bytes(*point)).ok_or_else(|| {
                bad_value(
                    "a text with a lone surrogate has no UTF-8 and is no key: encode the array to bytes first",
                )
            })?;
            utf8.push(character);
        }
        ends.push(utf8.len() as i64);
        Ok(())
    };
    if width == 0 {
        (0..len).try_for_each(|_| push(&[]))?;
    } else {
        bytes.chunks(width).try_for_each(&mut push)?;
    }
    Ok(Cells::Long { ends: Cow::Owned(ends), bytes: Cow::Owned(utf8.into_bytes()) })
}

/// What a single key says that came where many should.
pub fn one_key(object: &Bound<'_, PyAny>) -> PyErr {
    bad_type(format!(
        "a {} is one key: pass a list of keys, or use the call for a single one",
        type_name(object)
    ))
}

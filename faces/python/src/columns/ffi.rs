//! The C structs of Arrow's data interface, and what owns them. Nothing of them is known outside `columns`.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{self, NonNull};

use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::errors::bad_type;

/// A type, as the other library describes it.
#[repr(C)]
pub struct Schema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut Schema,
    pub dictionary: *mut Schema,
    pub release: Option<unsafe extern "C" fn(*mut Schema)>,
    pub private_data: *mut c_void,
}

/// The buffers of an array.
#[repr(C)]
pub struct Array {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut Array,
    pub dictionary: *mut Array,
    pub release: Option<unsafe extern "C" fn(*mut Array)>,
    pub private_data: *mut c_void,
}

/// Arrays of one type that come one after the other.
#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

impl Schema {
    const EMPTY: Self = Self {
        format: ptr::null(),
        name: ptr::null(),
        metadata: ptr::null(),
        flags: 0,
        n_children: 0,
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: None,
        private_data: ptr::null_mut(),
    };

    /// Its format, such as `l` for integers of 64 bits.
    pub fn format(&self) -> &str {
        if self.format.is_null() {
            return "";
        }
        // SAFETY: a schema that was not released has a format that ends with a zero and lives as long as it.
        unsafe { CStr::from_ptr(self.format) }.to_str().unwrap_or("")
    }

    /// The type of the values, if this is that of a dictionary.
    pub fn dictionary(&self) -> Option<&Schema> {
        // SAFETY: null, or a schema that lives as long as this one.
        unsafe { self.dictionary.as_ref() }
    }

    /// The type of its only field, if it has only one.
    pub fn only_child(&self) -> Option<&Schema> {
        if self.n_children != 1 || self.children.is_null() {
            return None;
        }
        // SAFETY: there is one child, and it lives as long as this schema.
        unsafe { (*self.children).as_ref() }
    }
}

impl Array {
    const EMPTY: Self = Self {
        length: 0,
        null_count: 0,
        offset: 0,
        n_buffers: 0,
        n_children: 0,
        buffers: ptr::null_mut(),
        children: ptr::null_mut(),
        dictionary: ptr::null_mut(),
        release: None,
        private_data: ptr::null_mut(),
    };

    /// The values of a dictionary.
    pub fn dictionary(&self) -> Option<&Array> {
        // SAFETY: null, or an array that lives as long as this one.
        unsafe { self.dictionary.as_ref() }
    }

    /// The only field of a table with one column.
    pub fn only_child(&self) -> Option<&Array> {
        if self.n_children != 1 || self.children.is_null() {
            return None;
        }
        // SAFETY: there is one child, and it lives as long as this array.
        unsafe { (*self.children).as_ref() }
    }

    /// The number of buffers.
    pub fn buffers(&self) -> usize {
        if self.buffers.is_null() { 0 } else { usize::try_from(self.n_buffers).unwrap_or(0) }
    }

    fn buffer(&self, number: usize) -> *const c_void {
        if number >= self.buffers() {
            return ptr::null();
        }
        // SAFETY: there are so many buffers.
        unsafe { *self.buffers.add(number) }
    }

    /// The `len` values of a buffer from `start` on; `None` where there is no buffer. Values that are not aligned
    /// are none either: [`Array::unaligned`] copies them.
    pub fn values<T: Plain>(&self, number: usize, start: usize, len: usize) -> Option<&[T]> {
        let values = self.buffer(number).cast::<T>();
        if len == 0 {
            return Some(&[]);
        }
        if values.is_null() || !values.is_aligned() {
            return None;
        }
        // SAFETY: the format promises a buffer of at least `start + len` values of this type, which is not written to
        // and lives until the array is released; it is aligned.
        Some(unsafe { std::slice::from_raw_parts(values.add(start), len) })
    }

    /// A copy of the `len` values of a buffer from `start` on, wherever they lie in memory.
    pub fn unaligned<T: Plain>(&self, number: usize, start: usize, len: usize) -> Option<Vec<T>> {
        let values = self.buffer(number).cast::<T>();
        if values.is_null() {
            return None;
        }
        // SAFETY: as in `values`, but for the alignment, which reads of this kind do not need.
        let value = |i: usize| unsafe { values.add(start + i).read_unaligned() };
        Some((0..len).map(value).collect())
    }
}

/// Types of which all bits are values.
pub trait Plain: Copy {}

macro_rules! plain {
    ($($type:ty)*) => { $(impl Plain for $type {})* };
}

plain!(u8 u16 u32 u64 i8 i16 i32 i64 [u8; 16]);

/// A schema that is released when it is dropped.
#[repr(transparent)]
pub struct OwnSchema(Schema);

/// An array that is released when it is dropped.
#[repr(transparent)]
pub struct OwnArray(Array);

/// A stream that is released when it is dropped.
struct OwnStream(Stream);

// SAFETY: Arrow's data interface lets any thread read an array, and release it.
unsafe impl Send for OwnArray {}
// SAFETY: nothing of an array changes until it is released.
unsafe impl Sync for OwnArray {}

impl std::ops::Deref for OwnSchema {
    type Target = Schema;

    fn deref(&self) -> &Schema {
        &self.0
    }
}

impl std::ops::Deref for OwnArray {
    type Target = Array;

    fn deref(&self) -> &Array {
        &self.0
    }
}

impl Drop for OwnSchema {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it was not released, and belongs to us.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl Drop for OwnArray {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it was not released, and belongs to us.
            unsafe { release(&raw mut self.0) }
        }
    }
}

impl Drop for OwnStream {
    fn drop(&mut self) {
        if let Some(release) = self.0.release {
            // SAFETY: it was not released, and belongs to us.
            unsafe { release(&raw mut self.0) }
        }
    }
}

/// The struct in a capsule of that name.
fn inside<T>(capsule: &Bound<'_, PyAny>, name: &CStr) -> PyResult<NonNull<T>> {
    let capsule = capsule.cast::<PyCapsule>()?;
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

fn taken() -> PyErr {
    bad_type("the Arrow data was taken already: pass the array itself, not its capsule")
}

/// Takes a type and its array out of their capsules.
pub fn take_array(
    schema: &Bound<'_, PyAny>,
    array: &Bound<'_, PyAny>,
) -> PyResult<(OwnSchema, OwnArray)> {
    let schema = inside::<Schema>(schema, c"arrow_schema")?;
    let array = inside::<Array>(array, c"arrow_array")?;
    // SAFETY: a capsule of that name holds that struct; who empties it owns what was in it.
    let (schema, array) = unsafe {
        (
            OwnSchema(ptr::replace(schema.as_ptr(), Schema::EMPTY)),
            OwnArray(ptr::replace(array.as_ptr(), Array::EMPTY)),
        )
    };
    if schema.release.is_none() || array.release.is_none() {
        return Err(taken());
    }
    Ok((schema, array))
}

/// Takes all arrays of a stream out of its capsule, and their type.
pub fn take_stream(capsule: &Bound<'_, PyAny>) -> PyResult<(OwnSchema, Vec<OwnArray>)> {
    let stream = inside::<Stream>(capsule, c"arrow_array_stream")?;
    let empty = Stream {
        get_schema: None,
        get_next: None,
        get_last_error: None,
        release: None,
        private_data: ptr::null_mut(),
    };
    // SAFETY: a capsule of that name holds that struct; who empties it owns what was in it.
    let mut stream = OwnStream(unsafe { ptr::replace(stream.as_ptr(), empty) });
    let (Some(get_schema), Some(get_next)) = (stream.0.get_schema, stream.0.get_next) else {
        return Err(taken());
    };
    let mut schema = OwnSchema(Schema::EMPTY);
    // SAFETY: the stream was not released; it writes a schema to the place it is given.
    let code = unsafe { get_schema(&raw mut stream.0, &raw mut schema.0) };
    stream.check(code)?;
    let mut arrays = Vec::new();
    loop {
        let mut array = OwnArray(Array::EMPTY);
        // SAFETY: as above, an array; one that is released marks the end.
        let code = unsafe { get_next(&raw mut stream.0, &raw mut array.0) };
        stream.check(code)?;
        if array.release.is_none() {
            return Ok((schema, arrays));
        }
        arrays.push(array);
    }
}

impl OwnStream {
    fn check(&mut self, code: c_int) -> PyResult<()> {
        if code == 0 {
            return Ok(());
        }
        let why = self.0.get_last_error.map_or(ptr::null(), |last| {
            // SAFETY: the stream was not released.
            unsafe { last(&raw mut self.0) }
        });
        if why.is_null() {
            return Err(bad_type(format!("the Arrow stream failed with code {code}")));
        }
        // SAFETY: the message ends with a zero, and lives until the stream is used again.
        let why = unsafe { CStr::from_ptr(why) }.to_string_lossy();
        Err(bad_type(format!("the Arrow stream failed: {why}")))
    }
}

/// What an array that we made points to.
struct Owned {
    _buffers: Vec<Option<Vec<u8>>>,
    pointers: Vec<*const c_void>,
}

/// An array made of buffers for another library, which releases it.
pub fn give_array(
    py: Python<'_>,
    format: &'static CStr,
    (length, nulls): (usize, usize),
    buffers: Vec<Option<Vec<u8>>>,
) -> PyResult<(Py<PyAny>, Py<PyAny>)> {
    let pointer = |buffer: &Option<Vec<u8>>| {
        buffer.as_ref().map_or(ptr::null(), |buffer| buffer.as_ptr().cast::<c_void>())
    };
    let pointers = buffers.iter().map(pointer).collect();
    let mut owned = Box::new(Owned { _buffers: buffers, pointers });
    let array = Array {
        length: length as i64,
        null_count: nulls as i64,
        n_buffers: owned.pointers.len() as i64,
        buffers: owned.pointers.as_mut_ptr(),
        release: Some(release_array),
        private_data: Box::into_raw(owned).cast(),
        ..Array::EMPTY
    };
    let schema = Schema {
        format: format.as_ptr(),
        name: c"".as_ptr(),
        // Its values may be null.
        flags: 2,
        release: Some(release_schema),
        ..Schema::EMPTY
    };
    let schema = PyCapsule::new_with_value(py, OwnSchema(schema), c"arrow_schema")?;
    let array = PyCapsule::new_with_value(py, OwnArray(array), c"arrow_array")?;
    Ok((schema.into_any().unbind(), array.into_any().unbind()))
}

// SAFETY: the schemas that are sent are our own, which consist of constants.
unsafe impl Send for OwnSchema {}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: whoever releases a schema has it. Nothing of it was allocated.
    unsafe { (*schema).release = None }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: whoever releases an array has it; its data is the box that `give_array` made.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<Owned>()));
        (*array).release = None;
    }
}

//! Where cells live: 64-bit words on the heap, in anonymous pages, or in a mapped file.
//!
//! | size or origin | storage | why |
//! |---|---|---|
//! | below [`HUGE_FROM`] | heap, 64-byte aligned | a block is a cache line |
//! | from there on | anonymous pages, huge pages asked for | fewer TLB misses, zeroed lazily |
//! | an opened file | the file's own pages, private | opens in no time; the system copies the pages that are written to |
//!
//! Reading and writing is one pointer whatever the storage, so the hot paths have no branch on it.
#![allow(unsafe_code)]

use std::fmt;
#[cfg(feature = "mmap")]
use std::fs::File;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[cfg(feature = "mmap")]
use memmap2::{MmapMut, MmapOptions};

use crate::error::{Error, Kind, Result};
#[cfg(feature = "mmap")]
use crate::sys;

/// Arrays of at least this size are allocated in pages, and huge pages are requested for them: at least half of one
/// is then in use.
pub const HUGE_FROM: usize = HUGE_PAGE / 2;

/// A huge page of the common processors. Mappings are whole multiples of it, so that the system aligns them
/// to it and the last part gets one, too.
const HUGE_PAGE: usize = 2 << 20;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Whether all arrays come from the global allocator.
static ALLOCATOR: AtomicBool = AtomicBool::new(false);

/// Takes all arrays that are made from now on from the global allocator, large ones too, instead of mapping
/// pages for them: for a library inside a process that accounts for its memory, such as a database server.
/// Large filters then have no huge pages unless the allocator gives some.
pub fn use_global_allocator(yes: bool) {
    ALLOCATOR.store(yes, Ordering::Relaxed);
}

/// Whether an array of so many bytes gets pages of its own.
#[cfg(feature = "mmap")]
fn wants_pages(bytes: usize) -> bool {
    bytes >= HUGE_FROM && !ALLOCATOR.load(Ordering::Relaxed)
}

/// Refuses an array with more bits than the system can provide, before anything is built.
///
/// Asking for memory and giving it back at once costs nothing, since none is touched.
pub fn check_room(bits: u64) -> Result<()> {
    let words = usize::try_from(bits.div_ceil(64)).unwrap_or(usize::MAX);
    if words < HUGE_FROM / 8 { Ok(()) } else { Words::try_zeroed(words).map(drop) }
}

fn no_room(words: usize) -> Error {
    Error::new(
        Kind::OutOfMemory,
        format!(
            "the filter needs {} bytes, more than this machine provides: use fewer {{items}}, a higher {{rate}} or \
            less {{memory}}",
            words as u128 * 8
        ),
    )
}

/// Who gives the memory back: only ever dropped.
enum Owner {
    Heap(#[expect(dead_code)] Vec<Line>),
    #[cfg(feature = "mmap")]
    Pages(#[expect(dead_code)] MmapMut),
    File(#[expect(dead_code)] Mapping),
}

/// Words as the bytes of a file; `None` where the machine's order of bytes is another one.
pub(crate) fn bytes_of(words: &[u64]) -> Option<&[u8]> {
    // SAFETY: a word is eight bytes, whatever they are, and bytes need no alignment.
    let bytes = || unsafe { std::slice::from_raw_parts(words.as_ptr().cast(), size_of_val(words)) };
    cfg!(target_endian = "little").then(bytes)
}

/// A file's pages, privately: the system copies those that are written to, so that the file is never changed.
/// Without the feature `mmap` there are none.
#[derive(Clone, Debug)]
pub struct Mapping {
    #[cfg(feature = "mmap")]
    map: Arc<MmapMut>,
    #[cfg(not(feature = "mmap"))]
    map: Arc<std::convert::Infallible>,
}

impl Mapping {
    /// Maps a file; `None` if this build has no mappings.
    #[cfg(feature = "mmap")]
    pub(crate) fn of(file: &File) -> std::io::Result<Option<Self>> {
        let mut options = MmapOptions::new();
        sys::reserve_nothing(&mut options);
        // SAFETY: a file that another process truncates meanwhile raises SIGBUS, and one that it rewrites
        // changes answers; both are documented at `Access`.
        let map = unsafe { options.map_copy(file) }?;
        Ok(Some(Self { map: Arc::new(map) }))
    }

    /// Maps a file; `None` if this build has no mappings.
    #[cfg(not(feature = "mmap"))]
    pub(crate) fn of(_file: &std::fs::File) -> std::io::Result<Option<Self>> {
        Ok(None)
    }

    /// The address of the first byte; not that of a borrowed slice, which must not be written to.
    fn start(&self) -> *const u8 {
        #[cfg(feature = "mmap")]
        return self.map.as_ptr();
        #[cfg(not(feature = "mmap"))]
        match *self.map {}
    }

    /// The file's bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        #[cfg(feature = "mmap")]
        return &self.map;
        #[cfg(not(feature = "mmap"))]
        match *self.map {}
    }
}

/// An array of 64-bit words, 64-byte aligned.
pub struct Words {
    start: *mut u64,
    len: usize,
    #[expect(dead_code, reason = "owns the memory that `start` points into")]
    owner: Owner,
    huge: bool,
}

// SAFETY: `Words` owns its memory exclusively: heap, anonymous pages, or a part of a private mapping that no
// other `Words` has and nobody reads otherwise. Moving it or sharing `&Words` between threads is as safe as
// for a `Vec<u64>`.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

impl Words {
    /// `len` zero words.
    ///
    /// # Panics
    /// If there is no room for them; [`Words::try_zeroed`] says so instead.
    pub fn zeroed(len: usize) -> Self {
        match Self::try_zeroed(len) {
            Ok(words) => words,
            Err(e) => panic!("{e}"),
        }
    }

    /// `len` zero words, or an error where there is no room for them.
    pub fn try_zeroed(len: usize) -> Result<Self> {
        // No object may be larger than `isize::MAX` bytes.
        let bytes = len.checked_mul(8).filter(|bytes| *bytes <= isize::MAX as usize - HUGE_PAGE);
        let bytes = bytes.ok_or_else(|| no_room(len))?;
        #[cfg(feature = "mmap")]
        if wants_pages(bytes) {
            return Self::pages(len, bytes).map_err(|_| no_room(len));
        }
        let _ = bytes;
        let mut lines = Vec::new();
        lines.try_reserve_exact(len.div_ceil(8)).map_err(|_| no_room(len))?;
        lines.resize(len.div_ceil(8), Line([0; 8]));
        let start = lines.as_mut_ptr().cast();
        Ok(Self { start, len, owner: Owner::Heap(lines), huge: false })
    }

    #[cfg(feature = "mmap")]
    fn pages(len: usize, bytes: usize) -> std::io::Result<Self> {
        let mut map = MmapMut::map_anon(bytes.next_multiple_of(HUGE_PAGE))?;
        // Advice may be refused (no huge pages on this system); the array works all the same.
        let huge = sys::advise_huge(&map);
        // A small array is made to be filled at once, so its pages are faulted in here and not by the first
        // keys; a large one may stay empty for long.
        if map.len() <= 2 * HUGE_PAGE {
            map.iter_mut().step_by(HUGE_PAGE).for_each(|byte| *byte = 0);
        }
        let start = map.as_mut_ptr().cast();
        Ok(Self { start, len, owner: Owner::Pages(map), huge })
    }

    /// Words from little-endian bytes, copied.
    pub fn from_le_bytes(bytes: &[u8]) -> Self {
        let mut words = Self::zeroed(bytes.len() / 8);
        for (word, chunk) in words.make_mut().iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(chunk.try_into().unwrap_or_default());
        }
        words
    }

    /// The words at byte `offset` of a mapped file, used in place where the layout allows it.
    ///
    /// # Safety
    /// The mapping is private, nobody else is given these words, and nobody reads them through `map` as long
    /// as they live.
    pub(crate) unsafe fn in_file(map: &Mapping, offset: usize, len: usize) -> Self {
        let bytes = &map.bytes()[offset..offset + len * 8];
        // Not from `bytes`: what is borrowed to be read must not be written.
        let start = map.start().wrapping_add(offset).cast_mut().cast::<u64>();
        if cfg!(target_endian = "big") || !start.is_aligned() {
            return Self::from_le_bytes(bytes);
        }
        Self { start, len, owner: Owner::File(map.clone()), huge: false }
    }

    /// The words, writable.
    #[inline]
    pub fn make_mut(&mut self) -> &mut [u64] {
        // SAFETY: the memory is valid for `len` words and exclusively ours.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }

    /// The words as an array of smaller fields, lowest first; `None` where the machine's order of bytes
    /// is not the file's.
    #[inline]
    pub(crate) fn fields<T: Field>(&self) -> Option<&[T]> {
        // SAFETY: any bits are a `T`, which divides a word and is aligned less strictly.
        let fields = || unsafe {
            std::slice::from_raw_parts(self.start.cast(), self.len * (8 / size_of::<T>()))
        };
        cfg!(target_endian = "little").then(fields)
    }

    /// [`Words::fields`] to be written.
    #[inline]
    pub(crate) fn fields_mut<T: Field>(&mut self) -> Option<&mut [T]> {
        cfg!(target_endian = "little").then(|| fields_mut(self.make_mut()))
    }

    /// Whether huge pages were requested, and the system accepted the advice.
    pub fn huge(&self) -> bool {
        self.huge
    }
}

/// Words as an array of smaller fields, in the machine's order of bytes.
#[inline]
pub(crate) fn fields_mut<T: Field>(words: &mut [u64]) -> &mut [T] {
    let (start, len) = (words.as_mut_ptr(), words.len() * (8 / size_of::<T>()));
    // SAFETY: any bits are a `T`, which divides a word and is aligned less strictly, and the words are borrowed mutably.
    unsafe { std::slice::from_raw_parts_mut(start.cast(), len) }
}

impl Deref for Words {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        // SAFETY: `start` is valid for reads of `len` words as long as `owner` lives.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

/// Integers that divide a word.
pub(crate) trait Field: sealed::Sealed {}
impl Field for u8 {}
impl Field for u16 {}

mod sealed {
    /// What may be read out of any bits is decided here.
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for u16 {}
}

/// The same memory for concurrent use: every access is atomic, plain ones are out of reach.
#[derive(Debug)]
pub struct AtomicWords {
    words: Words,
}

impl AtomicWords {
    /// Takes the words over.
    pub fn new(words: Words) -> Self {
        Self { words }
    }

    /// The words.
    #[inline]
    pub fn get(&self) -> &[AtomicU64] {
        // SAFETY: `AtomicU64` has the size and alignment of `u64`; the memory is owned and writable and,
        // `words` being private, never accessed other than atomically.
        unsafe { std::slice::from_raw_parts(self.words.start.cast(), self.words.len) }
    }

    /// Gives the words back to plain use.
    pub fn into_inner(self) -> Words {
        self.words
    }
}

impl From<&[u64]> for Words {
    fn from(words: &[u64]) -> Self {
        let mut copy = Self::zeroed(words.len());
        copy.make_mut().copy_from_slice(words);
        copy
    }
}

impl Clone for Words {
    fn clone(&self) -> Self {
        Self::from(&self[..])
    }
}

impl PartialEq for Words {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.len)
    }
}

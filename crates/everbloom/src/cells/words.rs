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
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use memmap2::{Advice, MmapMut};

use crate::error::{Error, Result};

/// Arrays from this many bytes on are allocated in pages and ask for huge ones: half of one is in use then
/// at least.
pub const HUGE_FROM: usize = HUGE_PAGE / 2;

/// A huge page of the common processors. Mappings are whole multiples of it, so that the system aligns them
/// to it and the last part gets one, too.
const HUGE_PAGE: usize = 2 << 20;

/// One cache line.
#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u64; 8]);

/// Refuses an array of so many bits that the system would not give them, before anything is built.
///
/// Asking for pages and giving them back at once costs nothing, since none is touched.
pub fn check_room(bits: u64) -> Result<()> {
    let bytes = usize::try_from(bits / 8).unwrap_or(usize::MAX);
    if bytes < HUGE_FROM || MmapMut::map_anon(bytes).is_ok() {
        return Ok(());
    }
    Err(Error::parameter(format!(
        "the filter needs {bytes} bytes, which this machine does not give: \
         ask for fewer items, a higher rate or less --memory"
    )))
}

/// Who gives the memory back: only ever dropped.
enum Owner {
    Heap(#[expect(dead_code)] Vec<Line>),
    Pages(#[expect(dead_code)] MmapMut),
    File(#[expect(dead_code)] Arc<MmapMut>),
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
    pub fn zeroed(len: usize) -> Self {
        if len.saturating_mul(8) >= HUGE_FROM
            && let Ok(words) = Self::pages(len)
        {
            return words;
        }
        let mut lines = vec![Line([0; 8]); len.div_ceil(8)];
        let start = lines.as_mut_ptr().cast();
        Self { start, len, owner: Owner::Heap(lines), huge: false }
    }

    fn pages(len: usize) -> std::io::Result<Self> {
        let mut map = MmapMut::map_anon((len * 8).next_multiple_of(HUGE_PAGE))?;
        // Advice may be refused (no huge pages on this system); the array works all the same.
        let huge = map.advise(Advice::HugePage).is_ok();
        // A small array is made to be filled at once, so its pages are asked for here and not by the first
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
    pub unsafe fn in_file(map: &Arc<MmapMut>, offset: usize, len: usize) -> Self {
        let bytes = &map[offset..offset + len * 8];
        // Not from `bytes`: what is borrowed to be read must not be written.
        let start = map.as_ptr().wrapping_add(offset).cast_mut().cast::<u64>();
        if cfg!(target_endian = "big") || !start.is_aligned() {
            return Self::from_le_bytes(bytes);
        }
        Self { start, len, owner: Owner::File(Arc::clone(map)), huge: false }
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
        let words = self.make_mut();
        let (start, len) = (words.as_mut_ptr(), words.len() * (8 / size_of::<T>()));
        // SAFETY: as above, and the words are borrowed mutably.
        let fields = || unsafe { std::slice::from_raw_parts_mut(start.cast(), len) };
        cfg!(target_endian = "little").then(fields)
    }

    /// Whether huge pages were asked for, and the system took the advice.
    pub fn huge(&self) -> bool {
        self.huge
    }
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

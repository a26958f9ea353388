//! Where cells live: arrays of words, cache lines and pages.

mod prefetch;
mod words;

pub(crate) use prefetch::{prefetch, prefetch_to_write};
pub use words::{AtomicWords, HUGE_FROM, Words, check_room, use_global_allocator};
pub(crate) use words::{Mapping, bytes_of, fields_mut};

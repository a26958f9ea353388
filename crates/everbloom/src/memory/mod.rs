//! Where cells live: arrays of words, cache lines and pages.

mod prefetch;
mod words;

pub(crate) use prefetch::{prefetch, prefetch_to_write};
pub(crate) use words::Mapping;
pub use words::{AtomicWords, HUGE_FROM, Words, check_room, use_global_allocator};

//! Streams without end: filters that forget.

pub mod stable;

pub use stable::Stable;

//! Streams without end: filters that forget.

//! As few bits as possible, for sets that are known beforehand; and how few are possible at all.

pub mod lower_bound;

pub use lower_bound::times_bound;

//! As few bits as possible, for sets that are known beforehand; and how few are possible at all.

pub mod lower_bound;
pub mod perfect_hash;

pub use lower_bound::times_bound;
pub use perfect_hash::PerfectHash;

//! Is this key in the set? Filters that answer that and little else.

pub mod blocked;
pub mod bloom;
pub mod partitioned;

pub use blocked::BlockedBloom;
pub use bloom::{AtomicBloom, Bloom};
pub use partitioned::PartitionedBloom;

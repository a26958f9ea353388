//! Is this key in the set? Filters that answer that and little else.

pub mod blocked;
pub mod bloom;
pub mod egh;
pub mod generalized;
pub mod partitioned;

pub use blocked::BlockedBloom;
pub use bloom::{AtomicBloom, Bloom};
pub use egh::Egh;
pub use generalized::Generalized;
pub use partitioned::PartitionedBloom;

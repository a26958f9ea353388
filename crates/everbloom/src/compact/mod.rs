//! The fewest bits: sets that are built once, or packed for the wire, the file and the memory; and the lower bound.

pub mod binary_fuse;
pub mod ribbon;

pub use binary_fuse::BinaryFuse;
pub use ribbon::Ribbon;

#[cfg(feature = "compact")]
pub mod compacted;
#[cfg(feature = "compact")]
pub mod compressed;
#[cfg(feature = "compact")]
pub mod golomb;
#[cfg(feature = "compact")]
pub mod lower_bound;
#[cfg(feature = "compact")]
pub mod memory_optimized;
#[cfg(feature = "compact")]
pub mod perfect_hash;

#[cfg(feature = "compact")]
pub use compacted::Compacted;
#[cfg(feature = "compact")]
pub use compressed::Compressed;
#[cfg(feature = "compact")]
pub use golomb::Golomb;
#[cfg(feature = "compact")]
pub use lower_bound::times_bound;
#[cfg(feature = "compact")]
pub use memory_optimized::MemoryOptimized;
#[cfg(feature = "compact")]
pub use perfect_hash::PerfectHash;

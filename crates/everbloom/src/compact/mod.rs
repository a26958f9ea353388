//! As few bits as possible, on the wire, in the file, in memory; and how few are possible at all.

pub mod binary_fuse;
pub mod compacted;
pub mod compressed;
pub mod golomb;
pub mod lower_bound;
pub mod memory_optimized;
pub mod perfect_hash;
pub mod ribbon;

pub use binary_fuse::BinaryFuse;
pub use compacted::Compacted;
pub use compressed::Compressed;
pub use golomb::Golomb;
pub use lower_bound::times_bound;
pub use memory_optimized::MemoryOptimized;
pub use perfect_hash::PerfectHash;
pub use ribbon::Ribbon;

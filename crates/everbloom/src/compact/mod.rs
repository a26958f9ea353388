//! As few bits as possible, on the wire, in the file, in memory; and how few are possible at all.

pub mod compacted;
pub mod compressed;
pub mod golomb;
pub mod lower_bound;
pub mod memory_optimized;
pub mod perfect_hash;

pub use compacted::Compacted;
pub use compressed::Compressed;
pub use golomb::Golomb;
pub use lower_bound::times_bound;
pub use memory_optimized::MemoryOptimized;
pub use perfect_hash::PerfectHash;

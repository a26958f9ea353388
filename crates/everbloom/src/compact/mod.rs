//! As few bits as possible: on the wire, in the file, in memory.

pub mod compacted;
pub mod compressed;
pub mod golomb;
pub mod memory_optimized;

pub use compacted::Compacted;
pub use compressed::Compressed;
pub use golomb::Golomb;
pub use memory_optimized::MemoryOptimized;

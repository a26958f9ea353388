//! As few bits as possible: on the wire, in the file, in memory.

pub mod compacted;
pub mod compressed;

pub use compacted::Compacted;
pub use compressed::Compressed;

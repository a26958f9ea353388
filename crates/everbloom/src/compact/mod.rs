//! As few bits as possible: on the wire, in the file, in memory.

pub mod compressed;

pub use compressed::Compressed;

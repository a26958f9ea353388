//! Is this key in the set? Filters that answer that and little else.

pub mod bloom;
pub mod generalized;

pub use bloom::{AtomicBloom, Bloom};
pub use generalized::Generalized;

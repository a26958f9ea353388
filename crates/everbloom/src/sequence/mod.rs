//! Keys that are sequences: their parts are asked for.

pub mod hierarchical;
pub mod k_mer;

pub use hierarchical::Hierarchical;
pub use k_mer::KMer;

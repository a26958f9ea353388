//! How many keys, nobody knows: filters that grow.

pub mod scalable;

pub use scalable::Scalable;

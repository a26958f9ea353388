//! Filters that others fill, or may try to.

pub mod generalized;

pub use generalized::Generalized;

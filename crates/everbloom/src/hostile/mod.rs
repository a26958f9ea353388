//! Filters that others fill, or may try to.

pub mod generalized;
mod planner;

pub use generalized::Generalized;

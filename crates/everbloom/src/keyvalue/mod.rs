//! What value does this key have? Filters that map keys to values.

pub mod bloomier;
pub(crate) mod labels;

pub use bloomier::Bloomier;

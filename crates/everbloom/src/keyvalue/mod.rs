//! What value does this key have? Filters that map keys to values.

pub mod bloomier;
mod labels;

pub use bloomier::Bloomier;

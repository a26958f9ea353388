//! What value does this key have? Filters that map keys to values.

pub mod bloomier;

pub use bloomier::Bloomier;

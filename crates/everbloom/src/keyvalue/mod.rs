//! What value does this key have? Filters that map keys to values.

pub mod bloomier;
mod entries;
mod labels;
mod xor_cells;

pub use bloomier::Bloomier;

//! What value does this key have? Filters that map keys to values.

pub mod bloomier;
mod entries;
mod labels;
pub mod relations;
mod xor_cells;

pub use bloomier::Bloomier;
pub use relations::Relations;

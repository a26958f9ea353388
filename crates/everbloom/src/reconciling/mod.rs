//! What do two sets not share? Filters and trees that are compared and read back.

pub mod invertible;
pub mod invertible_counting;
pub mod rateless;
pub mod reconciliation_tree;

pub use invertible::Invertible;
pub use invertible_counting::InvertibleCounting;

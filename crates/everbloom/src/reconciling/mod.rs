//! What do two sets not share? Filters that are subtracted and read back.

pub mod invertible;
pub mod rateless;
pub mod invertible_counting;

pub use invertible::Invertible;
pub use invertible_counting::InvertibleCounting;

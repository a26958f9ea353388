//! What do two sets not share? Filters that are subtracted and read back.

pub mod invertible;
pub mod invertible_counting;
pub mod rateless;

pub use invertible::Invertible;
pub use invertible_counting::InvertibleCounting;

//! Keys come and go: filters made for removal in little space.

pub mod ternary;

pub use ternary::Ternary;

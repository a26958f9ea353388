//! Keys are removed again: filters made for removal in little space.

pub mod deletable;
pub mod ternary;
pub mod variable_length;

pub use deletable::Deletable;
pub use ternary::Ternary;
pub use variable_length::VariableLength;

//! How often? Filters whose cells count, and that can therefore remove.

pub mod counting_bloom;
pub mod variable_increment;

pub use counting_bloom::Counting;
pub use variable_increment::VariableIncrement;

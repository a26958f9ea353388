//! How often? Filters whose cells count, and that can therefore remove.

pub mod counting_bloom;

pub use counting_bloom::Counting;

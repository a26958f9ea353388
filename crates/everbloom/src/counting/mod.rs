//! How often? Filters whose cells count, and that can therefore remove.

pub mod counting;

pub use counting::Counting;

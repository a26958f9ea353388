//! What is fuzzed, and how: three targets as plain functions, and a mutator that knows the file format.

mod decode;
mod operations;
mod stores;
pub mod tree;

pub use decode::{decode, sealed};
pub use operations::operations;
pub use stores::stores;

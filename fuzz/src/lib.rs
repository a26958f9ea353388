//! What is fuzzed, and how: six targets as plain functions, and a mutator that knows the file format.

mod decode;
mod formats;
mod operations;
mod sessions;
mod sketches;
mod stores;
pub mod tree;

pub use decode::{decode, sealed};
pub use formats::formats;
pub use operations::operations;
pub use sessions::{real_sessions, sessions};
pub use sketches::{sketch, sketches};
pub use stores::stores;

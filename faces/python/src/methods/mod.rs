//! The methods of `Filter`.

mod ability;
mod ask;
mod many;
mod operators;
mod store;

pub use store::restore;

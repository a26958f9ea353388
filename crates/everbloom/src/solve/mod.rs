//! Solving for the cells: peeling, linear systems, placement.

mod mphf;
mod peel;
mod place;

pub use mphf::Mphf;
pub use peel::{Peeled, peel};
pub use place::{Choices, Rule, least_loaded, least_loaded_at_random};

//! Solving for the cells: peeling, linear systems, placement.

mod mphf;
mod peel;

pub use mphf::Mphf;
pub use peel::{Peeled, peel};

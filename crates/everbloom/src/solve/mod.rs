//! Solving for the cells: peeling, linear systems, placement.

mod peel;
mod place;

pub use peel::{Peeled, peel};
pub use place::{Choices, Rule, least_loaded, least_loaded_at_random};

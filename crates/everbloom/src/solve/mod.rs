//! Solving for the cells: peeling, linear systems, placement.

mod peel;

pub use peel::{Peeled, peel};

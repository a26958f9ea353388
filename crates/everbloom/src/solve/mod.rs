//! Solving for the cells: peeling, linear systems, placement.

mod band;
mod mphf;
mod peel;
mod sorted;

pub use band::{Band, Row, WIDTH};
pub use mphf::Mphf;
pub use peel::{Peeled, peel};
pub use sorted::{grouped_hashes, sorted_hashes};

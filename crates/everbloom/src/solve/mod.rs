//! Solving for the cells: peeling, linear systems, placement.

mod band;
pub mod messages;
mod mphf;
mod peel;
mod place;
mod retry;
mod sorted;

pub use band::{Band, Row, WIDTH};
pub use mphf::Mphf;
pub use peel::{Peeled, peel};
pub use place::{Choices, Rule, least_loaded, least_loaded_at_random};
pub use retry::{ATTEMPTS, retry};
pub(crate) use sorted::{IN_GROUP, grouped_hashes, sorted_hashes};

//! Solving for the cells: peeling, linear systems, placement.

#[cfg(feature = "everyday")]
mod band;
#[cfg(feature = "families")]
pub mod messages;
#[cfg(feature = "families")]
mod mphf;
#[cfg(feature = "families")]
mod peel;
#[cfg(feature = "families")]
mod place;
#[cfg(feature = "everyday")]
mod retry;
#[cfg(feature = "everyday")]
mod sorted;

#[cfg(feature = "everyday")]
pub use band::{Band, Row, WIDTH};
#[cfg(feature = "families")]
pub use mphf::Mphf;
#[cfg(feature = "families")]
pub use peel::{Peeled, peel};
#[cfg(feature = "families")]
pub use place::{Choices, Rule, least_loaded, least_loaded_at_random};
#[cfg(feature = "everyday")]
pub use retry::{ATTEMPTS, retry};
#[cfg(feature = "everyday")]
pub(crate) use sorted::{IN_GROUP, grouped_hashes, sorted_hashes};

//! From what the caller wants to what a variant needs: goals, requests, expectations.

mod blocks;
#[cfg(feature = "everyday")]
pub(crate) mod cuckoo;
mod expect;
#[cfg(feature = "everyday")]
pub(crate) mod fingerprint;
mod flat;
mod goal;
pub(crate) mod lanes;
mod params;
mod request;
#[cfg(feature = "families")]
mod segments;
#[cfg(feature = "everyday")]
mod slices;

pub(crate) use blocks::{even_blocks, given_blocks};
pub use expect::{Expect, Load};
pub use flat::{Flat, MAX_CELLS, Wide};
pub(crate) use flat::{check_cells, first_too_large, k_for_m, lowest, m_alone, too_many_cells};
pub use goal::Goal;
#[cfg(feature = "families")]
pub(crate) use params::PARAM_RECORD;
pub use params::{PARAM_K, PARAM_M, PARAM_WIDTH};
pub use request::{DEFAULT_FPR, Request};
#[cfg(feature = "families")]
pub(crate) use segments::{check_fit, segments};
#[cfg(feature = "everyday")]
pub use slices::Slices;

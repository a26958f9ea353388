//! The experiments, a file each.

mod classic;
mod s0_fig3;

use crate::lab::Experiment;

/// Every experiment, in the order of its source.
pub static EXPERIMENTS: &[&Experiment] = &[&s0_fig3::EXPERIMENT];

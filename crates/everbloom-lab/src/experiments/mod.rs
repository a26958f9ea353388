//! The experiments, a file each.

mod classic;
mod counters;
mod s0_eq12;
mod s0_errata;
mod s0_fig3;
mod s0_fig5;
mod s0_fig7;
mod s0_theorems;
mod s1_concentration;
mod s1_fig2;
mod s1_intersection;
mod s1_overflow;
mod s1_table1;

use crate::lab::Experiment;

/// Every experiment, in the order of its source.
pub static EXPERIMENTS: &[&Experiment] = &[
    &s0_fig3::EXPERIMENT,
    &s0_theorems::EXPERIMENT,
    &s0_eq12::EXPERIMENT,
    &s0_fig5::EXPERIMENT,
    &s0_fig7::EXPERIMENT,
    &s0_errata::EXPERIMENT,
    &s1_concentration::EXPERIMENT,
    &s1_intersection::EXPERIMENT,
    &s1_overflow::EXPERIMENT,
    &s1_table1::EXPERIMENT,
    &s1_fig2::EXPERIMENT,
];

//! The experiments, a file each.

mod balance;
mod classic;
mod counters;
mod generalized;
mod s0_fig3;
mod s2_fig10;
mod s2_fig11;
mod s2_fig12;
mod s2_fig13;
mod s2_fig14;
mod s2_fig2;
mod s2_fig3;
mod s2_fig4;
mod s2_fig6;
mod s2_fig7;
mod s2_fig8;
mod s2_fig9;
mod s2_quoted;
mod s4_counting;
mod s4_d_left;
mod s4_dynamic_count;
mod s4_spectral;

use crate::lab::Experiment;

/// Every experiment, in the order of its source.
pub static EXPERIMENTS: &[&Experiment] = &[
    &s0_fig3::EXPERIMENT,
    &s2_fig2::EXPERIMENT,
    &s2_fig3::EXPERIMENT,
    &s2_fig4::EXPERIMENT,
    &s2_fig6::EXPERIMENT,
    &s2_fig7::EXPERIMENT,
    &s2_fig8::EXPERIMENT,
    &s2_fig9::EXPERIMENT,
    &s2_fig10::EXPERIMENT,
    &s2_fig11::EXPERIMENT,
    &s2_fig12::EXPERIMENT,
    &s2_fig13::EXPERIMENT,
    &s2_fig14::EXPERIMENT,
    &s2_quoted::EXPERIMENT,
    &s4_counting::EXPERIMENT,
    &s4_spectral::EXPERIMENT,
    &s4_dynamic_count::EXPERIMENT,
    &s4_d_left::EXPERIMENT,
];

//! The experiments, a file each.

mod adaptive_counting;
mod adaptive_cuckoo;
mod count_min;
mod counter_braids;
mod cuckoo_load;
mod decaying;
mod dynamic;
mod elastic;
mod exponential_decay;
mod hierarchical;
mod hyperloglog;
mod iblt;
mod k_mer;
mod learned;
mod locality;
mod loglog;
mod pollution;
mod popularity;
mod quotient_load;
mod ranges;
mod s0_eq12;
mod s0_eq18;
mod s0_errata;
mod s0_fig3;
mod s0_fig5;
mod s0_fig7;
mod s0_hashing;
mod s0_table1;
mod s0_table2;
mod s0_theorems;
mod s1_concentration;
mod s1_fig2;
mod s1_intersection;
mod s1_overflow;
mod s1_space;
mod s1_table1;
mod s1_uniform;
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
mod s3_eq1;
mod s3_eq4;
mod s3_eq5;
mod s3_eq6;
mod s3_eq7;
mod s3_errata;
mod s3_table3;
mod s3_table4;
mod s4_counting;
mod s4_d_left;
mod s4_dynamic_count;
mod s4_spectral;
mod shifting;
mod space_code;
mod top_k;
mod weighted;
mod which_filter;
mod windowed;

use crate::lab::Experiment;

/// Every experiment, in the order of its source: figures of the surveys first, then entries of the catalogue.
pub static EXPERIMENTS: &[&Experiment] = &[
    &s0_table1::EXPERIMENT,
    &s0_fig3::EXPERIMENT,
    &s0_theorems::EXPERIMENT,
    &s0_eq12::EXPERIMENT,
    &s0_fig5::EXPERIMENT,
    &s0_fig7::EXPERIMENT,
    &s0_hashing::EXPERIMENT,
    &s0_eq18::EXPERIMENT,
    &s0_table2::EXPERIMENT,
    &s0_errata::EXPERIMENT,
    &s1_uniform::EXPERIMENT,
    &s1_concentration::EXPERIMENT,
    &s1_space::EXPERIMENT,
    &s1_intersection::EXPERIMENT,
    &s1_overflow::EXPERIMENT,
    &s1_table1::EXPERIMENT,
    &s1_fig2::EXPERIMENT,
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
    &s3_eq1::EXPERIMENT,
    &s3_eq4::EXPERIMENT,
    &s3_eq5::EXPERIMENT,
    &s3_eq6::EXPERIMENT,
    &s3_eq7::EXPERIMENT,
    &s3_table3::EXPERIMENT,
    &s3_table4::EXPERIMENT,
    &s3_errata::EXPERIMENT,
    &s4_counting::EXPERIMENT,
    &s4_spectral::EXPERIMENT,
    &s4_dynamic_count::EXPERIMENT,
    &s4_d_left::EXPERIMENT,
    &decaying::EXPERIMENT,
    &space_code::EXPERIMENT,
    &loglog::EXPERIMENT,
    &adaptive_counting::EXPERIMENT,
    &shifting::EXPERIMENT,
    &count_min::EXPERIMENT,
    &counter_braids::EXPERIMENT,
    &dynamic::EXPERIMENT,
    &weighted::EXPERIMENT,
    &popularity::EXPERIMENT,
    &iblt::EXPERIMENT,
    &k_mer::EXPERIMENT,
    &hierarchical::EXPERIMENT,
    &ranges::EXPERIMENT,
    &locality::EXPERIMENT,
    &exponential_decay::EXPERIMENT,
    &pollution::EXPERIMENT,
    &cuckoo_load::EXPERIMENT,
    &adaptive_cuckoo::EXPERIMENT,
    &quotient_load::EXPERIMENT,
    &learned::EXPERIMENT,
    &elastic::EXPERIMENT,
    &hyperloglog::EXPERIMENT,
    &top_k::EXPERIMENT,
    &windowed::EXPERIMENT,
    &which_filter::EXPERIMENT,
];

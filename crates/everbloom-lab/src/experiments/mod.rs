//! The experiments, a file each.

mod capabilities;
mod checks;
mod classic;
mod losses;
mod parts;
mod s0_fig3;
mod s0_table1;
mod s0_table2;
mod s3_eq1;
mod s3_eq4;
mod s3_eq5;
mod s3_eq6;
mod s3_eq7;
mod s3_errata;
mod s3_table3;
mod s3_table4;
mod stages;
mod subject;

use crate::lab::Experiment;

/// Every experiment, in the order of its source.
pub static EXPERIMENTS: &[&Experiment] = &[
    &s0_table1::EXPERIMENT,
    &s0_fig3::EXPERIMENT,
    &s0_table2::EXPERIMENT,
    &s3_eq1::EXPERIMENT,
    &s3_eq4::EXPERIMENT,
    &s3_eq5::EXPERIMENT,
    &s3_eq6::EXPERIMENT,
    &s3_eq7::EXPERIMENT,
    &s3_table3::EXPERIMENT,
    &s3_table4::EXPERIMENT,
    &s3_errata::EXPERIMENT,
];

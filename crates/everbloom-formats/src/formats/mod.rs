//! The list. A format is one file here and one line.

mod datasketches;
mod dcso;
mod go_bloom;
mod guava;
mod parquet;
mod spark;

use crate::Format;

/// Every format, the most common first.
pub static FORMATS: &[&Format] = &[
    &parquet::FORMAT,
    &guava::FORMAT,
    &spark::FORMAT,
    &go_bloom::FORMAT,
    &dcso::FORMAT,
    &datasketches::FORMAT,
];

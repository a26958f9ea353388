//! Headless assemblies that variants are made of: probes with the cells they point at, and what is done with
//! them. A part has no hash and no list entry; its owner hands it digests.

pub(crate) mod flat_bits;
pub(crate) mod parallel;
pub(crate) mod tally;

//! The heaviest keys of a stream.
//!
//! | module | what it tells, and at what cost |
//! |---|---|
//! | [`iceberg`] | keys with a share of everything, in fixed memory; streams of several sites add up |
//! | [`heavy_flows`] | keys that reach a threshold in an interval |
//! | [`flow_counters`] | every key with its exact count, as long as there are not too many |
//! | [`global_iceberg`] | the same over several sites |

pub mod flow_counters;
pub mod global_iceberg;
pub mod heavy_flows;
pub mod iceberg;
